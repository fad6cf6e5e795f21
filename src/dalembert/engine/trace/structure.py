"""Primitives of JAX that only move the entries of arrays: the same function moves numbers and numbers of operations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def _reshape(parameters, x):
    """`dimensions` is the order in which the axes are read, the last one fastest."""
    order = parameters["dimensions"]
    return (x if order is None else np.transpose(x, order)).reshape(parameters["new_sizes"])


def _broadcast_in_dim(parameters, x):
    shape = [1] * len(parameters["shape"])
    for axis, target in enumerate(parameters["broadcast_dimensions"]):
        shape[target] = x.shape[axis]
    return np.broadcast_to(x.reshape(shape), parameters["shape"])


def _pad(parameters, x, fill):
    """Entry k of x lands at low + (inner + 1) k; a negative `low` or `high` cuts off."""
    config = parameters["padding_config"]
    spread = [n + max(0, n - 1) * inner for n, (_, _, inner) in zip(x.shape, config, strict=True)]
    out = np.full([m + low + high for m, (low, high, _) in zip(spread, config, strict=True)], fill)
    target, source = [], []
    for n, size, (low, _, inner) in zip(x.shape, out.shape, config, strict=True):
        places = low + (inner + 1) * np.arange(n)
        inside = np.flatnonzero((places >= 0) & (places < size))
        target.append(places[inside])
        source.append(inside)
    out[np.ix_(*target)] = x[np.ix_(*source)]
    return out


def _slice(parameters, x):
    strides = parameters["strides"] or (1,) * x.ndim
    return x[tuple(map(slice, parameters["start_indices"], parameters["limit_indices"], strides))]


STRUCTURAL: dict[str, Callable] = {
    "reshape": _reshape,
    "transpose": lambda parameters, x: np.transpose(x, parameters["permutation"]),
    "squeeze": lambda parameters, x: np.squeeze(x, tuple(parameters["dimensions"])),
    "expand_dims": lambda parameters, x: np.expand_dims(x, tuple(parameters["dimensions"])),
    "rev": lambda parameters, x: np.flip(x, parameters["dimensions"]),
    "concatenate": lambda parameters, *xs: np.concatenate(xs, axis=parameters["dimension"]),
    "stack": lambda parameters, *xs: np.stack(xs, axis=parameters["axis"]),
    "tile": lambda parameters, x: np.tile(x, parameters["reps"]),
    "broadcast_in_dim": _broadcast_in_dim,
    "pad": _pad,
    "slice": _slice,
}

#: indexing primitives and which of their arguments are moved (the others are indices)
MOVES: dict[str, tuple[int, ...]] = {
    "gather": (0,),
    "dynamic_slice": (0,),
    "dynamic_update_slice": (0, 1),
    "scatter": (0, 2),
}
