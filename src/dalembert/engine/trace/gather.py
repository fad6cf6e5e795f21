"""JAX's gather on numpy arrays: the general indexing primitive without a compilation for every shape.

For every output index, split into batch indices b and offsets o, the operand is read at start(b) + o, where start(b)
comes from the indices, each component at its place in the operand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jax.lax import GatherScatterMode

from ...errors import UnsupportedByEngine

_MODES = (GatherScatterMode.CLIP, GatherScatterMode.FILL_OR_DROP, GatherScatterMode.PROMISE_IN_BOUNDS)


def missing_entry(fill, dtype: np.dtype):
    """What JAX puts where an index lies outside: what was asked for, or else what shows that nothing was there."""
    if fill is not None:
        return fill
    if dtype == np.bool_:
        return True
    if np.issubdtype(dtype, np.integer):
        return np.iinfo(dtype).min if np.issubdtype(dtype, np.signedinteger) else np.iinfo(dtype).max
    return np.nan


def gather(operand: np.ndarray, indices: np.ndarray, parameters: dict[str, Any], fill) -> np.ndarray:
    """The entries of `operand`; `fill` where an index lies outside and the mode says so."""
    numbers, sizes = parameters["dimension_numbers"], parameters["slice_sizes"]
    mode = parameters["mode"]
    if mode not in _MODES:
        raise UnsupportedByEngine(f"indexing in the mode {mode}")
    batch_shape = indices.shape[:-1]
    rank = len(batch_shape) + len(numbers.offset_dims)
    batch_axes = [axis for axis in range(rank) if axis not in numbers.offset_dims]
    kept = [
        axis
        for axis in range(operand.ndim)
        if axis not in numbers.collapsed_slice_dims and axis not in numbers.operand_batching_dims
    ]
    offset_axis = dict(zip(kept, numbers.offset_dims, strict=True))
    places, outside = [], np.zeros((), dtype=bool)
    for axis in range(operand.ndim):
        start = np.zeros(batch_shape, dtype=np.int64)
        if axis in numbers.start_index_map:
            start = indices[..., numbers.start_index_map.index(axis)].astype(np.int64)
        elif axis in numbers.operand_batching_dims:
            along = numbers.start_indices_batching_dims[numbers.operand_batching_dims.index(axis)]
            shape = [1] * len(batch_shape)
            shape[along] = batch_shape[along]
            start = np.broadcast_to(np.arange(batch_shape[along]).reshape(shape), batch_shape)
        last = operand.shape[axis] - sizes[axis]
        start = _spread(start, batch_axes, rank)
        if mode == GatherScatterMode.FILL_OR_DROP:
            outside = outside | (start < 0) | (start > last)
        place = np.clip(start, 0, max(last, 0))
        if axis in offset_axis:
            place = place + _spread(np.arange(sizes[axis]), [offset_axis[axis]], rank)
        places.append(place)
    shape = [0] * rank
    for axis, size in zip(batch_axes, batch_shape, strict=True):
        shape[axis] = size
    for axis, where in offset_axis.items():
        shape[where] = sizes[axis]
    if operand.size == 0:
        return np.full(shape, fill, dtype=operand.dtype)
    found = np.broadcast_to(operand[tuple(places)] if places else operand, shape)
    return np.where(outside, fill, found) if np.any(outside) else found


def batch_places(values: np.ndarray, parameters: dict[str, Any]) -> np.ndarray:
    """Values of the batch indices, laid out along their axes of the result."""
    offsets = parameters["dimension_numbers"].offset_dims
    rank = values.ndim + len(offsets)
    return _spread(values, [axis for axis in range(rank) if axis not in offsets], rank)


def _spread(values: np.ndarray, axes: list[int], rank: int) -> np.ndarray:
    """An array laid out along some axes of an array of more of them."""
    shape = [1] * rank
    for axis, size in zip(axes, values.shape, strict=True):
        shape[axis] = size
    return values.reshape(shape)
