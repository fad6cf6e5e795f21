"""Constraints at position, velocity and force level, by automatic differentiation.

Holonomic: g(t, q) = 0, g_q v + g_t = 0, force on the momentum -g_q^T lam.
Nonholonomic: k(t, q, v) = 0, force -k_v^T psi (Chetaev's rule where k is not linear in v).
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp

from ..problem import AbstractSystem


class Holonomic(eqx.Module):
    """The holonomic constraints of a system; `rows` keeps only some of them (redundant ones left out)."""

    system: AbstractSystem
    rows: tuple[int, ...] | None = eqx.field(static=True, default=None)

    def value(self, t, q):
        """g(t, q), shape (m,); empty if the system has none."""
        if not self.system.provides("holonomic"):
            return jnp.zeros((0,))
        g = jnp.atleast_1d(self.system.holonomic(t, q))
        return g if self.rows is None else jnp.concatenate([g[row : row + 1] for row in self.rows])

    def hidden(self, t, q, v):
        """g_q v + g_t, the time derivative of g along the motion."""
        if not self.system.provides("holonomic"):
            return jnp.zeros((0,))
        return jax.jvp(self.value, (t, q), (jnp.ones_like(t), v))[1]

    def force(self, t, q, lam):
        """g_q^T lam, to be subtracted from the rate of the momentum."""
        if not self.system.provides("holonomic"):
            return jnp.zeros_like(q)
        return jax.vjp(lambda q: self.value(t, q), q)[1](lam)[0]


class Nonholonomic(eqx.Module):
    """The nonholonomic constraints of a system."""

    system: AbstractSystem

    def value(self, t, q, v):
        """k(t, q, v), shape (k,); empty if the system has none."""
        if not self.system.provides("nonholonomic"):
            return jnp.zeros((0,))
        return jnp.atleast_1d(self.system.nonholonomic(t, q, v))

    def force(self, t, q, v, psi):
        """k_v^T psi, to be subtracted from the rate of the momentum."""
        if not self.system.provides("nonholonomic"):
            return jnp.zeros_like(q)
        return jax.vjp(lambda v: self.value(t, q, v), v)[1](psi)[0]
