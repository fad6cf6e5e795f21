"""The last resort for a step that Newton does not find: continuation in the step size, with partial pivoting.

The solution that is meant is the one that begins at the method's guess for a step of size zero. The unknowns of a step
of size s h are followed from a small s up to s = 1. Each point is a Newton solve with a sparse LU factorisation that
starts from the points before, and counts only if every update is at most half as large as the one before it: else it
may have gone over to another solution, and a smaller stride is tried. Where the solution ends on the way (it meets
another one, the Jacobian is singular there) no stride is small enough: the equations of a step of this size have no
solution that belongs to the motion.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from ..contract import StepFunctions, rounded
from ..functions.batched import RowFunction, one_row
from ..functions.function import Function, find_root, solve_linear

#: Where the residual has kinks no update need be smaller than the one before: these points, with damping.
_PATHS = ((1.0,), (0.25, 0.5, 0.75, 1.0), tuple(np.linspace(1 / 16, 1.0, 16)))
#: The first point of a path, and the stride below which it has ended.
FIRST_POINT, SHORTEST_STRIDE = 1 / 16, 1 / 4096
#: Updates must shrink by this factor; where they shrink by the second, the stride is doubled.
CONTRACTION, QUICK_CONTRACTION = 0.5, 0.1
#: An extrapolated point that is off by more, in units of the unknowns' sizes, may belong to another solution.
JUMP = 0.25
#: A point on the way is known well enough when the update is this small, in units of the unknowns' sizes.
ON_THE_WAY = 1e-5
MOST_ITERATIONS = 15
#: Unknowns are measured in sizes beside which their roundoff is at most this.
ROUNDOFF = 1e-14
#: Two points differ by the roundoff of one of them or more; of a few the largest difference counts.
ROUNDINGS = 3


class Rescued(NamedTuple):
    """The end of a step, the roundoff to carry on, and the unknowns of the method."""

    state: np.ndarray
    compensation: np.ndarray
    x: np.ndarray


class Rescue:
    """Careful single steps of one method on one system."""

    def __init__(self, functions: StepFunctions) -> None:
        self._functions = functions
        self._residual = Function(functions.residual)
        self._guess, self._finish = RowFunction(functions.guess), RowFunction(functions.checked_finish)
        groups = np.repeat(np.arange(len(functions.blocks)), functions.blocks)
        self._members = [np.flatnonzero(groups == k) for k in range(len(functions.blocks))]

    def step(self, state, compensation, t: float, h: float, parameters, compensated: bool) -> Rescued | None:
        """One step, or None."""
        x = self.solution(state, t, h, parameters)
        if x is None:
            return None
        end = self._finish(*one_row(x, t, h, np.asarray(state, dtype=np.float64), parameters))[0]
        return Rescued(*self.added(state, compensation, end, compensated), x) if np.all(np.isfinite(end)) else None

    def solution(self, state, t: float, h: float, parameters) -> np.ndarray | None:
        """The unknowns of one step, or None."""
        state, functions = np.asarray(state, dtype=np.float64), self._functions
        if functions.explicit:
            return None
        if functions.rescue is not None:
            return functions.rescue(t, h, state, parameters)
        if functions.smooth:
            return self._continued(t, h, state, parameters)
        paths = (self._damped(path, t, h, state, parameters) for path in _PATHS)
        return next((x for x in paths if x is not None), None)

    def roundoff(self, x: np.ndarray, t: float, h: float, state, parameters) -> np.ndarray:
        """By how much the solution moves, in every group of unknowns, if unknowns and state are rounded otherwise: what
        no solver can find better. (With positions of size 1 and h = 0.001 a velocity is known to 1e-13.)"""
        random, rest, state = np.random.default_rng(0), (t, h), np.asarray(state, dtype=np.float64)
        residual, jacobian = self._residual(x, *rest, state, parameters)
        moved = np.zeros(len(x))
        for _ in range(ROUNDINGS):
            other, _ = self._residual(rounded(x, random), *rest, rounded(state, random), parameters)
            moved = np.fmax(moved, np.abs(solve_linear(jacobian, other - residual)))
        return self._of_groups(np.where(np.isfinite(moved), moved, 0.0))

    def _of_groups(self, numbers: np.ndarray) -> np.ndarray:
        """The largest absolute value of its group, for every unknown."""
        found = np.zeros(len(numbers))
        for members in self._members:
            found[members] = np.max(np.abs(numbers[members]), initial=0.0)
        return found

    def _continued(self, t, h, state, parameters) -> np.ndarray | None:
        """The solution that begins at the guess for h = 0. What is extrapolated is by how much the guess misses."""
        points: list[tuple[float, np.ndarray]] = []
        reached, stride, seen = 0.0, FIRST_POINT, np.zeros(self._functions.size)
        while reached < 1.0:
            ahead = min(1.0, reached + stride)
            guess = self._guess(*one_row(t, ahead * h, state, parameters))[0]
            start = guess + _extrapolated(points, ahead) if points else guess
            first = JUMP if points else np.inf
            x, rate = self._contracted(start, first, seen, t, ahead * h, state, parameters, exactly=ahead == 1.0)
            if x is None:
                stride /= 2
                if stride < SHORTEST_STRIDE:
                    return None
                continue
            reached, seen = ahead, np.maximum(seen, self._of_groups(x))
            points.append((reached, x - guess))
            if rate <= QUICK_CONTRACTION:
                stride *= 2
        return points[-1][1] + guess

    def _contracted(
        self, x, first: float, seen, t, h, state, parameters, exactly: bool
    ) -> tuple[np.ndarray | None, float]:
        """Newton whose first update is at most `first` and whose others shrink all the way, and the largest ratio of
        two of them; None where they do not. `seen` are the sizes that the unknowns had on the way."""
        seen = np.maximum(seen, self.roundoff(x, t, h, state, parameters) / ROUNDOFF)
        before, worst = first / CONTRACTION, 0.0
        for _ in range(MOST_ITERATIONS):
            value, jacobian = self._residual(x, t, h, state, parameters)
            update = solve_linear(jacobian, value)
            if not np.all(np.isfinite(update)):
                break
            sizes = np.maximum(self._of_groups(np.maximum(np.abs(x), np.abs(x - update))), seen)
            size = float(np.max(np.abs(update) / np.where(sizes > 0, sizes, 1.0), initial=0.0))
            shrinks = size <= CONTRACTION * before
            if size > ON_THE_WAY and not shrinks:
                break
            x = x - update
            if size <= ON_THE_WAY and (not exactly or size <= ROUNDOFF or not shrinks):
                return x, worst
            worst, before = (max(worst, size / before) if np.isfinite(before) else worst), size
        return None, np.inf

    def _damped(self, path, t, h, state, parameters) -> np.ndarray | None:
        points: list[tuple[float, np.ndarray]] = []
        for fraction in path:
            guess = self._guess(*one_row(t, fraction * h, state, parameters))[0]
            starts = [guess] if len(points) < 2 else [_extrapolated(points, fraction), guess]
            solve = functools.partial(find_root, self._residual)
            found = (solve(start, t, fraction * h, state, parameters) for start in starts)
            x = next((x for x in found if x is not None), None)
            if x is None:
                return None
            points.append((fraction, x))
        return points[-1][1]

    def added(self, state, compensation, end, compensated: bool):
        """The state with the increments of a step added, and the roundoff to carry on."""
        state = np.asarray(state, dtype=np.float64)
        n = self._functions.n_summed
        increment = end[:n] + (np.asarray(compensation, dtype=np.float64) if compensated else 0.0)
        total = state[:n] + increment
        part = total - state[:n]
        error = (state[:n] - (total - part)) + (increment - part)
        return np.concatenate([total, end[n:]]), error if compensated else compensation


def _extrapolated(points, fraction: float) -> np.ndarray:
    """Quadratic (or linear, or constant) extrapolation along the path."""
    newest = points[-3:]
    total = np.zeros_like(newest[-1][1])
    for k, (s, x) in enumerate(newest):
        weight = np.prod([(fraction - r) / (s - r) for j, (r, _) in enumerate(newest) if j != k])
        total += weight * x
    return total
