"""A compiled walk through a program in arrays, for one sample or a few: one loop an operation, any program.

    walk(values, codes, firsts, lasts, segments, a, b, c)

Segment s computes values[k] = op(values[a[k]], values[b[k]], values[c[k]]) for k = firsts[s], ..., lasts[s] - 1, where
op is codes[s]; with several samples (a power of two) every value is a vector. Truth values are the numbers 0 and 1. The
code does not depend on the program, so that it is compiled once and for all; an operation costs a few nanoseconds,
where numpy copies its operands first.
"""

from __future__ import annotations

import ctypes
import functools

from ..machine.arithmetic import Arithmetic, Writer
from ..machine.compilation import compile_text

_LOGIC = ("and", "or", "xor", "not")
_GIVES_TRUTH = (*_LOGIC, "lt", "le", "gt", "ge", "eq", "ne", "finite")


@functools.cache
def compiled_walk(operations: tuple[tuple[str, int], ...], samples: int = 1):
    """The walk for operations given by name and number of operands; their codes are their places."""
    code, _ = compile_text(_text(operations, samples), effort=1)
    return code.function("walk", *[ctypes.c_void_p] * 4, ctypes.c_int64, *[ctypes.c_void_p] * 3)


def _text(operations: tuple[tuple[str, int], ...], samples: int) -> str:
    arithmetic = Arithmetic(width=samples)
    w = Writer(arithmetic)
    w.label("entry")
    w.put("br label %segment")
    w.label("segment")
    w.put("%s = phi i64 [ 0, %entry ], [ %s.next, %done ]")
    w.put("%s.more = icmp slt i64 %s, %segments")
    w.put("br i1 %s.more, label %begin, label %end")
    w.label("begin")
    for name, kind in (("codes", "i32"), ("firsts", "i64"), ("lasts", "i64")):
        w.put(f"%{name}.at = getelementptr {kind}, ptr %{name}, i64 %s")
        w.put(f"%{name}.here = load {kind}, ptr %{name}.at")
    cases = " ".join(f"i32 {code}, label %op{code}" for code in range(len(operations)))
    w.put(f"switch i32 %codes.here, label %done [ {cases} ]")
    for code, (op, count) in enumerate(operations):
        _loop(w, code, op, count)
    w.label("done")
    w.put("%s.next = add i64 %s, 1")
    w.put("br label %segment")
    w.label("end")
    w.put("ret void")
    head = "\n".join(sorted(w.declarations))
    arguments = "ptr %values, ptr %codes, ptr %firsts, ptr %lasts, i64 %segments, ptr %a, ptr %b, ptr %c"
    return f"{head}\ndefine void @walk({arguments}) {{\n" + "\n".join(w.lines) + "\n}\n"


def _loop(w: Writer, code: int, op: str, count: int) -> None:
    """All operations of one segment."""
    k = f"%k{code}"
    w.label(f"op{code}")
    w.put(f"br label %turn{code}")
    w.label(f"turn{code}")
    w.put(f"{k} = phi i64 [ %firsts.here, %op{code} ], [ {k}.next, %turn{code} ]")
    operands = []
    for table in ("a", "b", "c")[:count]:
        place = w.new(f"load i32, ptr {w.new(f'getelementptr i32, ptr %{table}, i64 {k}')}")
        operands.append(w.load("%values", w.new(f"zext i32 {place} to i64")))
    zero = w.arithmetic.constant(0.0)
    if op in _LOGIC:
        operands = [w.compare("une", operand, zero) for operand in operands]
    elif op == "select":
        operands[0] = w.compare("une", operands[0], zero)
    result = w.operation(op, operands)
    if op in _GIVES_TRUTH:
        result = w.new(f"uitofp {w.arithmetic.truth} {result} to {w.arithmetic.number}")
    w.store(result, "%values", k)
    w.put(f"{k}.next = add i64 {k}, 1")
    w.put(f"br i1 {w.new(f'icmp slt i64 {k}.next, %lasts.here')}, label %turn{code}, label %done")
