"""A function and its sparse Jacobian over many rows at once, and Newton for all rows together. Nothing is compiled.

Used where one system of equations is asked for at many places: the steps of a finished run (dense output), or all
steps of a boundary-value problem.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...errors import UnsupportedByEngine
from ..program.array_program import ArrayProgram
from ..trace.tracing import NoRule, pushed_forward, trace_with_entries
from ..values.array_values import ArrayEvaluator
from .function import Function, find_root

#: Numbers a walk may hold at a time.
NUMBERS_AT_A_TIME = 4_000_000
#: An update below this, relative to its block of unknowns, is the last: its square lies below the roundoff.
LAST_UPDATE = 1e-10


class RowValues(NamedTuple):
    """Values (N, outputs) and the entries (N, entries) of the Jacobians, at one pattern (row, column) for all."""

    values: np.ndarray
    entries: np.ndarray
    row: np.ndarray
    column: np.ndarray

    def dense(self, columns: int) -> np.ndarray:
        """The Jacobians as arrays, (N, outputs, columns)."""
        matrices = np.zeros((*self.values.shape, columns))
        matrices[:, self.row, self.column] = self.entries
        return matrices


class RowJacobian:
    """`function(x, *rest)` and its derivative by x for arrays with one row a state."""

    def __init__(self, function: Callable) -> None:
        self._function = function
        self._traced: dict = {}
        self._compiled = None

    def __call__(self, *arguments) -> RowValues:
        arrays, traced = self.at(arguments)
        return self._by_jax(arrays) if traced is None else traced(arrays)

    def at(self, arguments) -> tuple[list[np.ndarray], _Traced | None]:
        """The arguments as arrays, and what the function is traced to for their shapes; None if JAX has to serve."""
        arrays = [np.asarray(a, dtype=np.float64) for a in arguments]
        shapes = tuple(a.shape[1:] for a in arrays)
        if shapes not in self._traced:
            try:
                self._traced[shapes] = _Traced(self._function, shapes)
            except UnsupportedByEngine:
                self._traced[shapes] = None
        return arrays, self._traced[shapes]

    def _by_jax(self, arrays: list[np.ndarray]) -> RowValues:
        if self._compiled is None:

            def both(x, *rest):
                return self._function(x, *rest), jax.jacfwd(self._function)(x, *rest)

            self._compiled = jax.jit(jax.vmap(both))
        with jax.ensure_compile_time_eval():  # also while something else is traced
            values, jacobians = (np.asarray(a) for a in self._compiled(*map(jnp.asarray, arrays)))
        row, column = (a.ravel() for a in np.indices(jacobians.shape[1:]))
        return RowValues(values, jacobians.reshape(len(values), -1), row, column)


class _Traced:
    """The function and its Jacobian as a program in arrays, walked for many rows."""

    def __init__(self, function: Callable, shapes: tuple) -> None:
        self.program = ArrayProgram()
        inputs = [self.program.inputs(_kind(k), math.prod(shape)).reshape(shape) for k, shape in enumerate(shapes)]
        self.x, self.outputs = inputs[0], np.zeros(0, np.int64)
        self.outputs, (self.row, self.column, self.entries) = trace_with_entries(self.program, function, *inputs)
        self._walk = _Walk(self.program, np.concatenate([self.outputs, self.entries]))

    def __call__(self, arrays: list[np.ndarray]) -> RowValues:
        numbers, count = self._walk(arrays), len(self.outputs)
        return RowValues(numbers[:, :count], numbers[:, count:], self.row, self.column)


class _Walk:
    """Operations of a program in arrays, walked for many rows; `kinds` are those of the arguments."""

    def __init__(self, program: ArrayProgram, outputs: np.ndarray, kinds: tuple[str, ...] = ()) -> None:
        self._evaluate, self._size, self._kinds = ArrayEvaluator(program, outputs), len(outputs), kinds
        self._rows_at_a_time = max(16, NUMBERS_AT_A_TIME // len(program))

    def __call__(self, arrays: list[np.ndarray]) -> np.ndarray:
        """One row of numbers for every row of the arguments."""
        total, pieces = len(arrays[0]), []
        kinds = self._kinds or tuple(_kind(k) for k in range(len(arrays)))
        for first in range(0, total, self._rows_at_a_time):
            count = min(self._rows_at_a_time, total - first)
            inputs = {
                kind: a[first : first + count].reshape(count, -1).T for kind, a in zip(kinds, arrays, strict=True)
            }
            numbers = self._evaluate(inputs)
            pieces.append(np.broadcast_to(numbers, (len(numbers), count)).T)
        return np.concatenate(pieces) if pieces else np.zeros((0, self._size))


class RowDerivatives:
    """`function(x, *rest)`, its derivative by x, and the second derivatives of factors . function, for arrays with one
    row a state. Traced once: the second derivatives follow from the operations of the first."""

    def __init__(self, function: Callable) -> None:
        self._alone: dict[tuple, _Walk] = {}
        self._second: dict[tuple, _Second | None] = {}
        self._first = RowJacobian(function)
        self._slope = RowJacobian(lambda x, factors, *rest: jax.grad(lambda x: factors @ function(x, *rest))(x))

    def __call__(self, *arguments) -> RowValues:
        """Values and first derivatives."""
        arrays, traced = self._first.at(arguments)
        return self._first(*arrays) if traced is None else traced(arrays)

    def values(self, *arguments) -> np.ndarray:
        """Values alone."""
        arrays, traced = self._first.at(arguments)
        if traced is None:
            return self._first(*arrays).values
        shapes = tuple(a.shape[1:] for a in arrays)
        if shapes not in self._alone:
            self._alone[shapes] = _Walk(traced.program, traced.outputs)
        return self._alone[shapes](arrays)

    def curvature(self, x, factors, *rest) -> RowValues:
        """The gradient of factors . function by x, and the entries at and below the diagonal of its second
        derivatives."""
        arrays, traced = self._first.at((x, *rest))
        shapes, factors = tuple(a.shape[1:] for a in arrays), np.asarray(factors, dtype=np.float64)
        if shapes not in self._second:
            self._second[shapes] = None
            if traced is not None:
                with contextlib.suppress(NoRule):
                    self._second[shapes] = _Second(traced, len(arrays))
        second = self._second[shapes]
        if second is not None:
            return second([*arrays, factors])
        found = self._slope(arrays[0], factors, *arrays[1:])
        below = found.row >= found.column
        return RowValues(found.values, found.entries[:, below], found.row[below], found.column[below])


class _Second:
    """The gradient of factors . function and its derivatives, from the operations f_r,c of the Jacobian::

    gradient_c = sum_r factors_r f_r,c
    """

    def __init__(self, first: _Traced, arguments: int) -> None:
        program, size = first.program, len(first.x)
        factors = program.inputs("factors", len(first.outputs))
        terms = program.mul(factors[first.row], first.entries)
        order = np.argsort(first.column, kind="stable")
        columns, terms = first.column[order], terms[order]
        number = np.arange(len(columns)) - np.searchsorted(columns, columns)  # of a term in its column
        gradient = np.full(size, program.zero)
        for k in range(int(number.max(initial=-1)) + 1):
            here = number == k
            gradient[columns[here]] = program.add(gradient[columns[here]], terms[here])
        row, column, entries = program.entries(pushed_forward(program, first.x, gradient))
        below = row >= column
        self._size, self._row, self._column = size, row[below], column[below]
        kinds = (*(_kind(k) for k in range(arguments)), "factors")
        self._walk = _Walk(program, np.concatenate([gradient, entries[below]]), kinds)

    def __call__(self, arrays: list[np.ndarray]) -> RowValues:
        numbers = self._walk(arrays)
        return RowValues(numbers[:, : self._size], numbers[:, self._size :], self._row, self._column)


def _kind(k: int) -> str:
    return f"argument{k}"


class RowRoots(NamedTuple):
    """Solutions (N, unknowns), and which rows have one."""

    x: np.ndarray
    found: np.ndarray


class RowNewton:
    """x with function(x, *rest) = 0 for every row, as many equations as unknowns.

    Full Newton steps for all rows together; a row that does not converge is solved alone, with step halving.
    """

    def __init__(self, function: Callable, blocks: tuple[int, ...] | None = None) -> None:
        self._rows, self._alone, self._blocks = RowJacobian(function), Function(function), blocks

    def __call__(self, guess: np.ndarray, *rest: np.ndarray, iterations: int = 15) -> RowRoots:
        x = np.array(guess, dtype=np.float64)
        found, todo = np.zeros(len(x), bool), np.arange(len(x))
        if x.shape[1] == 0:
            return RowRoots(x, ~found)
        for _ in range(iterations):
            local = self._rows(x[todo], *(a[todo] for a in rest))
            update = solve_rows(local.dense(x.shape[1]), local.values)
            x[todo] -= update
            finite = np.all(np.isfinite(update), axis=1)
            small = finite & (self._relative(update, x[todo]) <= LAST_UPDATE)
            found[todo[small]] = True
            todo = todo[finite & ~small]
            if not len(todo):
                break
        for k in np.flatnonzero(~found):
            alone = find_root(self._alone, guess[k], *(a[k] for a in rest))
            if alone is not None:
                x[k], found[k] = alone, True
        return RowRoots(x, found)

    def _relative(self, update: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The largest update of each row, in the scale of its block of unknowns."""
        edges = np.concatenate([[0], np.cumsum(self._blocks or (x.shape[1],))])
        worst = np.zeros(len(x))
        for a, b in itertools.pairwise(edges):
            if b > a:
                size = np.maximum(np.max(np.abs(x[:, a:b]), axis=1), 1e-3)
                worst = np.maximum(worst, np.max(np.abs(update[:, a:b]), axis=1) / size)
        return worst


def solve_rows(matrices: np.ndarray, right: np.ndarray) -> np.ndarray:
    """One linear system a row; NaN where the matrix is singular or not finite."""
    result = np.full(right.shape, np.nan)
    usable = np.flatnonzero(np.all(np.isfinite(matrices), axis=(1, 2)) & np.all(np.isfinite(right), axis=1))
    if not len(usable):
        return result
    try:
        result[usable] = np.linalg.solve(matrices[usable], right[usable][..., None])[..., 0]
    except np.linalg.LinAlgError:
        for k in usable:
            try:
                result[k] = np.linalg.solve(matrices[k], right[k])
            except np.linalg.LinAlgError:
                continue
    return result
