"""Everything public that takes arguments, each with arguments that are right, so that a test can spoil some."""

from __future__ import annotations

import dataclasses
import functools
import pathlib
import shutil
import tempfile
from typing import Any

import jax.numpy as jnp
import numpy as np
from bad_inputs import Target
from control_targets import control_targets
from model_targets import model_targets

import dalembert as da
from dalembert.gallery import SYSTEMS
from dalembert.gallery.friction_surface import MassOnCubic

PENDULUM = da.gallery.Pendulum()
OSCILLATOR = da.gallery.HarmonicOscillator()
BALL = da.gallery.BouncingBall()
START = PENDULUM.start()


@functools.cache
def short_run() -> da.Trajectory:
    return da.simulate(PENDULUM, da.Rattle(), START.q0, START.v0, t=(0.0, 1.0), h=0.1)


@functools.cache
def batch() -> da.Trajectory:
    return da.simulate(PENDULUM, da.Rattle(), np.stack([START.q0] * 3), np.stack([START.v0] * 3), t=(0.0, 1.0), h=0.1)


@functools.cache
def event_run() -> da.Trajectory:
    start = BALL.start()
    return da.simulate(BALL, da.EventCapturing(), start.q0, start.v0, t=(0.0, 1.0), h=0.1)


OPTIONS = {
    "save_every": "integer", "on_failure": "choice", "progress": "flag", "project": "flag", "redundant": "choice",
    "compensated": "flag", "engine": "choice", "precision": "choice", "retry": "flag",
    "tangent": "flag", "penetration": "number",
}  # fmt: skip
STARTS = {"q0": "vector", "v0": "vector", "p0": "vector", "y0": "vector", "z0": "vector"}


def _simulate(system: Any, method: Any, **more: Any) -> dict[str, Any]:
    start = system.start()
    defaults = {
        "save_every": 1, "on_failure": "return", "progress": False, "project": False, "redundant": "refuse",
        "compensated": True, "engine": "auto", "precision": "double", "retry": False, "p0": None, "y0": None,
        "z0": None, "tangent": False, "checkpoint": None, "checkpoint_every": None,
        "penetration": None,
    }  # fmt: skip
    return {
        "system": system, "method": method, "q0": start.q0, "v0": start.v0, "t": (0.0, 1.0), "h": 0.1, **defaults,
    } | more  # fmt: skip


