"""The four passes of `elimination.py` for programs in arrays: same rules, many pivots at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sparse
from scipy.sparse import csgraph

from ..program.array_program import CONST, INPUT, ArrayProgram
from ..program.columns import LargestOf, distinct, reduced
from ..program.levels import FIRST_BLOCK, levels_of
from ..program.passes import Draft, Pass, run_passes
from ..tuning import tuning
from ..values.array_values import ArrayValues, Rewriting
from .array_pivots import Eliminated, Likeness, Matrix, eliminate, independent_pivots
from .array_substitution import Substituted, substitute_linear
from .banded import Band
from .block_triangular import matched_rows
from .dependence import held_behind_steps
from .equilibration import Scaling, check_structure
from .fronts import Fronts
from .solved_anew import solved_anew


@dataclass(frozen=True)
class Plan:
    """How the passes treat what is irregular."""

    in_loops: bool = True  # eliminate in loops what Newton finds together; else only where it has few entries
    in_systems: bool = True  # leave it as a band or in fronts, if loops are not possible or take pivots that get small
    most_cost: float = np.inf  # the largest Markowitz cost of a substitution
    by_changing: bool = True  # substitute also by coefficients that change with the state, where they are steady
    uniform: bool = False  # take exceptions among what is substituted for a sign that loops will fall to pieces


class TooIrregular(Exception):
    """Nothing is gained by treating this system in loops.

    `fill` is how many entries a row of the matrix had where that was seen, `traced` the residual of the step, where it
    was traced already.
    """

    def __init__(self, fill: float = 0.0, traced: Any = None) -> None:
        super().__init__("its operations do not fall into loops")
        self.fill, self.traced = fill, traced


@dataclass
class ArrayBlock:
    """Unknowns that Newton finds together."""

    unknowns: np.ndarray
    update: np.ndarray  # x <- x - update; or, where it is found anew, what from: right side and entries, in their order
    growth: np.ndarray  # multipliers of the elimination, to be watched
    factored: Band | Fronts | None = None  # how the system is solved anew in every iteration, if it is
    linear: bool = False  # in its own unknowns


@dataclass
class ArrayReduced:
    """A step after elimination: the blocks in the order in which they are solved, and everything in terms of them."""

    program: ArrayProgram
    blocks: list[ArrayBlock]
    block_of: np.ndarray  # the block of each unknown that Newton finds
    growth: np.ndarray  # multipliers of blocks that were solved directly
    solutions: list[np.ndarray]  # of those blocks, in the order of their unknowns
    statistics: dict
    _stages: tuple[Rewriting, ...]

    @property
    def exchanges_rows(self) -> bool:
        """Whether Newton's iteration chooses all of its pivots anew."""
        return all(block.factored is not None for block in self.blocks)

    def nodes(self) -> list[np.ndarray]:
        """All operations that are named here."""
        return [
            *[nodes for block in self.blocks for nodes in (block.update, block.growth)],
            self.growth,
            *self.solutions,
        ]

    def renumber(self, place: np.ndarray) -> None:
        """Operations have new numbers; nothing can be rewritten any more."""
        for block in self.blocks:
            block.update, block.growth = place[block.update], place[block.growth]
        self.growth, self._stages = place[self.growth], ()
        self.solutions[:] = [place[nodes] for nodes in self.solutions]

    def rewrite(self, nodes: np.ndarray) -> np.ndarray:
        """Operations with every eliminated unknown replaced."""
        for stage in self._stages:
            nodes = stage(nodes)
        return nodes

    def levels(self, nodes: np.ndarray) -> np.ndarray:
        """When each operation can be computed, for the given ones and all they need (a column over the program)."""
        return levels_of(self.program, nodes, self.block_of)


