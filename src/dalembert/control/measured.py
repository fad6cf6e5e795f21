"""Measured motions, and what a run predicts for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.linalg import null_space, orth

from ..arguments import floats, number, shown, takes
from ..engine import RowJacobian
from ..errors import InputError, ModelError
from ..method import Method
from ..method.polynomials import hermite
from ..problem import AbstractSystem, inputs_of
from ..simulation import InputNodes, simulate
from ..stepping.consistent import prepare_start
from ..trajectory import Trajectory
from .linearise import tangent_space
from .sensitivities import Start, run_sensitivity, start_sensitivity


@dataclass(frozen=True)
class Measured:
    """A measured motion.

    Attributes:
        t: the times, (N,), ascending, at any distances.
        values: what was measured, (N, outputs).
        q0, v0: where the motion began, at t0; projected onto the constraints.
        output: a function of (t, q, v) that gives what is measured; by default q.
        control: the inputs that acted, as for `simulate`: (steps, inputs) or `InputNodes`.
        t0: when it began; by default the first of the times.
    """

    t: Any
    values: Any
    q0: Any
    v0: Any
    output: Callable | None = None
    control: Any = None
    t0: float | None = None


class Motion:
    """A measured motion, checked."""

    def __init__(self, system: AbstractSystem, record: Measured, h: float) -> None:
        self.times, self.values = floats("t", record.t, finite=True), floats("values", record.values, finite=True)
        self.values = self.values[:, None] if self.values.ndim == 1 else self.values
        if self.times.ndim != 1 or not len(self.times) or np.any(np.diff(self.times) <= 0):
            raise InputError(f"t of a measured motion must be ascending times, (N,), got shape {self.times.shape}.")
        if self.values.ndim != 2 or len(self.values) != len(self.times):
            raise InputError(
                f"values of a measured motion must have shape ({len(self.times)}, outputs), got {self.values.shape}."
            )
        self.q0, self.v0 = floats("q0", record.q0, finite=True), floats("v0", record.v0, finite=True)
        if self.q0.ndim != 1 or self.v0.shape != self.q0.shape:
            raise InputError(f"q0 and v0 must have the same shape (n,), got {self.q0.shape} and {self.v0.shape}.")
        self.n = len(self.q0)
        self.t0 = float(self.times[0]) if record.t0 is None else number("t0", record.t0, most=float(self.times[0]))
        self.along = _directions(system, self.t0, self.q0, self.v0)
        if not self.times[-1] > self.t0:
            raise InputError("a measured motion must have a time after its start.")
        self.control, self.inputs = self._control(system, record.control)
        length = float(self.times[-1]) - self.t0
        steps = max(1, int(np.ceil(length / h - 1e-9)))
        if self.inputs is not None:
            steps = len(self.inputs)
        self.end, self.size = float(self.times[-1]), length / steps
        self.steps = steps
        if record.output is not None and not takes(record.output, 3):
            raise InputError(f"output must be a function of (t, q, v), got {shown(record.output)}.")
        self.output = record.output or (lambda t, q, v: q)
        self.rows = RowJacobian(self._flat)
        shape = jax.eval_shape(self._flat, *(jax.ShapeDtypeStruct(s, jnp.float64) for s in ((2 * self.n,), ()))).shape
        if shape != self.values.shape[1:]:
            raise ModelError(f"output(t, q, v) gives {shape[0]} numbers, measured were {self.values.shape[1]}.")

    def _flat(self, x, t):
        return jnp.ravel(jnp.asarray(self.output(t, x[: self.n], x[self.n :]), jnp.float64))

    def _control(self, system: AbstractSystem, control: Any) -> tuple[Any, np.ndarray | None]:
        if control is None:
            return None, None
        if not inputs_of(system).size:
            raise InputError(f"a control was measured, but {type(system).__name__} has no inputs.")
        if isinstance(control, InputNodes):
            return control, control.values
        rows = floats("control", control, finite=True)
        if rows.ndim == 1:
            rows = rows[:, None]
        if rows.ndim != 2:
            raise InputError(f"control must have shape (steps, inputs), got {rows.shape}.")
        return rows, rows[:, None, :]

    def begin(self, system: AbstractSystem, which: tuple[int, ...], moved: dict[str, np.ndarray]) -> Start:
        """The start on the constraints, moved along them by what is free."""
        parts = (("q0", self.q0), ("v0", self.v0))
        q0, v0 = (given + self.along[name] @ moved[name] if name in moved else given for name, given in parts)
        return start_sensitivity(system, which, self.t0, q0, v0)

    def run(self, system: AbstractSystem, method: Method, start: Start) -> Trajectory:
        """The motion."""
        return simulate(
            system, method, start.q, start.v, t=(self.t0, self.end), h=self.size, control=self.control, project=True
        )

    def predicted(self, run: Trajectory, which: tuple[int, ...] = (), at_start: Any = None) -> tuple[np.ndarray, Any]:
        """The outputs at the measured times, (N, outputs), and their derivatives, (N, outputs, parameters)."""
        place = (self.times - self.t0) / self.size
        k = np.clip(np.floor(place).astype(int), 0, self.steps - 1)
        theta = np.clip(place - k, 0.0, 1.0)

        def inside(q, v):
            shape = (-1,) + (1,) * (q.ndim - 1)
            return hermite(theta.reshape(shape), self.size, q[k], v[k], (q[k + 1] - q[k]), v[k + 1])

        q, v = (np.asarray(part) for part in inside(np.asarray(run.q), np.asarray(run.v)))
        local = self.rows(np.concatenate([q, v], axis=1), self.times)
        if at_start is None:
            return local.values, None
        inputs = np.zeros((self.steps, 0)) if self.inputs is None else self.inputs
        found = run_sensitivity(run, which, at_start, inputs)
        of_q, of_v = (np.asarray(part) for part in inside(found.of_q, found.of_v))
        slope = local.dense(2 * self.n) @ np.concatenate([of_q, of_v], axis=1)
        return local.values, slope


def _directions(system: AbstractSystem, t0: float, q0, v0) -> dict[str, np.ndarray]:
    """Orthonormal directions in which the constraints let q0 and v0 move."""
    state, n = prepare_start(system, q0, v0, None, t0, project=True, redundant="refuse").state, len(q0)
    tangent = tangent_space(system, None, t0, np.asarray(state.q), np.asarray(state.v), on_manifold=False)
    return {"q0": orth(tangent[:n]), "v0": tangent[n:] @ null_space(tangent[:n])}