def _runs() -> list[Target]:
    plain = STARTS | OPTIONS | {"system": "other", "method": "other", "t": "interval", "h": "step"}
    found = [
        Target("Langevin", da.Langevin, lambda: {"temperature": 1.0, "friction": 1.0, "seed": 1, "scheme": "baoab"},
               {"temperature": "number", "friction": "number", "seed": "integer", "scheme": "choice"}),
        Target("step_function", da.step_function,
               lambda: {"system": PENDULUM, "method": da.Rattle(), "h": 0.1, "steps": 1, "t0": 0.0},
               {"system": "other", "method": "other", "h": "number", "steps": "integer", "t0": "number"}),
        Target("simulate", da.simulate, lambda: _simulate(PENDULUM, da.Rattle()), plain),
        Target("simulate", da.simulate, lambda: _simulate(PENDULUM, da.Rattle()), STARTS | {"t": "interval"}),
        Target("simulate, options", da.simulate, lambda: _simulate(PENDULUM, da.Rattle()), OPTIONS),
        Target("simulate, free", da.simulate, lambda: _simulate(OSCILLATOR, da.gauss_spark(1)), STARTS),
        Target("simulate, contact", da.simulate, lambda: _simulate(BALL, da.MoreauJean()), plain),
        Target("simulate, events", da.simulate, lambda: _simulate(BALL, da.EventCapturing()), plain),
        Target(
            "simulate, batch", da.simulate,
            lambda: _simulate(PENDULUM, da.Rattle(), q0=np.stack([START.q0] * 3), v0=np.stack([START.v0] * 3)), plain,
        ),
        Target(
            "simulate, sequence", da.simulate,
            lambda: _simulate(PENDULUM, da.Rattle(), h=[0.1] * 10), plain | {"h": "sizes"},
        ),
        Target(
            "simulate, adaptive", da.simulate,
            lambda: _simulate(BALL, da.MoreauJean(), h=da.Adaptive(atol=1e-2, rtol=1e-2, h0=0.1, h_max=0.2)), plain,
        ),
        Target(
            "simulate, checkpoint", _fresh_store, lambda: _simulate(PENDULUM, da.Rattle(), checkpoint="run.zarr"),
            {"checkpoint": "path", "checkpoint_every": "integer", "retry": "flag", "save_every": "integer"},
        ),
        Target(
            "simulate, DAE", da.simulate,
            lambda: {"system": MassOnCubic(), "method": da.SymplecticEuler(), "y0": None, "z0": None, "t": (0.0, 1.0),
                     "h": 0.1, "project": True},
            {"y0": "vector", "z0": "vector", "t": "interval", "h": "step", "method": "other"},
        ),
        Target(
            "consistent", da.consistent, lambda: {"system": PENDULUM, "q0": START.q0, "v0": START.v0, "t0": 0.0},
            {"system": "other", "q0": "vector", "v0": "vector", "p0": "vector", "t0": "number"},
        ),
        Target(
            "boundary_value", da.boundary_value,
            lambda: {"system": OSCILLATOR, "method": da.Rattle(), "q_start": [1.0, 0.0], "q_end": [0.5, 0.5],
                     "t": (0.0, 1.0), "h": 0.1},
            {"system": "other", "method": "other", "q_start": "vector", "q_end": "vector", "t": "interval", "h": "step",
             "guess": "other", "max_iterations": "integer"},
        ),
    ]  # fmt: skip
    return found


def _fresh_store(checkpoint: Any, **arguments: Any) -> da.Trajectory:
    """A run with checkpoints; stores of earlier calls are another matter."""
    if isinstance(checkpoint, str | pathlib.Path) and "run.zarr" in str(checkpoint):
        shutil.rmtree(checkpoint, ignore_errors=True)
    return da.simulate(checkpoint=checkpoint, **arguments)


