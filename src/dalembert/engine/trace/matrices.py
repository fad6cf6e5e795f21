"""Factorisations and solutions of small linear systems whose entries depend on the state.

P A = L U with partial pivoting, as LAPACK has it: the k-th pivot is the largest of its column, the first of equal ones,
and its row changes places with row k. Which row that is depends on the state, so an exchange is a choice between two
numbers for every entry. That takes n^3 choices, which is why matrices are small here; a pivot that passes through zero
is no trouble.

Matrices are arrays of operation numbers with the rows and columns last, and any axes before them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from ...errors import UnsupportedByEngine
from . import integers
from .primitives import Nodes, Value, ids_of

if TYPE_CHECKING:
    from .interpreter import Interpreter

#: rows up to which there are row exchanges, and up to which a matrix without any is written out
MOST_EXCHANGED, MOST_ROWS = 8, 24


class _Arithmetic:
    """Operations on arrays of operation numbers."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter, self.program = interpreter, interpreter.program

    def apply(self, op: str | Callable, *arrays: np.ndarray) -> np.ndarray:
        return self._interpreter.elementwise(op, [Nodes(np.asarray(a)) for a in arrays]).ids

    def choose(self, truth: np.ndarray, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        return self._interpreter.collect(self.program.select, np.broadcast_arrays(truth, one, other)).ids

    def number(self, number: float) -> np.ndarray:
        return np.asarray(integers.constant(self.program, number))

    def exchanged(self, rows: np.ndarray, k: int, other: np.ndarray) -> np.ndarray:
        """Rows, along the last axis but one, with row k and row `other` (an operation) exchanged."""
        rows = rows.copy()
        kept = rows[..., k, :].copy()
        for i in range(k + 1, rows.shape[-2]):
            here = self.apply("eq", other, self.number(float(i)))[..., None]
            rows[..., k, :] = self.choose(here, rows[..., i, :], rows[..., k, :])
            rows[..., i, :] = self.choose(here, kept, rows[..., i, :])
        return rows

    def largest(self, column: np.ndarray, k: int) -> np.ndarray:
        """The place of the entry with the largest absolute value from k on."""
        size = self.apply("abs", column)
        best, at = size[..., k], np.broadcast_to(self.number(float(k)), size.shape[:-1])
        for i in range(k + 1, column.shape[-1]):
            if np.all(column[..., i] == self.program.zero):
                continue
            larger = self.apply("gt", size[..., i], best)
            best = self.choose(larger, size[..., i], best)
            at = self.choose(larger, self.number(float(i)), at)
        return at

    def minus_product(self, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        """a - b c."""
        return self.apply("sub", a, self.apply("mul", *np.broadcast_arrays(b, c)))

    def factorised(self, matrix: np.ndarray, beside: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        """L (below the diagonal) and U, what stands beside the matrix with the same row exchanges, and the row with
        which row k changed places, for every k."""
        rows, columns = matrix.shape[-2:]
        both, places = np.concatenate([matrix, beside], axis=-1), []
        for k in range(min(rows, columns)):
            places.append(self.largest(both[..., k], k))
            both = self.exchanged(both, k, places[-1])
            pivot = both[..., k, k]
            # where the pivot is zero, so are the entries below it: they stay
            nothing = self.apply("eq", pivot, self.number(0.0))
            pivot = self.choose(nothing, self.number(1.0), pivot)
            for i in range(k + 1, rows):
                both[..., i, k] = factor = self.apply("div", both[..., i, k], pivot)
                after = slice(k + 1, columns)
                both[..., i, after] = self.minus_product(both[..., i, after], factor[..., None], both[..., k, after])
        return both[..., :columns], both[..., columns:], places

    def substituted(self, matrix: np.ndarray, right: np.ndarray, lower: bool, unit: bool) -> np.ndarray:
        """X with A X = B for a triangular A, of which the other half is not read."""
        right = right.copy()
        order = range(right.shape[-2]) if lower else range(right.shape[-2] - 1, -1, -1)
        for done, k in enumerate(order):
            if not unit:
                right[..., k, :] = self.apply("div", *np.broadcast_arrays(right[..., k, :], matrix[..., k, k, None]))
            for i in order[done + 1 :]:
                right[..., i, :] = self.minus_product(right[..., i, :], matrix[..., i, k, None], right[..., k, :])
        return right


def _checked(name: str, rows: int, most: int) -> None:
    if rows > most:
        raise UnsupportedByEngine(f"the operation {name!r} on a matrix of {rows} rows that depends on the state")


def lu(interpreter: Interpreter, parameters, arguments: list[Value]) -> list[Value]:
    """L and U in one matrix, the row with which each changed places, and the order of the rows."""
    (matrix,) = (ids_of(interpreter.program, a) for a in arguments)
    _checked("lu", max(matrix.shape[-2:]), MOST_EXCHANGED)
    on = _Arithmetic(interpreter)
    order = on.program.constants(np.broadcast_to(np.arange(matrix.shape[-2], dtype=float), matrix.shape[:-1]))
    factors, order, places = on.factorised(matrix, order[..., None])
    return [Nodes(factors), Nodes(np.stack(places, axis=-1)), Nodes(order[..., 0])]


def order_of_rows(interpreter: Interpreter, parameters, arguments: list[Value]) -> list[Value]:
    """The order of the rows after exchanges one after the other."""
    (places,) = (ids_of(interpreter.program, a) for a in arguments)
    size = parameters["permutation_size"]
    _checked("lu_pivots_to_permutation", size, MOST_EXCHANGED)
    on = _Arithmetic(interpreter)
    order = on.program.constants(np.broadcast_to(np.arange(size, dtype=float), (*places.shape[:-1], size)))[..., None]
    for k in range(places.shape[-1]):
        order = on.exchanged(order, k, places[..., k])
    return [Nodes(order[..., 0])]


def cholesky(interpreter: Interpreter, parameters, arguments: list[Value]) -> list[Value]:
    """L with L L^T = A; not numbers where A is not positive definite."""
    (matrix,) = (ids_of(interpreter.program, a) for a in arguments)
    size = matrix.shape[-1]
    _checked("cholesky", size, MOST_ROWS)
    on = _Arithmetic(interpreter)
    left, good = matrix.copy(), on.number(True)
    for k in range(size):
        good = on.apply("and", good, on.apply("gt", left[..., k, k], on.number(0.0)))
        left[..., k, k] = on.apply("sqrt", left[..., k, k])
        left[..., k, k + 1 :] = on.program.zero
        below = slice(k + 1, size)
        column = on.apply("div", *np.broadcast_arrays(left[..., below, k], left[..., k, k, None]))
        left[..., below, k] = column
        for j in range(size - k - 1):
            rest = slice(k + 1 + j, size)
            left[..., rest, k + 1 + j] = on.minus_product(
                left[..., rest, k + 1 + j], column[..., j:], column[..., j, None]
            )
    return [Nodes(on.choose(good[..., None, None], left, on.number(np.nan)))]


def triangular_solve(interpreter: Interpreter, parameters, arguments: list[Value]) -> list[Value]:
    """X with A X = B or X A = B, where A, or its transpose, is triangular."""
    matrix, right = (ids_of(interpreter.program, a) for a in arguments)
    _checked("triangular_solve", matrix.shape[-1], MOST_ROWS)
    lower, left_side = parameters["lower"], parameters["left_side"]
    parameters.get("conjugate_a")  # of real numbers
    if not left_side:
        right = np.swapaxes(right, -1, -2)
    if parameters["transpose_a"] == left_side:
        matrix, lower = np.swapaxes(matrix, -1, -2), not lower
    found = _Arithmetic(interpreter).substituted(matrix, right, lower, parameters["unit_diagonal"])
    return [Nodes(found if left_side else np.swapaxes(found, -1, -2))]


def solved(interpreter: Interpreter, entries, size: int, right: np.ndarray) -> np.ndarray | None:
    """x with A x = b for the (row, column, operation) of a sparse matrix, part by part; None if a part is large."""
    rows, columns, nodes = entries
    pattern = coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(size, size))
    count, part_of = connected_components(pattern, directed=False)
    sizes = np.bincount(part_of, minlength=count)
    if np.max(sizes, initial=0) > MOST_EXCHANGED:
        return None
    on = _Arithmetic(interpreter)
    dense = np.full((size, size), on.program.zero, np.int64)
    dense[rows, columns] = nodes
    found = np.empty(size, np.int64)
    members = np.argsort(part_of, kind="stable")
    starts = np.cumsum(sizes) - sizes
    for n in np.unique(sizes):  # parts of one size together
        parts = members[starts[sizes == n][:, None] + np.arange(n)]
        factors, beside, _ = on.factorised(dense[parts[:, :, None], parts[:, None, :]], right[parts][..., None])
        below = on.substituted(factors, beside, lower=True, unit=True)
        found[parts] = on.substituted(factors, below, lower=False, unit=False)[..., 0]
    return found


FACTORISATIONS: dict[str, Callable] = {
    "lu": lu,
    "lu_pivots_to_permutation": order_of_rows,
    "cholesky": cholesky,
    "triangular_solve": triangular_solve,
}
