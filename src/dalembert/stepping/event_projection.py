"""Moving a state onto the constraints and the contacts that are held, in the metric of the kinetic energy.

First q moves onto g = 0 and the gaps `position`, along the constraint forces at the place where it begins; then the
velocity onto the constraints on it, U_N = 0 (`held`) and U_T = 0 (`sticking`). Each is Newton's method with the matrix
of the beginning: the moves are as small as the errors of a step.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..method.event_equations import Instant, Response, response

#: Newton's update, relative to the size of the state, that counts as none; and one that is forgiven if it shrinks no
#: further.
SMALLEST_UPDATE, SMALL_UPDATE = 4e-16, 1e-11
#: Numbers far below this are nothing beside it: a body at rest in the origin has no size to compare with.
SMALL_SIZE = 1e-6
ITERATIONS = 30
#: Singular values of a Delassus matrix below this part of the largest belong to contacts that depend on each other.
DEPENDENT_PART = 1e-12


def projected(
    instant: Callable[[np.ndarray], Instant], y: np.ndarray, momentum: bool, position, held, sticking
) -> np.ndarray | None:
    """y on the constraints, or None; `instant` of the same time, and whether y holds p or v."""
    at = instant(y)
    if len(at.constraint) or np.any(position):
        moved = _moved(instant, at, y, momentum, np.flatnonzero(position))
        if moved is None:
            return None
        y, at = moved, instant(moved)
    d = at.velocity.shape[1]
    rows = np.concatenate([d * np.flatnonzero(held), *(d * np.flatnonzero(sticking) + k for k in range(1, d))])
    return _turned(instant, at, y, momentum, np.sort(rows)) if len(at.hidden) or len(rows) else y


def _moved(instant, at: Instant, y: np.ndarray, momentum: bool, closed: np.ndarray) -> np.ndarray | None:
    """q on the constraints and the gaps `closed`."""
    found, d, m, n = response(at, momentum), at.velocity.shape[1], len(at.constraint), len(at.v)
    by_constraint, by_gap = found.v_by_constraint[:, :m], found.v_by_impulse[:, d * closed]
    normals, solve = at.directions[d * closed], _solver(found, d * closed)

    def update(y, at):
        change = -by_constraint @ at.constraint
        return np.concatenate([change - by_gap @ solve(at.gap[closed] + normals @ change), np.zeros(n)])

    return _newton(instant, at, y, update, n)


def _turned(instant, at: Instant, y: np.ndarray, momentum: bool, rows: np.ndarray) -> np.ndarray | None:
    """Velocities on the constraints, and zero for these rows of the contacts."""
    found, n = response(at, momentum), len(at.v)
    directions, solve = at.directions[rows], _solver(found, rows)

    def update(y, at):
        change = -found.v_by_constraint @ at.hidden
        impulse = solve(at.velocity.ravel()[rows] + directions @ change)
        second = found.second_by_constraint @ at.hidden + found.second_by_impulse[:, rows] @ impulse
        return np.concatenate([np.zeros(n), -second])

    return _newton(instant, at, y, update, 0)


def _solver(found: Response, rows: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """W_rows^-1; where rows depend on each other, the least impulses."""
    matrix = found.delassus[np.ix_(rows, rows)]
    if len(rows) == 1:
        return lambda right: right / matrix[0]
    scale = np.sqrt(np.maximum(np.diagonal(matrix), 1e-300))
    inverse = np.linalg.pinv(matrix / np.outer(scale, scale), rcond=DEPENDENT_PART, hermitian=True)
    return lambda right: inverse @ (right / scale) / scale


def _newton(instant, at: Instant, y: np.ndarray, update: Callable, n: int) -> np.ndarray | None:
    """Newton's method until its update is roundoff, or stops shrinking near it."""
    before, part = np.inf, slice(0, n) if n else slice(len(at.v), None)
    for _ in range(ITERATIONS):
        change = update(y, at)
        y = y + change
        size = np.max(np.abs(change)) / (np.max(np.abs(y[part])) + SMALL_SIZE)
        if size <= SMALLEST_UPDATE or (size >= before / 2 and size <= SMALL_UPDATE):
            return y
        if not np.isfinite(size):
            return None
        before, at = size, instant(y)
    return None
