"""The sizes of the steps: one for all, given one by one, or chosen by the error as the run goes on.

Adaptive sizes (Acary 2012, equations (57) to (61); Hairer, Norsett, Wanner, Solving ODEs I, II.4): one step against two
half steps. From x_0, with x_1 after one step of the size h and x_1/2 after two of h/2, and the order p of the method::

    e = (x_1/2 - x_1) / (2^p - 1)                                                                 (57)
    error = max_k |e_k| / (atol_k + rtol_k max(|x_0,k|, |x_1/2,k|))                                 (59)
    h_new = h min(alpha_max, max(alpha_min, alpha (1 / error)^{1/(p+1)}))                       (60)

A step with error <= 1 is accepted with x_1/2; else it is taken again with h_new. A step may err by the tolerance
whatever its size, so the error after many steps is proportional to the tolerance to the power p / (p + 1).

Smooth methods: x = (q, v), p their order. Steps through impacts: x = q, and e = q_1/2 - q_1 (61) with p = 0 for all
steps; or, event-aware, p = 0 in steps with contact impulses, p = 1 in the others. Where the free motion is exact that e
is zero, and only `h_max` keeps h from growing past the next impact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arguments import flag, floats, interval, positive
from ..arguments import number as checked_number
from ..errors import InputError
from .consistent import is_traced

#: The steps of a run are counted exactly up to here.
MOST_STEPS = 2**53
#: Given sizes may miss the length of the interval by so much of it.
SUM_TOLERANCE = 1e-9
#: alpha of (60) where none is given: 1 for steps through impacts, as in the paper; smooth steps are rejected less often
#: with a little less.
ALPHA_OF_IMPACTS, ALPHA_OF_SMOOTH = 1.0, 0.9


def is_sequence(h) -> bool:
    """Whether h is a list or an array of step sizes, not one number."""
    return isinstance(h, list | tuple) or (not isinstance(h, str) and np.ndim(h) > 0)


def usual_size(h) -> float:
    """A step size that says how far a motion goes in a step: h, the largest of given ones, the first adaptive one."""
    return h.h0 if isinstance(h, Adaptive) else float(np.max(np.abs(h)))


class EqualSteps(NamedTuple):
    """Steps of one size that fill the interval from t0 on exactly."""

    t0: float
    h: float
    steps: int

    def times(self, save_every: int) -> np.ndarray:
        """The times of the saved states."""
        return self.t0 + self.h * (save_every * np.arange(self.steps // save_every + 1))


def equal_steps(t, h) -> EqualSteps:
    """Steps of the size h over the interval t = (t0, t1): back in time, of the size -h, where t1 < t0."""
    if is_traced(h):
        raise InputError("h must be a number, not a traced value: the number of steps follows from it.")
    t0, t1 = interval(t, backwards=True)
    h, span = positive("h", h), abs(t1 - t0)
    if span / h > MOST_STEPS:
        raise InputError(f"h = {h:g} takes {span / h:.3g} steps over the interval [{t0:g}, {t1:g}]; use a larger h.")
    steps = round(span / h)
    if steps < 1 or abs(steps * h - span) > 1e-9 * span:
        few = max(1, int(span / h))
        raise InputError(
            f"h = {h:g} does not divide the interval [{t0:g}, {t1:g}]: {span / h:.6g} steps. "
            f"Use h = {span / (few + 1):.17g} ({few + 1} steps) or h = {span / few:.17g} "
            f"({few} step{'s' if few > 1 else ''}), or move t1."
        )
    return EqualSteps(t0, (t1 - t0) / steps, steps)


class GivenSteps(NamedTuple):
    """The sizes of the steps, (N,), and the times at their ends, (N + 1,)."""

    sizes: np.ndarray
    times: np.ndarray


def given_steps(t, h) -> GivenSteps:
    """The times of steps of the sizes h over t = (t0, t1), back in time where t1 < t0; t1 = None is t0 + sum of the
    sizes."""
    if is_traced(h):
        raise InputError("h must hold numbers, not traced values: the times of the steps follow from them.")
    sizes = floats("h as a sequence of step sizes", h)
    if sizes.ndim != 1 or not len(sizes):
        raise InputError(f"a sequence of step sizes must have shape (steps,), got {sizes.shape}.")
    bad = np.flatnonzero(~(np.isfinite(sizes) & (sizes > 0)))
    if len(bad):
        raise InputError(f"every step size must be positive and finite, got h[{bad[0]}] = {sizes[bad[0]]}.")
    if isinstance(t, tuple | list) and len(t) == 2 and t[1] is None:
        t0, t1 = checked_number("t0", t[0]), None
    else:
        t0, t1 = interval(t, backwards=True)
        sizes = sizes if t0 < t1 else -sizes
    # summed with more digits than are kept: a million steps end where their sum does
    times = np.concatenate([[t0], np.float64(t0) + np.cumsum(sizes, dtype=np.longdouble).astype(np.float64)])
    if t1 is None:
        return GivenSteps(sizes, times)
    total, span = abs(float(np.sum(sizes, dtype=np.longdouble))), abs(t1 - t0)
    if abs(total - span) > SUM_TOLERANCE * span:
        raise InputError(
            f"the {len(sizes)} step sizes add up to {total:.17g}, the interval [{t0:g}, {t1:g}] has length "
            f"{span:.17g}. Scale them by {span / total:.17g}, or pass t=({t0:g}, None) to end where they end."
        )
    times[-1] = t1
    return GivenSteps(sizes, times)


@dataclass(frozen=True)
class Adaptive:
    """Step sizes by error control; give it to `simulate` as h.

    For every smooth method and `MoreauJean`. A method that keeps a structure with one step size
    (symplecticity, a bounded energy error, reversibility) loses it where the size changes with the error.

    Attributes:
        atol, rtol: the error that a step may make, absolute and relative; numbers or one for each coordinate. Of smooth
            methods in q and in v, else in q.
        h0: the first step size.
        h_max: the largest one.
        event_aware: count steps without contact impulses as one order better.
        alpha: the part of the size that the estimate allows; None is 0.9, and 1 for steps through impacts.
        alpha_min, alpha_max: by which factors the size changes at most from one step to the next.
    """

    atol: float | tuple[float, ...]
    rtol: float | tuple[float, ...]
    h0: float
    h_max: float
    event_aware: bool = False
    alpha: float | None = None
    alpha_min: float = 0.5
    alpha_max: float = 5.0

    def __post_init__(self) -> None:
        for name in ("h0", "h_max", "alpha_min", "alpha_max", *(("alpha",) if self.alpha is not None else ())):
            object.__setattr__(self, name, positive(f"{name} of Adaptive", getattr(self, name)))
        for name in ("atol", "rtol"):
            values = floats(f"{name} of Adaptive", getattr(self, name))
            if values.ndim > 1 or not values.size or not (np.all(np.isfinite(values)) and np.all(values >= 0)):
                raise InputError(f"{name} of Adaptive must be at least 0, got {getattr(self, name)!r}.")
            object.__setattr__(self, name, tuple(values.tolist()) if values.ndim else float(values))
        flag("event_aware of Adaptive", self.event_aware)
        if np.ndim(self.atol) and np.ndim(self.rtol) and np.shape(self.atol) != np.shape(self.rtol):
            raise InputError(f"atol and rtol of Adaptive must have one length, got {self.atol!r} and {self.rtol!r}.")
        if not np.all(np.asarray(self.atol) + np.asarray(self.rtol) > 0):
            raise InputError("atol and rtol of Adaptive must not both be 0.")
        if self.h0 > self.h_max:
            raise InputError(f"h0 of Adaptive must not exceed h_max = {self.h_max:g}, got {self.h0:g}.")
        if not self.alpha_min < 1 < self.alpha_max:
            raise InputError(
                "alpha_min of Adaptive must be below 1 and alpha_max above, or sizes could not follow the error; got "
                f"{self.alpha_min:g} and {self.alpha_max:g}."
            )
        if self.alpha is not None and self.alpha > 1:
            raise InputError(f"alpha of Adaptive must be at most 1, got {self.alpha:g}: larger steps are rejected.")

    def check_length(self, n: int) -> None:
        """Refuse tolerances for another number of coordinates."""
        for name in ("atol", "rtol"):
            given = np.shape(getattr(self, name))
            if given not in ((), (n,)):
                raise InputError(f"{name} of Adaptive must be a number or {n}, one a coordinate, got {given[0]}.")

    def error(self, start: np.ndarray, one: np.ndarray, halves: np.ndarray, order: int = 0) -> float:
        """(57), (59) for rows of coordinates, such as q or q and v; (61) for order 0."""
        allowed = np.asarray(self.atol) + np.asarray(self.rtol) * np.maximum(np.abs(start), np.abs(halves))
        estimate = np.abs(halves - one) / max(1, 2**order - 1)
        return float(np.max(estimate / np.maximum(allowed, np.finfo(np.float64).tiny)))

    def next_size(self, h: float, error: float, order: int, smooth: bool = False) -> float:
        """h_new of (60)."""
        usual = ALPHA_OF_SMOOTH if smooth else ALPHA_OF_IMPACTS
        alpha = usual if self.alpha is None else self.alpha
        factor = self.alpha_max if error == 0 else alpha * (1 / error) ** (1 / (order + 1))
        return min(self.h_max, h * min(self.alpha_max, max(self.alpha_min, factor)))
