"""Chunks of steps of two programs on one state: where the guard of one refuses a step, the other one takes it.

The second program says by entries of its state what happened; they are kept with the number of the step. A step that
both refuse, or in which one fails, ends the chunk. A small function in LLVM calls one program after the other.
"""

from __future__ import annotations

import ctypes
import functools

import numpy as np

from ..code.loop import POINTERS
from ..code.step_memory import pointer_to
from ..contract import GUARDED, OK, Carry, Chunk
from ..machine.compilation import compile_text
from .native import NativeRun

#: What both programs work on; all else belongs to one of them.
_SHARED = [POINTERS.index(name) for name in ("state", "parameters", "saved", "counters", "iterations", "worst")]


class Alternating:
    """Steps of `first`, and of `second` where that one's guard refuses them; every step is saved."""

    def __init__(self, first: NativeRun, second: NativeRun, kept: slice) -> None:
        """`kept` are the entries of the state that are noted after each step of the second program."""
        self._first, self._second, self._kept = first, second, kept
        same = [(run.functions.n_state, run.functions.saved, run.functions.n_parameters) for run in (first, second)]
        if same[0] != same[1]:
            raise ValueError(f"two programs on one state must have the same sizes, got {same[0]} and {same[1]}")

    def run(self, carry: Carry, t0: float, h: float, steps: int, parameters: np.ndarray) -> tuple[Chunk, np.ndarray]:
        """At most so many steps; and a row for each one of the second program: its number, and what was kept."""
        first = self._first.lay_out(carry, t0, h, steps + 2, parameters)
        begin = self._second.first_carry(np.asarray(carry.state))._replace(step=carry.step)
        second = self._second.lay_out(begin, t0, h, 2, parameters)
        for place in _SHARED:
            second.pointers[place] = first.pointers[place]
        kept, count = self._kept, self._kept.stop - self._kept.start
        rows = np.empty((steps, 1 + count))
        with self._first.memory() as of_first, self._second.memory() as of_second:
            table = np.array([
                self._first.address(), *first.pointers, *of_first, self._second.address(), *second.pointers, *of_second,
            ])  # fmt: skip
            call = _alternate(len(first.pointers) + len(of_first), len(second.pointers) + len(of_second))
            found = call(pointer_to(table), pointer_to(rows), kept.start, count, steps)
        return self._first.chunk_of(first), rows[:found].copy()


@functools.cache
def _alternate(of_first: int, of_second: int):
    """The function that calls both: a table of their addresses and pointers, rows for what is kept, which entries these
    are, and the number of steps; it returns how many rows there are."""
    loads, calls, place = [], [], 0
    for name, pointers in (("first", of_first), ("second", of_second)):
        names = [f"%{name}.{k}" for k in range(pointers + 1)]
        for each in names:
            loads.append(
                f"  {each}.at = getelementptr i64, ptr %table, i64 {place}\n  {each} = load ptr, ptr {each}.at"
            )
            place += 1
        calls.append((names[0], ", ".join(f"ptr {each}" for each in names[1:])))
    text = _text(loads, calls)
    code, _ = compile_text(text, effort=2)
    return code.function("alternate", *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 3, result=ctypes.c_int64)


def _text(loads: list[str], calls: list[tuple[str, str]]) -> str:
    """The module."""
    (first, first_arguments), (second, second_arguments) = calls
    counters, state = (f"%first.{1 + POINTERS.index(name)}" for name in ("counters", "state"))
    return f"""
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define i64 @alternate(ptr %table, ptr %rows, i64 %from, i64 %count, i64 %steps) {{
entry:
{chr(10).join(loads)}
  %known = getelementptr i64, ptr {counters}, i64 0
  %done = getelementptr i64, ptr {counters}, i64 1
  %status = getelementptr i64, ptr {counters}, i64 3
  %begun = load i64, ptr %done
  %target = add i64 %begun, %steps
  %length = add i64 %count, 1
  %bytes = mul i64 %count, 8
  %source = getelementptr double, ptr {state}, i64 %from
  br label %again
again:
  %found = phi i64 [ 0, %entry ], [ %more, %keep ]
  %now = load i64, ptr %done
  %left = sub i64 %target, %now
  %goes.on = icmp sgt i64 %left, 0
  br i1 %goes.on, label %run, label %exit
run:
  call void {first}({first_arguments}, i64 %left, i64 1)
  %ended = load i64, ptr %status
  %guarded = icmp eq i64 %ended, {GUARDED}
  br i1 %guarded, label %other, label %exit
other:
  %number = load i64, ptr %done
  store i64 0, ptr %known
  store i64 {OK}, ptr %status
  call void {second}({second_arguments}, i64 1, i64 1)
  store i64 0, ptr %known
  %answer = load i64, ptr %status
  %taken = icmp eq i64 %answer, {OK}
  br i1 %taken, label %keep, label %refuse
keep:
  %first.entry = mul i64 %found, %length
  %row = getelementptr double, ptr %rows, i64 %first.entry
  %as.number = sitofp i64 %number to double
  store double %as.number, ptr %row
  %rest = getelementptr double, ptr %row, i64 1
  call void @llvm.memcpy.p0.p0.i64(ptr %rest, ptr %source, i64 %bytes, i1 false)
  %more = add i64 %found, 1
  br label %again
refuse:
  store i64 {GUARDED}, ptr %status
  br label %exit
exit:
  ret i64 %found
}}
"""
