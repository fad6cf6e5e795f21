"""Where the bodies of a model are: poses, and what joints see of two of them.

A body has its reference point x (the centre of mass) and three directors d_1, d_2, d_3 along its principal axes. A
point X of the body is at r = x + X_1 d_1 + X_2 d_2 + X_3 d_3. Whether x and d are coordinates or functions of joint
coordinates does not matter to anything that is computed from a `Configuration`.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ..errors import ModelError
from .vectors import Triple, combination, product, triple

#: The number of the ground among the bodies.
GROUND = -1


class Pose(NamedTuple):
    """The reference point and the directors of one body; None for a director that a rod or a particle lacks."""

    name: str
    x: Any
    directors: tuple[Any, ...]

    @property
    def turns(self) -> bool:
        """Whether all its directions are known."""
        return all(director is not None for director in self.directors)

    def along(self, weights: Triple):
        """The vector with these components along the directors."""
        found = combination(self.directors, weights)
        if found is None:
            raise ModelError(
                f"body {self.name!r} has no inertia about an axis, and so no direction across it, but a joint, a force "
                "or a contact needs one. Give it a moment of inertia about that axis, or use a joint that needs only "
                "points of the axis (Spherical, Distance, PointOnLine, PointOnPlane)."
            )
        return found

    def point(self, components: Triple):
        """The place of a point of the body."""
        if all(known == 0 for known in components.pattern):
            return self.x
        return self.x + self.along(components)


GROUND_POSE = Pose("ground", np.zeros(3), tuple(np.eye(3)))


class Frame(eqx.Module):
    """A point of a body and three axes through it, in components along the directors."""

    position: Triple
    axes: tuple[Triple, Triple, Triple]


class BodyFrame(eqx.Module):
    """The frame in which a body of the model is described, on the body that carries it."""

    name: str = eqx.field(static=True)
    body: int = eqx.field(static=True)
    frame: Frame


def frame_of(position, axes) -> Frame:
    """A frame from its position and its axes as columns."""
    return Frame(triple(position), tuple(triple(axes[:, k], direction=True) for k in range(3)))  # pyright: ignore


class BodyPoint(eqx.Module):
    """A point of a body, by the body's number."""

    body: int = eqx.field(static=True)
    position: Triple


class Relative:
    """Two bodies seen from the joint between them: its axes e in the first, f in the second, and the shift of the
    second's point from the first's."""

    def __init__(self, first: Pose, second: Pose, on_first: Frame, on_second: Frame) -> None:
        self.first, self.second, self.on_first, self.on_second = first, second, on_first, on_second

    def e(self, k: int):
        """Axis k of the joint in the first body."""
        return self.first.along(self.on_first.axes[k])

    def f(self, k: int):
        """Axis k of the joint in the second body."""
        return self.second.along(self.on_second.axes[k])

    def cosine(self, i: int, j: int):
        """e_i . f_j."""
        return self.e(i) @ self.f(j)

    @functools.cached_property
    def gap(self):
        """From the first's point to the second's."""
        return self.second.point(self.on_second.position) - self.first.point(self.on_first.position)

    def shift(self, k: int):
        """(r_2 - r_1) . e_k, written in the directors of the first body::

            (x_2 - x_1) . e_k + (D_2 X_2) . e_k - X_1 . a_k,      e_k = D_1 a_k

        the same where D_1 is orthonormal, but it has two factors instead of three, and eliminates without fill-in.
        """
        if not self.first.turns:  # a particle or a rod: seen from the other side
            axis = self.second.along(self.on_second.axes[k]) if self.second.turns else np.eye(3)[k]
            return self.gap @ axis
        reach = self.second.point(self.on_second.position) - self.first.x
        return reach @ self.e(k) - product(self.on_first.position, self.on_first.axes[k])

    def angle(self):
        """The angle of the second body about axis 3, counted in (-pi, pi]."""
        return jnp.arctan2(self.cosine(1, 0), self.cosine(0, 0))


class Configuration(NamedTuple):
    """All poses, and the values of the joints whose coordinates are coordinates of the system; `followed` are those of
    them that place no body."""

    poses: dict[int, Pose]
    values: dict[int, tuple[Any, ...]]
    followed: frozenset[int] = frozenset()

    def point(self, point: BodyPoint):
        """Where a point of a body is."""
        return self.poses[point.body].point(point.position)

    def value_at_poses(self, number: int, joint, coordinate: int, middle: float | None) -> Any:
        """A coordinate of a joint as a function of the poses, whose turns are those of a followed coordinate; else an
        angle is counted in (middle - pi, middle + pi]."""
        known = self.values.get(number)
        if known is not None and number not in self.followed:
            return known[coordinate]
        value = joint.kind.measure(self.relative(joint))[coordinate]
        around = middle if known is None else known[coordinate]
        if around is None or not joint.kind.is_measured_angle(coordinate):
            return value
        return around + jnp.arctan2(jnp.sin(value - around), jnp.cos(value - around))

    def relative(self, joint) -> Relative:
        """The two bodies of a joint."""
        return Relative(self.poses[joint.first], self.poses[joint.second], joint.on_first, joint.on_second)

    def joint_values(self, number: int, joint) -> tuple[Any, ...]:
        """The coordinates of a joint: its own where it has some, else measured at the poses."""
        known = self.values.get(number)
        return joint.kind.measure(self.relative(joint)) if known is None else known
