"""Orders of the raw positions, momenta and multipliers of one combination, from runs with fewer and fewer steps.

The error is the largest one over k = 1..N: the multiplier at k = 0 has an order of its own. Runs take 80-bit floats
where the processor has them; the coefficients of the methods are rounded to 64 bits, so errors below `FLOORS` are
not used.
"""

from __future__ import annotations

import functools
import platform
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp
import numpy as np

import dalembert as da

from ...gallery import DoublePendulum, Pendulum
from .printed import QUANTITIES, Entry

#: Numbers of steps, taken until all three orders are known. The second ladder divides `REFERENCE_STEPS`, for systems
#: without a closed form.
LADDER = (160, 120, 96, 80, 60, 48, 40, 30, 24, 20, 16, 14, 12, 10, 9, 8, 7, 6, 5, 4)
DIVIDING_LADDER = (160, 120, 96, 80, 60, 48, 40, 30, 24, 20, 16, 12, 10, 8, 6, 5, 4)
REFERENCE_STEPS = 480
EXTENDED = platform.machine().lower() in ("x86_64", "amd64", "i686")
#: Errors below these are spoilt by roundoff.
FLOORS = {"q": 5e-15, "p": 1e-13, "lam": 1e-11} if EXTENDED else {"q": 1e-13, "p": 2e-12, "lam": 1e-9}
#: The order is the slope over so many of the finest usable runs; with fewer than `FEWEST` it is not measurable.
POINTS, FEWEST = 5, 3
#: A quantity that converges more slowly than this diverges ("d" in the tables).
DIVERGENT = 0.5
#: How far a slope may lie from the printed (even) order.
TOLERANCE = 0.5
#: A multiplier farther off than this, in units of its own size, belongs to another solution of the discrete equations.
LOST = 3.0


@dataclass(frozen=True)
class Motion:
    """A system, its start, and its true motion at the times k / N, k = 1..N."""

    name: str
    system: Any
    q0: Any
    v0: Any
    reference: Callable[[int], dict[str, np.ndarray]]
    ladder: tuple[int, ...] = LADDER


@dataclass
class Measured:
    """Slopes (None: not measurable), the errors by number of steps, and the runs that found a wrong solution."""

    slopes: dict[str, float | None]
    steps: list[int]
    errors: dict[str, list[float]]
    lost: list[int] = field(default_factory=list)
    points: dict[str, int] = field(default_factory=dict)


class RipplePendulum(da.System):
    """The pendulum in a field V = g y + 2 sin(2x + y), which no quadrature integrates exactly."""

    def lagrangian(self, t, q, v):
        return 0.5 * (v @ v) - 9.81 * q[1] - 2.0 * jnp.sin(2 * q[0] + q[1])

    def holonomic(self, t, q):
        return 0.5 * (q @ q - 1.0)


@functools.cache
def pendulum() -> Motion:
    """The planar pendulum with its closed form."""
    system = Pendulum()
    start = system.start()

    @functools.cache
    def reference(steps: int) -> dict[str, np.ndarray]:
        exact = system.exact(np.arange(1, steps + 1) / steps)
        return {name: np.asarray(getattr(exact, name)) for name in QUANTITIES}

    return Motion("planar pendulum", system, np.asarray(start.q0), np.asarray(start.v0), reference)


@functools.cache
def ripple_pendulum() -> Motion:
    """The pendulum in the rippled field, from the same start."""
    start = Pendulum().start()
    return _computed("pendulum, V = 2 sin(2x + y)", RipplePendulum(), start.q0, start.v0)


@functools.cache
def double_pendulum() -> Motion:
    """The double pendulum in space, from the start of the gallery."""
    system = DoublePendulum()
    return _computed("double pendulum", system, system.start().q0, system.start().v0)


def _computed(name: str, system, q0, v0) -> Motion:
    """The motion from a projected run of order 12 with many steps."""
    q0, v0 = np.asarray(q0), np.asarray(v0)
    precise = da.simulate(system, da.Galerkin(6), q0, v0, t=(0.0, 1.0), h=1 / REFERENCE_STEPS, precision=_precision())

    def reference(steps: int) -> dict[str, np.ndarray]:
        every = REFERENCE_STEPS // steps
        return {name: np.asarray(getattr(precise, name))[every::every] for name in QUANTITIES}

    return Motion(name, system, q0, v0, reference, DIVIDING_LADDER)


def _precision() -> str:
    return "extended" if EXTENDED else "double"


def method_of(entry: Entry, project: bool = False) -> da.Galerkin:
    """The integrator of an entry."""
    return da.Galerkin(entry.s, entry.w, entry.rule, entry.nodes, project=project)


def measure(motion: Motion, entry: Entry, project: bool = False, check_positions: bool = False) -> Measured:
    """The three orders; runs that found another solution of the discrete equations are left out and named.

    Such a run is betrayed by its multipliers, or with `check_positions` by positions unlike those of the projected run.
    """
    raw, projected = method_of(entry, project), method_of(entry, project=True)
    steps: list[int] = []
    errors: dict[str, list[float]] = {name: [] for name in QUANTITIES}
    lost = []
    for count in motion.ladder:
        run = _run(motion, raw, count)
        true = motion.reference(count)
        found = {name: _largest(getattr(run, name), true[name]) for name in QUANTITIES} if run.status else {}
        wrong = not found or found["lam"] > LOST * float(np.max(np.abs(true["lam"])))
        if not wrong and check_positions:
            wrong = _largest(run.q, np.asarray(_run(motion, projected, count).q)[1:]) > 1e-6 * found["q"] + 1e-12
        if wrong:
            lost.append(count)
            continue
        steps.append(count)
        for name in QUANTITIES:
            errors[name].append(found[name])
        if all(len(_usable(steps, errors[name], FLOORS[name])) == POINTS for name in QUANTITIES):
            break
    measured = Measured({}, steps, errors, lost)
    for name in QUANTITIES:
        measured.slopes[name], measured.points[name] = _slope(steps, errors[name], FLOORS[name])
    return measured


def _run(motion: Motion, method, count: int):
    return da.simulate(
        motion.system, method, motion.q0, motion.v0, t=(0.0, 1.0), h=1 / count, precision=_precision(),
        on_failure="return",
    )  # fmt: skip


def _largest(values, true) -> float:
    return float(np.max(np.abs(np.asarray(values)[1:] - true)))


def _slope(steps, errors, floor: float) -> tuple[float | None, int]:
    """The slope over the finest usable runs, and their number."""
    usable = _usable(steps, errors, floor)
    if len(usable) < FEWEST:
        return None, len(usable)
    counts, sizes = np.array(usable).T
    return float(-np.polyfit(np.log(counts), np.log(sizes), 1)[0]), len(usable)


def _usable(steps, errors, floor: float) -> list[tuple[int, float]]:
    return [(count, error) for count, error in zip(steps, errors, strict=True) if error > floor][:POINTS]


def agrees(slope: float | None, printed: int | None) -> bool | None:
    """Whether a slope is the printed order; None where it could not be measured."""
    if slope is None:
        return None
    return slope < DIVERGENT if printed is None else abs(slope - printed) < TOLERANCE
