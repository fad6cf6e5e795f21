"""Block triangular form: which unknowns must be found together, and in which order."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sparse
from scipy.sparse import csgraph

from ...errors import ModelError


def block_triangular(
    matrix: list[dict[int, int]], rows: list[int], columns: list[int], names
) -> list[tuple[list[int], list[int]]]:
    """Blocks (equations, unknowns) in the order in which they can be solved: matching, then strong components."""
    if not rows:
        return []
    position = {j: k for k, j in enumerate(columns)}
    pattern = [[position[j] for j in matrix[i] if j in position] for i in rows]
    counts = np.array([len(p) for p in pattern])
    indices = np.array([k for p in pattern for k in p], dtype=np.int64)
    match = matched_rows(counts, indices, rows, columns, names)
    owner = np.empty(len(columns), dtype=np.int64)
    owner[match] = np.arange(len(rows))
    edges_from = np.repeat(np.arange(len(rows)), counts)
    edges_to = owner[indices]  # row -> the row that owns a needed unknown
    needs = sparse.csr_matrix((np.ones(len(indices)), (edges_from, edges_to)), shape=(len(rows), len(rows)))
    count, label = csgraph.connected_components(needs, directed=True, connection="strong")
    members: list[list[int]] = [[] for _ in range(count)]
    for row, component in enumerate(label.tolist()):
        members[component].append(row)
    between = sparse.csr_matrix((np.ones(len(edges_from)), (label[edges_from], label[edges_to])), shape=(count, count))
    order = _topological(between, count)
    return [([rows[r] for r in members[c]], [columns[int(match[r])] for r in members[c]]) for c in order]


def matched_rows(counts: np.ndarray, indices: np.ndarray, rows: list[int], columns: list[int], names) -> np.ndarray:
    """For every equation an unknown of its own (a place in `columns`); `indices` lists those in it, row by row.

    Greedy, the rarest unknowns first, then augmenting paths found in breadth. (The matching of scipy takes exponential
    time on the matrices of collocation methods.)
    """
    held = [part.tolist() for part in np.split(indices, np.cumsum(counts)[:-1])]
    rarity = np.bincount(indices, minlength=len(columns)).tolist()
    owner, match = [-1] * len(columns), [-1] * len(rows)
    for row in np.argsort(counts, kind="stable").tolist():
        free = [k for k in held[row] if owner[k] < 0]
        if free:
            match[row] = min(free, key=rarity.__getitem__)
            owner[match[row]] = row
    for row in range(len(rows)):
        if match[row] < 0 and not _augmented(row, held, owner, match):
            spare = [names[0][columns[k]] for k in range(len(columns)) if owner[k] < 0]
            raise ModelError(
                f"structurally singular: the equation {names[1][rows[row]]!r} determines no unknown of its own; "
                f"unknowns left over: {', '.join(spare[:3])}."
            )
    return np.array(match, dtype=np.int64)


def _augmented(first: int, held: list[list[int]], owner: list[int], match: list[int]) -> bool:
    """Give `first` an unknown by moving others to other unknowns of theirs."""
    reached_from: dict[int, int] = {}  # unknown -> the equation that would take it
    waiting = [first]
    for row in waiting:
        for k in held[row]:
            if k in reached_from:
                continue
            reached_from[k] = row
            if owner[k] >= 0:
                waiting.append(owner[k])
                continue
            while True:
                taker = reached_from[k]
                owner[k] = taker
                match[taker], k = k, match[taker]
                if taker == first:
                    return True
    return False


def _topological(needs: sparse.csr_matrix, count: int) -> list[int]:
    """Components so that each comes after those it needs."""
    done: list[int] = []
    state = [0] * count
    for first in range(count):
        stack = [first]
        while stack:
            c = stack[-1]
            if state[c] == 2:
                stack.pop()
                continue
            waiting = [int(k) for k in needs.indices[needs.indptr[c] : needs.indptr[c + 1]] if k != c and state[k] != 2]
            if waiting and state[c] == 0:
                state[c] = 1
                stack.extend(waiting)
                continue
            state[c] = 2
            done.append(c)
            stack.pop()
    return done
