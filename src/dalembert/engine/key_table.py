"""Which of many integers were seen before? A hash table for whole arrays, compiled.

A dictionary takes a microsecond a key from Python; programs of large systems have millions.
"""

from __future__ import annotations

import ctypes
import functools

import numpy as np

from .llvm_compile import compile_text

#: marks a free place; keys are not negative
_FREE = -1


class KeyTable:
    """Numbers for nonnegative integers, by open addressing."""

    def __init__(self) -> None:
        self._count = 0
        self._make(1024)

    def _make(self, capacity: int) -> None:
        self._keys = np.full(capacity, _FREE, dtype=np.int64)
        self._numbers = np.empty(capacity, dtype=np.int64)

    def number(self, keys: np.ndarray, first: int) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of the keys, and where new ones appear first; these get `first`, `first` + 1, ... in turn."""
        keys = np.ascontiguousarray(keys, dtype=np.int64)
        self._make_room(len(keys))
        fresh = np.empty(len(keys), dtype=np.int64)
        numbers = np.empty(len(keys), dtype=np.int64)
        found = np.array([first, 0], dtype=np.int64)
        self._call(keys, numbers, fresh, found)
        self._count += int(found[1])
        return numbers, fresh[: found[1]]

    def _make_room(self, count: int) -> None:
        """At most half of the places are taken, also if all that come are new."""
        wanted = 2 * (self._count + count)
        if wanted <= len(self._keys):
            return
        taken = self._keys != _FREE
        keys, numbers = self._keys[taken], self._numbers[taken]
        self._make(1 << int(2 * wanted - 1).bit_length())
        slots = np.empty(len(keys), dtype=np.int64)
        self._call(keys, np.empty_like(keys), slots, np.zeros(2, dtype=np.int64))
        # the numbers given now are 0, 1, ... in the order of the keys: put the old ones in their place
        filled = self._keys != _FREE
        self._numbers[filled] = numbers[self._numbers[filled]]

    def _call(self, keys, numbers, fresh, found) -> None:
        arrays = (keys, self._keys, self._numbers, numbers, fresh, found)
        _walk()(*(array.ctypes.data for array in arrays), len(keys), len(self._keys) - 1)


@functools.cache
def _walk():
    code, _ = compile_text(_TEXT, effort=2)
    _KEPT.append(code)
    return code.function("walk", *[ctypes.c_void_p] * 6, ctypes.c_int64, ctypes.c_int64)


#: code must outlive the functions made of it
_KEPT: list = []

#: found = (the next number, how many were new); the multiplier is 2^64 over the golden ratio
_TEXT = f"""
define void @walk(ptr %keys, ptr %table, ptr %values, ptr %numbers, ptr %fresh, ptr %found, i64 %count, i64 %mask) {{
entry:
  %first = load i64, ptr %found
  br label %again
again:
  %k = phi i64 [ 0, %entry ], [ %k.next, %old ], [ %k.next.new, %new ]
  %next = phi i64 [ %first, %entry ], [ %next, %old ], [ %next.new, %new ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %begin, label %done
begin:
  %key.at = getelementptr i64, ptr %keys, i64 %k
  %key = load i64, ptr %key.at
  %mixed = mul i64 %key, -7046029254386353131
  %high = lshr i64 %mixed, 29
  %both = xor i64 %mixed, %high
  %slot.first = and i64 %both, %mask
  br label %probe
probe:
  %slot = phi i64 [ %slot.first, %begin ], [ %slot.next, %other ]
  %here.at = getelementptr i64, ptr %table, i64 %slot
  %here = load i64, ptr %here.at
  %value.at = getelementptr i64, ptr %values, i64 %slot
  %number.at = getelementptr i64, ptr %numbers, i64 %k
  %same = icmp eq i64 %here, %key
  br i1 %same, label %old, label %differs
differs:
  %free = icmp eq i64 %here, {_FREE}
  br i1 %free, label %new, label %other
other:
  %slot.after = add i64 %slot, 1
  %slot.next = and i64 %slot.after, %mask
  br label %probe
old:
  %value = load i64, ptr %value.at
  store i64 %value, ptr %number.at
  %k.next = add i64 %k, 1
  br label %again
new:
  store i64 %key, ptr %here.at
  store i64 %next, ptr %value.at
  store i64 %next, ptr %number.at
  %made = sub i64 %next, %first
  %fresh.at = getelementptr i64, ptr %fresh, i64 %made
  store i64 %k, ptr %fresh.at
  %next.new = add i64 %next, 1
  %k.next.new = add i64 %k, 1
  br label %again
done:
  %total = sub i64 %next, %first
  %total.at = getelementptr i64, ptr %found, i64 1
  store i64 %total, ptr %total.at
  ret void
}}
"""
