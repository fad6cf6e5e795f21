"""Many trajectories of one system: vectors of float64 lanes, all cores, a mask for members that have converged.

Members may differ in starting values and parameters. A member that fails keeps its last good state and is reported;
the others go on.
"""

from __future__ import annotations

import concurrent.futures
import copy
import ctypes
import functools
import os
from collections.abc import Iterator

import numpy as np

from ..code.loop import POINTERS
from ..contract import FIRST_CONTRACTION, HISTORY, OK, StepFunctions, extrapolation_weights
from ..machine.arithmetic import Arithmetic
from ..machine.compilation import compile_text, lanes
from ..program.passes import told
from ..scales.scaling import NewtonScaling
from ..step.step_program import build_step_program
from .compiled import Compiled
from .native import CHUNK_OPERATIONS

#: Numbers of saved states that a chunk may hold.
CHUNK_NUMBERS = 16_000_000
#: Groups of lanes are handed to the cores in so many pieces each, so that none waits long for the others.
PIECES_A_CORE = 8
#: Columns of a table that are scaled at a time, so that what is in between stays in the cache.
COLUMNS_AT_A_TIME = 4096


class EnsembleRun:
    """Vector code for one step program, shared by all batches; what `begin` gives holds the members of one of them."""

    name = "native (ensemble)"

    def __init__(
        self,
        functions: StepFunctions,
        states: np.ndarray,
        t0: float,
        h: float,
        parameters: np.ndarray,
        compensated: bool,
    ) -> None:
        self.functions = functions
        self.width = lanes()
        self.step = build_step_program(functions, states[0], t0, h, parameters[0])
        self._compiled = Compiled(self.step, Arithmetic(width=self.width), compensated)
        self._scaling = NewtonScaling(self.step)

    def report(self) -> dict:
        return {
            **self.step.statistics,
            "passes": told(self.step.log),
            "from_cache": self._compiled.code.from_cache,
            "lanes": self.width,
        }

    @property
    def chunk_steps(self) -> int:
        """Steps a chunk takes before it returns to Python."""
        return max(1, CHUNK_OPERATIONS // max(1, self._compiled.operations))

    def most_saves(self) -> int:
        """Saved states of all members that one chunk may hold beside those of the whole run."""
        return max(1, CHUNK_NUMBERS // (self.functions.n_state * self._members))

    def begin(self, states: np.ndarray, parameters: np.ndarray) -> EnsembleRun:
        """A runner with the same code for one batch, beside others if need be."""
        run = copy.copy(self)
        run._lay_out(states, parameters)
        return run

    def _lay_out(self, states: np.ndarray, parameters: np.ndarray) -> None:
        """The members, (members, n), in groups of lanes, (groups, n, width); the last group is filled up."""
        self._members = len(states)
        self._groups = -(-self._members // self.width)
        self._state, self._parameters = self._in_lanes(states), self._in_lanes(parameters)
        remembered, blocks = len(self.step.remembered), len(self.step.reduced.blocks)
        self._compensation = np.zeros((self._groups, self.functions.n_summed, self.width))
        self._history = np.zeros((self._groups, HISTORY * remembered, self.width))
        self._contraction = np.full((self._groups, blocks, self.width), FIRST_CONTRACTION)
        self._last = np.zeros((self._groups, 4, self.width))
        self._counters = np.zeros((self._groups, 4), dtype=np.int64)
        self._table = np.repeat(extrapolation_weights().reshape(-1, 1), self.width, axis=1)
        self._weights = np.zeros(0)

    def _in_lanes(self, rows: np.ndarray) -> np.ndarray:
        filled = np.concatenate([rows, np.repeat(rows[-1:], self._groups * self.width - self._members, axis=0)])
        return np.ascontiguousarray(filled.reshape(self._groups, self.width, -1).transpose(0, 2, 1))

    def _members_first(self, lanes_last: np.ndarray) -> np.ndarray:
        """(groups, ..., width) -> (members, ...)."""
        moved = np.moveaxis(lanes_last, -1, 1)
        return moved.reshape(self._groups * self.width, *moved.shape[2:])[: self._members]

    def pieces(self, steps: int) -> Iterator[int]:
        """The steps of a chunk in pieces, after each of which Ctrl-C is heard. (Only a chunk scales anew, so that the
        numbers of a member do not depend on how many there are.)"""
        a_step = max(1, self._compiled.operations) * -(-self._groups // (os.cpu_count() or 1))
        at_once = max(1, CHUNK_OPERATIONS // a_step)
        for taken in range(0, steps, at_once):
            yield min(at_once, steps - taken)

    def run(self, t0: float, h: float, steps: int, save_every: int, chunk_begins: bool) -> tuple[np.ndarray, int]:
        """Saved states (members, saves, n_state) and the Newton iterations spent (vector iterations)."""
        if chunk_begins:
            self._weights = self._scaled(t0, h)
        n_saves = steps // save_every + 2
        saved = np.empty((self._groups, n_saves, self.functions.n_state, self.width))
        iterations = np.zeros((self._groups, 2, n_saves), dtype=np.int64)
        time = np.repeat(np.array([[t0], [h]]), self.width, axis=1)
        self._counters[:, 2:] = (0, OK)

        of_group = (
            self._state, self._compensation, self._history, self._contraction, self._parameters, self._weights, None,
            saved, self._last, self._counters, iterations[:, 0], iterations[:, 1],
        )  # fmt: skip
        arrays = (time, *(self._table if array is None else array for array in of_group))
        pointers = np.array([array.ctypes.data for array in arrays], dtype=np.uint64)
        strides = np.array([0, *(0 if array is None else array.strides[0] for array in of_group)])
        cores = os.cpu_count() or 1
        ends = np.linspace(0, self._groups, min(self._groups, PIECES_A_CORE * cores) + 1).astype(int).tolist()

        def piece(first: int, last: int) -> None:
            address = self._compiled.code.address()
            _walk_groups()(address, pointers.ctypes.data, strides.ctypes.data, first, last, steps, save_every)

        with concurrent.futures.ThreadPoolExecutor(cores) as pool:
            list(pool.map(piece, ends[:-1], ends[1:]))
        count = int(self._counters[0, 2])
        return self._members_first(saved[:, :count]), int(iterations[:, 0].sum())

    def _scaled(self, t0: float, h: float) -> np.ndarray:
        """The scales of Newton's unknowns where the members are now, laid out like them."""
        columns = self._groups * self.width
        flat_state = self._state.transpose(1, 0, 2).reshape(-1, columns)
        flat_parameters = self._parameters.transpose(1, 0, 2).reshape(-1, columns)
        started = int(self._counters[0, 0]) > 0
        newest = self._history[:, : len(self.step.unknowns)].transpose(1, 0, 2).reshape(-1, columns)
        t = t0 + float(self._counters[0, 1]) * h
        weights = np.empty((len(self.step.unknowns) + 1, columns))
        for first in range(0, columns, COLUMNS_AT_A_TIME):
            few = slice(first, first + COLUMNS_AT_A_TIME)
            last = newest[:, few] if started else None
            weights[:, few] = self._scaling(flat_state[:, few], last, t, h, flat_parameters[:, few])
        return np.ascontiguousarray(weights.reshape(-1, self._groups, self.width).transpose(1, 0, 2))

    @property
    def failed(self) -> np.ndarray:
        """For each member the steps it took before it failed, -1 if it did not."""
        last = self._members_first(self._last)
        return np.where(last[:, 2] > 0, last[:, 3], -1).astype(np.int64)


@functools.cache
def _walk_groups():
    """A compiled loop that runs the step of groups first, ..., last - 1, each with pointers of its own."""
    lines, names = [], []
    for k in range(len(POINTERS)):
        lines += [
            f"%from.{k} = getelementptr ptr, ptr %pointers, i64 {k}",
            f"%base.{k} = load ptr, ptr %from.{k}",
            f"%by.{k} = getelementptr i64, ptr %strides, i64 {k}",
            f"%stride.{k} = load i64, ptr %by.{k}",
            f"%shift.{k} = mul i64 %stride.{k}, %g",
            f"%at.{k} = getelementptr i8, ptr %base.{k}, i64 %shift.{k}",
        ]
        names.append(f"ptr %at.{k}")
    body = "\n  ".join(lines)
    code, _ = compile_text(
        f"""
define void @walk(ptr %function, ptr %pointers, ptr %strides, i64 %first, i64 %last, i64 %steps, i64 %every) {{
entry:
  br label %again
again:
  %g = phi i64 [ %first, %entry ], [ %next, %group ]
  %more = icmp slt i64 %g, %last
  br i1 %more, label %group, label %done
group:
  {body}
  call void %function({", ".join(names)}, i64 %steps, i64 %every)
  %next = add i64 %g, 1
  br label %again
done:
  ret void
}}
""",
        effort=2,
    )
    _KEPT.append(code)
    return code.function("walk", *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 4)


#: code must outlive the functions made of it
_KEPT: list = []
