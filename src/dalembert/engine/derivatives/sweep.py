"""A derivative taken along a recorded run: forwards by the tangent of a step, backwards by its adjoint.

    record      s_0, and row k: s_{k+1} and x_k, as `recording` steps leave them
    forwards    for k = 0, 1, ...:    sdot -> Sdot, kept where the run keeps a state
    backwards   for k = N - 1, ...:   sbar += cbar where the run keeps a state; sbar -> that of the step before

The step is compiled by the same passes as that of the run. Here it is called once for every row, by a loop that is
compiled too: what the derivative of a step reads is copied from the record to where a step has its parameters.
"""

from __future__ import annotations

import ctypes
import functools
from dataclasses import dataclass

import numpy as np

from ...errors import StepFailure
from ..code.loop import POINTERS
from ..code.step_memory import Room, pointer_to, room_for
from ..contract import OK, StepFunctions, extrapolation_weights
from ..machine.arithmetic import Arithmetic
from ..machine.compilation import compile_text
from ..runners.translation import translated
from ..step.step_program import SAMPLES
from ..tuning import tuning

_PARAMETERS, _TIME, _STATE, _COUNTERS = (POINTERS.index(name) for name in ("parameters", "time", "state", "counters"))
#: what the compiled loop is told, by its place
CONTROL = ("step", "steps", "direction", "every", "width", "solved", "unknowns", "kept", "skip", "first")
_PLACE = {name: place for place, name in enumerate(CONTROL)}


@dataclass(frozen=True)
class Recorded:
    """A run, or a part of it, with what its steps were solved by."""

    start: np.ndarray  # the state before the first step
    rows: np.ndarray  # (steps, states and unknowns), after every step
    t: np.ndarray  # when each step begins
    h: np.ndarray  # and its size
    fixed: np.ndarray  # theta, t0, H

    @property
    def steps(self) -> int:
        return len(self.t)

    def solved(self, steps: np.ndarray) -> np.ndarray:
        """What some steps were solved by, s_k and x_k, one column for each."""
        n = len(self.start)
        states = self.rows[steps - 1, :n]
        states[steps == 0] = self.start
        return np.concatenate([states, self.rows[steps, n:]], axis=1).T


def sampled(run: Recorded, where: np.ndarray, tail: np.ndarray) -> np.ndarray:
    """What the derivative of a step reads, at some steps of a run: one column for each."""
    fixed = np.concatenate([run.fixed, tail])
    return np.concatenate([run.solved(where), np.repeat(fixed[:, None], len(where), axis=1)])


