"""What is drawn of a model of bodies: the surfaces of its shapes, bars where a body has none, rods that keep points
apart, springs as coils, planes as tiled floors with shadows on them.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from ..multibody import GROUND, Distance, MultibodySystem, Sphere
from ..multibody.contacts import OnPlane
from ..multibody.couplings import Rolling
from ..multibody.forces import Spring
from ..trajectory.mechanism import Mechanism
from .meshes import NOTHING, Mesh, Surface, joined, mesh_of, painted, tiles, tube
from .style import PALETTE

#: How thick bars, rods and coils are and how large balls, as parts of the size of the model.
BAR, ROD, COIL, BALL = 0.010, 0.006, 0.003, 0.018
#: Turns of a coil, points of a turn, the radius of the turns as a part of the size of the model.
TURNS, POINTS_A_TURN, WIDE = 7, 12, 0.014
#: Tiles along the longest side of a floor, and how dark shadows on it are.
TILES, SHADOW = 10, 0.72
STANDING, LINES, FLOOR = "#AEB6BB", "#7A848B", "#FFFFFF"
#: How much white is mixed into the colours of bodies.
WHITE = 0.2
#: Half the thickness of a box that holds a flat motion, as a part of its length.
THIN_BOX = 0.12
#: A motion whose extent along an axis is below this part of its size is one in a plane.
FLAT = 1e-6


class Poses(NamedTuple):
    """Centres of mass and directors of all bodies at some times, (N, B, 3) and (N, B, 3, 3); the last is the ground."""

    x: np.ndarray
    d: np.ndarray

    def place(self, body: int, components: np.ndarray) -> np.ndarray:
        """Where a point of a body is, (N, 3)."""
        return self.x[:, body] + np.einsum("k,nki->ni", components, self.d[:, body])


class View(NamedTuple):
    """From where a scene is seen: two angles in degrees, and the axis that points upwards."""

    elevation: float
    azimuth: float
    vertical: str


class Line(NamedTuple):
    """What joins two points of bodies: "bar", "rod" or "coil"; a "ball" is where both are one."""

    kind: str
    first: tuple[int, np.ndarray]
    second: tuple[int, np.ndarray]
    colour: str


class Bodies:
    """The bodies of a run, to be drawn at any time of it.

    Attributes:
        centres: the centres of mass at the saved times, (N, B, 3).
        limits: a box around everything that moves, at all times, (3, 2).
    """

    def __init__(self, run: Any) -> None:
        self.system: MultibodySystem = run.system
        self._t, self._jumps = np.asarray(run.t, dtype=float), bool(np.size(run.impulse))
        poses, rates = Mechanism(run).poses
        self._known = ~np.isnan(poses[0, :, 1:, 0])  # which directors each body has
        self._values, self._rates = np.nan_to_num(poses), np.nan_to_num(rates)
        self._mesh, self._hosts, self._colours = _surfaces_of_shapes(self.system)
        self._lines = _lines(self.system)
        saved = self.at(self._t)
        self.centres = saved.x[:, :-1]
        self._planes = _planes(self.system)
        self._low, self._high = self._extents(saved)
        self.limits = self._box(self._low.min(axis=0), self._high.max(axis=0))

    def at(self, times: np.ndarray) -> Poses:
        """The poses at any times: cubic between saved states, linear where velocities jump, with directors made unit
        and perpendicular."""
        from scipy.interpolate import CubicHermiteSpline, make_interp_spline

        order = slice(None) if self._t[-1] >= self._t[0] else slice(None, None, -1)
        t, values, rates = self._t[order], self._values[order], self._rates[order]
        if len(t) == 1:
            found = np.repeat(values, len(times), axis=0)
        elif self._jumps:
            found = make_interp_spline(t, values, k=1)(np.clip(times, t[0], t[-1]))
        else:
            found = CubicHermiteSpline(t, values, rates)(times)
        ground = np.broadcast_to(np.eye(3), (len(times), 1, 3, 3))
        x = np.concatenate([found[:, :, 0], np.zeros((len(times), 1, 3))], axis=1)
        return Poses(x, np.concatenate([_orthonormal(_completed(found[:, :, 1:], self._known)), ground], axis=1))

    @functools.cached_property
    def view(self) -> View:
        """Upwards is against gravity; a motion in a plane is seen nearly from the front."""
        down = np.asarray(self.system.gravity.array(), dtype=float)
        vertical = int(np.argmax(np.abs(down))) if np.any(down) else 2
        flat = np.all(np.ptp(self.centres, axis=0) < FLAT * self.size, axis=0)
        first, second = (vertical + 1) % 3, (vertical + 2) % 3  # from the first of these axes azimuths count
        if flat.sum() != 1:
            return View(22.0, -60.0, "xyz"[vertical])
        if flat[vertical]:
            return View(60.0, -75.0, "xyz"[vertical])
        return View(14.0, 15.0 if flat[first] else -75.0 if flat[second] else -60.0, "xyz"[vertical])

    @property
    def size(self) -> float:
        """The longest side of the box."""
        return float(np.max(np.ptp(self.limits, axis=1)))

    def _extents(self, poses: Poses) -> tuple[np.ndarray, np.ndarray]:
        """The lowest and highest coordinates of what moves, at each time, (N, 3) both."""
        places = [poses.x[:, :-1]]
        for host in np.unique(self._hosts).tolist():
            points = self._mesh.points[self._hosts == host]
            sides = zip(points.min(axis=0), points.max(axis=0), strict=True)
            corners = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 3)
            places.append(poses.x[:, host, None] + corners @ poses.d[:, host])
        places += [poses.place(*end)[:, None] for line in self._lines for end in (line.first, line.second)]
        together = np.concatenate(places, axis=1)
        return together.min(axis=1), together.max(axis=1)

    def _box(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """A box that is nowhere much thinner than long; a floor that is near lies in it."""
        largest = float(np.max(high - low))
        if largest == 0.0:
            largest = max(1.0, float(np.max(np.abs(high))))
        half, middle = np.maximum((high - low) / 2, THIN_BOX * largest) + 0.03 * largest, (high + low) / 2
        low, high = middle - half, middle + half
        for place, axes in self._planes:
            for k in np.flatnonzero(np.abs(axes[2]) > 0.999):
                if abs(place[k] - middle[k]) < 2 * largest:
                    low[k], high[k] = (place[k], max(high[k], place[k])) if axes[2, k] > 0 else (low[k], place[k])
        return np.stack([low, high], axis=1)

    @property
    def _own_size(self) -> float:
        """The longest side of the model at its largest."""
        return float(np.max(self._high - self._low)) or self.size

    @property
    def travel(self) -> float:
        """How many of its own sizes the model goes."""
        return max(0.0, self.size / self._own_size - 1.0)

    def around(self, poses: Poses, number: int) -> np.ndarray:
        """A box that goes with the model, as large as it is at its largest; along axes along which it hardly travels,
        the box of the whole motion."""
        low, high = (side[0] for side in self._extents(Poses(*(part[number : number + 1] for part in poses))))
        half, middle = np.max(self._high - self._low, axis=0) / 2, (low + high) / 2
        near = np.ptp(self.limits, axis=1) < 5 * half
        own = self._box(middle - half, middle + half)
        return np.where(near[:, None], self.limits, own)

    def surface(self, poses: Poses, number: int, limits: np.ndarray | None = None, floors: bool = True) -> Surface:
        """Everything that is drawn in one of these poses; floors as far as the limits."""
        x, d, mesh = poses.x[number], poses.d[number], self._mesh
        points = x[self._hosts] + np.einsum("vk,vki->vi", mesh.points, d[self._hosts])
        normals = np.einsum("vk,vki->vi", mesh.normals, d[self._hosts])
        parts = [painted(mesh._replace(points=points, normals=normals), self._colours)]
        now = Poses(x[None], d[None])
        for line in self._lines:
            start, end = now.place(*line.first)[0], now.place(*line.second)[0]
            if line.kind == "ball" or np.linalg.norm(end - start) > 1e-9 * self.size:
                parts.append(painted(_mesh_of_line(line.kind, start, end, self._own_size), rgb(line.colour)))
        shown = joined(parts)
        planes = self._planes if floors else []
        ground = [_floor(place, axes, self.limits if limits is None else limits) for place, axes in planes]
        shadows = [_shadow(shown, place, axes[2], 1e-4 * self.size) for place, axes in planes]
        return joined([shown, *ground, *shadows])


def bodies_of(run: Any) -> Bodies | None:
    """The bodies of a run of a `da.Multibody` model, kept with the run; None for other systems."""
    if not isinstance(run.system, MultibodySystem) or not run.system.bodies:
        return None
    if "_bodies" not in vars(run):
        vars(run)["_bodies"] = Bodies(run)
    return vars(run)["_bodies"]


def rgb(colour: str) -> np.ndarray:
    """Red, green and blue between 0 and 1 of "#RRGGBB", a little lighter."""
    found = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return (1 - WHITE) * found + WHITE


def colour_of(body: int) -> str:
    """The colour of a body; what stands still is grey."""
    return STANDING if body == GROUND else PALETTE[:-1][body % (len(PALETTE) - 1)]


# -- what there is to draw -------------------------------------------------------------------------------------------


def _surfaces_of_shapes(system: MultibodySystem) -> tuple[Mesh, np.ndarray, np.ndarray]:
    """The surfaces of all shapes along the directors, whose body each point is on, and the colour of each triangle."""
    meshes, hosts, colours = [NOTHING], [np.zeros(0, dtype=int)], [np.zeros((0, 3))]
    for solid in system.solids:
        mesh, axes = mesh_of(solid.shape), np.array(solid.axes)
        meshes.append(mesh._replace(points=mesh.points @ axes.T + solid.origin, normals=mesh.normals @ axes.T))
        hosts.append(np.full(len(mesh.points), solid.body))
        colours.append(np.broadcast_to(rgb(colour_of(solid.body)), (len(mesh.triangles), 3)))
    return joined(meshes), np.concatenate(hosts), np.concatenate(colours)


def _lines(system: MultibodySystem) -> list[Line]:
    """Bars from the centre of mass to the joints of bodies without a shape, rods, coils."""
    found = []
    bare = set(range(len(system.bodies))) - {solid.body for solid in system.solids}
    for body in sorted(bare):
        centre = body, np.zeros(3)
        found.append(Line("ball", centre, centre, colour_of(body)))
        for joint in system.joints:
            for side, frame in ((joint.first, joint.on_first), (joint.second, joint.on_second)):
                if side == body:
                    found.append(Line("bar", centre, (body, np.asarray(frame.position.array())), colour_of(body)))
    for joint in system.joints:
        if isinstance(joint.kind, Distance):
            ends = (joint.first, joint.on_first.position), (joint.second, joint.on_second.position)
            first, second = ((body, np.asarray(place.array())) for body, place in ends)
            found.append(Line("rod", first, second, LINES))
    for force in system.forces:
        if isinstance(force, Spring):
            first, second = ((end.body, np.asarray(end.position.array())) for end in (force.first, force.second))
            found.append(Line("coil", first, second, LINES))
    return found


def _planes(system: MultibodySystem) -> list[tuple[np.ndarray, np.ndarray]]:
    """A point and the axes (as rows, the third along the normal) of every plane that stands still."""
    touching = [*system.contacts, *(c.contact for c in system.couplings if isinstance(c, Rolling))]
    found = {}
    for contact in touching:
        if isinstance(contact, OnPlane) and contact.second == GROUND:
            place = np.asarray(contact.plane.position.array(), dtype=float)
            axes = np.stack([np.asarray(axis.array(), dtype=float) for axis in contact.plane.axes])
            found[place.tobytes() + axes.tobytes()] = place, axes
    return list(found.values())


# -- surfaces --------------------------------------------------------------------------------------------------------


def _mesh_of_line(kind: str, start: np.ndarray, end: np.ndarray, size: float) -> Mesh:
    if kind == "ball":
        return mesh_of(Sphere(BALL * size, at=tuple(start.tolist())))
    along = end - start
    side = np.eye(3)[np.argmin(np.abs(along))]
    first = np.cross(along, side)
    first /= np.linalg.norm(first)
    if kind != "coil":
        steps = np.linspace(0.0, 1.0, 5)[:, None]
        return tube(start + steps * along, (BAR if kind == "bar" else ROD) * size, first)
    second = np.cross(along, first) / np.linalg.norm(along)
    part = np.linspace(0.0, 1.0, TURNS * POINTS_A_TURN + 1)[:, None]
    # straight at both ends
    inner, radius = np.clip((part - 0.12) / 0.76, 0.0, 1.0), WIDE * size * np.clip(20 * part * (1 - part) - 1.6, 0, 1)
    angle = 2 * np.pi * TURNS * inner
    return tube(start + part * along + radius * (np.cos(angle) * first + np.sin(angle) * second), COIL * size, first)


def _floor(place: np.ndarray, axes: np.ndarray, limits: np.ndarray) -> Surface:
    """The plane as far as the box reaches; its tiles lie still though the box may move."""
    corners = np.stack(np.meshgrid(*limits), axis=-1).reshape(-1, 3) - place
    flat = corners @ axes[:2].T
    mesh = tiles(flat.min(axis=0), flat.max(axis=0), float(np.max(np.ptp(limits, axis=1))) / TILES)
    return painted(mesh._replace(points=place + mesh.points @ axes, normals=mesh.normals @ axes), rgb(FLOOR))


def _shadow(shown: Surface, place: np.ndarray, normal: np.ndarray, above: float) -> Surface:
    """What lies between a plane and a light far above it."""
    height = (shown.points - place) @ normal
    return shown._replace(
        points=shown.points - (height - above)[:, None] * normal,
        normals=np.broadcast_to(normal, shown.points.shape),
        colours=np.broadcast_to(SHADOW * rgb(FLOOR), shown.colours.shape),
        patches=np.full(len(shown.patches), -1),
    )


# -- directors -------------------------------------------------------------------------------------------------------


def _completed(d: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Directors that rods and particles lack, perpendicular to those that they have."""
    d = d.copy()
    for body in range(d.shape[1]):
        if not known[body].any():
            d[:, body] = np.eye(3)
        elif known[body].sum() == 1:
            (k,) = np.flatnonzero(known[body])
            along = d[:, body, k]
            side = np.eye(3)[np.argmin(np.abs(along), axis=1)]
            d[:, body, (k + 1) % 3] = np.cross(side, along)
            d[:, body, (k + 2) % 3] = np.cross(along, d[:, body, (k + 1) % 3])
    return d


def _orthonormal(d: np.ndarray) -> np.ndarray:
    """The nearest rotations: U V^T of the singular value decomposition U S V^T."""
    u, _, v = np.linalg.svd(d)
    return u @ v
