"""Joints: what each kind locks, how far it leaves open, and where it puts the second body.

The frame of a joint has its axis third. With e_i its axes in the first body, f_j in the second, and s_k the components
of the second's point seen from the first (`Relative`), a kind states

    points     the k with s_k = 0
    turns      the (i, j) with e_i . f_j = 0
    further    other constraints, by name

and for its own coordinates c (angles and displacements) `measure`: c at two poses, and `motion`: the shift s and the
rotation R (f_j = sum_i R_ij e_i) at c.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ..arguments import number, positive, shown
from ..errors import InputError, ModelError
from .configuration import Frame, Relative
from .vectors import axis_direction, frame_with_axis, is_traced

Rows = list[tuple[str, Any]]
#: Lengths whose squares are numbers.
LONGEST = 1e150
IDENTITY = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
UNTURNED = ((0, 1), (1, 2), (2, 0))


class Joint(eqx.Module):
    """A kind of joint. `axes()` is its frame in the surroundings of the drawing, as columns."""

    points: ClassVar[tuple[int, ...]] = ()
    turns: ClassVar[tuple[tuple[int, int], ...]] = ()
    #: Names of the joint's own coordinates.
    coordinates: ClassVar[tuple[str, ...]] = ()
    #: How a tree of joints places the second body: by the coordinates, by free directors, or not at all.
    places: ClassVar[str] = "coordinates"
    #: Whether all rows are at most quadratic in poses.
    quadratic: ClassVar[bool] = True

    def axes(self) -> np.ndarray:
        """The frame of the joint as it is drawn."""
        return np.eye(3)

    @property
    def locked_points(self) -> tuple[int, ...]:
        """The components of the shift that are zero."""
        return self.points

    @property
    def locked_turns(self) -> tuple[tuple[int, int], ...]:
        """The pairs of axes that stay perpendicular."""
        return self.turns

    def rows(self, relative: Relative) -> Rows:
        """The constraints by name, each zero."""
        found = [(f"position {'xyz'[k]}", relative.shift(k)) for k in self.locked_points]
        return found + self.turn_rows(relative) + self.further(relative)

    def turn_rows(self, relative: Relative) -> Rows:
        """The rows that keep axes perpendicular; between an axis and a rod there is one at most."""
        turns = self.locked_turns
        return [(f"axis {k + 1}", relative.cosine(i, j)) for k, (i, j) in enumerate(turns)]

    def further(self, relative: Relative) -> Rows:
        """Constraints of another form."""
        return []

    def measure(self, relative: Relative) -> tuple[Any, ...]:
        """The joint's coordinates at two poses."""
        return ()

    def is_measured_angle(self, coordinate: int) -> bool:
        """Whether `measure` knows this coordinate up to turns."""
        return "angle" in self.coordinates[coordinate]

    def turn(self, relative: Relative, coordinate: int) -> tuple[Any, Any]:
        """Sine and cosine of a measured angle."""
        return relative.cosine(1, 0), relative.cosine(0, 0)

    def deviation(self, relative: Relative, coordinate: int, value):
        """Zero where a coordinate has this value: their difference, or its sine for an angle known up to turns."""
        if not self.is_measured_angle(coordinate):
            return self.measure(relative)[coordinate] - value
        sine, cosine = self.turn(relative, coordinate)
        return sine * jnp.cos(value) - cosine * jnp.sin(value)

    def motion(self, values) -> tuple[tuple[Any, ...], tuple[tuple[Any, ...], ...]]:
        """Shift and rotation at these coordinates; the ints 0 and 1 in them are structure."""
        return (0, 0, 0), IDENTITY


def about_third(angle) -> tuple[tuple[Any, ...], ...]:
    """The rotation by an angle about axis 3."""
    sine, cosine = jnp.sin(angle), jnp.cos(angle)
    return (cosine, -sine, 0), (sine, cosine, 0), (0, 0, 1)


class Fixed(Joint):
    """No motion: the bodies are welded."""

    points: ClassVar = (0, 1, 2)
    turns: ClassVar = UNTURNED


class _AboutAxis(Joint):
    axis: tuple[float, ...] = eqx.field(static=True, converter=lambda axis: _direction(axis), default="z")

    def axes(self) -> np.ndarray:
        return frame_with_axis(np.array(self.axis))


