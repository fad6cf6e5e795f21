"""Bodies: what a user states about one, and what a system keeps of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ..arguments import number, positive, shown
from ..errors import InputError
from .configuration import BodyPoint, Frame, frame_of
from .inertia import inertia_matrix, principal, shifted
from .shapes import Shape
from .vectors import is_traced, rotation_matrix, triple, vector

if TYPE_CHECKING:
    from .model import Multibody


class BodyElement(eqx.Module):
    """A body of a system: mass, which directors carry mass, and Euler's moments of those."""

    name: str = eqx.field(static=True)
    kept: tuple[int, ...] = eqx.field(static=True)
    mass: Any
    euler: tuple[Any, ...]


class Point:
    """A point of a body, in the body's own frame."""

    def __init__(self, body: Body, place) -> None:
        self.body, self.place = body, vector(f"a point of {body.name!r}", place)

    def __repr__(self) -> str:
        return f"Point({self.body.name!r}, {self.place})"


@dataclass(frozen=True)
class Surface:
    """A shape of a body, for contact."""

    body: Body
    shape: Shape


class Body:
    """A rigid body of a `Multibody` model; `Multibody.body` makes it.

    It has a frame of its own, in which its centre of mass, its inertia, its points and its shape are given. In the
    drawing of the model the frame lies at `place` with the rotation `turn`.
    """

    def __init__(self, model: Multibody | None, name: str, mass, com, inertia, shape, place, turn) -> None:
        self.model, self.name, self.shape = model, name, shape
        self.mass, self.com, self.inertia = mass, com, inertia
        self.place, self.turn = place, turn
        self.principal = principal(f"the inertia of body {name!r}", inertia)

    def __repr__(self) -> str:
        return f"Body({self.name!r}, mass={self.mass})"

    def point(self, x, y=None, z=None) -> Point:
        """The point (x, y, z) of the body, in its own frame."""
        return Point(self, x if y is None else (x, y, 0.0 if z is None else z))

    def surface(self, shape: Shape) -> Surface:
        """A shape of the body for contact; it need not be the one of its picture."""
        if not isinstance(shape, Shape):
            raise InputError(
                f"a surface of body {self.name!r} must be a shape such as da.Sphere(0.1), got {shown(shape)}."
            )
        return Surface(self, shape)

    @property
    def is_ground(self) -> bool:
        """Whether this is what does not move."""
        return self.mass is None

    @property
    def kept(self) -> tuple[int, ...]:
        """The directors that carry mass, which are coordinates."""
        euler = self.principal.euler
        return (0, 1, 2) if is_traced(euler) else tuple(k for k in range(3) if euler[k] > 0.0)

    def components(self, place):
        """A point of the body's own frame along its directors, from the centre of mass."""
        return self.principal.axes @ (place - self.com)

    def body_point(self, number: int, place) -> BodyPoint:
        """A point of the body's own frame as the system keeps it."""
        return BodyPoint(number, triple(self.components(place)))

    def drawn(self, place):
        """Where a point of the body's own frame is in the drawing."""
        return self.place + self.turn @ place

    def own(self, place):
        """The point of the body's own frame that is drawn at a place."""
        return self.turn.T @ (place - self.place)

    def frame(self, place, axes) -> Frame:
        """A frame of the body, from its point in the body's own frame and its axes as drawn, as columns."""
        return frame_of(self.components(place), self.principal.axes @ self.turn.T @ axes)

    def element(self) -> BodyElement:
        """What the system keeps."""
        euler, kept = self.principal.euler, self.kept
        return BodyElement(self.name, kept, _leaf(self.mass), tuple(_leaf(euler[k]) for k in kept))


def _leaf(value):
    return value if is_traced(value) else float(value)


def body_data(name: str, mass, inertia, com, density, shape):
    """Mass, centre of mass and inertia of a body from what a user gives."""
    if density is not None:
        if shape is None or mass is not None or inertia is not None or com is not None:
            raise InputError(
                f"body {name!r}: a density goes with a shape, from which mass, com and inertia follow; "
                "give shape= and density=, or mass= and inertia=."
            )
        return shape.mass_properties(positive(f"density of body {name!r}", density))
    if mass is None:
        raise InputError(f"body {name!r} needs mass= (with inertia=, unless it is a particle), or density= and shape=.")
    mass = mass if is_traced(mass) else number(f"mass of body {name!r}", mass, 0.0)
    com = np.zeros(3) if com is None else vector(f"com of body {name!r}", com)
    if inertia is None and shape is not None and not is_traced(mass):
        _, centre, tensor = shape.mass_properties(1.0)
        density = mass / shape.volume()
        return mass, np.where(np.any(com), com, centre), density * tensor
    tensor = np.zeros((3, 3)) if inertia is None else inertia_matrix(f"inertia of body {name!r}", inertia)
    return mass, com, tensor


def welded(name: str, model, bodies: list[tuple[float, np.ndarray, np.ndarray]], shape, place, turn) -> Body:
    """One body in place of several, given by mass, centre of mass and inertia in one frame."""
    mass = sum(m for m, _, _ in bodies)
    com = sum(m * c for m, c, _ in bodies) / mass if mass else np.zeros(3)
    inertia: Any = sum(shifted(j, m, c - com) for m, c, j in bodies)
    return Body(model, name, mass, com, inertia, shape, place, turn)


def default_rotation(name: str, value):
    """The rotation of a body in the drawing."""
    return rotation_matrix(f"rotation of body {name!r}", value)


def traced_place(name: str, value):
    """The place of a body in the drawing."""
    found = vector(f"at of body {name!r}", value)
    return jnp.asarray(found) if is_traced(found) else found
