"""How an operation on runs is computed: for one run, or for many members of a batch."""

from __future__ import annotations

import concurrent.futures
import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..machine.compilation import lanes
from ..runners.translation import TooLarge
from .members import Batch, Together

#: the arguments of a run: state, t0, h, theta
ARGUMENTS = 4


class Call(NamedTuple):
    """How an operation is computed."""

    one: Callable[..., tuple]  # of one member
    together: Callable[..., Together] | None = None  # of a batch


def each_member(call: Call, members: int | None, batched: tuple[bool, ...], arguments) -> list[np.ndarray]:
    """The results of one run, or of many members, first axis: side by side in vectors where these can be, the others by
    all cores, since compiled code leaves Python's lock to others."""
    arguments = [_contiguous(part) for part in arguments]
    if members is None:
        return [np.asarray(part) for part in call.one(*arguments)]
    together = _in_vectors(call, members, batched, arguments)
    left = np.arange(members) if together is None else together.failed

    def one(k: int) -> tuple:
        return call.one(*(part[k] if each else part for part, each in zip(arguments, batched, strict=True)))

    if together is not None:
        found = list(together.found)
        if not len(left):
            return found
    first = one(int(left[0]))  # what has to be compiled is
    if together is None:
        found = [np.empty((members, *np.shape(part)), np.asarray(part).dtype) for part in first]

    def some(begin: int, end: int) -> None:
        for k in left[begin:end].tolist():
            for place, part in zip(found, first if k == left[0] else one(k), strict=True):
                place[k] = part

    workers = min(len(left), os.cpu_count() or 1)
    ends = np.linspace(0, len(left), workers + 1).astype(int).tolist()
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        list(pool.map(some, ends[:-1], ends[1:]))
    return found


def _in_vectors(call: Call, members: int, batched: tuple[bool, ...], arguments: list) -> Together | None:
    """All members side by side; None where there are too few of them, or where they are too large or too different."""
    (state, t0, h, parameters) = arguments[:ARGUMENTS]
    if call.together is None or members < lanes() or batched[1] or batched[2] or not (batched[0] or batched[3]):
        return None
    states, rows = (np.broadcast_to(part, (members, part.shape[-1])) for part in (state, parameters))
    try:
        return call.together(Batch(states, float(t0), float(h), rows), *arguments[ARGUMENTS:])
    except TooLarge:
        return None


def _contiguous(part: Any) -> np.ndarray:
    return np.ascontiguousarray(part) if np.ndim(part) else np.asarray(part)
