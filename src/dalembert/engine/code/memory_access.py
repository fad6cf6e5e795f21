"""Numbers between the working memory of rolled code and vectors: side by side, a stride apart, or by a table."""

from __future__ import annotations

import numpy as np

from ..machine.arithmetic import Arithmetic, Writer

#: numbers so many places apart are picked from whole vectors, others are read one by one
LARGEST_SHUFFLE = 4


class WorkingMemory:
    """What writes the loads and stores of rolled code; `k` is the number of a loop's turn, a name or a number."""

    w: Writer
    arithmetic: Arithmetic
    _table: np.ndarray

    def _every(self, w: Writer, start: int, stride: int, k: str) -> str:
        """Numbers a stride apart. (Not by gather instructions: processors whose microcode was mended against leaks
        take ten times as long for them.)"""
        kind, width = w.arithmetic, w.arithmetic.width
        first = w.new(f"mul i64 {k}, {stride}")
        if width == 1 or not 1 < stride <= LARGEST_SHUFFLE:
            return self._assembled(w, [self._load(self.w, start + lane * stride, first) for lane in range(width)])
        pieces = [self._load(w, start + width * piece, first) for piece in range(stride)]
        value, filled = pieces[0], 0  # lanes of the result that come from the pieces so far
        for piece, following in enumerate(pieces):
            until = min(width, -(-width * (piece + 1) // stride))
            lanes = [lane if lane < filled else width + lane * stride - width * piece for lane in range(until)]
            mask = ", ".join(f"i32 {lane}" for lane in lanes + [0] * (width - until))
            value = w.new(f"shufflevector {kind.number} {value}, {kind.number} {following}, <{width} x i32> <{mask}>")
            filled = until
        return value

    def _from_table(self, w: Writer, start: int, k: str) -> str:
        if k.isdigit() and w.arithmetic.width == 1:
            return w.load("%work", int(self._table[start + int(k)]))
        values = []
        for lane in range(w.arithmetic.width):
            place = w.new(f"getelementptr i32, ptr %places, i64 {w.new(f'add i64 {k}, {start + lane}')}")
            values.append(self.w.load("%work", w.new(f"sext i32 {w.new(f'load i32, ptr {place}, align 4')} to i64")))
        return self._assembled(w, values)

    def _assembled(self, w: Writer, values: list[str]) -> str:
        """A vector from the numbers in its lanes."""
        if w.arithmetic.width == 1:
            return values[0]
        result = "poison"
        for lane, value in enumerate(values):
            result = w.new(f"insertelement {w.arithmetic.number} {result}, double {value}, i32 {lane}")
        return result

    def _spread(self, w: Writer, value: str, start: int, stride: int, k: str) -> None:
        """Store the lanes of a vector a stride apart."""
        first = w.new(f"mul i64 {k}, {stride}")
        for lane in range(w.arithmetic.width):
            one = value
            if w.arithmetic.width > 1:
                one = w.new(f"extractelement {w.arithmetic.number} {value}, i32 {lane}")
            self._store(self.w, one, start + lane * stride, first)

    def _load(self, w: Writer, start: int, k: str, pointer: str = "%work") -> str:
        kind = w.arithmetic
        place = w.new(f"getelementptr {kind.scalar}, ptr {pointer}, i64 {w.new(f'add i64 {k}, {start}')}")
        return w.new(f"load {kind.number}, ptr {place}, align {kind.alignment}")

    def _store(self, w: Writer, value: str, start: int, k: str, pointer: str = "%work") -> None:
        kind = w.arithmetic
        place = w.new(f"getelementptr {kind.scalar}, ptr {pointer}, i64 {w.new(f'add i64 {k}, {start}')}")
        w.put(f"store {kind.number} {value}, ptr {place}, align {kind.alignment}")

    def _copy(self, target: str, target_start: int | str, source: str, source_start: int | str, count: int) -> None:
        """Numbers from one place to another, which may overlap."""
        w, scalar = self.w, self.arithmetic.scalar
        w.declarations.add("declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)")
        to = w.new(f"getelementptr {scalar}, ptr {target}, i64 {target_start}")
        since = w.new(f"getelementptr {scalar}, ptr {source}, i64 {source_start}")
        size = 16 if self.arithmetic.extended else 8
        w.put(f"call void @llvm.memmove.p0.p0.i64(ptr {to}, ptr {since}, i64 {count * size}, i1 false)")
