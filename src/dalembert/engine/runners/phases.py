"""Steps that consist of other steps, one after the other: compositions.

Each phase has its own compiled step (phases with the same functions share it) and its own history; a small driver,
compiled once, calls them in turn, so that code and compile time do not grow with the number of phases. A step in which
a phase fails is repeated phase by phase with everything the native engine has against failures. The driver takes the
time and the size of every step from a table, so that it also serves runs with steps of any sizes; a plain method is
then a step of one phase.
"""

from __future__ import annotations

import contextlib
import copy
import ctypes
import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...interruption import is_wanted
from ..code.step_memory import Room, pointer_to, room_for
from ..contract import FIRST_CONTRACTION, HISTORY, OK, Carry, Chunk, Phase, Runner, StepFunctions
from ..machine.compilation import compile_text
from .native import NativeRun

#: places in the control array of the driver
_PHASES, _STEPS, _EVERY, _STEP, _COUNT, _STATUS, _N_STATE, _N_ALL, _FAILED = range(9)


class TimeSteps(NamedTuple):
    """Steps of any sizes, one row a step."""

    t: np.ndarray  # when it begins
    h: np.ndarray  # its size
    fresh: np.ndarray  # 1 where its size is new: extrapolation through the steps before would miss, so it starts anew


class PhasedRun(Runner):
    """Runs the phases of a step natively."""

    name = "native"

    def __init__(
        self,
        functions: StepFunctions,
        state: np.ndarray,
        t0: float,
        h: float,
        parameters: np.ndarray,
        compensated: bool,
        soon: bool = False,
    ) -> None:
        self.functions = functions
        phases = functions.phases or (Phase(functions, 1.0),)
        self._fractions = np.array([phase.fraction for phase in phases])
        self._offsets = np.concatenate([[0.0], np.cumsum(self._fractions)[:-1]])
        self._parts_at = pointer_to(self._offsets), pointer_to(self._fractions)
        distinct: dict[StepFunctions, NativeRun] = {}
        for phase in phases:
            if phase.functions not in distinct:
                first = (phase.functions, state, t0, phase.fraction * h, parameters, compensated)
                distinct[phase.functions] = NativeRun(*first, soon=soon)
        self._runners = [distinct[phase.functions] for phase in phases]
        self.stages = list(distinct.values())  # the compiled steps, each once
        self._kinds = tuple(self.stages.index(runner) for runner in self._runners)
        by_length = np.argsort(-np.abs(self._fractions), kind="stable").tolist()
        self._longest = [next(k for k in by_length if self._kinds[k] == kind) for kind in range(len(self.stages))]
        self._repeated = 0

    def begin(self) -> PhasedRun:
        """A runner with the same code for one run, beside others if need be."""
        run, stages = copy.copy(self), [stage.begin() for stage in self.stages]
        run.stages, run._runners, run._repeated = stages, [stages[kind] for kind in self._kinds], 0
        return run

    @property
    def condition(self) -> list[dict]:
        """One entry a compiled step."""
        return [entry for stage in self.stages for entry in stage.condition]

    def restore(self, condition: list[dict], parameters: np.ndarray) -> None:
        if len(self.stages) != len(condition):
            raise ValueError(f"{len(condition)} compiled steps were kept, this run has {len(self.stages)}")
        for stage, entry in zip(self.stages, condition, strict=True):
            stage.restore([entry], parameters)

    def way_back(self) -> Callable[[], None]:
        backs = [stage.way_back() for stage in self.stages]

        def back() -> None:
            for stage_back in backs:
                stage_back()

        return back

    def mend(self, wanted: bool) -> None:
        for stage in self.stages:
            stage.mend(wanted)

    @property
    def chunk_steps(self) -> int:
        """Steps a chunk takes before it returns to Python."""
        return max(1, min(stage.chunk_steps for stage in self.stages) // len(self._runners))

    def report(self) -> dict:
        """Sizes of one phase, how many there are, and what had to be mended."""
        mended = {"repeated_steps": self._repeated} if self._repeated else {}
        return {**self.stages[0].report(), "phases": len(self._runners), **mended}

    def first_carry(self, state: np.ndarray) -> Carry:
        """The carry before the first step: the histories and contractions of all phases, one after the other."""
        room = self._room()
        return Carry(
            state=np.array(state, dtype=np.float64),
            compensation=np.zeros(self.functions.n_summed),
            history=np.zeros(room.histories[-1]),
            known=np.zeros(len(self._runners), dtype=np.int64),
            contraction=np.full(room.contractions[-1], FIRST_CONTRACTION),
            step=np.array(0, dtype=np.int64),
        )

    def _room(self) -> Room:
        """Where everything lies, for the compiled steps as they are now: new pivots may leave other unknowns."""
        sizes = tuple(stage.sizes for stage in self.stages)
        functions = self.functions
        return room_for(sizes, self._kinds, functions.n_state, functions.n_summed, functions.n_parameters)

    def run(self, carry: Carry, t0: float, h: float, steps: int, save_every: int, parameters, capacity: int) -> Chunk:
        """Take `steps` steps, saving after every `save_every`-th since the start of the run."""
        numbers = int(carry.step) + np.arange(steps)
        grid = TimeSteps(t0 + numbers * h, np.full(steps, h), np.zeros(steps, np.int64))
        return self.run_sizes(carry, grid, save_every, parameters, h)

    def run_sizes(
        self, carry: Carry, grid: TimeSteps, save_every: int, parameters, largest: float | None = None
    ) -> Chunk:
        """Take the steps of the grid, saving after every `save_every`-th since the start of the run."""
        largest = float(np.max(grid.h, initial=0.0)) if largest is None else largest
        first, pieces = int(carry.step), [self._raw(carry, grid, largest, save_every, parameters)]
        while pieces[-1].status != OK and not is_wanted():
            stuck = int(pieces[-1].carry.step) - first
            repeated = self._phase_by_phase(
                pieces[-1].carry, float(grid.t[stuck]), float(grid.h[stuck]), parameters, save_every
            )
            if repeated is None:
                break
            self._repeated += 1
            left = TimeSteps(*(part[stuck + 1 :] for part in grid))
            pieces += [repeated, self._raw(repeated.carry, left, largest, save_every, parameters)]
        last = pieces[-1]
        if len(pieces) == 1:
            return last
        saved, iterations, worst = (
            np.concatenate([getattr(p, name) for p in pieces]) for name in ("saved", "iterations", "worst")
        )
        return Chunk(last.carry, saved, iterations, worst, last.status, last.residual)

    def _phase_by_phase(self, stuck: Carry, t: float, h: float, parameters, save_every: int) -> Chunk | None:
        state, compensation, spent = stuck.state, stuck.compensation, 0
        for runner, offset, fraction in zip(self._runners, self._offsets, self._fractions, strict=True):
            carry = runner.first_carry(state)._replace(compensation=compensation)
            chunk = runner.run(carry, t + offset * h, fraction * h, 1, 1, parameters, 1)
            if chunk.status != OK:
                return None
            state, compensation = chunk.carry.state, chunk.carry.compensation
            spent += int(chunk.iterations.sum())
        after = self.first_carry(state)._replace(compensation=compensation, step=stuck.step + 1)
        due = int(int(after.step) % save_every == 0)
        counts = np.full(due, spent, np.int64)
        return Chunk(after, state[None][:due], counts, counts, OK, 0.0)

    def _scales(self, room: Room, carry: Carry, t: float, h: float, parameters) -> np.ndarray:
        """Of every compiled step once, at its longest phase."""
        found = []
        for stage, k in zip(self.stages, self._longest, strict=True):
            own = carry._replace(
                history=carry.history[room.histories[k] : room.histories[k + 1]].reshape(HISTORY, -1),
                known=carry.known[k],
                step=0,
            )
            found.append(stage.scales(own, t, float(self._fractions[k]) * h, parameters))
        return found[0] if len(found) == 1 else np.concatenate(found)

    def _raw(self, carry: Carry, grid: TimeSteps, largest: float, save_every: int, parameters) -> Chunk:
        """Steps until one fails; Newton's scales suit the largest of them."""
        n_state, count, steps = self.functions.n_state, len(self._runners), len(grid.t)
        saves = steps // save_every + 2
        saved, spent = np.empty((saves, n_state)), np.zeros((2, saves), np.int64)  # iterations, and the most of a step
        t = float(grid.t[0]) if steps else 0.0
        room = self._room()
        numbers, integers, held = np.zeros(room.numbers), np.zeros(room.integers, np.int64), room.sections
        for name, values in (
            ("state", carry.state), ("compensation", carry.compensation), ("history", carry.history),
            ("contraction", carry.contraction), ("parameters", parameters),
            ("weights", self._scales(room, carry, t, largest, parameters)),
        ):  # fmt: skip
            numbers[held[name]] = values
        counters = integers[: 4 * count].reshape(count, 4)
        counters[:, 0] = carry.known
        begin, table = pointer_to(numbers), room.pointers(numbers, integers, self._runners[0].table)
        first, width = int(carry.step), n_state + self.functions.n_summed
        control = np.array([count, steps, save_every, first, 0, OK, n_state, width, 0], dtype=np.int64)
        addresses = [stage.address() for stage in self.stages]
        functions = np.array([addresses[kind] for kind in self._kinds], dtype=np.uint64)
        with contextlib.ExitStack() as stack:
            more = np.array([stack.enter_context(stage.memory()) for stage in self.stages], dtype=np.int64)
            table = np.concatenate([table, more[list(self._kinds)]], axis=1) if more.size else table
            functions_at, table_at, saved_at, spent_at, control_at, *grid_at = (
                pointer_to(array) for array in (functions, table, saved, spent, control, *grid)
            )
            state_at, backup_at = (begin + 8 * held[name].start for name in ("state", "backup"))
            _driver(table.shape[1])(
                functions_at, table_at, *self._parts_at, *grid_at, state_at, backup_at, saved_at, spent_at,
                spent_at + 8 * saves, control_at,
            )  # fmt: skip
        taken, made, status = int(control[_STEP]), int(control[_COUNT]), int(control[_STATUS])
        kept = {name: numbers[held[name]] for name in ("state", "compensation", "history", "contraction")}
        new = Carry(**kept, known=counters[:, 0], step=np.array(taken))
        residual = float(numbers[held["last"]][2 * int(control[_FAILED])])
        return Chunk(new, saved[:made], spent[0, :made], spent[1, :made], status, residual)


def steps_of_sizes(runner: Runner, carry: Carry, grid: TimeSteps, save_every: int, parameters) -> Chunk:
    """The steps of a grid, with a state saved after every `save_every`-th since the start of the run. What takes steps
    of one size only is called once for each, with a clock of its own."""
    if isinstance(runner, PhasedRun):
        return runner.run_sizes(carry, grid, save_every, parameters)
    saved, iterations, worst, counted, most = [], [], [], 0, 0
    chunk, first = None, int(carry.step)
    for number, (t, h, fresh) in enumerate(zip(*grid, strict=True), start=first + 1):
        known = np.zeros_like(carry.known) if fresh else carry.known
        chunk = runner.run(carry._replace(step=np.array(0), known=known), float(t), float(h), 1, 1, parameters, 1)
        counted, most = counted + int(chunk.iterations.sum()), max(most, int(chunk.worst.max(initial=0)))
        carry = chunk.carry._replace(step=np.array(number if chunk.status == OK else number - 1))
        if chunk.status != OK or is_wanted():
            break
        if number % save_every == 0:
            saved.append(np.asarray(carry.state))
            iterations.append(counted)
            worst.append(most)
            counted, most = 0, 0
    assert chunk is not None
    states = np.stack(saved) if saved else np.asarray(carry.state)[None][:0]
    return Chunk(carry, states, np.array(iterations, np.int64), np.array(worst, np.int64), chunk.status, chunk.residual)


@functools.cache
def _driver(pointers: int):
    """The loop over steps and phases, for steps with so many pointer arguments."""
    code, _ = compile_text(_driver_text(pointers), effort=2)
    return code.function("drive", *[ctypes.c_void_p] * 13)


def _driver_text(pointers: int) -> str:
    """The loop over steps and their phases.

    Long: the text of one LLVM function, read from its first block to its last.
    """

    def load(name: str, kind: str, pointer: str, index: str) -> str:
        place = f"  %{name}.at = getelementptr {kind}, ptr {pointer}, i64 {index}\n"
        return place + f"  %{name} = load {kind}, ptr %{name}.at\n"

    arguments = "".join(
        f"  %i{k} = add i64 %base, {k}\n" + load(f"a{k}", "ptr", "%arguments", f"%i{k}") for k in range(pointers)
    )
    passed = ", ".join(f"ptr %a{k}" for k in range(pointers))
    read = {"phases": _PHASES, "steps": _STEPS, "every": _EVERY, "first": _STEP, "width": _N_STATE, "all": _N_ALL}
    head = "".join(load(name, "i64", "%control", str(place)) for name, place in read.items())
    return f"""
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define void @drive(ptr %functions, ptr %arguments, ptr %offsets, ptr %fractions, ptr %times, ptr %sizes, ptr %anew,
                   ptr %state, ptr %backup, ptr %saved, ptr %iterations, ptr %worst, ptr %control) {{
entry:
{head}
  %bytes = mul i64 %all, 8
  %row = mul i64 %width, 8
  %end = add i64 %first, %steps
  br label %step
step:
  %s = phi i64 [ %first, %entry ], [ %next, %stepped ]
  %count = phi i64 [ 0, %entry ], [ %count.new, %stepped ]
  %more = icmp slt i64 %s, %end
  br i1 %more, label %begin, label %done
begin:
  call void @llvm.memcpy.p0.p0.i64(ptr %backup, ptr %state, i64 %bytes, i1 false)
  %row.now = sub i64 %s, %first
{load("t", "double", "%times", "%row.now")}{load("h", "double", "%sizes", "%row.now")}
{load("fresh", "i64", "%anew", "%row.now")}
  %same = icmp eq i64 %fresh, 0
  br label %phase
phase:
  %p = phi i64 [ 0, %begin ], [ %p.next, %advanced ]
  %base = mul i64 %p, {pointers}
{arguments}{load("offset", "double", "%offsets", "%p")}
  %shift = fmul double %offset, %h
  %now = fadd double %t, %shift
  store double %now, ptr %a0
{load("fraction", "double", "%fractions", "%p")}
  %size = fmul double %fraction, %h
  %a0.size = getelementptr double, ptr %a0, i64 1
  store double %size, ptr %a0.size
{load("known", "i64", "%a10", "0")}
  %known.new = select i1 %same, i64 %known, i64 0
  store i64 %known.new, ptr %known.at
  %c1 = getelementptr i64, ptr %a10, i64 1
  store i64 0, ptr %c1
  %c2 = getelementptr i64, ptr %a10, i64 2
  store i64 0, ptr %c2
{load("function", "ptr", "%functions", "%p")}
  call void %function({passed}, i64 1, i64 2)
{load("status", "i64", "%a10", "3")}{load("spent", "i64", "%a11", "0")}{load("most", "i64", "%a12", "0")}
  %it = getelementptr i64, ptr %iterations, i64 %count
  %it.old = load i64, ptr %it
  %it.new = add i64 %it.old, %spent
  store i64 %it.new, ptr %it
  store i64 0, ptr %a11
  %wo = getelementptr i64, ptr %worst, i64 %count
  %wo.old = load i64, ptr %wo
  %wo.more = icmp sgt i64 %most, %wo.old
  %wo.new = select i1 %wo.more, i64 %most, i64 %wo.old
  store i64 %wo.new, ptr %wo
  store i64 0, ptr %a12
  %good = icmp eq i64 %status, {OK}
  br i1 %good, label %advanced, label %failed
advanced:
  %p.next = add i64 %p, 1
  %p.more = icmp slt i64 %p.next, %phases
  br i1 %p.more, label %phase, label %finish
finish:
  %next = add i64 %s, 1
  %remainder = srem i64 %next, %every
  %due = icmp eq i64 %remainder, 0
  br i1 %due, label %save, label %stepped
save:
  %place = mul i64 %count, %width
  %target = getelementptr double, ptr %saved, i64 %place
  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %state, i64 %row, i1 false)
  %count.more = add i64 %count, 1
  br label %stepped
stepped:
  %count.new = phi i64 [ %count, %finish ], [ %count.more, %save ]
  br label %step
failed:
  call void @llvm.memcpy.p0.p0.i64(ptr %state, ptr %backup, i64 %bytes, i1 false)
  %f1 = getelementptr i64, ptr %control, i64 {_STATUS}
  store i64 %status, ptr %f1
  %f2 = getelementptr i64, ptr %control, i64 {_FAILED}
  store i64 %p, ptr %f2
  br label %done
done:
  %d1 = getelementptr i64, ptr %control, i64 {_STEP}
  store i64 %s, ptr %d1
  %d2 = getelementptr i64, ptr %control, i64 {_COUNT}
  store i64 %count, ptr %d2
  ret void
}}
"""
