"""The first pass of elimination for programs in arrays: unknowns that appear linearly are written by the others.

The same rules as `elimination.substitution_pairs`, many pairs at a time. What an equation holds beyond its linear part
is known by two sets of unknowns: those that its expression names, and those that they stand for once what has been
eliminated is replaced. An unknown of the second set cannot be solved for: its definition would be circular.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...errors import ModelError
from ..program.array_program import ArrayProgram
from ..program.columns import LargestOf, distinct, joined, reduced
from ..program.levels import ONCE_A_RUN, WITH_UNKNOWNS
from ..tuning import tuning
from ..values.array_values import ArrayValues, Rewriting
from .array_pivots import Eliminated, Likeness, Matrix, eliminate, independent_pivots
from .dependence import held_behind_steps


class Pattern:
    """A set of places (row, column)."""

    def __init__(self, size: int, places: np.ndarray) -> None:
        self._size, self._places = size, distinct(places)

    @property
    def places(self) -> np.ndarray:
        return self._places

    @property
    def rows(self) -> np.ndarray:
        return self._places // self._size

    @property
    def columns(self) -> np.ndarray:
        return self._places % self._size

    def add(self, rows: np.ndarray, columns: np.ndarray) -> None:
        if len(rows):
            self._places = distinct(np.concatenate([self._places, rows * self._size + columns]))

    def holds(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        places = rows * self._size + columns
        if not len(self._places):
            return np.zeros(len(places), bool)
        where = np.searchsorted(self._places, places)
        return (where < len(self._places)) & (self._places[np.minimum(where, len(self._places) - 1)] == places)

    def of_rows(self, rows: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(target, column) for every column that a row holds."""
        if not len(self._places):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        left, right = joined(rows, self.rows, self._size)
        return targets[left], self.columns[right]


@dataclass
class Substituted:
    """Rounds of pairs (equation, unknown), the unknowns written by those left, and multipliers to be watched."""

    rounds: list[tuple[np.ndarray, np.ndarray]]
    rewrite: Rewriting
    growth: np.ndarray


def substitute_linear(
    program: ArrayProgram, x: np.ndarray, residual: np.ndarray, jacobian: Matrix, values: ArrayValues,
    row_scale: np.ndarray, most_cost: float = np.inf, by_changing: bool = True,
) -> Substituted:  # fmt: skip
    """Choose pairs round by round until no equation gives an unknown of its own, at no more than a Markowitz cost;
    `by_changing` coefficients, or only by those that are the same in all steps of a run."""
    state = _Equations(program, x, residual, jacobian, values, row_scale)
    while state.take_round(most_cost, by_changing):
        pass
    return Substituted(state.rounds, state.resolved(), np.concatenate([np.zeros(0, np.int64), *state.growth]))


