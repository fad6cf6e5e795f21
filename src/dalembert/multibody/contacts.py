"""Contacts of a model: distances that stay positive, and the directions along which their points slide.

A contact of two bodies has a distance g, a unit normal n from the second to the first, and the two points that would
touch. With their components X_1, X_2 along the directors held as they are at q, the rows of the friction directions are

    T_k = d/dq [ t_k . (r_1(q; X_1) - r_2(q; X_2)) ],      t_1, t_2, n at right angles,

the relative velocity of the material points, seen along the surface.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .configuration import BodyPoint, Configuration, Frame, Pose
from .joints import JointElement

#: Lengths below this are at the edge of a shape, where a distance has no derivative; they are kept from 0.
EDGE = 1e-12


class Touching(NamedTuple):
    """Normal and points of a contact at one configuration."""

    normal: Any
    first: Any
    second: Any


class ContactElement(eqx.Module):
    """A distance >= 0."""

    name: str = eqx.field(static=True)

    def gap(self, configuration: Configuration, joints: tuple[JointElement, ...]) -> Any:
        """The distance."""
        raise NotImplementedError

    @property
    def bodies(self) -> tuple[int, int] | None:
        """The numbers of the two bodies whose points slide on each other in it."""
        return None

    @property
    def rough(self) -> bool:
        """Whether points slide on each other in it."""
        return self.bodies is not None

    def touching(self, configuration: Configuration) -> Touching:
        """Normal and points of the contact."""
        raise NotImplementedError


class JointLimit(ContactElement):
    """A stop of a joint: sign (c - bound) >= 0 for its coordinate c.

    An angle that is measured at poses is counted around `middle`, the middle between both stops, where it is given.
    """

    joint: int = eqx.field(static=True)
    coordinate: int = eqx.field(static=True)
    sign: int = eqx.field(static=True)
    bound: Any
    middle: float | None = eqx.field(static=True, default=None)

    def gap(self, configuration, joints):
        # the bodies hit the stop, and not a coordinate that follows them, which may have no inertia
        value = configuration.value_at_poses(self.joint, joints[self.joint], self.coordinate, self.middle)
        return jnp.asarray(self.sign * (value - self.bound))


class _Pair(ContactElement):
    """A shape of the first body, and one of the second."""

    first: BodyPoint

    def touching(self, configuration):
        raise NotImplementedError

    def gap(self, configuration, joints):
        normal, first, second = self.touching(configuration)
        return (first - second) @ normal


class OnPlane(_Pair):
    """A shape above a plane: the second body carries the plane, the third axis of `plane` is its normal."""

    second: int = eqx.field(static=True)
    plane: Frame

    @property
    def bodies(self):
        return self.first.body, self.second

    def lowest(self, configuration: Configuration, normal) -> Any:
        """The point of the shape that is lowest along the normal."""
        raise NotImplementedError

    def touching(self, configuration):
        pose = configuration.poses[self.second]
        normal = pose.along(self.plane.axes[2])
        lowest = self.lowest(configuration, normal)
        height = (lowest - pose.point(self.plane.position)) @ normal
        return Touching(normal, lowest, lowest - height * normal)


class SphereOnPlane(OnPlane):
    """A sphere about a point; with the radius 0 the point itself: the corner of a box."""

    radius: Any

    def lowest(self, configuration, normal):
        return configuration.point(self.first) - self.radius * normal


class RimOnPlane(OnPlane):
    """A circle about the third axis a of a frame: its lowest point is c + r (a (a . n) - n) / sqrt(1 - (a . n)^2)."""

    circle: Frame
    radius: Any

    def lowest(self, configuration, normal):
        axis = configuration.poses[self.first.body].along(self.circle.axes[2])
        lean = axis @ normal
        across = jnp.sqrt(jnp.maximum(1.0 - lean**2, EDGE))
        return configuration.point(self.first) + self.radius * (axis * lean - normal) / across


class EllipsoidOnPlane(OnPlane):
    """An ellipsoid with half axes r_k along the axes a_k of a frame: lowest at c - sum r_k^2 (a_k . n) a_k / |...|."""

    axes: Frame
    radii: Any

    def lowest(self, configuration, normal):
        pose = configuration.poses[self.first.body]
        axes = jnp.stack([pose.along(axis) for axis in self.axes.axes])
        reach = self.radii * (axes @ normal)
        return configuration.point(self.first) - (self.radii * reach / jnp.sqrt(reach @ reach)) @ axes


class Play(ContactElement):
    """A pin in a bearing with play c: (c^2 - |r|^2) / (2 c) >= 0 for the offset r of the pin across the axis, which is
    the distance c - |r| where they touch and has a derivative at r = 0."""

    joint: JointElement
    clearance: Any

    def gap(self, configuration, joints):
        relative = configuration.relative(self.joint)
        x, y = relative.shift(0), relative.shift(1)
        return (self.clearance**2 - x**2 - y**2) / (2 * self.clearance)


class SpherePair(_Pair):
    """Two spheres."""

    second: BodyPoint
    radii: tuple[Any, Any]

    @property
    def bodies(self):
        return self.first.body, self.second.body

    def touching(self, configuration):
        return _between(configuration.point(self.first), configuration.point(self.second), *self.radii)


class CapsulePair(_Pair):
    """Two capsules: the nearest points of two segments, then as two spheres."""

    second: BodyPoint
    frames: tuple[Frame, Frame]
    half: tuple[Any, Any]
    radii: tuple[Any, Any]

    @property
    def bodies(self):
        return self.first.body, self.second.body

    def touching(self, configuration):
        centres = configuration.point(self.first), configuration.point(self.second)
        along = [
            half * configuration.poses[point.body].along(frame.axes[2])
            for half, point, frame in zip(self.half, (self.first, self.second), self.frames, strict=True)
        ]
        s, u = _nearest(centres[0] - centres[1], *along)
        return _between(centres[0] + s * along[0], centres[1] + u * along[1], *self.radii)


class SphereOnBox(_Pair):
    """A sphere outside a box of the second body: the nearest point of the box is the centre, clipped to it."""

    second: int = eqx.field(static=True)
    box: Frame
    half: Any
    radius: Any

    @property
    def bodies(self):
        return self.first.body, self.second

    def touching(self, configuration):
        centre, pose = configuration.point(self.first), configuration.poses[self.second]
        axes = jnp.stack([pose.along(axis) for axis in self.box.axes])
        middle = pose.point(self.box.position)
        local = axes @ (centre - middle)
        near = middle + jnp.clip(local, -self.half, self.half) @ axes
        return _between(centre, near, self.radius, 0.0)


def _between(first, second, radius, other) -> Touching:
    """The contact of two spheres about points."""
    apart = first - second
    normal = apart / jnp.sqrt(jnp.maximum(apart @ apart, EDGE**2))
    return Touching(normal, first - radius * normal, second + other * normal)


def _nearest(apart, a, b):
    """s and u in [-1, 1] with |apart + s a - u b| smallest: free, then clipped, one after the other."""
    aa, bb, ab, ca, cb = a @ a, b @ b, a @ b, apart @ a, apart @ b
    determinant = aa * bb - ab * ab
    parallel = determinant <= 1e-10 * aa * bb
    s = jnp.where(parallel, 0.0, (ab * cb - bb * ca) / jnp.where(parallel, 1.0, determinant))
    s = jnp.clip(s, -1.0, 1.0)
    u = jnp.clip((cb + s * ab) / bb, -1.0, 1.0)
    return jnp.clip((u * ab - ca) / aa, -1.0, 1.0), u


def tangents(normal):
    """Two unit vectors at right angles to a normal and to each other."""
    if isinstance(normal, np.ndarray):  # of a plane of the ground: constant directions
        along = np.eye(3)[int(np.argmin(np.abs(normal)))]
        first = along - (along @ normal) * normal
        first = first / np.linalg.norm(first)
        return first, np.cross(normal, first)
    # that coordinate axis which the normal is not near
    near_x = jnp.abs(normal[0]) > 0.8
    along = jnp.where(near_x, jnp.array([0.0, 1.0, 0.0]), jnp.array([1.0, 0.0, 0.0]))
    first = along - (along @ normal) * normal
    first = first / jnp.sqrt(first @ first)
    return first, jnp.cross(normal, first)


def sliding_rows(system, q):
    """The rows along which the points of every contact slide, shape (contacts, 2, n); zero for stops of joints."""
    configuration = system.configuration(q)
    held = [_held(contact, configuration) for contact in system.contacts]

    def slides(moved):
        there = system.configuration(moved)
        return jnp.stack([_slide(contact, state, there) for contact, state in zip(system.contacts, held, strict=True)])

    return jax.jacrev(slides)(q)


def sliding_velocity(contact: ContactElement, system, q, v):
    """The velocity of the touching points of a contact against each other, along the two directions of sliding."""
    held = _held(contact, system.configuration(q))
    return jax.jvp(lambda moved: _slide(contact, held, system.configuration(moved)), (q,), (v,))[1]


def _slide(contact: ContactElement, held, configuration: Configuration):
    """How far the points of a contact are from each other, along the directions of sliding."""
    if held is None or contact.bodies is None:
        return jnp.zeros(2)
    arms, directions = held
    poses = (configuration.poses[body] for body in contact.bodies)
    first, second = (_material(pose, arm) for pose, arm in zip(poses, arms, strict=True))
    return jnp.stack([direction @ (first - second) for direction in directions])


def _held(contact: ContactElement, configuration: Configuration):
    """The touching points along the directors of their bodies, and the directions of sliding."""
    if contact.bodies is None:
        return None
    normal, first, second = contact.touching(configuration)
    arms = [
        _components(configuration.poses[body], point)
        for body, point in zip(contact.bodies, (first, second), strict=True)
    ]
    return arms, tangents(normal)


def _components(pose: Pose, point):
    """A point along the directors; None for a body without directions, all of whose points move alike."""
    return [d @ (point - pose.x) for d in pose.directors] if pose.turns else None


def _material(pose: Pose, arm):
    """Where a point of a body is."""
    return pose.x if arm is None else pose.x + sum(a * d for a, d in zip(arm, pose.directors, strict=True))