def _measures() -> list[Target]:
    start = {"q0": "vector", "v0": "vector", "p0": "vector"}
    both = {"system": "other", "method": "other"}
    pendulum = {"system": PENDULUM, "method": da.Rattle(), "q0": START.q0, "v0": START.v0}
    series = {"t": "vector", "x": "vector", "interpolation": "choice", "exact_interpolation": "choice",
              "exact": "other", "jump_times": "vector"}  # fmt: skip
    norm = {"t": [0.0, 0.5, 1.0], "x": [1.0, 2.0, 3.0], "exact": lambda t: np.asarray(t)}
    graphs = {"t_a": [0.0, 0.5, 1.0], "x_a": [1.0, 2.0, 3.0], "t_b": [0.0, 0.5, 1.0], "x_b": [1.0, 2.0, 2.5]}
    return [
        Target("symplectic_defect", da.symplectic_defect, lambda: pendulum | {"t0": 0.0, "h": 0.1},
               both | start | {"t0": "number", "h": "number"}),
        Target("sensitivity", da.sensitivity,
               lambda: pendulum | {"t": (0.0, 1.0), "h": 0.1, "wrt": "length", "project": True},
               both | start | {"t": "interval", "h": "step", "wrt": "choice", "save_every": "integer",
                               "project": "flag"}),
        Target("monodromy", da.monodromy, lambda: pendulum | {"t": (0.0, 1.0), "h": 0.1},
               both | start | {"t": "interval", "h": "step"}),
        Target("lyapunov_spectrum", da.lyapunov_spectrum,
               lambda: pendulum | {"t": (0.0, 1.0), "h": 0.1, "number": 1, "every": 5},
               both | start | {"t": "interval", "h": "step", "number": "integer", "every": "integer"}),
        Target("reversibility_defect", da.reversibility_defect, lambda: pendulum | {"t": (0.0, 1.0), "h": 0.1},
               both | start | {"t": "interval", "h": "step"}),
        Target("work_precision", da.work_precision,
               lambda: {"system": OSCILLATOR, "methods": [da.Rattle()], "q0": [1.0, 0.0], "v0": [0.0, 1.0],
                        "t": (0.0, 1.0), "hs": [0.1, 0.05], "repeats": 1},
               {"system": "other", "methods": "other", "q0": "vector", "v0": "vector", "t": "interval", "hs": "sizes",
                "reference": "vector", "quantity": "choice", "repeats": "integer"}),
        Target("sweep", da.sweep,
               lambda: {"system": PENDULUM, "method": da.Rattle(), "grid": {"length": [1.0, 1.1]},
                        "store": pathlib.Path(tempfile.mkdtemp()) / "sweep.zarr", "executor": "here", "t": (0.0, 1.0),
                        "h": 0.1},
               both | {"grid": "other", "store": "path", "start": "other", "q0": "vector",
                       "v0": "vector", "p0": "vector", "t": "interval", "h": "number", "save_every": "integer",
                       "combine": "choice", "variables": "choice", "piece": "integer", "project": "flag",
                       "compensated": "flag", "progress": "flag"}),
        Target("recommend", da.recommend,
               lambda: {"system": OSCILLATOR, "tolerance": 1e-2, "q0": [1.0, 0.0], "v0": [0.0, 1.0], "t": (0.0, 1.0),
                        "candidates": {"rattle": da.Rattle()}, "seconds": 0.2},
               {"system": "other", "tolerance": "number", "q0": "vector", "v0": "vector", "p0": "vector",
                "t": "interval", "candidates": "other", "seconds": "number"}),
        Target("measure_claims", da.measure_claims,
               lambda: {"method": da.Rattle(), "system": OSCILLATOR, "q0": [1.0, 0.0], "v0": [0.0, 1.0],
                        "setting": None, "symplectic": False},
               both | {"q0": "vector", "v0": "vector", "setting": "other", "symplectic": "flag"}),
        Target("observed_order", lambda hs, errors, **more: da.observed_order(hs, errors, **more),
               lambda: {"hs": [0.1, 0.05, 0.025], "errors": [1e-2, 2.5e-3, 6e-4]},
               {"hs": "sizes", "errors": "vector", "min_points": "integer", "floor": "number"}),
        Target("observed_order of runs", da.observed_order,
               lambda: {"system": OSCILLATOR, "method": da.Rattle(), "q0": [1.0, 0.0], "v0": [0.0, 1.0],
                        "t": (0.0, 1.0), "hs": [0.1, 0.05, 0.025]},
               both | {"q0": "vector", "v0": "vector", "t": "interval", "hs": "sizes", "reference": "vector",
                       "quantity": "choice", "min_points": "integer"}),
        Target("drift", da.drift, lambda: {"t": np.arange(200.0), "values": np.sin(np.arange(200.0))},
               {"t": "vector", "values": "vector"}),
        Target("l1_error", da.l1_error, lambda: dict(norm), series),
        Target("l2_error", da.l2_error, lambda: dict(norm), series),
        Target("uniform_error", da.uniform_error, lambda: dict(norm), series),
        Target("hausdorff_distance", da.hausdorff_distance, lambda: dict(graphs),
               {name: "vector" for name in graphs} | {"norm": "choice", "interpolation_a": "choice",
                                                      "interpolation_b": "choice"}),
        Target("discrete_principle", da.discrete_principle,
               lambda: {"system": OSCILLATOR, "method": da.gauss_spark(1), "q0": [1.0, 0.0], "v0": [0.0, 1.0],
                        "h": 0.1},
               both | {"q0": "vector", "v0": "vector", "h": "number", "t0": "number", "q1": "vector"}),
        Target("exact_principle", da.exact_principle,
               lambda: {"system": OSCILLATOR, "q0": [1.0, 0.0], "v0": [0.0, 1.0], "h": 0.1},
               {"system": "other", "q0": "vector", "v0": "vector", "h": "number", "t0": "number", "q1": "vector"}),
        Target("constraint_rank", da.constraint_rank, lambda: {"run": short_run()}, {"run": "other"}),
        Target("step_resolution", da.step_resolution, lambda: {"run": short_run()}, {"run": "other"}),
        Target("natural_limit", da.natural_limit, lambda: {"system": MassOnCubic(), "alpha": 0.5},
               {"system": "other", "alpha": "number"}),
        Target("symmetries", da.symmetries, lambda: {"system": PENDULUM, "q": START.q0, "v": START.v0},
               {"system": "other", "q": "vector", "p": "vector", "v": "vector", "t": "number", "actions": "other"}),
        Target("squared_distances", da.squared_distances, lambda: {"q": jnp.arange(6.0), "pairs": [(0, 1)]},
               {"q": "vector", "pairs": "other", "dimension": "integer"}),
        Target("dot_products", da.dot_products, lambda: {"q": jnp.arange(6.0), "pairs": [(0, 1)]},
               {"q": "vector", "pairs": "other", "dimension": "integer"}),
        Target("edge_products", da.edge_products, lambda: {"q": jnp.arange(9.0), "corners": [(0, 1, 2)]},
               {"q": "vector", "corners": "other", "dimension": "integer"}),
        Target("squared_triple_products", da.squared_triple_products, lambda: {"products": jnp.ones(6)},
               {"products": "vector"}),
    ]  # fmt: skip


