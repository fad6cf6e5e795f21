"""The last resort for a step that Newton does not find: damping, partial pivoting, and continuation in the step size.

The unknowns of a step of size s h are followed from s near zero, where the method's guess is good, up to s = 1; each
point is a damped Newton solve with a sparse LU factorisation, started from the points before.
"""

from __future__ import annotations

import functools

import numpy as np

from .contract import StepFunctions
from .evaluate import Function, find_root
from .rows import RowFunction, one_row

_PATHS = ((1.0,), (0.25, 0.5, 0.75, 1.0), tuple(np.linspace(1 / 16, 1.0, 16)))


class Rescue:
    """Careful single steps of one method on one system."""

    def __init__(self, functions: StepFunctions) -> None:
        self._functions = functions
        self._residual = Function(functions.residual)
        self._guess, self._finish = RowFunction(functions.guess), RowFunction(functions.checked_finish)

    def step(self, state, compensation, t: float, h: float, parameters, compensated: bool):
        """(state, compensation) after one step, or None."""
        state = np.asarray(state, dtype=np.float64)
        if self._functions.explicit:
            return None
        if self._functions.rescue is not None:
            x = self._functions.rescue(t, h, state, parameters)
            if x is None:
                return None
            end = self._finish(*one_row(x, t, h, state, parameters))[0]
            return self.added(state, compensation, end, compensated) if np.all(np.isfinite(end)) else None
        for path in _PATHS:
            x = self._follow(path, state, t, h, parameters)
            if x is not None:
                end = self._finish(*one_row(x, t, h, state, parameters))[0]
                if np.all(np.isfinite(end)):
                    return self.added(state, compensation, end, compensated)
        return None

    def _follow(self, path, state, t, h, parameters) -> np.ndarray | None:
        points: list[tuple[float, np.ndarray]] = []
        for fraction in path:
            guess = self._guess(*one_row(t, fraction * h, state, parameters))[0]
            starts = [guess] if len(points) < 2 else [_extrapolated(points, fraction), guess]
            solve = functools.partial(self._solve, t, fraction * h, state, parameters)
            x = next((found for found in map(solve, starts) if found is not None), None)
            if x is None:
                return None
            points.append((fraction, x))
        return points[-1][1]

    def _solve(self, t, h, state, parameters, guess) -> np.ndarray | None:
        return find_root(self._residual, guess, t, h, state, parameters)

    def added(self, state, compensation, end, compensated: bool):
        """The state with the increments of a step added, and the roundoff to carry on."""
        n = self._functions.n_summed
        increment = end[:n] + (np.asarray(compensation, dtype=np.float64) if compensated else 0.0)
        total = state[:n] + increment
        part = total - state[:n]
        error = (state[:n] - (total - part)) + (increment - part)
        return np.concatenate([total, end[n:]]), error if compensated else compensation


def _extrapolated(points, fraction: float) -> np.ndarray:
    """Quadratic (or linear) extrapolation along the path."""
    newest = points[-3:]
    total = np.zeros_like(newest[-1][1])
    for k, (s, x) in enumerate(newest):
        weight = np.prod([(fraction - r) / (s - r) for j, (r, _) in enumerate(newest) if j != k])
        total += weight * x
    return total
