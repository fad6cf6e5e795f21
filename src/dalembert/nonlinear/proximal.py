"""Proximal points for frictional contact: for matrices so singular that sweeps and Newton steps stand still.

In a heap of bodies with much friction there are more impulses than accelerations: W is singular, and what holds the
heap is not unique. The impulses r^(k+1) solve the same laws with W + rho 1 and b - rho r^k, which is regular; where
they no longer move, the laws hold with W and b. The smaller rho, the fewer of them it takes, and the harder each one
is: rho falls where they are found and rises where they are not. Knows no mechanics.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .alart_curnier import ContactProblem, alart_curnier

#: How many points are computed at most, and the sweeps and Newton steps that each attempt at one of them takes.
POINTS = 60
SWEEPS, NEWTON_STEPS = (20, 100, 400), 60
#: rho, in units in which the blocks on the diagonal of W are of order one: the first one, its factor and its limits.
FIRST, FACTOR, LEAST, LARGEST = 1e-1, 10.0, 1e-8, 10.0
#: The residual of a point, relative to the smallest found before: it is taken, and it is aimed at.
GOOD, AIM = 1e-2, 1e-3

Sweep = Callable[[ContactProblem, np.ndarray, int, float], tuple[np.ndarray, int]]


def proximal_points(problem: ContactProblem, r: np.ndarray, tolerance: float, sweep: Sweep) -> tuple[np.ndarray, int]:
    """The best impulses on a sequence of proximal points that begins at r, and the iterations spent."""
    best, least, rho, spent = r, problem.residual(r), FIRST, 0
    for _ in range(POINTS):
        if least <= tolerance:
            break
        r, is_found, iterations = _point(problem, r, rho, least, tolerance, sweep)
        spent += iterations
        residual = problem.residual(r)
        if residual < least:
            best, least = r, residual
        rho = max(rho / FACTOR, LEAST) if is_found else min(rho * FACTOR, LARGEST)
    return best, spent


def _point(
    problem: ContactProblem, r: np.ndarray, rho: float, least: float, tolerance: float, sweep: Sweep
) -> tuple[np.ndarray, bool, int]:
    """The proximal point of r, or what comes nearer to it than r does; and whether it was found."""
    blocks = problem.blocks.copy()
    blocks[problem.diagonal] += rho * np.eye(r.shape[1])
    shifted, spent, x = problem._replace(blocks=blocks, b=problem.b - rho * r), 0, r
    point, residual = r, np.inf
    for sweeps in SWEEPS:
        x, swept = sweep(shifted, x, sweeps, 0.1 * tolerance)
        point, steps = alart_curnier(shifted, x, max(0.1 * tolerance, AIM * least), NEWTON_STEPS)
        spent += swept + steps
        residual = shifted.residual(point)
        if residual <= max(tolerance, GOOD * least):
            return point, True, spent
    return (point if residual < shifted.residual(r) else r), False, spent