def _methods() -> list[Target]:
    """Constructors. What they build is used at once: a bad method must be found out by then."""

    def used(make):
        def call(**arguments):
            return da.simulate(PENDULUM, make(**arguments), START.q0, START.v0, t=(0.0, 0.2), h=0.1)

        return call

    def bounced(make):
        def call(**arguments):
            start = BALL.start()
            return da.simulate(BALL, make(**arguments), start.q0, start.v0, t=(0.0, 0.2), h=0.1)

        return call

    table = {"A": [[0.5]], "b": [1.0], "c": [0.5]}
    return [
        Target("Galerkin", used(da.Galerkin), lambda: {"degree": 1},
               {"degree": "integer", "multiplier_degree": "integer", "quadrature": "choice", "nodes": "integer",
                "constraint_quadrature": "choice", "project": "flag"}),
        Target("gauss_spark", used(da.gauss_spark), lambda: {"s": 1}, {"s": "integer"}),
        Target("standard_gauss", used(da.standard_gauss), lambda: {"s": 1}, {"s": "integer"}),
        Target("lobatto_spark", used(da.lobatto_spark), lambda: {"s": 2, "families": "AB"},
               {"s": "integer", "families": "choice"}),
        Target("euler_spark", used(da.euler_spark), lambda: {"kind": "I"}, {"kind": "choice"}),
        Target("Composition", used(da.Composition), lambda: {"method": da.Rattle(), "scheme": "yoshida4"},
               {"method": "other", "scheme": "choice"}),
        Target("Adjoint", used(da.Adjoint), lambda: {"method": da.euler_spark("I")}, {"method": "other"}),
        Target("EnergyMomentum", used(da.EnergyMomentum), lambda: {"gradient": "gonzalez"},
               {"gradient": "choice", "velocity_level": "flag", "dissipative": "flag"}),
        Target("SymplecticEuler", used(da.SymplecticEuler), lambda: {"extension": "true"},
               {"extension": "choice", "conjugate": "flag", "alpha": "number"}),
        Target("Taylor", used(da.Taylor), lambda: {"degree": 4}, {"degree": "integer"}),
        Target("SparkTableau", used(lambda **parts: da.Spark(da.SparkTableau(**parts))), lambda: dict(table),
               {"A": "vector", "b": "vector", "c": "vector", "A_hat": "vector", "A_tilde": "vector", "b_hat": "vector",
                "b_tilde": "vector", "omega": "vector", "holonomic": "vector"}),
        Target("Spark", used(da.Spark), lambda: {"tableau": da.SparkTableau(**table)}, {"tableau": "other"}),
        Target("discrete_lagrangian", used(da.discrete_lagrangian),
               lambda: {"function": lambda system, t, h, q0, q1: h * system.lagrangian(t, (q0 + q1) / 2, (q1 - q0) / h),
                        "order": 2, "symmetric": True},
               {"function": "other", "order": "integer", "symmetric": "flag", "force": "other"}),
        Target("GalerkinLagrangian", da.GalerkinLagrangian,
               lambda: {"method": da.Galerkin(1), "system": OSCILLATOR, "h": 0.1, "t": 0.0},
               {"method": "other", "system": "other", "h": "number", "t": "number"}),
        Target("MoreauJean", bounced(da.MoreauJean), lambda: {"theta": 0.5},
               {"theta": "number", "gamma": "number", "position_correction": "flag", "law": "other",
                "compliance": "number"}),
        Target("SchatzmanPaoli", bounced(da.SchatzmanPaoli), lambda: {"theta": 0.5},
               {"theta": "number", "law": "other"}),
        Target("EventCapturing", bounced(da.EventCapturing), lambda: {"smooth": da.radau_iia(2)},
               {"smooth": "other", "constant": "number"}),
        Target("Event", lambda **a: da.simulate(PENDULUM, da.Rattle(), START.q0, START.v0, t=(0.0, 1.0), h=0.1,
                                                events=[da.Event(**a)]),
               lambda: {"function": lambda t, q, v: q[0], "direction": 0},
               {"function": "other", "direction": "integer", "terminal": "flag", "action": "other", "name": "other"}),
        Target("Spheres", lambda **a: da.simulate(da.Spheres(**a), da.MoreauJean(), [0.0, 0.0, 0.2, 0.0, 0.0, 0.0],
                                                  np.zeros(6), t=(0.0, 0.1), h=0.01),
               lambda: {"radius": [0.1], "mass": 1.0, "planes": [[0.0, 0.0, 1.0, 0.0]], "gravity": [0.0, 0.0, -9.81],
                        "restitution": 0.0, "friction": 0.3, "tolerance": 1e-6},
               {"radius": "vector", "mass": "number", "gravity": "vector", "restitution": "number",
                "friction": "number", "tolerance": "number"}),
        Target("radau_iia", bounced(lambda **a: da.EventCapturing(da.radau_iia(**a))), lambda: {"stages": 2},
               {"stages": "integer"}),
        Target("gauss_legendre", bounced(lambda **a: da.EventCapturing(da.gauss_legendre(**a))), lambda: {"stages": 2},
               {"stages": "integer"}),
        Target("lobatto_iiia", bounced(lambda **a: da.EventCapturing(da.lobatto_iiia(**a))), lambda: {"stages": 3},
               {"stages": "integer"}),
        Target("half_explicit", bounced(lambda **a: da.EventCapturing(da.half_explicit(**a))), lambda: {"order": 4},
               {"order": "integer"}),
        Target("Adaptive", lambda **a: da.simulate(BALL, da.MoreauJean(), *BALL.start()[:2], t=(0.0, 0.2),
                                                   h=da.Adaptive(**a)),
               lambda: {"atol": 1e-2, "rtol": 1e-2, "h0": 0.1, "h_max": 0.2},
               {"atol": "number", "rtol": "number", "h0": "number", "h_max": "number", "event_aware": "flag",
                "alpha": "number", "alpha_min": "number", "alpha_max": "number"}),
    ]  # fmt: skip


