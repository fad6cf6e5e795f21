"""The first pass of elimination: unknowns that appear linearly are written by the others.

Where an equation contains an unknown x_j only as c x_j with c independent of all unknowns, x_j is written in terms of
the others, x_j = -(rest) / c, and disappears. What it contains is asked of its operations, not of its derivatives
(`dependence.py`). `array_substitution.py` does the same for programs in arrays.
"""

from __future__ import annotations

import heapq

import numpy as np

from ..program.levels import FIRST_BLOCK, ONCE_A_RUN, Levels
from ..program.program import Program, Values
from .dependence import agrees, not_affine
from .equilibration import Scaling
from .sparse_elimination import Pivoting

#: A substituted unknown's coefficient should reach this fraction of the largest entry of its column (rows scaled);
#: one that never changes may be as small as the second number, but comes last.
SUBSTITUTION_THRESHOLD, LAST_THRESHOLD = 0.05, 1e-4


def substitute(program: Program, roots: list[int], mapping: dict[int, int]) -> list[int]:
    """The roots with every unknown of `mapping` replaced; `mapping` also remembers what was rewritten."""
    late = program.late
    for root in roots:
        if root in mapping or not late[root]:
            continue
        stack = [root]
        while stack:
            node = stack[-1]
            if node in mapping:
                stack.pop()
                continue
            waiting = [a for a in program.args[node] if late[a] and a not in mapping]
            if waiting:
                stack.extend(waiting)
                continue
            arguments = program.args[node]
            new = tuple([mapping[a] if late[a] else a for a in arguments])
            mapping[node] = node if new == arguments else program.apply(program.op[node], *new)
            stack.pop()
    return [mapping[root] if late[root] else root for root in roots]


