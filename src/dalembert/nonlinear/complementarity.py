"""Linear complementarity: 0 <= z, 0 <= w = M z + q, z . w = 0. Knows no mechanics.

All solvers work in the variables s_i z_i and w_i / s_i with s_i^2 = M_ii, in which the diagonal of M is one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from ..errors import InputError
from .active_set import LARGEST_GROWTH, accelerated_gradient, finish, natural_map
from .semismooth import compiled_newton

METHODS = ("auto", "lemke", "newton", "gauss_seidel", "projected_gradient")
#: Up to this size, pivoting is the quickest as well as the surest.
PIVOTING_SIZE = 500
#: Sweeps or gradient steps before the first attempt to finish on the active set; twice as many before each next.
FIRST_STEPS = 50
#: A diagonal entry below this part of its row is roundoff and does not set the scale.
ROUNDOFF = 1e-14
#: Lemke's method starts again from another covering vector when roundoff has spoiled a path.
COVERING_VECTORS = 3


class LcpSolution(NamedTuple):
    """z and w = M z + q; `residual` as in `lcp_residual`, `converged` only if it is within the tolerance."""

    z: np.ndarray
    w: np.ndarray
    residual: float
    iterations: int
    converged: bool
    method: str


class _Scaled(NamedTuple):
    """The problem in variables without units: M_ij / (s_i s_j), q_i / (s_i size), where z_i = size x_i / s_i."""

    M: Any
    q: np.ndarray
    s: np.ndarray
    size: float

    def residual(self, x: np.ndarray) -> float:
        growth = np.clip(np.max(np.abs(x), initial=0.0), 1.0, LARGEST_GROWTH)
        return natural_map(self.M, self.q, x) / float(np.sqrt(growth))


def lcp_residual(M, q, z) -> float:
    """max_i |min(x_i, v_i)| / sqrt(e) with x_i = s_i z_i, v_i = w_i / s_i, w = M z + q, s_i = sqrt(M_ii).

    Zero for solutions and only for them, in whatever units z and w are: if z . w is an energy, x_i and v_i are square
    roots of energies, and e is the energy g max_i |x_i|, but at least g^2 and at most 1e6 g^2, where
    g = max_i |q_i / s_i|, or g = 1 for q = 0. If M_ii = 0, the largest |M_ij| of the row replaces it, or 1 if the row
    vanishes.
    """
    M, q = _checked(M, q)
    problem = _scaled(M, q)
    return problem.residual(_checked_vector("z", z, len(q)) * problem.s / problem.size)


def solve_lcp(
    M, q, z0=None, method: str = "auto", tolerance: float = 1e-12, max_iterations: int | None = None
) -> LcpSolution:
    """Find z with 0 <= z, 0 <= w = M z + q and z_i w_i = 0.

    M is a square array, or a sparse array of scipy for "auto" and the last two methods:

    - "lemke": exact pivoting. If M is positive semidefinite, singular or not, it finds a solution or there is none.
    - "newton": the semismooth Newton method of `lcp_newton`.
    - "gauss_seidel": projected Gauss-Seidel, for M symmetric and positive semidefinite.
    - "projected_gradient": Nesterov's accelerated projected gradient with restarts, for the same M.
    - "auto": Newton from z0, if given; then pivoting for small problems; for large ones first the gradient.

    The iterations for large problems end with Newton steps on the active set that they have found. A problem
    without solution comes back with `converged` false.
    """
    if method not in METHODS:
        raise InputError(f"solve_lcp expects a method among {', '.join(METHODS)}, got {method!r}.")
    if not tolerance > 0:
        raise InputError(f"solve_lcp expects a positive tolerance, got {tolerance}.")
    M, q = _checked(M, q)
    if scipy.sparse.issparse(M) and method in ("lemke", "newton"):
        raise InputError(f"solve_lcp expects a dense M for the method {method!r}, got a sparse one.")
    start = np.zeros(len(q)) if z0 is None else np.maximum(_checked_vector("z0", z0, len(q)), 0.0)
    problem = _scaled(M, q)
    x, iterations, used = _solve(problem, start * problem.s / problem.size, method, tolerance, max_iterations)
    z, residual = problem.size * x / problem.s, problem.residual(x)
    return LcpSolution(z, M @ z + q, residual, iterations, residual <= tolerance, used)


def _solve(problem: _Scaled, start, method: str, tolerance: float, limit: int | None) -> tuple[np.ndarray, int, str]:
    solvers: dict[str, Callable] = {
        "lemke": _pivoting,
        "newton": _newton,
        "gauss_seidel": _gauss_seidel,
        "projected_gradient": _projected_gradient,
    }
    order = [method]
    if method == "auto":
        order = ["lemke"] if len(problem.q) <= PIVOTING_SIZE else ["projected_gradient", "lemke"]
    if np.all(problem.q >= 0):
        return np.zeros(len(problem.q)), 0, order[0]
    if method == "auto" and np.any(start):
        near = finish(problem.M, problem.q, start)
        if problem.residual(near) <= tolerance:
            return near, 1, "newton"
    best, best_residual, iterations, used = start, np.inf, 0, order[0]
    for name in order:
        x, steps = solvers[name](problem, best, tolerance, limit)
        residual = problem.residual(x)
        iterations += steps
        if residual < best_residual:
            best, best_residual, used = x, residual, name
        if best_residual <= tolerance:
            break
    return best, iterations, used


def _pivoting(problem: _Scaled, _start, tolerance: float, limit: int | None) -> tuple[np.ndarray, int]:
    from .lemke import lemke  # here, as numba takes long to import

    M = problem.M.toarray() if scipy.sparse.issparse(problem.M) else problem.M
    n = len(problem.q)
    best, pivots = np.zeros(n), 0
    best_residual = problem.residual(best)
    chance = np.random.default_rng(0)
    for attempt in range(COVERING_VECTORS):
        cover = np.ones(n) if attempt == 0 else chance.uniform(0.5, 1.5, n)
        x, steps, found = lemke(M, problem.q, cover, limit or 50 * (n + 10))
        pivots += steps
        if not found:
            continue
        residual = problem.residual(x)
        if residual > 1e-3 * tolerance:
            x = finish(M, problem.q, x)
            residual = problem.residual(x)
        if residual < best_residual:
            best, best_residual = x, residual
        if best_residual <= tolerance:
            break
    return best, pivots


def _newton(problem: _Scaled, start, tolerance: float, limit: int | None) -> tuple[np.ndarray, int]:
    found = compiled_newton(problem.M, problem.q, start, tolerance, limit or 100)
    return np.asarray(found.z), int(found.iterations)


def _gauss_seidel(problem: _Scaled, start, tolerance: float, limit: int | None) -> tuple[np.ndarray, int]:
    from .sweeps import projected_sweeps  # here, as numba takes long to import

    M = scipy.sparse.csr_array(problem.M)

    def advance(x, steps):
        x = x.copy()
        return x, projected_sweeps(M.indptr, M.indices, M.data, problem.q, x, steps, 0.1 * tolerance)

    return _with_finishes(problem, start, advance, tolerance, limit or 10_000)


def _projected_gradient(problem: _Scaled, start, tolerance: float, limit: int | None) -> tuple[np.ndarray, int]:
    def advance(x, steps):
        return accelerated_gradient(problem.M, problem.q, x, steps, 0.1 * tolerance)

    return _with_finishes(problem, start, advance, tolerance, limit or 10_000)


def _with_finishes(problem: _Scaled, x, advance: Callable, tolerance: float, limit: int) -> tuple[np.ndarray, int]:
    """Run an iteration in longer and longer stretches; after each, try to finish on the active set it has found."""
    done, stretch = 0, FIRST_STEPS
    best, best_residual = x, problem.residual(x)
    while done < limit and best_residual > tolerance:
        stretch = min(stretch, limit - done)
        x, steps = advance(x, stretch)
        done += steps
        finished = finish(problem.M, problem.q, x)
        residual = problem.residual(finished)
        if residual < best_residual:
            best, best_residual = finished, residual
        if steps < stretch:
            break
        stretch *= 2
    return best, done


def _scaled(M, q: np.ndarray) -> _Scaled:
    diagonal, largest = np.abs(M.diagonal()), np.zeros(len(q))
    if len(q) > 0:
        rows = abs(M).max(axis=1)
        largest = rows.toarray().ravel() if scipy.sparse.issparse(rows) else rows
    s = np.sqrt(np.where(diagonal > ROUNDOFF * largest, diagonal, largest))
    s[s == 0.0] = 1.0
    size = float(np.max(np.abs(q) / s, initial=0.0)) or 1.0
    if scipy.sparse.issparse(M):
        inverse = scipy.sparse.diags_array(1.0 / s)
        return _Scaled(scipy.sparse.csr_array(inverse @ M @ inverse), q / (s * size), s, size)
    return _Scaled(M / np.outer(s, s), q / (s * size), s, size)


def _checked(M, q) -> tuple[Any, np.ndarray]:
    matrix: Any = scipy.sparse.csr_array(M) if scipy.sparse.issparse(M) else np.asarray(M)
    matrix = matrix.astype(np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"a linear complementarity problem expects a square matrix M, got the shape {matrix.shape}.")
    if not np.all(np.isfinite(matrix.data if scipy.sparse.issparse(M) else matrix)):
        raise InputError("a linear complementarity problem expects finite entries of M, got NaN or infinity.")
    return matrix, _checked_vector("q", q, matrix.shape[0])


def _checked_vector(name: str, values, length: int) -> np.ndarray:
    values = np.asarray(values, dtype=np.float64)
    if values.shape != (length,):
        raise InputError(f"a linear complementarity problem expects {name} of shape ({length},), got {values.shape}.")
    if not np.all(np.isfinite(values)):
        raise InputError(f"a linear complementarity problem expects finite values of {name}, got NaN or infinity.")
    return values
