"""Which of many operations were made before? A hash table for whole arrays of them, compiled.

A dictionary takes a microsecond a key from Python; programs of large systems have millions. The table holds numbers of
operations only; whether one is the same is seen in the columns of the program. Neighbouring operations of an array have
neighbouring places in the table, where their arguments lie equally far apart, so that most of them are found without
waiting for the memory.
"""

from __future__ import annotations

import ctypes
import functools

import numpy as np

from ..machine.compilation import compile_text
from .columns import Column

#: marks a free place
_FREE = -1
#: in the place of an argument that there is not
_NONE = np.array([-1], dtype=np.int64)


class OperationTable:
    """Numbers of operations by code and arguments.

    `columns` are those of a program: code, first, second, third, depth, when. New operations are written into them.
    """

    def __init__(self, columns: tuple[Column, ...], first_code: int, expected: int) -> None:
        """Operations with codes below `first_code` are not shared."""
        self._columns, self._first_code = columns, first_code
        self._count, self._table = 0, np.zeros(0, dtype=np.int32)
        self._make_room(max(512, expected))

    def start_again(self, *, tight: bool) -> None:
        """With the operations that the columns hold now."""
        self._count = self._columns[0].length
        if tight:
            self._table = np.zeros(0, dtype=np.int32)
        if 3 * self._count > 2 * len(self._table):
            self._make_room(512)
        else:
            self._table[:] = _FREE
            self._fill()

    def share(self, code: int, arguments: list[np.ndarray], *, commutes: bool) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of operations, and where new ones appear first; these are numbered in turn."""
        given = [np.ascontiguousarray(a, dtype=np.int64) for a in arguments]
        count = len(given[0])
        for column in self._columns:
            column.reserve(count)
        self._make_room(count)
        ids, fresh = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
        found = np.array([self._columns[0].length, 0], dtype=np.int64)
        steps = [1] * len(given) + [0] * (3 - len(given))
        given += [_NONE] * (3 - len(given))
        arrays = (*given, *(column.room for column in self._columns), self._table, ids, fresh, found)
        _function("share")(
            *(array.ctypes.data for array in arrays), count, steps[1], steps[2], len(self._table) - 1, code, commutes
        )
        new = int(found[1])
        for column in self._columns:
            column.length += new
        self._count += new
        return ids, fresh[:new]

    def _make_room(self, count: int) -> None:
        """At most two thirds of the places are taken, also if all that come are new."""
        wanted = self._count + count
        if 3 * wanted <= 2 * len(self._table):
            return
        self._table = np.full(2 << int(wanted).bit_length(), _FREE, dtype=np.int32)
        self._fill()

    def _fill(self) -> None:
        columns = self._columns[:4]
        arrays = (*(column.room for column in columns), self._table)
        _function("fill")(
            *(array.ctypes.data for array in arrays), columns[0].length, len(self._table) - 1, self._first_code
        )


@functools.cache
def _function(name: str):
    pointers, numbers = {"share": (13, 6), "fill": (5, 3)}[name]
    return _code().function(name, *[ctypes.c_void_p] * pointers, *[ctypes.c_int64] * numbers)


@functools.cache
def _code():
    return compile_text(_TEXT, effort=2)[0]


#: found = (the next number, how many were new). A place is found from the last argument (its three lowest bits are the
#: lowest of the place) and from how far the one before lies from it, or which constant it is. The place of a later
#: operation is asked for in time.
_TEXT = """
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)

define internal i64 @place(i64 %a, i64 %b, i64 %c, i64 %code, ptr %codes, i64 %mask) alwaysinline {
  %code.at = getelementptr i8, ptr %codes, i64 %a
  %code.a = load i8, ptr %code.at
  %constant = icmp eq i8 %code.a, 0
  %alone = icmp slt i64 %b, 0
  %far = sub i64 %b, %a
  %other = select i1 %constant, i64 %a, i64 %far
  %second = select i1 %alone, i64 -1, i64 %other
  %local = select i1 %alone, i64 %a, i64 %b
  %block = lshr i64 %local, 3
  %low = and i64 %local, 7
  %one = mul i64 %block, -7046029254386353131
  %two = mul i64 %second, -4417276706812531889
  %three = mul i64 %c, 7109453100751455733
  %four = mul i64 %code, -3750763034362895579
  %sum.one = add i64 %one, %two
  %sum.two = add i64 %three, %four
  %sum = add i64 %sum.one, %sum.two
  %high = lshr i64 %sum, 29
  %both = xor i64 %sum, %high
  %mixed = mul i64 %both, -4658895280553007687
  %upper = lshr i64 %mixed, 32
  %shifted = shl i64 %upper, 3
  %whole = or i64 %shifted, %low
  %slot = and i64 %whole, %mask
  ret i64 %slot
}

