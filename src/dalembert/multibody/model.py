"""`Multibody`: a mechanism written down body by body, from which an ordinary system comes."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import floats, number, positive, shown
from ..arguments import path as checked_path
from ..errors import InputError, ModelError
from ..later import Later
from .bodies import Body, Point, body_data, default_rotation, traced_place
from .build import Numbering, Parts, parts_of
from .configuration import GROUND
from .couplings import Gear, JointCoordinate, PrescribedMotion
from .elements import ForceMethods
from .formulations import system_of
from .joints import Distance, Joint
from .mjcf_export import to_mjcf
from .shapes import Cylinder, as_shape
from .system import MultibodySystem
from .urdf_export import to_urdf
from .vectors import axis_direction, frame_with_axis, is_traced, vector

ORIGIN = (0.0, 0.0, 0.0)
#: How thick rods and discs are drawn, relative to their size.
THIN = 1e-9


@dataclass
class JointRecord:
    """A joint as the user stated it: a point of each body in the body's own frame, the axes as drawn."""

    name: str
    kind: Joint
    first: Body
    second: Body
    on_first: Any
    on_second: Any
    axes: np.ndarray
    limits: tuple[Any, Any] | None = None
    limit_restitution: float = 0.0
    armature: Any = None
    effort: Any = None

    def coordinate(self, which: str | int | None, purpose: str) -> int:
        """The number of a coordinate of the joint."""
        names = self.kind.coordinates
        if not names:
            raise InputError(f"joint {self.name!r} ({type(self.kind).__name__}) has no coordinate for {purpose}.")
        if which is None:
            return 0
        if which not in names:
            raise InputError(f"joint {self.name!r} has the coordinates {', '.join(names)}, not {shown(which)}.")
        return names.index(str(which))


