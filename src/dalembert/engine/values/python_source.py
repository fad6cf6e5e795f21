"""A scalar program as the source of a Python function: worth while where it is evaluated again and again at one point.

A call of numpy for a single number takes ten times as long as Python's own arithmetic, which gives the same bits. Only
what Python refuses (a division by zero) is left to numpy: the function raises, and the caller evaluates as before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..program.program import BOOLEAN, CONST, INPUT, NUMPY, Program

#: what Python raises where numpy gives infinity or NaN
REFUSED = (ZeroDivisionError, OverflowError, ValueError)
_OPERATORS = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "div": "{} / {}", "neg": "-{}",
    "lt": "{} < {}", "le": "{} <= {}", "gt": "{} > {}", "ge": "{} >= {}", "eq": "{} == {}", "ne": "{} != {}",
    "select": "{1} if {0} else {2}",
}  # fmt: skip


def written_out(program: Program, nodes: list[int], kinds: list[str]) -> Callable[[list[list[float]]], list[float]]:
    """A function of lists of numbers, one for each of the kinds of inputs, that computes these operations."""
    lines, names = ["def evaluate(arguments):"], {}
    lines += [f"    a{k} = arguments[{k}]" for k in range(len(kinds))]
    for node in program.needed(nodes):
        op = program.op[node]
        if op == CONST:
            names[node] = f"c{node}"
            continue
        if op == INPUT:
            kind, index = program.value[node]
            names[node] = f"a{kinds.index(kind)}[{index}]"
            continue
        operands = [names[a] for a in program.args[node]]
        if op in _OPERATORS:
            value = _OPERATORS[op].format(*operands)
        else:
            value = f"{'bool' if op in BOOLEAN else 'float'}(numpy_{op}({', '.join(operands)}))"
        names[node] = f"v{node}"
        lines.append(f"    v{node} = {value}")
    lines.append(f"    return [{', '.join(names[node] for node in nodes)}]")
    known = {f"c{node}": program.value[node] for node in names if program.op[node] == CONST}
    known = {name: value if isinstance(value, bool | np.bool_) else float(value) for name, value in known.items()}
    space: dict[str, Any] = {f"numpy_{op}": function for op, function in NUMPY.items()} | known
    exec("\n".join(lines), space)
    return space["evaluate"]
