"""Upright wheels that roll without slipping: a disc, and a robot on three wheels."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from ..problem import State, System
from .elliptic import pendulum_swing
from .outlines import CIRCLE, DISC, ROUND
from .ready import Ready, Start, exact_state, given_or_default
from .rotation import integral


class VerticalRollingDisc(Ready, System):
    """An upright disc on a plane, q = (x, y, theta, phi): rolling angle theta, heading phi.

        L = m/2 (x'^2 + y'^2) + I/2 theta'^2 + J/2 phi'^2
        k = (x' - R cos(phi) theta', y' - R sin(phi) theta')

    theta' and phi' are constant; the disc runs straight, or in a circle of radius R theta' / phi'::

        psi = m R theta' phi' (sin(phi), -cos(phi))

    (Bloch, Nonholonomic Mechanics and Control, 1.4.)
    """

    radius: float = 1.0
    mass: float = 1.0
    inertia: float = 0.5
    turning_inertia: float = 0.25
    bars = ((0, 1),)
    faces = (*DISC, (0, ROUND))

    def lagrangian(self, t, q, v):
        kinetic = self.mass * (v[0] ** 2 + v[1] ** 2) + self.inertia * v[2] ** 2 + self.turning_inertia * v[3] ** 2
        return 0.5 * kinetic

    def nonholonomic(self, t, q, v):
        way = self.radius * v[2]
        return jnp.stack([v[0] - way * jnp.cos(q[3]), v[1] - way * jnp.sin(q[3])])

    def points(self, t, q):
        """The centre of the disc and a point on its rim, in space."""
        place = jnp.stack([q[0], q[1], jnp.asarray(self.radius, q.dtype)])
        forward = -jnp.sin(q[2])
        mark = jnp.stack([forward * jnp.cos(q[3]), forward * jnp.sin(q[3]), -jnp.cos(q[2])])
        return jnp.stack([place, place + self.radius * mark])

    def outline(self, t, q):
        """The disc, and a radius of it that shows how it turns."""
        centre, mark = self.points(t, q)
        forward = mark - centre
        side = jnp.stack([-jnp.sin(q[3]), jnp.cos(q[3]), 0.0 * q[3]])
        rim = centre + jnp.array(CIRCLE) @ jnp.stack([forward, jnp.cross(side, forward)])
        return jnp.concatenate([rim, centre[None]])

    def start(self) -> Start:
        """A circle of radius 2 R."""
        return Start(jnp.zeros(4), jnp.array([self.radius, 0.0, 1.0, 0.5]), 20.0, 0.02)

    def exact(self, t, q0=None, v0=None) -> State:
        q0, v0 = (np.asarray(x) for x in given_or_default(self, q0, v0))
        radius, mass, inertia = float(self.radius), float(self.mass), float(self.inertia)
        t = np.asarray(t, dtype=np.float64)
        roll, turn = v0[2], v0[3]
        phi = q0[3] + turn * t
        middle = q0[3] + turn * t / 2
        chord = radius * roll * t * np.sinc(turn * t / 2 / np.pi)
        q = np.stack([q0[0] + chord * np.cos(middle), q0[1] + chord * np.sin(middle), q0[2] + roll * t, phi], axis=-1)
        cosine, sine = np.cos(phi), np.sin(phi)
        v = np.stack([radius * roll * cosine, radius * roll * sine, roll + 0 * t, turn + 0 * t], axis=-1)
        psi = mass * radius * roll * turn * np.stack([sine, -cosine], axis=-1)
        return exact_state(q, np.array([mass, mass, inertia, float(self.turning_inertia)]) * v, v, psi=psi)


class MobileRobot(Ready, System):
    """A robot on three parallel wheels that are steered together, q = (x, y, theta, alpha): heading, wheel angle.

        L = m/2 (x'^2 + y'^2) + I/2 theta'^2 + 3/2 I_w alpha'^2 - U sin(alpha)
        k = (x' - R cos(theta) alpha', y' - R sin(theta) alpha')

    (Cortes and Martinez, Nonlinearity 14 (2001) 1365, with U = 10.) The heading turns with a constant rate w, the
    wheels swing like a pendulum, (3 I_w + m R^2) alpha'' = -U cos(alpha), and x, y follow by quadrature::

        psi = -m R (cos(theta) alpha'' - w sin(theta) alpha', sin(theta) alpha'' + w cos(theta) alpha')

    `spin` is the rate of the heading at the start. With spin = 0 the constraints are constant, and so is the heading.
    """

    mass: float = 1.0
    inertia: float = 1.0
    wheel_inertia: float = 1.0
    radius: float = 1.0
    potential: float = 10.0
    spin: float = 1.0
    bars = ((0, 1),)

    def lagrangian(self, t, q, v):
        kinetic = self.mass * (v[0] ** 2 + v[1] ** 2) + self.inertia * v[2] ** 2 + 3 * self.wheel_inertia * v[3] ** 2
        return 0.5 * kinetic - self.potential * jnp.sin(q[3])

    def nonholonomic(self, t, q, v):
        way = self.radius * v[3]
        return jnp.stack([v[0] - way * jnp.cos(q[2]), v[1] - way * jnp.sin(q[2])])

    def points(self, t, q):
        """The robot, and where it heads."""
        place = jnp.stack([q[0], q[1]])
        return jnp.stack([place, place + 0.2 * jnp.stack([jnp.cos(q[2]), jnp.sin(q[2])])])

    def start(self) -> Start:
        v0 = jnp.stack([1.0 * self.radius, 0.0, 1.0 * self.spin, 1.0])
        return Start(jnp.zeros(4), v0, 20.0, 0.02)

    def exact(self, t, q0=None, v0=None) -> State:
        q0, v0 = (np.asarray(x) for x in given_or_default(self, q0, v0))
        mass, radius, wheels = float(self.mass), float(self.radius), 3 * float(self.wheel_inertia)
        t = np.asarray(t, dtype=np.float64)
        turn, omega = v0[2], np.sqrt(float(self.potential) / (wheels + mass * radius**2))

        def rates(t):
            """x', y', alpha'."""
            theta, rate = q0[2] + turn * t, pendulum_swing(t, q0[3] + np.pi / 2, v0[3], omega).rate
            return np.stack([radius * np.cos(theta) * rate, radius * np.sin(theta) * rate, rate], axis=-1)

        theta, swing = q0[2] + turn * t, pendulum_swing(t, q0[3] + np.pi / 2, v0[3], omega)
        (x, y, angle), (vx, vy, rate) = (
            np.moveaxis(integral(rates, t, omega + abs(turn) + abs(v0[3])), -1, 0),
            np.moveaxis(rates(t), -1, 0),
        )
        q = np.stack([q0[0] + x, q0[1] + y, theta, q0[3] + angle], axis=-1)
        v = np.stack([vx, vy, turn + 0 * t, rate], axis=-1)
        rise = -(omega**2) * swing.sine
        cosine, sine = np.cos(theta), np.sin(theta)
        pull = np.stack([cosine * rise - turn * sine * rate, sine * rise + turn * cosine * rate], axis=-1)
        p = np.array([mass, mass, float(self.inertia), wheels]) * v
        return exact_state(q, p, v, psi=-mass * radius * pull)
