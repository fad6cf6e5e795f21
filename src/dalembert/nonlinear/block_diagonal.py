"""Linear systems whose matrix falls into small blocks after a permutation: inverses block by block, all at once.

Solving with a sparse right side gives a sparse result, which the general factorisations of scipy do not offer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sparse
import scipy.sparse.csgraph as csgraph
import scipy.sparse.linalg as sparse_linalg

#: Larger blocks are left to a sparse factorisation.
LARGEST_BLOCK = 32


class BlockDiagonalSolver:
    """`solve(right)` for a dense right side, `solve_sparse(right)` for a sparse one; `RuntimeError` if singular."""

    def __init__(self, matrix: Any) -> None:
        self._inverse = _inverse(sparse.csr_matrix(matrix, copy=True))
        self._factors = None if self._inverse is not None else sparse_linalg.splu(sparse.csc_matrix(matrix))

    def solve(self, right: np.ndarray) -> np.ndarray:
        return self._inverse @ right if self._factors is None else self._factors.solve(right)

    def solve_sparse(self, right: Any) -> sparse.csr_matrix:
        if self._factors is None:
            return sparse.csr_matrix(self._inverse @ right)
        return sparse.csr_matrix(self._factors.solve(right.toarray()))


def _inverse(matrix: sparse.csr_matrix) -> sparse.csr_matrix | None:
    """The inverse, or None where a block is large."""
    matrix.eliminate_zeros()
    size = matrix.shape[0]  # pyright: ignore[reportOptionalSubscript]
    _, block = csgraph.connected_components(matrix, directed=False)
    order = np.argsort(block, kind="stable")
    lengths = np.bincount(block, minlength=0)
    if np.max(lengths, initial=0) > LARGEST_BLOCK:
        return None
    within = np.empty(size, np.int64)
    starts = np.cumsum(lengths) - lengths
    within[order] = np.arange(size) - np.repeat(starts, lengths)
    rank = np.empty(len(lengths), np.int64)  # of a block among those of its length
    entries = matrix.tocoo()
    rows, columns, numbers = [], [], []
    for length in np.unique(lengths):
        blocks = np.flatnonzero(lengths == length)
        rank[blocks] = np.arange(len(blocks))
        dense = np.zeros((len(blocks), length, length))
        here = lengths[block[entries.row]] == length
        i, j = entries.row[here], entries.col[here]
        dense[rank[block[i]], within[i], within[j]] = entries.data[here]
        try:
            inverted = np.linalg.inv(dense)
        except np.linalg.LinAlgError as error:
            raise RuntimeError("a block is singular") from error
        members = order[(starts[blocks][:, None] + np.arange(length)).ravel()].reshape(len(blocks), length)
        rows.append(np.repeat(members, length, axis=1).ravel())
        columns.append(np.tile(members, (1, length)).ravel())
        numbers.append(inverted.ravel())
    found = (np.concatenate(numbers), (np.concatenate(rows), np.concatenate(columns)))
    inverse = sparse.csr_matrix(found, shape=(size, size))
    inverse.eliminate_zeros()
    return inverse
