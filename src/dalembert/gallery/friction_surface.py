"""Overdetermined systems whose reaction is nonlinear in the multiplier: a test problem, and friction on a surface."""

from __future__ import annotations

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from ..problem import OverdeterminedDAE, State
from .outlines import net, path
from .ready import Ready, Start

#: Corners of the curve, and of each side of the net, in pictures.
CURVE, NET = 41, 11


class Overdetermined(Ready, OverdeterminedDAE):
    """An overdetermined system with starting values of its own."""

    #: The end of the default run, and its step size.
    span: ClassVar[tuple[float, float]] = (1.0, 0.01)

    def start_values(self) -> tuple[np.ndarray, np.ndarray]:
        """y0 and z0 at t = 0."""
        raise NotImplementedError

    def start(self) -> Start:
        y0, z0 = (jnp.asarray(part) for part in self.start_values())
        return Start(y0, self.velocity(y0, z0), *self.span)


class NonlinearReaction(Overdetermined):
    """A mathematical test problem with a known solution (Jay, problem (4.1))::

        y1' = 2 z1,   y2' = -z2
        z1' = 2 y1 y2 z1 z2 - y1 z1 z2 + y2 z1 psi^2
        z2' = z1 - y1 z2^3 - sqrt(y1) z1 z2^2 psi
        0   = y1 y2^2 - 1,   0 = 2 y2 (z1 y2 - y1 z2)

    From y = z = (1, 1): y1 = z1 = e^{2t}, y2 = z2 = e^{-t}, psi = e^t. Several readings of the published equations
    share this solution; this is the one that was checked symbolically.
    """

    def velocity(self, y, z):
        return jnp.array([2 * z[0], -z[1]])

    def force(self, y, z):
        return jnp.array([2 * y[0] * y[1] * z[0] * z[1] - y[0] * z[0] * z[1], z[0] - y[0] * z[1] ** 3])

    def reaction(self, y, z, psi):
        return jnp.array([y[1] * z[0] * psi[0] ** 2, -jnp.sqrt(y[0]) * z[0] * z[1] ** 2 * psi[0]])

    def constraint(self, y):
        return y[0] * y[1] ** 2 - 1

    def start_values(self) -> tuple[np.ndarray, np.ndarray]:
        return np.ones(2), np.ones(2)

    def exact(self, t, q0=None, v0=None) -> State | None:
        """The solution from the default start at the times t, time first."""
        if q0 is not None or v0 is not None:
            return None
        t = np.asarray(t, dtype=np.float64)
        y = np.stack([np.exp(2 * t), np.exp(-t)], axis=-1)
        v = np.stack([2 * np.exp(2 * t), -np.exp(-t)], axis=-1)
        psi = np.exp(t)[..., None]
        return State(*(jnp.asarray(x) for x in (y, y, v, psi, np.zeros((*t.shape, 0)))))


class MassOnCubic(Overdetermined):
    """A mass that slides on the cubic y2 = b y1^3 with friction c |normal force|^r (Jay, problem (4.2))::

        m z' = (0, -m g) + (-3 b y1^2, 1) psi - c |N|^r z / |z|,      |N|^2 = (1 + 9 b^2 y1^4) psi^2
        0 = y2 - b y1^3

    psi = m (g + 6 b y1 z1^2) / (1 + 9 b^2 y1^4) whatever the friction; psi(0) = 1.7586 from the default start.
    """

    span: ClassVar[tuple[float, float]] = (2.0, 0.005)

    mass: float = 1.0
    gravity: float = 9.81
    cubic: float = 0.01
    friction_coefficient: float = 0.1
    friction_exponent: float = 0.85
    faces = path(CURVE)

    def velocity(self, y, z):
        return z

    def force(self, y, z):
        return jnp.array([0.0, -self.gravity])

    def reaction(self, y, z, psi):
        normal = jnp.array([-3 * self.cubic * y[0] ** 2, 1.0])
        size = ((normal @ normal) * psi[0] ** 2) ** (self.friction_exponent / 2)
        return (normal * psi[0] - self.friction_coefficient * size * z / jnp.sqrt(z @ z)) / self.mass

    def constraint(self, y):
        return y[1] - self.cubic * y[0] ** 3

    def outline(self, t, q):
        """The cubic."""
        x = jnp.linspace(-11.0, 11.0, CURVE)
        return jnp.stack([x, self.cubic * x**3], axis=1)

    def start_values(self) -> tuple[np.ndarray, np.ndarray]:
        y1, speed = 10.0, -3.6
        return np.array([y1, float(self.cubic) * y1**3]), np.array([speed, 3 * float(self.cubic) * y1**2 * speed])

    def multiplier(self, y, z):
        """psi as a function of the state."""
        slope = 3 * self.cubic * y[..., 0] ** 2
        return self.mass * (self.gravity + 6 * self.cubic * y[..., 0] * z[..., 0] ** 2) / (1 + slope**2)


class MassOnSurface(Overdetermined):
    """A mass that slides on the surface y3 = height(y1, y2) in space with friction c |normal force|^r.

    The default surface is a bowl with a ripple; derive a class and write `height` for another one.
    """

    span: ClassVar[tuple[float, float]] = (5.0, 0.01)

    mass: float = 1.0
    gravity: float = 9.81
    friction_coefficient: float = 0.1
    friction_exponent: float = 0.85
    faces = net(NET, NET)

    def height(self, x):
        """The surface over the horizontal plane."""
        return 0.25 * (x @ x) + 0.1 * jnp.sin(2 * x[0]) * jnp.cos(x[1])

    def velocity(self, y, z):
        return z

    def force(self, y, z):
        return jnp.array([0.0, 0.0, -self.gravity])

    def reaction(self, y, z, psi):
        normal = jax.grad(self._above)(y)
        size = ((normal @ normal) * psi[0] ** 2) ** (self.friction_exponent / 2)
        return (normal * psi[0] - self.friction_coefficient * size * z / jnp.sqrt(z @ z)) / self.mass

    def _above(self, y):
        return y[2] - self.height(y[:2])

    def constraint(self, y):
        return self._above(y)

    def outline(self, t, q):
        """The surface as a net."""
        side = jnp.linspace(-1.6, 1.6, NET)
        x = jnp.stack(jnp.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2)
        return jnp.concatenate([x, jax.vmap(self.height)(x)[:, None]], axis=1)

    def start_values(self) -> tuple[np.ndarray, np.ndarray]:
        x, speed = jnp.array([1.0, 0.5]), jnp.array([0.0, 2.0])
        height, climb = jax.jvp(self.height, (x,), (speed,))
        return np.array([*x, height]), np.array([*speed, climb])