class ArrayElimination(Draft):
    """A system of equations on its way through the passes. The counterpart of `Elimination`."""

    kind = "rolled"
    program: ArrayProgram
    x: np.ndarray
    residual: np.ndarray
    entries: tuple[np.ndarray, np.ndarray, np.ndarray]  # of the Jacobian: row, column, operation
    samples: dict[str, np.ndarray]  # every kind of input with its sampled values; the first is the actual start
    names: tuple[tuple[str, ...], tuple[str, ...]]  # of unknowns and equations, for messages
    plan = Plan()

    jacobian: Matrix
    values: ArrayValues
    scaling: Scaling
    first: Substituted
    matrix: Matrix
    left: tuple[np.ndarray, np.ndarray]  # equations and unknowns that are not substituted
    right: np.ndarray
    components: list[tuple[np.ndarray, np.ndarray, bool]]  # (equations, unknowns, linear) in the order of solution
    reduced: ArrayReduced

    def __init__(self) -> None:
        super().__init__()
        self._left: tuple[np.ndarray, int, int] | None = None

    def leave(self, nodes: np.ndarray, unknowns: int, entries: int) -> None:
        """What a pass leaves of the equations: their operations, unknowns, and entries of the matrix."""
        self._left = nodes, unknowns, entries

    def leave_matrix(self) -> None:
        """The same, while the equations left and their matrix say it."""
        rows = self.left[0]
        nodes = self.matrix.nodes[np.isin(self.matrix.rows, rows)]
        self.leave(np.concatenate([self.right[rows], nodes]), len(rows), len(nodes))

    def leave_blocks(self) -> None:
        """The same, once there are blocks."""
        blocks = self.reduced.blocks
        self.leave(np.concatenate(self.reduced.nodes()), sum(len(block.unknowns) for block in blocks), 0)

    def results(self) -> dict[str, np.ndarray]:
        return {} if self._left is None else {"equations": self._left[0]}

    def sizes(self) -> dict[str, int]:
        if self._left is None:
            return {}
        _, unknowns, entries = self._left
        needed = self.program.needed(np.concatenate(list(self.results().values())))
        return {"operations": operation_count(self.program, needed), "unknowns": unknowns, "nonzeros": entries}


def scale(draft: ArrayElimination) -> None:
    """Every equation and unknown has entries; how large these are at the samples."""
    n = len(draft.x)
    jacobian = draft.jacobian = Matrix(n, *draft.entries)
    check_structure(jacobian.rows, jacobian.columns, n, draft.names)
    draft.values = ArrayValues(draft.program, draft.samples)
    sizes = largest_sizes(draft.values(jacobian.nodes))
    draft.scaling = Scaling.of_entries(sizes, jacobian.rows, jacobian.columns, n)
    draft.leave(np.concatenate([draft.residual, jacobian.nodes]), n, len(jacobian.rows))


def substitute_unknowns(draft: ArrayElimination) -> None:
    """Unknowns that stand linearly in some equation are written by the others, and the Jacobian of the equations left
    by the unknowns left follows (its complement)."""
    program, jacobian, n = draft.program, draft.jacobian, len(draft.x)
    first = draft.first = substitute_linear(
        program, draft.x, draft.residual, jacobian, draft.values, draft.scaling.rows, draft.plan.most_cost,
        draft.plan.by_changing,
    )  # fmt: skip
    if draft.plan.uniform and sum(_changes_of_stride(rows) for rows, _ in first.rounds) > tuning().most_pieces:
        raise TooIrregular
    matrix = Matrix(n, jacobian.rows, jacobian.columns, first.rewrite(jacobian.nodes))
    taken_rows, taken_columns = np.zeros(n, bool), np.zeros(n, bool)
    for rows, columns in first.rounds:
        matrix, _ = eliminate(program, matrix, rows, columns)
        taken_rows[rows] = taken_columns[columns] = True
    rows_left = np.flatnonzero(~taken_rows)
    draft.matrix, draft.left = matrix, (rows_left, np.flatnonzero(~taken_columns))
    draft.right = np.zeros(n, np.int64)
    draft.right[rows_left] = first.rewrite(draft.residual[rows_left])
    draft.leave_matrix()