class Sweep:
    """The tangent or the adjoint of a step, compiled."""

    def __init__(self, functions: StepFunctions, n_state: int, run: Recorded, tail: int) -> None:
        """`functions` is the derivative of a step whose state has n_state numbers; `tail` is how many numbers it reads
        behind those that are fixed in a run."""
        self.functions, self._n_state, self._tail = functions, n_state, tail
        self._table = extrapolation_weights()
        self._used = False
        self._translate(run, 0, 0)

    def _translate(self, run: Recorded, at: int, seed: int) -> None:
        """Choose pivots that suit the run from the step `at` on, and translate."""
        where = np.linspace(0, run.steps - 1, SAMPLES).astype(int)
        where[0] = at
        columns = sampled(run, where, np.ones(self._tail))
        state, how = np.ones(self.functions.n_state), (Arithmetic(), False, not seed)
        found = translated(self.functions, state, float(run.t[at]), float(run.h[at]), columns, seed, *how)
        self._step, self._compiled = found
        self._benches: list[_Bench] = []

    def improve(self) -> None:
        """Begin to make the code as fast as it gets, once it is used again."""
        if self._used:
            self._compiled.improve()
        self._used = True

    def forwards(
        self, run: Recorded, start: np.ndarray, tail: np.ndarray, first: int, every: int, kept: np.ndarray
    ) -> np.ndarray:
        """From sdot at the begin of a run to its end; those after every `every`-th step are written to `kept`. The
        part of the run that is given begins with the step `first`."""
        return self._take(run, start, tail, first, 1, every, kept)

    def backwards(self, run: Recorded, end: np.ndarray, first: int, every: int, added: np.ndarray) -> np.ndarray:
        """From sbar at the end of a run, and sums, to those at its begin; to sbar is added a row of `added` wherever
        the run keeps a state."""
        return self._take(run, end, np.zeros(0), first, -1, every, added)

    def _take(
        self, run: Recorded, state: np.ndarray, tail: np.ndarray, first: int, direction: int, every: int,
        rows: np.ndarray,
    ) -> np.ndarray:  # fmt: skip
        """All steps of a run; with pivots chosen anew where those of before no longer suit."""
        told = {
            "steps": run.steps, "direction": direction, "every": every, "width": run.rows.shape[1],
            "solved": self._n_state, "unknowns": run.rows.shape[1] - self._n_state, "kept": self._n_state,
            "step": first if direction > 0 else first + run.steps - 1, "skip": 0, "first": first,
        }  # fmt: skip
        changes, stuck = 0, -1
        while True:
            state, status, at = self._call(run, state, tail, told, rows)
            if status == OK:
                return state
            if changes == tuning().most_pivot_changes or at == stuck:
                raise StepFailure(
                    f"the derivative of step {at + 1} (from t = {run.t[at - first]:.6g}) could not be computed: the "
                    "Jacobian of the step is singular there, or not finite. Try a smaller h, or end the run before."
                )
            self._translate(run, at - first, at + 1)
            changes, stuck = changes + 1, at
            left = first + run.steps - at if direction > 0 else at - first + 1
            told |= {"step": at, "skip": 1, "steps": left}

    def _call(self, run: Recorded, state, tail, told: dict[str, int], rows: np.ndarray) -> tuple[np.ndarray, int, int]:
        """Steps until one fails; the state and the status then, and the step."""
        bench, first, width = self._bench(), told["first"], run.rows.shape[1]
        numbers, control, held = bench.numbers, bench.control, bench.sections
        numbers[held["compensation"]] = 0.0
        numbers[held["state"]] = state
        parameters = numbers[held["parameters"]]
        parameters[width : width + len(run.fixed)], parameters[width + len(run.fixed) :] = run.fixed, tail
        control[:] = [told[name] for name in CONTROL]
        row, start = rows if rows.size else np.zeros(1), np.ascontiguousarray(run.start)
        given = (
            pointer_to(start), pointer_to(run.rows) - 8 * first * width, pointer_to(run.t) - 8 * first,
            pointer_to(run.h) - 8 * first, pointer_to(row),
        )  # fmt: skip
        growth, whole, weights = held["last"].start + 1, told["steps"], held["weights"].stop - 1
        with self._compiled.memory() as more:
            bench.arguments[len(POINTERS) :] = more
            address = self._compiled.code.address()
            numbers[weights] = np.inf
            control[_PLACE["steps"]] = min(1, whole)  # what the multipliers are like
            bench.drive(address, bench.arguments_at, *given, bench.control_at)
            if bench.integers[3] == OK and whole > 1:
                numbers[weights] = tuning().growth_limit * max(1.0, float(numbers[growth]))
                control[_PLACE["steps"]], control[_PLACE["skip"]] = whole - 1, 0
                bench.drive(address, bench.arguments_at, *given, bench.control_at)
        found = numbers[held["state"]].copy(), int(bench.integers[3]), int(control[_PLACE["step"]])
        self._benches.append(bench)
        return found

    def _bench(self) -> _Bench:
        """Memory to work in: that of a sweep before, or new."""
        try:
            return self._benches.pop()
        except IndexError:
            functions, step = self.functions, self._step
            sizes = len(step.unknowns), len(step.remembered), len(step.reduced.blocks)
            room = room_for((sizes,), (0,), functions.n_state, functions.n_summed, functions.n_parameters)
            with self._compiled.memory() as more:
                return _Bench(room, self._table, len(more))


class _Bench:
    """The memory of one sweep, and the pointers into it."""

    def __init__(self, room: Room, table: np.ndarray, more: int) -> None:
        self.numbers, self.integers = np.zeros(room.numbers), np.zeros(room.integers, np.int64)
        self.sections, self.control = room.sections, np.zeros(len(CONTROL), np.int64)
        pointers = room.pointers_of_one(self.numbers, self.integers, table)
        self.arguments = np.array([*pointers, *[0] * more], dtype=np.uint64)
        self.arguments_at, self.control_at = pointer_to(self.arguments), pointer_to(self.control)
        self.drive = _driver(len(self.arguments))


@functools.cache
def _driver(pointers: int):
    """The loop over the steps of a sweep, for steps with so many pointer arguments."""
    code, _ = compile_text(sweep_text(pointers), effort=2)
    return code.function("sweep", *[ctypes.c_void_p] * 8)


