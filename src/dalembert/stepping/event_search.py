"""Events inside a smooth step: which quantity changes sign first, and when.

    open       gap < 0 while U_N < 0                    impact
    closed     lam_N < 0                                opening
    sticking   mu lam_N - |lam_T| < 0                   slip
    sliding    sign U_T < 0, sign that of its beginning stick

A step is looked at in equal parts. The first part in which a quantity changes sign, or in which a gap has a minimum
that may lie below zero, is searched: the quantity as a function of the length of the Runge-Kutta step, by Brent's
method, which encloses the event in an interval of a given width. A contact that closes and opens again within a part
is found by its minimum; one that has just left (gap = 0, U_N > 0) and comes back within a part, by its maximum.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy

from ..method.event_equations import Modes
from ..method.event_mode import DIP_MARGIN, PARTS, Tolerances
from .event_kernels import Watched

#: Zeros are found to this part of a step, where the width of the interval does not ask for more.
ROOT = 1e-15


class Found(NamedTuple):
    """An event of a contact within [first, last], parts of the step; kind None: nothing, but go on from there."""

    kind: str | None
    contact: int
    first: float
    last: float


def signals(watched: Watched, modes: Modes) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """For each kind but impacts: which contacts are concerned, and the quantity that must stay positive."""
    normal = watched.force[..., 0]
    result = {"opening": (modes.closed, normal)}
    if watched.force.shape[-1] == 2:
        slipping = watched.friction * normal - np.abs(watched.force[..., 1])
        result["slip"] = (modes.closed & modes.sticking, slipping)
        sliding = modes.closed & ~modes.sticking & (modes.direction != 0)
        result["stick"] = (sliding, modes.direction * watched.velocity[..., 1])
    return result


def first_events(
    inside: Watched, modes: Modes, look: Callable[[float], Watched], length: float, width: float,
    tolerances: Tolerances,
) -> list[Found]:  # fmt: skip
    """The events in the first part of a step of this length that has any, to within `width` (both are times).

    `look(theta)` is the motion at the end of a smooth step of theta times the length.
    """
    suspects = _suspects(inside, modes, tolerances)
    for part in range(1, PARTS + 1):
        found = []
        for kind, contact in suspects.get(part, []):
            search = _Search(kind, contact, inside, modes, look, length, width, tolerances)
            event = search.contact_closing(part) if kind in ("impact", "dip") else search.sign_change(part)
            found += [] if event is None else [event]
        if found:
            return found
    return []


def _suspects(inside: Watched, modes: Modes, tolerances: Tolerances) -> dict[int, list[tuple[str, int]]]:
    """By part of the step, what may happen in it; only the first of each kind for a contact, and every dip."""
    suspects: dict[int, list[tuple[str, int]]] = {}
    gap, speed = inside.gap, inside.velocity[..., 0]
    through = ~modes.closed & (gap < -tolerances.gap) & (speed < 0)
    through[0] = False
    levels = [("impact", through)]
    for kind, (concerned, value) in signals(inside, modes).items():
        level = tolerances.velocity if kind == "stick" else tolerances.force
        negative = concerned & (value < -level)
        negative[0] = False
        levels.append((kind, negative))
    for kind, negative in levels:
        for contact in np.flatnonzero(np.any(negative, axis=0)):
            suspects.setdefault(int(np.argmax(negative[:, contact])), []).append((kind, int(contact)))
    turning = ~modes.closed & (speed[:-1] < 0) & (speed[1:] > 0) & (gap[:-1] > tolerances.gap) & (gap[1:] > 0)
    for part, contact in np.argwhere(turning):
        suspects.setdefault(int(part) + 1, []).append(("dip", int(contact)))
    return suspects


class _Search:
    """The search for one event; `value(theta)` is the quantity at the end of a step of theta times the length."""

    def __init__(self, kind, contact, inside, modes, look, length, width, tolerances) -> None:
        self.kind, self.contact, self.inside, self.tolerances = kind, contact, inside, tolerances
        self.width, self.duration = width / length, length / PARTS
        self._modes, self._look = modes, look

    def value(self, theta: float) -> float:
        return float(signals(self._look(theta), self._modes)[self.kind][1][self.contact])

    def gap(self, theta: float) -> float:
        return float(self._look(theta).gap[self.contact])

    def speed(self, theta: float) -> float:
        return float(self._look(theta).velocity[self.contact, 0])

    def sign_change(self, part: int) -> Found | None:
        low, high = (part - 1) / PARTS, part / PARTS
        if float(signals(self.inside, self._modes)[self.kind][1][part - 1, self.contact]) <= 0:
            return Found(self.kind, self.contact, low, low)
        return self._enclosed(self.kind, self.value, low, high)

    def contact_closing(self, part: int) -> Found | None:
        low, high = (part - 1) / PARTS, part / PARTS
        gap, speed = self.inside.gap[:, self.contact], self.inside.velocity[:, self.contact, 0]
        if self.kind == "dip":
            return self._dip(low, high, gap[part - 1 : part + 1], speed[part - 1 : part + 1])
        if gap[part - 1] > self.tolerances.gap:
            return self._enclosed("impact", self.gap, low, high)
        if speed[part - 1] <= 0:
            return Found("impact", self.contact, low, low)
        top = self._enclosed("impact", self.speed, low, high)  # it has just left and comes back
        if top.kind is None or self.gap(top.first) <= self.tolerances.gap:
            return top
        return self._enclosed("impact", self.gap, top.first, high)

    def _dip(self, low: float, high: float, gap: np.ndarray, speed: np.ndarray) -> Found | None:
        # with constant acceleration the gap falls by U^2 / (2 U') to its minimum
        fall = speed**2 * self.duration / (2 * (speed[1] - speed[0]))
        if np.min(gap - (1 + DIP_MARGIN) * fall) > 0:
            return None
        bottom = self._enclosed("impact", lambda theta: -self.speed(theta), low, high)
        if bottom.kind is None or self.gap(bottom.last) >= -self.tolerances.gap:
            return None
        return self._enclosed("impact", self.gap, low, bottom.last)

    def _enclosed(self, kind: str, function: Callable[[float], float], low: float, high: float) -> Found:
        """Where the function falls below zero between low and high."""
        if low > 0 and function(low) <= 0:  # the step that ends here knows better than the polynomial of the longer one
            low, high = 0.0, low
        if function(high) > 0:
            return Found(None, self.contact, high, high)
        if function(low) <= 0:
            return Found(kind, self.contact, low, low)
        root = float(scipy.optimize.brentq(function, low, high, xtol=min(self.width / 4, ROOT), rtol=1e-15))  # pyright: ignore
        return Found(kind, self.contact, max(root - self.width / 2, low), min(root + self.width / 2, high))