def order_blocks(draft: ArrayElimination) -> None:
    """Blocks that can be solved one after the other."""
    rows, columns = draft.left
    stepped = held_behind_steps(draft.program, rows, draft.right[rows])
    draft.components = list(triangular_blocks(draft.program, draft.matrix, rows, columns, stepped, draft.names))
    draft.leave_matrix()


def eliminate_blocks(draft: ArrayElimination) -> None:
    """Newton's update of every block, in loops or as a band; a block that is linear in its own unknowns is solved at
    once."""
    program, x, matrix, right, scaling = draft.program, draft.x, draft.matrix, draft.right, draft.scaling
    n, plan = len(x), draft.plan
    solved, blocks, growth, solutions = Rewriting(program), [], [draft.first.growth], []
    block_of = np.zeros(n, np.int64)
    for equations, unknowns, linear in draft.components:
        kept = np.isin(matrix.rows, equations) & np.isin(matrix.columns, unknowns)
        system = matrix.part(kept)
        system.nodes = solved(system.nodes)
        too_irregular = TooIrregular()
        try:
            if not plan.in_loops and len(system.rows) > tuning().few_entries * len(equations):
                raise TooIrregular
            factors = ArrayFactors(program, system, draft.values, scaling.rows)
        except TooIrregular as failure:
            factors, too_irregular = None, failure
        if plan.in_systems and (factors is None or not (factors.safe and factors.regular)):
            right_now = solved(right[equations])
            left = solved_anew(system, equations, unknowns, right_now, draft.values, scaling.rows[equations])
            if left is not None:
                block_of[unknowns] = len(blocks)
                blocks.append(ArrayBlock(unknowns, left[1], np.zeros(0, np.int64), left[0], linear))
                continue
        if factors is None:
            raise too_irregular
        right_side = right[equations]
        if linear:
            zeros = Rewriting(program)
            zeros.replace(x[unknowns], np.full(len(unknowns), program.zero))
            right_side = zeros(right_side)
        right_now = np.zeros(n, np.int64)
        right_now[equations] = solved(right_side)
        update, multipliers = factors.solve(right_now), factors.multipliers
        if linear:
            solved.replace(x[unknowns], program.neg(update[unknowns]))
            growth.append(multipliers)
            solutions.append(update[np.sort(unknowns)])
        else:
            block_of[unknowns] = len(blocks)
            blocks.append(ArrayBlock(unknowns, update[unknowns], multipliers))
    newton = [len(block.unknowns) for block in blocks]
    substituted = n - len(draft.left[0])
    statistics = {
        "unknowns": n,
        "nonzeros": len(draft.jacobian.rows),
        "substituted": substituted,
        "solved_directly": n - substituted - sum(newton),
        "newton_unknowns": newton,
    }
    stages = (draft.first.rewrite, solved)
    draft.reduced = ArrayReduced(program, blocks, block_of, np.concatenate(growth), solutions, statistics, stages)
    draft.leave_blocks()
    del draft.values, draft.matrix, draft.jacobian  # large, and of no more use


#: Elimination, in the order of its passes.
ELIMINATION = (
    Pass("scale", scale),
    Pass("substitute", substitute_unknowns),
    Pass("order", order_blocks),
    Pass("eliminate", eliminate_blocks),
)


def reduce_arrays(
    program: ArrayProgram, x: np.ndarray, residual: np.ndarray,
    entries: tuple[np.ndarray, np.ndarray, np.ndarray], samples: dict[str, np.ndarray],
    names: tuple[tuple[str, ...], tuple[str, ...]], plan: Plan | None = None,
) -> ArrayReduced:  # fmt: skip
    """Run these passes alone, for a system that is no step."""
    draft = ArrayElimination()
    draft.program, draft.x, draft.residual, draft.entries = program, x, residual, entries
    draft.samples, draft.names, draft.plan = samples, names, plan or Plan()
    run_passes(ELIMINATION, draft)
    return draft.reduced


def _changes_of_stride(rows: np.ndarray) -> int:
    return int(np.count_nonzero(np.diff(np.diff(np.sort(rows)))))