define internal i64 @larger(i64 %a, i64 %b) alwaysinline {
  %is = icmp sgt i64 %a, %b
  %value = select i1 %is, i64 %a, i64 %b
  ret i64 %value
}

define internal void @put(ptr %column, i64 %k, i64 %value) alwaysinline {
  %at = getelementptr i32, ptr %column, i64 %k
  %short = trunc i64 %value to i32
  store i32 %short, ptr %at
  ret void
}

define internal i64 @get(ptr %column, i64 %k) alwaysinline {
  %at = getelementptr i32, ptr %column, i64 %k
  %short = load i32, ptr %at
  %value = sext i32 %short to i64
  ret i64 %value
}

define internal i64 @get8(ptr %column, i64 %k) alwaysinline {
  %at = getelementptr i8, ptr %column, i64 %k
  %short = load i8, ptr %at
  %value = sext i8 %short to i64
  ret i64 %value
}

define internal { i64, i64, i64 } @asked(ptr %as, ptr %bs, ptr %cs, i64 %k, i64 %b.step, i64 %c.step, i1 %orders)
    alwaysinline {
  %b.k = mul i64 %k, %b.step
  %c.k = mul i64 %k, %c.step
  %a.at = getelementptr i64, ptr %as, i64 %k
  %b.at = getelementptr i64, ptr %bs, i64 %b.k
  %c.at = getelementptr i64, ptr %cs, i64 %c.k
  %a.given = load i64, ptr %a.at
  %b.given = load i64, ptr %b.at
  %c = load i64, ptr %c.at
  %wrong = icmp sgt i64 %a.given, %b.given
  %swap = and i1 %wrong, %orders
  %a = select i1 %swap, i64 %b.given, i64 %a.given
  %b = select i1 %swap, i64 %a.given, i64 %b.given
  %with.a = insertvalue { i64, i64, i64 } poison, i64 %a, 0
  %with.b = insertvalue { i64, i64, i64 } %with.a, i64 %b, 1
  %with.c = insertvalue { i64, i64, i64 } %with.b, i64 %c, 2
  ret { i64, i64, i64 } %with.c
}

