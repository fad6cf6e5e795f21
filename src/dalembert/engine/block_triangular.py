"""Block triangular form: which unknowns must be found together, and in which order."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sparse
from scipy.sparse import csgraph

from ..errors import ModelError


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
    """For every equation an unknown of its own (a place in `columns`); `indices` lists those in it, row by row."""
    pointers = np.concatenate([[0], np.cumsum(counts)])
    graph = sparse.csr_matrix((np.ones(len(indices)), indices, pointers), shape=(len(rows), len(columns)))
    match = csgraph.maximum_bipartite_matching(graph, perm_type="column")
    if np.any(match < 0):
        equation = int(np.flatnonzero(match < 0)[0])
        owned = set(match.tolist())
        spare = [names[0][columns[k]] for k in range(len(columns)) if k not in owned]
        raise ModelError(
            f"structurally singular: the equation {names[1][rows[equation]]!r} determines no unknown of its own; "
            f"unknowns left over: {', '.join(spare[:3])}."
        )
    return match


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
