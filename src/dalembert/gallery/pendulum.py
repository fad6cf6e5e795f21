"""The planar pendulum, in Cartesian and in polar coordinates, and with damping and a drive."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from ..problem import State, System
from .elliptic import pendulum_swing
from .ready import Ready, Start, exact_state, given_or_default


class Pendulum(Ready, System):
    """A point mass on a rigid rod in a vertical plane, in Cartesian coordinates q = (x, y) about the pivot.

        L = m/2 |v|^2 - m g y,      g = (|q|^2 - l^2) / 2,      lam = m (|v|^2 - g y) / l^2

    With q = l (sin theta, -cos theta) it obeys theta'' = -(g/l) sin(theta), solved in `elliptic.py`.
    The default start is theta = 1 with unit speed.
    """

    length: float = 1.0
    gravity: float = 9.81
    mass: float = 1.0
    bars = ((None, 0),)

    def lagrangian(self, t, q, v):
        return 0.5 * self.mass * (v @ v) - self.mass * self.gravity * q[1]

    def holonomic(self, t, q):
        return 0.5 * (q @ q - self.length**2)

    def start(self) -> Start:
        outward = jnp.array([jnp.sin(1.0), -jnp.cos(1.0)])
        return Start(self.length * outward, jnp.array([jnp.cos(1.0), jnp.sin(1.0)]), 10.0, 0.01)

    def exact(self, t, q0=None, v0=None) -> State:
        q0, v0 = (np.asarray(x) for x in given_or_default(self, q0, v0))
        length, gravity, mass = float(self.length), float(self.gravity), float(self.mass)
        rate = (q0[0] * v0[1] - q0[1] * v0[0]) / length**2
        swing = pendulum_swing(t, np.arctan2(q0[0], -q0[1]), rate, np.sqrt(gravity / length))
        q = length * np.stack([swing.sine, -swing.cosine], axis=-1)
        v = length * swing.rate[..., None] * np.stack([swing.cosine, swing.sine], axis=-1)
        lam = mass * (swing.rate**2 + gravity / length * swing.cosine)
        return exact_state(q, mass * v, v, lam[..., None])


class DrivenPendulum(Ready, System):
    """The pendulum with linear damping and a periodic horizontal force: a force that depends on t and v.

        d/dt (m v) = -m g e_y - c v + A cos(w t) e_x - q lam

    In the angle: m l theta'' = -m g sin(theta) - c l theta' + A cos(w t) cos(theta), without closed form.
    """

    length: float = 1.0
    gravity: float = 9.81
    mass: float = 1.0
    damping: float = 0.5
    amplitude: float = 3.0
    frequency: float = 2.0
    bars = ((None, 0),)

    def lagrangian(self, t, q, v):
        return 0.5 * self.mass * (v @ v) - self.mass * self.gravity * q[1]

    def force(self, t, q, v):
        push = self.amplitude * jnp.cos(self.frequency * t)
        return jnp.array([push, 0.0]) - self.damping * v

    def holonomic(self, t, q):
        return 0.5 * (q @ q - self.length**2)

    def start(self) -> Start:
        outward = jnp.array([jnp.sin(1.0), -jnp.cos(1.0)])
        return Start(self.length * outward, jnp.array([jnp.cos(1.0), jnp.sin(1.0)]), 10.0, 0.01)


class PolarPendulum(Ready, System):
    """The pendulum in polar coordinates q = (r, phi) off its pivot: the mass matrix depends on q.

        L = m/2 (r'^2 + r^2 phi'^2) - m g r sin(phi),      g = (r^2 - 2 a r cos(phi) + a^2 - l^2) / 2

    The pivot lies at (x, y) = (a, 0) with a > l, so that r never vanishes. The motion is that of `Pendulum`:
    the same closed form, and the same multiplier, because g is the same function of the point.
    """

    length: float = 1.0
    gravity: float = 9.81
    mass: float = 1.0
    offset: float = 1.5
    bars = ((0, 1),)

    def lagrangian(self, t, q, v):
        r, phi = q[0], q[1]
        kinetic = 0.5 * self.mass * (v[0] ** 2 + (r * v[1]) ** 2)
        return kinetic - self.mass * self.gravity * r * jnp.sin(phi)

    def holonomic(self, t, q):
        r, a = q[0], self.offset
        return 0.5 * (r**2 - 2 * a * r * jnp.cos(q[1]) + a**2 - self.length**2)

    def points(self, t, q):
        """The pivot and the mass."""
        return jnp.array([[self.offset, 0.0], [q[0] * jnp.cos(q[1]), q[0] * jnp.sin(q[1])]])

    def start(self) -> Start:
        """The start of `Pendulum`, in these coordinates."""
        start = self._cartesian().start()
        x, y = self.offset + start.q0[0], start.q0[1]
        r = jnp.hypot(x, y)
        radial = (x * start.v0[0] + y * start.v0[1]) / r
        angular = (x * start.v0[1] - y * start.v0[0]) / r**2
        return Start(jnp.array([r, jnp.arctan2(y, x)]), jnp.array([radial, angular]), start.t_end, start.h)

    def exact(self, t, q0=None, v0=None) -> State:
        (r, phi), (radial, angular) = (np.asarray(x) for x in given_or_default(self, q0, v0))
        offset, mass = float(self.offset), float(self.mass)
        outward, across = np.array([np.cos(phi), np.sin(phi)]), np.array([-np.sin(phi), np.cos(phi)])
        motion = self._cartesian().exact(t, r * outward - [offset, 0.0], radial * outward + r * angular * across)
        x, y = offset + motion.q[..., 0], motion.q[..., 1]
        r = np.hypot(x, y)
        q = np.stack([r, np.arctan2(y, x)], axis=-1)
        vx, vy = motion.v[..., 0], motion.v[..., 1]
        v = np.stack([(x * vx + y * vy) / r, (x * vy - y * vx) / r**2], axis=-1)
        p = mass * v * np.stack([np.ones_like(r), r**2], axis=-1)
        return exact_state(q, p, v, motion.lam)

    def _cartesian(self) -> Pendulum:
        return Pendulum(self.length, self.gravity, self.mass)
