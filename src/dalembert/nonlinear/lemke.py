"""Lemke's pivoting for linear complementarity problems, compiled. Importing this module imports numba."""

from __future__ import annotations

import numpy as np

from .compilation import compiled

#: An entry of the entering column below this part of its largest one is roundoff and no pivot.
PIVOT_TOLERANCE = 1e-11
#: Ratios this near to the smallest one are tied with it.
TIE_TOLERANCE = 1e-11


@compiled
def leaving_row(tableau, column, artificial_row):
    """The row with the lexicographically smallest (right-hand side, columns of w) / column, or -1 for a ray.

    The row of the artificial variable wins every tie of the right-hand sides: it ends the path.
    """
    n = len(column)
    least = PIVOT_TOLERANCE * np.max(np.abs(column))
    tied = column > max(least, 0.0)
    if not np.any(tied):
        return -1
    for key in range(n + 1):
        k = tableau.shape[1] - 1 if key == 0 else key - 1
        smallest, size, rows = np.inf, 0.0, 0
        for i in range(n):
            if tied[i]:
                ratio = tableau[i, k] / column[i]
                smallest = min(smallest, ratio)
                size = max(size, abs(ratio)) if key > 0 else 1.0 + abs(smallest)
        for i in range(n):
            if tied[i]:
                tied[i] = tableau[i, k] / column[i] <= smallest + TIE_TOLERANCE * size
                rows += tied[i]
        if key == 0 and artificial_row >= 0 and tied[artificial_row]:
            return artificial_row
        if rows == 1:
            break
    return np.argmax(tied)


@compiled
def lemke(M, q, cover, max_pivots):
    """Basic solution of w - M z - cover z0 = q with w, z >= 0 and w_i z_i = 0, driven from large z0 to z0 = 0.

    Returns (z, pivots, found); the entries of M and q should be of order one, and some q_i < 0. The columns of w in
    the tableau hold the inverse of the basis; ties of the ratio test are decided lexicographically by its rows, so
    that no basis comes back. Without a pivot the path ends in a ray; if M is positive semidefinite, then no z is
    feasible.
    """
    n = len(q)
    artificial, right = 2 * n, 2 * n + 1
    z = np.zeros(n)
    tableau = np.zeros((n, 2 * n + 2))
    for i in range(n):
        tableau[i, i] = 1.0
        tableau[i, n:artificial] = -M[i]
        tableau[i, artificial] = -cover[i]
        tableau[i, right] = q[i]
    basis = np.arange(n)
    entering, artificial_row = artificial, -1
    row = leaving_row(tableau, cover, artificial_row)
    for pivots in range(1, max_pivots + 1):
        leaving = basis[row]
        basis[row] = entering
        if entering == artificial:
            artificial_row = row
        pivot = tableau[row, entering]
        for k in range(2 * n + 2):
            tableau[row, k] /= pivot
        for i in range(n):
            factor = tableau[i, entering]
            if i != row and factor != 0.0:
                for k in range(2 * n + 2):
                    tableau[i, k] -= factor * tableau[row, k]
        if leaving == artificial:
            for i in range(n):
                if n <= basis[i] < artificial:
                    z[basis[i] - n] = max(tableau[i, right], 0.0)
            return z, pivots, True
        entering = leaving + n if leaving < n else leaving - n
        row = leaving_row(tableau, tableau[:, entering].copy(), artificial_row)
        if row < 0:
            return z, pivots, False
    return z, max_pivots, False
