"""What do some operations of a program in arrays need? One compiled walk down its columns."""

from __future__ import annotations

import ctypes
import functools

import numpy as np

from ..machine.compilation import compile_text
from .columns import Column


def reachable(
    columns: tuple[Column, ...], first_code: int, roots: np.ndarray, state: np.ndarray | None = None
) -> np.ndarray:
    """Operations that the roots need, in order; only those with a negative state, and not looking behind others.

    `columns` are code, first, second, third; operations with codes below `first_code` have no arguments. `state` holds
    a 32-bit integer for every operation; without it all count.
    """
    roots = roots if state is None else roots[state[roots] < 0]
    if not len(roots):
        return np.zeros(0, np.int64)
    found, bounds = np.zeros(columns[0].length, bool), np.array([roots.min(), roots.max()], dtype=np.int64)
    found[roots] = True
    arrays = [*(column.room.ctypes.data for column in columns), None if state is None else state.ctypes.data]
    _walk()(*arrays, found.ctypes.data, bounds.ctypes.data, first_code)
    low, high = bounds.tolist()
    return low + np.flatnonzero(found[low : high + 1])


@functools.cache
def _walk():
    return _code().function("walk", *[ctypes.c_void_p] * 7, ctypes.c_int64)


@functools.cache
def _code():
    return compile_text(_TEXT, effort=2)[0]


#: arguments come before the operations that use them, so that one walk downwards meets all; it ends at the lowest
_TEXT = """
define internal i64 @mark(ptr %column, i64 %k, ptr %state, i1 %all, ptr %found, i64 %low) {
  %at = getelementptr i32, ptr %column, i64 %k
  %short = load i32, ptr %at
  %there = icmp sge i32 %short, 0
  br i1 %there, label %look, label %no
look:
  %node = sext i32 %short to i64
  br i1 %all, label %take, label %ask
ask:
  %state.at = getelementptr i32, ptr %state, i64 %node
  %is = load i32, ptr %state.at
  %yes = icmp slt i32 %is, 0
  br i1 %yes, label %take, label %no
take:
  %found.at = getelementptr i8, ptr %found, i64 %node
  store i8 1, ptr %found.at
  %lower = icmp slt i64 %node, %low
  %new = select i1 %lower, i64 %node, i64 %low
  ret i64 %new
no:
  ret i64 %low
}

define void @walk(ptr %codes, ptr %first, ptr %second, ptr %third, ptr %state, ptr %found, ptr %bounds,
                  i64 %first.code) {
entry:
  %all = icmp eq ptr %state, null
  %lowest = load i64, ptr %bounds
  %high.at = getelementptr i64, ptr %bounds, i64 1
  %high = load i64, ptr %high.at
  br label %again
again:
  %k = phi i64 [ %high, %entry ], [ %k.next, %next ]
  %low = phi i64 [ %lowest, %entry ], [ %low.next, %next ]
  %more = icmp sge i64 %k, %low
  br i1 %more, label %begin, label %done
begin:
  %found.at = getelementptr i8, ptr %found, i64 %k
  %is = load i8, ptr %found.at
  %yes = icmp ne i8 %is, 0
  br i1 %yes, label %look, label %next
look:
  %code.at = getelementptr i8, ptr %codes, i64 %k
  %code.short = load i8, ptr %code.at
  %code = sext i8 %code.short to i64
  %inner = icmp sge i64 %code, %first.code
  br i1 %inner, label %take, label %next
take:
  %low.a = call i64 @mark(ptr %first, i64 %k, ptr %state, i1 %all, ptr %found, i64 %low)
  %low.b = call i64 @mark(ptr %second, i64 %k, ptr %state, i1 %all, ptr %found, i64 %low.a)
  %low.c = call i64 @mark(ptr %third, i64 %k, ptr %state, i1 %all, ptr %found, i64 %low.b)
  br label %next
next:
  %low.next = phi i64 [ %low, %begin ], [ %low, %look ], [ %low.c, %take ]
  %k.next = sub i64 %k, 1
  br label %again
done:
  store i64 %low, ptr %bounds
  ret void
}
"""