def substitution_pairs(
    program: Program, x: np.ndarray, residual: np.ndarray, jacobian: list[dict[int, int]], values: Values,
    scaling: Scaling,
) -> tuple[list[tuple[int, int]], dict[int, int], list[int]]:  # fmt: skip
    """Pairs (equation, unknown) of the first pass in order, the definition of each unknown by the others, and the
    multipliers to be watched.

    Every equation is split as sum_j c_j x_j + rest, with the c_j independent of all unknowns. Taking the pair (i, j)
    subtracts multiples of equation i from the others that hold x_j linearly. An unknown in `rest` that is itself
    defined through x_j would make the definition circular; such pairs are passed over.
    """
    n = len(x)
    constant = Levels(program, np.zeros(n, dtype=np.int64))
    bent = not_affine(program, residual.tolist(), {int(node): j for j, node in enumerate(x.tolist())})
    linear = [
        {j: node for j, node in row.items() if constant[node] < FIRST_BLOCK and not bent[i] >> j & 1}
        for i, row in enumerate(jacobian)
    ]
    rest = [substitute(program, [int(residual[i])], {int(x[j]): program.zero for j in linear[i]})[0] for i in range(n)]
    # what such an equation holds with a small coefficient does not determine the unknown: that its own one is behind a
    # step leaves it none
    stepped = {
        i for i, row in enumerate(jacobian) if any(bent[i] >> j & 1 for j in row if constant[row[j]] < FIRST_BLOCK)
    }
    stepped |= {i for i, row in enumerate(jacobian) if bent[i] & ~sum(1 << j for j in row)}
    for i, row in enumerate(linear):  # a function may come with derivatives that are not its own
        if not agrees(values, int(residual[i]), rest[i], [(node, int(x[j])) for j, node in row.items()]):
            linear[i], rest[i] = {}, int(residual[i])
            stepped.add(i)
    # what the rest holds, not what the Jacobian says: a derivative may cancel to zero where its value does not
    unknown_of = {int(node): j for j, node in enumerate(x.tolist())}
    others = [
        (set(row) - set(linear[i]))
        | {unknown_of[k] for k in program.needed([rest[i]], only_late=True) if k in unknown_of}
        for i, row in enumerate(jacobian)
    ]
    holders: list[set[int]] = [set() for _ in range(n)]
    for i, row in enumerate(linear):
        for j in row:
            holders[j].add(i)
    sizes = Pivoting(values, scaling.rows)
    column_size: dict[int, np.ndarray] = {}
    for i, row in enumerate(jacobian):
        for j, node in row.items():
            column_size[j] = np.maximum(column_size.get(j, 0.0), sizes.size(i, node))
    queue: list[tuple] = []

    def cost_of(i: int, j: int) -> int:
        return (len(linear[i]) + len(others[i]) - 1) * (len(holders[j]) - 1)

    def propose(i: int) -> None:
        for j, node in linear[i].items():
            own = sizes.size(i, node)
            late = not np.all(own >= SUBSTITUTION_THRESHOLD * column_size[j])
            if constant[node] > ONCE_A_RUN and not _steady(values[node]):
                continue
            if late and (constant[node] > ONCE_A_RUN or not np.all(own >= LAST_THRESHOLD * column_size[j])):
                continue
            if late and i in stepped:
                continue
            if np.all(own > 0):
                heapq.heappush(queue, (late, constant[node], cost_of(i, j), i, j, node))

    depends: dict[int, set[int]] = {}  # defined unknown -> the unknowns in its definition

    def circular(i: int, j: int) -> bool:
        stack, seen = list(others[i]), set()
        while stack:
            k = stack.pop()
            if k == j:
                return True
            if k not in seen:
                seen.add(k)
                stack.extend(depends.get(k, ()))
        return False

    for i in range(n):
        propose(i)
    taken: set[int] = set()
    pairs: list[tuple[int, int]] = []
    definitions: dict[int, int] = {}
    growth: list[int] = []
    while queue:
        late, level, cost, i, j, node = heapq.heappop(queue)
        if i in taken or linear[i].get(j) != node:
            continue
        if cost_of(i, j) > cost:
            heapq.heappush(queue, (late, level, cost_of(i, j), i, j, node))
            continue
        if circular(i, j):
            continue
        taken.add(i)
        pairs.append((i, j))
        pivot = linear[i].pop(j)
        inverse = program.reciprocal(pivot)
        total = rest[i]
        for k, coefficient in linear[i].items():
            total = program.add(total, program.mul(coefficient, int(x[k])))
            holders[k].discard(i)
        definitions[j] = program.neg(program.mul(inverse, total))
        depends[j] = set(linear[i]) | others[i]
        holders[j].discard(i)
        for other in sorted(holders[j]):
            factor = program.mul(linear[other].pop(j), inverse)
            if level > ONCE_A_RUN:
                growth.append(factor)
            for k, coefficient in linear[i].items():
                new = program.sub(linear[other].get(k, program.zero), program.mul(factor, coefficient))
                _set(linear[other], holders, other, k, new, program.zero)
            rest[other] = program.sub(rest[other], program.mul(factor, rest[i]))
            others[other] |= others[i]
            if i in stepped:
                stepped.add(other)
            for k in others[other] & set(linear[other]):  # linear before, but hidden in the rest now
                rest[other] = program.add(rest[other], program.mul(linear[other].pop(k), int(x[k])))
                holders[k].discard(other)
            propose(other)
        holders[j].clear()
    return pairs, definitions, growth


def _steady(value) -> bool:
    """Of one sign and one magnitude on all samples: a coefficient that may be divided by at every step."""
    value = np.atleast_1d(np.asarray(value, dtype=np.float64))
    value = value[np.isfinite(value)]
    return bool(value.size and (np.all(value > 0) or np.all(value < 0)) and _ratio(np.abs(value)) > 0.1)


def _ratio(sizes: np.ndarray) -> float:
    return float(sizes.min() / sizes.max())


def _set(row: dict, holders: list[set[int]], i: int, j: int, node: int, zero: int) -> None:
    if node == zero:
        row.pop(j, None)
        holders[j].discard(i)
    else:
        row[j] = node
        holders[j].add(i)


def resolve(program: Program, x: np.ndarray, definitions: dict[int, int]) -> dict[int, int]:
    """A mapping that writes every defined unknown in terms of the undefined ones."""
    index_of = {int(node): j for j, node in enumerate(x.tolist())}
    mapping: dict[int, int] = {}
    state: dict[int, int] = {}
    for first in definitions:
        stack = [first]
        while stack:
            j = stack[-1]
            if state.get(j) == 2:
                stack.pop()
                continue
            used = [index_of[k] for k in program.needed([definitions[j]], only_late=True) if k in index_of]
            waiting = [k for k in used if k in definitions and state.get(k) != 2]
            if waiting and state.get(j) != 1:
                state[j] = 1
                stack.extend(waiting)
                continue
            mapping[int(x[j])] = substitute(program, [definitions[j]], mapping)[0]
            state[j] = 2
            stack.pop()
    return mapping
