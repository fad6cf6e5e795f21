"""Runge-Kutta tableaux (A, b, c) for the smooth motion between events::

    Y_i = y0 + h sum_j a_ij f(t0 + c_j h, Y_j),      y1 = y0 + h sum_j b_j f(t0 + c_j h, Y_j)

    Gauss          collocation at the Gauss nodes, order 2s, symplectic and symmetric: b_i a_ij + b_j a_ji = b_i b_j
    Radau IIA      collocation at the Radau nodes, order 2s - 1, L-stable: b is the last row of A
    Lobatto IIIA   collocation at the Lobatto nodes, order 2s - 2, symmetric
    half-explicit  A strictly lower triangular; multipliers are found stage by stage

The coefficients of the first three come from `tableau.py`, for any number of stages.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..errors import InputError
from .tableau import basis_integrals, exact_nodes, quadrature, runge_kutta_matrix


@dataclass(frozen=True, repr=False)
class RungeKutta:
    """A tableau, written as tuples so that it can be compared and be a key; `name` is how one would type it."""

    name: str
    order: int
    matrix: tuple[tuple[float, ...], ...] = field(compare=False)
    weights: tuple[float, ...] = field(compare=False)
    nodes: tuple[float, ...] = field(compare=False)

    @property
    def stages(self) -> int:
        return len(self.weights)

    @property
    def explicit(self) -> bool:
        return not np.any(np.triu(np.array(self.matrix)))

    def __repr__(self) -> str:
        return self.name


def gauss_legendre(stages: int) -> RungeKutta:
    """Gauss with s >= 1 stages, order 2s: symplectic where the mass matrix is constant, and symmetric."""
    nodes, weights, order = quadrature("gauss", stages)
    return _tableau(f"gauss_legendre({stages})", order, runge_kutta_matrix("gauss", stages), weights, nodes)


def radau_iia(stages: int) -> RungeKutta:
    """Radau IIA with s >= 1 stages, order 2s - 1."""
    nodes, weights, order = quadrature("radau", stages)
    exact = exact_nodes("radau", stages)
    return _tableau(f"radau_iia({stages})", order, basis_integrals(exact, exact), weights, nodes)


def lobatto_iiia(stages: int) -> RungeKutta:
    """Lobatto IIIA with s >= 2 stages, order 2s - 2."""
    nodes, weights, order = quadrature("lobatto", stages)
    return _tableau(f"lobatto_iiia({stages})", order, runge_kutta_matrix("A", stages), weights, nodes)


#: Rows of A below the diagonal, and b.
EXPLICIT: dict[int, tuple[list[list[float]], list[float]]] = {
    2: ([[1.0]], [1 / 2, 1 / 2]),
    3: ([[1 / 2], [-1.0, 2.0]], [1 / 6, 2 / 3, 1 / 6]),
    4: ([[1 / 2], [0.0, 1 / 2], [0.0, 0.0, 1.0]], [1 / 6, 1 / 3, 1 / 3, 1 / 6]),
    5: (
        [
            [1 / 5],
            [3 / 40, 9 / 40],
            [44 / 45, -56 / 15, 32 / 9],
            [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
            [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
        ],
        [35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
    ),
}


def half_explicit(order: int) -> RungeKutta:
    """An explicit method of order 2 (Heun), 3 (Kutta), 4 (the classical one) or 5 (Dormand and Prince 1980)."""
    if not isinstance(order, int | np.integer) or isinstance(order, bool) or order not in EXPLICIT:
        raise InputError(f"half_explicit needs an order among {', '.join(map(str, EXPLICIT))}, got {order!r}.")
    rows, weights = EXPLICIT[int(order)]
    matrix = np.zeros((len(weights), len(weights)))
    for i, row in enumerate(rows, start=1):
        matrix[i, : len(row)] = row
    return _tableau(f"half_explicit({order})", int(order), matrix, np.array(weights), matrix.sum(axis=1))


def _tableau(name: str, order: int, matrix: np.ndarray, weights: np.ndarray, nodes: np.ndarray) -> RungeKutta:
    rows = tuple(tuple(row) for row in matrix.tolist())
    return RungeKutta(name, order, rows, tuple(weights.tolist()), tuple(nodes.tolist()))
