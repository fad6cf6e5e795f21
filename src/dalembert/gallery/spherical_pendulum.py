"""The spherical pendulum, from its Lagrangian and from its Hamiltonian."""

from __future__ import annotations

import jax.numpy as jnp

from ..problem import HamiltonianSystem, System
from .ready import Ready, Start


def _start(length) -> Start:
    q0 = length * jnp.array([jnp.sin(1.0), 0.0, -jnp.cos(1.0)])
    v0 = jnp.array([0.5 * jnp.cos(1.0), 1.5, 0.5 * jnp.sin(1.0)])
    return Start(q0, v0, 10.0, 0.01)


def _angular_momentum(q, p):
    return {"angular_momentum_z": q[0] * p[1] - q[1] * p[0]}


class SphericalPendulum(Ready, System):
    """A point mass on a rigid rod in space, q = (x, y, z), the pivot at the origin, z upward.

        L = m/2 |v|^2 - m g z,      g = (|q|^2 - l^2) / 2

    Invariant: the vertical angular momentum x p_y - y p_x.
    """

    length: float = 1.0
    gravity: float = 9.81
    mass: float = 1.0
    bars = ((None, 0),)

    def lagrangian(self, t, q, v):
        return 0.5 * self.mass * (v @ v) - self.mass * self.gravity * q[2]

    def holonomic(self, t, q):
        return 0.5 * (q @ q - self.length**2)

    def invariants(self, t, q, p):
        return _angular_momentum(q, p)

    def start(self) -> Start:
        return _start(self.length)


class HamiltonianSphericalPendulum(Ready, HamiltonianSystem):
    """The spherical pendulum given by H = |p|^2 / 2m + m g z: the same motion as `SphericalPendulum`."""

    length: float = 1.0
    gravity: float = 9.81
    mass: float = 1.0
    bars = ((None, 0),)

    def hamiltonian(self, t, q, p):
        return 0.5 * (p @ p) / self.mass + self.mass * self.gravity * q[2]

    def holonomic(self, t, q):
        return 0.5 * (q @ q - self.length**2)

    def invariants(self, t, q, p):
        return _angular_momentum(q, p)

    def start(self) -> Start:
        return _start(self.length)
