"""From the records of a model to the elements of a system: bodies that are welded become one, names become numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .bodies import Body, BodyElement, Point, welded
from .configuration import GROUND, BodyFrame, BodyPoint, Frame
from .contacts import ContactElement, JointLimit
from .couplings import Coupling
from .forces import ForceElement
from .joints import Distance, Fixed, JointElement
from .pictures import Solid, outlines, solids
from .vectors import Triple, is_traced, triple

if TYPE_CHECKING:
    from .model import JointRecord, Multibody


#: Stops within this are not passed by a step that would take an angle beyond pi.
NEARLY_HALF = 2.5


@dataclass(frozen=True)
class Parts:
    """Everything that a system is made of, whatever its coordinates."""

    bodies: tuple[BodyElement, ...]
    joints: tuple[JointElement, ...]
    forces: tuple[ForceElement, ...]
    couplings: tuple[Coupling, ...]
    contacts: tuple[ContactElement, ...]
    gravity: Triple
    armatures: tuple[Any, ...]
    armature_joints: tuple[tuple[int, int], ...]
    followed: tuple[tuple[int, int], ...]
    restitution: Any
    friction: Any
    frames: tuple[BodyFrame, ...]
    drawing: Any
    solids: tuple[Solid, ...]
    bars: Any
    traced: bool


class Numbering:
    """The bodies that move on their own, and where the points of every body of the model are on them."""

    def __init__(self, model: Multibody) -> None:
        self.model = model
        self.host: dict[str, Body] = {}
        self.joints: list[JointRecord] = []
        groups = _welded_groups(model)
        self.bodies: list[Body] = []
        for group in groups:
            lead = next((body for body in group if body.is_ground), group[0])
            host = lead if lead.is_ground or len(group) == 1 else _together(model, lead, group)
            for body in group:
                self.host[body.name] = host
            if not host.is_ground:
                self.bodies.append(host)
        self.number = {body.name: k for k, body in enumerate(self.bodies)}
        # a joint between bodies that are welded to each other is no joint
        self.joints = [j for j in model.joints.values() if self.host[j.first.name] is not self.host[j.second.name]]
        self.joint_number = {joint.name: k for k, joint in enumerate(self.joints)}

    def of(self, body: Body) -> int:
        """The number of the body on which a body of the model is."""
        host = self.host[body.name]
        return GROUND if host.is_ground else self.number[host.name]

    def place(self, body: Body, place):
        """A point of a body in the frame of the body on which it is."""
        host = self.host[body.name]
        return place if host is body else host.own(body.drawn(place))

    def point(self, point: Point) -> BodyPoint:
        """A point as the system keeps it."""
        host = self.host[point.body.name]
        return host.body_point(self.of(point.body), self.place(point.body, point.place))

    def frame(self, body: Body, place, axes) -> Frame:
        """A frame of a body, its axes as drawn."""
        return self.host[body.name].frame(self.place(body, place), axes)

    def element(self, joint: JointRecord) -> JointElement:
        """A joint as the system keeps it."""
        kind = joint.kind
        if isinstance(kind, Distance) and kind.length is None:
            between = joint.second.drawn(joint.on_second) - joint.first.drawn(joint.on_first)
            kind = Distance(float(np.linalg.norm(between)))
        return JointElement(
            joint.name,
            self.of(joint.first),
            self.of(joint.second),
            kind,
            self.frame(joint.first, joint.on_first, joint.axes),
            self.frame(joint.second, joint.on_second, joint.axes),
        )


def parts_of(model: Multibody, limits: bool) -> Parts:
    """The elements of a model."""
    numbering = Numbering(model)
    joints = tuple(numbering.element(joint) for joint in numbering.joints)
    contacts, restitution, friction = [], [], []
    if limits:
        for joint in numbering.joints:
            for sign, bound in zip((1, -1), joint.limits or (), strict=False):
                if bound is not None and (is_traced(bound) or np.isfinite(bound)):
                    side = "lower" if sign > 0 else "upper"
                    number = numbering.joint_number[joint.name]
                    contacts.append(
                        JointLimit(f"{joint.name}: {side} limit", number, 0, sign, bound, _middle_of_stops(joint))
                    )
                    restitution.append(joint.limit_restitution)
                    friction.append(0.0)
    for record in model.contacts:
        for element in record.elements(numbering):
            contacts.append(element)
            restitution.append(record.restitution)
            friction.append(record.friction)
    rotors = [(j, j.armature) for j in numbering.joints if is_traced(j.armature) or j.armature]
    forces = tuple(force(numbering) for force in model.forces)
    armature_joints = tuple((numbering.joint_number[joint.name], 0) for joint, _ in rotors)
    drawing, bars = outlines(model, numbering)
    return Parts(
        bodies=tuple(body.element() for body in numbering.bodies),
        joints=joints,
        forces=forces,
        couplings=tuple(coupling(numbering) for coupling in model.couplings),
        contacts=tuple(contacts),
        gravity=triple(model.gravity),
        armatures=tuple(inertia for _, inertia in rotors),
        armature_joints=armature_joints,
        followed=_followed(numbering, armature_joints, forces),
        restitution=np.array(restitution) if contacts else 0.0,
        friction=np.array(friction) if contacts else 0.0,
        frames=tuple(
            BodyFrame(body.name, numbering.of(body), numbering.frame(body, np.zeros(3), body.turn))
            for body in model.bodies.values()
        ),
        drawing=drawing,
        solids=solids(model, numbering),
        bars=bars,
        traced=is_traced([(b.mass, b.com, b.principal.euler, b.place) for b in numbering.bodies]),
    )


def _followed(numbering: Numbering, rotors, forces) -> tuple[tuple[int, int], ...]:
    """The joint coordinates that poses do not tell well enough: angles whose turns a motor, a spring or a stop depends
    on, and coordinates of rotors, whose inertia would make the mass matrix depend on the poses."""
    read = {force.reads for force in forces if force.reads is not None}
    kinds = [joint.kind for joint in numbering.joints]
    counted = {j for j, k in read if kinds[j].is_measured_angle(k)} | {j for j, _ in rotors}
    counted |= {j for j, joint in enumerate(numbering.joints) if not _within_a_turn(joint)}
    angles = {(j, k) for j in counted for k in range(len(kinds[j].coordinates)) if kinds[j].is_measured_angle(k)}
    return tuple(sorted(angles | set(rotors)))


def _within_a_turn(joint: JointRecord) -> bool:
    """Whether poses tell where between its stops an angle is."""
    if is_traced(joint.limits) or joint.limits is None or not joint.kind.is_measured_angle(0):
        return True
    return joint.limits[1] - joint.limits[0] < 2 * np.pi


def _middle_of_stops(joint: JointRecord) -> float | None:
    """The middle around which an angle between stops is counted, None for (-pi, pi]."""
    if is_traced(joint.limits) or joint.limits is None or not joint.kind.is_measured_angle(0):
        return None
    low, high = joint.limits
    return None if max(-low, high) < NEARLY_HALF or not _within_a_turn(joint) else (low + high) / 2


def _welded_groups(model: Multibody) -> list[list[Body]]:
    """The bodies in groups that move as one: welded ones, and massless ones with what they are fixed to."""
    group = {name: name for name in model.bodies}

    def root(name: str) -> str:
        while group[name] != name:
            name = group[name]
        return name

    pairs = list(model.welds)
    for joint in model.joints.values():
        massless = any(not b.is_ground and not is_traced(b.mass) and b.mass == 0.0 for b in (joint.first, joint.second))
        if isinstance(joint.kind, Fixed) and massless:
            pairs.append((joint.first, joint.second))
    for first, second in pairs:
        group[root(second.name)] = root(first.name)
    groups: dict[str, list[Body]] = {}
    for name, body in model.bodies.items():
        groups.setdefault(root(name), []).append(body)
    return list(groups.values())


def _together(model: Multibody, lead: Body, group: list[Body]) -> Body:
    """One body in the frame of the first of a group."""
    lead = next((body for body in group if is_traced(body.mass) or body.mass > 0.0), lead)
    turns = [lead.turn.T @ body.turn for body in group]
    masses = [
        (body.mass, lead.own(body.drawn(body.com)), turn @ body.inertia @ turn.T)
        for body, turn in zip(group, turns, strict=True)
    ]
    return welded(lead.name, model, masses, lead.shape, lead.place, lead.turn)
