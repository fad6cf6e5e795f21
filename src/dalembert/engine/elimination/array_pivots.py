"""Many pivots at once: sparse matrices of operations in flat arrays, and sets of pivots that do not touch each other.

Pivots that are taken together lie in rows and columns that do not meet, so that eliminating them is one pass over flat
arrays, and what is left is as deep as there were rounds. Equations that look alike get one label and are ranked within
it; every second one comes first (bit reversal). So a chain is halved in every round, and its links stay alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..program.array_program import CONST, ArrayProgram
from ..program.columns import joined, reduced
from ..program.numbering import labelled, unique

#: A round that finds fewer pivots than this fraction of the candidates may take dearer ones.
_WORTHWHILE = 1 / 6
_DEARER = 4
#: as many entries that look alike are judged by what is usual among them
_MANY = 16


@dataclass
class Matrix:
    """Entries of a square matrix, sorted by row and column, each place once."""

    size: int
    rows: np.ndarray
    columns: np.ndarray
    nodes: np.ndarray

    def part(self, kept: np.ndarray) -> Matrix:
        return Matrix(self.size, self.rows[kept], self.columns[kept], self.nodes[kept])

    def packed(self) -> tuple[Matrix, np.ndarray]:
        """The same with rows and columns that hold nothing left out, and the rows that are kept."""
        (rows, row_place), (columns, column_place) = map(self._renumbered, (self.rows, self.columns))
        size = max(len(rows), len(columns))
        return Matrix(size, row_place[self.rows], column_place[self.columns], self.nodes), rows

    def _renumbered(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        there = np.zeros(self.size, bool)
        there[numbers] = True
        return np.flatnonzero(there), np.cumsum(there) - 1


@dataclass
class Eliminated:
    """One round: pivots (row, column) with their inverses, what else their rows held, the multipliers of other rows."""

    rows: np.ndarray
    columns: np.ndarray
    inverse: np.ndarray
    beside: Matrix  # its rows are numbers of pivots
    touched: np.ndarray  # rows that were changed, one entry a multiplier
    pivot: np.ndarray  # the number of the pivot of each multiplier
    factors: np.ndarray


def eliminate(
    program: ArrayProgram, matrix: Matrix, rows: np.ndarray, columns: np.ndarray
) -> tuple[Matrix, Eliminated]:
    """The matrix without these rows and columns; no pivot row holds another pivot's column."""
    n = matrix.size
    pivot_of_row, pivot_of_column = np.full(n, -1), np.full(n, -1)
    pivot_of_row[rows] = pivot_of_column[columns] = np.arange(len(rows))
    own, other = pivot_of_row[matrix.rows], pivot_of_column[matrix.columns]
    pivots = np.flatnonzero((own >= 0) & (own == other))
    inverse = np.zeros(len(rows), np.int64)
    inverse[own[pivots]] = program.reciprocal(matrix.nodes[pivots])
    beside = np.flatnonzero((own >= 0) & (own != other))
    hit = np.flatnonzero((own < 0) & (other >= 0))
    factors = program.mul(matrix.nodes[hit], inverse[other[hit]])
    left, right = joined(other[hit], own[beside], len(rows))
    products = program.mul(factors[left], matrix.nodes[beside][right])
    places = matrix.rows[hit][left] * n + matrix.columns[beside][right]
    kept = np.flatnonzero((own < 0) & (other < 0))
    old = matrix.rows[kept] * n + matrix.columns[kept]
    all_places, where = unique(np.concatenate([old, places]))
    nodes = np.zeros(len(all_places), np.int64)
    nodes[where[: len(old)]] = matrix.nodes[kept]
    changes = reduced(program, "add", products, where[len(old) :], len(all_places), program.zero)
    changed = np.flatnonzero(changes)
    nodes[changed] = program.sub(nodes[changed], changes[changed])
    nonzero = nodes != program.zero
    left_over = Matrix(n, all_places[nonzero] // n, all_places[nonzero] % n, nodes[nonzero])
    held = Matrix(n, own[beside], matrix.columns[beside], matrix.nodes[beside])
    return left_over, Eliminated(rows, columns, inverse, held, matrix.rows[hit], other[hit], factors)


class Likeness:
    """Which rows and which entries of a matrix look alike, to a few neighbours' distance.

    Decisions that rest on sampled numbers are made for all entries of a kind together: what holds for one link of a
    chain and not for the next, by the luck of the samples, would make every link a different problem.
    """

    def __init__(self, program: ArrayProgram, matrix: Matrix, rounds: int = 3) -> None:
        nodes = matrix.nodes
        kind = program.code[nodes].astype(np.uint64) * np.uint64(8) + program.when[nodes].astype(np.uint64)
        kind = np.where(program.code[nodes] == CONST, _mixed(program.numbers[nodes].view(np.uint64)), kind)
        row, column = np.zeros(matrix.size, np.uint64), np.zeros(matrix.size, np.uint64)
        for _ in range(rounds):
            new_row, new_column = _mixed(row), _mixed(column)
            np.add.at(new_row, matrix.rows, _mixed(kind ^ _mixed(column[matrix.columns])))
            np.add.at(new_column, matrix.columns, _mixed(kind ^ _mixed(row[matrix.rows])))
            row, column = new_row, new_column
        label, first = labelled(row)
        self.row_labels = first[label]  # the first row that looks so: a natural order of labels
        column_label, _ = labelled(column)
        self.off_diagonal = _off_diagonal(matrix, label, column_label)
        entry = _mixed(kind ^ _mixed(row[matrix.rows])) ^ _mixed(column[matrix.columns])
        entry = _mixed(entry + self.off_diagonal.astype(np.uint64))
        self.entry_labels, _ = labelled(entry)
        self.entry_counts = np.bincount(self.entry_labels)

    def largest(self, numbers: np.ndarray) -> np.ndarray:
        """For every entry the largest number among those that look like it."""
        found = np.full(len(self.entry_counts), numbers.min(initial=0))
        np.maximum.at(found, self.entry_labels, numbers)
        return found[self.entry_labels]

    def quartile(self, table: np.ndarray) -> np.ndarray:
        """For every entry the lower quartile over the samples of all that look like it; the minimum where few do."""
        samples = table.shape[1]
        order = np.lexsort((table.ravel(), np.repeat(self.entry_labels, samples)))
        lengths = self.entry_counts * samples
        place = np.where(self.entry_counts < _MANY, 0, lengths // 4)
        return table.ravel()[order][np.cumsum(lengths) - lengths + place][self.entry_labels]


def _off_diagonal(matrix: Matrix, row_label: np.ndarray, column_label: np.ndarray) -> np.ndarray:
    """How far an entry is from the diagonal, counted among the rows and the columns that look like its own."""
    row_place, row_size = _rank_within(row_label, matrix.rows)
    column_place, column_size = _rank_within(column_label, matrix.columns)
    common = np.minimum(row_size[matrix.rows], column_size[matrix.columns])
    rows = row_place[matrix.rows] * common // row_size[matrix.rows]
    return rows - column_place[matrix.columns] * common // column_size[matrix.columns]


def _rank_within(label: np.ndarray, present: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Place of every element among the present ones of its label, and how many those are."""
    there = np.zeros(len(label), bool)
    there[present] = True
    order = np.argsort(label, kind="stable")
    running = np.cumsum(there[order])
    counts = np.bincount(label)
    starts = (np.cumsum(counts) - counts)[label[order]]
    place = np.zeros(len(label), np.int64)
    place[order] = running - 1 - np.where(starts > 0, running[starts - 1], 0)
    return place, np.maximum(np.bincount(label, weights=there)[label].astype(np.int64), 1)


def _mixed(x: np.ndarray) -> np.ndarray:
    """splitmix64."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def alternating(label: np.ndarray) -> np.ndarray:
    """A rank for every element: label by label, and within one every second element first, then every fourth, ..."""
    order = np.argsort(label, kind="stable")
    starts = np.flatnonzero(np.concatenate([[True], np.diff(label[order]) != 0]))
    lengths = np.diff(np.concatenate([starts, [len(label)]]))
    place = np.arange(len(label)) - np.repeat(starts, lengths)
    reversed_bits = np.zeros(len(label), np.int64)
    for bit in range(max(1, len(label).bit_length())):
        reversed_bits = 2 * reversed_bits + (1 - ((place >> bit) & 1))
    rank = np.empty(len(label), np.int64)
    rank[order] = _inverse(np.lexsort((reversed_bits, label[order])))
    return rank


def _inverse(permutation: np.ndarray) -> np.ndarray:
    place = np.empty(len(permutation), np.int64)
    place[permutation] = np.arange(len(permutation))
    return place


def independent_pivots(
    matrix: Matrix, likeness: Likeness, pattern: tuple[np.ndarray, np.ndarray], candidates: np.ndarray,
    cost: np.ndarray, preference: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Entries (numbers into the matrix) to be taken together, cheap ones first. `pattern` holds (rows, columns) of
    everything a row depends on; `preference` decides between candidates of one row and cost."""
    label = likeness.row_labels
    limit = cost[candidates].min()
    while True:
        allowed = candidates[cost[candidates] <= limit]
        chosen = _independent(matrix, pattern, allowed, cost[allowed], preference[allowed], label)
        if len(chosen) >= _WORTHWHILE * len(np.unique(matrix.rows[candidates])) or len(allowed) == len(candidates):
            return chosen
        limit = _DEARER * max(limit, 1)


def _independent(matrix: Matrix, pattern, allowed, cost, preference, label) -> np.ndarray:
    for axis in (matrix.rows, matrix.columns):  # one candidate a row, then one a column
        order = np.lexsort((allowed, preference, cost, axis[allowed]))
        first = np.concatenate([[True], np.diff(axis[allowed][order]) != 0])
        order = np.sort(order[first], kind="stable")
        allowed, cost, preference = allowed[order], cost[order], preference[order]
    rows, columns = matrix.rows[allowed], matrix.columns[allowed]
    rank = _inverse(np.lexsort((alternating(label[rows]), cost)))
    pivot_of_row, pivot_of_column = np.full(matrix.size, -1), np.full(matrix.size, -1)
    pivot_of_row[rows] = pivot_of_column[columns] = np.arange(len(rows))
    one, other = pivot_of_row[pattern[0]], pivot_of_column[pattern[1]]
    meet = (one >= 0) & (other >= 0) & (one != other)
    one, other = one[meet], other[meet]
    state = np.zeros(len(rows), np.int8)  # 0 open, 1 taken, 2 out
    while np.any(state == 0):
        alive = (state[one] == 0) & (state[other] == 0)
        one, other = one[alive], other[alive]
        best = np.full(len(rows), len(rows))
        np.minimum.at(best, one, rank[other])
        np.minimum.at(best, other, rank[one])
        taken = (state == 0) & (rank < best)
        state[taken] = 1
        state[other[taken[one]]] = 2
        state[one[taken[other]]] = 2
    return allowed[state == 1]
