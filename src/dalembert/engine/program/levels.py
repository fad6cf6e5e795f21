"""When an operation can be computed: at compilation, once a run, once a step, or with the unknowns of a block.

Scalar programs and programs in arrays follow the same rule: an operation has the level of its latest input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .program import CONST, INPUT, LINEAR, Program

if TYPE_CHECKING:
    from .array_program import ArrayProgram

#: at compilation, once a run, once a step, or only with the unknowns
AT_COMPILATION, ONCE_A_RUN, ONCE_A_STEP, WITH_UNKNOWNS = 0, 1, 2, 3
#: from here on levels go with the blocks of unknowns, in the order in which they are solved
FIRST_BLOCK = WITH_UNKNOWNS


def level_of_input(kind: str, index: int = 0, changing: int = 0) -> int:
    """The level of an input, by its kind; that of an unknown where its block is not known yet. The first `changing`
    parameters have other values in every step."""
    if kind == "x":
        return WITH_UNKNOWNS
    fixed = kind == "h" or (kind.startswith("parameter") and index >= changing)
    return ONCE_A_RUN if fixed else ONCE_A_STEP


class Levels:
    """The levels of a scalar program; grows with it."""

    def __init__(self, program: Program, block_of: np.ndarray) -> None:
        self._program, self._block_of, self._known = program, block_of, []

    def __getitem__(self, node: int) -> int:
        known, program = self._known, self._program
        if node < len(known):
            return known[node]
        for k in range(len(known), node + 1):
            op = program.op[k]
            if op == CONST:
                known.append(AT_COMPILATION)
            elif op == INPUT:
                kind, index = program.value[k]
                known.append(FIRST_BLOCK + int(self._block_of[index]) if kind == "x" else self._given(kind, index))
            elif op == LINEAR:
                known.append(max((known[a] for a in program.value[k].values()), default=AT_COMPILATION))
            else:
                known.append(max([known[a] for a in program.args[k]]))
        return known[node]

    def _given(self, kind: str, index) -> int:
        return level_of_input(kind, index, self._program.changing)


def levels_of(program: ArrayProgram, nodes: np.ndarray, block_of: np.ndarray) -> np.ndarray:
    """The levels of a program in arrays, as a column over it; only what the given operations need is filled in."""
    levels = np.array(program.when.filled, dtype=np.int32)
    late = program.reachable(nodes, -(levels == WITH_UNKNOWNS).astype(np.int32))
    for op, group in program.batches(late):
        if op == "input":
            levels[group] = FIRST_BLOCK + block_of[program.second[group]]
        else:
            arguments = [levels[a] for a in program.arguments(group) if a[0] >= 0]
            levels[group] = np.maximum.reduce(arguments)
    return levels
