"""Contacts with Coulomb friction: impulses in cones, velocities after Signorini. Knows no mechanics.

For each of c contacts, r_i = (r_n, r_t) and u_i = (u_n, u_t) are vectors of dimension d = 2 or 3, u = W r + b, and

    0 <= u_n,  0 <= r_n,  u_n r_n = 0,    |r_t| <= mu r_n,    u_t = 0  or  r_t = -mu r_n u_t / |u_t|.

This is the same as: r_i lies in the cone K = {|r_t| <= mu r_n}, u_i + (mu |u_t|, 0) lies in the dual cone, and both
are orthogonal. No cone is replaced by a polyhedron. All solvers work with s_i r_i and u_i / s_i, where
s_i^2 = trace(W_ii) / d, so that the blocks on the diagonal are of order one.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..errors import ContactWarning, InputError
from .alart_curnier import ContactProblem, alart_curnier
from .complementarity import solve_lcp
from .proximal import proximal_points

METHODS = ("auto", "newton", "gauss_seidel", "accelerated", "lemke")
#: Asymmetry of W, relative to its largest entry, that is roundoff; and that is still taken for an inexact W.
ROUNDOFF, LARGEST_ASYMMETRY = 1e-8, 1e-4
#: Sweeps before the first Newton steps, or as many as there are contacts, as a Newton step costs as much as many
#: sweeps of a large problem; twice as many before each next attempt.
FIRST_SWEEPS = 4
#: Newton steps in one attempt, or one for so many sweeps before it, if the problem has at most so many unknowns.
NEWTON_STEPS, SWEEPS_PER_NEWTON_STEP, PATIENT_SIZE = 12, 10, 1500
#: After this many attempts, pivoting is tried once, if the problem has at most so many unknowns.
ATTEMPTS_BEFORE_PIVOTING = 5
PIVOTING_SIZE = 150
#: Tangential directions by which pivoting replaces the circle in space, to find a start.
DIRECTIONS = 8


class BlockMatrix(NamedTuple):
    """A symmetric matrix of c x c blocks of size d x d by compressed rows.

    Row i holds the blocks `blocks[k]`, of shape (d, d), in the columns `columns[k]`, starts[i] <= k < starts[i + 1];
    the columns of a row increase, and the block on the diagonal is always present.
    """

    starts: np.ndarray
    columns: np.ndarray
    blocks: np.ndarray


class FrictionSolution(NamedTuple):
    """r and u = W r + b; `residual` as in `friction_residual`, `converged` only if it is within the tolerance."""

    r: np.ndarray
    u: np.ndarray
    residual: float
    iterations: int
    converged: bool
    method: str


class _Scaled(NamedTuple):
    """`problem` in the unknowns x_i = s_i r_i / size, with the velocities u_i / (s_i size)."""

    problem: ContactProblem
    s: np.ndarray
    size: float

    def impulses(self, x: np.ndarray) -> np.ndarray:
        return (self.size * x / self.s[:, None]).ravel()

    def velocities(self, x: np.ndarray) -> np.ndarray:
        return (self.size * self.problem.velocities(x) * self.s[:, None]).ravel()


def friction_residual(W, b, mu, dimension: int, r) -> float:
    """max_i |x_i - P(x_i - v_i)| / sqrt(e) with x_i = s_i r_i, v_i = u_i / s_i and u = W r + b.

    P projects the normal part to the nonnegative numbers and the tangential part to the disc of radius
    mu max(0, x_n - v_n); s_i^2 = trace(W_ii) / d. Zero for solutions and only for them, in whatever units r and u
    are: x_i and v_i are square roots of energies, and e is the energy g max_i |x_i|, but at least g^2 and at most
    1e6 g^2, where g = max_i |b_i / s_i|, or g = 1 for b = 0.
    """
    scaled = _scaled(W, b, mu, dimension)
    return scaled.problem.residual(_start(r, "r", scaled))


def solve_friction(
    W, b, mu, dimension: int, r0=None, tolerance: float = 1e-12, method: str = "auto", max_sweeps: int = 10_000
) -> FrictionSolution:
    """Impulses r and velocities u = W r + b of c contacts under Signorini's and Coulomb's laws.

    W is symmetric and positive semidefinite, singular or not: an array of shape (c d, c d) or a `BlockMatrix`. The
    unknowns of a contact stand together, the normal one first. mu is a number or has one entry for each contact;
    r0 is where to start. The methods:

    - "gauss_seidel": one contact after the other, each solved exactly; the cost of a sweep is linear in the blocks.
    - "accelerated": the same sweeps, accelerated by Anderson's method: some times fewer where contacts are many.
    - "newton": Newton's method for the equations of Alart and Curnier; quick near a solution.
    - "lemke": exact pivoting, for dimension 2 only, where the law is a linear complementarity problem.
    - "auto": sweeps and Newton steps by turns; where both fail on a small problem, once from the result of pivoting;
      where all of them stand still, as on heaps that more impulses hold than there are accelerations, proximal points.

    For large mu there may be several solutions; one of them is found. A problem without solution comes back with
    `converged` false; so does, seldom, one that defeats all methods.
    """
    if method not in METHODS:
        raise InputError(f"solve_friction expects a method among {', '.join(METHODS)}, got {method!r}.")
    if method == "lemke" and dimension != 2:
        raise InputError(f"solve_friction expects dimension 2 for the method 'lemke', got {dimension}.")
    if not tolerance > 0:
        raise InputError(f"solve_friction expects a positive tolerance, got {tolerance}.")
    scaled = _scaled(W, b, mu, dimension)
    problem = scaled.problem
    start = np.zeros(problem.b.shape) if r0 is None else _start(r0, "r0", scaled)
    if method == "newton":
        x, iterations = alart_curnier(problem, start, tolerance, max_sweeps)
    elif method == "gauss_seidel":
        x, iterations = _sweep(problem, start, max_sweeps, 0.1 * tolerance)
    elif method == "accelerated":
        x, iterations = _accelerated(problem, start, max_sweeps, tolerance)
    elif method == "lemke":
        x, iterations = _pivoting(problem, tolerance)
    else:
        x, iterations, method = _by_turns(problem, start, tolerance, max_sweeps)
    x, residual = _inside(problem, x, tolerance)
    return FrictionSolution(
        scaled.impulses(x), scaled.velocities(x), residual, iterations, residual <= tolerance, method
    )


def _inside(problem: ContactProblem, x: np.ndarray, tolerance: float) -> tuple[np.ndarray, float]:
    """x and its residual, where the roundoff by which x may lie outside the cones is taken away if that is harmless."""
    from .sweeps import in_cones  # here, as numba takes long to import

    residual, inside = problem.residual(x), in_cones(x, problem.mu)
    residual_inside = problem.residual(inside)
    return (inside, residual_inside) if residual_inside <= max(residual, tolerance) else (x, residual)


def _sweep(problem: ContactProblem, x: np.ndarray, sweeps: int, enough: float) -> tuple[np.ndarray, int]:
    from .sweeps import sweep  # here, as numba takes long to import

    x = x.copy()
    return x, sweep(*problem, x, sweeps, enough)


def _accelerated(problem: ContactProblem, x: np.ndarray, sweeps: int, tolerance: float) -> tuple[np.ndarray, int]:
    from .accelerated import accelerated_sweeps  # here, as numba takes long to import

    x = x.copy()
    return x, accelerated_sweeps(*problem, x, sweeps, tolerance)


def _by_turns(problem: ContactProblem, x: np.ndarray, tolerance: float, limit: int) -> tuple[np.ndarray, int, str]:
    """Sweeps, then Newton from where they have come; if that fails, more sweeps, and so on; at last proximal points."""
    best, best_residual, used, iterations = x, problem.residual(x), "gauss_seidel", 0
    if best_residual <= tolerance:
        return best, iterations, used
    rounds = [_starts(problem, x, tolerance, limit)]
    if np.any(x):  # sweeps can be caught near a start that a step before was the solution of: then once more from zero
        rounds.append(_starts(problem, np.zeros_like(x), tolerance, limit))
    for start, name, steps in itertools.chain.from_iterable(rounds):
        patience = steps // SWEEPS_PER_NEWTON_STEP if problem.b.size <= PATIENT_SIZE else 0
        refined, newton_steps = alart_curnier(problem, start, tolerance, max(NEWTON_STEPS, patience))
        iterations += steps + newton_steps
        for candidate, method in ((start, name), (refined, "newton")):
            residual = problem.residual(candidate)
            if residual < best_residual:
                best, best_residual, used = candidate, residual, method
        if best_residual <= tolerance:
            return best, iterations, used
    if problem.b.size <= PATIENT_SIZE:
        point, steps = proximal_points(problem, best, tolerance, _sweep)
        iterations += steps
        if problem.residual(point) < best_residual:
            best, used = point, "proximal"
    return best, iterations, used


def _starts(
    problem: ContactProblem, x: np.ndarray, tolerance: float, limit: int
) -> Iterator[tuple[np.ndarray, str, int]]:
    """Where Newton may start from: longer and longer stretches of sweeps, and once the result of pivoting."""
    stretch, done, may_pivot = max(FIRST_SWEEPS, len(problem.b)), 0, problem.b.size <= PIVOTING_SIZE
    for attempt in itertools.count(1):
        allowed = min(stretch, limit - done)
        x, steps = _accelerated(problem, x, allowed, tolerance)
        yield x, "accelerated", steps
        done, stretch = done + steps, 2 * stretch
        at_rest = steps < allowed or done >= limit
        if may_pivot and (at_rest or attempt == ATTEMPTS_BEFORE_PIVOTING):
            x, steps = _pivoting(problem, tolerance)
            yield x, "lemke", steps
            may_pivot = False
        elif at_rest:
            return


def _pivoting(problem: ContactProblem, tolerance: float) -> tuple[np.ndarray, int]:
    """The law with the disc replaced by a polygon, as a linear complementarity problem; in the plane it is exact.

    The unknowns are r_n, the parts beta >= 0 of r_t along directions D, and sliding speeds lambda:
    u_n >= 0 with r_n;  D^T u_t + lambda >= 0 with beta;  mu r_n - sum beta >= 0 with lambda.
    """
    count, d = problem.b.shape
    if d == 2:
        D = np.array([[1.0, -1.0]])
    else:
        angles = 2.0 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS
        D = np.stack([np.cos(angles), np.sin(angles)])
    sides = D.shape[1]
    spread = np.zeros((d, 1 + sides))
    spread[0, 0], spread[1:, 1:] = 1.0, D
    to_impulses = np.kron(np.eye(count), spread)
    sums = np.kron(np.eye(count), np.concatenate([[0.0], np.ones(sides)])[None, :])
    limits = np.kron(np.eye(count), np.concatenate([[1.0], np.zeros(sides)])[None, :]) * problem.mu[:, None]
    M = np.block(
        [
            [to_impulses.T @ problem.dense(problem.blocks) @ to_impulses, sums.T],
            [limits - sums, np.zeros((count, count))],
        ]
    )
    q = np.concatenate([to_impulses.T @ problem.b.ravel(), np.zeros(count)])
    found = solve_lcp(M, q, method="lemke", tolerance=tolerance)
    return (to_impulses @ found.z[: to_impulses.shape[1]]).reshape(count, d), found.iterations


def _scaled(W, b, mu, dimension: int) -> _Scaled:
    """The checked problem without units."""
    from .sweeps import without_units  # here, as numba takes long to import

    if dimension not in (2, 3):
        raise InputError(f"frictional contact expects the dimension 2 or 3, got {dimension}.")
    matrix = _checked_blocks(W, dimension) if isinstance(W, BlockMatrix) else _blocks(W, dimension)
    starts, columns, blocks = matrix
    count = len(starts) - 1
    b = _checked_vector("b", b, (count * dimension,)).reshape(count, dimension)
    mu = np.asarray(mu, dtype=np.float64)
    mu = _checked_vector("mu", np.full(count, mu) if mu.ndim == 0 else mu, (count,))
    if np.any(mu < 0):
        raise InputError(f"frictional contact expects coefficients mu >= 0, got {mu.min()}.")
    blocks, right, diagonal, s, size = without_units(starts, columns, blocks, b)
    if np.any(diagonal < 0):
        row = diagonal.argmin()
        raise InputError(
            f"frictional contact expects a block on the diagonal in every row of W, got none in row {row}."
        )
    return _Scaled(ContactProblem(starts, columns, blocks, diagonal, right, mu), s, size)


def block_matrix(W, dimension: int) -> BlockMatrix:
    """The blocks of size d x d of a dense matrix that do not vanish."""
    if dimension not in (2, 3):
        raise InputError(f"frictional contact expects the dimension 2 or 3, got {dimension}.")
    return _blocks(W, dimension)


def _blocks(W, dimension: int) -> BlockMatrix:
    from .sweeps import blocks_of_dense  # here, as numba takes long to import

    W = np.ascontiguousarray(W, dtype=np.float64)
    if W.ndim != 2 or W.shape[0] != W.shape[1] or W.shape[0] % dimension != 0:
        raise InputError(
            f"frictional contact expects a square W with a multiple of {dimension} rows, got the shape {W.shape}."
        )
    if not np.all(np.isfinite(W)):
        raise InputError("frictional contact expects finite entries of W, got NaN or infinity.")
    asymmetry, size = (float(np.max(np.abs(part), initial=0.0)) for part in (W - W.T, W))
    if asymmetry > LARGEST_ASYMMETRY * size:
        raise InputError(f"frictional contact expects a symmetric W, got an asymmetry of {asymmetry}.")
    if asymmetry > ROUNDOFF * size:
        warnings.warn(
            f"W is asymmetric by {asymmetry / size:.1e} of its largest entry; frictional contact takes (W + W^T) / 2.",
            ContactWarning,
            stacklevel=4,
        )
    W = np.ascontiguousarray((W + W.T) / 2)
    return BlockMatrix(*blocks_of_dense(W, dimension))


def _checked_blocks(W: BlockMatrix, dimension: int) -> BlockMatrix:
    starts, columns = (np.ascontiguousarray(x, dtype=np.int64) for x in (W.starts, W.columns))
    blocks = np.ascontiguousarray(W.blocks, dtype=np.float64)
    if blocks.shape != (len(columns), dimension, dimension):
        expected = (len(columns), dimension, dimension)
        raise InputError(f"frictional contact expects blocks of the shape {expected}, got {blocks.shape}.")
    if len(starts) < 1 or starts[0] != 0 or starts[-1] != len(columns) or np.any(np.diff(starts) < 0):
        raise InputError(f"frictional contact expects starts that increase from 0 to {len(columns)}, got {starts}.")
    same_row = np.diff(np.repeat(np.arange(len(starts) - 1), np.diff(starts))) == 0
    if np.any((columns < 0) | (columns >= len(starts) - 1)) or np.any(np.diff(columns)[same_row] <= 0):
        raise InputError(f"frictional contact expects columns that increase in a row, below {len(starts) - 1}.")
    if not np.all(np.isfinite(blocks)):
        raise InputError("frictional contact expects finite blocks, got NaN or infinity.")
    return BlockMatrix(starts, columns, blocks)


def _checked_vector(name: str, values, shape: tuple[int, ...]) -> np.ndarray:
    values = np.asarray(values, dtype=np.float64)
    if values.shape != shape:
        raise InputError(f"frictional contact expects {name} of shape {shape}, got {values.shape}.")
    if not np.all(np.isfinite(values)):
        raise InputError(f"frictional contact expects finite values of {name}, got NaN or infinity.")
    return values


def _start(r, name: str, scaled: _Scaled) -> np.ndarray:
    r = _checked_vector(name, r, (scaled.problem.b.size,)).reshape(scaled.problem.b.shape)
    return r * scaled.s[:, None] / scaled.size
