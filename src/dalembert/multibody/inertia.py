"""Inertia tensors: what is one, the nearest one, and Euler's tensor, the mass of the directors.

A body of density rho has J = int (|X|^2 1 - X X^T) rho dV about its centre of mass. With Euler's tensor

    E = int X X^T rho dV = tr(J)/2 1 - J,      T = m/2 |x'|^2 + 1/2 sum_i E_i |d_i'|^2

in principal axes, d_i the directors. E is positive semidefinite for every distribution of mass, which is the triangle
inequality J_1 + J_2 >= J_3 of the principal moments. E_i = 0 is a body without extent along its axis i: a disc has one
such axis, a rod two, a particle three; those directors carry no mass and are no coordinates.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from ..arguments import floats, shown
from ..errors import InputError
from .vectors import is_traced

#: Relative to the largest, an Euler moment below this is zero; one below minus this violates the triangle inequality.
DEAD = 1e-12


class Principal(NamedTuple):
    """Euler's moments about the principal axes, and those axes as rows in the frame in which the tensor was given."""

    euler: Any
    axes: np.ndarray


def inertia_matrix(name: str, value):
    """The tensor of inertia from three principal moments, six entries (xx, yy, zz, xy, xz, yz), or the matrix."""
    if is_traced(value):
        found = jnp.stack([jnp.asarray(x, jnp.float64) for x in value]) if isinstance(value, list | tuple) else value
        if found.shape != (3,):
            raise InputError(f"{name} is traced: give the three principal moments along the axes of the body.")
        return jnp.diag(found)
    found = floats(name, value, finite=True)
    if found.shape == (3,):
        return np.diag(found)
    if found.shape == (6,):
        xx, yy, zz, xy, xz, yz = found
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if found.shape == (3, 3):
        if not np.allclose(found, found.T, rtol=1e-9, atol=1e-12 * np.max(np.abs(found), initial=0.0)):
            raise InputError(f"{name} must be symmetric, got {shown(value)}.")
        return (found + found.T) / 2
    raise InputError(
        f"{name} must be three principal moments, six entries (xx, yy, zz, xy, xz, yz) or a 3 x 3 matrix, "
        f"got {shown(value)}."
    )


def principal(name: str, inertia) -> Principal:
    """Euler's moments and principal axes of a tensor of inertia about the centre of mass; refused if it is none.

    The axes are those of the body where the tensor is diagonal in them.
    """
    if is_traced(inertia):
        moments = jnp.diagonal(inertia)
        return Principal(jnp.sum(moments) / 2 - moments, np.eye(3))
    diagonal = np.diag(inertia)
    off = inertia - np.diag(diagonal)
    if not np.any(off):
        moments, axes = diagonal, np.eye(3)
    else:
        moments, columns = np.linalg.eigh(inertia)
        axes = _aligned(columns.T)
        moments = np.einsum("ki,ij,kj->k", axes, inertia, axes)
    euler = np.sum(moments) / 2 - moments
    largest = max(float(np.max(np.abs(moments))), 0.0)
    if np.min(euler, initial=0.0) < -1e-9 * largest:
        ordered = np.sort(moments)
        suggestion = nearest_inertia(inertia)
        numbers = ", ".join(f"{x:.6g}" for x in _upper(suggestion))
        raise InputError(
            f"{name} is no tensor of inertia: its principal moments {', '.join(f'{x:.6g}' for x in ordered)} must be "
            f"positive, and the two smaller ones must add up to at least the largest. The nearest one (xx, yy, zz, xy, "
            f"xz, yz) is ({numbers}); da.nearest_inertia(...) computes it."
        )
    return Principal(np.where(np.abs(euler) <= DEAD * largest, 0.0, euler), axes)


def _aligned(rows: np.ndarray) -> np.ndarray:
    """Principal axes in the order and with the signs that are nearest to the coordinate axes, right-handed."""
    order, free = np.zeros(3, dtype=int), [0, 1, 2]
    for axis in np.argsort(-np.max(np.abs(rows), axis=0)):
        best = max(free, key=lambda k: abs(rows[k, axis]))
        order[axis] = best
        free.remove(best)
    found = rows[order]
    found = found * np.where(np.diag(found) < 0, -1.0, 1.0)[:, None]
    if np.linalg.det(found) < 0:
        found[2] = -found[2]
    return found


def nearest_inertia(inertia) -> np.ndarray:
    """The tensor of inertia (3 x 3) whose Euler tensor is nearest to that of the given one: negative moments of mass
    along a principal axis become zero.

    >>> nearest_inertia((1.0, 1.0, 3.0)).diagonal().tolist()
    [1.5, 1.5, 3.0]
    """
    matrix = inertia_matrix("inertia", inertia)
    euler = np.trace(matrix) / 2 * np.eye(3) - matrix
    moments, columns = np.linalg.eigh(euler)
    euler = (columns * np.maximum(moments, 0.0)) @ columns.T
    return np.trace(euler) * np.eye(3) - euler


def _upper(matrix: np.ndarray) -> list[float]:
    return [float(matrix[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]


def shifted(inertia, mass, offset):
    """The tensor about a point at -offset from the centre of mass (Steiner)."""
    return inertia + mass * ((offset @ offset) * np.eye(3) - np.outer(offset, offset))
