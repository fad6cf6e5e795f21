"""Bodies that spin on a rough floor, with friction in space: Euler's disc and the tippe top.

Their orientation is a quaternion e with |e|^2 = 1; see `rotation.py`. a is the axis of the body, A its moment of
inertia about a diameter, C about the axis, w the angular velocity, w_3 its component along a, and d leads from the
centre of mass to the point of contact, whose velocity is v + w x d.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from ..problem import System
from .outlines import CIRCLE, DISC
from .ready import Ready, Start
from .rotation import conjugate, lagrangian_of_round_body, product, quaternion_rate, spatial_rate, third_axis

#: Upwards.
UP = np.array([0.0, 0.0, 1.0])


class Spinning(Ready, System):
    """A body of revolution on a floor, q = (x, y, z, e0, e1, e2, e3)."""

    mass: float = 1.0
    radius: float = 1.0
    diameter_inertia: float = 0.25
    axis_inertia: float = 0.5
    gravity: float = 9.81
    friction: float = 0.3
    restitution = 0.0
    bars = ((0, 1), (1, 2))

    def lagrangian(self, t, q, v):
        return lagrangian_of_round_body(self, q, v)

    def holonomic(self, t, q):
        return 0.5 * (q[3:] @ q[3:] - 1.0)

    def contact(self, q):
        """d."""
        raise NotImplementedError

    def gap(self, t, q):
        return (q[2] + self.contact(q)[2])[None]

    def tangent(self, t, q):
        """The horizontal part of v + w x d, which is linear in the velocity."""
        d = self.contact(q)
        return jax.jacfwd(lambda v: (v[:3] + jnp.cross(spatial_rate(q[3:], v[3:]), d))[:2])(jnp.zeros_like(q))[None]

    def spin(self, q, p):
        """The angular momentum about the centre of mass, in space: half the vector part of p_e e*."""
        return 0.5 * product(p[3:], conjugate(q[3:]))[1:]

    def points(self, t, q):
        """The point of contact, the centre of mass, and a point on the axis."""
        return jnp.stack([q[:3] + self.contact(q), q[:3], q[:3] + self.radius * third_axis(q[3:])])


class EulerDisc(Spinning):
    """Euler's disc: a thin disc that wobbles on a rough floor, ever faster the flatter it lies.

        L = m/2 |v|^2 + 2 A |e'|^2 + (C - A)/2 w_3^2 - m g z,      gap = z - R sqrt(1 - a_z^2)

    With the centre at rest and w along the radius to the point of contact it rolls; at the angle alpha to the floor it
    wobbles with the rate W about the vertical, W^2 sin(alpha) = m g R / A, 4 g / R for a homogeneous disc (Moffatt,
    Euler's disk and its finite-time singularity, Nature 404, 2000). So it goes on: what ends it, drag and the rolling
    friction, is not in the model.
    """

    tilt: float = 0.3
    faces = DISC

    def outline(self, t, q):
        """The disc, from the point of contact on."""
        lowest = self.contact(q)
        return q[:3] + jnp.array(CIRCLE) @ jnp.stack([lowest, jnp.cross(third_axis(q[3:]), lowest)])

    def contact(self, q):
        a = third_axis(q[3:])
        flat = jnp.sqrt(a[0] ** 2 + a[1] ** 2)
        return self.radius * (a[2] * a - UP) / flat

    def wobble(self):
        """W at the tilt."""
        return jnp.sqrt(self.mass * self.gravity * self.radius / (self.diameter_inertia * jnp.sin(self.tilt)))

    def start(self) -> Start:
        """Wobbling at the tilt."""
        tilt = jnp.asarray(self.tilt, jnp.float64)
        e = jnp.stack([jnp.cos(tilt / 2), jnp.sin(tilt / 2), 0 * tilt, 0 * tilt])
        w = self.wobble() * (UP - jnp.cos(tilt) * third_axis(e))
        place = jnp.stack([0 * tilt, 0 * tilt, self.radius * jnp.sin(tilt)])
        return Start(jnp.concatenate([place, e]), jnp.concatenate([jnp.zeros(3), quaternion_rate(e, w)]), 1.0, 0.002)


class TippeTop(Spinning):
    """A ball whose centre of mass lies below its centre: spun fast, it turns over and rises, by friction alone.

        L = m/2 |v|^2 + 2 A |e'|^2 + (C - A)/2 w_3^2 - m g z,      gap = z + b R a_z - R

    b R is the distance of the centre of mass from that of the ball. Invariant, whatever the friction: Jellett's
    l . (e_z - b a), l the angular momentum about the centre of mass. So a rate n about the vertical becomes
    n (1 - b) / (1 + b) when the top has turned over. It does if 1 - b < A / C < 1 + b and n is large enough; with less
    it stays up, with more it stops on the way (Ueda, Sasaki and Watanabe, SIAM Journal on Applied Dynamical Systems 4,
    2005).
    """

    mass: float = 0.015
    radius: float = 0.025
    diameter_inertia: float = 3.75e-6
    axis_inertia: float = 3.75e-6
    friction: float = 0.1
    eccentricity: float = 0.2
    rate: float = 120.0

    def contact(self, q):
        return self.radius * (self.eccentricity * third_axis(q[3:]) - UP)

    def invariants(self, t, q, p):
        return {"jellett": self.spin(q, p) @ (UP - self.eccentricity * third_axis(q[3:]))}

    def rate_after(self) -> float:
        """The rate about the vertical when it has turned over."""
        b = float(self.eccentricity)
        return float(self.rate) * (1 - b) / (1 + b)

    def start(self) -> Start:
        """Spun about the vertical, with its axis tilted by a tenth."""
        tilt = jnp.asarray(0.1, jnp.float64)
        e = jnp.stack([jnp.cos(tilt / 2), jnp.sin(tilt / 2), 0 * tilt, 0 * tilt])
        a = third_axis(e)
        place = jnp.stack([0 * tilt, 0 * tilt, self.radius * (1 - self.eccentricity * a[2])])
        w = self.rate * jnp.asarray(UP)
        return Start(jnp.concatenate([place, e]), jnp.concatenate([jnp.zeros(3), quaternion_rate(e, w)]), 4.0, 0.0005)