def _gallery() -> list[Target]:
    """Constructors of the gallery, with what one does next: ask for the start, and run one step."""
    found = []
    for name, kind in SYSTEMS.items():
        fields = {entry.name: entry for entry in dataclasses.fields(kind) if entry.init}

        def call(kind=kind, **values):
            system = kind(**values)
            many = any(isinstance(value, list | tuple) or np.ndim(value) for value in values.values())
            start = (kind() if many else system).start()
            return da.consistent(system, start.q0, start.v0)

        kinds = {key: "integer" if entry.type in ("int", int) else "number" for key, entry in fields.items()}
        good = {key: entry.default for key, entry in fields.items()}
        found.append(Target(f"gallery: {name}", call, lambda good=good: dict(good), kinds))
    found.append(
        Target("gallery: system_named", da.gallery.system_named, lambda: {"name": "chain"}, {"name": "choice"})
    )
    return found


def _results() -> list[Target]:
    run = {"run": "other"}
    drawn = {"dimension": "integer", "path": "path"}
    return [
        Target("load", da.load, lambda: {"path": "text.nc"}, {"path": "path"}),
        Target("Trajectory.save", lambda path: short_run().save(path), lambda: {"path": "x.nc"}, {"path": "path"}),
        Target("Trajectory.member", lambda index: batch().member(index), lambda: {"index": 0}, {"index": "integer"}),
        Target("Trajectory.interpolate", lambda t: short_run().interpolate(t), lambda: {"t": 0.5}, {"t": "vector"}),
        Target("Trajectory.section", lambda **a: short_run().section(**a),
               lambda: {"function": lambda t, q, v: q[0], "direction": 0},
               {"function": "other", "direction": "integer"}),
        Target("Trajectory.gradient", lambda **a: short_run().gradient(**a),
               lambda: {"of": lambda run: run.q[-1, 0], "wrt": "length", "project": True},
               {"of": "other", "wrt": "choice", "project": "flag"}),
        Target("Trajectory.plot", lambda **a: short_run().plot(**a), lambda: {"path": None}, drawn),
        Target("Trajectory.animate", lambda **a: short_run().animate(**a),
               lambda: {"path": "x.gif", "fps": 2, "seconds": 1.0, "pixels": 60},
               {"path": "path", "fps": "number", "seconds": "number", "trail": "number", "dimension": "integer",
                "bars": "other", "pixels": "integer"}),
        Target("plots.plot", da.plots.plot, lambda: {"run": short_run()}, run | drawn),
        Target("plots.plot_path", da.plots.plot_path, lambda: {"run": short_run()}, run | drawn),
        Target("plots.plot_phase", da.plots.plot_phase, lambda: {"run": short_run()},
               run | {"path": "path", "coordinates": "vector"}),
        Target("plots.plot_energy", da.plots.plot_energy, lambda: {"run": short_run()}, run | {"path": "path"}),
        Target("plots.plot_constraints", da.plots.plot_constraints, lambda: {"run": short_run()},
               run | {"path": "path"}),
        Target("plots.plot_convergence", da.plots.plot_convergence,
               lambda: {"hs": [0.1, 0.05], "errors": {"a": [1e-2, 1e-3]}},
               {"hs": "sizes", "errors": "other", "path": "path", "order": "number", "labels": "other"}),
        Target("plots.plot_energy_errors", da.plots.plot_energy_errors,
               lambda: {"t": [0.0, 1.0], "errors": {"a": [1e-3, 1e-2]}},
               {"t": "vector", "errors": "other", "path": "path"}),
        Target("plots.plot_work_precision", da.plots.plot_work_precision, lambda: {"curves": []},
               {"curves": "other", "path": "path"}),
    ]  # fmt: skip


def public_targets() -> list[Target]:
    """All of them."""
    return [*_runs(), *_measures(), *_methods(), *_gallery(), *_results(), *model_targets(), *control_targets()]
