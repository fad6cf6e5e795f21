"""Where the fronts of a sparse factorisation lie in memory, and where numbers go between them."""

from __future__ import annotations

import itertools

import numpy as np

from ..elimination.fronts import Fronts

#: Numbers in a line of the cache.
LINE = 8


class Layout:
    """Where the rows of all fronts lie, in one piece of memory that begins at 0."""

    def __init__(self, fronts: Fronts, lanes: int) -> None:
        self._fronts, self._lanes = fronts, lanes
        self.pivots = fronts.pivots
        self.rows = self.pivots + np.array([len(border) for border in fronts.borders], dtype=np.int64)
        self.lengths = -(-(self.rows + 1) // lanes) * lanes
        self.firsts = np.cumsum(self.pivots) - self.pivots
        kept = self.pivots * self.lengths
        self.upper = np.cumsum(kept) - kept
        self.lower, self.size = self._lower(int(kept.sum()))
        self.size = -(-self.size // LINE) * LINE

    def _lower(self, start: int) -> tuple[np.ndarray, int]:
        """Memory for the borders, given back when the parent took them up: the first gap that is long enough."""
        children = self._children()
        lower, taken, end = np.zeros(len(self.pivots), np.int64), {}, start
        for k, length in enumerate(((self.rows - self.pivots) * self.lengths).tolist()):
            place = start
            for other, size in sorted(taken.items()):
                if other - place >= length:
                    break
                place = max(place, other + size)
            lower[k] = place
            if length:
                taken[place] = length
            end = max(end, place + length)
            for child in children[k]:
                taken.pop(int(lower[child]), None)
        return lower, end

    def _children(self) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in self.pivots]
        for child, parent in enumerate(self._fronts.parents.tolist()):
            if parent >= 0 and len(self._fronts.borders[child]):
                found[parent].append(child)
        return found

    def row_places(self, front: int, rows: np.ndarray) -> np.ndarray:
        """Where rows of a front begin."""
        pivots, length = self.pivots[front], self.lengths[front]
        upper = self.upper[front] + rows * length
        return np.where(rows < pivots, upper, self.lower[front] + (rows - pivots) * length)

    def local(self, front: int, places: np.ndarray) -> np.ndarray:
        """The rows or columns of a front that belong to places among the pivots."""
        first, pivots = self.firsts[front], self.pivots[front]
        beyond = pivots + np.searchsorted(self._fronts.borders[front], places)
        return np.where(places < first + pivots, places - first, beyond)

    def entries(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The entries of the matrix front by front, where each begins in that list, and where each entry goes."""
        rows, columns = self._fronts.entry_rows, self._fronts.entry_columns
        front = np.searchsorted(self.firsts, np.minimum(rows, columns), side="right") - 1
        order = np.argsort(front, kind="stable")
        starts = np.searchsorted(front[order], np.arange(len(self.pivots) + 1))
        targets = np.zeros(len(rows), np.int64)
        for k, (begin, end) in enumerate(itertools.pairwise(starts.tolist())):
            own = order[begin:end]
            targets[begin:end] = self.row_places(k, self.local(k, rows[own])) + self.local(k, columns[own])
        return order, starts, targets

    def right_targets(self) -> np.ndarray:
        """Where the right side of each place goes."""
        front = np.repeat(np.arange(len(self.pivots)), self.pivots)
        row = np.arange(self._fronts.size) - self.firsts[front]
        return self.upper[front] + row * self.lengths[front] + self.rows[front]

    def children(self) -> list[list[tuple[int, np.ndarray, np.ndarray]]]:
        """For every front its children, where each row of a child's border begins here, and the columns."""
        found = []
        for k, children in enumerate(self._children()):
            local = [self.local(k, self._fronts.borders[child]) for child in children]
            found.append([(c, self.row_places(k, own), own) for c, own in zip(children, local, strict=True)])
        return found
