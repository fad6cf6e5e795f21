"""An adjoint in vectors: the backward sweeps of some groups of members, one member a lane (`sweep.py` has the loop)."""

from __future__ import annotations

import ctypes
import functools
import os
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from ..code.loop import POINTERS
from ..contract import FIRST_CONTRACTION, HISTORY, StepFunctions, extrapolation_weights
from ..machine.arithmetic import Arithmetic
from ..machine.compilation import compile_text, lanes
from ..runners.compiled import Compiled
from ..runners.translation import TooLarge
from ..step.step_program import SAMPLES, build_step_program
from ..tuning import tuning
from .sweep import CONTROL, Recorded, sampled, sweep_text


class LaneRecord(NamedTuple):
    """The recorded runs of some groups of members, as they lie in lanes."""

    rows: np.ndarray  # (groups, steps, states and unknowns, lanes)
    start: np.ndarray  # (groups, n_state, lanes)
    fixed: np.ndarray  # (groups, theta and t0 and H, lanes)
    t: np.ndarray  # when each step begins
    h: float


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

    def backwards(self, run: LaneRecord, added: np.ndarray, every: int) -> tuple[np.ndarray, np.ndarray]:
        """sbar and sums at the begin of the runs, (groups, n, lanes), and which lanes failed; `added` (groups, saves *
        n_state, lanes) is added where the run keeps a state."""
        groups, width, functions, program = len(run.rows), self._width, self._functions, self._program
        solved, steps = run.rows.shape[2], run.rows.shape[1]
        blocks = len(program.reduced.blocks)
        held = {
            "time": np.full((groups, 2, width), run.h), "state": np.zeros((groups, functions.n_state, width)),
            "parameters": np.zeros((groups, functions.n_parameters, width)),
            "contraction": np.full((groups, max(1, blocks), width), FIRST_CONTRACTION),
            "weights": np.zeros((groups, len(program.unknowns) + 1, width)),
            "last": np.zeros((groups, 4, width)), "counters": np.zeros((groups, 4), np.int64),
            "iterations": np.zeros((groups, 2), np.int64), "worst": np.zeros((groups, 2), np.int64),
            "history": np.zeros((groups, HISTORY * max(1, len(program.remembered)), width)),
        }  # fmt: skip
        held["weights"][:, -1] = np.inf
        held["parameters"][:, solved:] = run.fixed
        table = np.broadcast_to(self._table, (groups, *self._table.shape))  # for all the same
        arguments = np.array([_addresses(held.get(name, table)) for name in POINTERS]).T.copy()
        control = np.zeros((groups, len(CONTROL)), np.int64)
        told = {
            "steps": 1, "direction": -1, "every": every, "width": solved * width, "solved": self._n * width,
            "unknowns": (solved - self._n) * width, "kept": self._n * width, "step": steps - 1,
        }  # fmt: skip
        for name, value in told.items():
            control[:, CONTROL.index(name)] = value
        times, sizes = (np.broadcast_to(part, (groups, steps)) for part in (run.t, np.full(steps, run.h)))
        given = arguments, run.start, run.rows, times, sizes, added, control
        where = np.array([_addresses(part) for part in given]).T.copy()
        self._walk(where)
        held["weights"][:, -1] = tuning().growth_limit * np.maximum(1.0, held["last"][:, 1])
        control[:, CONTROL.index("steps")] = steps - 1
        self._walk(where)
        return held["state"], held["last"][:, 2] > 0

    def _walk(self, where: np.ndarray) -> None:
        """All groups, by all cores."""
        walk, address = _walk_groups(len(POINTERS), self._width), self._compiled.code.address()
        ends = np.linspace(0, len(where), min(len(where), 4 * cores()) + 1).astype(int).tolist()

        def piece(first: int, last: int) -> None:
            walk(address, where.ctypes.data, first, last)

        with ThreadPoolExecutor(cores()) as pool:
            list(pool.map(piece, ends[:-1], ends[1:]))


def _addresses(array: np.ndarray) -> np.ndarray:
    """Where the part of each group lies."""
    begin, apart = array.__array_interface__["data"][0], array.strides[0]
    return np.arange(len(array), dtype=np.uint64) * np.uint64(apart) + np.uint64(begin)


def cores() -> int:
    return os.cpu_count() or 1


@functools.cache
def _walk_groups(pointers: int, width: int):
    """A compiled loop that sweeps through groups first, ..., last - 1, each told where its memory lies."""
    parts = range(7)
    read = "".join(f"  %p{k} = getelementptr ptr, ptr %own, i64 {k}\n  %a{k} = load ptr, ptr %p{k}\n" for k in parts)
    text = f"""{sweep_text(pointers, width)}
define void @walk(ptr %function, ptr %where, i64 %first, i64 %last) {{
entry:
  br label %again
again:
  %g = phi i64 [ %first, %entry ], [ %next, %group ]
  %more = icmp slt i64 %g, %last
  br i1 %more, label %group, label %done
group:
  %offset = mul i64 %g, {len(parts)}
  %own = getelementptr ptr, ptr %where, i64 %offset
{read}
  call void @sweep(ptr %function, {", ".join(f"ptr %a{k}" for k in parts)})
  %next = add i64 %g, 1
  br label %again
done:
  ret void
}}
"""
    code, _ = compile_text(text, effort=2)
    return code.function("walk", *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 2)
