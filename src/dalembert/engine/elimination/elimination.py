"""Symbolic elimination: from a residual with everything unknown to the few unknowns Newton has to find.

Four passes over a scalar program, none of which knows what the unknowns mean.

1. *Substitution.* Where an equation contains an unknown x_j only as c x_j with c independent of all unknowns, x_j is
   written in terms of the others, x_j = -(rest) / c, and disappears. What it contains is asked of its operations, not
   of its derivatives (`dependence.py`). Pairs (equation, unknown) are taken in the order
   constant c, c of the run, c of the step, and by Markowitz cost among those; c must be large against its column.
2. *Schur complement.* The Jacobian of the equations left, by the unknowns left, follows by eliminating the same pairs.
3. *Block triangular form.* What is left splits into blocks that can be solved one after the other. A block that is
   linear in its own unknowns is solved at once and disappears too.
4. *Elimination inside a block.* Sparse Gaussian elimination on the operations gives the Newton update of the block as
   a straight-line program.

Pivots are chosen once, on several sampled states, after scaling rows and columns; the generated code watches their
growth (`Block.growth`), and the caller chooses again where it gets out of hand.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..program.levels import FIRST_BLOCK, Levels
from ..program.passes import Draft, Pass, run_passes
from ..program.program import CONST, INPUT, Program, Values
from .block_triangular import block_triangular
from .dependence import agrees, not_affine
from .equilibration import Scaling, check_structure, places
from .sparse_elimination import Factors, Pivoting, eliminate_columns
from .substitution import resolve, substitute, substitution_pairs


@dataclass
class Block:
    """Unknowns that Newton finds together."""

    unknowns: list[int]
    equations: list[int]
    update: list[int]  # x <- x - update
    growth: list[int]  # multipliers of the elimination, to be watched


@dataclass
class Reduced:
    """A step after elimination: the blocks in the order in which they are solved, and everything in terms of them."""

    program: Program
    blocks: list[Block]
    block_of: np.ndarray  # the block of each unknown that Newton finds
    growth: list[int]  # multipliers of blocks that were solved directly
    pivots: list[int]  # of all eliminations; their product is the determinant of the step, but perhaps for its sign
    statistics: dict
    _stages: tuple[dict[int, int], dict[int, int]]

    def determinant_sign(self) -> int:
        """The operation that is the sign of the product of all pivots, by the unknowns that Newton finds."""
        program, pivots = self.program, self.rewrite(np.array(self.pivots, dtype=np.int64)).tolist()
        return functools.reduce(program.mul, [program.apply("sign", node) for node in pivots], program.const(1.0))

    def rewrite(self, nodes: np.ndarray) -> np.ndarray:
        """Operations with every eliminated unknown replaced."""
        ids = nodes.ravel().tolist()
        for stage in self._stages:
            ids = substitute(self.program, ids, stage)
        return np.array(ids, dtype=np.int64).reshape(nodes.shape)

    def levels(self) -> Levels:
        """When each operation can be computed."""
        return Levels(self.program, self.block_of)


class Elimination(Draft):
    """A system of equations on its way through the passes. Attributes below those of the system itself are what one
    pass leaves to the next."""

    kind = "straight-line"
    program: Program
    x: np.ndarray
    residual: np.ndarray
    jacobian: list[dict[int, int]]
    samples: dict  # every input with its sampled values; the first sample is the actual start
    names: tuple[tuple[str, ...], tuple[str, ...]]  # of unknowns and equations, for messages
    any_pivots = False  # linear blocks are solved at once whatever their pivots; the caller watches them

    values: Values
    scaling: Scaling
    pairs: list[tuple[int, int]]  # (equation, unknown) that are substituted
    resolved: dict[int, int]
    matrix: list[dict[int, int]]
    right: dict[int, int]  # equations that are left
    components: list[tuple[list[int], list[int]]]  # (equations, unknowns) in the order of their solution
    levels: Levels
    growth: list[int]
    pivots: list[int]
    reduced: Reduced

    def __init__(self) -> None:
        super().__init__()
        self._left: tuple[list[int], int, int] | None = None

    def leave(self, nodes: Iterable[int], unknowns: int, entries: int) -> None:
        """What a pass leaves of the equations: their operations, unknowns, and entries of the matrix."""
        self._left = list(nodes), unknowns, entries

    def leave_matrix(self) -> None:
        """The same, while the equations left and their matrix say it."""
        entries = [node for i in self.right for node in self.matrix[i].values()]
        self.leave([*self.right.values(), *entries], len(self.right), len(entries))

    def leave_blocks(self) -> None:
        """The same, once there are blocks."""
        blocks = self.reduced.blocks
        newton = sum(len(block.unknowns) for block in blocks)
        self.leave([*self.reduced.growth, *[k for b in blocks for k in (*b.update, *b.growth)]], newton, 0)

    def results(self) -> dict:
        return {} if self._left is None else {"equations": self._left[0]}

    def sizes(self) -> dict[str, int]:
        if self._left is None:
            return {}
        _, unknowns, entries = self._left
        op = self.program.op
        needed = self.program.needed([int(node) for part in self.results().values() for node in np.ravel(part)])
        operations = sum([op[k] not in (CONST, INPUT) for k in needed])
        return {"operations": operations, "unknowns": unknowns, "nonzeros": entries}


def scale(draft: Elimination) -> None:
    """Every equation and unknown has entries; how large these are at the samples."""
    n = len(draft.x)
    check_structure(*places(draft.jacobian), n, draft.names)
    draft.values = Values(draft.program, draft.samples)
    draft.scaling = Scaling.of(draft.values, draft.jacobian, n)
    entries = [node for row in draft.jacobian for node in row.values()]
    draft.leave([*draft.residual.tolist(), *entries], n, len(entries))


def substitute_unknowns(draft: Elimination) -> None:
    """Unknowns that stand linearly in some equation are written by the others."""
    program, x, residual, jacobian = draft.program, draft.x, draft.residual, draft.jacobian
    draft.pairs, definitions, draft.growth = substitution_pairs(
        program, x, residual, jacobian, draft.values, draft.scaling
    )
    draft.resolved = resolved = resolve(program, x, definitions)
    rows_left = sorted(set(range(len(x))) - {i for i, _ in draft.pairs})
    draft.matrix = [dict(zip(row, substitute(program, list(row.values()), resolved), strict=True)) for row in jacobian]
    right = substitute(program, residual[rows_left].tolist(), resolved)
    draft.right = dict(zip(rows_left, right, strict=True))
    draft.leave_matrix()


def take_complement(draft: Elimination) -> None:
    """The Jacobian of the equations left by the unknowns left."""
    draft.pivots = eliminate_columns(draft.program, draft.matrix, draft.pairs)
    draft.leave_matrix()


def order_blocks(draft: Elimination) -> None:
    """Blocks that can be solved one after the other."""
    rows_left = list(draft.right)
    unknowns_left = sorted(set(range(len(draft.x))) - {j for _, j in draft.pairs})
    draft.components, draft.levels = _ordered_blocks(
        draft.program, draft.x, draft.matrix, draft.right, rows_left, unknowns_left, draft.names
    )
    draft.leave_matrix()


def eliminate_blocks(draft: Elimination) -> None:
    """Newton's update of every block; a block that is linear in its own unknowns is solved at once."""
    program, x, values, matrix, right = draft.program, draft.x, draft.values, draft.matrix, draft.right
    n, rows_left, levels, growth, pivots = len(x), list(right), draft.levels, draft.growth, draft.pivots
    index_of = {int(x[j]): index for index, (_, unknowns) in enumerate(draft.components) for j in unknowns}
    bent = dict(zip(rows_left, not_affine(program, [right[i] for i in rows_left], index_of), strict=True))
    block_of = np.zeros(n, dtype=np.int64)
    solved: dict[int, int] = {}
    blocks: list[Block] = []
    for index, (equations, unknowns) in enumerate(draft.components):
        system = [{j: matrix[i][j] for j in unknowns if j in matrix[i]} for i in equations]
        right_side = [right[i] for i in equations]
        linear = all(levels[node] < FIRST_BLOCK + index for row in system for node in row.values())
        at_zero = right_side
        if linear:
            at_zero = substitute(program, right_side, {int(x[j]): program.zero for j in unknowns})
            linear = not any(bent[i] >> index & 1 for i in equations) and all(
                agrees(values, full, rest, [(node, int(x[j])) for j, node in row.items()])
                for full, rest, row in zip(right_side, at_zero, system, strict=True)
            )
        system = [dict(zip(row, substitute(program, list(row.values()), solved), strict=True)) for row in system]
        pivoting = Pivoting(values, draft.scaling.rows[equations])
        factors = Factors(program, system, unknowns, pivoting)
        pivots += factors.pivots
        # at once, if no pivot can come close to zero; else by Newton, which corrects its own roundoff
        linear = linear and (factors.safe or draft.any_pivots)
        if linear:
            right_side = at_zero
        update = factors.solve(substitute(program, right_side, solved))
        if linear:
            solved.update({int(x[j]): program.neg(update[j]) for j in unknowns})
            growth += factors.multipliers
        else:
            block_of[unknowns] = len(blocks)
            blocks.append(Block(unknowns, equations, [update[j] for j in unknowns], factors.multipliers))
    newton = sum(len(b.unknowns) for b in blocks)
    statistics = {
        "unknowns": n,
        "nonzeros": sum(len(row) for row in draft.jacobian),
        "substituted": len(draft.pairs),
        "solved_directly": len(rows_left) - newton,
        "newton_unknowns": [len(b.unknowns) for b in blocks],
    }
    draft.reduced = Reduced(program, blocks, block_of, growth, pivots, statistics, (draft.resolved, solved))
    draft.leave_blocks()


