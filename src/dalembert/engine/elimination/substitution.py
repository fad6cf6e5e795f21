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
from ..tuning import tuning
from .dependence import agrees, not_affine
from .equilibration import Scaling
from .sparse_elimination import Pivoting


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
    multipliers to be watched."""
    substitution = _Substitution(program, x, residual, jacobian, values)
    substitution.measure(jacobian, scaling)
    substitution.choose()
    return substitution.pairs, substitution.definitions, substitution.growth


class _Substitution:
    """Every equation is split as sum_j c_j x_j + rest, with the c_j independent of all unknowns. Taking the pair (i, j)
    subtracts multiples of equation i from the others that hold x_j linearly. An unknown in `rest` that is itself
    defined through x_j would make the definition circular; such pairs are passed over.
    """

    def __init__(
        self, program: Program, x: np.ndarray, residual: np.ndarray, jacobian: list[dict[int, int]], values: Values
    ) -> None:
        self._program, self._x, self._values = program, [int(node) for node in x], values
        self._unknown_of = {node: j for j, node in enumerate(self._x)}
        self._constant = Levels(program, np.zeros(len(x), dtype=np.int64))
        self._split(residual.tolist(), jacobian)
        self._holders: list[set[int]] = [set() for _ in self._x]  # of each unknown: the equations linear in it
        for i, row in enumerate(self._linear):
            for j in row:
                self._holders[j].add(i)
        self._queue: list[tuple] = []
        self._depends: dict[int, set[int]] = {}  # defined unknown -> the unknowns in its definition
        self.pairs: list[tuple[int, int]] = []
        self.definitions: dict[int, int] = {}
        self.growth: list[int] = []

    def _split(self, residual: list[int], jacobian: list[dict[int, int]]) -> None:
        program, constant = self._program, self._constant
        bent = not_affine(program, residual, self._unknown_of)
        self._linear = [
            {j: node for j, node in row.items() if constant[node] < FIRST_BLOCK and not bent[i] >> j & 1}
            for i, row in enumerate(jacobian)
        ]
        self._rest = [
            substitute(program, [whole], {self._x[j]: program.zero for j in row})[0]
            for whole, row in zip(residual, self._linear, strict=True)
        ]
        # what such an equation holds with a small coefficient does not determine the unknown: that its own one is
        # behind a step leaves it none
        self._stepped = {
            i for i, row in enumerate(jacobian) if any(bent[i] >> j & 1 for j in row if constant[row[j]] < FIRST_BLOCK)
        }
        self._stepped |= {i for i, row in enumerate(jacobian) if bent[i] & ~sum(1 << j for j in row)}
        for i, row in enumerate(self._linear):  # a function may come with derivatives that are not its own
            linear_part = [(node, self._x[j]) for j, node in row.items()]
            if not agrees(self._values, residual[i], self._rest[i], linear_part):
                self._linear[i], self._rest[i] = {}, residual[i]
                self._stepped.add(i)
        # what the rest holds, not what the Jacobian says: a derivative may cancel to zero where its value does not
        self._others = [
            (set(row) - set(self._linear[i])) | self._unknowns_in(self._rest[i]) for i, row in enumerate(jacobian)
        ]

    def _unknowns_in(self, node: int) -> set[int]:
        needed = self._program.needed([node], only_late=True)
        return {self._unknown_of[k] for k in needed if k in self._unknown_of}

    def measure(self, jacobian: list[dict[int, int]], scaling: Scaling) -> None:
        """The largest coefficient of every unknown, with which its own one is compared."""
        self._sizes = Pivoting(self._values, scaling.rows)
        self._column_size: dict[int, np.ndarray] = {}
        for i, row in enumerate(jacobian):
            for j, node in row.items():
                self._column_size[j] = np.maximum(self._column_size.get(j, 0.0), self._sizes.size(i, node))

    def choose(self) -> None:
        """Take pairs, the cheapest first, until none is left."""
        for i in range(len(self._x)):
            self._propose(i)
        taken: set[int] = set()
        while self._queue:
            late, level, cost, i, j, node = heapq.heappop(self._queue)
            if i in taken or self._linear[i].get(j) != node:
                continue
            if self._cost(i, j) > cost:
                heapq.heappush(self._queue, (late, level, self._cost(i, j), i, j, node))
            elif not self._circular(i, j):
                taken.add(i)
                self._take(i, j, watched=level > ONCE_A_RUN)

    def _cost(self, i: int, j: int) -> int:
        return (len(self._linear[i]) + len(self._others[i]) - 1) * (len(self._holders[j]) - 1)

    def _propose(self, i: int) -> None:
        for j, node in self._linear[i].items():
            own, level, column = self._sizes.size(i, node), self._constant[node], self._column_size[j]
            late = not np.all(own >= tuning().substitution_threshold * column)
            if level > ONCE_A_RUN and not _steady(self._values[node]):
                continue
            if late and (
                level > ONCE_A_RUN or i in self._stepped or not np.all(own >= tuning().last_threshold * column)
            ):
                continue
            if np.all(own > 0):
                heapq.heappush(self._queue, (late, level, self._cost(i, j), i, j, node))

    def _circular(self, i: int, j: int) -> bool:
        stack, seen = list(self._others[i]), set()
        while stack:
            k = stack.pop()
            if k == j:
                return True
            if k not in seen:
                seen.add(k)
                stack.extend(self._depends.get(k, ()))
        return False

    def _take(self, i: int, j: int, watched: bool) -> None:
        """Define unknown j by equation i: x_j = -(sum of the other terms + rest) / c_j."""
        program, row, holders = self._program, self._linear[i], self._holders
        self.pairs.append((i, j))
        inverse = program.reciprocal(row.pop(j))
        total = self._rest[i]
        for k, coefficient in row.items():
            total = program.add(total, program.mul(coefficient, self._x[k]))
            holders[k].discard(i)
        self.definitions[j] = program.neg(program.mul(inverse, total))
        self._depends[j] = set(row) | self._others[i]
        holders[j].discard(i)
        for other in sorted(holders[j]):
            factor = program.mul(self._linear[other].pop(j), inverse)
            if watched:
                self.growth.append(factor)
            self._subtract(i, other, factor)
            self._propose(other)
        holders[j].clear()

    def _subtract(self, i: int, other: int, factor: int) -> None:
        """Equation `other` less `factor` times equation i."""
        program, row, zero = self._program, self._linear[other], self._program.zero
        for k, coefficient in self._linear[i].items():
            new = program.sub(row.get(k, zero), program.mul(factor, coefficient))
            _set(row, self._holders, other, k, new, zero)
        self._rest[other] = program.sub(self._rest[other], program.mul(factor, self._rest[i]))
        self._others[other] |= self._others[i]
        if i in self._stepped:
            self._stepped.add(other)
        for k in self._others[other] & set(row):  # linear before, but hidden in the rest now
            self._rest[other] = program.add(self._rest[other], program.mul(row.pop(k), self._x[k]))
            self._holders[k].discard(other)


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
