"""The sizes of the steps: one for all, given one by one, or chosen by the error as the run goes on.

Adaptive sizes (Acary 2012, equations (57) to (61)): one step against two half steps. From a state, with q_1 after one
step of the size h and q_1/2 after two of h/2::

    error = max_k |q_1/2,k - q_1,k| / (atol + rtol max(|q_0,k|, |q_1/2,k|))
    h_new = h min(5, max(1/2, (1 / error)^{1/r}))

A step with error <= 1 is accepted with q_1/2; else it is taken again with h_new. r is the order of the local error in
q: 1, that of a step with an impact, for all steps; or, event-aware, 1 in steps with contact impulses, 2 in the others.
Where the free motion is exact the error is zero, and only `h_max` keeps h from growing past the next impact.
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
#: Adaptive sizes change by these factors at most.
SMALLEST_FACTOR, LARGEST_FACTOR = 0.5, 5.0


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
    """Step sizes of `MoreauJean` by error control; give it to `simulate` as h.

    Attributes:
        atol, rtol: the error in q that a step may make, absolute and relative; numbers or one for each coordinate.
        h0: the first step size.
        h_max: the largest one.
        event_aware: count steps without contact impulses as one order better.
    """

    atol: float | tuple[float, ...]
    rtol: float | tuple[float, ...]
    h0: float
    h_max: float
    event_aware: bool = False

    def __post_init__(self) -> None:
        for name in ("h0", "h_max"):
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

    def error(self, q0: np.ndarray, one: np.ndarray, halves: np.ndarray) -> float:
        """The size of q_1/2 - q_1 in units of what is allowed."""
        allowed = np.asarray(self.atol) + np.asarray(self.rtol) * np.maximum(np.abs(q0), np.abs(halves))
        return float(np.max(np.abs(halves - one) / np.maximum(allowed, np.finfo(np.float64).tiny)))

    def next_size(self, h: float, error: float, impact: bool) -> float:
        """h_new."""
        order = 1 if impact or not self.event_aware else 2
        factor = LARGEST_FACTOR if error == 0 else (1 / error) ** (1 / order)
        return min(self.h_max, h * min(LARGEST_FACTOR, max(SMALLEST_FACTOR, factor)))