class Multibody(ForceMethods):
    """A model of rigid bodies, joints and forces.

    The model is drawn: every body and every joint has a place in space, where all joint coordinates are zero. Nothing
    of the drawing needs to hold exactly; `assemble` finds consistent poses.

    Args:
        gravity: the acceleration of free fall.
        name: what messages call the system.

    >>> model = Multibody(gravity=(0, 0, -9.81))
    >>> arm = model.body("arm", mass=1.0, inertia=(0.1, 0.1, 0.01), com=(0, 0, -0.5))
    >>> joint = model.joint("shoulder", model.ground, arm, Revolute("y"), at=(0, 0, 1))
    >>> system = model.system()
    """

    #: From `stepping`: finding poses needs the engine, which this room does not know.
    assemble = Later()
    check = Later()

    def __init__(self, gravity=(0.0, 0.0, -9.81), name: str = "Multibody") -> None:
        if not isinstance(name, str) or not name.isidentifier():
            raise InputError(f"name of a Multibody must be a word of letters, digits and _, got {shown(name)}.")
        self.name = name
        self.gravity = vector("gravity", gravity)
        self.ground = Body(None, "ground", None, np.zeros(3), np.zeros((3, 3)), None, np.zeros(3), np.eye(3))
        self.ground.model = self
        self.bodies: dict[str, Body] = {"ground": self.ground}
        self.joints: dict[str, JointRecord] = {}
        self.welds: list[tuple[Body, Body]] = []
        self.forces: list[Callable] = []
        self.couplings: list[Callable] = []
        self.contacts: list[Any] = []
        #: What a file said that is not part of the equations.
        self.remarks: tuple[str, ...] = ()
        #: Functions of time for the controls of actuators that came from a file, by name.
        self.controls: dict[str, Callable] = {}
        self._names: set[tuple[str, str]] = {("body", "ground")}
        self._unplaced: set[str] = set()

    def __repr__(self) -> str:
        return f"Multibody({self.name!r}: {len(self.bodies) - 1} bodies, {len(self.joints)} joints)"

    # -- bodies ----------------------------------------------------------------------------------------------------

    def body(
        self, name: str, mass=None, inertia=None, com=None, *, density=None, shape=None, at=None, rotation=None
    ) -> Body:  # fmt: skip
        """A rigid body with its own frame.

        Args:
            name: its name, unique in the model.
            mass: its mass; with `inertia` about the centre of mass, in the axes of its frame (three principal moments,
                six entries xx, yy, zz, xy, xz, yz, or a matrix). Without one, that of the shape, or of a particle.
            inertia: see `mass`.
            com: the centre of mass in its frame, the origin by default.
            density: in place of mass, inertia and com: those of `shape` filled with it.
            shape: for pictures and contact: `Box`, `Sphere`, `Cylinder`, `Capsule`, `Ellipsoid`, `ConvexMesh`; or
                several in a list.
            at: where its frame is in the drawing; by default where its first joint is.
            rotation: how its frame is turned in the drawing: a matrix, a quaternion (w, x, y, z) or (roll, pitch, yaw).
        """
        self._new_name("body", name)
        shape = as_shape(name, shape)
        mass, com, inertia = body_data(name, mass, inertia, com, density, shape)
        place = traced_place(name, ORIGIN if at is None else at)
        found = Body(self, name, mass, com, inertia, shape, place, default_rotation(name, rotation))
        self.bodies[name] = found
        if at is None:
            self._unplaced.add(name)
        return found

    def particle(self, name: str, mass, at=None) -> Body:
        """A point mass: no directions, no rotation."""
        return self.body(name, mass, at=at)

    def rod(self, name: str, mass, length, axis="z", *, at=None, rotation=None) -> Body:
        """A thin uniform rod, its middle at the origin of its frame: without inertia about its axis."""
        along = axis_direction("axis of a rod", axis)
        inertia = mass * length**2 / 12 * (np.eye(3) - np.outer(along, along))
        shape = _thin("rod", THIN * length, length, along)
        return self.body(name, mass, _diagonal_if_it_is(inertia), shape=shape, at=at, rotation=rotation)

    def disc(self, name: str, mass, radius, axis="z", *, at=None, rotation=None) -> Body:
        """A thin uniform disc about an axis of its frame."""
        along = axis_direction("axis of a disc", axis)
        inertia = mass * radius**2 / 4 * (np.eye(3) + np.outer(along, along))
        shape = _thin("disc", radius, THIN * radius, along)
        return self.body(name, mass, _diagonal_if_it_is(inertia), shape=shape, at=at, rotation=rotation)

    def weld(self, first: Body, second: Body) -> None:
        """Let two bodies move as one, as they are drawn. (A joint of the kind `Fixed` has reactions, this has none.)"""
        for body in (first, second):
            self._own(body)
            self._unplaced.discard(body.name)
        self.welds.append((first, second))

    # -- joints ----------------------------------------------------------------------------------------------------

    def joint(
        self, name: str, first: Body | Point, second: Body | Point, kind: Joint, at=None, *, limits=None,
        limit_restitution=0.0, damping=None, friction=None, smoothing=1e-3, stiffness=None, rest=0.0, armature=None,
        effort=None,
    ) -> JointRecord:  # fmt: skip
        """A joint between two bodies, or between a point of each.

        Args:
            name: its name, unique in the model.
            first: the body that carries the axes of the joint, or a point of it.
            second: the other body, or a point of it.
            kind: such as `Revolute("y")`; its axes are those of the drawing.
            at: where it is in the drawing, for bodies that were given without a point; by default the origin of the
                second body. A body that has no place yet is put there. (A `Distance` is between the origins of bodies
                that were given without a point.)
            limits: (lowest, highest) of its first coordinate, stops that are treated as contacts.
            limit_restitution: the restitution of the stops.
            damping: viscous friction of its first coordinate, torque (or force) for each unit of rate.
            friction: dry friction, a torque (or force), smoothed over rates of the size `smoothing`.
            smoothing: see `friction`.
            stiffness: a spring on its first coordinate.
            rest: the coordinate at which that spring is relaxed.
            armature: the inertia of a rotor that turns with its first coordinate.
            effort: the largest torque of its motors.
        """
        self._new_name("joint", name)
        if not isinstance(kind, Joint):
            raise InputError(f'kind of joint {name!r} must be a joint such as da.Revolute("z"), got {shown(kind)}.')
        on_first, on_second = self._joint_points(name, first, second, at, isinstance(kind, Distance))
        bodies = [end.body if isinstance(end, Point) else end for end in (first, second)]
        record = JointRecord(
            name, kind, bodies[0], bodies[1], on_first, on_second, kind.axes(), _limits(name, limits),
            number(f"limit_restitution of joint {name!r}", limit_restitution, 0.0, 1.0), armature, effort,
        )  # fmt: skip
        self.joints[name] = record
        if limits is not None or armature is not None:
            record.coordinate(None, "limits and armature")
        if damping is not None or friction is not None:
            viscous, dry = (0.0 if value is None else value for value in (damping, friction))
            self.joint_damper(name, damping=viscous, friction=dry, smoothing=smoothing)
        if stiffness is not None:
            self.joint_spring(name, stiffness, rest=rest)
        return record

    def _joint_points(self, name: str, first, second, at, apart: bool):
        """The joint's point in both bodies' own frames. Those of a joint that keeps them `apart` are not one point:
        a body without a point stands for its origin."""
        ends = [end.body if isinstance(end, Point) else end for end in (first, second)]
        for body in ends:
            self._own(body)
        if ends[0] is ends[1]:
            raise InputError(f"joint {name!r} connects body {ends[0].name!r} with itself.")
        self._unplaced.discard(ends[0].name)
        if apart and at is None:
            self._unplaced.discard(ends[1].name)
            on_first, on_second = (end.place if isinstance(end, Point) else np.zeros(3) for end in (first, second))
            return on_first, on_second
        drawn = None if at is None else vector(f"at of joint {name!r}", at)
        if isinstance(first, Point):
            drawn = first.body.drawn(first.place)
        if isinstance(second, Point):
            own = second.place
            if drawn is None:
                drawn = second.body.drawn(own)
        else:
            own = np.zeros(3)
            if drawn is None:
                drawn = second.place
        if ends[1].name in self._unplaced:
            ends[1].place = drawn - ends[1].turn @ own
            self._unplaced.discard(ends[1].name)
        on_first = first.place if isinstance(first, Point) else ends[0].own(drawn)
        on_second = own if isinstance(second, Point) else ends[1].own(drawn)
        return on_first, on_second

    def close_loop(self, name: str, first: Point, second: Point, kind: Joint, **options) -> JointRecord:
        """A joint between points of two bodies that are connected already: the same as `joint`, for models from files,
        whose joints form trees. The points need not meet in the drawing; `assemble` brings them together."""
        if not isinstance(first, Point) or not isinstance(second, Point):
            raise InputError(
                f"close_loop({name!r}) joins two points of bodies, as model.bodies['hand'].point(0, 0, 0.1)."
            )
        return self.joint(name, first, second, kind, **options)

    def prescribe(self, joint: str, motion: Callable, coordinate: str | None = None) -> None:
        """Let a coordinate of a joint be a function of time, `motion(t)`."""
        record = self._joint(joint)
        which = record.coordinate(coordinate, "a prescribed motion")
        if not callable(motion):
            raise InputError(f"motion of joint {joint!r} must be a function of t, got {shown(motion)}.")
        self.couplings.append(lambda n: PrescribedMotion(joint, self._at(n, record, which), motion))

    def gear(
        self, name: str, first: str, second: str, ratio, offset=0.0, *, coordinates: tuple = (None, None)
    ) -> None:  # fmt: skip
        """second = ratio first + offset for coordinates of two joints: a gear, a mimic joint, a rack and pinion."""
        self._new_name("gear", name)
        records = self._joint(first), self._joint(second)
        which = [record.coordinate(c, "a gear") for record, c in zip(records, coordinates, strict=True)]
        ratio, offset = number(f"ratio of gear {name!r}", ratio), number(f"offset of gear {name!r}", offset)
        if ratio == 0.0:
            raise InputError(f"ratio of gear {name!r} must not be 0.")
        self.couplings.append(
            lambda n: Gear(name, self._at(n, records[0], which[0]), self._at(n, records[1], which[1]), ratio, offset)
        )

    def _at(self, numbering, record: JointRecord, which: int) -> JointCoordinate:
        is_angle = "angle" in record.kind.coordinates[which]
        return JointCoordinate(numbering.joint_number[record.name], which, is_angle)

    # -- what comes out --------------------------------------------------------------------------------------------

    def system(self, coordinates: str = "auto", *, limits: bool = True) -> MultibodySystem:
        """The system of this model, for `da.simulate` and everything else that takes a system.

        Args:
            coordinates: "joints" (joint coordinates for the tree, loops as constraints, free bodies by directors),
                "directors" (a point and directors for every body, all joints as constraints, a constant mass matrix),
                or "auto": joint coordinates for trees of up to 20 joints without contact, else directors.
            limits: whether the limits of joints are in it, as contacts, for methods that treat those.
        """
        return system_of(self.parts(limits), coordinates, self.name)

    def save(self, path, ignore=()) -> pathlib.Path:
        """Write the model as a URDF file (.urdf), or as an MJCF file for MuJoCo (.xml). What does not fit is an error,
        unless `ignore` names its kind."""
        place = checked_path(path, "cannot save to")
        writers = {".urdf": to_urdf, ".xml": to_mjcf}
        if place.suffix not in writers:
            raise InputError(f"the name of the file must end with .urdf or .xml (MJCF), got {shown(str(path))}.")
        place.write_text(writers[place.suffix](self, ignore), encoding="utf-8")
        return place

    def parts(self, limits: bool = True) -> Parts:
        """The elements of the system, whatever its coordinates."""
        unknown = sorted(set(self.controls) - {name for kind, name in self._names if kind == "force"})
        if unknown:
            raise InputError(f"controls: there is no actuator {', '.join(map(repr, unknown))}.")
        if len(self.bodies) == 1:
            raise ModelError(f"{self.name} has no bodies; add some with model.body(...).")
        return parts_of(self, limits)

    def drawn_directors(self) -> list[np.ndarray]:
        """Centre of mass and all three directors of every body that moves, as drawn."""
        bodies = Numbering(self).bodies
        return [np.concatenate([b.drawn(b.com), *(b.turn @ b.principal.axes.T).T]) for b in bodies]

    # -- names -----------------------------------------------------------------------------------------------------

    def _new_name(self, what: str, name) -> None:
        if not isinstance(name, str) or not name:
            raise InputError(f"the name of a {what} must be a text, got {shown(name)}.")
        kind = "joint" if what == "gear" else what  # both have constraints, which are called by their names
        if (kind, name) in self._names:
            raise InputError(f"the name {name!r} is taken; every {what} needs a name of its own.")
        self._names.add((kind, name))

    def _own(self, body) -> None:
        if not isinstance(body, Body):
            raise InputError(f"expected a body of this model or a point of one, got {shown(body)}.")
        if self.bodies.get(body.name) is not body:
            raise InputError(f"body {body.name!r} belongs to another model.")

    def _joint(self, name: str) -> JointRecord:
        if name not in self.joints:
            known = ", ".join(map(repr, self.joints)) or "none"
            raise InputError(f"there is no joint {shown(name)}; the joints are {known}.")
        return self.joints[name]


def _limits(name: str, limits) -> tuple[Any, Any] | None:
    if limits is None:
        return None
    if is_traced(limits):
        return tuple(limits)
    found = floats(f"limits of joint {name!r}", limits)
    if found.shape != (2,) or not found[0] < found[1]:
        raise InputError(f"limits of joint {name!r} must be (lowest, highest), got {shown(limits)}.")
    return float(found[0]), float(found[1])


def _thin(what: str, radius, length, along: np.ndarray) -> Cylinder | None:
    """A cylinder without a radius, or without a length, for pictures and contact; none where its size is traced."""
    if is_traced((radius, length)):
        return None
    sizes = positive(f"size of a {what}", radius), positive(f"size of a {what}", length)
    return Cylinder(*sizes, rotation=tuple(map(tuple, frame_with_axis(along).tolist())))


def _diagonal_if_it_is(inertia):
    """The principal moments where a tensor is diagonal: then they may be traced."""
    if is_traced(inertia):
        return tuple(inertia[k, k] for k in range(3))
    return inertia


__all__ = ["GROUND", "JointRecord", "Multibody"]
