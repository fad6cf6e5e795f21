"""Structures of blocks: a row of dominoes that topple, and an arch of wedges that stands if it is thick enough."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from ..problem import System
from .many_contacts import SIDES, generalised
from .ready import Ready, Start


class DominoRow(Ready, System):
    """Dominoes of the height h and the thickness d, the distance s apart, that turn about their lower front edges.

        L = sum m (h^2 + d^2)/6 theta_i'^2 - m g/2 (h cos(theta_i) + d sin(theta_i))
        gap_i = (s + d) cos(theta_{i+1}) - d - h sin(theta_i - theta_{i+1}),      and theta_i >= 0, theta_n <= pi/2

    gap_i is the distance of the upper edge of a domino from the back of the next one. The first one meets it where
    sin(theta) = s / h, and with rho = 0 both go on with half of its rate. The angle is that of the gap in van Leeuwen
    (The domino effect, American Journal of Physics 78, 2010).
    """

    dominoes: int = 12
    height: float = 1.0
    thickness: float = 0.15
    distance: float = 0.4
    gravity: float = 9.81
    mass: float = 1.0
    restitution = 0.0

    def lagrangian(self, t, q, v):
        inertia = self.mass * (self.height**2 + self.thickness**2) / 3
        centres = 0.5 * (self.height * jnp.cos(q) + self.thickness * jnp.sin(q))
        return 0.5 * inertia * (v @ v) - self.mass * self.gravity * jnp.sum(centres)

    def gap(self, t, q):
        lean, behind = q[:-1] - q[1:], (self.distance + self.thickness) * jnp.cos(q[1:]) - self.thickness
        floor = self.height * jnp.cos(q[-1:])
        return jnp.concatenate([self.height * q, behind - self.height * jnp.sin(lean), floor])

    @property
    def bars(self):  # pyright: ignore[reportIncompatibleVariableOverride]
        return tuple((4 * k + a, 4 * k + b) for k in range(self.dominoes) for a, b in SIDES)

    @property
    def faces(self):  # pyright: ignore[reportIncompatibleVariableOverride]
        return tuple(tuple(range(4 * k, 4 * k + 4)) for k in range(self.dominoes))

    def outline(self, t, q):
        """The dominoes."""
        return self.points(t, q)

    def points(self, t, q):
        """The corners of each, from its lower front edge on."""
        along = jnp.stack([jnp.sin(q), jnp.cos(q)], axis=1) * self.height
        back = jnp.stack([-jnp.cos(q), jnp.sin(q)], axis=1) * self.thickness
        places = np.arange(self.dominoes, dtype=np.float64)[:, None] * jnp.stack(
            [self.distance + self.thickness, 0.0 * self.height]
        )
        return jnp.stack([places, places + along, places + along + back, places + back], axis=1).reshape(-1, 2)

    def first_rates(self, push: float = 0.5) -> tuple[float, float]:
        """theta_1' before it meets the second domino, pushed upright; and that of both after it."""
        h, d, s = float(self.height), float(self.thickness), float(self.distance)
        angle = np.arcsin(s / h)
        fall = 0.5 * (h - h * np.cos(angle) - d * np.sin(angle))
        rate = np.sqrt(push**2 + 6 * float(self.gravity) * fall / (h**2 + d**2))
        return float(rate), float(rate) / 2

    def start(self) -> Start:
        """All upright, the first one pushed."""
        rates = np.zeros(self.dominoes)
        rates[0] = 1.5
        return Start(jnp.zeros(self.dominoes), jnp.asarray(rates), 3.0, 0.005)


