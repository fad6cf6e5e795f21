"""Shapes of bodies: for mass from a density, for pictures, and for contact."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ..arguments import floats, positive, shown
from ..errors import InputError
from .vectors import rotation_matrix, vector

#: Points on a circle of a picture.
CIRCLE = 12
Edges = list[tuple[int, int]]


@dataclass(frozen=True)
class Outline:
    """Points and the edges between them, of a picture."""

    points: np.ndarray
    edges: tuple[tuple[int, int], ...]


class Shape:
    """A solid with its own frame; `at` and `rotation` place it in the frame of the body."""

    names: ClassVar[tuple[str, ...]] = ()

    def _place(self, at, rotation) -> None:
        object.__setattr__(self, "at", tuple(map(float, vector(f"at of {type(self).__name__}", at))))
        turn = rotation_matrix(f"rotation of {type(self).__name__}", rotation)
        object.__setattr__(self, "rotation", tuple(tuple(map(float, row)) for row in turn))
        for name in self.names:
            object.__setattr__(self, name, positive(f"{name} of {type(self).__name__}", getattr(self, name)))

    def volume(self) -> float:
        """The volume."""
        raise NotImplementedError

    def moments(self) -> np.ndarray:
        """Euler's tensor of the shape filled with density 1, about its centre of mass, in its own frame."""
        raise NotImplementedError

    def centre(self) -> np.ndarray:
        """The centre of mass, in its own frame."""
        return np.zeros(3)

    def outline(self) -> Outline:
        """The edges of a picture, in its own frame."""
        raise NotImplementedError

    # -- in the frame of the body ----------------------------------------------------------------------------------

    def mass_properties(self, density: float) -> tuple[float, np.ndarray, np.ndarray]:
        """Mass, centre of mass and tensor of inertia about it, in the frame of the body."""
        try:
            euler = density * self.moments()
        except OverflowError:
            euler = np.full((3, 3), np.inf)
        if not np.all(np.isfinite(euler)):
            raise InputError(f"a {type(self).__name__} of this size has moments beyond the largest number: {self}.")
        turn = np.array(self.rotation)  # pyright: ignore[reportAttributeAccessIssue]
        euler = turn @ euler @ turn.T
        centre = np.array(self.at) + turn @ self.centre()  # pyright: ignore[reportAttributeAccessIssue]
        return density * self.volume(), centre, np.trace(euler) * np.eye(3) - euler

    def placed_outline(self) -> Outline:
        """The picture in the frame of the body."""
        found, turn = self.outline(), np.array(self.rotation)  # pyright: ignore[reportAttributeAccessIssue]
        return Outline(found.points @ turn.T + np.array(self.at), found.edges)  # pyright: ignore


@dataclass(frozen=True)
class Sphere(Shape):
    """A ball."""

    radius: float
    at: tuple = (0.0, 0.0, 0.0)
    rotation: tuple | None = None
    names: ClassVar[tuple[str, ...]] = ("radius",)

    def __post_init__(self) -> None:
        self._place(self.at, self.rotation)

    def volume(self) -> float:
        return 4 / 3 * np.pi * self.radius**3

    def moments(self) -> np.ndarray:
        return self.volume() * self.radius**2 / 5 * np.eye(3)

    def outline(self) -> Outline:
        return _joined([_circle(self.radius, 0.0, axis) for axis in range(3)])


@dataclass(frozen=True)
class Box(Shape):
    """A box with the full lengths `size` along its axes."""

    size: tuple
    at: tuple = (0.0, 0.0, 0.0)
    rotation: tuple | None = None

    def __post_init__(self) -> None:
        size = vector("size of Box", self.size)
        object.__setattr__(self, "size", tuple(positive("size of Box", float(x)) for x in size))
        self._place(self.at, self.rotation)

    def volume(self) -> float:
        return float(np.prod(self.size))

    def moments(self) -> np.ndarray:
        return self.volume() * np.diag(np.square(self.size)) / 12

    def corners(self) -> np.ndarray:
        """The eight corners, in its own frame."""
        signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        return signs * np.array(self.size) / 2

    def outline(self) -> Outline:
        corners = self.corners()
        edges = [(a, a | bit) for a in range(8) for bit in (1, 2, 4) if not a & bit]
        return Outline(corners, tuple(edges))


