"""An adjoint in vectors: the backward sweeps of some groups of members, one member a lane (`sweep.py` has the loop)."""

from __future__ import annotations

import ctypes
import functools
import os
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from ..code.loop import POINTERS
from ..code.step_memory import pointer_to, spare
from ..contract import FIRST_CONTRACTION, HISTORY, StepFunctions, extrapolation_weights
from ..machine.arithmetic import Arithmetic
from ..machine.compilation import compile_text, lanes
from ..runners.compiled import Compiled
from ..runners.ensemble import STACK_A_NUMBER, EnsembleRun, stacks_of
from ..runners.translation import TooLarge
from ..step.step_program import SAMPLES, build_step_program
from ..tuning import tuning
from .sweep import CONTROL, Recorded, sampled, sweep_text


class LaneRuns(NamedTuple):
    """The runs of some groups of members, ready to be taken with their records."""

    runner: EnsembleRun  # of the step that records
    start: np.ndarray  # (groups, n_state, lanes)
    fixed: np.ndarray  # (groups, theta and t0 and H, lanes)
    t0: float
    h: float
    steps: int


class LaneSweep:
    """The adjoint of a step in vectors."""

    def __init__(self, functions: StepFunctions, n_state: int, run: Recorded) -> None:
        """`functions` is the adjoint of a step whose state has n_state numbers; `run` is that of one member, whose
        pivots suit the others too."""
        columns = sampled(run, np.linspace(0, run.steps - 1, SAMPLES).astype(int), np.zeros(0))
        state = np.ones(functions.n_state)
        self._functions, self._n, self._width = functions, n_state, lanes()
        self._program = build_step_program(functions, state, float(run.t[0]), float(run.h[0]), columns)
        operations = self._program.statistics["operations_per_step"]
        if operations > tuning().most_operations_in_lanes:
            raise TooLarge(f"the adjoint of a step takes {operations} operations")
        self._compiled = Compiled(self._program, Arithmetic(width=self._width), False)
        self._table = np.repeat(extrapolation_weights().reshape(-1, 1), self._width, axis=1)
        self._largest = np.inf  # multipliers, until some were seen

    def improve(self) -> None:
        """Begin to make the code as fast as it gets."""
        self._compiled.improve()

    @property
    def operations(self) -> int:
        """Of one step."""
        return self._compiled.operations

    def backwards(self, runs: LaneRuns, added: np.ndarray, every: int) -> tuple[np.ndarray, np.ndarray]:
        """sbar and sums at the begin of the runs, (groups, n, lanes), and which lanes failed; `added` (groups, saves *
        n_state, lanes) is added where a run keeps a state. Every core takes its groups one after the other: the run
        with its record, and back."""
        groups, width, steps, row = len(runs.start), self._width, runs.steps, runs.runner.functions.n_state
        held = self._memory(groups, runs.h)
        held["parameters"][:, row:] = runs.fixed
        table = np.broadcast_to(self._table, (groups, *self._table.shape))  # for all the same
        arguments = np.array([_addresses(held.get(name, table)) for name in POINTERS]).T.copy()
        control = np.zeros((groups, len(CONTROL)), np.int64)
        told = {
            "direction": -1, "every": every, "width": row * width, "solved": self._n * width,
            "unknowns": (row - self._n) * width, "kept": self._n * width, "step": steps - 1, "steps": steps,
        }  # fmt: skip
        for name, value in told.items():
            control[:, CONTROL.index(name)] = value
        forward, *kept = runs.runner.ready(runs.t0, runs.h)
        times, sizes = runs.t0 + np.arange(steps) * runs.h, np.full(steps, runs.h)
        pieces = np.linspace(0, groups, min(groups, 4 * cores()) + 1).astype(int).tolist()
        walk = _walk_groups(width)

        def piece(first: int, last: int, others: tuple = (*kept, held, control)) -> None:
            """Some groups, whose records lie in the same place; `others` are what is still written to, if Ctrl-C ends
            the wait for this thread."""
            record = spare.block((steps + 1) * row * width, np.float64)
            counts = np.zeros((2, steps + 2), np.int64)
            own = forward[first:last]
            for name, at in (("saved", record), ("iterations", counts[0]), ("worst", counts[1])):
                own[:, POINTERS.index(name)] = pointer_to(at)
            alike = (np.broadcast_to(part, (groups, *part.shape)) for part in (record, times, sizes))
            parts = forward, arguments, runs.start, *alike, added, control
            where = np.array([_addresses(part)[first:last] for part in parts]).T.copy()
            walk(runs.runner.address(), self._compiled.code.address(), pointer_to(where), last - first, steps)

        with ThreadPoolExecutor(cores()) as pool:
            with stacks_of(max(runs.runner.stack, STACK_A_NUMBER * width * self.operations)):
                done = pool.map(piece, pieces[:-1], pieces[1:])
            list(done)
        growth, lost = held["last"][:, 1], held["last"][:, 2] > 0
        if not np.isfinite(self._largest) and not np.all(lost):
            self._largest = tuning().growth_limit * max(1.0, float(np.max(growth[~lost])))
        return held["state"], lost

    def _memory(self, groups: int, h: float) -> dict[str, np.ndarray]:
        """What the adjoint of a step works in, by the names of its arguments."""
        width, functions, program = self._width, self._functions, self._program
        lengths = {
            "time": 2, "state": functions.n_state, "parameters": functions.n_parameters,
            "contraction": max(1, len(program.reduced.blocks)), "weights": len(program.unknowns) + 1, "last": 4,
            "history": HISTORY * max(1, len(program.remembered)),
        }  # fmt: skip
        held = {name: np.zeros((groups, length, width)) for name, length in lengths.items()}
        held["time"][:, 1], held["contraction"][:], held["weights"][:, -1] = h, FIRST_CONTRACTION, self._largest
        whole = {"counters": 4, "iterations": 2, "worst": 2}
        return held | {name: np.zeros((groups, length), np.int64) for name, length in whole.items()}


