"""Motions to be watched: points over time, what joins them, what they move on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from ..plots.geometry import geometry_of
from ..trajectory import Trajectory

#: Pictures of a motion; between them the page draws straight lines.
FRAMES = 240
#: Pairs of point numbers; None is the origin.
Pairs = tuple[tuple[int | None, int | None], ...]


@dataclass(frozen=True)
class Motion:
    """A motion of points in the plane or in space.

    Args:
        title: what moves.
        caption: what to look at; formulas between dollar signs.
        t: evenly spaced times.
        points: (times, points, 2 or 3).
        names: for the legend, one a point; empty where it needs none.
        bars: which points are joined rigidly.
        springs: which are joined by springs.
        outlines: what does not move, curves of shape (k, 2 or 3).
        trailing: which points leave a trail; all of them by default.
        colours: numbers of colours of the points; one after the other by default.
        labels: of the axes.
        equal: whether the axes of a plane have one scale.
        seconds: how long it plays.
    """

    title: str
    caption: str
    t: np.ndarray
    points: np.ndarray
    names: tuple[str, ...] = ()
    bars: Pairs = ()
    springs: Pairs = ()
    outlines: tuple[np.ndarray, ...] = ()
    trailing: tuple[int, ...] | None = None
    colours: tuple[int, ...] = ()
    labels: tuple[str, ...] = ("x", "y", "z")
    equal: bool = True
    seconds: float = 10.0

    def __post_init__(self) -> None:
        shape = np.shape(self.points)
        if len(shape) != 3 or shape[0] != len(self.t) or shape[2] not in (2, 3):
            raise InputError(f"points must have shape ({len(self.t)}, points, 2 or 3), got {shape}.")
        if not np.all(np.isfinite(self.points)):
            raise InputError(f"the points of the motion {self.title!r} must be finite.")
        if self.names and len(self.names) != shape[1]:
            raise InputError(f"the motion {self.title!r} needs {shape[1]} names, got {len(self.names)}.")


def sampled(run: Trajectory, frames: int = FRAMES, dimension: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Evenly spaced times and the points of a run there, on straight lines between the steps."""
    geometry = geometry_of(run, dimension)
    if geometry is None:
        raise InputError("this run has no points to watch.")
    t = np.asarray(run.t)
    times = np.linspace(t[0], t[-1], frames)
    flat = geometry.points.reshape(len(t), -1)
    columns = [np.interp(times, t, flat[:, k]) for k in range(flat.shape[1])]
    return times, np.stack(columns, axis=1).reshape(frames, *geometry.points.shape[1:])


def motion_of(run: Trajectory, title: str, caption: str, **options) -> Motion:
    """A run, with the bars of its system."""
    geometry = geometry_of(run)
    t, points = sampled(run)
    return Motion(title, caption, t, points, bars=() if geometry is None else geometry.bars, **options)


def beside(points: Sequence[np.ndarray], gap: float) -> np.ndarray:
    """Motions of the same times in one picture, each `gap` farther to the right than the one before."""
    shift = np.zeros(points[0].shape[2])
    shift[0] = gap
    return np.concatenate([one + k * shift for k, one in enumerate(points)], axis=1)