@dataclass(frozen=True)
class Cylinder(Shape):
    """A cylinder about its z axis, from -length/2 to length/2."""

    radius: float
    length: float
    at: tuple = (0.0, 0.0, 0.0)
    rotation: tuple | None = None
    names: ClassVar[tuple[str, ...]] = ("radius", "length")

    def __post_init__(self) -> None:
        self._place(self.at, self.rotation)

    def volume(self) -> float:
        return np.pi * self.radius**2 * self.length

    def moments(self) -> np.ndarray:
        across, along = self.radius**2 / 4, self.length**2 / 12
        return self.volume() * np.diag([across, across, along])

    def outline(self) -> Outline:
        ends = [_circle(self.radius, side * self.length / 2, 2) for side in (-1, 1)]
        found = _joined(ends)
        return Outline(found.points, (*found.edges, *((k, k + CIRCLE) for k in range(0, CIRCLE, 3))))


@dataclass(frozen=True)
class Capsule(Shape):
    """A cylinder about its z axis, from -length/2 to length/2, with half balls at both ends."""

    radius: float
    length: float
    at: tuple = (0.0, 0.0, 0.0)
    rotation: tuple | None = None
    names: ClassVar[tuple[str, ...]] = ("radius", "length")

    def __post_init__(self) -> None:
        self._place(self.at, self.rotation)

    def volume(self) -> float:
        return np.pi * self.radius**2 * (self.length + 4 / 3 * self.radius)

    def moments(self) -> np.ndarray:
        r, half = self.radius, self.length / 2
        tube, caps = np.pi * r**2 * self.length, 4 / 3 * np.pi * r**3
        # of a half ball: int z dV = 3/8 r V, int z^2 dV = r^2/5 V, z from its flat side
        along = tube * half**2 / 3 + caps * (half**2 + 3 / 4 * half * r + r**2 / 5)
        across = tube * r**2 / 4 + caps * r**2 / 5
        return np.diag([across, across, along])

    def outline(self) -> Outline:
        r, half = self.radius, self.length / 2
        rings = _joined([_circle(r, -half, 2), _circle(r, half, 2)])
        ends = np.array([[0.0, 0.0, -half - r], [0.0, 0.0, half + r]])
        sides = [(k, k + CIRCLE) for k in range(0, CIRCLE, 3)]
        caps = [(2 * CIRCLE + side, side * CIRCLE + k) for side in (0, 1) for k in range(0, CIRCLE, 3)]
        return Outline(np.concatenate([rings.points, ends]), (*rings.edges, *sides, *caps))


@dataclass(frozen=True)
class Ellipsoid(Shape):
    """An ellipsoid with the three half axes `radii`."""

    radii: tuple
    at: tuple = (0.0, 0.0, 0.0)
    rotation: tuple | None = None

    def __post_init__(self) -> None:
        radii = vector("radii of Ellipsoid", self.radii)
        object.__setattr__(self, "radii", tuple(positive("radii of Ellipsoid", float(x)) for x in radii))
        self._place(self.at, self.rotation)

    def volume(self) -> float:
        return 4 / 3 * np.pi * float(np.prod(self.radii))

    def moments(self) -> np.ndarray:
        return self.volume() * np.diag(np.square(self.radii)) / 5

    def outline(self) -> Outline:
        found = _joined([_circle(1.0, 0.0, axis) for axis in range(3)])
        return Outline(found.points * np.array(self.radii), found.edges)