class _Equations:
    """Every equation as sum_j c_j x_j + rest, with the c_j independent of all unknowns."""

    def __init__(self, program, x, residual, jacobian: Matrix, values: ArrayValues, row_scale) -> None:
        self.program, self.x, self.values, self.row_scale = program, x, values, row_scale
        self.size = len(x)
        stepped = Pattern(self.size, _places(self.size, *held_behind_steps(program, np.arange(self.size), residual)))
        self.stepped = np.zeros(self.size, bool)  # rows of which a small coefficient is not to be taken
        self.stepped[stepped.rows] = True
        simple = program.when[jacobian.nodes] < WITH_UNKNOWNS
        simple &= ~stepped.holds(jacobian.rows, jacobian.columns)
        self.linear, hidden = jacobian.part(simple), jacobian.part(~simple)
        self.rest = _without_linear_part(program, x, residual, jacobian, simple)
        places = np.concatenate([p for p in (_places(self.size, hidden.rows, hidden.columns), stepped.places)])
        self.named, self.meant = Pattern(self.size, places), Pattern(self.size, places)
        sizes = self._sizes(jacobian)
        self.column_size = LargestOf(jacobian.columns, self.size)(sizes)
        self.rounds: list[tuple[np.ndarray, np.ndarray]] = []
        self.growth: list[np.ndarray] = []
        self._definitions: list[tuple[np.ndarray, np.ndarray]] = []  # (unknowns, operations)
        self._needs: list[tuple[np.ndarray, np.ndarray]] = []  # (defined unknown, unknown in its definition)

    def _sizes(self, matrix: Matrix) -> np.ndarray:
        sizes = np.abs(self.values(matrix.nodes)) * self.row_scale[matrix.rows, None]
        return np.where(np.isfinite(sizes), sizes, 0.0)

    def take_round(self, most_cost: float, by_changing: bool) -> bool:
        linear, program = self.linear, self.program
        likeness = Likeness(program, linear)
        classes = self._classes(likeness)
        if not by_changing:
            classes[classes >= _CHANGING] = _NEVER
        if not len(classes) or classes.min() == _NEVER:
            return False
        pattern = (
            np.concatenate([linear.rows, self.meant.rows]),
            np.concatenate([linear.columns, self.meant.columns]),
        )
        in_row = np.bincount(pattern[0], minlength=self.size)
        in_column = np.bincount(linear.columns, minlength=self.size)
        cost = (in_row[linear.rows] - 1) * (in_column[linear.columns] - 1)
        classes[cost > most_cost] = _NEVER
        if classes.min() == _NEVER:
            return False
        candidates = np.flatnonzero(classes == classes.min())
        chosen = independent_pivots(linear, likeness, pattern, candidates, cost, linear.columns)
        rows, columns = linear.rows[chosen], linear.columns[chosen]
        watched = classes.min() % 4 > ONCE_A_RUN
        self.linear, done = eliminate(program, linear, rows, columns)
        self.rounds.append((rows, columns))
        if watched:
            self.growth.append(done.factors)
        self._define(done)
        self._carry_over(done)
        return True

    def _classes(self, likeness: Likeness) -> np.ndarray:
        """What comes first, for every linear entry: what never changes, then what changes with the state and is steady;
        of the former last what is small against its column. Whether a coefficient is steady may be the luck of the
        samples, and differ from link to link."""
        linear = self.linear
        when = self.program.when[linear.nodes].astype(np.int64)
        own, column = self._sizes(linear), self.column_size[linear.columns]
        late = ~np.all(own >= tuning().substitution_threshold * column, axis=1)
        changing = when > ONCE_A_RUN
        steady = np.ones(len(when), bool)
        steady[changing] = _steady(self.values(linear.nodes[changing]))
        usable = steady & np.all(own > 0, axis=1)
        usable &= ~(late & self.stepped[linear.rows])
        usable &= ~late | (~changing & np.all(own >= tuning().last_threshold_of_groups * column, axis=1))
        return likeness.largest(np.where(usable, 4 * late + _CHANGING * changing + when, _NEVER))

    def _define(self, done: Eliminated) -> None:
        """x_j = -(rest + sum_k c_k x_k) / c_j."""
        program, beside = self.program, done.beside
        terms = program.mul(beside.nodes, self.x[beside.columns])
        total = reduced(program, "add", terms, beside.rows, len(done.rows), program.zero)
        total = program.add(self.rest[done.rows], total)
        self._definitions.append((done.columns, program.neg(program.mul(done.inverse, total))))
        self._needs.append((done.columns[beside.rows], beside.columns))
        self._needs.append(self.named.of_rows(done.rows, done.columns))

    def _carry_over(self, done: Eliminated) -> None:
        """What the pivot rows bring into the others: their rest, and the unknowns hidden in it."""
        program = self.program
        changes = program.mul(done.factors, self.rest[done.rows[done.pivot]])
        changes = reduced(program, "add", changes, done.touched, self.size, program.zero)
        self.rest = program.sub(self.rest, changes)
        pivot_rows = done.rows[done.pivot]
        self.stepped[done.touched[self.stepped[pivot_rows]]] = True
        self.named.add(*self.named.of_rows(pivot_rows, done.touched))
        self.meant.add(*self.meant.of_rows(pivot_rows, done.touched))
        # equations that name an eliminated unknown mean the unknowns of its definition
        pivot_of_column = np.full(self.size, -1)
        pivot_of_column[done.columns] = np.arange(len(done.columns))
        naming = np.flatnonzero(pivot_of_column[self.meant.columns] >= 0)
        rows, pivots = self.meant.rows[naming], pivot_of_column[self.meant.columns[naming]]
        left, right = joined(pivots, done.beside.rows, len(done.rows))
        self.meant.add(rows[left], done.beside.columns[right])
        self.meant.add(*self.meant.of_rows(done.rows[pivots], rows))
        hidden = self.meant.holds(self.linear.rows, self.linear.columns)
        moved, self.linear = self.linear.part(hidden), self.linear.part(~hidden)
        terms = program.mul(moved.nodes, self.x[moved.columns])
        self.rest = program.add(self.rest, reduced(program, "add", terms, moved.rows, self.size, program.zero))
        self.named.add(moved.rows, moved.columns)

    def resolved(self) -> Rewriting:
        """Every defined unknown in terms of the undefined ones."""
        rewrite = Rewriting(self.program)
        if not self._definitions:
            return rewrite
        unknowns = np.concatenate([u for u, _ in self._definitions])
        nodes = np.concatenate([n for _, n in self._definitions])
        defined = np.zeros(self.size, bool)
        defined[unknowns] = True
        user, used = (np.concatenate([pair[k] for pair in self._needs]) for k in (0, 1))
        user, used = user[defined[used]], used[defined[used]]
        waiting = defined
        while waiting.any():
            blocked = np.zeros(self.size, bool)
            blocked[user] = True
            ready = waiting & ~blocked
            if not ready.any():
                raise ModelError("the equations define each other in a circle.")
            here = ready[unknowns]
            rewrite.replace(self.x[unknowns[here]], rewrite(nodes[here]))
            waiting = waiting & ~ready
            open_ = ~ready[used]
            user, used = user[open_], used[open_]
        return rewrite


