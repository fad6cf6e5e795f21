"""Multiple shooting, a step an interval: the unknowns x of a step are found by Newton's method wherever its equations
are asked for, and are no unknowns of the plan.

With w = (s, U, t_0, T), residual R(x, w) = 0 and outputs F(x, w), the derivatives are exact::

    dx/dw = -R_x^-1 R_w,      dF/dw = F_w + F_x dx/dw

and those of f . F follow from the Lagrangian L = f . F + lambda . R with lambda = -R_x^-T (f . F)_x, whose derivative
by x is zero::

    d^2 (f . F) / dw^2 = N^T L_zz N,      N = dz/dw,      z = (x, w)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..engine import RowValues, solve_rows
from .discrete_steps import PlanSteps
from .question import Question
from .step_maps import StepParts, step_parts


class _Solved(NamedTuple):
    """Rows (s, x, U, t_0, T) with the x of the steps, and the derivatives of cost, residual and the others there."""

    rows: np.ndarray
    first: np.ndarray  # (steps, outputs, columns)
    values: np.ndarray
    dx: np.ndarray  # dx/dw


class ShootingSteps:
    """What a `RowDerivatives` of the steps answers, with x eliminated."""

    def __init__(self, functions: PlanSteps, parts: StepParts, rest: int) -> None:
        """`rest`: how many numbers a state has beside q, p and v."""
        self._functions, self._parts, self._rest = functions, parts, rest
        size, unknowns = functions.sizes.state, functions.sizes.unknowns
        self._x = np.arange(size, size + unknowns)
        self._residual = np.arange(1, 1 + unknowns)
        self._unknown: np.ndarray | None = None
        self._last: tuple[np.ndarray, _Solved] | None = None

    def with_unknowns(self, w: np.ndarray, frac, share, parameters) -> np.ndarray:
        """Rows (s, x, U, t_0, T); NaN where a step has no solution."""
        sizes = self._functions.sizes
        s, U, t0, T = np.split(w, np.cumsum([sizes.state, sizes.inputs, 1]), axis=1)
        t, h = t0[:, 0] + frac * T[:, 0], share * T[:, 0]
        state = np.concatenate([s, np.zeros((len(s), self._rest))], axis=1)
        guess = self._unknown
        if guess is None or len(guess) != len(w) or not np.all(np.isfinite(guess)):
            guess = self._parts.guess(t, h, state, U, parameters)
        found = self._parts.solve(guess, t, h, state, U, parameters)
        x = np.where(found.found[:, None], found.x, np.nan)
        self._unknown = x
        return np.concatenate([s, x, U, t0, T], axis=1)

    def _solved(self, w: np.ndarray, rest: tuple) -> _Solved:
        if self._last is not None and np.array_equal(self._last[0], w):
            return self._last[1]
        rows = self.with_unknowns(w, *rest)
        local = self._functions.local(rows, *rest)
        first = local.dense(rows.shape[1])
        others = np.setdiff1d(np.arange(rows.shape[1]), self._x)
        by_x, by_w = first[:, self._residual][:, :, self._x], first[:, self._residual][:, :, others]
        dx = np.stack([-solve_rows(by_x, by_w[:, :, j]) for j in range(len(others))], axis=2)
        found = _Solved(rows, first, local.values, dx)
        self._last = w.copy(), found
        return found

    def __call__(self, w, *rest) -> RowValues:
        """Values and first derivatives."""
        found = self._solved(w, rest)
        others = np.setdiff1d(np.arange(found.rows.shape[1]), self._x)
        outputs = np.delete(found.first, self._residual, axis=1)
        slopes = outputs[:, :, others] + outputs[:, :, self._x] @ found.dx
        row, column = (part.ravel() for part in np.indices(slopes.shape[1:]))
        values = np.delete(found.values, self._residual, axis=1)
        return RowValues(values, slopes.reshape(len(slopes), -1), row, column)

    def values(self, w, *rest) -> np.ndarray:
        """Values alone."""
        rows = self.with_unknowns(w, *rest)
        return np.delete(self._functions.local.values(rows, *rest), self._residual, axis=1)

    def curvature(self, w, factors, *rest) -> RowValues:
        """The gradient of factors . function by w, and the second derivatives at and below the diagonal."""
        found, factors = self._solved(w, rest), np.asarray(factors)
        outputs = np.delete(found.first, self._residual, axis=1)
        by_x = found.first[:, self._residual][:, :, self._x]
        adjoint = -solve_rows(np.swapaxes(by_x, 1, 2), np.einsum("ki,kij->kj", factors, outputs[:, :, self._x]))
        every = np.concatenate([factors[:, :1], adjoint, factors[:, 1:]], axis=1)
        local = self._functions.local.curvature(found.rows, every, *rest)
        count = found.rows.shape[1]
        others = np.setdiff1d(np.arange(count), self._x)
        whole = np.zeros((len(w), count, count))
        whole[:, local.row, local.column] = local.entries
        whole[:, local.column, local.row] = local.entries
        N = np.zeros((len(w), count, len(others)))
        N[:, others, np.arange(len(others))] = 1.0
        N[:, self._x] = found.dx
        reduced = np.swapaxes(N, 1, 2) @ whole @ N
        row, column = np.tril_indices(len(others))
        return RowValues(local.values[:, others], reduced[:, row, column], row, column)


def shooting_steps(asked: Question, functions: PlanSteps, family) -> PlanSteps:
    """The steps of a plan without their unknowns."""
    layout = asked.layout
    parts = step_parts(family, asked.method, layout, asked.points)
    steps = ShootingSteps(functions, parts, layout.n_state - 3 * layout.n)

    def multipliers(w, *rest):
        return functions.multipliers(steps.with_unknowns(w, *rest), *rest)

    def nothing(t, *rest):
        return np.zeros((len(t), 0))

    return functions._replace(
        sizes=functions.sizes._replace(unknowns=0), equations=(), guess=nothing, local=steps, multipliers=multipliers
    )
