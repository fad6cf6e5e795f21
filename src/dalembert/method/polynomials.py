"""Polynomials at a traced argument, for dense output: x is a JAX scalar, nodes and tables are numbers.

The Lagrange basis of the nodes c_k is evaluated by the product formula::

    l_k(x) = prod_{j != k} (x - c_j) / (c_k - c_j)

Its derivatives and integrals are polynomials again, of a degree that nodes resolve: they are interpolated from exact
tables, l'_nu(x) = sum_k l_k(x) l'_nu(c_k).
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np


def lagrange_basis(nodes: np.ndarray, x):
    """l_k(x), shape (nodes,)."""
    differences = nodes[:, None] - nodes[None, :]
    np.fill_diagonal(differences, 1.0)
    values = []
    for k in range(len(nodes)):
        value = jnp.ones(())
        for j in range(len(nodes)):
            if j != k:
                value = value * ((x - float(nodes[j])) * float(1 / differences[k, j]))
        values.append(value)
    return jnp.stack(values)


def continuation(nodes: np.ndarray) -> np.ndarray:
    """The matrix that takes the values of a polynomial at the nodes to those at nodes + 1, one step later; numbers
    throughout. Of nodes that coincide nothing follows: their values are repeated."""
    if len(set(nodes.tolist())) < len(nodes):
        return np.eye(len(nodes))
    return interpolation(nodes, nodes + 1.0)


def interpolation(nodes: np.ndarray, points: np.ndarray) -> np.ndarray:
    """l_k(points), (points, nodes), in numbers; the nodes are distinct."""
    differences = nodes[:, None] - nodes[None, :]
    np.fill_diagonal(differences, 1.0)
    factors = (points[:, None, None] - nodes) / differences  # (to, l_k, j)
    diagonal = np.arange(len(nodes))
    factors[:, diagonal, diagonal] = 1.0
    return np.prod(factors, axis=2)


def hermite(x, h, q0, v0, dq, v1):
    """The cubic through q0 and q0 + dq with the slopes v0 and v1 at x = 0 and 1, and its derivative by time::

    q = q0 + x^2 (3 - 2 x) dq + h x (1 - x)^2 v0 - h x^2 (1 - x) v1
    """
    q = q0 + x**2 * (3 - 2 * x) * dq + h * x * (1 - x) ** 2 * v0 - h * x**2 * (1 - x) * v1
    v = 6 * x * (1 - x) * dq / h + (1 - x) * (1 - 3 * x) * v0 + x * (3 * x - 2) * v1
    return q, v