class BlockArch(Ready, System):
    """A half circle of wedges on two abutments, q = (x, y, theta) of each; it stands by its shape and by friction.

        L = sum m/2 (x'^2 + y'^2) + J/2 theta'^2 - m g y,      gaps: corners of a wedge in front of the next face

    The wedges lie between the radii R - t/2 and R + t/2, with joints that point to the centre. Without tension in the
    joints the arch stands if t / R > 0.1075, and falls with hinges at the crown, at the haunches and at the abutments
    if it is thinner (Milankovitch 1907). Of few wedges the joints miss the haunches, and less will do: 0.096 for seven.
    """

    wedges: int = 7
    radius: float = 1.0
    thickness: float = 0.15
    gravity: float = 9.81
    density: float = 1.0
    friction: float = 0.8
    restitution = 0.0

    def _wedge(self):
        """Of one wedge, with its middle upwards: corners, (4, 2), about its centroid, how far that lies from the centre
        of the arch, mass, and moment of inertia."""
        half = jnp.pi / (2 * self.wedges)
        inner, outer = self.radius - self.thickness / 2, self.radius + self.thickness / 2
        sine, cosine = jnp.sin(half), jnp.cos(half)
        corners = jnp.stack([
            jnp.stack([-inner * sine, inner * cosine]), jnp.stack([inner * sine, inner * cosine]),
            jnp.stack([outer * sine, outer * cosine]), jnp.stack([-outer * sine, outer * cosine]),
        ])  # fmt: skip
        after = jnp.roll(corners, -1, axis=0)
        cross = corners[:, 0] * after[:, 1] - corners[:, 1] * after[:, 0]
        area = jnp.sum(cross) / 2
        centroid = jnp.sum((corners + after) * cross[:, None], axis=0) / (6 * area)
        products = jnp.sum(corners**2 + corners * after + after**2, axis=1)
        polar = jnp.sum(cross * products) / 12 - area * (centroid @ centroid)
        return corners - centroid, centroid[1], self.density * area, self.density * polar

    def lagrangian(self, t, q, v):
        _, _, mass, inertia = self._wedge()
        q, v = q.reshape(-1, 3), v.reshape(-1, 3)
        kinetic = mass * jnp.sum(v[:, :2] ** 2) + inertia * jnp.sum(v[:, 2] ** 2)
        return 0.5 * kinetic - mass * self.gravity * jnp.sum(q[:, 1])

    def _corners(self, q):
        """(wedges, 4, 2)."""
        corners, bodies = self._wedge()[0], q.reshape(-1, 3)
        cosine, sine = jnp.cos(bodies[:, 2:]), jnp.sin(bodies[:, 2:])
        x, y = corners[:, 0], corners[:, 1]
        return bodies[:, None, :2] + jnp.stack([x * cosine - y * sine, x * sine + y * cosine], axis=2)

    def _faces(self, q):
        """For every contact, two at each of the joints from left to right: the arms of the corner from the centre of
        its own wedge and from that of the wedge whose face it meets, the normal of that face, the distance from it."""
        corners, centres, count = self._corners(q), q.reshape(-1, 3)[:, :2], self.wedges
        points = jnp.concatenate([corners[:1, np.array([0, 3])], corners[:, np.array([1, 2])]])
        ground, up = jnp.zeros((1, 2)), jnp.array([[0.0, 1.0]])
        outwards = corners[1:, 3] - corners[1:, 0]
        outwards = outwards / jnp.sqrt(jnp.sum(outwards**2, axis=1, keepdims=True))
        normals = jnp.concatenate([up, jnp.stack([-outwards[:, 1], outwards[:, 0]], axis=1), up])
        places = jnp.concatenate([ground, corners[1:, 0], ground])
        distance = jnp.sum((points - places[:, None]) * normals[:, None], axis=2)
        own = points - centres[np.concatenate([[0], np.arange(count)])][:, None]
        other = points - jnp.concatenate([ground, centres[1:], ground])[:, None]
        return own, other, jnp.broadcast_to(normals[:, None], points.shape), distance

    def gap(self, t, q):
        return jnp.ravel(self._faces(q)[3])

    def tangent(self, t, q):
        own, other, normals, _ = self._faces(q)
        count = self.wedges
        first = np.concatenate([np.eye(count)[:1], np.eye(count)])[:, None, :, None]
        second = np.eye(count + 1, count)[:, None, :, None] * (np.arange(count + 1) % count > 0)[:, None, None, None]
        rows = first * generalised(normals, own)[:, :, None] - second * generalised(normals, other)[:, :, None]
        return rows.reshape(2 * (count + 1), 3 * count)

    @property
    def bars(self):  # pyright: ignore[reportIncompatibleVariableOverride]
        return tuple((4 * wedge + a, 4 * wedge + b) for wedge in range(self.wedges) for a, b in SIDES)

    @property
    def faces(self):  # pyright: ignore[reportIncompatibleVariableOverride]
        return tuple(tuple(range(4 * wedge, 4 * wedge + 4)) for wedge in range(self.wedges))

    def outline(self, t, q):
        """The wedges."""
        return self.points(t, q)

    def points(self, t, q):
        return self._corners(q).reshape(-1, 2)

    def start(self) -> Start:
        """As it was built."""
        angles = np.pi * (0.5 - (np.arange(self.wedges) + 0.5) / self.wedges)
        _, away, _, _ = self._wedge()
        q0 = jnp.stack([-away * np.sin(angles), away * np.cos(angles), angles], axis=1)
        return Start(jnp.ravel(q0), jnp.zeros(3 * self.wedges), 0.5, 0.005)
