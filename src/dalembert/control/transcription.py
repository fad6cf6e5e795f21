"""All steps of a plan as one problem of optimisation with sparse derivatives (direct transcription).

Unknowns, in the order of time: for every step z_k = (s_k, x_k, U_k), with the state s = (q, p, v), the unknowns x of
the step and the inputs U at its points; then the state s_N at the end, slacks alpha, the time t_0 at which the plan
begins, and the horizon T::

    minimise    sum_k cost_k(z_k, t_0, T) + final(s_N, t_0, T) + |alpha|^2 / 2
    subject to  0 = residual(x_k; s_k, U_k, t_0, T)
                0 = s_(k+1) - end(x_k; s_k, U_k, t_0, T)
                0 = start of s_0                            a state, or consistency
                0 = conditions(s_0, s_N, t_0, T) - W alpha
                0 <= path at the beginning of every step and at the end
                0 <= forces at the end of every step        where contacts are closed

t_0 is given, but in phases that follow others.

The equations of the steps keep the states on the constraint manifold, so conditions on both ends depend on them where
they ask for more than the manifold leaves free, as those on a whole position in redundant coordinates do. The columns
of W are an orthonormal basis of these directions, W^T E T_M = 0 with E the derivative of the conditions and T_M the
tangent space of the manifold at both ends; alpha is zero at a solution.

With the multipliers factor_k of the step's rows, the derivatives of the Lagrangian by z_k come from the same traced
functions; `costate` is that by s_k, the derivative of the remaining cost by the state at t_k.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sparse
from scipy.linalg import null_space

from ..engine import Function
from ..stepping import Family, flat_parameters
from .discrete_steps import PlanEnds, PlanSteps, conditions, plan_ends, plan_steps
from .question import Question, manifold
from .shooting import shooting_steps

#: Singular values below this part of the largest are zeros.
RANK = 1e-8


class Values(NamedTuple):
    """The problem at one z: cost, its gradient, the rows of the constraints, their derivatives (entries of the
    pattern)."""

    cost: float
    gradient: np.ndarray
    rows: np.ndarray
    entries: np.ndarray


class Transcription:
    """The problem of the module's docstring as functions of one vector z."""

    def __init__(self, question: Question, ends: np.ndarray) -> None:
        """`ends`: (q_0, v_0, q_N, v_N) near the plan, where the dependent conditions are looked for."""
        self.question = asked = question
        family, n = Family(asked.system), asked.layout.n
        self.parameters = np.asarray(flat_parameters(asked.system))
        self.functions: PlanSteps = plan_steps(
            family, asked.method, asked.layout, asked.points, asked.wishes, asked.path_size
        )
        if asked.shoots:
            self.functions = shooting_steps(asked, self.functions, family)
        self.ends: PlanEnds = plan_ends(family, asked.layout, asked.points, asked.wishes)
        self.sizes = self.functions.sizes
        self.block = sum(self.sizes[:3])
        self.rows_per_step = sum(self.sizes) - self.sizes.inputs
        self.dependent = self._dependent(ends)
        self.conditions = len(self.dependent)
        layout = asked.layout
        self.begin = 3 * n if asked.wishes.starts_in_state else n + 2 * layout.m + layout.k
        if asked.wishes.linked:
            self.begin = 0
        slacks = self.dependent.shape[1]
        self._slack_at = asked.steps * self.block + 3 * n
        self.count = self._slack_at + slacks + 2
        self._last_row = asked.steps * self.rows_per_step
        self.row_count = self._last_row + self.begin + self.conditions + asked.path_size
        self._shares = asked.begins[:-1], asked.shares
        self._places = self._step_places(), self._end_places()
        self._pattern: tuple[np.ndarray, np.ndarray] | None = None
        self._hessian_pattern: tuple[np.ndarray, np.ndarray] | None = None
        self._anchor, self._weights = np.zeros(self.count), np.zeros(self.count)
        self._bounds()

    def anchor(self, z: np.ndarray) -> None:
        """Without a cost of the user's: |w (z - z_0)|^2 / 2, where w takes the start, the inputs and the length."""
        wishes, size = self.question.wishes, self.sizes.state
        if wishes.cost is None and wishes.final is None:
            n, weights = size // 3, np.zeros(self.count)
            weights[:n], weights[2 * n : size], weights[-1] = 1.0, 1.0, 1.0
            self.blocks(weights)[:, self.block - self.sizes.inputs :] = self.question.shares[:, None]
            self._anchor, self._weights = z.copy(), weights

    def beginning(self, question: Question) -> Transcription:
        """The same problem from another start at another time."""
        other = copy.copy(self)
        other.question, other.lower, other.upper = question, self.lower.copy(), self.upper.copy()
        other.lower[-2] = other.upper[-2] = question.t0
        return other

    def moved_on(self, z: np.ndarray, multipliers: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray]:
        """A solution and its multipliers, moved on by so many steps; the last step is repeated."""
        count = self.question.steps
        later = np.minimum(np.arange(count) + steps, count - 1)
        moved, turned = z.copy(), multipliers.copy()
        self.blocks(moved)[:] = self.blocks(z)[later]
        own = multipliers[: self._last_row].reshape(count, self.rows_per_step)
        turned[: self._last_row], moved[-2] = own[later].ravel(), self.question.t0
        return moved, turned

    def _dependent(self, ends: np.ndarray) -> np.ndarray:
        """W: directions of the conditions that the manifold takes from them."""
        asked, n = self.question, self.question.layout.n
        T = asked.horizon[1] if np.isfinite(asked.horizon[1]) else 1.0
        function = Function(lambda y, t0, T, given: conditions(asked.wishes, y, n, t0, T, given))
        value, jacobian = function(ends, asked.t0, T, asked.given)
        if not len(value):
            return np.zeros((0, 0))
        return null_space((jacobian.toarray() @ manifold(asked, ends, T)).T, rcond=RANK)

    # -- the vector of unknowns --------------------------------------------------------------------------------

    def pack(self, states: np.ndarray, x: np.ndarray, U: np.ndarray, T: float) -> np.ndarray:
        """z from states (N + 1, 3n), unknowns (N, ...) and inputs (N, points * inputs); the slacks are zero."""
        blocks = np.concatenate([states[:-1], x, U], axis=1)
        slacks, t0 = np.zeros(self.dependent.shape[1]), self.question.t0
        return np.concatenate([blocks.ravel(), states[-1], slacks, [t0, T]])

    def blocks(self, z: np.ndarray) -> np.ndarray:
        """z_k = (s_k, x_k, U_k) for every step."""
        return z[: self.question.steps * self.block].reshape(self.question.steps, self.block)

    def states(self, z: np.ndarray) -> np.ndarray:
        """s_k, (N + 1, 3n)."""
        size = self.sizes.state
        last = z[self.question.steps * self.block :][:size]
        return np.concatenate([self.blocks(z)[:, :size], last[None]])

    def inputs(self, z: np.ndarray) -> np.ndarray:
        """U, (N, points, inputs)."""
        asked = self.question
        found = self.blocks(z)[:, self.block - self.sizes.inputs :]
        return found.reshape(asked.steps, len(asked.points), asked.inputs.size)

    def slacks(self, z: np.ndarray) -> np.ndarray:
        """alpha."""
        return z[self._slack_at : -2]

    def lengths(self, z: np.ndarray) -> np.ndarray:
        """T, which must be positive."""
        return z[-1:]

    def size(self, z: np.ndarray) -> float:
        """The largest coordinate."""
        return float(np.max(np.abs(self.states(z)[:, : self.question.layout.n])))

    def _bounds(self) -> None:
        """Bounds of z and of the rows."""
        asked, size = self.question, self.sizes.state
        n = size // 3
        self.lower, self.upper = np.full(self.count, -np.inf), np.full(self.count, np.inf)
        for bounds, own, of_input in (
            (self.lower, asked.lower, asked.inputs.lower), (self.upper, asked.upper, asked.inputs.upper)
        ):  # fmt: skip
            missing = np.full(n, bounds[0])
            of_state = np.concatenate([own[:n], missing, own[n:]])
            blocks = bounds[: asked.steps * self.block].reshape(asked.steps, self.block)
            blocks[1 if asked.wishes.starts_in_state else 0 :, :size] = of_state
            blocks[:, self.block - self.sizes.inputs :] = np.tile(of_input, len(asked.points))
            bounds[asked.steps * self.block :][:size] = of_state
        self.lower[-2:], self.upper[-2:] = (asked.t0, asked.horizon[0]), (asked.t0, asked.horizon[1])
        self.row_lower = np.zeros(self.row_count)
        self.row_upper = np.zeros(self.row_count)
        steps = self.row_upper[: self._last_row].reshape(asked.steps, self.rows_per_step)
        steps[:, self.sizes.unknowns + self.sizes.state :] = np.inf
        self.row_upper[self.row_count - asked.path_size :] = np.inf

    def path_row(self, which: int, at_start: bool) -> int:
        """The number of a row of path, at the start or at the end."""
        if at_start:
            return self.sizes.unknowns + self.sizes.state + which
        return self.row_count - self.question.path_size + which

    # -- where entries belong ----------------------------------------------------------------------------------

    def _step_places(self) -> np.ndarray:
        """The number in z of every entry of (z_k, t_0, T), a row for each step."""
        own = np.arange(self.block) + self.block * np.arange(self.question.steps)[:, None]
        last = np.broadcast_to([self.count - 2, self.count - 1], (len(own), 2))
        return np.concatenate([own, last], axis=1)

    def _end_places(self) -> np.ndarray:
        """The number in z of every entry of y = (s_0, s_N, U_(N-1), t_0, T)."""
        size, last = self.sizes.state, self.question.steps * self.block
        inputs = np.arange(last - self.sizes.inputs, last)
        return np.concatenate([np.arange(size), last + np.arange(size), inputs, [self.count - 2, self.count - 1]])

    # -- values ------------------------------------------------------------------------------------------------

    def _arguments(self, z: np.ndarray) -> tuple[np.ndarray, ...]:
        """(z_k, t_0, T) and the other arguments of the step's functions."""
        asked, rows = self.question, z[self._places[0]]
        many = np.broadcast_to(self.parameters, (asked.steps, len(self.parameters)))
        return rows, *self._shares, many

    def _end_arguments(self, z: np.ndarray) -> tuple[np.ndarray, ...]:
        asked = self.question
        rest = (asked.given, asked.p_given, self.parameters)
        return z[self._places[1]][None], *(part[None] for part in rest)

    def _rows(self, z: np.ndarray, local: np.ndarray, end: np.ndarray) -> np.ndarray:
        size, first = self.sizes.state, 1 + self.sizes.unknowns
        states, own = self.states(z), local[:, 1:].copy()
        own[:, first - 1 : first - 1 + size] = states[1:] - local[:, first : first + size]
        last = end[1:].copy()
        last[self.begin : self.begin + self.conditions] -= self.dependent @ self.slacks(z)
        return np.concatenate([own.ravel(), last])

    def evaluate(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        """Cost and rows alone."""
        local = self.functions.local.values(*self._arguments(z))
        end = self.ends.local.values(*self._end_arguments(z))[0]
        return self._cost(z, local, end), self._rows(z, local, end)

    def _cost(self, z: np.ndarray, local: np.ndarray, end: np.ndarray) -> float:
        slacks, away = self.slacks(z), z - self._anchor
        return float(np.sum(local[:, 0]) + end[0] + 0.5 * slacks @ slacks + 0.5 * self._weights @ away**2)

    def __call__(self, z: np.ndarray) -> Values:
        """Cost and rows with their derivatives."""
        local, end = self.functions.local(*self._arguments(z)), self.ends.local(*self._end_arguments(z))
        gradient = self._weights * (z - self._anchor)
        of_cost = local.row == 0
        np.add.at(gradient, self._places[0][:, local.column[of_cost]], local.entries[:, of_cost])
        np.add.at(gradient, self._places[1][end.column[end.row == 0]], end.entries[0, end.row == 0])
        gradient[self._slack_at : -2] += self.slacks(z)
        if self._pattern is None:
            self._pattern = self._make_pattern(local, end)
        first = 1 + self.sizes.unknowns
        is_end = (local.row >= first) & (local.row < first + self.sizes.state)
        signed = np.where(is_end, -1.0, 1.0) * local.entries
        entries = np.concatenate([
            signed[:, ~of_cost].ravel(), np.ones(self.question.steps * self.sizes.state),
            end.entries[0, end.row > 0], -self.dependent.ravel(),
        ])  # fmt: skip
        own = local.values, end.values[0]
        return Values(self._cost(z, *own), gradient, self._rows(z, *own), entries)

    def _make_pattern(self, local: Any, end: Any) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the derivatives of the rows, in the order of `Values.entries`."""
        steps, size, first = self.question.steps, self.sizes.state, self.sizes.unknowns
        used, step = local.row > 0, np.arange(steps)[:, None]
        rows = step * self.rows_per_step + (local.row[used] - 1)
        columns = self._places[0][:, local.column[used]]
        next_rows = step * self.rows_per_step + first + np.arange(size)
        next_columns = (step + 1) * self.block + np.arange(size)
        last = end.row > 0
        slack_rows, slack_columns = np.indices(self.dependent.shape).reshape(2, -1)
        return (
            np.concatenate([rows.ravel(), next_rows.ravel(), self._last_row + end.row[last] - 1,
                            self._last_row + self.begin + slack_rows]),
            np.concatenate([columns.ravel(), next_columns.ravel(), self._places[1][end.column[last]],
                            self._slack_at + slack_columns]),
        )  # fmt: skip

    def jacobian(self, values: Values) -> sparse.csr_matrix:
        """The derivatives of the rows by z."""
        assert self._pattern is not None
        return sparse.csr_matrix((values.entries, self._pattern), shape=(self.row_count, self.count))

    @property
    def pattern(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the entries of the derivatives of the rows lie."""
        if self._pattern is None:
            self(np.ones(self.count))
        assert self._pattern is not None
        return self._pattern

    # -- second derivatives ------------------------------------------------------------------------------------

    def _factors(self, multipliers: np.ndarray, scale: float) -> tuple[np.ndarray, np.ndarray]:
        """What the outputs of the traced functions are multiplied by in the Lagrangian."""
        size, first = self.sizes.state, self.sizes.unknowns
        own = multipliers[: self._last_row].reshape(self.question.steps, self.rows_per_step).copy()
        own[:, first : first + size] *= -1.0
        own = np.concatenate([np.full((len(own), 1), scale), own], axis=1)
        return own, np.concatenate([[scale], multipliers[self._last_row :]])

    def _curvature(self, z: np.ndarray, multipliers: np.ndarray, scale: float) -> tuple[Any, Any]:
        own, last = self._factors(multipliers, scale)
        arguments, end = self._arguments(z), self._end_arguments(z)
        return (
            self.functions.local.curvature(arguments[0], own, *arguments[1:]),
            self.ends.local.curvature(end[0], last[None], *end[1:]),
        )

    def hessian_entries(self, z: np.ndarray, multipliers: np.ndarray, scale: float = 1.0) -> np.ndarray:
        """The lower triangle of the second derivatives of scale cost + multipliers . rows; several entries may lie in
        one place."""
        local, end = self._curvature(z, multipliers, scale)
        slacks = self.dependent.shape[1]
        if self._hessian_pattern is None:
            step, last = self._places
            pairs = [(step[:, local.row].ravel(), step[:, local.column].ravel()), (last[end.row], last[end.column])]
            diagonal = np.concatenate([self._slack_at + np.arange(slacks), np.arange(self.count)])
            rows = np.concatenate([*(np.maximum(*pair) for pair in pairs), diagonal])
            self._hessian_pattern = rows, np.concatenate([*(np.minimum(*pair) for pair in pairs), diagonal])
        return np.concatenate(
            [local.entries.ravel(), end.entries.ravel(), np.full(slacks, scale), scale * self._weights]
        )

    @property
    def hessian_pattern(self) -> tuple[np.ndarray, np.ndarray]:
        """Where these entries lie."""
        if self._hessian_pattern is None:
            self.hessian_entries(np.ones(self.count), np.ones(self.row_count))
        assert self._hessian_pattern is not None
        return self._hessian_pattern

    def costate(self, z: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
        """The derivative of the remaining cost by s_k, (N + 1, 3n)."""
        size = self.sizes.state
        local, end = self._curvature(z, multipliers, 1.0)
        return np.concatenate([local.values[:, :size], end.values[:, size : 2 * size]])

    # -- words -------------------------------------------------------------------------------------------------

    def name_of(self, row: int) -> str:
        """What messages call a row."""
        asked = self.question
        T = asked.horizon[0] if not asked.is_free else np.nan
        if row < self._last_row:
            k, own = divmod(row, self.rows_per_step)
            when = f"in step {k + 1}" + (f" (t = {asked.t0 + T * asked.begins[k]:.4g})" if np.isfinite(T) else "")
            if own < self.sizes.unknowns:
                return f"the equation '{self.functions.equations[own]}' {when}"
            own -= self.sizes.unknowns
            if own < self.sizes.state:
                return f"the motion {when}"
            own -= self.sizes.state
            return f"path[{own}] {when}" if own < self.sizes.path else f"the force of a contact {when}"
        row -= self._last_row
        if row < self.begin:
            return "the start"
        row -= self.begin
        return f"{self._condition(row)}" if row < self.conditions else f"path[{row - self.conditions}] at the end"

    @property
    def is_motion(self) -> np.ndarray:
        """Which rows are equations of the motion or its start, and no conditions."""
        found = np.zeros(self.row_count, bool)
        steps = found[: self._last_row].reshape(self.question.steps, self.rows_per_step)
        steps[:, : self.sizes.unknowns + self.sizes.state] = True
        found[self._last_row : self._last_row + self.begin] = True
        return found

    def slack_part(self, z: np.ndarray) -> np.ndarray:
        """What the slacks take from every row."""
        found = np.zeros(self.row_count)
        first = self._last_row + self.begin
        found[first : first + self.conditions] = self.dependent @ self.slacks(z)
        return found

    def name_of_unknown(self, place: int) -> str:
        """What messages call an entry of z that has bounds."""
        asked, size, n = self.question, self.sizes.state, self.sizes.state // 3
        if place >= self.count - 2:
            return "the horizon" if place == self.count - 1 else "the time at the start"
        k, own = divmod(place, self.block)
        if own < size:
            return f"{'qpv'[own // n]}[{own % n}] of state {k}"
        name = asked.inputs.names[(own - self.block + self.sizes.inputs) % asked.inputs.size]
        return f"the input {name} in step {k + 1}"

    def _condition(self, row: int) -> str:
        wishes, n = self.question.wishes, self.question.layout.n
        names = []
        for side, asked in (("start", wishes.start), ("end", wishes.end)):
            if callable(asked):
                return f"row {row} of the conditions on start and end"
            if side == "end" or not wishes.starts_in_state:
                names += [f"{part}[{j}] at the {side}" for part in asked or () for j in range(n)]
        names += [f"q[{j}] that returns" for j in wishes.periodic or ()] + [f"v[{j}] that returns" for j in range(n)]
        return names[row]
