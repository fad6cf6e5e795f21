"""Single evaluations, sparse Jacobians and small Newton solves, without compiling anything.

Used where a function is needed a handful of times (checks of a model, consistent starting values): tracing and
walking a scalar program takes milliseconds, where a first call through XLA takes a good part of a second.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sparse
import scipy.sparse.linalg as sparse_linalg
from jax.extend.core import ClosedJaxpr

from ...errors import UnsupportedByEngine
from ..contract import EPSILON, rounded
from ..program.array_program import ArrayProgram
from ..program.program import Program, Values
from ..trace.tracing import suits_arrays, trace_with_entries, trace_with_jacobian, traced
from ..tuning import tuning
from ..values.array_values import ArrayEvaluator
from ..values.python_source import REFUSED, written_out


class Function:
    """A function of flat float arrays, `function(x, *rest)`, with its sparse Jacobian by x."""

    def __init__(self, function: Callable, traced: TracedInArrays | None = None) -> None:
        """`traced` if that was done elsewhere."""
        self._function = function
        self._traced: dict[tuple, _Traced | TracedInArrays | None] = {}
        self._given = traced

    def __call__(self, *arguments) -> tuple[np.ndarray, sparse.csr_matrix]:
        """Value and Jacobian by the first argument."""
        arrays = [np.asarray(a, dtype=np.float64) for a in arguments]
        shapes = tuple(a.shape for a in arrays)
        if shapes not in self._traced:
            try:
                self._traced[shapes] = self._given or self._translated(arrays)
            except UnsupportedByEngine:
                self._traced[shapes] = None
        traced = self._traced[shapes]
        return self._by_jax(arrays) if traced is None else traced(arrays)

    def _translated(self, arrays: list) -> _Traced | TracedInArrays:
        shapes, closed = tuple(a.shape for a in arrays), traced(self._function, *arrays)
        return traced_in_arrays(closed, shapes) if suits_arrays(closed) else _Traced(closed, shapes)

    def _by_jax(self, arrays: list) -> tuple[np.ndarray, sparse.csr_matrix]:
        x, *rest = [jnp.asarray(a) for a in arrays]
        value = np.asarray(self._function(x, *rest))
        return value, sparse.csr_matrix(np.asarray(jax.jacfwd(self._function)(x, *rest)).reshape(value.size, x.size))


def _kind(k: int) -> str:
    return f"argument{k}"


class _Traced:
    """A function and its Jacobian as a scalar program."""

    def __init__(self, function: Callable | ClosedJaxpr, shapes: tuple) -> None:
        self._program = Program()
        inputs = [self._program.inputs(_kind(k), math.prod(shape)).reshape(shape) for k, shape in enumerate(shapes)]
        outputs, jacobian = trace_with_jacobian(self._program, function, *inputs)
        rows = [i for i, row in enumerate(jacobian) for _ in row]
        columns = [j for row in jacobian for j in row]
        self._pattern = _Pattern(rows, columns, (len(outputs), math.prod(shapes[0])))
        self._count = len(outputs)
        self._nodes = np.ravel(outputs).tolist() + [node for row in jacobian for node in row.values()]
        self._kinds = [_kind(k) for k in range(len(shapes))]
        self._calls, self._written_out = 0, None

    def __call__(self, arrays: list[np.ndarray]) -> tuple[np.ndarray, sparse.csr_matrix]:
        numbers = np.array(self._numbers([a.ravel().tolist() for a in arrays]), dtype=np.float64)
        return numbers[: self._count], self._pattern.matrix(numbers[self._count :])

    def _numbers(self, arguments: list[list[float]]) -> list:
        self._calls += 1
        if self._calls > tuning().written_out_after:
            self._written_out = self._written_out or written_out(self._program, self._nodes, self._kinds)
            try:
                with np.errstate(all="ignore"):
                    return self._written_out(arguments)
            except REFUSED:
                pass
        pairs = zip(self._kinds, arguments, strict=True)
        values = Values(self._program, {(kind, j): number for kind, a in pairs for j, number in enumerate(a)})
        return [values[node] for node in self._nodes]


class _Pattern:
    """Where the entries of a Jacobian lie; only their values change. (scipy takes longer to build and check a small
    sparse matrix than all its entries to compute.)"""

    def __init__(self, rows, columns, shape: tuple[int, int]) -> None:
        self._empty = sparse.csr_matrix((np.arange(len(rows), dtype=np.float64), (rows, columns)), shape=shape)
        self._order = self._empty.data.astype(np.int64)

    def matrix(self, entries: np.ndarray) -> sparse.csr_matrix:
        """The Jacobian with these entries, in the order in which their places were given."""
        matrix = copy.copy(self._empty)
        matrix.data = entries[self._order]
        return matrix


class TracedInArrays:
    """The same for large arguments: outputs and (output, j, operation) of the Jacobian by the first of the inputs."""

    def __init__(self, program: ArrayProgram, outputs: np.ndarray, entries: tuple, size: int, kinds: tuple) -> None:
        rows, columns, nodes = entries
        self._kinds, self._count = kinds, len(outputs)
        self._pattern = _Pattern(rows, columns, (self._count, size))
        self._evaluate = ArrayEvaluator(program, np.concatenate([outputs, nodes]))

    def __call__(self, arrays: list[np.ndarray]) -> tuple[np.ndarray, sparse.csr_matrix]:
        numbers = self._evaluate({kind: a.ravel() for kind, a in zip(self._kinds, arrays, strict=True)})[:, 0]
        return numbers[: self._count], self._pattern.matrix(numbers[self._count :])


def traced_in_arrays(function: Callable | ClosedJaxpr, shapes: tuple) -> TracedInArrays:
    program, kinds = ArrayProgram(), tuple(_kind(k) for k in range(len(shapes)))
    sizes = [math.prod(shape) for shape in shapes]
    inputs = [program.inputs(kind, size) for kind, size in zip(kinds, sizes, strict=True)]
    inputs = [nodes.reshape(shape) for nodes, shape in zip(inputs, shapes, strict=True)]
    return TracedInArrays(program, *trace_with_entries(program, function, *inputs), sizes[0], kinds)


def row_lengths(matrix: sparse.csr_matrix) -> np.ndarray:
    """The Euclidean length of every row."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))  # pyright: ignore
    return np.sqrt(np.bincount(rows, matrix.data**2, minlength=matrix.shape[0]))  # pyright: ignore


