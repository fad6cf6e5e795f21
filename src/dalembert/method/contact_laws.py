"""Laws of contact as projections: what an impulse must be, given the relative velocity that it should produce.

A law is a cone K of admissible impulses and a velocity w that it must complement; with any r > 0 the law is

    P = proj(P - r w)

(Alart and Curnier 1991, doi:10.1016/0045-7825(91)90022-X). Newton's law of impact with Coulomb friction, for a contact
that is closed::

    w_N = U_N+ + rho U_N-,    0 <= w_N  _|_  P_N >= 0
    w_T = U_T+,               |P_T| <= mu P_N,    P_T = -mu P_N w_T / |w_T| where it slides

The projection of (a, b) is (max(a, 0), b scaled back to the length mu max(a, 0)): the disc of the current normal
impulse, not the cone, since Coulomb's law is not associated. mu is here the coefficient in the units of the rows,
`formulation.contact_friction`, which is the system's own where the gap is a length.
"""

from __future__ import annotations

import abc
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

#: A gap this much smaller than the positions is closed: roundoff must not let go what rests.
ROUNDOFF = 1e-11


class ContactLaw(eqx.Module):
    """How impulses answer velocities; arrays of shape (contacts, d), the normal part first."""

    @abc.abstractmethod
    def target(self, before, after, restitution) -> Any:
        """The velocity w that complements the impulse."""

    @abc.abstractmethod
    def projected(self, impulse, friction) -> Any:
        """The nearest admissible impulse."""

    def friction_used(self, friction):
        """The coefficients of friction that the law applies."""
        return friction


class NewtonCoulomb(ContactLaw):
    """Newton's law of impact, Coulomb friction in the plane or in space (the round cone)."""

    def target(self, before, after, restitution):
        return after.at[:, 0].add(restitution * before[:, 0])

    def projected(self, impulse, friction):
        normal = jnp.maximum(impulse[:, 0], 0.0)
        if impulse.shape[1] == 1:
            return normal[:, None]
        radius = friction * normal
        if impulse.shape[1] == 2:
            tangential = jnp.clip(impulse[:, 1], -radius, radius)[:, None]
        else:
            square = jnp.sum(impulse[:, 1:] ** 2, axis=1)
            outside = square > radius**2
            # the root is taken where it is not zero only, so that its derivative is finite
            length = jnp.sqrt(jnp.where(outside, square, 1.0))
            tangential = jnp.where(outside, radius / length, 1.0)[:, None] * impulse[:, 1:]
        return jnp.concatenate([normal[:, None], tangential], axis=1)


class Frictionless(NewtonCoulomb):
    """Newton's law of impact alone, whatever friction the system states."""

    def projected(self, impulse, friction):
        return super().projected(impulse, jnp.zeros_like(friction))

    def friction_used(self, friction):
        return jnp.zeros_like(friction)


def compliance(m, t, q, v, p):
    """About the change of each relative velocity by a unit impulse, (contacts, d): D diag(M)^-1 D^T with the rows D of
    all directions. It only says how large velocities are beside impulses."""
    directions = m.contact.directions(t, q)
    by_v = jax.jacfwd(lambda v: m.legendre(t, q, v, p))(v)
    by_p = jax.jacfwd(lambda p: m.legendre(t, q, v, p))(p)
    inverse_mass = jnp.abs(jnp.diagonal(by_p) / jnp.diagonal(by_v))
    squares = directions**2 @ inverse_mass
    return jnp.where(squares > 0, squares, 1.0)


@jax.custom_jvp
def softened(velocity, impulse, compliance):
    """The velocity itself; its derivative contains a small compliance of the contact, which keeps the Jacobian of
    dependent contacts regular. Newton's method from zero then ends at the impulses of least norm."""
    return velocity


@softened.defjvp
def _softened_derivative(primals, tangents):
    velocity, _, compliance = primals
    change, push, _ = tangents
    return velocity, change + compliance * push
