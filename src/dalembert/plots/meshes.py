"""Surfaces of shapes as triangles: what is drawn of a body.

A patch is a part of the surface without edges; patches are told apart
by their numbers, so that the edges between them can be drawn. Round shapes are darker in every second quarter: else
nobody sees them turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..multibody.shapes import Box, Capsule, ConvexMesh, Cylinder, Ellipsoid, Several, Sphere

#: Corners of a circle.
SIDES = 32
#: Pieces of a straight side: short triangles are drawn faster than long ones.
PIECES = 4
#: A size below this part of the others is drawn as large as that: thin rods and discs are seen.
THINNEST = 0.02
#: How dark every second quarter of a round shape is.
DARKER = 0.78
#: How dark every second tile of a floor is.
DARK_TILE = 0.93


class Mesh(NamedTuple):
    """Triangles in a frame.

    Attributes:
        points: (V, 3).
        normals: of the surface at the points, of length 1, (V, 3).
        triangles: numbers of points, anticlockwise seen from outside, (T, 3).
        tones: the brightness of each triangle, 1 if it is not darker, (T,).
        patches: which triangles are parts of one smooth surface, (T,).
    """

    points: np.ndarray
    normals: np.ndarray
    triangles: np.ndarray
    tones: np.ndarray
    patches: np.ndarray


class Surface(NamedTuple):
    """A mesh with colours: red, green and blue between 0 and 1 of each triangle. Between patches there are edges, but
    not between those with negative numbers."""

    points: np.ndarray
    normals: np.ndarray
    triangles: np.ndarray
    colours: np.ndarray
    patches: np.ndarray


def mesh_of(shape: Any) -> Mesh:
    """The surface of a shape in the frame of its body."""
    if isinstance(shape, Several):
        return joined([mesh_of(part) for part in shape.parts])
    turn, mesh = np.array(shape.rotation), _SURFACES[type(shape)](shape)
    return mesh._replace(points=mesh.points @ turn.T + np.array(shape.at), normals=mesh.normals @ turn.T)


def painted(mesh: Mesh, colours: np.ndarray) -> Surface:
    """A mesh in one colour, or in one for each triangle, darker where its tones are."""
    return Surface(mesh.points, mesh.normals, mesh.triangles, colours * mesh.tones[:, None], mesh.patches)


Parts = TypeVar("Parts", Mesh, Surface)


def joined(parts: Sequence[Parts]) -> Parts:
    """Several meshes, or several surfaces, as one; patches stay apart."""
    points = np.cumsum([0, *(len(part.points) for part in parts[:-1])])
    patches = np.cumsum([0, *(np.max(part.patches, initial=-1) + 1 for part in parts[:-1])])
    return type(parts[0])(
        np.concatenate([part.points for part in parts]),
        np.concatenate([part.normals for part in parts]),
        np.concatenate([part.triangles + first for part, first in zip(parts, points, strict=True)]),
        np.concatenate([part[3] for part in parts]),
        np.concatenate([
            np.where(part.patches < 0, part.patches, part.patches + first)
            for part, first in zip(parts, patches, strict=True)
        ]),
    )  # fmt: skip


#: No triangles.
NOTHING = Mesh(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3), dtype=int), np.zeros(0), np.zeros(0, dtype=int))


def tube(line: np.ndarray, radius: float, across: np.ndarray, sides: int = 8) -> Mesh:
    """A round tube along a line of points, (k, 3), that is never parallel to `across`; its ends are open."""
    tangent = np.gradient(line, axis=0)
    first = np.cross(tangent, across)
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    second = np.cross(tangent, first)
    second /= np.linalg.norm(second, axis=1, keepdims=True)
    angle = 2 * np.pi * np.arange(sides + 1) / sides
    normals = np.cos(angle)[:, None] * first[:, None] + np.sin(angle)[:, None] * second[:, None]
    points = line[:, None] + radius * normals
    return _grid(points, normals)


def tiles(low: np.ndarray, high: np.ndarray, size: float) -> Mesh:
    """A floor z = 0 between the corners low and high in x and y, in square tiles that are light and dark by turns and
    begin at whole multiples of their size."""
    lines = [np.unique(np.clip(np.arange(np.floor(a / size), np.ceil(b / size) + 1) * size, a, b))
             for a, b in zip(low, high, strict=True)]  # fmt: skip
    places = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1)
    square = np.stack([places[:-1, :-1], places[1:, :-1], places[1:, 1:], places[:-1, 1:]], axis=2).reshape(-1, 4, 2)
    points = np.concatenate([square, np.zeros((*square.shape[:2], 1))], axis=2).reshape(-1, 3)
    first = 4 * np.arange(len(square))[:, None, None]
    triangles = (first + np.array([(0, 1, 2), (0, 2, 3)])).reshape(-1, 3)
    number = np.floor(square.mean(axis=1) / size).sum(axis=1)
    tones = np.where(number % 2, DARK_TILE, 1.0).repeat(2)
    normals = np.broadcast_to([0.0, 0.0, 1.0], points.shape)
    return Mesh(points, normals, triangles, tones, np.full(len(triangles), -1))


# -- shapes in their own frames --------------------------------------------------------------------------------------


def _box(shape: Box) -> Mesh:
    half = _visible(np.array(shape.size)) / 2
    faces, steps = [], np.linspace(-1.0, 1.0, PIECES + 1)
    for axis in range(3):
        for side in (-1.0, 1.0):
            u, v = np.meshgrid(steps, steps, indexing="ij")
            place = np.stack([np.full_like(u, side), u, v], axis=-1)
            normals = np.broadcast_to([side, 0.0, 0.0], place.shape)
            faces.append(_grid(np.roll(place, axis, axis=-1) * half, np.roll(normals, axis, axis=-1)))
    return joined(faces)


def _sphere(shape: Sphere) -> Mesh:
    return _ball(np.full(3, shape.radius))


def _ellipsoid(shape: Ellipsoid) -> Mesh:
    return _ball(_visible(2 * np.array(shape.radii)) / 2)


def _ball(radii: np.ndarray) -> Mesh:
    angle = np.linspace(-np.pi / 2, np.pi / 2, SIDES // 2 + 1)
    normals = _turned(np.cos(angle), np.sin(angle))
    mesh = _grid(normals * radii, normals / radii)
    upper = mesh.points[mesh.triangles].mean(axis=1)[:, 2] > 0
    return mesh._replace(tones=_quarters(mesh, upper))


def _cylinder(shape: Cylinder) -> Mesh:
    width, length = _visible(np.array([2 * shape.radius, shape.length]))
    r, half = width / 2, length / 2
    side = _revolved(np.full(PIECES + 1, r), np.linspace(-half, half, PIECES + 1), (1.0, 0.0))
    ends = [_revolved(np.array([0.0, r]), np.full(2, z * half), (0.0, z)) for z in (-1.0, 1.0)]
    mesh = joined([side, *ends])
    return mesh._replace(tones=_quarters(mesh))


def _capsule(shape: Capsule) -> Mesh:
    angle = np.linspace(0.0, np.pi / 2, SIDES // 4 + 1)
    half = np.linspace(-shape.length / 2, shape.length / 2, PIECES + 1)
    normal_r = np.concatenate([np.cos(angle[::-1]), np.ones(PIECES - 1), np.cos(angle)])
    normal_z = np.concatenate([-np.sin(angle[::-1]), np.zeros(PIECES - 1), np.sin(angle)])
    middle = np.concatenate([np.full(len(angle), half[0]), half[1:-1], np.full(len(angle), half[-1])])
    normals = _turned(normal_r, normal_z)
    return _grid(shape.radius * normals + middle[:, None, None] * np.array([0.0, 0.0, 1.0]), normals)


def _convex_mesh(shape: ConvexMesh) -> Mesh:
    points = np.array(shape.points)[np.array(shape.triangles)]
    normals = np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    # triangles in one plane are one face
    patches = np.unique(np.round(normals, 6), axis=0, return_inverse=True)[1].reshape(-1)
    triangles = np.arange(3 * len(points)).reshape(-1, 3)
    return Mesh(points.reshape(-1, 3), normals.repeat(3, axis=0), triangles, np.ones(len(points)), patches)


_SURFACES: dict[type, Callable[[Any], Mesh]] = {
    Box: _box, Sphere: _sphere, Ellipsoid: _ellipsoid, Cylinder: _cylinder, Capsule: _capsule,
    ConvexMesh: _convex_mesh,
}  # fmt: skip


def _visible(sizes: np.ndarray) -> np.ndarray:
    return np.maximum(sizes, THINNEST * np.max(sizes))


def _turned(r: np.ndarray, z: np.ndarray) -> np.ndarray:
    """The points (r, z) of a curve, turned about the z axis: (corners of the curve, SIDES + 1, 3)."""
    angle = 2 * np.pi * np.arange(SIDES + 1) / SIDES
    return np.stack([np.outer(r, np.cos(angle)), np.outer(r, np.sin(angle)), np.outer(z, np.ones_like(angle))], axis=-1)


def _revolved(r: np.ndarray, z: np.ndarray, normal: tuple[float, float]) -> Mesh:
    """The surface that a curve with a constant normal (in r and z) makes when it turns about the z axis."""
    return _grid(_turned(r, z), _turned(np.full(len(r), normal[0]), np.full(len(r), normal[1])))


def _grid(points: np.ndarray, normals: np.ndarray) -> Mesh:
    """One smooth surface over a grid of points (k, l, 3), its outside where the normals point."""
    rows, columns = points.shape[:2]
    number = np.arange(rows * columns).reshape(rows, columns)
    a, b, c, d = number[:-1, :-1], number[:-1, 1:], number[1:, 1:], number[1:, :-1]
    triangles = np.stack([np.stack([a, b, c], axis=-1), np.stack([a, c, d], axis=-1)], axis=2).reshape(-1, 3)
    points, normals = points.reshape(-1, 3), normals.reshape(-1, 3)
    normals = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    x = points[triangles]
    facing = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    inward = np.sum(facing * normals[triangles].sum(axis=1), axis=1) < 0
    triangles = np.where(inward[:, None], triangles[:, ::-1], triangles)
    return Mesh(points, normals, triangles, np.ones(len(triangles)), np.zeros(len(triangles), dtype=int))


def _quarters(mesh: Mesh, other: np.ndarray | bool = False) -> np.ndarray:
    """Tones by quarters about the z axis, the other way round where `other` holds."""
    middle = mesh.points[mesh.triangles].mean(axis=1)
    dark = (middle[:, 0] * middle[:, 1] > 0) ^ other
    return np.where(dark, DARKER, 1.0)
