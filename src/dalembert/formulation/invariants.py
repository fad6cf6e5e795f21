"""Invariants of particles for energy-momentum methods, ready-made: no algebra for spring networks, bars and angles.

All are at most quadratic in q, as a discrete derivative through them wants it, and unchanged by rotations about the
origin (distances by translations too). What is not quadratic goes through them: with the dot products of three vectors
as G, their triple product is sqrt(det G) up to its sign.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np


def _ends(q, pairs, dimension: int):
    x = q.reshape(-1, dimension)
    first, second = (np.array([pair[k] for pair in pairs], dtype=int) for k in (0, 1))
    return x[first], x[second]


def squared_distances(q, pairs, dimension: int = 3):
    """|x_i - x_j|^2 for pairs of particles, from coordinates in a row: quadratic, unchanged by rigid motions."""
    first, second = _ends(q, pairs, dimension)
    return jnp.sum((first - second) ** 2, axis=1)


def dot_products(q, pairs, dimension: int = 3):
    """x_i . x_j for pairs of particles: quadratic, unchanged by rotations about the origin."""
    first, second = _ends(q, pairs, dimension)
    return jnp.sum(first * second, axis=1)


def edge_products(q, corners, dimension: int = 3):
    """(x_j - x_i) . (x_k - x_i) for triples (i, j, k): |.| |.| cos of the angle at i; unchanged by rigid motions."""
    middle, first = _ends(q, [(i, j) for i, j, _ in corners], dimension)
    _, second = _ends(q, [(i, k) for i, _, k in corners], dimension)
    return jnp.sum((first - middle) * (second - middle), axis=1)


def squared_triple_products(products):
    """(a . (b x c))^2 from the dot products (aa, bb, cc, ab, ac, bc) of vectors in space, shape (..., 6): the
    determinant of Gram's matrix."""
    aa, bb, cc, ab, ac, bc = (products[..., k] for k in range(6))
    return aa * (bb * cc - bc**2) - ab * (ab * cc - ac * bc) + ac * (ab * bc - ac * bb)
