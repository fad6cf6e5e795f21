"""Bodies in the plane on one sharp edge, which glides along itself but not across."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from ..problem import State, System
from .ready import Ready, Start, exact_state, given_or_default
from .rotation import integral

#: Half the length of the edge in pictures.
HALF_EDGE = 0.1


def _edge(q):
    """Both ends of the edge at (x, y) in the direction theta."""
    along = HALF_EDGE * jnp.array([jnp.cos(q[2]), jnp.sin(q[2])])
    place = jnp.array([q[0], q[1]])
    return jnp.stack([place - along, place + along])


class Skate(Ready, System):
    """A skate on an inclined plane, q = (x, y, theta), x down the slope.

        L = m/2 (x'^2 + y'^2) + I/2 theta'^2 + m g sin(beta) x,      k = cos(theta) y' - sin(theta) x'

    With a = g sin(beta), u the speed along the edge and w = theta'::

        theta = theta0 + w t,   u = u0 + a/w (sin(theta) - sin(theta0)) = c + a/w sin(theta)
        x = x0 + [c sin(theta) + a/2w sin^2(theta)] / w      (between theta0 and theta)
        y = y0 + [-c cos(theta) + a/w (theta/2 - sin(2 theta)/4)] / w
        psi = -m (a sin(theta) + w u)

    It does not slide down: it drifts along the level line (Bloch, Nonholonomic Mechanics and Control, 1.6; Arnold,
    Kozlov, Neishtadt, Dynamical Systems III, 1.2.5). From the default start x = sin^2(t)/2, y = t/2 - sin(2t)/4,
    theta = t.
    """

    mass: float = 1.0
    inertia: float = 1.0
    gravity: float = 1.0
    slope: float = float(np.pi / 2)
    bars = ((0, 1),)

    def lagrangian(self, t, q, v):
        kinetic = 0.5 * self.mass * (v[0] ** 2 + v[1] ** 2) + 0.5 * self.inertia * v[2] ** 2
        return kinetic + self.mass * self.gravity * jnp.sin(self.slope) * q[0]

    def nonholonomic(self, t, q, v):
        return jnp.cos(q[2]) * v[1] - jnp.sin(q[2]) * v[0]

    def points(self, t, q):
        """Both ends of the edge."""
        return _edge(q)

    def start(self) -> Start:
        return Start(jnp.zeros(3), jnp.array([0.0, 0.0, 1.0]), 20.0, 0.02)

    def exact(self, t, q0=None, v0=None) -> State:
        q0, v0 = (np.asarray(x) for x in given_or_default(self, q0, v0))
        mass, inertia = float(self.mass), float(self.inertia)
        a = float(self.gravity) * np.sin(float(self.slope))
        t = np.asarray(t, dtype=np.float64)
        first, w = q0[2], v0[2]
        u0 = np.cos(first) * v0[0] + np.sin(first) * v0[1]
        theta = first + w * t
        if w == 0.0:
            rate = a * np.cos(first)
            u, way = u0 + rate * t, u0 * t + 0.5 * rate * t**2
            x, y = way * np.cos(first), way * np.sin(first)
        else:
            c = u0 - a / w * np.sin(first)
            u = c + a / w * np.sin(theta)

            def primitives(angle):
                down = c * np.sin(angle) + a / (2 * w) * np.sin(angle) ** 2
                across = -c * np.cos(angle) + a / w * (angle / 2 - np.sin(2 * angle) / 4)
                return np.stack([down, across]) / w

            x, y = (primitives(theta).T - primitives(first)).T
        q = np.stack([q0[0] + x, q0[1] + y, theta], axis=-1)
        v = np.stack([u * np.cos(theta), u * np.sin(theta), w + 0 * t], axis=-1)
        psi = -mass * (a * np.sin(theta) + w * u)
        return exact_state(q, np.array([mass, mass, inertia]) * v, v, psi=psi[..., None])


class ChaplyginSleigh(Ready, System):
    """A rigid body in the level plane on two smooth legs and an edge at (x, y) in the direction theta.

    The centre of mass lies at the distance a > 0 before the edge, (x, y) + a (cos(theta), sin(theta))::

        L = m/2 |centre'|^2 + I/2 theta'^2,      k = cos(theta) y' - sin(theta) x'

    With J = I + m a^2, u the speed along the edge, w = theta' (Chaplygin 1911; Bloch, Nonholonomic Mechanics and
    Control, 1.7)::

        u' = a w^2,   J w' = -m a u w,        c^2 = u^2 + J/m w^2,   s = m a c t / J + s0
        u = c tanh(s),   w = +-c sqrt(m/J) / cosh(s),   theta = +-sqrt(J/m) / a gd(s) + const
        psi = -m (u w + a w')

    gd(s) = 2 atan(tanh(s/2)); x and y follow by quadrature. The energy is constant, and yet every motion but the
    straight ones turns round until the mass is in front: no volume of the phase space is preserved.
    """

    mass: float = 1.0
    inertia: float = 1.0
    distance: float = 0.8
    bars = ((0, 1), (1, 2))

    def lagrangian(self, t, q, v):
        cosine, sine = jnp.cos(q[2]), jnp.sin(q[2])
        x, y = v[0] - self.distance * sine * v[2], v[1] + self.distance * cosine * v[2]
        return 0.5 * self.mass * (x**2 + y**2) + 0.5 * self.inertia * v[2] ** 2

    def nonholonomic(self, t, q, v):
        return jnp.cos(q[2]) * v[1] - jnp.sin(q[2]) * v[0]

    def points(self, t, q):
        """Both ends of the edge, and the centre of mass."""
        ahead = self.distance * jnp.array([jnp.cos(q[2]), jnp.sin(q[2])])
        return jnp.concatenate([_edge(q), (jnp.array([q[0], q[1]]) + ahead)[None]])

    def start(self) -> Start:
        """Backwards, with a small turn: it stops, turns round and runs off with the mass in front."""
        return Start(jnp.zeros(3), jnp.array([-1.0, 0.0, 0.7]), 10.0, 0.01)

    def exact(self, t, q0=None, v0=None) -> State:
        q0, v0 = (np.asarray(x) for x in given_or_default(self, q0, v0))
        mass, inertia, a = float(self.mass), float(self.inertia), float(self.distance)
        t = np.asarray(t, dtype=np.float64)
        turning = inertia + mass * a**2
        first, w0 = q0[2], v0[2]
        u0 = np.cos(first) * v0[0] + np.sin(first) * v0[1]
        c = np.sqrt(u0**2 + turning / mass * w0**2)
        ratio = np.sqrt(turning / mass)
        sign, s0 = np.sign(w0), np.arcsinh(u0 / (ratio * abs(w0))) if w0 else 0.0
        rate = mass * a * c / turning

        def reduced(t):
            if w0 == 0.0:
                return u0 + 0 * t, 0 * t, first + 0 * t
            s = rate * t + s0
            turned = 2 * np.arctan(np.tanh(s / 2)) - 2 * np.arctan(np.tanh(s0 / 2))
            return c * np.tanh(s), sign * c / ratio / np.cosh(s), first + sign * ratio / a * turned

        def velocity(t):
            u, _, theta = reduced(t)
            return np.stack([u * np.cos(theta), u * np.sin(theta)], axis=-1)

        u, w, theta = reduced(t)
        place = q0[:2] + integral(velocity, t, rate + c / ratio)
        q = np.concatenate([place, theta[..., None]], axis=-1)
        v = np.concatenate([velocity(t), w[..., None]], axis=-1)
        across = np.stack([-np.sin(theta), np.cos(theta)], axis=-1)
        p = np.concatenate([mass * (v[..., :2] + a * w[..., None] * across), turning * w[..., None]], axis=-1)
        psi = -mass * (u * w - mass * a**2 / turning * u * w)
        return exact_state(q, p, v, psi=psi[..., None])
