"""Newton on an active set, and the accelerated projected gradient, for 0 <= x, 0 <= M x + q, x . (M x + q) = 0.

The entries of M and q should be of order one; M is an array, or a sparse array of scipy.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

#: Makes singular active sets solvable; what it spoils, the next step repairs.
SHIFT = 1e-10
FINISHING_STEPS = 10
#: Residuals are taken relative to sqrt(max |x| max |q|), as roundoff grows with x; but to no more than the root of
#: this many max |q|, so that what grows without bound, where there is no solution, does not look like one.
LARGEST_GROWTH = 1e6
#: The step of the gradient method may not grow without bound where M vanishes; the diagonal of M is one.
LEAST_LIPSCHITZ = 0.1


def natural_map(M, q: np.ndarray, x: np.ndarray) -> float:
    """max_i |min(x_i, (M x + q)_i)|."""
    return float(np.max(np.abs(np.minimum(x, M @ x + q)), initial=0.0))


def finish(M, q: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Newton steps on the natural map from x, as long as they lower max_i |min(x_i, w_i)|.

    Each solves w_A = 0 on the active set A = {x_i > w_i} with x = 0 elsewhere, which is exact once A is right.
    """
    best = natural_map(M, q, x)
    for _ in range(FINISHING_STEPS):
        active = x > M @ x + q
        trial = np.where(active, x, 0.0)
        indices = np.flatnonzero(active)
        if len(indices) > 0:
            step = _shifted_solve(M, indices, -(M @ trial + q)[indices])
            if step is None:
                break
            trial[indices] += step
        trial = np.maximum(trial, 0.0)
        residual = natural_map(M, q, trial)
        if not residual < best:
            break
        x, best = trial, residual
    return x


def _shifted_solve(M, indices: np.ndarray, right: np.ndarray) -> np.ndarray | None:
    """Solution with the matrix M_AA + SHIFT, or None if that is singular."""
    try:
        if scipy.sparse.issparse(M):
            part = scipy.sparse.csc_array(M[indices][:, indices] + SHIFT * scipy.sparse.eye_array(len(indices)))
            return scipy.sparse.linalg.splu(part).solve(right)
        part = M[np.ix_(indices, indices)]
        part[np.diag_indices(len(indices))] += SHIFT
        return np.linalg.solve(part, right)
    except (RuntimeError, np.linalg.LinAlgError):
        return None


def accelerated_gradient(M, q: np.ndarray, x: np.ndarray, steps: int, enough: float) -> tuple[np.ndarray, int]:
    """Nesterov's projected gradient for min x . (M x / 2 + q) over x >= 0, M symmetric and positive semidefinite.

    After Mazhar, Heyn, Negrut and Tasora (ACM Transactions on Graphics 34, 2015): the step 1 / L is found by
    backtracking and grows again slowly; the momentum restarts where it points uphill. Returns the iterate with the
    smallest max_i |min(x_i, w_i)| and the number of steps; stops where that is at most `enough`.
    """
    lipschitz = max(float(np.linalg.norm(M @ np.ones(len(q)))) / np.sqrt(len(q)), LEAST_LIPSCHITZ)
    Mx = M @ x
    y, My, theta = x, Mx, 1.0
    best, best_residual = x, natural_map(M, q, x)
    for step in range(1, steps + 1):
        gradient = My + q
        while True:
            trial = np.maximum(y - gradient / lipschitz, 0.0)
            M_trial = M @ trial
            change = trial - y
            # The bound f(trial) <= f(y) + gradient . change + L/2 |change|^2, without its cancelling terms.
            if change @ (M_trial - My) <= lipschitz * (change @ change) or not change.any():
                break
            lipschitz *= 2.0
        next_theta = 0.5 * (-(theta**2) + theta * np.sqrt(theta**2 + 4.0))
        momentum = theta * (1.0 - theta) / (theta**2 + next_theta)
        if gradient @ (trial - x) > 0.0:
            momentum, next_theta = 0.0, 1.0
        y, My = trial + momentum * (trial - x), M_trial + momentum * (M_trial - Mx)
        x, Mx, theta = trial, M_trial, next_theta
        lipschitz = max(0.9 * lipschitz, LEAST_LIPSCHITZ)
        residual = float(np.max(np.abs(np.minimum(x, Mx + q))))
        if residual < best_residual:
            best, best_residual = x, residual
        if best_residual <= enough:
            return best, step
    return best, steps
