"""A program written out for a reader, one operation a line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .array_program import OPERATIONS, ArrayProgram
from .program import CONST, INPUT, LINEAR, Program


def listing(program: Program | ArrayProgram, results: dict[str, Any]) -> Iterator[str]:
    """The operations that the results need, in order, and then the results: %7 = mul %3 %5."""
    roots = [np.ravel(np.asarray(nodes, dtype=np.int64)) for nodes in results.values()]
    needed = program.needed(np.concatenate([np.zeros(0, np.int64), *roots]).tolist())
    yield f"{len(needed)} operations, inputs and constants that the results need, of {len(program)}"
    for node in needed:
        yield f"%{node} = {_described(program, int(node))}"
    for name, nodes in zip(results, roots, strict=True):
        yield f"{name}: {' '.join(f'%{node}' for node in nodes.tolist()) or 'none'}"


def _described(program: Program | ArrayProgram, node: int) -> str:
    if isinstance(program, ArrayProgram):
        op = OPERATIONS[program.code[node]]
        if op == CONST:
            return repr(float(program.numbers[node]))
        if op == INPUT:
            return f"{program.kinds[program.first[node]]}[{program.second[node]}]"
        arguments = [int(column[node]) for column in (program.first, program.second, program.third)]
        return " ".join([op, *(f"%{a}" for a in arguments if a >= 0)])
    op, value = program.op[node], program.value[node]
    if op == CONST:
        return repr(value)
    if op == INPUT:
        return f"{value[0]}[{value[1]}]" if isinstance(value, tuple) else str(value)
    if op == LINEAR:
        return " + ".join(f"%{coefficient} d{key}" for key, coefficient in value.items())
    return " ".join([op, *(f"%{a}" for a in program.args[node])])


def write_listing(
    folder: str, kind: str, number: int, name: str, program: Program | ArrayProgram, results: dict[str, Any]
) -> None:
    """Write a listing into a file of its own: 001-12345-rolled-3-substitute.txt is the first one of process 12345."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    written = sum(1 for _ in place.glob("*.txt"))
    file = place / f"{written + 1:03d}-{os.getpid()}-{kind}-{number}-{name.replace(' ', '-')}.txt"
    file.write_text("\n".join(listing(program, results)) + "\n", encoding="utf-8")
