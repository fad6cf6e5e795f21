"""The motion nearest to one that is none, and why there is no plan: which condition, or which bound, stands in the way.

From where a solver gave up, the equations of the motion are satisfied and the conditions as well as they can be,
without regard to bounds: Gauss-Newton on |w c(z)|, in which the motion weighs much more than the conditions. What is
left of c is a condition out of reach; where nothing is left, it is a bound that stands in the way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sparse
import scipy.sparse.linalg as sparse_linalg

from .phased import Problem

#: How much more an equation of the motion weighs than a condition, and the part of the unknowns that is held.
WEIGHT, HELD = 1e4, 1e-8
ITERATIONS = 40
#: A condition counts as satisfied up to this.
SATISFIED = 1e-5


class Obstacle(NamedTuple):
    """What stands in the way, in words, and by how much it is missed."""

    name: str
    missed: float


def obstacle(problem: Problem, z: np.ndarray) -> Obstacle:
    """The condition or the bound that is missed most by the nearest motion."""
    z = nearest_motion(problem, z)
    rows = problem.evaluate(z)[1]
    outside = np.maximum(problem.row_lower - rows, rows - problem.row_upper)
    outside += np.abs(problem.slack_part(z))
    worst = int(np.argmax(outside))
    if outside[worst] > SATISFIED:
        return Obstacle(problem.name_of(worst), float(outside[worst]))
    beyond = np.maximum(problem.lower - z, z - problem.upper)
    worst = int(np.argmax(beyond))
    if beyond[worst] > SATISFIED:
        return Obstacle(f"the bound of {problem.name_of_unknown(worst)}", float(beyond[worst]))
    return Obstacle("", 0.0)


def nearest_motion(problem: Problem, z: np.ndarray, weight: float = WEIGHT) -> np.ndarray:
    """A point near z at which the rows are as small as can be, those of the motion weighing more."""
    weights = np.where(problem.is_motion, weight, 1.0)
    fixed = problem.lower == problem.upper

    def weighted(z: np.ndarray) -> np.ndarray:
        rows = problem.evaluate(z)[1]
        return weights * (rows - np.clip(rows, problem.row_lower, problem.row_upper))

    value = weighted(z)
    for _ in range(ITERATIONS):
        jacobian = sparse.diags(weights) @ problem.jacobian(problem(z)) @ sparse.diags(np.where(fixed, 0.0, 1.0))
        count, m = jacobian.shape[1], jacobian.shape[0]
        whole = sparse.bmat([[HELD * sparse.identity(count), jacobian.T], [jacobian, -sparse.identity(m)]], "csc")
        try:
            step = sparse_linalg.splu(whole).solve(-np.concatenate([np.zeros(count), value]))[:count]
        except RuntimeError:  # exactly singular
            break
        length = 1.0
        while length > 1e-3:
            trial = z + length * step
            new = weighted(trial)
            if (
                np.all(problem.lengths(trial) > 0)
                and np.all(np.isfinite(new))
                and np.linalg.norm(new) < np.linalg.norm(value)
            ):
                break
            length /= 2
        else:
            break
        done = np.linalg.norm(new) > (1 - 1e-6) * np.linalg.norm(value)
        z, value = trial, new
        if done:
            break
    return z
