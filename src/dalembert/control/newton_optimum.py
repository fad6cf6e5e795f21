"""Newton's method on the conditions of an optimum, for problems without inequalities.

Minimise f(z) where c(z) = 0. With L = f + mu . c, an iteration solves::

    [ L_zz + delta I    c_z^T     ] [ dz  ]       [ f_z + c_z^T mu ]
    [ c_z              -epsilon I ] [ dmu ]  =  - [ c              ]

delta is raised until dz is a direction in which L is convex, dz . (L_zz + delta I) dz > 0 (Chiang, Zavala 2016,
doi:10.1007/s10589-015-9820-y); epsilon lets rows of c depend on each other. The step is shortened until f or |c|_1
falls and no earlier iterate had less of both (a filter; Waechter, Biegler 2006, doi:10.1007/s10107-004-0559-y); where
it fails by the curvature of c alone, it is corrected once with the same matrix, and where no length will do, delta is
raised further, which turns the step towards c = 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sparse
import scipy.sparse.linalg as sparse_linalg

from ..engine import is_wanted
from .infeasible import nearest_motion
from .phased import Problem
from .transcription import Values

#: Rows that depend on each other are let go by this part of their multiplier.
EPSILON = 1e-10
#: delta, where L is not convex along the step: the first, the most, by how much it grows and shrinks.
FIRST_DELTA, MOST_DELTA, GROWTH, SHRINKAGE = 1e-4, 1e12, 8.0, 1 / 3
#: The least curvature along a step.
CURVATURE = 1e-11
#: A converged point: gradient of L and rows, relative to those of the problem; and where roundoff ends the iteration.
CONVERGED, ROUNDOFF = 1e-9, 1e-6
#: A cost below minus this falls without bound.
UNBOUNDED = 1e15
#: Part of the predicted descent that a step must reach, the part by which rows must shrink, and the shortest step.
DESCENT, MARGIN, SHORTEST = 1e-4, 1e-5, 2.0**-14
#: At a stationary point: directions that are tried to see whether it is a minimum, and how often a saddle is left.
PROBES, MOST_ESCAPES = 6, 5
#: How often it begins again from the nearest motion.
MOST_RESTORED = 3
#: Rows whose sum lies below this count as satisfied where the cost still falls.
SMALL_ROWS = 1e-4


@dataclass
class Solution:
    """Where an iteration ended.

    Attributes:
        z, multipliers: of the problem.
        found: whether it is an optimum.
        reason: in one word if not: "infeasible", "unbounded", "iterations", "stuck", "not finite", "interrupted".
        history: cost, largest row and gradient of L, one row an iteration.
    """

    z: np.ndarray
    multipliers: np.ndarray
    found: bool
    reason: str
    history: np.ndarray
    solver: str
    more: dict[str, np.ndarray] = field(default_factory=dict)


class _Direction(NamedTuple):
    """A step, its matrix, and the delta with which it was found."""

    dz: np.ndarray
    dmu: np.ndarray
    matrix: _Matrix
    delta: float


class _Matrix:
    """The factorised matrix of an iteration."""

    def __init__(self, hessian: Any, rows: Any, delta: float) -> None:
        n, m = hessian.shape[0], rows.shape[0]
        self.n = n
        shifted = hessian + delta * sparse.identity(n)
        whole = sparse.bmat([[shifted, rows.T], [rows, -EPSILON * sparse.identity(m)]], format="csc")
        self._whole, self._factors = whole, sparse_linalg.splu(whole)

    def solve(self, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """dz and dmu, refined once."""
        found = self._factors.solve(right)
        found += self._factors.solve(right - self._whole @ found)
        return found[: self.n], found[self.n :]


def newton_optimum(
    problem: Problem, z: np.ndarray, multipliers: np.ndarray, max_iterations: int,
    tell: Callable[[int, float, float], None],
) -> Solution:  # fmt: skip
    """The optimum next to z; `tell` hears of every iteration: its number, cost, largest row."""
    return _Newton(problem, z, multipliers).run(max_iterations, tell)


class _Newton:
    """The state of the iteration. Rows are scaled to have entries of size one."""

    def __init__(self, problem: Problem, z: np.ndarray, multipliers: np.ndarray) -> None:
        self.problem, self.z = problem, z.copy()
        # a length that is given takes no part
        self.fixed = problem.lower == problem.upper
        self.z[self.fixed] = problem.lower[self.fixed]
        self.values = problem(self.z)
        largest = np.asarray(np.max(abs(problem.jacobian(self.values)), axis=1).todense()).ravel()
        self.scales = 1.0 / np.maximum(largest, 1e-8)
        self.mu = multipliers / self.scales
        self.delta, self.last_delta = 0.0, 0.0
        self.escapes = self.restored = 0
        self.filter: list[tuple[float, float]] = []
        self.history: list[tuple[float, float, float]] = []

    def run(self, max_iterations: int, tell) -> Solution:
        for iteration in range(max_iterations + 1):
            rows, jacobian, slope = self._conditions(self.values)
            error, gradient = float(np.max(np.abs(rows), initial=0.0)), float(np.max(np.abs(slope), initial=0.0))
            self.history.append((self.values.cost, error, gradient))
            tell(iteration, self.values.cost, error)
            if not np.isfinite(self.values.cost + error + gradient):
                return self._end("not finite")
            if is_wanted():
                return self._end("interrupted")
            scale = 1.0 + float(np.max(np.abs(self.values.gradient), initial=0.0))
            if error <= CONVERGED and (gradient <= CONVERGED * scale or self._stalls(gradient, scale)):
                if not self._leaves_saddle(jacobian):
                    return self._polished(rows, jacobian, slope)
                continue
            if not self._step(rows, jacobian, slope):
                if error <= ROUNDOFF and gradient <= ROUNDOFF * scale:
                    return self._end("")
                if error <= ROUNDOFF or self.restored >= MOST_RESTORED:
                    return self._end("infeasible" if error > ROUNDOFF else "stuck")
                self._restore()
            if self.values.cost < -UNBOUNDED:
                return self._end("unbounded")
        return self._end("infeasible" if self.history[-1][1] > 1e-4 else "iterations")

    def _stalls(self, gradient: float, scale: float) -> bool:
        """Whether roundoff alone is left: multipliers of nearly dependent conditions have few digits."""
        before = [row[2] for row in self.history[-4:-1]]
        return gradient <= ROUNDOFF * scale and len(before) == 3 and gradient > min(before) / 4

    def _leaves_saddle(self, jacobian) -> bool:
        """At a stationary point that is no minimum, move along a direction in which L falls: with d from the matrix
        and the right side (r, 0), d . L_zz d = d . r is positive for every r at a minimum."""
        if self.escapes >= MOST_ESCAPES:
            return False
        hessian, random = self._hessian(), np.random.default_rng(0)
        count, m = hessian.shape[0], jacobian.shape[0]
        try:
            matrix = _Matrix(hessian, jacobian, 0.0)
        except RuntimeError:  # exactly singular: no direction is known
            return False
        for _ in range(PROBES):
            r = np.where(self.fixed, 0.0, random.standard_normal(count))
            d = matrix.solve(np.concatenate([r, np.zeros(m)]))[0]
            if np.all(np.isfinite(d)) and d @ r < -1e-9 * np.linalg.norm(d) * np.linalg.norm(r):
                length = 1e-2 * (1.0 + float(np.max(np.abs(self.z)))) / float(np.max(np.abs(d)))
                self._take(self.z + length * d, np.zeros(m))
                self.escapes, self.filter = self.escapes + 1, []
                return True
        return False

    def _restore(self) -> None:
        """Begin again from the nearest point that satisfies the rows, as far as there is one."""
        self.z = nearest_motion(self.problem, self.z, 1.0)
        self.values, self.mu = self.problem(self.z), np.zeros_like(self.mu)
        self.restored, self.filter, self.last_delta = self.restored + 1, [], 0.0

    def _end(self, reason: str) -> Solution:
        return Solution(self.z, self.mu * self.scales, not reason, reason, np.array(self.history), "Newton")

    def _conditions(self, values: Values) -> tuple[np.ndarray, sparse.csr_matrix, np.ndarray]:
        """Scaled rows and their derivatives, and the gradient of L."""
        jacobian = sparse.csr_matrix(sparse.diags(self.scales) @ self.problem.jacobian(values))
        if self.fixed.any():
            jacobian = sparse.csr_matrix(jacobian @ sparse.diags(np.where(self.fixed, 0.0, 1.0)))
        slope = np.where(self.fixed, 0.0, values.gradient + jacobian.T @ self.mu)
        return self.scales * values.rows, jacobian, slope

    def _hessian(self) -> Any:
        entries = self.problem.hessian_entries(self.z, self.mu * self.scales)
        row, column = self.problem.hessian_pattern
        off = row != column
        count, moving = self.problem.count, ~self.fixed
        entries = np.where(moving[row] & moving[column], entries, 0.0)
        whole = (np.concatenate([row, column[off]]), np.concatenate([column, row[off]]))
        found = sparse.csc_matrix((np.concatenate([entries, entries[off]]), whole), shape=(count, count))
        return found + sparse.diags(np.where(self.fixed, 1.0, 0.0))

    def _direction(self, hessian, rows, jacobian, slope, delta: float) -> _Direction | None:
        """The step with the least delta, from the given one on, with which L is convex along it."""
        right = -np.concatenate([slope, rows])
        while delta <= MOST_DELTA:
            try:
                matrix = _Matrix(hessian, jacobian, delta)
                dz, dmu = matrix.solve(right)
                if np.all(np.isfinite(dz)) and np.all(np.isfinite(dmu)):
                    curvature = dz @ (hessian @ dz) + delta * dz @ dz
                    at_rows = max(0.0, -float((self.mu + dmu) @ rows))
                    if curvature + at_rows >= CURVATURE * (dz @ dz):
                        return _Direction(dz, dmu, matrix, delta)
            except RuntimeError:  # exactly singular
                pass
            delta = self._raised(delta)
        return None

    def _raised(self, delta: float) -> float:
        return GROWTH * delta if delta else max(FIRST_DELTA, self.last_delta * SHRINKAGE)

    def _step(self, rows, jacobian, slope) -> bool:
        """One step that the filter accepts; False if there is none."""
        hessian, delta = self._hessian(), 0.0
        while delta <= MOST_DELTA:
            found = self._direction(hessian, rows, jacobian, slope, delta)
            if found is None:
                return False
            self.delta = found.delta
            if self._along(found, rows):
                self.last_delta = found.delta or self.last_delta
                return True
            delta = self._raised(found.delta)
        return False

    def _along(self, found: _Direction, rows) -> bool:
        """Take the longest part of a step that the filter accepts."""
        total = float(np.sum(np.abs(rows)))
        descent, length = float(np.where(self.fixed, 0.0, self.values.gradient) @ found.dz), 1.0
        while length >= SHORTEST:
            trial = self.z + length * found.dz
            if self._accepts(trial, total, length * descent):
                return self._take(trial, length * found.dmu)
            if length == 1.0 and self._has_length(trial):
                again = self.problem.evaluate(trial)[1] * self.scales
                if np.all(np.isfinite(again)):
                    right = -np.concatenate([np.zeros(len(trial)), again])
                    trial = trial + found.matrix.solve(right)[0]
                    if self._accepts(trial, total, descent):
                        return self._take(trial, found.dmu)
            length /= 2
        return False

    def _has_length(self, z: np.ndarray) -> bool:
        """Whether the length of the plan is positive."""
        return bool(np.all(self.problem.lengths(z) > 0.0))

    def _accepts(self, trial: np.ndarray, total: float, descent: float) -> bool:
        """Whether a point has less cost or smaller rows than this one and all in the filter; this one joins the filter
        where it is the rows that shrink."""
        if not self._has_length(trial):
            return False
        cost, rows = self.problem.evaluate(trial)
        new, now = float(np.sum(np.abs(self.scales * rows))), self.values.cost
        if not np.isfinite(cost + new) or any(new >= t and cost >= f for t, f in self.filter):
            return False
        noise = 1e-13 * (1.0 + abs(now))
        if descent < 0.0 and total <= SMALL_ROWS and -descent > total:
            return cost <= now + DESCENT * descent + noise and new <= max(total, 2 * SMALL_ROWS)
        if new <= (1 - MARGIN) * total or cost <= now - MARGIN * total + noise * (total <= SMALL_ROWS):
            if total > 1e-12:
                self.filter.append(((1 - MARGIN) * total, now - MARGIN * total))
            return True
        return False

    def _take(self, z: np.ndarray, dmu: np.ndarray) -> bool:
        self.z, self.mu = z, self.mu + dmu
        self.values = self.problem(z)
        return True

    def _polished(self, rows, jacobian, slope) -> Solution:
        """The last steps, to roundoff."""
        before = np.inf
        for _ in range(3):
            found = self._direction(self._hessian(), rows, jacobian, slope, 0.0)
            size = max(float(np.max(np.abs(rows), initial=0.0)), float(np.max(np.abs(slope), initial=0.0)))
            if found is None or found.delta or size >= before / 2:
                break
            before = size
            self._take(self.z + found.dz, found.dmu)
            rows, jacobian, slope = self._conditions(self.values)
        return self._end("")