def sweep_text(pointers: int, width: int = 1) -> str:
    """The loop over recorded steps. Of members side by side, `width` in number, all lengths are those of a vector.

    Long: the text of one LLVM function, read from its first block to its last.
    """
    times = "".join(
        f"  %{name}.{lane} = getelementptr double, ptr %a{_TIME}, i64 {place * width + lane}\n"
        f"  store double %{name}, ptr %{name}.{lane}\n"
        for place, name in enumerate(("t", "h"))
        for lane in range(width)
    )
    read = "".join(
        f"  %{name}.at = getelementptr i64, ptr %control, i64 {place}\n  %{name} = load i64, ptr %{name}.at\n"
        for name, place in _PLACE.items()
    )
    arguments = "".join(
        f"  %p{k} = getelementptr ptr, ptr %arguments, i64 {k}\n  %a{k} = load ptr, ptr %p{k}\n"
        for k in range(pointers)
    )
    passed = ", ".join(f"ptr %a{k}" for k in range(pointers))
    return f"""
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define void @sweep(ptr %function, ptr %arguments, ptr %start, ptr %rows, ptr %times, ptr %sizes, ptr %saved,
                   ptr %control) {{
entry:
{read}{arguments}
  %solved.bytes = mul i64 %solved, 8
  %unknowns.bytes = mul i64 %unknowns, 8
  %kept.bytes = mul i64 %kept, 8
  %status.at = getelementptr i64, ptr %a{_COUNTERS}, i64 3
  %begun.at = getelementptr i64, ptr %a{_COUNTERS}, i64 1
  %found = getelementptr double, ptr %a{_PARAMETERS}, i64 %solved
  %back = icmp slt i64 %direction, 0
  br label %again
again:
  %k = phi i64 [ %step, %entry ], [ %k.next, %next ]
  %left = phi i64 [ %steps, %entry ], [ %left.next, %next ]
  %skipped = phi i64 [ %skip, %entry ], [ 0, %next ]
  %more = icmp sgt i64 %left, 0
  br i1 %more, label %begin, label %done
begin:
  %row = mul i64 %k, %width
  %row.before = sub i64 %row, %width
  %solved.before = getelementptr double, ptr %rows, i64 %row.before
  %is.first = icmp eq i64 %k, %first
  %solved.from = select i1 %is.first, ptr %start, ptr %solved.before
  call void @llvm.memcpy.p0.p0.i64(ptr %a{_PARAMETERS}, ptr %solved.from, i64 %solved.bytes, i1 false)
  %found.first = add i64 %row, %solved
  %found.from = getelementptr double, ptr %rows, i64 %found.first
  call void @llvm.memcpy.p0.p0.i64(ptr %found, ptr %found.from, i64 %unknowns.bytes, i1 false)
  %t.at = getelementptr double, ptr %times, i64 %k
  %t = load double, ptr %t.at
  %h.at = getelementptr double, ptr %sizes, i64 %k
  %h = load double, ptr %h.at
{times}  %after = add i64 %k, 1
  %rest = srem i64 %after, %every
  %number = sdiv i64 %after, %every
  %place = sub i64 %number, 1
  %offset = mul i64 %place, %kept
  %row.at = getelementptr double, ptr %saved, i64 %offset
  %due = icmp eq i64 %rest, 0
  %fresh = icmp eq i64 %skipped, 0
  %wanted = and i1 %due, %fresh
  %adds = and i1 %wanted, %back
  br i1 %adds, label %add, label %call
add:
  %j = phi i64 [ 0, %begin ], [ %j.next, %added ]
  %j.more = icmp slt i64 %j, %kept
  br i1 %j.more, label %added, label %call
added:
  %old.at = getelementptr double, ptr %a{_STATE}, i64 %j
  %old = load double, ptr %old.at
  %more.at = getelementptr double, ptr %row.at, i64 %j
  %increment = load double, ptr %more.at
  %sum = fadd double %old, %increment
  store double %sum, ptr %old.at
  %j.next = add i64 %j, 1
  br label %add
call:
  store i64 0, ptr %a{_COUNTERS}
  store i64 0, ptr %begun.at
  call void %function({passed}, i64 1, i64 2)
  %status = load i64, ptr %status.at
  %good = icmp eq i64 %status, {OK}
  br i1 %good, label %stepped, label %done
stepped:
  %forth = xor i1 %back, true
  %keeps = and i1 %due, %forth
  br i1 %keeps, label %keep, label %next
keep:
  call void @llvm.memcpy.p0.p0.i64(ptr %row.at, ptr %a{_STATE}, i64 %kept.bytes, i1 false)
  br label %next
next:
  %k.next = add i64 %k, %direction
  %left.next = sub i64 %left, 1
  br label %again
done:
  store i64 %k, ptr %step.at
  ret void
}}
"""
