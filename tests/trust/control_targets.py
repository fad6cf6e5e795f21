"""Inputs, controllers, equilibria, linear feedback and views, each with arguments that are right, so that a test can
spoil some.

What a constructor builds is used at once: an input in a step, a controller in a run.
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from bad_inputs import Target

import dalembert as da


class Cart(da.System):
    """A pendulum of length 1 under a cart that an input pushes."""

    inputs: ClassVar = ("push",)

    def lagrangian(self, t, q, v):
        x, y = v[0] + jnp.cos(q[1]) * v[1], jnp.sin(q[1]) * v[1]
        return 0.5 * v[0] ** 2 + 0.5 * (x**2 + y**2) + 9.81 * jnp.cos(q[1])

    def force(self, t, q, v, u):
        return jnp.array([u[0], 0.0])


CART = Cart()
START: dict[str, Any] = {"q0": [0.0, 0.1], "v0": [0.0, 0.0]}


def _stepped(u: Any = None, **arguments: Any) -> np.ndarray:
    return da.Stepper(**arguments).step(u=u).q


def _pushed(**arguments: Any) -> da.Trajectory:
    """A run of a cart whose input has these bounds."""

    class Bounded(Cart):
        inputs: ClassVar = {"push": da.Input(**arguments)}

    return da.simulate(Bounded(), da.Rattle(), **START, t=(0.0, 0.02), h=0.01, control=np.zeros((2, 1)))


def _sampled(**arguments: Any) -> da.Trajectory:
    return da.simulate(CART, da.Rattle(), **START, t=(0.0, 0.1), h=0.01, control=da.Sampled(**arguments))


def _tabulated(**arguments: Any) -> np.ndarray:
    return np.asarray(da.interpolated(**arguments)(0.5))


def _measured() -> dict[str, Any]:
    t = np.linspace(0.0, 1.0, 6)
    return {"t": t, "values": np.cos(t)[:, None], "q0": [1.0], "v0": [0.0], "output": None, "control": None, "t0": 0.0}


def _fitted(**arguments: Any) -> da.Fit:
    return da.fit(OSCILLATOR, da.Rattle(), da.Measured(**arguments), ["stiffness"], h=0.05)


class Oscillator(da.System):
    """x'' = -stiffness x."""

    stiffness: float = 1.2

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 0.5 * self.stiffness * q @ q


OSCILLATOR = Oscillator()


def _by_nodes(**arguments: Any) -> da.Trajectory:
    return da.simulate(CART, da.Rattle(), **START, t=(0.0, 0.02), h=0.01, control=da.InputNodes(**arguments))


def _effort(t, q, v, u):
    return u @ u


def control_targets() -> list[Target]:
    """All of them."""
    return [
        Target("Input", _pushed, lambda: {"size": 1, "lower": -1.0, "upper": 1.0},
               {"size": "integer", "lower": "vector", "upper": "vector"}),
        Target("Sampled", _sampled, lambda: {"law": lambda t, q, v: [-q[1]], "period": 0.02, "delay": 0.0},
               {"law": "other", "period": "number", "delay": "number"}),
        Target("Stepper", _stepped,
               lambda: {"system": CART, "method": da.Rattle(), "h": 0.01, "t0": 0.0, "u": [0.5], "points": (0.0,),
                        "project": False, "engine": "auto"} | START,
               {"system": "other", "method": "other", "h": "number", "q0": "vector", "v0": "vector", "t0": "number",
                "u": "vector", "points": "vector", "project": "flag", "engine": "choice"}),
        Target("interpolated", _tabulated,
               lambda: {"t": [0.0, 1.0, 2.0], "values": [0.0, 3.0, 0.0], "kind": "linear"},
               {"t": "vector", "values": "vector", "kind": "choice"}),
        Target("equilibrium", da.equilibrium,
               lambda: {"system": CART, "guess": [0.0, 0.1], "u": [0.0], "free": (), "t": 0.0, "redundant": "refuse",
                        "max_iterations": 20},
               {"system": "other", "guess": "vector", "u": "vector", "free": "choice", "t": "number",
                "redundant": "choice", "max_iterations": "integer"}),
        Target("linearise", da.linearise,
               lambda: {"system": CART, "q": [0.0, 0.0], "v": [0.0, 0.0], "u": [0.0], "t": 0.0, "method": da.Rattle(),
                        "h": 0.01, "redundant": "refuse"},
               {"system": "other", "q": "vector", "v": "vector", "u": "vector", "t": "number", "method": "other",
                "h": "number", "redundant": "choice"}),
        Target("lqr", lambda **given: da.lqr(**given),
               lambda: {"about": da.linearise(CART, [0.0, 0.0]), "state_weight": 1.0, "input_weight": 1.0,
                        "final_weight": None},
               {"about": "other", "state_weight": "vector", "input_weight": "vector", "final_weight": "vector"}),
        Target("InputNodes", _by_nodes, lambda: {"points": (0.0, 1.0), "values": np.zeros((2, 2, 1))},
               {"points": "vector", "values": "vector"}),
        Target("optimal_control", da.optimal_control,
               lambda: {"system": CART, "method": da.Rattle(), "start": ([0.0, 0.0], [0.0, 0.0]),
                        "end": ([0.1, 0.0], None), "horizon": 1.0, "steps": 4, "cost": _effort, "solver": "auto",
                        "t0": 0.0, "max_iterations": 50, "progress": False},
               {"system": "other", "method": "other", "start": "other", "end": "other", "horizon": "number",
                "steps": "integer", "refine": "number", "transcription": "choice", "cost": "other", "final": "other",
                "path": "other", "bounds": "other", "periodic": "other", "points": "vector", "guess": "other",
                "phases": "other", "solver": "choice", "t0": "number", "max_iterations": "integer",
                "progress": "flag"}),
        Target("Phase", da.Phase, lambda: {"steps": 3, "horizon": 1.0, "closed": (0,), "ignored": (1,)},
               {"steps": "integer", "closed": "other", "ignored": "other"}),
        Target("Measured", _fitted, _measured,
               {"t": "vector", "values": "vector", "q0": "vector", "v0": "vector", "output": "other",
                "control": "vector", "t0": "number"}),
        Target("fit", da.fit,
               lambda: {"system": OSCILLATOR, "method": da.Rattle(), "data": da.Measured(**_measured()),
                        "parameters": ["stiffness"], "noise": 0.1, "h": 0.05, "free": ("v0",), "max_iterations": 20},
               {"system": "other", "method": "other", "data": "other", "parameters": "other", "noise": "vector",
                "h": "number", "free": "choice", "max_iterations": "integer"}),
        Target("view", da.view,
               lambda: {"system": da.gallery.Pendulum(), "method": da.Rattle(), "t": (0.0, 0.1), "h": 0.01,
                        "height": 400, "q0": [1.0, 0.0], "v0": [0.0, 0.0]},
               {"system": "other", "method": "other", "t": "interval", "h": "number", "height": "integer",
                "q0": "vector", "v0": "vector"}),
    ]  # fmt: skip
