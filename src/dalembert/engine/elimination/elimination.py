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
import heapq
from dataclasses import dataclass

import numpy as np

from ...errors import ModelError
from ..program.columns import LargestOf
from ..program.program import CONST, INPUT, LINEAR, Program, Values
from .block_triangular import block_triangular
from .dependence import agrees, not_affine
from .sparse_elimination import Factors, Pivoting, eliminate_columns

#: levels of an operation: known at compile time, once a run, once a step, and from here on with the blocks
AT_COMPILATION, ONCE_A_RUN, ONCE_A_STEP, FIRST_BLOCK = 0, 1, 2, 3
#: A substituted unknown's coefficient should reach this fraction of the largest entry of its column (rows scaled);
#: one that never changes may be as small as the second number, but comes last.
SUBSTITUTION_THRESHOLD, LAST_THRESHOLD = 0.05, 1e-4


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


class Levels:
    """When an operation can be computed: the level of its latest input. Grows with the program."""

    def __init__(self, program: Program, block_of: np.ndarray) -> None:
        self._program, self._block_of, self._known = program, block_of, []

    def __getitem__(self, node: int) -> int:
        known, program = self._known, self._program
        for k in range(len(known), node + 1):
            op = program.op[k]
            if op == CONST:
                known.append(AT_COMPILATION)
            elif op == INPUT:
                kind, index = program.value[k]
                run_level = ONCE_A_RUN if kind.startswith("parameter") or kind == "h" else ONCE_A_STEP
                known.append(FIRST_BLOCK + int(self._block_of[index]) if kind == "x" else run_level)
            elif op == LINEAR:
                known.append(max((known[a] for a in program.value[k].values()), default=AT_COMPILATION))
            else:
                known.append(max([known[a] for a in program.args[k]]))
        return known[node]


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


def reduce_step(
    program: Program,
    x: np.ndarray,
    residual: np.ndarray,
    jacobian: list[dict[int, int]],
    samples: dict,
    unknown_names: tuple[str, ...],
    equation_names: tuple[str, ...],
    any_pivots: bool = False,
) -> Reduced:
    """Run the four passes. `any_pivots` solves linear blocks at once whatever their pivots; the caller watches them.

    `samples` maps every input to its sampled values; the first sample is the actual start.
    """
    n = len(x)
    names = (unknown_names, equation_names)
    check_structure(*_places(jacobian), n, names)
    values = Values(program, samples)
    scaling = Scaling.of(values, jacobian, n)

    pairs, definitions, growth = substitution_pairs(program, x, residual, jacobian, values, scaling)
    resolved = _resolve(program, x, definitions)
    rows_left = sorted(set(range(n)) - {i for i, _ in pairs})
    unknowns_left = sorted(set(range(n)) - {j for _, j in pairs})
    matrix = [dict(zip(row, substitute(program, list(row.values()), resolved), strict=True)) for row in jacobian]
    right = dict(zip(rows_left, substitute(program, residual[rows_left].tolist(), resolved), strict=True))
    pivots = eliminate_columns(program, matrix, pairs)

    components, levels = _ordered_blocks(program, x, matrix, right, rows_left, unknowns_left, names)
    index_of = {int(x[j]): index for index, (_, unknowns) in enumerate(components) for j in unknowns}
    bent = dict(zip(rows_left, not_affine(program, [right[i] for i in rows_left], index_of), strict=True))
    block_of = np.zeros(n, dtype=np.int64)
    solved: dict[int, int] = {}
    blocks: list[Block] = []
    for index, (equations, unknowns) in enumerate(components):
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
        pivoting = Pivoting(values, scaling.rows[equations])
        factors = Factors(program, system, unknowns, pivoting)
        pivots += factors.pivots
        linear = linear and (factors.safe or any_pivots)  # at once, if no pivot can come close to zero; else by Newton,
        if linear:  # which corrects its own roundoff
            right_side = at_zero
        update = factors.solve(substitute(program, right_side, solved))
        if linear:
            solved.update({int(x[j]): program.neg(update[j]) for j in unknowns})
            growth += factors.multipliers
        else:
            block_of[unknowns] = len(blocks)
            blocks.append(Block(unknowns, equations, [update[j] for j in unknowns], factors.multipliers))
    statistics = {
        "unknowns": n,
        "nonzeros": sum(len(row) for row in jacobian),
        "substituted": len(pairs),
        "solved_directly": len(unknowns_left) - sum(len(b.unknowns) for b in blocks),
        "newton_unknowns": [len(b.unknowns) for b in blocks],
    }
    return Reduced(program, blocks, block_of, growth, pivots, statistics, (resolved, solved))


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


@dataclass(frozen=True)
class Scaling:
    """Factors that bring the largest sampled entry of every row and column of the Jacobian to about one."""

    rows: np.ndarray
    columns: np.ndarray

    @classmethod
    def of(cls, values: Values, jacobian: list[dict[int, int]], n: int) -> Scaling:
        rows, columns = _places(jacobian)
        sizes = [_largest(values[node]) for row in jacobian for node in row.values()]
        return cls.of_entries(np.array(sizes), rows, columns, n)

    @classmethod
    def of_entries(cls, sizes: np.ndarray, rows: np.ndarray, columns: np.ndarray, n: int) -> Scaling:
        """From the largest sampled size of every entry."""
        in_row, in_column = LargestOf(rows, n), LargestOf(columns, n)
        row_scale, column_scale = np.ones(n), np.ones(n)
        for _ in range(12):
            current = row_scale[rows] * sizes * column_scale[columns]
            row_scale = row_scale / np.sqrt(_or_one(in_row(current)))
            column_scale = column_scale / np.sqrt(_or_one(in_column(current)))
        return cls(row_scale, column_scale)


def _or_one(sizes: np.ndarray) -> np.ndarray:
    return np.where(sizes > 0, sizes, 1.0)


def _largest(value) -> float:
    finite = np.abs(np.atleast_1d(np.asarray(value, dtype=np.float64)))
    finite = finite[np.isfinite(finite)]
    return float(finite.max()) if finite.size else 1.0


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


def _resolve(program: Program, x: np.ndarray, definitions: dict[int, int]) -> dict[int, int]:
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


def _places(jacobian: list[dict[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of every entry."""
    rows = np.repeat(np.arange(len(jacobian)), [len(row) for row in jacobian])
    return rows, np.array([j for row in jacobian for j in row], dtype=np.int64)


def check_structure(rows: np.ndarray, columns: np.ndarray, n: int, names) -> None:
    """Refuse an equation without unknowns and an unknown without equations."""
    unknown_names, equation_names = names
    empty = np.flatnonzero(np.bincount(rows, minlength=n) == 0)
    if len(empty):
        raise ModelError(f"structurally singular: the equation {equation_names[empty[0]]!r} contains no unknown.")
    missing = np.flatnonzero(np.bincount(columns, minlength=n) == 0)
    if len(missing):
        raise ModelError(f"structurally singular: no equation depends on the unknown {unknown_names[missing[0]]!r}.")
