"""Sparse linear systems with a fixed pattern, for Newton's iteration on what does not fall into loops.

A multifrontal factorisation (Duff, Reid 1983, doi:10.1145/356044.356047). Equations are matched with unknowns whose
entries are large on samples, and the unknowns put into an order of little fill-in (minimum degree on the graph of
A + A^T). Unknowns that have the same entries below them form a front: a small dense matrix of its own pivots and of its
border, the unknowns further on that they touch. With F = [P Q; R S] a front is computed as

    F <- the entries of its pivots' rows and columns + the S of its children
    P = L U, with row exchanges inside the front;   S <- S - R P^-1 Q

from the leaves of the tree of fronts to its root, and solved back from the root to the leaves. A band is the tree of a
chain. What a joint, a knot or a link adds is a front of a few rows, whatever the number of bodies: time grows with the
fill-in of the graph, and the code does not grow at all.

Rows are exchanged inside a front only, so that the pattern stays; a front whose own pivots are too small on samples is
made part of its parent beforehand. The largest multiplier of the border is watched; where
it gets out of hand, unknowns are matched anew at the current state.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sparse
import scipy.sparse.linalg as sparse_linalg
from scipy.sparse import csgraph

from ..tuning import tuning

#: Numbers in a vector, as far as predictions go: those of most machines.
VECTOR = 4
#: Entries smaller than this part of the largest of their column are matched only where nothing else is left.
SMALLEST_MATCH = 1e-12
#: Samples, those near the start, on which the multipliers of borders are looked at, and how large these may be.
CHECKED_SAMPLES, MOST_GROWTH = 4, 1e3
#: Sizes are told apart that differ by a factor exp(1 / this).
STEPS_OF_MATCH = 8


@dataclass(frozen=True)
class Fronts:
    """The tree of fronts, children before parents. Places number equations and unknowns in the order of the pivots."""

    size: int
    rows: np.ndarray  # the row of the matrix in each place
    columns: np.ndarray  # the column of the matrix in each place
    scales: np.ndarray  # by which the row in each place is multiplied
    pivots: np.ndarray  # of every front: how many pivots it has; they take the next places
    borders: list[np.ndarray]  # of every front: the places further on that it touches
    parents: np.ndarray  # of every front, -1 at a root
    entry_rows: np.ndarray  # the place of the row of every entry of the matrix
    entry_columns: np.ndarray

    @property
    def work(self) -> int:
        """Multiplications for one solution."""
        sizes = zip(self.pivots.tolist(), map(len, self.borders), strict=True)
        return sum(_multiplications(pivots, border) for pivots, border in sizes)

    @property
    def cost(self) -> float:
        """Predicted time of one solution, in operations on a vector."""
        sizes = zip(self.pivots.tolist(), map(len, self.borders), strict=True)
        return sum(_cost(pivots, border) for pivots, border in sizes)


def fronts_of(rows: np.ndarray, columns: np.ndarray, values: np.ndarray, scales: np.ndarray) -> Fronts:
    """The fronts of a matrix with these entries: places, values (entries x samples), and the scales of its rows."""
    size = len(scales)
    values = np.where(np.isfinite(values), values, 0.0) * scales[rows, None]
    partner = _matched(rows, columns, np.abs(values), size)
    order, below = _ordered(partner[rows], columns, size)
    place = np.empty(size, np.int64)
    place[order] = np.arange(size)
    fronts = _merged(_supernodes(below))
    fronts = _sound(fronts, place[partner[rows]], place[columns], values[:, :CHECKED_SAMPLES].T)
    place_of = np.empty(size, np.int64)  # of what stands in the order of least fill-in
    sequence = np.array([j for front in fronts for j in front.pivots], dtype=np.int64)
    place_of[sequence] = np.arange(size)
    columns_now = order[sequence]
    column_place = np.empty(size, np.int64)
    column_place[columns_now] = np.arange(size)
    row_place = column_place[partner]
    rows_now = np.empty(size, np.int64)
    rows_now[row_place] = np.arange(size)
    number = {id(front): k for k, front in enumerate(fronts)}
    return Fronts(
        size=size,
        rows=rows_now,
        columns=columns_now,
        scales=scales[rows_now],
        pivots=np.array([len(front.pivots) for front in fronts]),
        borders=[np.sort(place_of[front.border]) for front in fronts],
        parents=np.array([-1 if front.parent is None else number[id(front.parent)] for front in fronts]),
        entry_rows=row_place[rows],
        entry_columns=column_place[columns],
    )


def _matched(rows: np.ndarray, columns: np.ndarray, sizes: np.ndarray, size: int) -> np.ndarray:
    """For every row a column of its own, so that the product of the entries, against their columns, is as large as it
    can be (Duff, Koster 2001, doi:10.1137/S0895479899358443). An entry counts as its smallest sample."""
    largest = np.zeros((size, sizes.shape[1]))
    np.maximum.at(largest, columns, sizes)
    with np.errstate(invalid="ignore", divide="ignore"):
        parts = np.where(largest[columns] > 0, sizes / largest[columns], 0.0)
    smallest = np.maximum(parts.min(axis=1, initial=1.0), SMALLEST_MATCH)
    # in whole numbers, of which the sums and differences are exact: with others the search may go round in a circle
    cost = sparse.csr_array((1.0 + np.round(STEPS_OF_MATCH * -np.log(smallest)), (rows, columns)), shape=(size, size))
    own_rows, own_columns = csgraph.min_weight_full_bipartite_matching(cost)
    partner = np.empty(size, np.int64)
    partner[own_rows] = own_columns
    return partner


def _ordered(rows: np.ndarray, columns: np.ndarray, size: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Unknowns in an order of minimum degree, and for each, in that order, what is below its pivot in the factors."""
    random = np.random.default_rng(0).uniform(0.5, 1.0, len(rows))
    pattern = sparse.csc_array((random, (rows, columns)), shape=(size, size))
    pattern = (pattern + pattern.T + sparse.diags_array(np.full(size, 4.0 * size))).tocsc()
    options = {"SymmetricMode": True}
    factors = sparse_linalg.splu(pattern, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
    order = np.empty(size, np.int64)
    order[factors.perm_c] = np.arange(size)
    place = np.asarray(factors.perm_c, dtype=np.int64)
    return order, _structures(place[pattern.indices], place[np.repeat(np.arange(size), np.diff(pattern.indptr))], size)


def _structures(rows: np.ndarray, columns: np.ndarray, size: int) -> list[np.ndarray]:
    """What is below each pivot in the factors: what the matrix has there, and what the children leave."""
    lower = rows > columns
    order = np.argsort(columns[lower], kind="stable")
    own = np.split(rows[lower][order], np.cumsum(np.bincount(columns[lower], minlength=size))[:-1])
    children: list[list[int]] = [[] for _ in range(size)]
    found: list[np.ndarray] = []
    for j in range(size):
        parts = [own[j], *[found[child] for child in children[j]]]
        below = np.unique(np.concatenate(parts)) if children[j] else np.sort(own[j])
        below = below[np.searchsorted(below, j, side="right") :]
        found.append(below)
        if len(below):
            children[below[0]].append(j)
    return found


class _Front:
    """A front on its way: its pivots and its border, in the order of least fill-in."""

    def __init__(self, pivots: list[int], border: np.ndarray) -> None:
        self.pivots, self.border = pivots, border
        self.parent: _Front | None = None
        self.children: list[_Front] = []


def _supernodes(below: list[np.ndarray]) -> list[_Front]:
    """Neighbours in the order that have the same entries below them, in one front; children before parents."""
    fronts: list[_Front] = []
    front_of: list[_Front] = []
    for j, border in enumerate(below):
        before = below[j - 1] if j else border
        if j and len(before) == len(border) + 1 and before[0] == j:
            fronts[-1].pivots.append(j)
            fronts[-1].border = border
        else:
            fronts.append(_Front([j], border))
        front_of.append(fronts[-1])
    for front in fronts:
        if len(front.border):
            parent = front.parent = front_of[front.border[0]]
            parent.children.append(front)
    return fronts


def _merged(fronts: list[_Front]) -> list[_Front]:
    """Fronts united with children where one front is predicted to be quicker than two; children before parents."""
    for front in fronts:
        for child in sorted(front.children, key=lambda child: -len(child.border)):
            apart = _cost(len(child.pivots), len(child.border))
            apart += _cost(len(front.pivots), len(front.border))
            if _cost(len(child.pivots) + len(front.pivots), len(front.border)) <= apart:
                front.pivots = child.pivots + front.pivots
                front.children.remove(child)
                front.children += child.children
                for grandchild in child.children:
                    grandchild.parent = front
    found: list[_Front] = []
    stack = [(front, False) for front in reversed(fronts) if front.parent is None]
    while stack:
        front, done = stack.pop()
        if done:
            found.append(front)
            continue
        stack.append((front, True))
        stack += [(child, False) for child in front.children]
    return found


def _sound(fronts: list[_Front], rows: np.ndarray, columns: np.ndarray, values: np.ndarray) -> list[_Front]:
    """Fronts whose pivots are too small for their border, on samples, become part of their parents, among whose rows
    there are others to exchange with (pivots are delayed, as one says, but once for all). `rows` and `columns` are in
    the order of least fill-in."""
    size, samples = 1 + int(rows.max(initial=-1)), len(values)
    local = np.zeros(size, np.int64)
    first = np.minimum(rows, columns)
    by_pivot = np.argsort(first, kind="stable")
    starts = np.searchsorted(first[by_pivot], np.arange(size + 1))
    left: dict[
        int, list[tuple[np.ndarray, np.ndarray]]
    ] = {}  # of the children of a front: their borders, what they add
    found: list[_Front] = []
    for front in fronts:
        places, count, parent = (
            np.concatenate([front.pivots, front.border]).astype(np.int64),
            len(front.pivots),
            front.parent,
        )
        own = np.concatenate([by_pivot[starts[j] : starts[j + 1]] for j in front.pivots])
        local[places] = np.arange(len(places))
        matrix = np.zeros((samples, len(places), len(places)))
        matrix[:, local[rows[own]], local[columns[own]]] = values[:, own]
        children = left.pop(id(front), [])
        for border, addition in children:
            matrix[:, local[border][:, None], local[border]] += addition
        if parent is None:
            found.append(front)
            continue
        factors = _divided(matrix[:, count:, :count], matrix[:, :count, :count])
        if factors is None:
            parent.pivots = front.pivots + parent.pivots
            left.setdefault(id(parent), []).extend(children)
            continue
        addition = matrix[:, count:, count:] - factors @ matrix[:, :count, count:]
        left.setdefault(id(parent), []).append((places[count:], addition))
        found.append(front)
    kept = {id(front) for front in found}
    for front in found:
        while front.parent is not None and id(front.parent) not in kept:
            front.parent = front.parent.parent
    return found


def _divided(border: np.ndarray, pivots: np.ndarray) -> np.ndarray | None:
    """R P^-1 for every sample; None where it is too large."""
    try:
        with np.errstate(all="ignore"):
            factors = np.linalg.solve(pivots.transpose(0, 2, 1), border.transpose(0, 2, 1)).transpose(0, 2, 1)
    except np.linalg.LinAlgError:
        return None
    return factors if np.all(np.abs(factors) <= MOST_GROWTH) else None


def _multiplications(pivots: int, border: int) -> int:
    return sum((pivots + border - k) * (pivots + border - k + 1) for k in range(1, pivots + 1))


def _cost(pivots: int, border: int) -> float:
    """A front's predicted time, in operations on a vector."""
    total = tuning().front_cost + border * (border + 1) / 2 + pivots * tuning().pivot_cost
    for k in range(1, pivots + 1):
        left = pivots + border - k
        total += left * (tuning().row_cost + -(-(left + 1) // VECTOR))
    return total
