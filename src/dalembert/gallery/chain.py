"""Point masses on rigid links in space: the double pendulum, and a chain of any number of links."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp

from ..errors import InputError
from ..problem import System
from .ready import Ready, Start


class DoublePendulum(Ready, System):
    """Two point masses on two rigid links in space, hung from the origin: q = (q1, q2), z upward.

        L = m1/2 |v1|^2 + m2/2 |v2|^2 - g (m1 z1 + m2 z2)
        g = ((|q1|^2 - l1^2) / 2, (|q2 - q1|^2 - l2^2) / 2)

    Invariant: the vertical angular momentum. The motion is chaotic.
    """

    length1: float = 1.0
    length2: float = 1.0
    mass1: float = 1.0
    mass2: float = 1.0
    gravity: float = 9.81
    bars = "chain"

    def points(self, t, q):
        return q.reshape(2, 3)

    def lagrangian(self, t, q, v):
        kinetic = 0.5 * (self.mass1 * (v[:3] @ v[:3]) + self.mass2 * (v[3:] @ v[3:]))
        return kinetic - self.gravity * (self.mass1 * q[2] + self.mass2 * q[5])

    def holonomic(self, t, q):
        first, second = q[:3], q[3:] - q[:3]
        return 0.5 * jnp.array([first @ first - self.length1**2, second @ second - self.length2**2])

    def invariants(self, t, q, p):
        return {"angular_momentum_z": q[0] * p[1] - q[1] * p[0] + q[3] * p[4] - q[4] * p[3]}

    def start(self) -> Start:
        """The first link level and moving aside, the second one hanging askew and swinging the other way."""
        first = self.length1 * jnp.array([1.0, 0.0, 0.0])
        second = self.length2 * jnp.array([0.0, 0.6, -0.8])
        v1 = jnp.array([0.0, 1.0, 0.0])
        v2 = v1 + jnp.array([-1.0, 0.0, 0.0])
        return Start(jnp.concatenate([first, first + second]), jnp.concatenate([v1, v2]), 10.0, 0.01)


class Chain(Ready, System):
    """`links` point masses on as many rigid links in space; the first link is hung from the origin, z upward.

    With r_0 = 0 and r_i = (q[3i-3], q[3i-2], q[3i-1])::

        L = m/2 |v|^2 - m g (z_1 + ... + z_N),      g_i = (|r_i - r_(i-1)|^2 - l^2) / 2

    Invariant: the vertical angular momentum. `links` is structure; a change of it makes another problem.
    """

    links: int = eqx.field(static=True, default=5)
    length: float = 1.0
    mass: float = 1.0
    gravity: float = 9.81
    bars = "chain"

    def __check_init__(self):
        if not isinstance(self.links, int) or isinstance(self.links, bool) or self.links < 1:
            raise InputError(f"Chain expects links as a positive integer, got {self.links!r}.")

    def points(self, t, q):
        return q.reshape(self.links, 3)

    def lagrangian(self, t, q, v):
        return 0.5 * self.mass * (v @ v) - self.mass * self.gravity * jnp.sum(q[2::3])

    def holonomic(self, t, q):
        points = q.reshape(self.links, 3)
        steps = points - jnp.concatenate([jnp.zeros((1, 3)), points[:-1]])
        return 0.5 * (jnp.sum(steps**2, axis=1) - self.length**2)

    def invariants(self, t, q, p):
        x, y, px, py = q[0::3], q[1::3], p[0::3], p[1::3]
        return {"angular_momentum_z": x @ py - y @ px}

    def start(self) -> Start:
        """Stretched out level along x, swept sideways and down as a rigid rod."""
        reach = jnp.arange(1, self.links + 1, dtype=jnp.float64) / self.links
        zero = jnp.zeros_like(reach)
        q0 = jnp.stack([self.length * self.links * reach, zero, zero], axis=1)
        v0 = jnp.stack([zero, reach, -0.5 * reach], axis=1)
        return Start(q0.ravel(), v0.ravel(), 5.0, 0.01)
