"""Forces in figures and films: the arrows that the studio draws, with its colours and its scale.

All arrows of a run have one scale: the force that three of four of them stay below is as long as USUAL of the picture,
none is longer than LONGEST times that. Between spheres, forces are rods whose sections grow with the force.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arguments import choice
from .forces import CHAIN, REACTION, Arrows, Wanted, arrows_of, forces_in
from .geometry import Geometry

#: Which forces a picture shows, by what a call says.
FORCES = {
    "none": Wanted(False, False),
    "contacts": Wanted(True, False),
    "reactions": Wanted(False, True),
    "all": Wanted(True, True),
}
#: As parts of red, green and blue; a chain of forces goes from weak to strong.
CONTACT_COLOUR, REACTION_COLOUR = (0.757, 0.071, 0.122), (0.482, 0.247, 0.627)
WEAK, STRONG = (0.949, 0.757, 0.306), (0.616, 0.008, 0.031)
USUAL, LONGEST = 0.16, 3.0
#: Half the width of an arrow, of its head, and of a rod with the usual force, as parts of the picture or of the head.
THICK, HEAD, WING, ROD = 0.0085, 5 * 0.0085, 0.45, 0.012
#: States between which forces are averaged in a figure.
MOST_STATES = 1500


def wanted_forces(forces) -> Wanted:
    """What the argument `forces` of a figure or film asks for."""
    choice("forces", forces, tuple(FORCES))
    return FORCES[forces]


class Drawn(NamedTuple):
    """The arrows of one moment: ends in the plane or in space, (m, 2 or 3); half widths and heads, (m,); colours."""

    starts: np.ndarray
    ends: np.ndarray
    half: np.ndarray
    head: np.ndarray
    colours: np.ndarray


class ForcesInTime:
    """The forces of a run at the states before some times.

    Attributes:
        arrows: those of all these states; None where the run has none that are wanted.
        remarks: what could not be drawn, and why.
    """

    def __init__(self, run: Any, geometry: Geometry, times: np.ndarray, wanted: Wanted) -> None:
        t = np.asarray(run.t, dtype=float)
        direction = 1.0 if t[-1] >= t[0] else -1.0
        before = np.searchsorted(direction * t, direction * np.asarray(times), side="right") - 1
        rows, self._number = np.unique(np.clip(before, 0, len(t) - 1), return_inverse=True)
        self._dimension = geometry.dimension
        self._span = float(np.max(np.ptp(geometry.limits(margin=0.0), axis=1)))
        none = not any(a and b for a, b in zip(wanted, forces_in(run.system), strict=True))
        self.arrows: Arrows | None = None if none else arrows_of(run, rows, geometry.points[rows], wanted)
        self.remarks = () if self.arrows is None else self.arrows.remarks
        size = np.zeros(0) if self.arrows is None else np.linalg.norm(self.arrows.vectors, axis=1)
        self._usual = float(np.quantile(size, 0.75)) if len(size) else 0.0

    @property
    def fullest(self) -> int:
        """The number of the time at which most arrows are drawn, the last one of several."""
        if self.arrows is None:
            return len(self._number) - 1
        counts = np.diff(self.arrows.starts)[self._number]
        return int(len(counts) - 1 - np.argmax(counts[::-1]))

    def at(self, time: int, points: np.ndarray) -> Drawn | None:
        """The arrows at one of the times, by its number, where the points are there, (points, 2 or 3)."""
        if self.arrows is None or not self._usual > 0:
            return None
        arrows, k = self.arrows, self._number[time]
        own = slice(arrows.starts[k], arrows.starts[k + 1])
        vectors, kinds, numbers = arrows.vectors[own], arrows.kinds[own], arrows.points[own]
        axes = [0, 2] if self._dimension == 2 else [0, 1, 2]  # a plane lies in that of x and z
        starts = arrows.places[own][:, axes].copy()
        held, chain = (numbers >= 0) & (kinds != CHAIN), kinds == CHAIN
        starts[held] = points[numbers[held]]
        size = np.linalg.norm(vectors, axis=1)
        share = np.minimum(size / self._usual, LONGEST)
        ends = starts + (USUAL * self._span * share / np.where(size > 0, size, 1.0))[:, None] * vectors[:, axes]
        ends[chain] = points[numbers[chain]]
        length = np.linalg.norm(ends - starts, axis=1)
        half = self._span * np.where(chain, ROD * np.sqrt(share), THICK)
        head = np.where(chain, 0.0, np.minimum(HEAD * self._span, 0.5 * length))
        strength = np.minimum(1.0, size / (1.5 * self._usual))[:, None]
        colours = np.where((kinds == REACTION)[:, None], REACTION_COLOUR, CONTACT_COLOUR)
        colours = np.where(chain[:, None], (1 - strength) * WEAK + strength * np.array(STRONG), colours)
        return Drawn(starts, ends, half, head, colours)


def at_the_end(run: Any, geometry: Geometry, wanted: Wanted) -> Drawn | None:
    """The arrows at the last state of a run."""
    t = np.asarray(run.t, dtype=float)
    rows = np.unique(np.round(np.linspace(0, len(t) - 1, min(len(t), MOST_STATES))).astype(int))
    return ForcesInTime(run, geometry, t[rows], wanted).at(len(rows) - 1, geometry.points[-1])


def outlines(starts: np.ndarray, ends: np.ndarray, half: np.ndarray, head: np.ndarray) -> np.ndarray:
    """The corners of arrows in the plane, (m, 7, 2); an arrow without a head is a rod.

    The head is no longer than half of the arrow, which may be seen from its end.
    """
    along = ends - starts
    length = np.linalg.norm(along, axis=1)
    along = along / np.where(length > 0, length, 1.0)[:, None]
    across = np.stack([-along[:, 1], along[:, 0]], axis=1)
    short = np.minimum(head, 0.5 * length)
    side, wing = half[:, None] * across, np.where(head > 0, WING * short, half)[:, None] * across
    neck = ends - short[:, None] * along
    return np.stack([starts + side, neck + side, neck + wing, ends, neck - wing, neck - side, starts - side], axis=1)