define void @share(ptr %as, ptr %bs, ptr %cs, ptr %codes, ptr %first, ptr %second, ptr %third, ptr %depth, ptr %when,
                   ptr %table, ptr %ids, ptr %fresh, ptr %found, i64 %count, i64 %b.step, i64 %c.step, i64 %mask,
                   i64 %code, i64 %commutes) {
entry:
  %start = load i64, ptr %found
  %code.short = trunc i64 %code to i8
  %orders = icmp ne i64 %commutes, 0
  br label %again
again:
  %k = phi i64 [ 0, %entry ], [ %k.next, %old ], [ %k.next.new, %new ]
  %next = phi i64 [ %start, %entry ], [ %next, %old ], [ %next.new, %new ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %begin, label %done
begin:
  %ahead.k = add i64 %k, 16
  %beyond = icmp sge i64 %ahead.k, %count
  %ahead = select i1 %beyond, i64 %k, i64 %ahead.k
  %asked.ahead =
    call { i64, i64, i64 } @asked(ptr %as, ptr %bs, ptr %cs, i64 %ahead, i64 %b.step, i64 %c.step, i1 %orders)
  %a.ahead = extractvalue { i64, i64, i64 } %asked.ahead, 0
  %b.ahead = extractvalue { i64, i64, i64 } %asked.ahead, 1
  %c.ahead = extractvalue { i64, i64, i64 } %asked.ahead, 2
  %slot.ahead = call i64 @place(i64 %a.ahead, i64 %b.ahead, i64 %c.ahead, i64 %code, ptr %codes, i64 %mask)
  %ahead.at = getelementptr i32, ptr %table, i64 %slot.ahead
  call void @llvm.prefetch.p0(ptr %ahead.at, i32 1, i32 3, i32 1)
  %asked = call { i64, i64, i64 } @asked(ptr %as, ptr %bs, ptr %cs, i64 %k, i64 %b.step, i64 %c.step, i1 %orders)
  %a = extractvalue { i64, i64, i64 } %asked, 0
  %b = extractvalue { i64, i64, i64 } %asked, 1
  %c = extractvalue { i64, i64, i64 } %asked, 2
  %id.at = getelementptr i64, ptr %ids, i64 %k
  %slot.first = call i64 @place(i64 %a, i64 %b, i64 %c, i64 %code, ptr %codes, i64 %mask)
  br label %probe
probe:
  %slot = phi i64 [ %slot.first, %begin ], [ %slot.next, %other ]
  %node = call i64 @get(ptr %table, i64 %slot)
  %free = icmp slt i64 %node, 0
  br i1 %free, label %new, label %compare
compare:
  %code.there = call i64 @get8(ptr %codes, i64 %node)
  %a.there = call i64 @get(ptr %first, i64 %node)
  %b.there = call i64 @get(ptr %second, i64 %node)
  %c.there = call i64 @get(ptr %third, i64 %node)
  %same.code = icmp eq i64 %code.there, %code
  %same.a = icmp eq i64 %a.there, %a
  %same.b = icmp eq i64 %b.there, %b
  %same.c = icmp eq i64 %c.there, %c
  %same.ab = and i1 %same.a, %same.b
  %same.cc = and i1 %same.c, %same.code
  %same = and i1 %same.ab, %same.cc
  br i1 %same, label %old, label %other
other:
  %slot.after = add i64 %slot, 1
  %slot.next = and i64 %slot.after, %mask
  br label %probe
old:
  store i64 %node, ptr %id.at
  %k.next = add i64 %k, 1
  br label %again
new:
  call void @put(ptr %table, i64 %slot, i64 %next)
  store i64 %next, ptr %id.at
  %code.at = getelementptr i8, ptr %codes, i64 %next
  store i8 %code.short, ptr %code.at
  call void @put(ptr %first, i64 %next, i64 %a)
  call void @put(ptr %second, i64 %next, i64 %b)
  call void @put(ptr %third, i64 %next, i64 %c)
  %no.b = icmp slt i64 %b, 0
  %no.c = icmp slt i64 %c, 0
  %b.or = select i1 %no.b, i64 %a, i64 %b
  %c.or = select i1 %no.c, i64 %a, i64 %c
  %depth.a = call i64 @get(ptr %depth, i64 %a)
  %depth.b = call i64 @get(ptr %depth, i64 %b.or)
  %depth.c = call i64 @get(ptr %depth, i64 %c.or)
  %depth.ab = call i64 @larger(i64 %depth.a, i64 %depth.b)
  %depth.abc = call i64 @larger(i64 %depth.ab, i64 %depth.c)
  %depth.new = add i64 %depth.abc, 1
  call void @put(ptr %depth, i64 %next, i64 %depth.new)
  %when.a = call i64 @get8(ptr %when, i64 %a)
  %when.b = call i64 @get8(ptr %when, i64 %b.or)
  %when.c = call i64 @get8(ptr %when, i64 %c.or)
  %when.ab = call i64 @larger(i64 %when.a, i64 %when.b)
  %when.abc = call i64 @larger(i64 %when.ab, i64 %when.c)
  %when.short = trunc i64 %when.abc to i8
  %when.at = getelementptr i8, ptr %when, i64 %next
  store i8 %when.short, ptr %when.at
  %made = sub i64 %next, %start
  %fresh.at = getelementptr i64, ptr %fresh, i64 %made
  store i64 %k, ptr %fresh.at
  %next.new = add i64 %next, 1
  %k.next.new = add i64 %k, 1
  br label %again
done:
  %total = sub i64 %next, %start
  %total.at = getelementptr i64, ptr %found, i64 1
  store i64 %total, ptr %total.at
  ret void
}

define void @fill(ptr %codes, ptr %first, ptr %second, ptr %third, ptr %table, i64 %count, i64 %mask, i64 %lowest) {
entry:
  br label %again
again:
  %k = phi i64 [ 0, %entry ], [ %k.after, %next ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %look, label %done
look:
  %code = call i64 @get8(ptr %codes, i64 %k)
  %shared = icmp sge i64 %code, %lowest
  br i1 %shared, label %begin, label %next
begin:
  %a = call i64 @get(ptr %first, i64 %k)
  %b = call i64 @get(ptr %second, i64 %k)
  %c = call i64 @get(ptr %third, i64 %k)
  %slot.first = call i64 @place(i64 %a, i64 %b, i64 %c, i64 %code, ptr %codes, i64 %mask)
  br label %probe
probe:
  %slot = phi i64 [ %slot.first, %begin ], [ %slot.next, %other ]
  %node = call i64 @get(ptr %table, i64 %slot)
  %free = icmp slt i64 %node, 0
  br i1 %free, label %take, label %other
other:
  %slot.after = add i64 %slot, 1
  %slot.next = and i64 %slot.after, %mask
  br label %probe
take:
  call void @put(ptr %table, i64 %slot, i64 %k)
  br label %next
next:
  %k.after = add i64 %k, 1
  br label %again
done:
  ret void
}
"""
