"""Models as MJCF files, where they fit: trees of hinges, slides and balls, loops of points and of welds.

A body of MJCF hangs on its parent by the joints written inside it, as they are in the drawing; what was welded is one
body. MuJoCo's own integrators treat what is a hard constraint here, such as a loop, as a stiff soft one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np

from ..errors import ModelError
from .bodies import Body, Surface
from .build import Numbering
from .configuration import GROUND
from .couplings import Gear
from .elements import PositionServo, VelocityServo
from .forces import JointDamper, JointSpring, Motor
from .formulations import placements, tree_of
from .joints import (
    Continuous,
    Cylindrical,
    Fixed,
    Floating,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
)
from .shapes import Box, Capsule, Cylinder, Ellipsoid, Several, Shape, Sphere
from .system import Placement
from .touching import Plane
from .urdf_export import digits, refused_unless_ignored

#: The joints of MJCF that make up one of ours, in their order: kind, column of its axes, which of our coordinates.
_PARTS: dict[type[Joint], tuple[tuple[str, int, int], ...]] = {
    Revolute: (("hinge", 2, 0),),
    Continuous: (("hinge", 2, 0),),
    Prismatic: (("slide", 2, 0),),
    Cylindrical: (("slide", 2, 1), ("hinge", 2, 0)),
    Universal: (("hinge", 0, 0), ("hinge", 1, 1)),
    Planar: (("slide", 0, 0), ("slide", 1, 1), ("hinge", 2, 2)),
    Screw: (("slide", 2, -1), ("hinge", 2, 0)),
    Spherical: (("ball", 2, -1),),
    Fixed: (),
}
#: Points of the drawing that are this near, relative to the size of the model, are one.
SAME_POINT = 1e-9


def to_mjcf(model, ignore=()) -> str:
    """The text of an MJCF file; an error names what does not fit, unless `ignore` does."""
    written = _Writer(model)
    refused_unless_ignored(model.name, "MJCF", written.left_out, ignore)
    ElementTree.indent(written.root)
    return ElementTree.tostring(written.root, encoding="unicode") + "\n"


class _Coordinate(NamedTuple):
    """Where a coordinate of one of our joints is in the file."""

    name: str
    element: ElementTree.Element


class _Writer:
    """One model on its way into a file."""

    def __init__(self, model) -> None:
        self.model, self.numbering = model, Numbering(model)
        self.left_out: dict[str, list[str]] = {}
        self.coordinates: dict[tuple[int, int], _Coordinate] = {}
        self.targets: list[float] = []  # of the actuators, which the file holds as a key frame
        self.root = ElementTree.Element("mujoco", model=model.name)
        self._add(self.root, "compiler", angle="radian", autolimits="true")
        self._add(self.root, "option", gravity=digits(model.gravity))
        self.world = self._add(self.root, "worldbody")
        self.equality = ElementTree.SubElement(self.root, "equality")
        self.actuators = ElementTree.SubElement(self.root, "actuator")
        self.contact = ElementTree.SubElement(self.root, "contact")
        self._bodies()
        self._loops()
        self._forces()
        self._couplings()
        self._contacts()
        if self.targets:
            self._add(self._add(self.root, "keyframe"), "key", name="targets", ctrl=digits(self.targets))
        for part in (self.equality, self.actuators, self.contact):
            if not len(part):
                self.root.remove(part)

    def _add(self, above: ElementTree.Element, tag: str, **attributes: str) -> ElementTree.Element:
        return ElementTree.SubElement(above, tag, attributes)

    def _lacks(self, what: str, name: str) -> None:
        self.left_out.setdefault(what, []).append(name)

    # -- bodies and joints -----------------------------------------------------------------------------------------

    def _bodies(self) -> None:
        numbering = self.numbering
        elements = [numbering.element(joint) for joint in numbering.joints]
        self.tree = tree_of(tuple(elements), len(numbering.bodies))
        self.of_body: dict[str, ElementTree.Element] = {"ground": self.world}
        plan = placements(tuple(body.element() for body in numbering.bodies), tuple(elements), self.tree)
        # joints of bodies without mass, which are put into the one body that hangs on them
        handed_on: dict[int, list[tuple[Placement, int]]] = {}
        for at in plan:
            chain = [*handed_on.get(self._above(at), []), (at, self._above(at))]
            if numbering.bodies[at.body].mass == 0.0 and self._only_child(plan, at.body):
                handed_on[at.body] = chain
            else:
                self._body(numbering.bodies[at.body], chain)

    def _above(self, at: Placement) -> int:
        """The number of the body on which one hangs."""
        if at.joint is None:
            return GROUND
        joint = self.numbering.joints[at.joint]
        return self.numbering.of(joint.second if at.backward else joint.first)

    def _only_child(self, plan: tuple[Placement, ...], number: int) -> bool:
        below = [at for at in plan if at.joint is not None and self._above(at) == number]
        return len(below) == 1 and below[0].how == "coordinates"

    def _body(self, body: Body, chain: list[tuple[Placement, int]]) -> None:
        above = self.model.ground if chain[0][1] == GROUND else self.numbering.bodies[chain[0][1]]
        pose = above.own(body.place), above.turn.T @ body.turn
        element = self._add(self.of_body[above.name], "body", name=body.name, **_placed(*pose))
        self.of_body[body.name] = element
        for at, _ in chain:
            if at.joint is None:
                self._add(element, "freejoint", name=f"{body.name} free")
            else:
                self._joint(element, body, self.numbering.joints[at.joint], at)
        if min(np.linalg.eigvalsh(body.inertia)) <= 0.0:
            raise ModelError(
                f"{self.model.name} does not fit into MJCF: body {body.name!r} is thin (a particle, a rod, a disc "
                "or massless), and MuJoCo wants three positive principal moments of every body that moves."
            )
        j = body.inertia
        entries = (j[0, 0], j[1, 1], j[2, 2], j[0, 1], j[0, 2], j[1, 2])
        self._add(element, "inertial", pos=digits(body.com), mass=digits([body.mass]), fullinertia=digits(entries))
        shapes = body.shape.parts if isinstance(body.shape, Several) else (body.shape,)
        for k, shape in enumerate(shapes):
            name = f"{body.name} shape" + (f" {k + 1}" if len(shapes) > 1 else "")
            self._geom(element, name, shape, group="1", contype="0", conaffinity="0")

    def _joint(self, element: ElementTree.Element, body: Body, joint, at: Placement) -> None:
        place = self._meeting_point(joint)
        parts = _PARTS.get(type(joint.kind))
        if parts is None or (at.backward and len(parts) > 1):
            self._lacks(type(joint.kind).__name__, joint.name)
            return
        for kind, column, which in parts:
            # seen from the other body a rotation and a displacement go the other way
            axis = body.turn.T @ joint.axes[:, column] * (-1.0 if at.backward else 1.0)
            coordinates = (*joint.kind.coordinates, "shift")
            name = joint.name if len(parts) == 1 else f"{joint.name} {coordinates[which]}"
            attributes = {"name": name, "type": kind, "pos": digits(body.own(place))}
            found = self._add(element, "joint", **attributes)
            if kind != "ball":
                found.set("axis", digits(axis))
                self.coordinates[self.numbering.joint_number[joint.name], which] = _Coordinate(name, found)
            if which == 0 and joint.limits is not None:
                found.set("range", digits(joint.limits))
            if which == 0 and joint.armature is not None:
                found.set("armature", digits([joint.armature]))
        if isinstance(joint.kind, Screw):
            number = self.numbering.joint_number[joint.name]
            polynomial = (0.0, joint.kind.pitch / (2 * np.pi), 0.0, 0.0, 0.0)
            self._couple(f"{joint.name} thread", (number, -1), (number, 0), polynomial)

    def _meeting_point(self, joint) -> np.ndarray:
        ends = [joint.first.drawn(joint.on_first), joint.second.drawn(joint.on_second)]
        size = max(1e-300, *(float(np.max(np.abs(x))) for x in (*ends, joint.on_first, joint.on_second)))
        if np.max(np.abs(ends[0] - ends[1])) > SAME_POINT * size:
            raise ModelError(
                f"{self.model.name} does not fit into MJCF: the two points of joint {joint.name!r} do not meet as "
                "drawn; draw the bodies in a consistent pose."
            )
        return ends[0]

    def _couple(self, name: str, first: tuple[int, int], second: tuple[int, int], polynomial) -> None:
        """first = polynomial of second."""
        joints = {"joint1": self.coordinates[first].name, "joint2": self.coordinates[second].name}
        self._add(self.equality, "joint", name=name, **joints, polycoef=digits(polynomial))

    def _loops(self) -> None:
        for number, joint in enumerate(self.numbering.joints):
            if number in self.tree or isinstance(joint.kind, Floating):
                continue
            ends = {"body1": self._file_name(joint.first), "body2": self._file_name(joint.second)}
            if isinstance(joint.kind, Spherical):
                place = self._host(joint.first).own(self._meeting_point(joint))
                self._add(self.equality, "connect", name=joint.name, **ends, anchor=digits(place))
            elif isinstance(joint.kind, Fixed):
                self._add(self.equality, "weld", name=joint.name, **ends)
            else:
                self._lacks("loop", joint.name)

    def _host(self, body: Body) -> Body:
        return self.numbering.host[body.name]

    def _file_name(self, body: Body) -> str:
        host = self._host(body)
        return "world" if host.is_ground else host.name

    # -- forces and contacts ---------------------------------------------------------------------------------------

    def _forces(self) -> None:
        for build in self.model.forces:
            force: Any = build(self.numbering)
            at = self.coordinates.get((getattr(force, "joint", -1), getattr(force, "coordinate", -1)))
            if isinstance(force, JointDamper) and at is not None:
                self._set(at, force.name, damping=force.damping, frictionloss=force.friction)
            elif isinstance(force, JointSpring) and at is not None and force.energy is None:
                self._set(at, force.name, stiffness=force.stiffness, springref=force.rest)
            elif isinstance(force, Motor) and at is not None and self._servo(force, at):
                continue
            else:
                self._lacks("force", force.name)

    def _set(self, at: _Coordinate, name: str, **values) -> None:
        if any(key in at.element.attrib for key in values):
            self._lacks("second spring or damper of a joint", name)
            return
        for key, value in values.items():
            at.element.set(key, digits([value]))

    def _servo(self, force: Motor, at: _Coordinate) -> bool:
        """Whether a motor is a servo with a fixed target, which MuJoCo has too; the target becomes its control."""
        values = dict(zip(force.names, force.values, strict=True))
        if not isinstance(force.torque, PositionServo | VelocityServo) or force.torque.motion is not None:
            return False
        position = isinstance(force.torque, PositionServo)
        gains = {"kp": values["kp"], "kv": values["kd"]} if position else {"kv": values["kd"]}
        found = self._add(
            self.actuators, "position" if position else "velocity", name=force.name, joint=at.name,
            **{key: digits([value]) for key, value in gains.items()},
        )  # fmt: skip
        if force.effort is not None:
            found.set("forcerange", digits([-force.effort, force.effort]))
        self.targets.append(values["target"])
        return True

    def _couplings(self) -> None:
        for build in self.model.couplings:
            coupling: Any = build(self.numbering)
            ends = (
                [(c.joint, c.coordinate) for c in (coupling.second, coupling.first)]
                if isinstance(coupling, Gear)
                else []
            )
            if not ends or any(end not in self.coordinates for end in ends):
                self._lacks("prescribed motion, rolling or knife edge", coupling.name)
                continue
            self._couple(coupling.name, ends[0], ends[1], (coupling.offset, coupling.ratio, 0.0, 0.0, 0.0))

    def _contacts(self) -> None:
        for record in self.model.contacts:
            if not hasattr(record, "friction") or not isinstance(record.first, Surface):
                self._lacks("bearing with play", record.name)
                continue
            if record.restitution:
                self._lacks("restitution", record.name)
            names = [f"{record.name} {k}" for k in (1, 2)]
            for name, surface in zip(names, (record.first, record.second), strict=True):
                host = self._host(surface.body)
                turn, place = host.turn.T @ surface.body.turn, host.own(surface.body.place)
                options = {"group": "3", "contype": "0", "conaffinity": "0"}
                element = self.of_body[host.name]
                if isinstance(surface, Plane):
                    pose = _placed(host.own(surface.body.drawn(surface.at)), turn @ surface.axes)
                    self._add(element, "geom", name=name, type="plane", size="0 0 1", **pose, **options)
                else:
                    self._geom(element, name, surface.shape, (place, turn), **options)
            friction = digits([record.friction, record.friction, 0.005, 0.0001, 0.0001])
            condim = "3" if record.friction else "1"
            self._add(
                self.contact, "pair", geom1=names[0], geom2=names[1], friction=friction, condim=condim
            )  # fmt: skip

    def _geom(
        self, element: ElementTree.Element, name: str, shape: Shape | None,
        pose: tuple[np.ndarray, np.ndarray] = (np.zeros(3), np.eye(3)), **options: str,
    ) -> None:  # fmt: skip
        if shape is None:
            return
        size = next((of(shape) for kind, of in _SIZES.items() if isinstance(shape, kind)), None)
        if size is None:
            self._lacks("mesh", name)
            return
        made: Any = shape
        place = pose[0] + pose[1] @ np.array(made.at)
        kind = type(shape).__name__.lower()
        where = _placed(place, pose[1] @ np.array(made.rotation))
        self._add(element, "geom", name=name, type=kind, size=digits(size), **where, **options)


#: What MJCF calls the size of a geom: half lengths and radii.
_SIZES: dict[type[Shape], Callable[[Any], list[float]]] = {
    Box: lambda shape: [x / 2 for x in shape.size],
    Sphere: lambda shape: [shape.radius],
    Capsule: lambda shape: [shape.radius, shape.length / 2],
    Cylinder: lambda shape: [shape.radius, shape.length / 2],
    Ellipsoid: lambda shape: list(shape.radii),
}


def _placed(place: np.ndarray, turn: np.ndarray) -> dict[str, str]:
    from scipy.spatial.transform import Rotation

    x, y, z, w = Rotation.from_matrix(turn).as_quat()
    return {"pos": digits(place), "quat": digits([w, x, y, z])}
