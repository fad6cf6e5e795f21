"""Sparse Gaussian elimination on operations: rows are {column: operation}, numbers come from sampled states."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..program.program import Program, Values
from ..tuning import tuning

#: The first of the samples are the start and states near it.
NEAR = 3


class Pivoting:
    """How large an entry is: scaled by rows, sampled. The threshold bounds the multipliers as partial pivoting does."""

    def __init__(self, values: Values, row_scale: np.ndarray) -> None:
        self._values, self._row_scale = values, row_scale

    def size(self, row: int, node: int) -> np.ndarray:
        """The scaled absolute value of an entry in every sample; a sample that is not finite counts as nothing."""
        size = np.abs(np.atleast_1d(np.asarray(self._values[node], dtype=np.float64))) * self._row_scale[row]
        return np.where(np.isfinite(size), size, 0.0)

    def keeps_sign(self, node: int) -> bool:
        """Whether an entry has one sign in all samples."""
        value = np.atleast_1d(np.asarray(self._values[node], dtype=np.float64))
        value = value[np.isfinite(value)]
        return bool(value.size and (np.all(value > 0) or np.all(value < 0)))

    def quality(self, row: int, column: int, rows: list[dict[int, int]], holders: set[int]) -> tuple[float, float]:
        """The smallest ratio of an entry to the largest of its column: over all samples, and at and near the start."""
        own = self.size(row, rows[row][column])
        largest = own
        for other in holders:
            largest = np.maximum(largest, self.size(other, rows[other][column]))
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = np.where(largest > 0, own / largest, 1.0)
        return (float(ratio.min()), float(ratio[:NEAR].min())) if np.any(own > 0) else (0.0, 0.0)


def eliminate_columns(program: Program, matrix: list[dict[int, int]], pairs: list[tuple[int, int]]) -> list[int]:
    """Eliminate given pivots (row, column) from all rows that are not pivots yet; rows change in place. Returns the
    operations of the pivots, in this order."""
    pivots: list[int] = []
    holders: dict[int, set[int]] = {}
    for i, row in enumerate(matrix):
        for j in row:
            holders.setdefault(j, set()).add(i)
    for i, j in pairs:
        pivot_row = matrix[i]
        for k in pivot_row:
            holders[k].discard(i)
        pivots.append(pivot_row[j])
        inverse = program.reciprocal(pivot_row[j])
        for other in sorted(holders.get(j, ())):
            factor = program.mul(matrix[other].pop(j), inverse)
            for k, node in pivot_row.items():
                if k != j:
                    new = program.sub(matrix[other].get(k, program.zero), program.mul(factor, node))
                    if new == program.zero:
                        matrix[other].pop(k, None)
                        holders[k].discard(other)
                    else:
                        matrix[other][k] = new
                        holders[k].add(other)
        holders.pop(j, None)
    return pivots


class TooManyOperations(Exception):
    """An elimination that fills up more than its program allows; `traced` is what it was to begin with, where that
    alone was too much."""

    def __init__(self, traced: Any = None) -> None:
        super().__init__("more operations than straight lines are good for")
        self.traced = traced


class Factors:
    """A matrix of operations, eliminated: `solve` gives the operations of a solution for any right side.

    `multipliers` are those whose size is to be watched; `safe` says whether all pivots that had a rival keep their sign
    over the samples: one that does not may come close to zero on the way.
    """

    def __init__(
        self, program: Program, rows: list[dict[int, int]], unknowns: Iterable[int], pivoting: Pivoting
    ) -> None:
        self._program = program
        self._rows = rows = [dict(row) for row in rows]
        self._order: list[tuple[int, int, int, list[tuple[int, int]]]] = []  # row, column, inverse, [(row, multiplier)]
        self.multipliers: list[int] = []
        self.pivots: list[int] = []
        self.safe = True
        holders: dict[int, set[int]] = {j: set() for j in unknowns}
        for i, row in enumerate(rows):
            for j in row:
                holders[j].add(i)
        active = set(range(len(rows)))
        queue: list[tuple[int, int]] = [(len(rows[i]), i) for i in active]
        heapq.heapify(queue)
        while active:
            if len(program) > program.most:
                raise TooManyOperations
            i, j = _choose(queue, active, rows, holders, pivoting)
            active.discard(i)
            self._take(i, j, holders, queue, pivoting)

    def _take(self, i: int, j: int, holders: dict[int, set[int]], queue: list, pivoting: Pivoting) -> None:
        program, rows = self._program, self._rows
        pivot = rows[i].pop(j)
        for k in rows[i]:
            holders[k].discard(i)
        holders[j].discard(i)
        inverse = program.reciprocal(pivot)
        self.pivots.append(pivot)
        changes: list[tuple[int, int]] = []
        self._order.append((i, j, inverse, changes))
        self.safe = self.safe and (not holders[j] or pivoting.keeps_sign(pivot))
        for other in sorted(holders[j]):
            factor = program.mul(rows[other].pop(j), inverse)
            changes.append((other, factor))
            if program.number(factor) is None:
                self.multipliers.append(factor)
            for k, node in rows[i].items():
                new = program.sub(rows[other].get(k, program.zero), program.mul(factor, node))
                if new == program.zero:
                    rows[other].pop(k, None)
                    holders[k].discard(other)
                else:
                    rows[other][k] = new
                    holders[k].add(other)
            heapq.heappush(queue, (len(rows[other]), other))
        holders.pop(j)

    def solve(self, right: list[int]) -> dict[int, int]:
        """{unknown: operation} for a right side, one operation a row."""
        program, right = self._program, list(right)
        for i, _, _, changes in self._order:
            for other, factor in changes:
                right[other] = program.sub(right[other], program.mul(factor, right[i]))
        solution: dict[int, int] = {}
        for i, j, inverse, _ in reversed(self._order):
            total = right[i]
            for k, node in self._rows[i].items():
                total = program.sub(total, program.mul(node, solution[k]))
            solution[j] = program.mul(inverse, total)
        return solution


def _choose(queue, active, rows, holders, pivoting: Pivoting) -> tuple[int, int]:
    """The pivot of least Markowitz cost among the shortest rows, large enough in every sample."""
    best: tuple[float, float, int, int] | None = None
    fallback: tuple[float, int, int] | None = None
    seen: dict[int, int] = {}
    while queue and len(seen) < 8:
        length, i = heapq.heappop(queue)
        if i not in active or length != len(rows[i]) or i in seen:
            continue
        seen[i] = length
        if best is not None and best[0] <= (length - 1) ** 2:
            break
        for j in rows[i]:
            quality, near = pivoting.quality(i, j, rows, holders[j])
            cost = (length - 1) * (len(holders[j]) - 1)
            if quality >= tuning().pivot_threshold and (best is None or (cost, -quality, i, j) < best):
                best = (cost, -quality, i, j)
            if fallback is None or near > fallback[0]:
                fallback = (near, i, j)
    for i, length in seen.items():
        heapq.heappush(queue, (length, i))
    if best is not None:
        return best[2], best[3]
    assert fallback is not None
    return fallback[1], fallback[
        2
    ]  # nothing is safe on all samples: the best near the start; the code watches its growth
