"""Newton on the equations of Alart and Curnier for frictional contact. Knows no mechanics.

The unknowns are r with u = W r + b; the equations are r - P(r - u) = 0, where P projects the normal part to the
nonnegative numbers and the tangential part to the disc of radius mu max(0, r_n - u_n). They are piecewise smooth.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from .active_set import LARGEST_GROWTH

#: Added to W in the derivative, where W may be singular; as the equations stay exact, so does their solution. Where
#: a step does not help, more is added, up to the second number.
LEAST_SHIFT, LARGEST_SHIFT = 1e-9, 1e-1
SHIFT_FACTOR = 100.0
#: From this number of unknowns on, the derivative is factorised as a sparse matrix.
SPARSE_SIZE = 400
STEP_LENGTHS = tuple(0.5**k for k in range(7))


class ContactProblem(NamedTuple):
    """W by rows of blocks, b and mu, in units in which the blocks on the diagonal of W and b are of order one."""

    starts: np.ndarray
    columns: np.ndarray
    blocks: np.ndarray
    diagonal: np.ndarray
    b: np.ndarray
    mu: np.ndarray

    def velocities(self, r: np.ndarray) -> np.ndarray:
        from .sweeps import velocities  # here and below, as numba takes long to import

        return velocities(self.starts, self.columns, self.blocks, self.b, r)

    def equations(self, r: np.ndarray) -> np.ndarray:
        from .sweeps import natural_map

        return natural_map(r, self.velocities(r), self.mu)

    def residual(self, r: np.ndarray) -> float:
        from .sweeps import natural_residual

        return natural_residual(self.starts, self.columns, self.blocks, self.b, self.mu, r, LARGEST_GROWTH)

    def dense(self, blocks: np.ndarray) -> np.ndarray:
        """The whole matrix with the given blocks in the places of those of W."""
        count, d = self.b.shape
        matrix = np.zeros((count, d, count, d))
        matrix[np.repeat(np.arange(count), np.diff(self.starts)), :, self.columns, :] = blocks
        return matrix.reshape(count * d, count * d)


def alart_curnier(problem: ContactProblem, r: np.ndarray, tolerance: float, steps: int) -> tuple[np.ndarray, int]:
    """Newton steps from r until the residual is within the tolerance or no step lowers the equations."""
    value, shift = problem.equations(r), LEAST_SHIFT
    for step in range(steps):
        if problem.residual(r) <= tolerance:
            return r, step
        direction = _newton_direction(problem, r, value, shift)
        length = 0.0 if direction is None else _step_length(problem, r, value, direction)
        if direction is not None and length > 0.0:
            r = r + length * direction
            value = problem.equations(r)
        if length == 1.0:
            shift = max(shift / SHIFT_FACTOR, LEAST_SHIFT)
        elif length == 0.0:
            shift *= SHIFT_FACTOR
            if shift > LARGEST_SHIFT:
                return r, step + 1
    return r, steps


def _step_length(problem: ContactProblem, r: np.ndarray, value: np.ndarray, direction: np.ndarray) -> float:
    """The first length at which the step lowers the equations, or 0."""
    size = np.linalg.norm(value)
    for length in STEP_LENGTHS:
        if np.linalg.norm(problem.equations(r + length * direction)) < (1.0 - 1e-4 * length) * size:
            return length
    return 0.0


def _newton_direction(problem: ContactProblem, r: np.ndarray, value: np.ndarray, shift: float) -> np.ndarray | None:
    """The Newton step, or None where the derivative is singular in spite of the shift."""
    from .sweeps import natural_jacobian

    starts, columns, blocks, diagonal, _, mu = problem
    slopes = natural_jacobian(starts, columns, blocks, diagonal, r, problem.velocities(r), mu, shift)
    try:
        if r.size >= SPARSE_SIZE:
            derivative = scipy.sparse.csc_array(scipy.sparse.bsr_array((slopes, columns, starts)))
            step = scipy.sparse.linalg.splu(derivative).solve(-value.ravel())
        else:
            step = np.linalg.solve(problem.dense(slopes), -value.ravel())
    except (RuntimeError, np.linalg.LinAlgError):
        return None
    return step.reshape(r.shape) if np.all(np.isfinite(step)) else None