class Revolute(_AboutAxis):
    """Rotation about an axis, through `angle`."""

    points: ClassVar = (0, 1, 2)
    turns: ClassVar = ((0, 2), (1, 2))
    coordinates: ClassVar = ("angle",)

    def turn_rows(self, relative: Relative) -> Rows:
        """Two rows; one where a body is a rod, whose direction then keeps its angle to the axis of the other."""
        for body, frame, other in (
            (relative.second, relative.on_second, relative.e),
            (relative.first, relative.on_first, relative.f),
        ):
            kept = [k for k, director in enumerate(body.directors) if director is not None]
            if len(kept) == 1:
                along = frame.axes[2].entries()[kept[0]]
                return [("axis 1", body.directors[kept[0]] @ other(2) - along)]
        return super().turn_rows(relative)

    def measure(self, relative: Relative) -> tuple[Any, ...]:
        return (relative.angle(),)

    def motion(self, values):
        return (0, 0, 0), about_third(values[0])


class Continuous(Revolute):
    """A revolute joint without limits, as URDF names it."""


class Prismatic(_AboutAxis):
    """Displacement along an axis, `position`."""

    points: ClassVar = (0, 1)
    turns: ClassVar = UNTURNED
    coordinates: ClassVar = ("position",)

    def measure(self, relative: Relative) -> tuple[Any, ...]:
        return (relative.shift(2),)

    def motion(self, values):
        return (0, 0, values[0]), IDENTITY


class Cylindrical(_AboutAxis):
    """Rotation about an axis, `angle`, and displacement along it, `position`."""

    points: ClassVar = (0, 1)
    turns: ClassVar = ((0, 2), (1, 2))
    coordinates: ClassVar = ("angle", "position")

    def measure(self, relative: Relative) -> tuple[Any, ...]:
        return relative.angle(), relative.shift(2)

    def motion(self, values):
        return (0, 0, values[1]), about_third(values[0])


class Screw(_AboutAxis):
    """Rotation about an axis, `angle`, and displacement along it by `pitch` a turn.

    The thread is the row sin(angle - 2 pi s / pitch) = 0, which counts turns without measuring them.
    """

    pitch: Any = 1.0
    points: ClassVar = (0, 1)
    turns: ClassVar = ((0, 2), (1, 2))
    coordinates: ClassVar = ("angle",)
    quadratic: ClassVar = False

    def __check_init__(self) -> None:
        if not is_traced(self.pitch) and abs(number("pitch of Screw", self.pitch)) < 1 / LONGEST:
            raise InputError(
                f"pitch of Screw must not be 0, got {self.pitch}: use Revolute for a joint without displacement."
            )

    def further(self, relative: Relative) -> Rows:
        phase = 2 * math.pi * relative.shift(2) / self.pitch
        return [
            ("thread", relative.cosine(1, 0) * jnp.cos(phase) - relative.cosine(0, 0) * jnp.sin(phase)),
        ]

    def measure(self, relative: Relative) -> tuple[Any, ...]:
        return (2 * math.pi * relative.shift(2) / self.pitch,)

    def is_measured_angle(self, coordinate: int) -> bool:
        return False  # the displacement counts the turns

    def motion(self, values):
        return (0, 0, self.pitch * values[0] / (2 * math.pi)), about_third(values[0])


class Spherical(Joint):
    """A common point, any rotation."""

    points: ClassVar = (0, 1, 2)
    places: ClassVar = "directors"


class Universal(Joint):
    """Rotation about `axis` in the first body, `angle`, then about the perpendicular `second` in the second body,
    `second_angle` (a Cardan joint). In the frame of this joint the axes are first and second."""

    axis: tuple[float, ...] = eqx.field(static=True, converter=lambda axis: _direction(axis), default="x")
    second: tuple[float, ...] = eqx.field(static=True, converter=lambda axis: _direction(axis), default="y")
    points: ClassVar = (0, 1, 2)
    turns: ClassVar = ((0, 1),)
    coordinates: ClassVar = ("angle", "second_angle")

    def __check_init__(self) -> None:
        if abs(np.dot(self.axis, self.second)) > 1e-9:
            raise InputError(f"the two axes of Universal must be perpendicular, got {self.axis} and {self.second}.")

    def axes(self) -> np.ndarray:
        first, second = np.array(self.axis), np.array(self.second)
        return np.stack([first, second, np.cross(first, second)], axis=1)

    def turn(self, relative: Relative, coordinate: int) -> tuple[Any, Any]:
        if coordinate == 0:
            return relative.cosine(2, 1), relative.cosine(1, 1)
        return relative.cosine(0, 2), relative.cosine(0, 0)

    def measure(self, relative: Relative) -> tuple[Any, ...]:
        return jnp.arctan2(*self.turn(relative, 0)), jnp.arctan2(*self.turn(relative, 1))

    def motion(self, values):
        (sa, ca), (sb, cb) = ((jnp.sin(x), jnp.cos(x)) for x in values)
        return (0, 0, 0), ((cb, 0, sb), (sa * sb, ca, -sa * cb), (-ca * sb, sa, ca * cb))