def largest_sizes(values: np.ndarray) -> np.ndarray:
    """The largest finite size of every row of samples; one where none is."""
    sizes = np.abs(values)
    infinite = ~np.isfinite(sizes)
    if not infinite.any():
        return sizes.max(axis=1, initial=0.0)
    sizes[infinite] = 0.0
    return np.where(infinite.all(axis=1), 1.0, sizes.max(axis=1, initial=0.0))


def triangular_blocks(program: ArrayProgram, matrix: Matrix, rows: np.ndarray, columns: np.ndarray, stepped, names):
    """(equations, unknowns, linear) in the order of solution. Strong components that can be solved at the same time
    form one block, those that are linear in their own unknowns another. Equations hold what the matrix says and, with
    no derivative, the unknowns `stepped`, (rows, columns)."""
    if not len(rows):
        return
    row_place, column_place = np.zeros(matrix.size, np.int64), np.zeros(matrix.size, np.int64)
    row_place[rows], column_place[columns] = np.arange(len(rows)), np.arange(len(columns))
    entry_rows, entry_columns = row_place[matrix.rows], column_place[matrix.columns]
    counts = np.bincount(entry_rows, minlength=len(rows))
    match = matched_rows(counts, entry_columns, rows.tolist(), columns.tolist(), names)
    owner = np.empty(len(columns), np.int64)
    owner[match] = np.arange(len(rows))
    source = np.concatenate([entry_rows, row_place[stepped[0]]])
    target = owner[np.concatenate([entry_columns, column_place[stepped[1]]])]
    needs = sparse.csr_matrix((np.ones(len(source)), (source, target)), shape=(len(rows),) * 2)
    count, label = csgraph.connected_components(needs, directed=True, connection="strong")
    depth = _depths(label[source], label[target], count)[label]
    depth_of_unknown = np.zeros(matrix.size, np.int64)
    depth_of_unknown[columns[match]] = depth
    levels = levels_of(program, matrix.nodes, depth_of_unknown)[matrix.nodes]
    own = label[entry_rows] == label[owner[entry_columns]]
    nonlinear = np.zeros(count, bool)
    nonlinear[label[entry_rows[own & (levels >= FIRST_BLOCK + depth[entry_rows])]]] = True
    behind = slice(len(entry_rows), None)
    nonlinear[label[source[behind]][label[source[behind]] == label[target[behind]]]] = True
    order = 2 * depth + nonlinear[label]
    iterated = np.unique(order[order % 2 == 1])
    if len(iterated) > tuning().most_blocks:
        order[(order >= iterated[0]) & (order <= iterated[-1])] = iterated[0]
    for position in np.unique(order):
        here = np.flatnonzero(order == position)
        yield rows[here], columns[match[here]], position % 2 == 0


def _depths(source: np.ndarray, target: np.ndarray, count: int) -> np.ndarray:
    """The length of the longest chain of needs behind each component."""
    apart = source != target
    source, target = source[apart], target[apart]
    depth, waiting, level = np.zeros(count, np.int64), np.ones(count, bool), 0
    while waiting.any():
        blocked = np.zeros(count, bool)
        blocked[source] = True
        ready = waiting & ~blocked
        depth[ready] = level
        waiting &= ~ready
        open_ = ~ready[target]
        source, target, level = source[open_], target[open_], level + 1
    return depth


