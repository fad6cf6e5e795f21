"""Orders of convergence as fitted slopes, and work against precision.

The order is the slope of log(error at a fixed end time) against log(h). Two kinds of points spoil it and are
masked: those on the plateau of roundoff at the small step sizes, and those at large step sizes where the
error has not yet its asymptotic form. A plateau above the level of roundoff is never masked: there the method
does not converge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from ..arguments import binds, choice, count, floats, instance, interval, positive, shown
from ..errors import InputError
from ..method import Method
from ..problem import AbstractSystem, State
from ..simulation import simulate
from ..trajectory import Trajectory
from .reference import reference_solution

#: Only below this error may a flat end be roundoff (that of a multiplier is about 1e-16 / h^2).
ROUNDOFF_LEVEL = 1e-8
#: Points within this factor of the plateau are contaminated by it.
PLATEAU_MARGIN = 10.0
#: The coarsest point is left out while the slope from it to the next differs this much from that of the
#: others.
ASYMPTOTIC_TOLERANCE = 0.1
#: Runs of at most this many steps are kept whole.
KEPT_STATES = 10_000
#: More repetitions than this cannot have been meant.
MOST_REPEATS = 1000
#: What can be compared at the end by its name.
QUANTITIES = ("q", "v", "p", "y", "z", "lam", "psi", "impulse", "gap", "energy")


@dataclass(frozen=True)
class ObservedOrder:
    """log(error) = slope log(h) + intercept, fitted over the points where `mask` is true.

    `residual` is the largest deviation of log10(error) from the line; `mask` belongs to `hs` and `errors`.
    """

    slope: float
    intercept: float
    mask: np.ndarray
    points: int
    residual: float
    hs: np.ndarray
    errors: np.ndarray

    def __repr__(self) -> str:
        return (
            f"ObservedOrder(slope={self.slope:.3f}, points={self.points} of {len(self.hs)}, "
            f"residual={self.residual:.2g})"
        )


@overload
def observed_order(hs, errors, *, min_points: int = 3, floor: float = ROUNDOFF_LEVEL) -> ObservedOrder: ...
@overload
def observed_order(
    system: AbstractSystem,
    method: Method,
    q0,
    v0,
    t,
    hs,
    reference=None,
    *,
    quantity: str | Callable = "q",
    min_points: int = 3,
    floor: float = ROUNDOFF_LEVEL,
) -> ObservedOrder: ...
def observed_order(*args, **kwargs) -> ObservedOrder:
    """The observed order of convergence, from errors or from runs.

    `observed_order(hs, errors)` fits given errors. `observed_order(system, method, q0, v0, t, hs, reference)`
    runs the method with every step size of `hs` over t = (t0, t1) and compares `quantity` ("q", "v", "p",
    "lam", or a function of the trajectory) at t1 with the reference: an array, a `State`, a function of t1
    that returns either, or None for `reference_solution`. At least `min_points` must remain; errors above
    `floor` are never taken for roundoff.
    """
    of_runs = "system" in kwargs or (args and isinstance(args[0], AbstractSystem))
    order = _order_of_runs if of_runs else _order_of_errors
    if not binds(order, *args, **kwargs):
        got = ", ".join([*(shown(value, 40) for value in args), *kwargs])
        raise InputError(
            "observed_order expects step sizes and errors, observed_order(hs, errors), or what it takes to run them, "
            f"observed_order(system, method, q0, v0, t, hs, reference); got ({got})."
        )
    return order(*args, **kwargs)


def _order_of_runs(
    system, method, q0, v0, t, hs, reference=None, *, quantity: str | Callable = "q", **options
) -> ObservedOrder:
    found = end_errors(system, method, q0, v0, t, hs, reference, quantities={"error": quantity})
    return _order_of_errors(found.hs, found.errors["error"], **options)


def _order_of_errors(hs, errors, *, min_points: int = 3, floor: float = ROUNDOFF_LEVEL) -> ObservedOrder:
    hs, errors = floats("hs", hs, finite=True), floats("errors", errors)
    min_points, floor = count("min_points", min_points, 2), positive("floor", floor)
    if hs.ndim != 1 or hs.shape != errors.shape:
        raise InputError(f"observed_order expects hs and errors of one shape (k,), got {hs.shape} and {errors.shape}.")
    if not np.all(hs > 0) or len(np.unique(hs)) < len(hs):
        raise InputError("observed_order expects positive and different step sizes.")
    order = np.argsort(-hs)
    usable = order[np.isfinite(errors[order]) & (errors[order] > 0)]
    x, y = np.log(hs[usable]), np.log(errors[usable])
    end = _before_plateau(x, y, floor)
    if end < min_points:
        raise InputError(
            f"observed_order needs {min_points} points above roundoff, got {end} of {len(hs)} "
            f"(errors {np.array2string(errors, precision=2)}); use larger or more step sizes."
        )
    begin = _asymptotic(x[:end], y[:end], min_points)
    slope, intercept = np.polyfit(x[begin:end], y[begin:end], 1)
    mask = np.zeros(len(hs), dtype=bool)
    mask[usable[begin:end]] = True
    residual = np.max(np.abs(y[begin:end] - slope * x[begin:end] - intercept)) / np.log(10)
    return ObservedOrder(float(slope), float(intercept), mask, int(end - begin), float(residual), hs, errors)


def _before_plateau(x, y, floor: float) -> int:
    """How many points, from the coarsest, lie before the errors stop to decrease at the level of roundoff."""
    slopes = np.diff(y) / np.diff(x)
    flat = [
        k + 1
        for k, slope in enumerate(slopes)
        if y[k + 1] < np.log(floor) and k > 0 and slope < 0.5 * np.median(slopes[:k])
    ]
    if not flat:
        return len(x)
    level = np.max(y[flat[0] :])
    clear = [k for k in range(flat[0]) if y[k] > level + np.log(PLATEAU_MARGIN)]
    return clear[-1] + 1 if clear else 0


def _asymptotic(x, y, min_points: int) -> int:
    """The first point, from the coarsest, from which on the slope is settled."""
    begin = 0
    while len(x) - begin > min_points:
        local = (y[begin + 1] - y[begin]) / (x[begin + 1] - x[begin])
        if abs(local - np.polyfit(x[begin + 1 :], y[begin + 1 :], 1)[0]) <= ASYMPTOTIC_TOLERANCE:
            break
        begin += 1
    return begin


#: Nobody waits for the end of a run of more steps.
MOST_STEPS = 10**10


@dataclass(frozen=True)
class EndErrors:
    """Errors at the end time (maximum norm) by quantity, one for each step size; NaN where a run failed."""

    hs: np.ndarray
    errors: dict[str, np.ndarray]
    seconds: np.ndarray
    iterations: np.ndarray
    steps: np.ndarray


def end_errors(
    system: AbstractSystem,
    method: Method,
    q0,
    v0,
    t,
    hs,
    reference=None,
    *,
    quantities: Sequence[str] | Mapping[str, str | Callable] = ("q",),
    repeats: int = 1,
    pattern: Sequence[float] = (1.0,),
) -> EndErrors:
    """Run with every step size, compare several quantities at the end; `reference` as in `observed_order`.

    `repeats` takes the shortest of several wall times, so that compilation does not count. With `pattern=(2, 1)` each
    step size is divided into two steps in these proportions, so that steps alternate.

    Many arguments: those of `observed_order` and `work_precision`, which ask this.
    """
    named = dict(quantities) if isinstance(quantities, Mapping) else {name: name for name in quantities}
    t0, t1 = interval(t)
    hs, repeats = floats("hs", hs, finite=True), count("repeats", repeats, 1, MOST_REPEATS)
    if hs.ndim != 1 or not np.all(hs > 0):
        raise InputError(f"hs must be positive step sizes of shape (k,), got {shown(hs)}.")
    if np.max((t1 - t0) / hs, initial=0.0) > MOST_STEPS:
        raise InputError(
            f"hs = {np.min(hs):g} takes more than {MOST_STEPS:.0e} steps from {t0:g} to {t1:g}: use larger ones."
        )
    for quantity in named.values():
        if not callable(quantity) or isinstance(quantity, type):
            choice("quantity", quantity, QUANTITIES)
    if reference is None:
        reference = reference_solution(system, q0, v0, (t0, t1))
    elif callable(reference):
        reference = reference(t1)
    parts = floats("pattern", pattern, finite=True)
    steps = np.maximum(np.round((t1 - t0) / hs), 1).astype(int) * len(parts)
    errors = {name: np.full(len(hs), np.nan) for name in named}
    seconds, iterations = np.full(len(hs), np.nan), np.zeros(len(hs), dtype=int)
    for k, size in enumerate(hs):
        divided = np.tile(parts / np.sum(parts) * size, int(steps[k]) // len(parts))
        h = size if len(parts) == 1 else divided * ((t1 - t0) / np.sum(divided))
        runs = [
            simulate(system, method, q0, v0, t=(t0, t1), h=h, save_every=int(steps[k]), on_failure="return")
            for _ in range(repeats)
        ]
        if not runs[-1].status:
            continue
        for name, quantity in named.items():
            errors[name][k] = _distance(runs[-1], quantity, reference)
        seconds[k] = min(run.stats["wall_seconds"] for run in runs)
        iterations[k] = runs[-1].stats["newton_iterations"]
    return EndErrors(hs, errors, seconds, iterations, steps)


def _thinning(steps: int) -> int:
    """Short runs keep every state, so that one compiled loop serves all step sizes; long ones the end."""
    return 1 if steps <= KEPT_STATES else int(steps)


def _distance(run: Trajectory, quantity: str | Callable, reference: Any) -> float:
    found = quantity(run) if callable(quantity) else getattr(run, quantity)[-1]
    if isinstance(reference, State):
        if callable(quantity):
            raise InputError("a quantity given as a function needs its own reference value, not a State.")
        reference = np.asarray(getattr(reference, quantity))
        reference = reference[-1] if reference.ndim > np.ndim(found) else reference
    found, reference = floats("the quantity at the end", found), floats("reference", reference, finite=True)
    if found.shape != reference.shape:
        raise InputError(f"the reference must have the shape of the quantity, {found.shape}, got {reference.shape}.")
    return float(np.max(np.abs(found - reference), initial=0.0))


@dataclass(frozen=True)
class WorkPrecision:
    """Rows are methods, columns step sizes: errors at the end, wall time, Newton iterations."""

    methods: tuple[str, ...]
    hs: np.ndarray
    steps: np.ndarray
    errors: np.ndarray
    seconds: np.ndarray
    iterations: np.ndarray


def work_precision(
    system: AbstractSystem,
    methods: Sequence[Method] | Mapping[str, Method],
    q0,
    v0,
    t,
    hs,
    reference=None,
    *,
    quantity: str | Callable = "q",
    repeats: int = 2,
) -> WorkPrecision:
    """Errors, wall time and Newton iterations of several methods over the same step sizes."""
    if not isinstance(methods, Iterable) or isinstance(methods, str | bytes):
        raise InputError(f"work_precision expects a list or a dict of methods, got {shown(methods)}.")
    listed = list(methods.values() if isinstance(methods, Mapping) else methods)
    if not listed:
        raise InputError("work_precision expects a list or a dict of methods, at least one.")
    for method in listed:
        instance("each of methods", method, Method, "a method such as da.Rattle()")
    named = methods if isinstance(methods, Mapping) else {method.name: method for method in listed}
    if reference is None:
        reference = reference_solution(system, q0, v0, t)
    found = [
        end_errors(system, method, q0, v0, t, hs, reference, quantities={"error": quantity}, repeats=repeats)
        for method in named.values()
    ]
    return WorkPrecision(
        methods=tuple(named),
        hs=found[0].hs,
        steps=found[0].steps,
        errors=np.stack([row.errors["error"] for row in found]),
        seconds=np.stack([row.seconds for row in found]),
        iterations=np.stack([row.iterations for row in found]),
    )
