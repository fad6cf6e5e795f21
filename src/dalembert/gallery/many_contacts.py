"""Bodies with several contacts: balls on a rail, beads in a column, blocks that rock and stand on each other, a rod.

A rectangle with half sides a, b at (x, y, theta) has the corners (x, y) + R(theta) (+-a, +-b). A point of a body at the
arm r = (r_x, r_y) from its centre moves with v + theta' (-r_y, r_x).
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from ..problem import State, System
from .ready import Ready, Start, exact_state, given_or_default


class NewtonCradle(Ready, System):
    """Equal balls on a straight rail, elastic: at each impact two of them exchange their velocities.

        L = m/2 |v|^2,      gap_i = q_{i+1} - q_i - 2 r

    In x_i = q_i - 2 r i the balls are points that seem to pass through each other: the exact motion is the free one,
    sorted. In the default start the first ball runs into the others, which stand apart, and the last one leaves.
    """

    balls: int = 5
    radius: float = 0.1
    mass: float = 1.0
    restitution = 1.0
    faces = ((0, 1),)

    def lagrangian(self, t, q, v):
        return 0.5 * self.mass * (v @ v)

    def gap(self, t, q):
        return q[1:] - q[:-1] - 2 * self.radius

    def points(self, t, q):
        return jnp.stack([q, jnp.zeros_like(q)], axis=1)

    @property
    def ball_radii(self):  # pyright: ignore[reportIncompatibleVariableOverride]
        return np.full(self.balls, self.radius)

    def outline(self, t, q):
        """The rail."""
        return jnp.array([[-1.4, -1.0], [3.0, -1.0]]) * jnp.stack([1.0 + 0 * self.radius, self.radius])

    def start(self) -> Start:
        places = 2 * float(self.radius) * np.arange(self.balls) + 0.05 * np.arange(self.balls)
        places[0] -= 1.0
        return Start(jnp.asarray(places), jnp.asarray(np.eye(self.balls)[0]), 3.0, 0.05)

    def exact(self, t, q0=None, v0=None) -> State:
        q0, v0 = (np.asarray(x, dtype=np.float64) for x in given_or_default(self, q0, v0))
        t, spread = np.asarray(t, dtype=np.float64), 2 * float(self.radius) * np.arange(len(q0))
        points = q0 - spread + t[:, None] * v0
        order = np.argsort(points, axis=1, kind="stable")
        v = v0[order]
        return exact_state(np.take_along_axis(points, order, axis=1) + spread, float(self.mass) * v, v)


class BeadColumn(Ready, System):
    """Beads above each other that fall on a floor and come to rest there.

    L = m/2 |v|^2 - m g sum q_i,      gaps q_1 - r, q_2 - q_1 - 2 r, ...
    """

    beads: int = 4
    radius: float = 0.1
    gravity: float = 9.81
    mass: float = 1.0
    restitution: float = 0.3
    faces = ((0, 1),)

    def lagrangian(self, t, q, v):
        return 0.5 * self.mass * (v @ v) - self.mass * self.gravity * jnp.sum(q)

    def gap(self, t, q):
        return jnp.concatenate([q[:1] - self.radius, q[1:] - q[:-1] - 2 * self.radius])

    def points(self, t, q):
        return jnp.stack([jnp.zeros_like(q), q], axis=1)

    @property
    def ball_radii(self):  # pyright: ignore[reportIncompatibleVariableOverride]
        return np.full(self.beads, self.radius)

    def outline(self, t, q):
        """The floor."""
        return jnp.array([[-4.0, 0.0], [4.0, 0.0]]) * self.radius

    def start(self) -> Start:
        number = np.arange(self.beads)
        heights = float(self.radius) * (2 * number + 1) + 0.05 * (number + 1) ** 1.5
        return Start(jnp.asarray(heights), jnp.zeros(self.beads), 2.0, 0.01)


#: The corners of a rectangle in units of its half sides, the lower two first, and its sides.
CORNERS = ((-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0))
SIDES = ((0, 1), (1, 2), (2, 3), (3, 0))


def _rotation(theta):
    return jnp.array([[jnp.cos(theta), -jnp.sin(theta)], [jnp.sin(theta), jnp.cos(theta)]])


class RockingBlock(Ready, System):
    """A block that rocks from corner to corner, q = (x, y, theta); with enough friction and rho = 0.

        L = m/2 (x'^2 + y'^2 + (a^2 + b^2)/3 theta'^2) - m g y,      gaps: heights of the two lower corners

    While one corner rests, theta moves as an inverted pendulum. Each impact keeps the part 1 - 3/2 sin^2(alpha) of the
    rate, tan(alpha) = a / b (Housner 1963).
    """

    half_width: float = 0.2
    half_height: float = 0.6
    gravity: float = 9.81
    mass: float = 1.0
    friction: float = 0.8
    restitution = 0.0
    bars = SIDES
    faces = ((0, 1, 2, 3), (4, 5))

    def lagrangian(self, t, q, v):
        inertia = (self.half_width**2 + self.half_height**2) / 3
        return 0.5 * self.mass * (v[0] ** 2 + v[1] ** 2 + inertia * v[2] ** 2) - self.mass * self.gravity * q[1]

    def corners(self, q):
        """All four corners, the lower two first, (4, 2)."""
        arms = jnp.array(CORNERS) * jnp.stack([self.half_width, self.half_height])
        return q[:2] + arms @ _rotation(q[2]).T

    def gap(self, t, q):
        return self.corners(q)[:2, 1]

    def points(self, t, q):
        return self.corners(q)

    def outline(self, t, q):
        """The block, and the floor."""
        return jnp.concatenate([self.corners(q), jnp.array([[-3.0, 0.0], [3.0, 0.0]]) * self.half_width])

    def tangent(self, t, q):
        arms = self.corners(q)[:2] - q[:2]
        one = jnp.ones(2)
        return jnp.stack([one, 0 * one, -arms[:, 1]], axis=1)

    def rate_kept(self) -> float:
        """The part of theta' that an impact keeps."""
        a, b = float(self.half_width), float(self.half_height)
        return 1 - 1.5 * a**2 / (a**2 + b**2)

    def start(self) -> Start:
        """At rest on its left corner, tilted by 0.1: it falls back onto its foot."""
        theta = 0.1
        rotation = np.array([[np.cos(theta), -np.sin(theta)], [np.sin(theta), np.cos(theta)]])
        low = rotation @ np.array([-float(self.half_width), -float(self.half_height)])
        return Start(jnp.array([0.0, -low[1], theta]), jnp.zeros(3), 1.0, 0.005)


class BoxStack(Ready, System):
    """Boxes on a floor and on each other, q = (x, y, theta) of each; every box stands on the two corners of its foot.

        L = sum m/2 (x'^2 + y'^2 + (a^2 + b^2)/3 theta'^2) - m g y

    The gaps are the distances of these corners from the top face of the box below (from the floor for the first one).
    """

    boxes: int = 3
    half_width: float = 0.5
    half_height: float = 0.25
    gravity: float = 9.81
    mass: float = 1.0
    friction: float = 0.5
    restitution = 0.0

    def lagrangian(self, t, q, v):
        v, inertia = v.reshape(-1, 3), (self.half_width**2 + self.half_height**2) / 3
        kinetic = jnp.sum(v[:, :2] ** 2) + inertia * jnp.sum(v[:, 2] ** 2)
        return 0.5 * self.mass * kinetic - self.mass * self.gravity * jnp.sum(q.reshape(-1, 3)[:, 1])

    def _faces(self, q):
        """For every contact, (boxes, 2, 2): the arm of the corner from its own centre and from that of the body below,
        and the normal of the face below."""
        feet = jnp.array([[-1.0, -1.0], [1.0, -1.0]]) * jnp.stack([self.half_width, self.half_height])
        bodies = q.reshape(-1, 3)
        floor = jnp.zeros((1, 3)).at[0, 1].set(-self.half_height)
        below = jnp.concatenate([floor, bodies[:-1]])
        cosine, sine = jnp.cos(bodies[:, 2:]), jnp.sin(bodies[:, 2:])
        upper = jnp.stack([feet[:, 0] * cosine - feet[:, 1] * sine, feet[:, 0] * sine + feet[:, 1] * cosine], axis=2)
        lower = upper + (bodies - below)[:, None, :2]
        normal = jnp.stack([-jnp.sin(below[:, 2]), jnp.cos(below[:, 2])], axis=1)
        return upper, lower, jnp.broadcast_to(normal[:, None], upper.shape)

    def gap(self, t, q):
        _, lower, normal = self._faces(q)
        return jnp.ravel(jnp.sum(lower * normal, axis=2) - self.half_height)

    def tangent(self, t, q):
        upper, lower, normal = self._faces(q)
        own = jnp.eye(self.boxes)[:, None, :, None]
        other = jnp.eye(self.boxes, k=-1)[:, None, :, None]
        rows = own * generalised(normal, upper)[:, :, None] - other * generalised(normal, lower)[:, :, None]
        return rows.reshape(2 * self.boxes, 3 * self.boxes)

    @property
    def bars(self):  # pyright: ignore[reportIncompatibleVariableOverride]
        return tuple((4 * box + a, 4 * box + b) for box in range(self.boxes) for a, b in SIDES)

    def points(self, t, q):
        arms = jnp.array(CORNERS) * jnp.stack([self.half_width, self.half_height])
        boxes = [body[:2] + arms @ _rotation(body[2]).T for body in q.reshape(-1, 3)]
        return jnp.concatenate(boxes)

    @property
    def faces(self):  # pyright: ignore[reportIncompatibleVariableOverride]
        boxes = tuple(tuple(range(4 * box, 4 * box + 4)) for box in range(self.boxes))
        return (*boxes, (4 * self.boxes, 4 * self.boxes + 1))

    def outline(self, t, q):
        """The boxes, and the floor."""
        return jnp.concatenate([self.points(t, q), jnp.array([[-2.0, 0.0], [2.0, 0.0]]) * self.half_width])

    def start(self) -> Start:
        """Standing on each other."""
        b = float(self.half_height)
        q0 = np.array([[0.0, (2 * k + 1) * b, 0.0] for k in range(self.boxes)]).ravel()
        return Start(jnp.asarray(q0), jnp.zeros(3 * self.boxes), 1.0, 0.01)


def generalised(normal, arm):
    """The rows, (..., 3), that turn the velocity of a body into that of the point at `arm` along a face."""
    along = jnp.stack([normal[..., 1], -normal[..., 0]], axis=-1)
    turning = arm[..., 0] * along[..., 1] - arm[..., 1] * along[..., 0]
    return jnp.concatenate([along, turning[..., None]], axis=-1)


class PainleveRod(Ready, System):
    """A thin rod of length 2 l whose lower end slides on a rough floor, q = (x, y, theta) of its centre.

        L = m/2 (x'^2 + y'^2 + l^2/3 theta'^2) - m g y,      gap = y - l sin(theta)

    Sliding to the left, towards which the rod does not lean, a normal force lam_N accelerates the end upwards by
    p lam_N / m with p = 1 + 3 cos(theta) (cos(theta) - mu sin(theta)). Where p < 0 Coulomb's law has no solution, or
    two (Painleve 1895); mu = 4/3 is the least that allows it.
    """

    half_length: float = 1.0
    gravity: float = 9.81
    mass: float = 1.0
    friction: float = 0.5
    restitution = 0.0
    bars = ((0, 1),)
    faces = ((0, 1),)

    def lagrangian(self, t, q, v):
        kinetic = v[0] ** 2 + v[1] ** 2 + self.half_length**2 / 3 * v[2] ** 2
        return 0.5 * self.mass * kinetic - self.mass * self.gravity * q[1]

    def gap(self, t, q):
        return jnp.stack([q[1] - self.half_length * jnp.sin(q[2])])

    def tangent(self, t, q):
        return jnp.stack([jnp.stack([jnp.ones(()), jnp.zeros(()), self.half_length * jnp.sin(q[2])])])

    def points(self, t, q):
        arm = self.half_length * jnp.stack([jnp.cos(q[2]), jnp.sin(q[2])])
        return jnp.stack([q[:2] - arm, q[:2] + arm])

    def outline(self, t, q):
        """The floor."""
        return jnp.array([[-1.0, 0.0], [1.0, 0.0]]) * self.half_length

    def start(self) -> Start:
        """The rod is pushed to the left, its upper end behind."""
        theta = 1.0
        return Start(
            jnp.array([0.0, float(self.half_length) * np.sin(theta), theta]), jnp.array([-1.0, 0.0, 0.0]), 0.2, 0.005
        )
