"""Bodies that roll without slipping and may turn in any direction: holonomic and nonholonomic constraints together.

Their orientation is a quaternion e, four coordinates with |e|^2 = 1; see `rotation.py`.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from ..problem import System
from .outlines import CIRCLE, DISC, RING, ROUND
from .ready import Ready, Start, given_or_default
from .rotation import lagrangian_of_round_body, quaternion_rate, spatial_rate, third_axis


class BallOnTurntable(Ready, System):
    """A ball that rolls on a level table which turns with the rate W, q = (x, y, e0, e1, e2, e3).

        L = m/2 (x'^2 + y'^2) + 2 J |e'|^2,      g = (|e|^2 - 1) / 2
        k = (x' - R w_y + W y, y' + R w_x - W x),      w = 2 Im(e' e*)

    2 J |e'|^2 is J/2 |w|^2. The constraints are affine in the velocity: the table does work, the energy is not
    constant. The centre moves uniformly in a circle, with the rate W J / (J + m R^2), 2/7 W for a homogeneous ball
    (Earnshaw 1844; Neimark and Fufaev, Dynamics of Nonholonomic Systems, chapter III).
    Invariants: the spin w_z, and the moving energy m/2 |r'|^2 + J/2 |w|^2 - W (m (x y' - y x') + J w_z).
    """

    mass: float = 1.0
    radius: float = 1.0
    inertia: float = 0.4
    turn: float = 2.0
    bars = ((0, 1),)
    faces = (*RING, (0, ROUND // 2))

    def lagrangian(self, t, q, v):
        return 0.5 * self.mass * (v[0] ** 2 + v[1] ** 2) + 2 * self.inertia * (v[2:] @ v[2:])

    def holonomic(self, t, q):
        return 0.5 * (q[2:] @ q[2:] - 1.0)

    def nonholonomic(self, t, q, v):
        w = spatial_rate(q[2:], v[2:])
        return jnp.stack([v[0] - self.radius * w[1] + self.turn * q[1], v[1] + self.radius * w[0] - self.turn * q[0]])

    def points(self, t, q):
        """The centre, and a point of the ball."""
        centre = jnp.stack([q[0], q[1], jnp.asarray(self.radius, q.dtype)])
        return jnp.stack([centre, centre + self.radius * third_axis(q[2:])])

    @property
    def ball_radii(self):  # pyright: ignore[reportIncompatibleVariableOverride]
        return np.array([1.0, 0.08]) * self.radius

    def outline(self, t, q):
        """The rim of the table, which turns, and a diameter of it."""
        cosine, sine = jnp.cos(self.turn * t), jnp.sin(self.turn * t)
        rim = 3.0 * jnp.array(CIRCLE) @ jnp.array([[cosine, sine], [-sine, cosine]])
        return jnp.concatenate([rim, jnp.zeros((ROUND, 1))], axis=1)

    def invariants(self, t, q, p):
        w = spatial_rate(q[2:], p[2:] / (4 * self.inertia))
        kinetic = 0.5 * (p[0] ** 2 + p[1] ** 2) / self.mass + 0.5 * self.inertia * (w @ w)
        moment = q[0] * p[1] - q[1] * p[0] + self.inertia * w[2]
        return {"moving_energy": kinetic - self.turn * moment, "spin": w[2]}

    def start(self) -> Start:
        place, velocity = jnp.array([1.0, 0.0]), jnp.array([0.0, 0.5])
        e0 = jnp.array([1.0, 0.0, 0.0, 0.0])
        w = jnp.stack(
            [
                (self.turn * place[0] - velocity[1]) / self.radius,
                (velocity[0] + self.turn * place[1]) / self.radius,
                jnp.asarray(0.3, jnp.float64),
            ]
        )
        return Start(jnp.concatenate([place, e0]), jnp.concatenate([velocity, quaternion_rate(e0, w)]), 20.0, 0.02)

    def centre(self, t, q0=None, v0=None):
        """The exact place of the centre at the times t, from (q0, v0) at t = 0: (..., 2)."""
        q0, v0 = (np.asarray(x) for x in given_or_default(self, q0, v0))
        mass, radius, inertia = float(self.mass), float(self.radius), float(self.inertia)
        rate = float(self.turn) * inertia / (inertia + mass * radius**2)
        angle = rate * np.asarray(t, dtype=np.float64)
        sine, versine = np.sin(angle) / rate, (1 - np.cos(angle)) / rate
        x = q0[0] + sine * v0[0] - versine * v0[1]
        y = q0[1] + versine * v0[0] + sine * v0[1]
        return np.stack([x, y], axis=-1)


class RollingDisc(Ready, System):
    """A thin disc that rolls and leans over on a level plane, q = (x, y, z, e0, e1, e2, e3).

    a is the axis of the disc, A its moment of inertia about a diameter, C about the axis, w its angular velocity, w_3
    the component along a::

        L = m/2 |r'|^2 + 2 A |e'|^2 + (C - A)/2 w_3^2 - m g z
        g = ((|e|^2 - 1) / 2, (z^2 - R^2 (1 - a_z^2)) / 2)
        k = the horizontal part of r' + w × d,      d = R^2 / z (a_z a - e_z)

    2 A |e'|^2 is A/2 |w|^2 and makes the mass matrix regular; d leads from the centre to the lowest point of the rim,
    where z = R sqrt(1 - a_z^2). Two holonomic and two nonholonomic constraints on seven coordinates (Neimark and
    Fufaev, Dynamics of Nonholonomic Systems, chapter II; Appell 1900, Korteweg 1900).
    """

    mass: float = 1.0
    radius: float = 1.0
    diameter_inertia: float = 0.25
    axis_inertia: float = 0.5
    gravity: float = 9.81
    bars = ((0, 1), (1, 2))
    faces = (*DISC, (0, ROUND))

    def lagrangian(self, t, q, v):
        return lagrangian_of_round_body(self, q, v)

    def holonomic(self, t, q):
        e, lean = q[3:], third_axis(q[3:])[2]
        return 0.5 * jnp.stack([e @ e - 1.0, q[2] ** 2 - self.radius**2 * (1 - lean**2)])

    def nonholonomic(self, t, q, v):
        return (v[:3] + jnp.cross(spatial_rate(q[3:], v[3:]), self.contact(q)))[:2]

    def contact(self, q):
        """From the centre to the point of contact."""
        axis = third_axis(q[3:])
        return self.radius**2 / q[2] * (axis[2] * axis - jnp.array([0.0, 0.0, 1.0]))

    def points(self, t, q):
        """The point of contact, the centre, and a point of the rim."""
        centre, e = q[:3], q[3:]
        turned = jnp.stack(
            [e[0] ** 2 + e[1] ** 2 - e[2] ** 2 - e[3] ** 2, 2 * (e[1] * e[2] + e[0] * e[3]),
             2 * (e[1] * e[3] - e[0] * e[2])]
        )  # fmt: skip
        return jnp.stack([centre + self.contact(q), centre, centre + self.radius * turned])

    def outline(self, t, q):
        """The disc, and a radius of it that shows how it turns."""
        _, centre, mark = self.points(t, q)
        across = jnp.cross(third_axis(q[3:]), mark - centre)
        rim = centre + jnp.array(CIRCLE) @ jnp.stack([mark - centre, across])
        return jnp.concatenate([rim, centre[None]])

    def rolling(self, lean, w) -> tuple:
        """(q, v) over the origin with the axis at the angle `lean` to the vertical, w the angular velocity in space."""
        e = jnp.stack([jnp.cos(lean / 2), jnp.sin(lean / 2), 0 * lean, 0 * lean])
        q = jnp.concatenate([jnp.stack([0 * lean, 0 * lean, self.radius * jnp.sin(lean)]), e])
        return q, jnp.concatenate([-jnp.cross(w, self.contact(q)), quaternion_rate(e, w)])

    def steady_spin(self, lean, precession):
        """The component w_3 with which the disc runs in a circle at a constant lean.

        A W^2 cos(lean) sin(lean) = (C + m R^2) W w_3 sin(lean) + m g R cos(lean),   W the precession
        """
        turning = self.diameter_inertia * precession**2 * jnp.sin(lean) * jnp.cos(lean)
        weight = self.mass * self.gravity * self.radius * jnp.cos(lean)
        return (turning - weight) / ((self.axis_inertia + self.mass * self.radius**2) * precession * jnp.sin(lean))

    def start(self) -> Start:
        """Leaning by a quarter of a right angle, turning a little faster than in steady motion."""
        lean = jnp.asarray(3 * jnp.pi / 8, jnp.float64)
        axis, upward = jnp.stack([0 * lean, -jnp.sin(lean), jnp.cos(lean)]), jnp.array([0.0, 0.0, 1.0])
        precession = 1.5
        along = 1.2 * self.steady_spin(lean, precession)
        w = precession * upward + (along - precession * jnp.cos(lean)) * axis
        q0, v0 = self.rolling(lean, w)
        return Start(q0, v0, 10.0, 0.01)