#: Elimination, in the order of its passes.
ELIMINATION = (
    Pass("scale", scale),
    Pass("substitute", substitute_unknowns),
    Pass("complement", take_complement),
    Pass("order", order_blocks),
    Pass("eliminate", eliminate_blocks),
)


def reduce_system(
    program: Program, x: np.ndarray, residual: np.ndarray, jacobian: list[dict[int, int]], samples: dict,
    names: tuple[tuple[str, ...], tuple[str, ...]], any_pivots: bool = False,
) -> Reduced:  # fmt: skip
    """Run these passes alone, for a system that is no step."""
    draft = Elimination()
    draft.program, draft.x, draft.residual, draft.jacobian = program, x, residual, jacobian
    draft.samples, draft.names, draft.any_pivots = samples, names, any_pivots
    run_passes(ELIMINATION, draft)
    return draft.reduced


def _ordered_blocks(program: Program, x, matrix, right, rows_left, unknowns_left, names):
    """Blocks in the order of their solution, and the levels that follow from it.

    A derivative can cancel to zero where the value it belongs to keeps the unknown (with a coefficient of roundoff, or
    through a sign function): such an entry is kept as a zero, so that no block reads an unknown of a later one.
    """
    while True:
        components = block_triangular(matrix, rows_left, unknowns_left, names)
        order_of = np.zeros(len(x), dtype=np.int64)
        for index, (_, unknowns) in enumerate(components):
            order_of[unknowns] = index
        levels = Levels(program, order_of)
        strays = [
            i
            for index, (equations, _) in enumerate(components)
            for i in equations
            if any(levels[node] > FIRST_BLOCK + index for node in (right[i], *matrix[i].values()))
        ]
        if not strays:
            return components, levels
        unknown_of = {int(x[j]): j for j in unknowns_left}
        for i in strays:
            for node in program.needed([right[i], *matrix[i].values()], only_late=True):
                if node in unknown_of:
                    matrix[i].setdefault(unknown_of[node], program.zero)
