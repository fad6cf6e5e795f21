"""Writing to places in arrays, combined with what is there.

Where the places are known, numbers of operations move. Where they depend on the state, there is a choice for every
place between what is written and what is there. Of the updates each comes after the other; one that lies outside is
left out, or moved to the nearest place, as JAX's mode says. An entry at place p becomes op(a_p, u) where the index is
p, and stays a_p elsewhere; a sum becomes a_p + (u or 0), so that derivatives, which are sums of few terms, stay short.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.lax import GatherScatterMode

from ...errors import UnsupportedByEngine
from .primitives import Nodes, Parameters, Value, ids_of

if TYPE_CHECKING:
    from .interpreter import Interpreter

#: choices above which a loop of XLA is the better code
MOST_CHOICES = 20_000


def written(interpreter: Interpreter, op: str | None, arguments: list[Value], parameters: Parameters) -> Nodes:
    """`scatter` by `op`, or in place of what is there, with indices that depend on the state."""
    program = interpreter.program
    operand, indices, updates = (ids_of(program, a) for a in arguments)
    numbers, mode = parameters["dimension_numbers"], parameters["mode"]
    for known in ("update_jaxpr", "update_consts"):  # the operation as a function: `op` says it
        parameters.get(known)
    axes, batching = numbers.scatter_dims_to_operand_dims, numbers.operand_batching_dims
    window_axes = [a for a in range(operand.ndim) if a not in (*numbers.inserted_window_dims, *batching)]
    sizes = [1] * operand.ndim
    for axis, along in zip(window_axes, numbers.update_window_dims, strict=True):
        sizes[axis] = updates.shape[along]
    counts = [operand.shape[a] - sizes[a] + 1 for a in axes]
    choices = math.prod(counts) * updates.size
    if choices > MOST_CHOICES:
        raise UnsupportedByEngine(f"writing to {choices} places that depend on the state")
    batch_first = [k for k in range(updates.ndim) if k not in numbers.update_window_dims]
    windows = np.transpose(updates, [*batch_first, *numbers.update_window_dims])
    out = operand.copy()
    for b in np.ndindex(indices.shape[:-1]):
        index = indices[b]
        if mode == GatherScatterMode.CLIP:
            ends = np.array([count - 1.0 for count in counts])
            above = interpreter.elementwise("max", [Nodes(index), np.zeros(len(counts))])
            index = interpreter.elementwise("min", [above, ends]).ids
        window = windows[b].reshape(sizes)
        start = [0] * operand.ndim
        for axis, along in zip(batching, numbers.scatter_indices_batching_dims, strict=True):
            start[axis] = b[along]
        for place in itertools.product(*map(range, counts)):
            for axis, k in zip(axes, place, strict=True):
                start[axis] = k
            target = tuple(slice(k, k + size) for k, size in zip(start, sizes, strict=True))
            equal = interpreter.elementwise("eq", [Nodes(index), np.array(place, dtype=float)]).ids
            here = equal[0]
            for other in equal[1:]:
                here = interpreter.elementwise("and", [Nodes(here), Nodes(other)]).ids
            out[target] = _chosen(interpreter, op, here, out[target], window)
    return Nodes(out)


def _chosen(interpreter: Interpreter, op: str | None, here: np.ndarray, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    program = interpreter.program

    def choose(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        return interpreter.collect(program.select, np.broadcast_arrays(here, one, other)).ids

    if op in ("add", "sub"):
        return interpreter.elementwise(op, [Nodes(old), Nodes(choose(new, np.asarray(program.zero)))]).ids
    changed = new if op is None else interpreter.elementwise(op, [Nodes(old), Nodes(new)]).ids
    return choose(changed, old)


def _combined(op: str) -> Callable:
    """Updates combined with what is there, one after the other where they share a target."""

    def scatter(interpreter: Interpreter, parameters, arguments, equation) -> Nodes:
        operand, indices, updates = arguments
        if isinstance(indices, Nodes):
            return written(interpreter, op, arguments, parameters)
        program = interpreter.program
        build = functools.partial(program.apply, op)
        total, update_ids = ids_of(program, operand), ids_of(program, updates)
        shape, total, flat = total.shape, total.ravel().copy(), update_ids.ravel()
        waiting = np.arange(1, flat.size + 1)  # zero for those that are done
        where = {name: parameters[name] for name in parameters} | _largest_label()
        while waiting.any():  # entries that share a target are placed in later rounds, the last of them first
            labels = waiting.reshape(update_ids.shape)
            with jax.ensure_compile_time_eval():  # also while something else is traced
                placed = lax.scatter_max_p.bind(np.zeros(shape, np.int64), indices, labels, **where)
            placed = np.asarray(placed).ravel()
            targets = np.flatnonzero(placed)
            if len(targets) == 0:
                break  # what is left lies outside and is dropped
            sources = placed[targets] - 1
            total[targets] = interpreter.collect(build, [total[targets], flat[sources]]).ids
            waiting[sources] = 0
        return Nodes(total.reshape(shape))

    return scatter


@functools.cache
def _largest_label() -> dict:
    closed = jax.make_jaxpr(jnp.maximum)(jnp.zeros((), jnp.int64), jnp.zeros((), jnp.int64))
    return {
        "update_jaxpr": closed.jaxpr,
        "update_consts": (),
        "unique_indices": False,
        "indices_are_sorted": False,
    }


SCATTERS: dict[str, Callable] = {
    f"scatter{dash}{name}": _combined(op)
    for name, op in (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("min", "min"), ("max", "max"))
    for dash in "-_"
}
