"""Contacts by automatic differentiation: distances, relative velocities and the forces that impulses exert.

Contact i has the distance g_i(t, q) >= 0 and the relative velocity::

    U_N = g_q v + g_t,        U_T = T(t, q) v        (T: rows of the friction directions, one or two a contact)

An impulse (P_N, P_T) changes the momentum by g_q^T P_N + T^T P_T. Impulses and relative velocities are arrays of shape
(contacts, d), d = 1 without friction directions, 2 in the plane, 3 in space; the normal part comes first. They are
conjugate, U_N P_N + U_T . P_T, in whatever units the gap and the rows are; what that means for friction is in
`contact_units.py`.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp

from ..problem import AbstractSystem, contact_data


class Contact(eqx.Module):
    """The contacts of a system; without `gap` there are none."""

    system: AbstractSystem

    @property
    def present(self) -> bool:
        return self.system.provides("gap")

    def gap(self, t, q):
        """Distances, shape (contacts,)."""
        return jnp.atleast_1d(self.system.gap(t, q)) if self.present else jnp.zeros((0,))

    def count(self, t, q) -> int:
        """The number of contacts."""
        return jax.eval_shape(self.gap, t, q).shape[0]

    @property
    def rough(self) -> bool:
        """Whether the contacts have friction directions."""
        return self.present and self.system.provides("tangent")

    def tangents(self, t, q):
        """Friction directions, shape (contacts, d - 1, n)."""
        if not self.rough:
            return jnp.zeros((self.count(t, q), 0, q.shape[0]))
        rows = self.system.tangent(t, q)
        return rows[:, None, :] if rows.ndim == 2 else rows

    def velocity(self, t, q, v):
        """(U_N, U_T), shape (contacts, d)."""
        if not self.present:
            return jnp.zeros((0, 1))
        normal = jax.jvp(self.gap, (t, q), (jnp.ones_like(t), v))[1]
        return jnp.concatenate([normal[:, None], self.tangents(t, q) @ v], axis=1)

    def force(self, t, q, impulse):
        """g_q^T P_N + T^T P_T of impulses of shape (contacts, d)."""
        if not self.present:
            return jnp.zeros_like(q)
        (total,) = jax.vjp(lambda q: self.gap(t, q), q)[1](impulse[:, 0])
        return total + jnp.einsum("cin,ci->n", self.tangents(t, q), impulse[:, 1:]) if self.rough else total

    def directions(self, t, q):
        """All directions as rows, shape (contacts, d, n)."""
        normals = jax.jacfwd(lambda q: self.gap(t, q))(q)
        return jnp.concatenate([normals[:, None, :], self.tangents(t, q)], axis=1)

    def restitution(self, contacts: int):
        """One value a contact."""
        return contact_data(self.system, "restitution", contacts)

    def friction(self, contacts: int):
        """One value a contact; zero where there are no friction directions."""
        return contact_data(self.system, "friction", contacts)
