"""Functions over many rows at once: a scalar program walked with numpy, one array an operation. Nothing is compiled.

Used for everything that is asked of a finished run (energy, constraint violations, multipliers).
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import ModelError, UnsupportedByEngine
from .elimination import reduce_step
from .program import Evaluator, Program
from .trace import trace, trace_with_jacobian

#: rows walked at a time, so that memory stays small
ROWS_AT_A_TIME = 20_000
#: multipliers of an elimination above this: its pivots do not suit all rows
GROWTH_LIMIT = 1e6


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
                self._traced[shapes] = Evaluator(program, trace(program, self._function, *inputs))
            except UnsupportedByEngine:
                self._traced[shapes] = None
        if self._traced[shapes] is None:
            return self._by_jax(arrays)
        return _walk(self._traced[shapes], arrays)

    def _by_jax(self, arrays) -> np.ndarray:
        if self._compiled is None:
            self._compiled = jax.jit(jax.vmap(self._function))
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
            if not multipliers.size or np.max(np.abs(multipliers)) < GROWTH_LIMIT:
                return _walk(solution, arrays)
        return self._by_jax(arrays)

    def _eliminated(self, shapes, arrays) -> tuple[Evaluator, Evaluator] | None:
        program, inputs = _inputs(shapes)
        count = self._size(*(np.zeros(shape) for shape in shapes))
        x = program.inputs("x", count)
        residual, jacobian = trace_with_jacobian(program, self._residual, x, *inputs)
        chosen = np.linspace(0, len(arrays[0]) - 1, 6).astype(int)
        samples: dict = {("x", j): np.zeros(6) for j in range(count)}
        for k, array in enumerate(arrays):
            flat = array[chosen].reshape(6, -1)
            samples |= {(f"parameter{k}", j): flat[:, j] for j in range(flat.shape[1])}
        names = tuple(str(j) for j in range(count))
        reduced = reduce_step(program, x, residual, jacobian, samples, names, names)
        if reduced.blocks:
            return None
        return Evaluator(program, reduced.rewrite(x)), Evaluator(program, np.array(reduced.growth, dtype=np.int64))

    def _by_jax(self, arrays) -> np.ndarray:
        if self._compiled is None:
            count = self._size(*(np.zeros(a.shape[1:]) for a in arrays))

            def solve(*row):
                zero = jnp.zeros(count)
                matrix = jax.jacfwd(lambda x: self._residual(x, *row))(zero)
                return jnp.linalg.solve(matrix, -self._residual(zero, *row))

            self._compiled = jax.jit(jax.vmap(solve))
        return np.asarray(self._compiled(*map(jnp.asarray, arrays)))


def _inputs(shapes) -> tuple[Program, list[np.ndarray]]:
    program = Program()
    inputs = [
        program.inputs(f"parameter{k}", int(np.prod(shape, dtype=int))).reshape(shape) for k, shape in enumerate(shapes)
    ]
    return program, inputs


def _walk(evaluator: Evaluator, arrays) -> np.ndarray:
    total = len(arrays[0])
    pieces = []
    for first in range(0, total, ROWS_AT_A_TIME):
        count = min(ROWS_AT_A_TIME, total - first)
        inputs = {}
        for k, array in enumerate(arrays):
            same = array.strides[0] == 0  # one row for all, as np.broadcast_to makes it
            rows = array[first : first + (1 if same else count)].reshape(1 if same else count, -1)
            columns = rows[0].tolist() if same else [np.ascontiguousarray(rows[:, j]) for j in range(rows.shape[1])]
            inputs |= {(f"parameter{k}", j): column for j, column in enumerate(columns)}
        values = evaluator(inputs)
        pieces.append(np.broadcast_to(values[:, None] if values.ndim == 1 else values, (len(values), count)).T)
    return np.concatenate(pieces)
