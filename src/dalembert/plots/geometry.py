"""Where the points of a run are, and which of them are joined by bars."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..arguments import count, shown
from ..engine import RowFunction
from ..errors import InputError
from ..problem import AbstractSystem
from ..stepping import Family, flat_parameters, for_family

#: A bar from None starts at the origin.
Bars = tuple[tuple[int | None, int | None], ...]


@dataclass(frozen=True)
class Geometry:
    """Points over time, (N, points, 2 or 3), and the bars between them."""

    points: np.ndarray
    bars: Bars
    labels: tuple[str, ...]

    @property
    def dimension(self) -> int:
        return self.points.shape[2]

    @property
    def count(self) -> int:
        return self.points.shape[1]

    @property
    def along_axis(self) -> bool:
        """True if all points stay on one line along an axis: their path shows nothing of the motion."""
        return self.dimension == 2 and bool(np.any(np.ptp(self.points, axis=(0, 1)) == 0.0))

    def bar_ends(self, frame: int) -> np.ndarray:
        """The bars of one state, (bars, 2, dimension)."""
        places = np.concatenate([self.points[frame], np.zeros((1, self.dimension))])
        ends = [[self.count if end is None else end for end in bar] for bar in self.bars]
        return places[np.array(ends, dtype=int).reshape(-1, 2)]

    def limits(self, margin: float = 0.06) -> np.ndarray:
        """(dimension, 2): a box around all points at all times, the ends of the bars included."""
        low, high = self.points.min(axis=(0, 1)), self.points.max(axis=(0, 1))
        if any(end is None for bar in self.bars for end in bar):
            low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
        largest = float(np.max(high - low))
        if largest == 0.0:
            largest = max(1.0, float(np.max(np.abs(high))))
        # a motion along a line still gets a box that one can look at
        half = np.maximum((high - low) / 2, 0.2 * largest) + margin * largest
        middle = (high + low) / 2
        return np.stack([middle - half, middle + half], axis=1)


def geometry_of(run, dimension: int | None = None, bars=None) -> Geometry | None:
    """The points of a run: the system's own, or consecutive pairs or triples of q; None if there are none.

    Pairs are preferred where n is divisible by both; `dimension` decides otherwise.
    """
    if dimension is not None:
        dimension = count("dimension", dimension, 2, 3)
    system, n = run.system, run.q.shape[1]
    t, q = np.asarray(run.t), np.asarray(run.q)
    drawn = system if system is not None and system.provides("points") else None
    if bars is None:
        bars = () if system is None or (drawn is not None and dimension is not None) else system.bars
    if drawn is not None and dimension is None:
        points = points_at(drawn, t, q)
        labels = ("$x$", "$y$", "$z$")[: points.shape[2]]
    else:
        if dimension is None:
            dimension = next((d for d in (2, 3) if n % d == 0), None)
        elif n % dimension:
            raise InputError(
                f"{n} coordinates are not points of dimension {dimension}: {n} / {dimension} is not whole."
            )
        if dimension is None:
            return None
        points = q.reshape(len(q), -1, dimension)
        one = points.shape[1] == 1
        labels = tuple(f"$q_{k}$" for k in range(dimension)) if one else ("$x$", "$y$", "$z$")[:dimension]
    return Geometry(points, checked_bars(bars, points.shape[1]), labels)


def points_at(system: AbstractSystem, t, q) -> np.ndarray:
    """The points that a system gives at many states, (N, points, 2 or 3). Nothing is compiled."""
    return _places_at("points", system, t, q)


def corners_at(system: AbstractSystem, t, q) -> np.ndarray:
    """The corners of the faces of its bodies, (N, corners, 2 or 3)."""
    corners = _places_at("outline", system, t, q)
    faces: Any = system.faces
    if any(not 0 <= k < corners.shape[1] for face in faces for k in face) or any(len(face) < 2 for face in faces):
        raise InputError(
            f"{type(system).__name__}.faces must hold tuples of two or more numbers of corners, 0 to "
            f"{corners.shape[1] - 1}; got {shown(faces)}."
        )
    return corners


def _places_at(part: str, system: AbstractSystem, t, q) -> np.ndarray:
    t, q = np.asarray(t, dtype=float), np.asarray(q, dtype=float)
    family, parameters = Family(system), np.asarray(flat_parameters(system))
    shape, placed = _placed(family, part, q.shape[1])
    if len(shape) != 2 or shape[1] not in (2, 3):
        raise InputError(
            f"{type(system).__name__}.{part}(t, q) must return shape (points, 2) or (points, 3), got {shape}."
        )
    return placed(t, q, np.broadcast_to(parameters, (len(t), len(parameters)))).reshape(len(t), *shape)


@for_family()
def _placed(family: Family, part: str, n: int) -> tuple[tuple[int, ...], RowFunction]:
    """The shape of the places at one state, and the function that finds them."""

    def points(t, q, parameters):
        return jnp.asarray(getattr(family.at(parameters), part)(t, q), jnp.float64)

    scalar, vector, parameters = (jax.ShapeDtypeStruct(s, jnp.float64) for s in ((), (n,), (family.size,)))
    shape = jax.eval_shape(points, scalar, vector, parameters).shape
    return shape, RowFunction(lambda *arguments: jnp.ravel(points(*arguments)))


def has_own_points(run, dimension: int | None) -> bool:
    """Whether the geometry with this `dimension` has the points of the system, at which forces are found."""
    return run.system is not None and (dimension is None or not run.system.provides("points"))


def checked_bars(bars, count: int) -> Bars:
    """Pairs of point numbers, from what a system or a user gives."""
    if isinstance(bars, str):
        if bars != "chain":
            raise InputError(f'bars must be pairs of point numbers or "chain", got {bars!r}.')
        return tuple((k - 1 if k else None, k) for k in range(count))
    try:
        pairs: Bars = tuple((a if a is None else int(a), b if b is None else int(b)) for a, b in bars)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f'bars must be pairs of point numbers or "chain", got {bars!r}.') from error
    for end in (end for pair in pairs for end in pair):
        if end is not None and not 0 <= end < count:
            raise InputError(f"bars join point {end}, but there are only {count} points, 0 to {count - 1}.")
    return pairs
