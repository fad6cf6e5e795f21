"""What an operation depends on, whatever its derivatives say.

Derivatives do not tell which unknowns an equation holds: a sign, a comparison or a rounded number has the derivative
zero and depends on its argument all the same, and a function may come with derivatives of its own. An equation that
holds v behind `sign(v)` beside a linear m v is not linear in v, although its derivative is m.

Two questions are answered from the operations themselves. In which groups of unknowns is an operation *affine*,
f = c_0 + sum_j c_j x_j with c independent of the group? Sums are where both parts are; a product is where at most one
factor depends on the group and the other is affine in it; a quotient, where the denominator does not depend on it; a
choice, where the condition does not. Anything else is affine only in what it does not depend on. And, where it is
affine, are the c_j the derivatives that are used? That shows in the numbers on the samples.
"""

from __future__ import annotations

import numpy as np

from ..program.array_program import CODE, INPUT, ArrayProgram
from ..program.columns import joined
from ..program.levels import WITH_UNKNOWNS
from ..program.program import INPUT as INPUT_NAME
from ..program.program import Program, Values

#: what a sum of terms may miss on the samples, by roundoff, as a part of the largest of them
AGREEMENT = 1e-7


def not_affine(program: Program, nodes: list[int], group_of: dict[int, int]) -> list[int]:
    """For every operation the groups in which it is not affine, as the bits of an integer. `group_of` maps operations
    that are unknowns to the numbers of their groups; other unknowns count as known."""
    late, kinds, arguments = program.late, program.op, program.args
    found: dict[int, tuple[int, int]] = {}  # the groups that an operation depends on, and those it is not affine in
    for node in program.needed(nodes, only_late=True):
        op = kinds[node]
        if op == INPUT_NAME:
            found[node] = (1 << group_of[node] if node in group_of else 0), 0
            continue
        held = bent = 0
        parts = [found[a] if late[a] else (0, 0) for a in arguments[node]]
        for depends, curved in parts:
            held |= depends
            bent |= curved
        if op == "mul":
            bent |= parts[0][0] & parts[1][0]
        elif op == "div":
            bent |= parts[1][0]
        elif op == "select":
            bent |= parts[0][0]
        elif op not in ("add", "sub", "neg"):
            bent = held
        found[node] = held, bent
    return [found[node][1] if late[node] else 0 for node in nodes]


def agrees(values: Values, node: int, rest: int, terms: list[tuple[int, int]]) -> bool:
    """Whether node = rest + the sum of the products of the terms, on all samples where these are numbers."""
    with np.errstate(all="ignore"):
        products = [np.asarray(values[a]) * np.asarray(values[b]) for a, b in terms]
        size = np.abs(values[node]) + np.abs(values[rest]) + sum(np.abs(p) for p in products)
        missed = np.abs(np.asarray(values[node]) - values[rest] - sum(products))
        return not np.any(missed > AGREEMENT * size)  # NaN is no evidence


#: operations of programs in arrays whose derivatives are zero though their values change
_STEPS = tuple(CODE[op] for op in ("sign", "floor", "ceil", "round", "rem"))


def held_behind_steps(program: ArrayProgram, rows: np.ndarray, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(row, unknown) for every unknown that the operation of a row holds behind a step, a rounding or the condition of
    a choice. Nothing is looked at where there is no such operation."""
    late = program.reachable(nodes, -(program.when.filled == WITH_UNKNOWNS).astype(np.int32))
    codes = program.code[late]
    chosen = late[codes == CODE["select"]]
    conditions = program.first[chosen].astype(np.int64)
    conditions = conditions[program.when[conditions] == WITH_UNKNOWNS]
    targets = np.unique(np.concatenate([late[np.isin(codes, _STEPS)], conditions]))
    if not len(targets):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    row, step = _paths(program, late, rows, nodes, targets)
    origin, unknown = _paths(program, late, np.arange(len(targets)), targets, late[codes == INPUT])
    left, right = joined(np.searchsorted(targets, step), origin, len(targets))
    size = len(program)
    pairs = np.unique(row[left] * size + program.second[unknown[right]])
    return pairs // size, pairs % size


def _paths(
    program: ArrayProgram, late: np.ndarray, labels: np.ndarray, nodes: np.ndarray, targets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(label, target) for every target that the operation of a label needs (or is): all pairs are followed from
    operations to arguments, as far as these lead to targets."""
    leads, is_target = np.zeros(len(program), bool), np.zeros(len(program), bool)
    leads[targets] = is_target[targets] = True
    for op, group in program.batches(late):
        if op not in ("const", "input"):
            leads[group] |= np.logical_or.reduce([leads[a] for a in program.arguments(group) if a[0] >= 0])
    size = len(program)
    found: list[np.ndarray] = []
    kept = leads[nodes]
    places = np.unique(labels[kept] * size + nodes[kept])
    seen = places
    while len(places):
        label, node = places // size, places % size
        found.append(places[is_target[node]])
        arguments = [(label[a >= 0], a[a >= 0].astype(np.int64)) for a in program.arguments(node)]
        further = [label[leads[a]] * size + a[leads[a]] for label, a in arguments]
        places = np.setdiff1d(np.unique(np.concatenate(further)), seen, assume_unique=True)
        seen = np.union1d(seen, places)
    pairs = np.concatenate([np.zeros(0, np.int64), *found])
    return pairs // size, pairs % size
