"""A point on the holonomic constraints next to a given one, whatever their rank there.

Off g = 0 constraints that depend on each other look independent: the rank has to be taken on the manifold. A step of
the Levenberg-Marquardt iteration in the metric of the kinetic energy is ::

    q  <-  q - W G^T D (D G W G^T D + tau)^-1 D g,      W = M^-1,    D_ii = (G W G^T)_ii^-1/2,    tau = rho^2

with rho the largest defect relative to the size of its terms: it converges, quadratically, where the rows of G are
dependent but do not contradict each other.
"""

from __future__ import annotations

import numpy as np

from ..problem import AbstractSystem
from .model_check import DENSE_ROWS
from .scales import Constraints, constraints_at, relative
from .shared_equations import equation

#: A singular value below this counts as zero at a point that was found by iteration: where constraints touch, their
#: defect is the square of the distance.
RANK_NEARBY = 1e-6
MOST_STEPS, HALVINGS, REACHED, LEAST_DAMPED = 60, 8, 1e-13, 1e-2


def nearby(system: AbstractSystem, t, q, v, p) -> np.ndarray:
    """A point with g = 0 next to q; q itself if none is found or the system is large."""
    n = len(q)
    if n > DENSE_ROWS:
        return q
    found = constraints_at(system, t, q)
    by_x = equation(system, "position")(np.concatenate([q, np.zeros(n + found.value.size)]), t, q, v, p)[1]
    by_x = by_x.toarray()[:n]
    W, x = -np.linalg.solve(by_x[:, :n], by_x[:, n : 2 * n]), q
    for _ in range(MOST_STEPS):
        rho = _defect(found)
        if rho <= REACHED:
            break
        G = found.gradients.toarray()
        S = G @ W @ G.T
        size = np.abs(np.diag(S))
        D = np.where(size > 0, 1 / np.sqrt(np.where(size > 0, size, 1.0)), 0.0)
        damped = D[:, None] * S * D + min(rho, LEAST_DAMPED) ** 2 * np.eye(len(S))
        update = W @ G.T @ (D * np.linalg.lstsq(damped, D * found.value, rcond=None)[0])
        for halving in range(HALVINGS):
            trial = constraints_at(system, t, x - update / 2**halving)
            if _defect(trial) < rho:
                x, found = x - update / 2**halving, trial
                break
        else:
            break
    return x if _defect(found) <= 1e-9 else q


def _defect(found: Constraints) -> float:
    largest = float(np.max(relative(found.value, found.scales), initial=0.0))
    return largest if np.isfinite(largest) else np.inf
