"""Equations that are linear in all of their unknowns, block after block of their triangular form.

With A_kk w_k + sum_(j < k) A_kj w_j = b_k, the unknowns of a block are known numbers to the blocks behind it. So an
equation does not carry what unknowns of other blocks were substituted by, and the entries of A_kj, j < k, are never
formed: A_kj w_j is computed as the equations write it. The derivatives of a step that projects its end onto constraints
have two such blocks: the projection, and what is projected.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..program.passes import Pass, run_passes
from ..tuning import tuning
from ..values.array_values import Rewriting
from .array_elimination import (
    ELIMINATION,
    ArrayBlock,
    ArrayElimination,
    ArrayReduced,
    triangular_blocks,
)
from .array_pivots import Matrix


@dataclass
class _Part:
    """One block: its unknowns, by their numbers among all, and what became of it."""

    unknowns: np.ndarray
    reduced: ArrayReduced
    solution: np.ndarray  # operations of its unknowns, in their order


def eliminate_in_turn(draft: ArrayElimination) -> None:
    """Eliminate every block by the passes of a whole system."""
    jacobian = Matrix(len(draft.x), *draft.entries)
    every, none = np.arange(jacobian.size), np.zeros(0, np.int64)
    blocks = list(triangular_blocks(draft.program, jacobian, every, every, (none, none), draft.names))
    if not 1 < len(blocks) <= tuning().most_blocks:
        run_passes(ELIMINATION, draft)
        return
    parts: list[_Part] = []
    for equations, unknowns, _ in blocks:
        one = _alone(draft, jacobian, np.sort(equations), np.sort(unknowns), _known(draft, parts))
        run_passes(ELIMINATION, one)
        draft.log += one.log
        parts.append(_Part(np.sort(unknowns), one.reduced, one.reduced.rewrite(one.x)))
    draft.reduced = _together(draft, parts)
    draft.leave_blocks()


#: What takes the place of `ELIMINATION` for such equations.
IN_TURN = (Pass("blocks in turn", eliminate_in_turn),)


def _known(draft: ArrayElimination, parts: list[_Part]) -> Rewriting:
    """Puts in what is known of the unknowns of some blocks."""
    rewrite = Rewriting(draft.program)
    for part in parts:
        rewrite.replace(draft.x[part.unknowns], part.solution)
    return rewrite


def _alone(
    draft: ArrayElimination, jacobian: Matrix, equations: np.ndarray, unknowns: np.ndarray, known: Rewriting
) -> ArrayElimination:
    """A block as a system of its own."""
    row, column = np.full(jacobian.size, -1), np.full(jacobian.size, -1)
    row[equations], column[unknowns] = np.arange(len(equations)), np.arange(len(unknowns))
    own = jacobian.part((row[jacobian.rows] >= 0) & (column[jacobian.columns] >= 0))
    one = ArrayElimination()
    one.program, one.x, one.residual = draft.program, draft.x[unknowns], known(draft.residual[equations])
    one.entries = row[own.rows], column[own.columns], own.nodes
    names_of_unknowns, names_of_equations = draft.names
    one.names = tuple(names_of_unknowns[k] for k in unknowns), tuple(names_of_equations[k] for k in equations)
    one.samples, one.plan = draft.samples, draft.plan
    return one


def _together(draft: ArrayElimination, parts: list[_Part]) -> ArrayReduced:
    """The blocks one after the other, as one reduced system."""
    blocks: list[ArrayBlock] = []
    block_of = np.zeros(len(draft.x), np.int64)
    for part in parts:
        for block in part.reduced.blocks:
            block.unknowns = part.unknowns[block.unknowns]
            block_of[block.unknowns] = len(blocks)
            blocks.append(block)
    statistics = {
        "unknowns": len(draft.x),
        "nonzeros": len(draft.entries[0]),
        **{name: sum(part.reduced.statistics[name] for part in parts) for name in ("substituted", "solved_directly")},
        "newton_unknowns": [len(block.unknowns) for block in blocks],
    }
    growth = np.concatenate([part.reduced.growth for part in parts])
    solutions = [nodes for part in parts for nodes in part.reduced.solutions]
    stages = (_known(draft, parts),)
    return ArrayReduced(draft.program, blocks, block_of, growth, solutions, statistics, stages)
