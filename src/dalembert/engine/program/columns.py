"""Arrays that grow, and rows of different lengths in flat arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sparse


class Column:
    """A growing numpy array. What is not filled is zero: memory that was never touched."""

    def __init__(self, dtype) -> None:
        self.room: np.ndarray = np.zeros(1024, dtype)  # all of it, also what is not filled
        self.length = 0

    def reserve(self, count: int) -> None:
        """Make room for `count` more, and one that stays zero: the place -1 stands for no operation."""
        end = self.length + count
        if end >= len(self.room):
            room = np.zeros(max(end + 1, 4 * len(self.room)), self.room.dtype)
            room[: self.length] = self.filled
            self.room = room

    def extend(self, values, count: int) -> None:
        self.reserve(count)
        self.room[self.length : self.length + count] = values
        self.length += count

    def extend_by_zeros(self, count: int) -> None:
        self.reserve(count)
        self.length += count

    def keep(self, places: np.ndarray, *, tight: bool) -> None:
        """Nothing but what is at these places; `tight` gives the rest of the memory back."""
        kept = self.room[places]
        if tight:
            self.room = np.zeros(len(kept) + 1, kept.dtype)
        else:
            self.room[len(kept) : self.length] = 0
        self.room[: len(kept)] = kept
        self.length = len(kept)

    def __getitem__(self, index) -> Any:
        return self.room[index]

    @property
    def filled(self) -> np.ndarray:
        return self.room[: self.length]


def spread(starts: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(row, place) of every entry of rows that begin at `starts` and have these lengths, row after row."""
    lengths = np.asarray(lengths, dtype=np.int64)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    first = np.cumsum(lengths) - lengths
    return rows, np.asarray(starts, dtype=np.int64)[rows] + np.arange(len(rows)) - first[rows]


def sorted_order(labels: np.ndarray, count: int) -> np.ndarray:
    """What `argsort` does, stable, for labels 0 ... count - 1: by counting them."""
    ones, starts = np.ones(len(labels), np.int8), np.arange(len(labels) + 1)
    return sparse.csr_array((ones, labels, starts), shape=(len(labels), count)).tocsc().indices


class LargestOf:
    """For every label 0 ... count - 1 the largest of the nonnegative numbers that carry it; zero where none does."""

    def __init__(self, labels: np.ndarray, count: int) -> None:
        self._order = None if np.all(labels[1:] >= labels[:-1]) else sorted_order(labels, count)
        lengths = np.bincount(labels, minlength=count)
        self._count, self._there = count, np.flatnonzero(lengths)
        self._starts = (np.cumsum(lengths) - lengths)[self._there]

    def __call__(self, numbers: np.ndarray) -> np.ndarray:
        found = np.zeros((self._count, *numbers.shape[1:]))
        if len(self._there):
            ordered = numbers if self._order is None else numbers[self._order]
            found[self._there] = np.maximum.reduceat(ordered, self._starts, axis=0)
        return found


def distinct(values: np.ndarray) -> np.ndarray:
    """The values once each, sorted. (numpy's own `unique` hashes, which takes ten times as long for such numbers.)"""
    ordered = np.sort(values, kind="stable")  # they mostly consist of runs that are sorted already
    return ordered[np.concatenate([np.ones(min(1, len(ordered)), bool), ordered[1:] != ordered[:-1]])]


def joined(left: np.ndarray, right: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """All pairs (k, l) with left[k] == right[l], for labels 0 ... count - 1; k ascending."""
    order = np.argsort(right, kind="stable")
    lengths = np.bincount(right, minlength=count)
    starts = np.cumsum(lengths) - lengths
    rows, places = spread(starts[left], lengths[left])
    return rows, order[places]


def reduced(program, op: str, nodes: np.ndarray, segment: np.ndarray, count: int, empty: int) -> np.ndarray:
    """Operations combined segment by segment, pairwise, so that no result is deeper than a logarithm."""
    order = np.argsort(segment, kind="stable")
    nodes, segment = np.asarray(nodes, dtype=np.int64)[order], segment[order]
    while len(nodes):
        lengths = np.bincount(segment, minlength=count)
        if lengths.max() == 1:
            break
        rank = np.arange(len(nodes)) - (np.cumsum(lengths) - lengths)[segment]
        first = np.flatnonzero((rank % 2 == 0) & (rank + 1 < lengths[segment]))
        nodes[first] = program.apply(op, nodes[first], nodes[first + 1])
        kept = rank % 2 == 0
        nodes, segment = nodes[kept], segment[kept]
    out = np.full(count, empty, np.int64)
    out[segment] = nodes
    return out
