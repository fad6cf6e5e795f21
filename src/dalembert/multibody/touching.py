"""Which shapes of which bodies may touch: what a user writes down, and the contacts that come of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import number, shown
from ..errors import InputError
from .bodies import Body, Surface
from .configuration import BodyPoint, Frame
from .contacts import (
    CapsulePair,
    ContactElement,
    EllipsoidOnPlane,
    Play,
    RimOnPlane,
    SphereOnBox,
    SphereOnPlane,
    SpherePair,
)
from .joints import JointElement, SixAxis
from .shapes import Box, Capsule, Cylinder, Ellipsoid, Sphere
from .vectors import axis_direction, frame_with_axis, vector


@dataclass(frozen=True)
class Plane:
    """A plane of a body, or of the ground: the half space on the side of its normal is free."""

    body: Body
    at: Any
    axes: np.ndarray


@dataclass(frozen=True)
class ContactRecord:
    """Two surfaces that may touch, and the law of their contact."""

    name: str
    first: Surface
    second: Surface | Plane
    friction: Any
    restitution: Any

    def elements(self, numbering) -> list[ContactElement]:
        """The contacts: one for two spheres, eight for the corners of a box on a plane."""
        return _on_plane(self, numbering) if isinstance(self.second, Plane) else _pair(self, numbering)


@dataclass(frozen=True)
class PlayRecord:
    """A pin with play in a bearing: a point of each body, and the axis as drawn."""

    name: str
    first: Any
    second: Any
    axis: np.ndarray
    clearance: float
    restitution: float
    friction: float = 0.0

    def elements(self, numbering) -> list[ContactElement]:
        """One contact, without friction."""
        bodies, axes = (self.first.body, self.second.body), frame_with_axis(self.axis)
        frames = [numbering.frame(p.body, p.place, axes) for p in (self.first, self.second)]
        numbers = [numbering.of(body) for body in bodies]
        return [
            Play(
                self.name,
                JointElement(self.name, numbers[0], numbers[1], SixAxis("|"), frames[0], frames[1]),
                self.clearance,
            )
        ]


def plane_of(body: Body, normal, at) -> Plane:
    """A plane by its normal and a point, in the frame of the body."""
    axes = body.turn @ frame_with_axis(axis_direction("normal of a plane", normal))
    return Plane(body, vector("at of a plane", at), axes)


def record_of(name: str, first, second, friction, restitution) -> ContactRecord:
    """A contact from what a user gives, in the order in which the pairs are known."""
    ends = [_surface(name, end) for end in (first, second)]
    if isinstance(ends[0], Plane) or (
        isinstance(ends[0], Surface) and isinstance(ends[0].shape, Box) and not isinstance(ends[1], Plane)
    ):
        ends = ends[::-1]
    a, b = ends
    kinds = tuple("Plane" if isinstance(end, Plane) else type(end.shape).__name__ for end in ends)
    if kinds not in KNOWN or isinstance(a, Plane):
        pairs = ", ".join(f"{x} and {y}" for x, y in KNOWN)
        raise InputError(f"contact {name!r}: {kinds[0]} and {kinds[1]} is no known pair; known are {pairs}.")
    return ContactRecord(
        name, a, b, number(f"friction of contact {name!r}", friction, 0.0),
        number(f"restitution of contact {name!r}", restitution, 0.0, 1.0),
    )  # fmt: skip


KNOWN = (
    ("Sphere", "Plane"), ("Capsule", "Plane"), ("Box", "Plane"), ("Cylinder", "Plane"), ("Ellipsoid", "Plane"),
    ("Sphere", "Sphere"), ("Capsule", "Capsule"), ("Sphere", "Capsule"), ("Capsule", "Sphere"), ("Sphere", "Box"),
)  # fmt: skip


def _surface(name: str, end) -> Surface | Plane:
    if isinstance(end, Surface | Plane):
        return end
    if isinstance(end, Body) and end.shape is not None:
        return Surface(end, end.shape)
    raise InputError(
        f"contact {name!r} expects surfaces, as body.surface(da.Sphere(0.1)), a body that has a shape, or "
        f"model.plane(), got {shown(end, 80)}."
    )


def _frame(numbering, surface: Surface, local=(0.0, 0.0, 0.0)) -> tuple[BodyPoint, Frame]:
    """A point of a shape's own frame, and that frame there, on the body."""
    body, shape = surface.body, surface.shape
    turn = np.array(shape.rotation)  # pyright: ignore[reportAttributeAccessIssue]
    place = np.array(shape.at) + turn @ np.array(local)  # pyright: ignore[reportAttributeAccessIssue]
    frame = numbering.frame(body, place, body.turn @ turn)
    return BodyPoint(numbering.of(body), frame.position), frame


def _on_plane(record: ContactRecord, numbering) -> list[ContactElement]:
    plane, surface = record.second, record.first
    assert isinstance(plane, Plane)
    shape = surface.shape
    on = numbering.of(plane.body), numbering.frame(plane.body, plane.at, plane.axes)
    if isinstance(shape, Sphere):
        return [SphereOnPlane(record.name, _frame(numbering, surface)[0], *on, shape.radius)]
    if isinstance(shape, Capsule):
        ends = [_frame(numbering, surface, (0, 0, side * shape.length / 2))[0] for side in (-1, 1)]
        return [SphereOnPlane(f"{record.name}: end {k + 1}", end, *on, shape.radius) for k, end in enumerate(ends)]
    if isinstance(shape, Box):
        corners = [_frame(numbering, surface, corner)[0] for corner in shape.corners()]
        return [SphereOnPlane(f"{record.name}: corner {k + 1}", at, *on, 0.0) for k, at in enumerate(corners)]
    if isinstance(shape, Cylinder):
        rims = [_frame(numbering, surface, (0, 0, side * shape.length / 2)) for side in (-1, 1)]
        return [
            RimOnPlane(f"{record.name}: rim {k + 1}", at, *on, frame, shape.radius)
            for k, (at, frame) in enumerate(rims)
        ]
    assert isinstance(shape, Ellipsoid)
    at, frame = _frame(numbering, surface)
    return [EllipsoidOnPlane(record.name, at, *on, frame, np.array(shape.radii))]


def _pair(record: ContactRecord, numbering) -> list[ContactElement]:
    first, second = record.first, record.second
    assert isinstance(second, Surface)
    (a, frame_a), (b, frame_b) = _frame(numbering, first), _frame(numbering, second)
    shapes = first.shape, second.shape
    if isinstance(shapes[1], Box):
        half = np.array(shapes[1].size) / 2
        return [SphereOnBox(record.name, a, b.body, frame_b, half, shapes[0].radius)]  # pyright: ignore
    radii = tuple(shape.radius for shape in shapes)  # pyright: ignore[reportAttributeAccessIssue]
    if all(isinstance(shape, Sphere) for shape in shapes):
        return [SpherePair(record.name, a, b, radii)]  # pyright: ignore[reportArgumentType]
    # a sphere is a capsule whose middle line is very short
    half = tuple(shape.length / 2 if isinstance(shape, Capsule) else 1e-9 * shape.radius for shape in shapes)  # pyright: ignore
    pair: ContactElement = CapsulePair(record.name, a, b, (frame_a, frame_b), half, radii)  # pyright: ignore[reportArgumentType]
    return [pair]