#: classes of coefficients from which on they change with the state, and of those that are not divided by
_CHANGING, _NEVER = 8, 100


def _places(size: int, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    return rows * size + columns


def _without_linear_part(
    program: ArrayProgram, x: np.ndarray, residual: np.ndarray, jacobian: Matrix, simple: np.ndarray
) -> np.ndarray:
    """The residuals at zero for the unknowns that each holds linearly.

    Many equations are rewritten at once, with one set of unknowns put to zero: those that some of them hold linearly
    and none otherwise. Equations for which that is not the right set wait for the next turn, or are split in two.
    """
    rest = np.array(residual)
    turns = [np.arange(len(x))]
    while turns:
        rows = turns.pop()
        asked = np.zeros(len(x), bool)
        asked[rows] = True
        here = asked[jacobian.rows]
        zero = np.zeros(len(x), bool)
        zero[jacobian.columns[here & simple]] = True
        zero[jacobian.columns[here & ~simple]] = False
        wrong = here & simple & ~zero[jacobian.columns]
        asked[jacobian.rows[wrong]] = False
        fit = np.flatnonzero(asked)
        rewrite = Rewriting(program)
        rewrite.replace(x[zero], np.full(int(zero.sum()), program.zero))
        rest[fit] = rewrite(residual[fit])
        asked[:] = False
        asked[jacobian.rows[wrong]] = True
        left = np.flatnonzero(asked)
        if 16 * len(fit) >= len(rows):
            turns += [left] if len(left) else []
        else:
            turns += [left[0::2], left[1::2]] if len(left) > 1 else [left]
    return rest


def _steady(values: np.ndarray) -> np.ndarray:
    """Of one sign and one magnitude on all samples: a coefficient that may be divided by at every step."""
    finite = np.isfinite(values)
    low = np.min(np.where(finite, values, np.inf), axis=1, initial=np.inf)
    high = np.max(np.where(finite, values, -np.inf), axis=1, initial=-np.inf)
    sizes = np.abs(np.where(finite, values, np.nan))
    with np.errstate(invalid="ignore"):
        magnitude = np.fmin.reduce(sizes, axis=1) > 0.1 * np.fmax.reduce(sizes, axis=1)
    return finite.any(axis=1) & ((low > 0) | (high < 0)) & magnitude
