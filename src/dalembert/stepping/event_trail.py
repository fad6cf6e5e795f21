"""What a run of event capturing noted on its way, for its derivative: the moves of `method/event_moves.py`, in order.

Leap     a single move
Steps    consecutive steps of the regular grid in one mode, taken by compiled code
Bounce   a compiled step with one bounce in it (`method/event_bounce.py`)
Mark     the end of the step k of the grid, and the mode at that time
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..errors import InputError
from ..method.event_equations import Modes
from ..method.event_mode import Sizes, Tolerances
from ..method.event_moves import Impact, Marks, Move, Projection, Row, ToEvent, ToTime, WholeStep
from ..method.runge_kutta import RungeKutta
from .contact_modes import NO_FORCE
from .event_kernels import Watched
from .event_search import Found, signals
from .event_smooth import sizes_of
from .step import Layout

#: Friction that comes so near to its bound works at it.
AT_THE_BOUND = 1e-9


class Leap(NamedTuple):
    """A move, the numbers it reads, and where it began."""

    move: Move
    numbers: np.ndarray
    y: np.ndarray
    t: float


class Steps(NamedTuple):
    """So many steps from the step `first` of the grid on, which began at y."""

    move: WholeStep
    numbers: np.ndarray
    y: np.ndarray
    first: int
    count: int


class Mark(NamedTuple):
    """The end of the step k of the grid; what follows from y there."""

    k: int
    row: Row
    numbers: np.ndarray
    y: np.ndarray
    t: float


class Trail:
    """The notes of one run."""

    def __init__(self, tableau: RungeKutta, layout: Layout) -> None:
        if layout.directions > 2:
            raise InputError("the derivative of event capturing treats friction in the plane; use da.MoreauJean().")
        self._tableau, self._d = tableau, layout.directions
        self._sizes = sizes_of(layout)
        self.notes: list[Leap | Steps | Mark] = []

    def _mode(self, modes: Modes) -> tuple[Sizes, RungeKutta, Marks, Marks]:
        if modes.dependent:
            raise InputError(
                "contacts that are closed depend on each other during this run, so that the forces between them are "
                "not unique and have no derivative; leave out contacts that are not needed, or use da.MoreauJean()."
            )
        return self._sizes, self._tableau, _marks(modes.closed), _marks(modes.sticking)

    def steps(self, modes: Modes, y: np.ndarray, first: int, count: int) -> None:
        """Compiled steps from the step `first` of the grid on, where the motion was at y."""
        move = WholeStep(*self._mode(modes))
        self.notes.append(Steps(move, np.array(modes.direction, float), y.copy(), first, count))

    def mark(self, k: int, modes: Modes, y: np.ndarray, t: float) -> None:
        """The grid was reached by a single step."""
        self.notes.append(Mark(k, Row(*self._mode(modes)), np.array(modes.direction, float), y.copy(), float(t)))

    def to_time(self, modes: Modes, y: np.ndarray, t: float, end: float) -> None:
        """Smooth motion to the end of a step."""
        self._leap(ToTime(*self._mode(modes)), [*modes.direction, end], y, t)

    def to_event(self, modes: Modes, y, t: float, found: Found, left: float, seen: Watched, limits: Tolerances) -> None:
        """Smooth motion to an event that was found in the time `left`; `seen` is the motion there.

        An event at once whose quantity is not zero but beyond it follows from the event before, and its time with it:
        a contact that can hold no longer after the impact of another one.

        Many arguments: the state, and what was found in it.
        """
        kind, contact, ahead, way = str(found.kind), int(found.contact), 0.0, 0.0
        tau = (found.first + found.last) / 2 * left
        if kind == "impact":
            ahead = tau - found.first * left
        elif tau == 0.0:
            level = limits.velocity if kind == "stick" else limits.force
            if abs(signals(seen, modes)[kind][1][contact]) > level:
                return
        if self._d > 1:
            way = np.sign(seen.force[contact, 1])
        move = ToEvent(*self._mode(modes), kind, contact)
        self._leap(move, [*modes.direction, t + tau, ahead, way], y, t)

    def impact(self, y: np.ndarray, t: float, length: float, impulse: np.ndarray, thrown: np.ndarray, mu) -> None:
        """Moreau's step; `thrown` says of each contact whether its restitution counts.

        Many arguments: the state, and what was found in it.
        """
        normal = impulse[:, 0]
        pushing, way = normal > NO_FORCE * np.max(normal, initial=0.0), np.zeros(len(normal))
        sliding = sticking = np.zeros(len(normal), bool)
        if self._d > 1:
            across, bound = impulse[:, 1], mu * normal
            sliding = pushing & (np.abs(across) >= (1 - AT_THE_BOUND) * bound)
            sticking, way = pushing & ~sliding, -np.sign(across)
        move = Impact(self._sizes, _marks(pushing), _marks(sticking), _marks(sliding))
        self._leap(move, [*way, *np.where(thrown, 1.0, 0.0), length], y, t)

    def projection(self, y: np.ndarray, t: float, position, held, sticking) -> None:
        """A move onto the constraints."""
        if self._sizes.m + self._sizes.k or np.any(position) or np.any(held):
            self._leap(Projection(self._sizes, _marks(position), _marks(held), _marks(sticking)), [], y, t)

    def _leap(self, move: Move, numbers: list, y: np.ndarray, t: float) -> None:
        self.notes.append(Leap(move, np.array(numbers, float), y.copy(), float(t)))


def _marks(values) -> Marks:
    return tuple(np.asarray(values, bool).tolist())
