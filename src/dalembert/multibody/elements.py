"""The methods of a model that add forces: springs, dampers, motors and what else acts on bodies."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import floats, number, positive, shown
from ..errors import InputError, ModelError
from .bodies import Body, Point
from .couplings import KnifeEdge, Rolling
from .forces import (
    GRAVITATION,
    Attraction,
    BearingFriction,
    Bushing,
    ConstantForce,
    Drag,
    JointDamper,
    JointSpring,
    Motor,
    PointForce,
    Spring,
)
from .joints import JointElement, SixAxis
from .touching import ContactRecord, Plane, PlayRecord, plane_of, record_of
from .vectors import axis_direction, is_traced, rotation_matrix, triple, vector

if TYPE_CHECKING:
    from .model import JointRecord


@dataclass(frozen=True)
class PositionServo:
    """kp (target - angle) - kd rate; equal ones are one function, so that code is compiled once."""

    motion: Callable | None

    def __call__(self, t, x):
        target = x.target if self.motion is None else self.motion(t)
        return x.kp * (target - x.angle) - x.kd * x.rate


@dataclass(frozen=True)
class VelocityServo:
    """kd (target - rate)."""

    motion: Callable | None

    def __call__(self, t, x):
        return x.kd * ((x.target if self.motion is None else self.motion(t)) - x.rate)


class ForceMethods:
    """What `Multibody` has for forces; each element becomes one of `forces.py` when the system is made."""

    forces: list[Callable]
    _new_name: Callable
    _own: Callable
    _joint: Callable
    couplings: list[Callable]

    def spring(
        self, first: Point | Body, second: Point | Body, stiffness=0.0, *, damping=0.0, rest=None, energy=None,
        force=None, name: str | None = None,
    ) -> str:  # fmt: skip
        """A spring and a damper between two points.

        Args:
            first: a point of a body, as `body.point(x, y, z)`; of a body alone its origin.
            second: the other point.
            stiffness: force for each unit of length.
            damping: force for each unit of the rate of the length.
            rest: the relaxed length; by default as drawn.
            energy: `energy(extension)`, a potential in place of stiffness/2 extension^2.
            force: `force(extension, rate)`, a tension besides the potential, which may do work.
            name: for energies by element; numbered by default.
        """
        name = self._force_name("spring", name)
        points = self._point(first), self._point(second)
        if rest is None:
            ends = [point.body.drawn(point.place) for point in points]
            rest = float(np.linalg.norm(ends[1] - ends[0]))
        stiffness, damping, rest = (_number(f"{k} of {name}", x) for k, x in zip(
            ("stiffness", "damping", "rest"), (stiffness, damping, rest), strict=True
        ))  # fmt: skip
        _function("energy", name, energy)
        _function("force", name, force)
        damped = is_traced(damping) or damping != 0.0
        self.forces.append(
            lambda n: Spring(
                name, n.point(points[0]), n.point(points[1]), stiffness, rest, damping, energy, force, damped
            )
        )
        return name

    def damper(self, first: Point | Body, second: Point | Body, damping, *, name: str | None = None) -> str:
        """A damper between two points."""
        return self.spring(first, second, 0.0, damping=damping, rest=0.0, name=self._given(name, "damper"))

    def joint_spring(
        self, joint: str, stiffness=0.0, *, rest=0.0, energy=None, coordinate: str | None = None,
        name: str | None = None,
    ) -> str:  # fmt: skip
        """A spring on a coordinate of a joint: torsional on an angle, whose turns are counted."""
        record, which = self._joint_coordinate(joint, coordinate, "a spring")
        name = self._force_name(f"spring of {joint}", name)
        stiffness, rest = _number(f"stiffness of {name}", stiffness), _number(f"rest of {name}", rest)
        _function("energy", name, energy)
        self.forces.append(lambda n: JointSpring(name, n.joint_number[record.name], which, stiffness, rest, energy))
        return name

    def joint_damper(
        self, joint: str, damping=0.0, *, friction=0.0, smoothing=1e-3, coordinate: str | None = None,
        name: str | None = None,
    ) -> str:  # fmt: skip
        """Friction on a coordinate of a joint: viscous, and dry, smoothed as friction tanh(rate / smoothing)."""
        record, which = self._joint_coordinate(joint, coordinate, "a damper")
        name = self._force_name(f"damper of {joint}", name)
        damping, friction = _number(f"damping of {name}", damping), _number(f"friction of {name}", friction)
        smoothing = positive(f"smoothing of {name}", smoothing)
        dry = is_traced(friction) or friction != 0.0
        self.forces.append(
            lambda n: JointDamper(name, n.joint_number[record.name], which, damping, friction, smoothing, dry)
        )
        return name

    def bearing_friction(
        self, joint: str, coefficient, radius=1.0, *, smoothing=1e-3, coordinate: str | None = None,
        name: str | None = None,
    ) -> str:  # fmt: skip
        """Friction of a bearing under load: the torque -coefficient radius |F| tanh(rate / smoothing) for the force F
        that the joint transmits (on a slide a force, with the radius 1).

        F is the joint's own multiplier, so that the equations are no longer linear in the multipliers: it needs
        `coordinates="directors"`, which "auto" then takes, and `SymplecticEuler` or a composition of it.
        """
        record, which = self._joint_coordinate(joint, coordinate, "the friction of a bearing")
        if not record.kind.locked_points:
            raise InputError(f"joint {joint!r} ({type(record.kind).__name__}) transmits no force that could load it.")
        name = self._force_name(f"bearing of {joint}", name)
        coefficient, radius = _number(f"coefficient of {name}", coefficient), _number(f"radius of {name}", radius)
        smoothing = positive(f"smoothing of {name}", smoothing)
        self.forces.append(
            lambda n: BearingFriction(name, n.joint_number[record.name], which, coefficient, radius, smoothing)
        )
        return name

    def motor(
        self, joint: str, torque: Callable, *, effort=None, coordinate: str | None = None, name: str | None = None,
        **values,
    ) -> str:  # fmt: skip
        """A torque on a joint: `torque(t, x)` with x.angle (or x.position), x.rate, and further values by name, which
        are parameters: `model.motor("elbow", lambda t, x: x.gain * (x.target - x.angle), gain=3.0, target=0.4)`."""
        record, which = self._joint_coordinate(joint, coordinate, "a motor")
        name = self._force_name(f"motor of {joint}", name)
        if not callable(torque):
            raise InputError(f"torque of {name} must be a function of (t, x), got {shown(torque)}.")
        effort = record.effort if effort is None else effort
        effort = None if effort is None else _number(f"effort of {name}", effort)
        clash = {"angle", "position", "rate"} & set(values)
        if clash:
            raise InputError(f"{name}: {', '.join(sorted(clash))} is what the joint does; call the value otherwise.")
        names, numbers = tuple(values), tuple(_number(f"{k} of {name}", x) for k, x in values.items())

        def build(n):
            control = n.model.controls.get(name)
            law = torque if control is None else dataclasses.replace(torque, control=control)  # pyright: ignore
            return Motor(name, n.joint_number[record.name], which, law, effort, names, numbers)

        self.forces.append(build)
        return name

    def position_servo(self, joint: str, target, kp, kd=0.0, **options) -> str:
        """A motor that holds a joint at `target`, a number or a function of t: kp (target - angle) - kd rate."""
        return self.motor(joint, PositionServo(_motion(target)), kp=kp, kd=kd, **_target(target), **options)

    def velocity_servo(self, joint: str, target, kd, **options) -> str:
        """A motor that turns a joint at the rate `target`, a number or a function of t: kd (target - rate)."""
        return self.motor(joint, VelocityServo(_motion(target)), kd=kd, **_target(target), **options)

    def force(self, point: Point | Body, force, *, name: str | None = None) -> str:
        """A force in space at a point of a body: three numbers, or a function (t, position, velocity) of them."""
        name, at = self._force_name("force", name), self._point(point)
        if not callable(force):
            constant = floats(f"force of {name}", force, finite=True)
            if constant.shape != (3,):
                raise InputError(f"force of {name} must be three numbers or a function, got {shown(force)}.")
            self.forces.append(lambda n: ConstantForce(name, n.point(at), constant))
        else:
            self.forces.append(lambda n: PointForce(name, n.point(at), force))
        return name

    def drag(self, point: Point | Body, coefficient, *, wind=(0.0, 0.0, 0.0), name: str | None = None) -> str:
        """Aerodynamic drag at a point: -coefficient |u| u for its velocity u against the wind."""
        name, at = self._force_name("drag", name), self._point(point)
        coefficient, wind = _number(f"coefficient of {name}", coefficient), vector(f"wind of {name}", wind)
        self.forces.append(lambda n: Drag(name, n.point(at), coefficient, wind))
        return name

    def attraction(self, first: Body, second: Body, *, constant=GRAVITATION, name: str | None = None) -> str:
        """Gravity between the centres of mass of two bodies, with the gravitational constant of the units in use."""
        name = self._force_name("attraction", name)
        ends = [Point(body, body.com) for body in (first, second)]
        if any(body.is_ground for body in (first, second)):
            raise InputError(f"{name}: the ground has no mass; gravity=(...) of the model is what it does.")
        strength = constant * first.mass * second.mass
        self.forces.append(lambda n: Attraction(name, n.point(ends[0]), n.point(ends[1]), strength))
        return name

    def bushing(
        self, first: Body | Point, second: Body | Point, stiffness, *, damping=(0.0,) * 6, at=None, rotation=None,
        name: str | None = None,
    ) -> str:  # fmt: skip
        """An elastic joint: six stiffnesses and dampings, along and about the axes of a frame of the first body.

        It is relaxed where both points are one: `at`, or else the point of the second body, or its origin.
        """
        name = self._force_name("bushing", name)
        ends = [end.body if isinstance(end, Point) else end for end in (first, second)]
        for body in ends:
            self._own(body)
        stiffness, damping = (vector(f"{k} of {name}", x, 6) for k, x in zip(
            ("stiffness", "damping"), (stiffness, damping), strict=True
        ))  # fmt: skip
        drawn = ends[1].drawn(second.place) if isinstance(second, Point) else second.place
        place = drawn if at is None else vector(f"at of {name}", at)
        owns = [
            end.place if isinstance(end, Point) else body.own(place)
            for end, body in zip((first, second), ends, strict=True)
        ]
        axes = rotation_matrix(f"rotation of {name}", rotation)
        damped = is_traced(damping) or bool(np.any(damping))

        def build(n):
            frames = [n.frame(body, own, axes) for body, own in zip(ends, owns, strict=True)]
            joint = JointElement(name, n.of(ends[0]), n.of(ends[1]), SixAxis("|"), frames[0], frames[1])
            return Bushing(name, joint, stiffness, damping, damped)

        self.forces.append(build)
        return name

    # -- contacts --------------------------------------------------------------------------------------------------

    def plane(self, normal: Any = "z", at=(0.0, 0.0, 0.0), body: Body | None = None) -> Plane:
        """A plane of the ground, or of a body, for contact: what is on the side of its normal is free."""
        ground: Body = self.ground  # pyright: ignore[reportAttributeAccessIssue]
        return plane_of(ground if body is None else body, normal, at)

    def contact(self, first, second, *, friction=0.0, restitution=0.0, name: str | None = None) -> str:
        """Let two surfaces touch but not penetrate: `body.surface(da.Sphere(0.1))`, a body with a shape, or `plane()`.

        Against planes: spheres, capsules (their ends), boxes (their corners), cylinders (their rims), ellipsoids.
        Against each other: spheres and capsules; a sphere and a box. Methods for contact treat them.
        """
        records: list[ContactRecord] = self.contacts  # pyright: ignore[reportAttributeAccessIssue]
        name = f"contact {len(records) + 1}" if name is None else name
        record = record_of(name, first, second, friction, restitution)
        for surface in (record.first, record.second):
            self._own(surface.body)
        self._new_name("contact", name)
        records.append(record)
        return name

    def bearing(self, name: str, first: Point, second: Point, clearance, *, axis="z", restitution=0.0) -> None:
        """A pin in a bearing with play: the second point stays within `clearance` of the axis through the first one.
        It leaves motion along the axis and all rotations free."""
        points = self._point(first), self._point(second)
        record = PlayRecord(
            name, *points, axis_direction(f"axis of bearing {name!r}", axis),
            positive(f"clearance of bearing {name!r}", clearance),
            number(f"restitution of bearing {name!r}", restitution, 0.0, 1.0),
        )  # fmt: skip
        self._new_name("contact", name)
        self.contacts.append(record)  # pyright: ignore[reportAttributeAccessIssue]

    def rolling(self, name: str, first, second) -> None:
        """Let two surfaces touch and roll without slipping: a sphere, a cylinder's rim (the disc, its first), an
        ellipsoid on a plane, a sphere on a sphere. Methods for nonholonomic constraints treat it."""
        record = record_of(name, first, second, 0.0, 0.0)
        self._new_name("joint", name)

        def build(n):
            contacts = record.elements(n)
            if len(contacts) > 2:
                raise ModelError(f"rolling {name!r}: a box touches in more than one point; it cannot roll on all.")
            return Rolling(name, contacts[0])

        self.couplings.append(build)

    def knife_edge(self, name: str, point: Point, across) -> None:
        """Let a point of a body move only at right angles to a direction of the body: a skate, a blade, a wheel."""
        self._new_name("joint", name)
        at, direction = self._point(point), axis_direction(f"across of {name!r}", across)

        def build(n):
            host = n.host[at.body.name]
            turned = host.principal.axes @ host.turn.T @ at.body.turn @ direction
            return KnifeEdge(name, n.point(at), triple(turned, direction=True))

        self.couplings.append(build)

    # -- helpers ---------------------------------------------------------------------------------------------------

    def _given(self, name: str | None, what: str) -> str:
        return f"{what} {len(self.forces) + 1}" if name is None else name

    def _force_name(self, what: str, name: str | None) -> str:
        taken: set[tuple[str, str]] = self._names  # pyright: ignore[reportAttributeAccessIssue]
        if name is None:
            name = what if " of " in what and ("force", what) not in taken else f"{what} {len(self.forces) + 1}"
        self._new_name("force", name)
        return name

    def _point(self, point: Any) -> Point:
        found = point if isinstance(point, Point) else None
        if found is None and isinstance(point, Body):
            found = Point(point, np.zeros(3))
        if found is None:
            raise InputError(f"expected a point of a body, as body.point(x, y, z), got {shown(point)}.")
        self._own(found.body)
        return found

    def _joint_coordinate(self, joint: str, coordinate: str | None, purpose: str) -> tuple[JointRecord, int]:
        record = self._joint(joint)
        return record, record.coordinate(coordinate, purpose)


def _number(name: str, value):
    return value if is_traced(value) else number(name, value)


def _function(what: str, name: str, value) -> None:
    if value is not None and not callable(value):
        raise InputError(f"{what} of {name} must be a function, got {shown(value)}.")


def _motion(target) -> Callable | None:
    return target if callable(target) else None


def _target(target) -> dict[str, Any]:
    return {} if callable(target) else {"target": target}
