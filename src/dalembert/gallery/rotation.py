"""Rotations as unit quaternions e = (e0, e1, e2, e3), and integrals along an exact motion.

A vector x of the body is seen in space as e x e*. With e' the rate of the quaternion, the angular velocity is
2 Im(e' e*) in space and 2 Im(e* e') in the body, and |omega|^2 = 4 |e'|^2 because e . e' = 0.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np


def product(a, b):
    """The product of two quaternions."""
    real = a[:1] * b[:1] - jnp.sum(a[1:] * b[1:], keepdims=True)
    return jnp.concatenate([real, a[:1] * b[1:] + b[:1] * a[1:] + jnp.cross(a[1:], b[1:])])


def conjugate(e):
    """The inverse rotation."""
    return jnp.concatenate([e[:1], -e[1:]])


def spatial_rate(e, e_rate):
    """The angular velocity in space."""
    return 2 * product(e_rate, conjugate(e))[1:]


def body_rate(e, e_rate):
    """The angular velocity in the body."""
    return 2 * product(conjugate(e), e_rate)[1:]


def quaternion_rate(e, omega):
    """e' of the angular velocity omega in space."""
    return 0.5 * product(jnp.concatenate([jnp.zeros(1), omega]), e)


def third_axis(e):
    """Where the third axis of the body points."""
    return jnp.stack(
        [
            2 * (e[1] * e[3] + e[0] * e[2]),
            2 * (e[2] * e[3] - e[0] * e[1]),
            e[0] ** 2 - e[1] ** 2 - e[2] ** 2 + e[3] ** 2,
        ]
    )


def integral(function, t, frequency: float):
    """int_0^t of a function of an array of times that returns one more axis, to roundoff.

    Gauss quadrature with 20 nodes on every quarter of 1 / frequency.
    """
    t = np.asarray(t, dtype=np.float64)
    panels = 1 + int(4 * frequency * np.max(np.abs(t), initial=0.0))
    x, w = np.polynomial.legendre.leggauss(20)
    nodes = (np.arange(panels)[:, None] + (x + 1) / 2).ravel() / panels
    weights = np.tile(w / 2, panels) / panels
    return t[..., None] * np.einsum("j,...jk->...k", weights, function(t[..., None] * nodes))


def lagrangian_of_round_body(body, q, v):
    """L = m/2 |x'|^2 + (A (w_1^2 + w_2^2) + C w_3^2) / 2 - m g z of a body with an axis, q = (x, e): since |w| = 2 |e'|
    where |e| = 1, the rotation is 2 A |e'|^2 + (C - A) w_3^2 / 2."""
    along = body_rate(q[3:], v[3:])[2]
    kinetic = body.mass * (v[:3] @ v[:3]) + (body.axis_inertia - body.diameter_inertia) * along**2
    return 0.5 * kinetic + 2 * body.diameter_inertia * (v[3:] @ v[3:]) - body.mass * body.gravity * q[2]
