"""From a scalar program to one in arrays.

A function whose operations are on few numbers each is translated sooner number by number. Its operations are put into
arrays afterwards: those of one kind that lie equally deep, and so do not need each other, become one array.
"""

from __future__ import annotations

import numpy as np

from .array_program import ArrayProgram
from .program import CONST, INPUT, Program


def lifted(program: Program, nodes: np.ndarray, into: ArrayProgram) -> np.ndarray:
    """For every operation of a scalar program its number in a program in arrays, -1 where the `nodes` do not need it.
    Inputs of the same names are there already."""
    needed = program.needed(np.ravel(nodes).tolist())
    place, depth = np.full(len(program), -1, np.int64), [0] * len(program)
    for kind in {program.value[k][0] for k in needed if program.op[k] == INPUT}:
        here = [k for k in needed if program.op[k] == INPUT and program.value[k][0] == kind]
        place[here] = into.inputs(kind, len(here))[[program.value[k][1] for k in here]]
    for truth in (False, True):
        here = [k for k in needed if program.op[k] == CONST and isinstance(program.value[k], bool) == truth]
        place[here] = into.constants(np.array([program.value[k] for k in here], dtype=bool if truth else np.float64))
    groups: dict[tuple[int, str], list[int]] = {}
    for k in needed:
        arguments = program.args[k]
        if arguments:
            depth[k] = 1 + max([depth[a] for a in arguments])
            groups.setdefault((depth[k], program.op[k]), []).append(k)
    for (_, op), group in sorted(groups.items()):
        arguments = zip(*[program.args[k] for k in group], strict=True)
        place[group] = into.apply(op, *[place[list(column)] for column in arguments])
    return place
