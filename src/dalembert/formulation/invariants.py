"""Invariants of particles for energy-momentum methods, ready-made: no algebra for spring networks, bars and angles.

All are at most quadratic in q, as a discrete derivative through them wants it, and unchanged by rotations about the
origin (distances by translations too). What is not quadratic goes through them: with the dot products of three vectors
as G, their triple product is sqrt(det G) up to its sign.
"""

from __future__ import annotations

import operator

import jax
import jax.numpy as jnp
import numpy as np

from ..arguments import count, floats, shown
from ..errors import InputError


def _places(q, groups, dimension: int, size: int, name: str) -> list:
    """The positions of the first, second, ... member of every group of particles, (groups, dimension) each."""
    q = q if isinstance(q, jax.Array) else floats("q", q)
    dimension, shape = count("dimension", dimension), q.shape
    if len(shape) != 1 or not shape[0] or shape[0] % dimension:
        raise InputError(f"q must hold {dimension} coordinates for each particle in a row, got the shape {shape}.")
    try:
        numbers = np.array([[operator.index(k) for k in group] for group in groups], dtype=np.int64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} must hold {size} numbers of particles each, got {shown(groups)}.") from error
    numbers = numbers.reshape(0, size) if not numbers.size else numbers
    most = shape[0] // dimension
    if numbers.ndim != 2 or numbers.shape[1] != size or np.any(numbers < 0) or np.any(numbers >= most):
        raise InputError(
            f"{name} must hold {size} numbers of particles each, from 0 to {most - 1}, got {shown(groups)}."
        )
    x = jnp.asarray(q).reshape(-1, dimension)
    return [x[column] for column in numbers.T]


def squared_distances(q, pairs, dimension: int = 3):
    """|x_i - x_j|^2 for pairs of particles, from coordinates in a row: quadratic, unchanged by rigid motions."""
    first, second = _places(q, pairs, dimension, 2, "pairs")
    return jnp.sum((first - second) ** 2, axis=1)


def dot_products(q, pairs, dimension: int = 3):
    """x_i . x_j for pairs of particles: quadratic, unchanged by rotations about the origin."""
    first, second = _places(q, pairs, dimension, 2, "pairs")
    return jnp.sum(first * second, axis=1)


def edge_products(q, corners, dimension: int = 3):
    """(x_j - x_i) . (x_k - x_i) for triples (i, j, k): |.| |.| cos of the angle at i; unchanged by rigid motions."""
    middle, first, second = _places(q, corners, dimension, 3, "corners")
    return jnp.sum((first - middle) * (second - middle), axis=1)


def squared_triple_products(products):
    """(a . (b x c))^2 from the dot products (aa, bb, cc, ab, ac, bc) of vectors in space, shape (..., 6): the
    determinant of Gram's matrix."""
    if not isinstance(products, np.ndarray | jax.Array) or np.shape(products)[-1:] != (6,):
        raise InputError(f"products must be an array of shape (..., 6), got {shown(products)}.")
    aa, bb, cc, ab, ac, bc = (products[..., k] for k in range(6))
    return aa * (bb * cc - bc**2) - ab * (ab * cc - ac * bc) + ac * (ab * bc - ac * bb)