@dataclass(frozen=True)
class ConvexMesh(Shape):
    """The convex hull of points; its faces are those of the hull."""

    points: tuple
    at: tuple = (0.0, 0.0, 0.0)
    rotation: tuple | None = None
    triangles: tuple = field(default=(), init=False)

    def __post_init__(self) -> None:
        from scipy.spatial import ConvexHull, QhullError

        points = floats("points of ConvexMesh", self.points, finite=True)
        if points.ndim != 2 or points.shape[1] != 3 or len(points) < 4:
            raise InputError(f"points of ConvexMesh must have shape (k, 3) with k >= 4, got {shown(self.points, 80)}.")
        try:
            hull = ConvexHull(points)
        except QhullError as error:
            raise InputError("points of ConvexMesh lie in one plane: they enclose no volume.") from error
        middle, faces = points[hull.vertices].mean(axis=0), []
        for a, b, c in hull.simplices.tolist():
            normal = np.cross(points[b] - points[a], points[c] - points[a])
            faces.append((a, b, c) if normal @ (points[a] - middle) > 0 else (a, c, b))
        object.__setattr__(self, "points", tuple(map(tuple, points.tolist())))
        object.__setattr__(self, "triangles", tuple(faces))
        self._place(self.at, self.rotation)

    def _tetrahedra(self) -> tuple[np.ndarray, np.ndarray]:
        """The corners of each face, and the volume of the tetrahedron that it spans with the origin."""
        corners = np.array(self.points)[np.array(self.triangles)]
        return corners, np.linalg.det(corners) / 6

    def volume(self) -> float:
        return float(np.sum(self._tetrahedra()[1]))

    def centre(self) -> np.ndarray:
        corners, volumes = self._tetrahedra()
        return (volumes @ corners.sum(axis=1)) / 4 / np.sum(volumes)

    def moments(self) -> np.ndarray:
        corners, volumes = self._tetrahedra()
        # int X X^T dV of a tetrahedron with a corner at the origin: V/20 (sum_k a_k a_k^T + s s^T), s = sum_k a_k
        total = corners.sum(axis=1)
        outer = np.einsum("fki,fkj->fij", corners, corners) + np.einsum("fi,fj->fij", total, total)
        about_origin = np.einsum("f,fij->ij", volumes, outer) / 20
        centre = self.centre()
        return about_origin - self.volume() * np.outer(centre, centre)

    def outline(self) -> Outline:
        edges = {
            (min(a, b), max(a, b)) for face in self.triangles for a, b in zip(face, face[1:] + face[:1], strict=True)
        }
        return Outline(np.array(self.points), tuple(sorted(edges)))


@dataclass(frozen=True)
class Several(Shape):
    """Shapes that together are one body; where they overlap they count twice."""

    parts: tuple

    def __post_init__(self) -> None:
        self._place((0.0, 0.0, 0.0), None)

    def volume(self) -> float:
        return sum(part.volume() for part in self.parts)

    def mass_properties(self, density: float) -> tuple[float, np.ndarray, np.ndarray]:
        found = [part.mass_properties(density) for part in self.parts]
        mass = sum(m for m, _, _ in found)
        centre = np.sum([m * c for m, c, _ in found], axis=0) / mass
        inertia = np.zeros((3, 3))
        for m, c, tensor in found:
            r = c - centre
            inertia += tensor + m * ((r @ r) * np.eye(3) - np.outer(r, r))
        return mass, centre, inertia

    def outline(self) -> Outline:
        return _joined([part.placed_outline() for part in self.parts])


def as_shape(name: str, value) -> Shape | None:
    """A shape, one of several, or none."""
    several = list(value) if isinstance(value, list | tuple) else [value]
    if value is None or several == []:
        return None
    for shape in several:
        if not isinstance(shape, Shape):
            raise InputError(f"shape of body {name!r} must be a shape such as da.Box((1, 2, 3)), got {shown(shape)}.")
    return several[0] if len(several) == 1 else Several(tuple(several))


def _circle(radius: float, height: float, axis: int) -> Outline:
    """A circle about a coordinate axis."""
    angle = 2 * np.pi * np.arange(CIRCLE) / CIRCLE
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle), np.full(CIRCLE, height)], axis=1)
    return Outline(np.roll(points, axis + 1, axis=1), tuple((k, (k + 1) % CIRCLE) for k in range(CIRCLE)))


def _joined(parts: list[Outline]) -> Outline:
    points, edges, first = [], [], 0
    for part in parts:
        points.append(part.points)
        edges += [(a + first, b + first) for a, b in part.edges]
        first += len(part.points)
    return Outline(np.concatenate(points), tuple(edges))
