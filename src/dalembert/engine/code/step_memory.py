"""The memory in which compiled steps work: one block of numbers and one of integers, and where everything lies in them.

A run of some hundred steps takes less than a millisecond: making an array for each argument of each phase, and asking
for its address, would take as long.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..contract import HISTORY
from ..tuning import tuning
from .loop import POINTERS

#: Bytes from which on memory is worth keeping.
LARGE = 200_000
#: Pointers to integers; all others are to numbers.
INTEGERS = ("counters", "iterations", "worst")


def pointer_to(array: np.ndarray) -> int:
    """Where its numbers lie. (`array.ctypes.data` builds objects on the way and takes three times as long.)"""
    return array.__array_interface__["data"][0]


class Spare:
    """Large blocks of memory that nobody uses any more, for the next who needs one of the same size.

    The system hands memory out page by page when it is first written to. For the saved states of a run of some hundred
    steps that takes as long as the run.
    """

    def __init__(self) -> None:
        self._blocks: dict[int, list[np.ndarray]] = {}
        self._bytes = 0

    def block(self, count: int, dtype) -> np.ndarray:
        """So many numbers, of any value; their memory is spare again when no array lies in it any more."""
        size = count * np.dtype(dtype).itemsize
        if not LARGE <= size <= tuning().spare_bytes:
            return np.empty(count, dtype)
        try:
            memory = self._blocks[size].pop()
            self._bytes -= size
        except (KeyError, IndexError):
            memory = np.empty(size, np.uint8)
        buffer: Any = memory  # numpy does not say that it is one
        block = np.frombuffer(memoryview(buffer), dtype)  # the base of every view, unlike a slice of the memory
        weakref.finalize(block, self._return, memory).atexit = False
        return block

    def _return(self, memory: np.ndarray) -> None:
        size = len(memory)
        if self._bytes + size > tuning().spare_bytes:
            self._blocks, self._bytes = {}, 0
        self._blocks.setdefault(size, []).append(memory)
        self._bytes += size


spare = Spare()


@dataclass(frozen=True)
class Room:
    """Where the arrays of one or more phases lie."""

    sections: dict[str, slice]  # of the block of numbers
    numbers: int  # lengths of the blocks
    integers: int
    histories: tuple[int, ...]  # where the history of each phase begins within its section, and where the last ends
    contractions: tuple[int, ...]
    offsets: np.ndarray  # (phases, pointers), in bytes
    source: np.ndarray  # (pointers,), from which they count: the block of numbers, that of integers, the table
    item: int  # the length of a number in bytes

    def pointers(self, numbers: np.ndarray, integers: np.ndarray, table: np.ndarray) -> np.ndarray:
        """The arguments of every phase; the weights of extrapolation lie elsewhere, the same for all."""
        begins = np.array([pointer_to(numbers), pointer_to(integers), pointer_to(table)])
        return self.offsets + begins[self.source]

    def pointers_of_one(self, numbers: np.ndarray, integers: np.ndarray, table: np.ndarray) -> list[int]:
        """The same where there is only one phase, without arrays."""
        begins = pointer_to(numbers), pointer_to(integers), pointer_to(table)
        return [begins[source] + offset for source, offset in self._of_one]

    def block_of_one(self, saves: int, length: int, dtype) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where there is only one phase: a block of numbers, of zeros, with the integers and, still empty, the saved
        states behind them in the same memory; and these two. So one address is asked for instead of three."""
        integers = -(-8 * (4 + 2 * saves) // self.item)
        end = self.numbers + integers
        block = spare.block(end + saves * length, dtype)
        block[:end] = 0.0
        return block, block[self.numbers : end].view(np.int64), block[end:].reshape(saves, length)

    def pointers_into(self, block: np.ndarray, table: int) -> list[int]:
        """The arguments for such a block, but for those that depend on how many states are saved."""
        at: Any = block  # numpy does not say that it is a buffer
        begin = ctypes.addressof(ctypes.c_char.from_buffer(at))  # a third of the time of `pointer_to`
        return [table if offset < 0 else begin + offset for offset in self._in_one_block]

    @functools.cached_property
    def _in_one_block(self) -> list[int]:
        first = (0, self.numbers * self.item, -1)
        return [first[source] + offset if source < 2 else -1 for source, offset in self._of_one]

    @functools.cached_property
    def _of_one(self) -> list[tuple[int, int]]:
        return list(zip(self.source.tolist(), self.offsets[0].tolist(), strict=True))


@functools.lru_cache(maxsize=256)
def room_for(
    sizes: tuple[tuple[int, int, int], ...],
    kinds: tuple[int, ...],
    n_state: int,
    n_summed: int,
    n_parameters: int,
    item: int = 8,
) -> Room:
    """`sizes` has the unknowns, the remembered ones and the blocks of every compiled step, `kinds` which of them a
    phase is; `item` is the length of a number in bytes."""
    count = len(kinds)
    histories = np.cumsum([0, *(HISTORY * sizes[kind][1] for kind in kinds)]).tolist()
    contractions = np.cumsum([0, *(sizes[kind][2] for kind in kinds)]).tolist()
    scales = np.cumsum([0, *(unknowns + 1 for unknowns, *_ in sizes)]).tolist()
    lengths = {  # of one phase, the first four are what its scales are computed from
        "time": 2 * count, "state": n_state, "parameters": n_parameters, "history": histories[-1],
        "compensation": n_summed, "backup": n_state + n_summed, "contraction": contractions[-1],
        "weights": scales[-1], "last": 2 * count, "saved": n_state,
    }  # fmt: skip
    ends = np.cumsum([0, *lengths.values()]).tolist()
    sections = {name: slice(a, b) for name, (a, b) in zip(lengths, itertools.pairwise(ends), strict=True)}
    offsets = np.zeros((count, len(POINTERS)), dtype=np.int64)
    for k, kind in enumerate(kinds):
        within = {
            "time": 2 * k, "history": histories[k], "contraction": contractions[k], "weights": scales[kind],
            "last": 2 * k, "counters": 4 * k, "iterations": 4 * count + k, "worst": 5 * count + k,
        }  # fmt: skip
        for column, name in enumerate(POINTERS):
            size, first = (8, 0) if name in INTEGERS or name == "table" else (item, sections[name].start)
            offsets[k, column] = size * (first + within.get(name, 0))
    source = np.array([2 if name == "table" else int(name in INTEGERS) for name in POINTERS])
    return Room(sections, ends[-1], 6 * count, tuple(histories), tuple(contractions), offsets, source, item)