class Planar(_AboutAxis):
    """Motion in a plane across `axis`: `x`, `y` and `angle`."""

    points: ClassVar = (2,)
    turns: ClassVar = ((0, 2), (1, 2))
    coordinates: ClassVar = ("x", "y", "angle")

    def measure(self, relative: Relative) -> tuple[Any, ...]:
        return relative.shift(0), relative.shift(1), relative.angle()

    def motion(self, values):
        return (values[0], values[1], 0), about_third(values[2])


class Floating(Joint):
    """No constraint: the second body is free."""

    places: ClassVar = "free"


class Distance(Joint):
    """The points stay `length` apart; by default as far as they are drawn."""

    length: Any = None
    places: ClassVar = "never"

    def __check_init__(self) -> None:
        if self.length is not None and not is_traced(self.length):
            number("length of Distance", positive("length of Distance", self.length), most=LONGEST)

    def further(self, relative: Relative) -> Rows:
        return [("length", 0.5 * (relative.gap @ relative.gap - self.length**2))]


class PointOnLine(_AboutAxis):
    """The second's point stays on a line of the first body, along `axis`."""

    points: ClassVar = (0, 1)
    places: ClassVar = "never"


class PointOnPlane(_AboutAxis):
    """The second's point stays in a plane of the first body, across `axis`."""

    points: ClassVar = (2,)
    places: ClassVar = "never"


class PointOnCurve(Joint):
    """The second's point stays on a curve of the first body, given by two functions that are zero on it.

    `curve(r)` takes the point in the frame of the joint and returns one number (a surface) or two (a curve).
    """

    curve: Callable = eqx.field(static=True, default=None)  # pyright: ignore[reportAssignmentType]
    places: ClassVar = "never"
    quadratic: ClassVar = False

    def __check_init__(self) -> None:
        if not callable(self.curve):
            raise InputError(
                f"curve of PointOnCurve must be a function of a point, zero on the curve, got {shown(self.curve)}."
            )

    def further(self, relative: Relative) -> Rows:
        point = jnp.stack([relative.shift(k) for k in range(3)])
        try:
            found = jnp.atleast_1d(jnp.asarray(self.curve(point)))
        except (TypeError, ValueError) as error:
            raise ModelError(f"curve of PointOnCurve cannot be evaluated at a point (3 numbers): {error}") from error
        if found.shape not in ((1,), (2,)):
            raise ModelError(f"curve of PointOnCurve must return one number or two, got the shape {found.shape}.")
        return [(f"curve {k + 1}", found[k]) for k in range(found.shape[0])]


class SixAxis(Joint):
    """Any of the six motions locked, in the frame of the first body as drawn: `SixAxis("xyz|rx ry")`.

    Letters before the bar lock displacements along the axes; rx, ry, rz after it lock rotations. Two locked rotations
    leave a turn about the third axis, one leaves those about both others (the first one in the first body), none
    leaves all.
    """

    locked: str = eqx.field(static=True, default="xyz|rx ry rz")
    places: ClassVar = "never"

    def __check_init__(self) -> None:
        displacements, _, turns = self.locked.partition("|") if isinstance(self.locked, str) else ("?", "", "")
        words = turns.split()
        bad = set(displacements.replace(" ", "")) - set("xyz") or set(words) - {"rx", "ry", "rz"}
        if bad or len(set(words)) != len(words):
            raise InputError(
                f'locked of SixAxis must be letters of "xyz", a bar, and words of "rx ry rz", as in "xyz|rx ry"; '
                f"got {shown(self.locked)}."
            )

    @property
    def locked_points(self) -> tuple[int, ...]:
        return tuple(k for k in range(3) if "xyz"[k] in self.locked.partition("|")[0])

    @property
    def locked_turns(self) -> tuple[tuple[int, int], ...]:
        words = self.locked.partition("|")[2].split()
        locked = [k for k in range(3) if "r" + "xyz"[k] in words]
        if len(locked) == 3:
            return UNTURNED
        if len(locked) == 2:
            free = 3 - sum(locked)
            return tuple((k, free) for k in locked)
        if len(locked) == 1:
            k = locked[0]
            return (((k + 1) % 3, (k + 2) % 3),)
        return ()


class JointElement(eqx.Module):
    """A joint between two bodies of a model, by their numbers."""

    name: str = eqx.field(static=True)
    first: int = eqx.field(static=True)
    second: int = eqx.field(static=True)
    kind: Joint
    on_first: Frame
    on_second: Frame


def _direction(axis) -> tuple[float, ...]:
    return tuple(float(x) for x in axis_direction("axis of a joint", axis))