def _addresses(array: np.ndarray) -> np.ndarray:
    """Where the part of each group lies."""
    begin, apart = array.__array_interface__["data"][0], array.strides[0]
    return np.arange(len(array), dtype=np.uint64) * np.uint64(apart) + np.uint64(begin)


#: Pointers that a group is told by.
PARTS = 8


def cores() -> int:
    return os.cpu_count() or 1


@functools.cache
def _walk_groups(width: int):
    """A compiled loop over groups: the run with its record, then the sweep. A row of `where` points to the arguments of
    the run and of the adjoint, then it has the others of the sweep."""

    def loaded(name: str, pointer: str, count: int) -> str:
        return "".join(
            f"  %{name}.at.{k} = getelementptr ptr, ptr {pointer}, i64 {k}\n"
            f"  %{name}{k} = load ptr, ptr %{name}.at.{k}\n"
            for k in range(count)
        )

    text = f"""{sweep_text(len(POINTERS), width)}
define void @walk(ptr %run, ptr %adjoint, ptr %where, i64 %count, i64 %steps) {{
entry:
  br label %again
again:
  %g = phi i64 [ 0, %entry ], [ %next, %group ]
  %more = icmp slt i64 %g, %count
  br i1 %more, label %group, label %done
group:
  %offset = mul i64 %g, {PARTS}
  %own = getelementptr ptr, ptr %where, i64 %offset
{loaded("a", "%own", PARTS)}{loaded("f", "%a0", len(POINTERS))}
  call void %run({", ".join(f"ptr %f{k}" for k in range(len(POINTERS)))}, i64 %steps, i64 1)
  call void @sweep(ptr %adjoint, {", ".join(f"ptr %a{k}" for k in range(1, PARTS))})
  %next = add i64 %g, 1
  br label %again
done:
  ret void
}}
"""
    code, _ = compile_text(text, effort=2)
    return code.function("walk", *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 2)
