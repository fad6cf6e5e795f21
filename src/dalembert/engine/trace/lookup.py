"""Entries whose places depend on the state: a tree of choices over all places there are.

An index i among n places is found by halving: i < n/2 or not, and so on; n - 1 choices, of which equal ones are made
once. An index outside ends at the nearest place, as JAX clips it. What is chosen from may itself depend on the state:
derivatives follow by themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from jax.lax import GatherScatterMode

from ...errors import UnsupportedByEngine
from . import integers
from .gather import batch_places, gather
from .primitives import Nodes, Parameters, Value, ids_of

if TYPE_CHECKING:
    from .interpreter import Interpreter

#: places to choose among, and choices in all, above which a loop of XLA is the better code
MOST_PLACES, MOST_CHOICES = 4096, 200_000


def chosen(
    interpreter: Interpreter, indices: Sequence[np.ndarray], counts: Sequence[int], leaf: Callable
) -> np.ndarray:
    """leaf(i, j, ...) for operations i, j, ... that broadcast against it; `counts` says how many of each there are."""
    places = int(np.prod(counts, dtype=np.int64))
    if places > MOST_PLACES or places * max(1, *(np.size(i) for i in indices)) > MOST_CHOICES:
        raise UnsupportedByEngine(f"an index that depends on the state among {places} places")
    program = interpreter.program

    def among(fixed: tuple[int, ...], low: int, high: int) -> np.ndarray:
        if low == high:
            found = (*fixed, low)
            return leaf(*found) if len(found) == len(counts) else among(found, 0, counts[len(found)] - 1)
        middle = (low + high + 1) // 2
        before = interpreter.elementwise("lt", [Nodes(indices[len(fixed)]), np.array(float(middle))])
        first, second = among(fixed, low, middle - 1), among(fixed, middle, high)
        return interpreter.collect(program.select, np.broadcast_arrays(before.ids, first, second)).ids

    if 0 in counts:
        raise UnsupportedByEngine("an index that depends on the state into nothing")
    return among((), 0, counts[0] - 1) if counts else leaf()


def outside(interpreter: Interpreter, indices: Sequence[np.ndarray], counts: Sequence[int]) -> Nodes:
    """Whether an index lies outside."""
    truth: Nodes | None = None
    for index, count in zip(indices, counts, strict=True):
        for how, end in (("lt", 0.0), ("gt", float(count - 1))):
            beyond = interpreter.elementwise(how, [Nodes(index), np.array(end)])
            truth = beyond if truth is None else interpreter.elementwise("or", [truth, beyond])
    assert truth is not None
    return truth


def looked_up(
    interpreter: Interpreter, operand: np.ndarray, indices: Nodes, parameters: Parameters, missing: int
) -> Nodes:
    """`gather` with indices that depend on the state."""
    numbers, sizes = parameters["dimension_numbers"], parameters["slice_sizes"]
    axes = numbers.start_index_map
    counts = [operand.shape[a] - sizes[a] + 1 for a in axes]
    batch = indices.shape[:-1]
    parts = [batch_places(indices.ids[..., k], parameters) for k in range(len(axes))]

    def leaf(*place: int) -> np.ndarray:
        return gather(operand, np.broadcast_to(np.array(place, np.int64), (*batch, len(place))), parameters, missing)

    found = chosen(interpreter, parts, counts, leaf)
    if parameters["mode"] == GatherScatterMode.FILL_OR_DROP:
        beyond = outside(interpreter, parts, counts)
        found = interpreter.collect(
            interpreter.program.select, np.broadcast_arrays(beyond.ids, np.array(missing), found)
        ).ids
    return Nodes(found)


def sliced(interpreter: Interpreter, operand: np.ndarray, starts: list[Value], parameters: Parameters) -> Nodes:
    """`dynamic_slice` with a start that depends on the state."""
    sizes = parameters["slice_sizes"]
    indices = [ids_of(interpreter.program, start) for start in starts]
    counts = [n - size + 1 for n, size in zip(operand.shape, sizes, strict=True)]

    def leaf(*place: int) -> np.ndarray:
        return operand[tuple(slice(k, k + size) for k, size in zip(place, sizes, strict=True))]

    return Nodes(chosen(interpreter, indices, counts, leaf))


def updated(interpreter: Interpreter, operand: np.ndarray, update: np.ndarray, starts: list[Value]) -> Nodes:
    """`dynamic_update_slice` with a start that depends on the state."""
    indices = [ids_of(interpreter.program, start) for start in starts]
    counts = [n - size + 1 for n, size in zip(operand.shape, update.shape, strict=True)]

    def leaf(*place: int) -> np.ndarray:
        out = operand.copy()
        out[tuple(slice(k, k + size) for k, size in zip(place, update.shape, strict=True))] = update
        return out

    return Nodes(chosen(interpreter, indices, counts, leaf))


#: entries along an axis up to which they are sorted by comparing all pairs
MOST_SORTED = 32


def sort(interpreter: Interpreter, parameters, arguments: list[Value]) -> list[Value]:
    """Neighbours are exchanged if the second comes first, again and again: a network of n (n - 1) / 2 comparisons that
    leaves equal entries in their order. NaN comes last."""
    axis, keys = parameters["dimension"], parameters["num_keys"]
    program = interpreter.program
    columns = [np.moveaxis(ids_of(program, a), axis, 0).copy() for a in arguments]
    count = len(columns[0])
    if count > MOST_SORTED:
        raise UnsupportedByEngine(f"the operation 'sort' on {count} numbers that depend on the state")

    def later(a: Sequence[int], b: Sequence[int]) -> int:
        """Whether the entry a belongs behind b."""
        truth = integers.constant(program, False)
        for x, y in zip(reversed(a), reversed(b), strict=True):
            nan_first = program.apply("and", program.apply("ne", x, x), program.apply("eq", y, y))
            behind = program.apply("or", program.apply("gt", x, y), nan_first)
            ahead = program.apply(
                "or",
                program.apply("lt", x, y),
                program.apply("and", program.apply("eq", x, x), program.apply("ne", y, y)),
            )
            tied = program.apply("and", program.apply("not", ahead), truth)
            truth = program.apply("or", behind, tied)
        return truth

    for last in range(count - 1, 0, -1):
        for k in range(last):
            pairs = [column[k] for column in columns[:keys]] + [column[k + 1] for column in columns[:keys]]
            swap = interpreter.collect(lambda *both: later(both[:keys], both[keys:]), pairs)
            for column in columns:
                first, second = column[k].copy(), column[k + 1].copy()
                column[k] = interpreter.collect(program.select, [swap.ids, second, first]).ids
                column[k + 1] = interpreter.collect(program.select, [swap.ids, first, second]).ids
    return [Nodes(np.moveaxis(column, 0, axis)) for column in columns]