class ArrayFactors:
    """A matrix of operations, eliminated; `multipliers` are those whose size is to be watched."""

    def __init__(self, program: ArrayProgram, matrix: Matrix, values: ArrayValues, row_scale: np.ndarray) -> None:
        self._program, self._size = program, matrix.size
        self._rounds: list[Eliminated] = []
        self.safe = True  # whether all pivots are large on all samples
        halvings = 1 + len(distinct(matrix.rows)).bit_length()
        multipliers = [np.zeros(0, np.int64)]
        while len(matrix.rows):
            chosen, safe = _pivots(program, matrix, values, row_scale)
            self.safe = self.safe and safe
            left = len(distinct(matrix.rows))
            slow = left > tuning().few_rows and len(chosen) < tuning().smallest_share * left
            if slow or len(self._rounds) == tuning().most_rounds * halvings:
                raise TooIrregular(fill=len(matrix.rows) / left)
            matrix, done = eliminate(program, matrix, matrix.rows[chosen], matrix.columns[chosen])
            self._rounds.append(done)
            multipliers.append(done.factors[program.code[done.factors] != CONST])
        self.multipliers = np.concatenate(multipliers)
        self.regular = len(self._rounds) <= tuning().few_rounds * halvings

    def solve(self, right: np.ndarray) -> np.ndarray:
        """Operations of the solution for a right side; both are columns over all rows and all unknowns."""
        program, right, own = self._program, right.copy(), []
        for done in self._rounds:
            own.append(right[done.rows])
            changes = program.mul(done.factors, right[done.rows[done.pivot]])
            changes = reduced(program, "add", changes, done.touched, self._size, program.zero)
            right = program.sub(right, changes)
        solution = np.zeros(self._size, np.int64)
        for done, own_right in zip(reversed(self._rounds), reversed(own), strict=True):
            known = program.mul(done.beside.nodes, solution[done.beside.columns])
            known = reduced(program, "add", known, done.beside.rows, len(done.rows), program.zero)
            solution[done.columns] = program.mul(done.inverse, program.sub(own_right, known))
        return solution


def _pivots(
    program: ArrayProgram, matrix: Matrix, values: ArrayValues, row_scale: np.ndarray
) -> tuple[np.ndarray, bool]:
    """Pivots of little Markowitz cost, large against their columns in every sample, that do not touch each other; and
    whether they are as large as they should be."""
    matrix, rows_kept = matrix.packed()
    row_scale = row_scale[rows_kept]
    sizes = np.abs(values(matrix.nodes)) * row_scale[matrix.rows, None]
    sizes = np.where(np.isfinite(sizes), sizes, 0.0)
    largest = LargestOf(matrix.columns, matrix.size)(sizes)[matrix.columns]
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = np.where(largest > 0, sizes / largest, 1.0)
    ratios = np.where(np.any(sizes > 0, axis=1)[:, None], ratios, 0.0)
    likeness = Likeness(program, matrix)
    quality = np.minimum(likeness.quartile(ratios), likeness.quartile(ratios[:, :1]))  # around the start, and at it
    in_row = np.bincount(matrix.rows, minlength=matrix.size)
    in_column = np.bincount(matrix.columns, minlength=matrix.size)
    cost = (in_row[matrix.rows] - 1) * (in_column[matrix.columns] - 1)
    candidates = _good_enough(quality, matrix)
    if not len(candidates):  # nothing is safe on all samples: the least bad; the code watches its growth
        return np.array([int(np.argmax(quality))]), False
    preference = np.where(quality >= 0.5, 0, matrix.size) + np.abs(likeness.off_diagonal)
    chosen = independent_pivots(matrix, likeness, (matrix.rows, matrix.columns), candidates, cost, preference)
    return chosen, bool(np.all(quality[chosen] >= tuning().pivot_threshold))


def _good_enough(quality: np.ndarray, matrix: Matrix) -> np.ndarray:
    """Entries large against their columns. The bar is lowered where only few rows have one: a few pivots at a time
    cost more, in fill and in rounds, than multipliers of a thousand."""
    candidates, rows = np.zeros(0, np.int64), len(distinct(matrix.rows))
    for bar in (tuning().pivot_threshold, 1e-2, 1e-3):
        candidates = np.flatnonzero(quality >= bar)
        if 4 * len(distinct(matrix.rows[candidates])) >= rows:
            break
    return candidates


def operation_count(program: ArrayProgram, nodes: np.ndarray) -> int:
    """How many operations (not inputs, not constants) there are among the nodes."""
    return int(np.sum(~np.isin(program.code[nodes], (CONST, INPUT))))