def solve_linear(matrix: sparse.spmatrix, right: np.ndarray) -> np.ndarray:
    """Sparse solve; non-finite where the matrix is singular."""
    if matrix.shape[0] == 0:
        return np.zeros(0)
    if not np.all(np.isfinite(matrix.data)):  # pyright: ignore[reportAttributeAccessIssue]
        return np.full(right.shape, np.nan)
    if matrix.shape[0] <= tuning().dense_up_to:
        try:
            return np.linalg.solve(matrix.toarray(), right)  # pyright: ignore[reportAttributeAccessIssue]
        except np.linalg.LinAlgError:
            return np.full(right.shape, np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sparse_linalg.MatrixRankWarning)
        try:
            return np.asarray(sparse_linalg.splu(sparse.csc_matrix(matrix)).solve(right))
        except RuntimeError:  # exactly singular
            return np.full(right.shape, np.nan)


#: An update this small next to its unknown leaves an error below roundoff.
SMALL_UPDATE = 1e-9
#: Updates are compared with roundoff only below this part of the largest one, since it costs a solution.
NOISE_FROM = 1e-5
#: An update so many times as large as what roundoff makes of it is roundoff.
NOISE = 1e2
#: Relative changes that are large enough not to be rounded away.
SHAKEN = 16 * EPSILON


def _row_weights(jacobian: sparse.csr_matrix, update: np.ndarray) -> np.ndarray:
    """One over sum_j |J_ij dx_j|: equations in different units are compared by what an update changes in them.

    An update that is zero but for the roundoff of the others changes an equation by roundoff, which is no size to
    compare with: that equation has no weight."""
    sizes, terms = abs(jacobian) @ np.abs(update), abs(jacobian) @ np.ones(len(update))
    known = sizes > SHAKEN * np.max(np.abs(update), initial=0.0) * terms
    return np.where(known, 1 / np.where(known, sizes, 1.0), 0.0)


def _is_noise(residual: Callable, x: np.ndarray, rest: tuple, update: np.ndarray) -> bool:
    """Whether an update is no larger than the change it undergoes where x and the arguments are rounded otherwise."""
    random = np.random.default_rng(0)
    value, jacobian = residual(*(rounded(np.asarray(a, np.float64), random, SHAKEN) for a in (x, *rest)))
    if not np.all(np.isfinite(value)):
        return False
    noise = np.abs(solve_linear(jacobian, value) - update)
    limit = NOISE * noise + EPSILON * np.max(np.abs(x), initial=0.0)
    return bool(np.all((np.abs(update) <= SMALL_UPDATE * np.abs(x)) | (np.abs(update) <= limit)))


def _solved_by_a_step(residual: Callable, x: np.ndarray, rest: tuple) -> np.ndarray | None:
    """x, improved, if what a whole step has left is roundoff: no weights tell that of an equation which holds nothing
    but roundoff, as those across the plane of a motion in a plane."""
    value, jacobian = residual(x, *rest)
    if not np.all(np.isfinite(value)):
        return None
    update = solve_linear(jacobian, value)
    return x - update if np.all(np.isfinite(update)) and _is_noise(residual, x, rest, update) else None


def find_root(residual: Callable, x: np.ndarray, *rest, iterations: int = 50) -> np.ndarray | None:
    """Newton with step halving; None if it does not converge.

    It ends where the update of every unknown is small next to the unknown, or next to what rounding x and the arguments
    otherwise does to it: unknowns of any size and unit, and zeros, are found alike.
    """
    x = np.array(x, dtype=np.float64)
    value, jacobian = residual(x, *rest)
    largest = 0.0
    for number in range(iterations):
        if not np.all(np.isfinite(value)):
            return None
        update = solve_linear(jacobian, value)
        if not np.all(np.isfinite(update)):
            return None
        if np.all(np.abs(update) <= SMALL_UPDATE * np.abs(x)):
            return x - update  # its square, the error left, is below roundoff
        now, before = np.max(np.abs(update), initial=0.0), max(largest, np.max(np.abs(x), initial=0.0))
        largest = max(largest, now)
        if number and now <= NOISE_FROM * before and _is_noise(residual, x, rest, update):
            return x - update
        weights = _row_weights(jacobian, update)
        size, factor = np.linalg.norm(weights * value), 1.0
        while True:
            trial = x - factor * update
            new_value, new_jacobian = residual(trial, *rest)
            if np.all(np.isfinite(new_value)) and np.linalg.norm(weights * new_value) <= (1 - factor / 4) * size:
                break
            factor /= 2
            if factor < 1e-3:
                if _is_noise(residual, x, rest, update):
                    return x - update
                return _solved_by_a_step(residual, x - update, rest)
        x, value, jacobian = trial, new_value, new_jacobian
    return None
