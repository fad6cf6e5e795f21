"""Functions over many rows at once: a scalar program walked with numpy, one array an operation. Nothing is compiled.

Used for everything that is asked of a finished run (energy, constraint violations, multipliers).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from ...errors import ModelError, UnsupportedByEngine
from ..elimination.array_elimination import TooIrregular, reduce_arrays
from ..elimination.elimination import reduce_system
from ..program.array_program import ArrayProgram
from ..program.program import Program, by_name
from ..trace.primitives import AnyProgram
from ..trace.tracing import trace, trace_with_entries, trace_with_jacobian
from ..tuning import tuning
from ..values.array_values import ArrayEvaluator
from ..values.scalar_values import Evaluator

#: rows walked at a time, so that memory stays small
ROWS_AT_A_TIME = 20_000
#: numbers that a walk of a large program may hold at a time
NUMBERS_AT_A_TIME = 20_000_000


class RowFunction:
    """`function(*rows)` for arrays with one row a state."""

    def __init__(self, function: Callable) -> None:
        self._function = function
        self._traced: dict = {}
        self._compiled = None

    def __call__(self, *arguments) -> np.ndarray:
        arrays = [np.asarray(a, dtype=np.float64) for a in arguments]  # keeps the strides of broadcast rows
        shapes = tuple(a.shape[1:] for a in arrays)
        if shapes not in self._traced:
            program, inputs = _inputs(shapes)
            try:
                self._traced[shapes] = _evaluator(program, trace(program, self._function, *inputs))
            except UnsupportedByEngine:
                self._traced[shapes] = None
        if self._traced[shapes] is None:
            return self._by_jax(arrays)
        return _walk(self._traced[shapes], arrays)

    def _by_jax(self, arrays) -> np.ndarray:
        if self._compiled is None:
            self._compiled = jax.jit(jax.vmap(self._function))
        with jax.ensure_compile_time_eval():  # also while something else is traced
            return np.asarray(self._compiled(*map(jnp.asarray, arrays)))


class RowSolver:
    """x with residual(x, *rows) = 0 for a residual that is linear in x, row by row."""

    def __init__(self, residual: Callable, size: Callable[..., int]) -> None:
        self._residual, self._size = residual, size
        self._traced: dict = {}
        self._compiled = None

    def __call__(self, *arguments) -> np.ndarray:
        arrays = [np.asarray(a, dtype=np.float64) for a in arguments]  # keeps the strides of broadcast rows
        shapes = tuple(a.shape[1:] for a in arrays)
        if shapes not in self._traced:
            try:
                self._traced[shapes] = self._eliminated(shapes, arrays)
            except (UnsupportedByEngine, ModelError):
                self._traced[shapes] = None
        found = self._traced[shapes]
        if found is not None:
            solution, growth = found
            multipliers = _walk(growth, arrays)
            if not multipliers.size or np.max(np.abs(multipliers)) < tuning().growth_limit:
                return _walk(solution, arrays)
        return self._by_jax(arrays)

    def _eliminated(self, shapes, arrays) -> tuple[RowEvaluator, RowEvaluator] | None:
        count = self._size(*(np.zeros(shape) for shape in shapes))
        chosen = np.linspace(0, len(arrays[0]) - 1, 6).astype(int)
        samples = {_kind(k): array[chosen].reshape(6, -1).T for k, array in enumerate(arrays)}
        samples["x"] = np.zeros((count, 6))
        try:
            return self._reduced(*_inputs(shapes), count, samples)
        except TooIrregular:
            return self._reduced(*_inputs(shapes, in_arrays=False), count, samples)

    def _reduced(self, program: AnyProgram, inputs, count: int, samples) -> tuple[RowEvaluator, RowEvaluator] | None:
        names = tuple(str(j) for j in range(count))
        x = program.inputs("x", count)
        if isinstance(program, ArrayProgram):
            residual, entries = trace_with_entries(program, self._residual, x, *inputs)
            reduced = reduce_arrays(program, x, residual, entries, samples, (names, names))
        else:
            residual, jacobian = trace_with_jacobian(program, self._residual, x, *inputs)
            reduced = reduce_system(program, x, residual, jacobian, by_name(samples), (names, names), any_pivots=True)
        if reduced.blocks:
            return None
        growth = np.array(reduced.growth, dtype=np.int64)
        return _evaluator(program, reduced.rewrite(x)), _evaluator(program, growth)

    def _by_jax(self, arrays) -> np.ndarray:
        if self._compiled is None:
            count = self._size(*(np.zeros(a.shape[1:]) for a in arrays))

            def solve(*row):
                zero = jnp.zeros(count)
                matrix = jax.jacfwd(lambda x: self._residual(x, *row))(zero)
                return jnp.linalg.solve(matrix, -self._residual(zero, *row))

            self._compiled = jax.jit(jax.vmap(solve))
        return np.asarray(self._compiled(*map(jnp.asarray, arrays)))


RowEvaluator = Callable[[dict, int], np.ndarray]


def _kind(k: int) -> str:
    return f"parameter{k}"


def _inputs(shapes, *, in_arrays: bool = True) -> tuple[AnyProgram, list[np.ndarray]]:
    sizes = [math.prod(shape) for shape in shapes]
    program = ArrayProgram() if in_arrays and sum(sizes) > tuning().in_arrays_from else Program()
    inputs = [
        program.inputs(_kind(k), size).reshape(shape) for k, (size, shape) in enumerate(zip(sizes, shapes, strict=True))
    ]
    return program, inputs


def _evaluator(program: AnyProgram, outputs: np.ndarray) -> RowEvaluator:
    """A function of {kind: rows or columns of inputs} and the number of rows; its result has one row an output."""
    if isinstance(program, ArrayProgram):
        in_arrays = ArrayEvaluator(program, outputs)
        at_a_time = max(1, NUMBERS_AT_A_TIME // max(1, in_arrays.size))
    else:
        evaluate = Evaluator(program, outputs)
        in_arrays, at_a_time = (lambda inputs: evaluate(by_name(inputs))), ROWS_AT_A_TIME

    def rows(tables: dict, total: int) -> np.ndarray:
        pieces = []
        for first in range(0, total, at_a_time):
            count = min(at_a_time, total - first)
            inputs = {
                kind: table if table.ndim == 1 else np.ascontiguousarray(table[:, first : first + count])
                for kind, table in tables.items()
            }
            values = in_arrays(inputs)
            pieces.append(np.broadcast_to(values[:, None] if values.ndim == 1 else values, (len(values), count)))
        return np.concatenate(pieces, axis=1)

    return rows


def _walk(evaluator: RowEvaluator, arrays) -> np.ndarray:
    tables = {}
    for k, array in enumerate(arrays):
        same = array.strides[0] == 0 or len(array) == 1  # one row for all, as np.broadcast_to makes it
        tables[_kind(k)] = array[0].ravel() if same else array.reshape(len(array), -1).T
    return evaluator(tables, len(arrays[0])).T


def one_row(*arguments) -> tuple[np.ndarray, ...]:
    """Arguments of a single evaluation."""
    return tuple(np.asarray(argument)[None] for argument in arguments)
