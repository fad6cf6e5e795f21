"""Several methods, and programs of others, on one motion: errors, time, constraints and energy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..engine import finish_compiling
from ..errors import StepFailure
from ..method import Method
from ..problem import AbstractSystem, State, prepared
from ..simulation import simulate
from ..stepping import observe
from .foreign import ForeignSolver

#: A program of others is asked for its states at this many times: enough to see constraints and energy go.
FOREIGN_STATES = 201
TOLERANCES = (1e-3, 1e-5, 1e-7, 1e-9, 1e-11)


@dataclass(frozen=True)
class Curve:
    """One method over its step sizes, or one program over its tolerances; NaN where a run failed.

    `errors` are those of q at the end; `violations` the largest |g|, |g_q v + g_t|, |k| or penetration in the run, and
    `drifts` the largest |E - E(0)|.
    """

    name: str
    is_foreign: bool
    settings: np.ndarray  # step sizes or tolerances
    errors: np.ndarray
    seconds: np.ndarray
    violations: np.ndarray
    drifts: np.ndarray


def compare(
    system: AbstractSystem,
    methods: Mapping[str, Method],
    q0,
    v0,
    t,
    hs,
    reference: State,
    *,
    foreign: Sequence[str] = (),
    tolerances: Sequence[float] = TOLERANCES,
    repeats: int = 3,
) -> list[Curve]:
    """One curve for each method and each program of `foreign_solvers()` named in `foreign`.

    Wall times are the shortest of `repeats`, with code that is as fast as it gets; compilation does not count.

    Many arguments: those of the motion, and what it is compared by.
    """
    interval, end = (float(t[0]), float(t[1])), np.asarray(reference.q)
    repeats = max(1, repeats)
    curves = []
    for name, method in methods.items():
        points = []
        for h in hs:
            if not points:  # the second run has its code made fast
                for _ in range(2):
                    simulate(system, method, q0, v0, t=interval, h=h, on_failure="return")
                finish_compiling()
            runs = [simulate(system, method, q0, v0, t=interval, h=h, on_failure="return") for _ in range(repeats)]
            seconds = min(float(run.stats["wall_seconds"]) for run in runs)
            points.append(_point(system, runs[-1], end, seconds) if runs[-1].status else FAILED)
        curves.append(_curve(name, False, hs, points))
    times = np.linspace(*interval, FOREIGN_STATES)
    for name in foreign:
        solver = ForeignSolver(name, system, q0, v0, times)
        points = []
        for tolerance in tolerances:
            try:
                runs = [solver(tolerance) for _ in range(repeats)]
            except StepFailure:
                points.append(FAILED)
                continue
            points.append(_point(system, runs[-1], end, min(run.seconds for run in runs)))
        curves.append(_curve(name, True, tolerances, points))
    return curves


def energy_errors(
    system: AbstractSystem,
    methods: Mapping[str, Method],
    q0,
    v0,
    t,
    h: float,
    *,
    foreign: Sequence[str] = (),
    tolerance: float = 1e-6,
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The times t0, t0 + h, ... and |E - E(0)| at each, by name; NaN after a step that failed."""
    t0, t1 = (float(x) for x in t)
    times = np.linspace(t0, t1, round((t1 - t0) / h) + 1)
    errors = {}
    for name, method in methods.items():
        run = simulate(system, method, q0, v0, t=(t0, t1), h=h, on_failure="return")
        energy = np.full(len(times), np.nan)
        energy[: len(run.t)] = np.abs(run.energy - run.energy[0])
        errors[name] = energy
    for name in foreign:
        try:
            run = ForeignSolver(name, system, q0, v0, times)(tolerance)
        except StepFailure:
            continue
        errors[f"{name}, tolerance {tolerance:g}"] = _energy_error(system, run)
    return times, errors


FAILED = (np.nan, np.nan, np.nan, np.nan)


def _point(system: AbstractSystem, run, end: np.ndarray, seconds: float) -> tuple[float, float, float, float]:
    """Error, seconds, violation of the constraints, drift of the energy."""
    system, states = prepared(system), (run.t, run.q, run.v, run.p)
    violation = max(float(np.max(observe(system, name, *states))) for name in ("constraint", "hidden"))
    if system.provides("gap"):
        violation = max(violation, -float(np.min(observe(system, "gap", *states))))
    error = float(np.max(np.abs(np.asarray(run.q)[-1] - end)))
    return error, seconds, violation, float(np.max(_energy_error(system, run)))


def _energy_error(system: AbstractSystem, run) -> np.ndarray:
    energy = observe(prepared(system), "energy", run.t, run.q, run.v, run.p)[:, 0]
    return np.abs(energy - energy[0])


def _curve(name: str, is_foreign: bool, settings, points) -> Curve:
    return Curve(name, is_foreign, np.asarray(settings, dtype=np.float64), *np.array(points).T)
