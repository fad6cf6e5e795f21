"""What do some operations of a program in arrays need? One compiled walk down its columns."""

from __future__ import annotations

import ctypes
import functools

import numpy as np

from .llvm_compile import compile_text
from .ragged import Column


def reachable(columns: tuple[Column, ...], first_code: int, roots: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Operations that the roots need, not looking behind those that are not wanted; in order.

    `columns` are code, first, second, third; operations with codes below `first_code` have no arguments.
    """
    found = np.zeros(len(wanted), bool)
    roots = roots[wanted[roots]]
    if not len(roots):
        return np.zeros(0, np.int64)
    found[roots] = True
    arrays = (*(column.room for column in columns), wanted, found)
    _walk()(*(array.ctypes.data for array in arrays), int(roots.max()), int(roots.min()), first_code)
    return np.flatnonzero(found)


@functools.cache
def _walk():
    return _code().function("walk", *[ctypes.c_void_p] * 6, *[ctypes.c_int64] * 3)


@functools.cache
def _code():
    return compile_text(_TEXT, effort=2)[0]


#: arguments come before the operations that use them, so that one walk downwards meets all; it ends at the lowest
_TEXT = """
define internal i64 @mark(ptr %column, i64 %k, ptr %wanted, ptr %found, i64 %low) {
  %at = getelementptr i32, ptr %column, i64 %k
  %short = load i32, ptr %at
  %there = icmp sge i32 %short, 0
  br i1 %there, label %look, label %no
look:
  %node = sext i32 %short to i64
  %wanted.at = getelementptr i8, ptr %wanted, i64 %node
  %is = load i8, ptr %wanted.at
  %yes = icmp ne i8 %is, 0
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

define void @walk(ptr %codes, ptr %first, ptr %second, ptr %third, ptr %wanted, ptr %found, i64 %high, i64 %lowest,
                  i64 %first.code) {
entry:
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
  %low.a = call i64 @mark(ptr %first, i64 %k, ptr %wanted, ptr %found, i64 %low)
  %low.b = call i64 @mark(ptr %second, i64 %k, ptr %wanted, ptr %found, i64 %low.a)
  %low.c = call i64 @mark(ptr %third, i64 %k, ptr %wanted, ptr %found, i64 %low.b)
  br label %next
next:
  %low.next = phi i64 [ %low, %begin ], [ %low, %look ], [ %low.c, %take ]
  %k.next = sub i64 %k, 1
  br label %again
done:
  ret void
}
"""
