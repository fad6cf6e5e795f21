"""Many trajectories of one system: vectors of float64 lanes, all cores, a mask for members that have converged.

Members may differ in starting values and parameters. A member that fails keeps its last good state and is reported;
the others go on.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import copy
import ctypes
import functools
import math
import os
import threading
from collections.abc import Iterator

import numpy as np

from ..code.loop import POINTERS
from ..code.step_memory import spare
from ..contract import FIRST_CONTRACTION, HISTORY, OK, StepFunctions, extrapolation_weights
from ..machine.arithmetic import Arithmetic
from ..machine.compilation import compile_text, lanes
from ..program.passes import told
from ..scales.scaling import NewtonScaling
from ..step.step_program import build_step_program
from ..tuning import tuning
from .compiled import Compiled
from .translation import TooLarge

#: Groups of lanes are handed to the cores in so many pieces each, so that none waits long for the others.
PIECES_A_CORE = 8
#: Bytes of the stack that compiled code may take for each number of a lane (measured: 5), and beside those.
STACK_A_NUMBER, STACK_BESIDE = 8, 1 << 20
#: Bytes from which on only a thread of ours, whose stack is large enough, runs the code.
LARGE_STACK = 1 << 18
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
        operations = self.step.statistics["operations_per_step"]
        if operations > tuning().most_operations_in_lanes:
            raise TooLarge(f"a step takes {operations} operations")
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
        return max(1, tuning().chunk_operations // max(1, self._compiled.operations))

    @property
    def stack(self) -> int:
        """Bytes of the stack that the code may take."""
        return STACK_A_NUMBER * self.width * self._compiled.operations

    def most_saves(self) -> int:
        """Saved states of all members that one chunk may hold beside those of the whole run."""
        return max(1, tuning().batch_numbers // (self.functions.n_state * self._members))

    def begin(self, states: np.ndarray, parameters: np.ndarray) -> EnsembleRun:
        """A runner with the same code for one batch, beside others if need be."""
        run = copy.copy(self)
        run._lay_out(states, parameters)
        return run

    def _lay_out(self, states: np.ndarray, parameters: np.ndarray) -> None:
        """The members, (members, n), in groups of lanes, (groups, n, width); the last group is filled up."""
        self._members = len(states)
        self._groups = -(-self._members // self.width)
        self._state, self._parameters = self.in_lanes(states), self.in_lanes(parameters)
        remembered, blocks = len(self.step.remembered), len(self.step.reduced.blocks)
        self._compensation = np.zeros((self._groups, self.functions.n_summed, self.width))
        self._history = np.zeros((self._groups, HISTORY * remembered, self.width))
        self._contraction = np.full((self._groups, blocks, self.width), FIRST_CONTRACTION)
        self._last = np.zeros((self._groups, 4, self.width))
        self._counters = np.zeros((self._groups, 4), dtype=np.int64)
        self._table = np.repeat(extrapolation_weights().reshape(-1, 1), self.width, axis=1)
        self._weights = np.zeros(0)

    def in_lanes(self, rows: np.ndarray) -> np.ndarray:
        """(members, n) -> (groups, n, width)."""
        filled = np.concatenate([rows, np.repeat(rows[-1:], self._groups * self.width - self._members, axis=0)])
        return np.ascontiguousarray(filled.reshape(self._groups, self.width, -1).transpose(0, 2, 1))

    def members_first(self, lanes_last: np.ndarray) -> np.ndarray:
        """(groups, ..., width) -> (members, ...)."""
        moved = np.moveaxis(lanes_last, -1, 1)
        return moved.reshape(self._groups * self.width, *moved.shape[2:])[: self._members]

    def pieces(self, steps: int) -> Iterator[int]:
        """The steps of a chunk in pieces, after each of which Ctrl-C is heard. (Only a chunk scales anew, so that the
        numbers of a member do not depend on how many there are.)"""
        a_step = max(1, self._compiled.operations) * -(-self._groups // (os.cpu_count() or 1))
        at_once = max(1, tuning().chunk_operations // a_step)
        for taken in range(0, steps, at_once):
            yield min(at_once, steps - taken)

    def run(self, t0: float, h: float, steps: int, save_every: int, chunk_begins: bool) -> tuple[np.ndarray, int]:
        """Saved states (members, saves, n_state) and the Newton iterations spent (vector iterations)."""
        saved, iterations = self.run_in_lanes(t0, h, steps, save_every, chunk_begins)
        return self.members_first(saved), int(iterations.sum())

    def run_in_lanes(
        self, t0: float, h: float, steps: int, save_every: int, chunk_begins: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """The same as they lie in lanes, (groups, saves, n_state, width); and the iterations of each group before each
        save, and after the last."""
        if chunk_begins:
            self._weights = self._scaled(t0, h)
        n_saves = steps // save_every + 2
        shape = self._groups, n_saves, self.functions.n_state, self.width
        saved = spare.block(math.prod(shape), np.float64).reshape(shape)
        iterations = np.zeros((self._groups, 2, n_saves), dtype=np.int64)
        time = np.repeat(np.array([[t0], [h]]), self.width, axis=1)
        self._counters[:, 2:] = (0, OK)

        of_group = self.of_group(saved, iterations)
        pointers, strides = self._addresses(time, of_group)
        cores = os.cpu_count() or 1
        ends = np.linspace(0, self._groups, min(self._groups, PIECES_A_CORE * cores) + 1).astype(int).tolist()

        def piece(first: int, last: int, kept: tuple = (time, *of_group)) -> None:
            """Some groups; `kept` is memory that a thread which is not waited for, after Ctrl-C, still writes to."""
            address = self._compiled.code.address()
            _walk_groups()(address, pointers.ctypes.data, strides.ctypes.data, first, last, steps, save_every)

        with concurrent.futures.ThreadPoolExecutor(cores) as pool:
            with stacks_of(self.stack):
                pieces = pool.map(piece, ends[:-1], ends[1:])
            list(pieces)
        count = int(self._counters[0, 2])
        return saved[:, :count], iterations[:, 0, : count + 1]

    def of_group(self, saved: np.ndarray, iterations: np.ndarray) -> tuple:
        """What the code works in, group by group, in the order of its arguments after the time; None: the table."""
        return (
            self._state, self._compensation, self._history, self._contraction, self._parameters, self._weights, None,
            saved, self._last, self._counters, iterations[:, 0], iterations[:, 1],
        )  # fmt: skip

    def ready(self, t0: float, h: float) -> tuple[np.ndarray, ...]:
        """Scales for the steps to come, for who calls the code himself: where all groups have each argument, (groups,
        pointers), without those of what is saved; the arrays must be kept as long as that is used."""
        self._weights = self._scaled(t0, h)
        self._counters[:, 2:] = (0, OK)
        time = np.repeat(np.array([[t0], [h]]), self.width, axis=1)
        nothing = np.zeros((1, 2, 1))
        pointers, strides = self._addresses(time, self.of_group(nothing[:, 0], nothing))
        table = pointers + np.arange(self._groups, dtype=np.uint64)[:, None] * strides.astype(np.uint64)
        return table, time, nothing

    @property
    def operations(self) -> int:
        """Of one step."""
        return self._compiled.operations

    def address(self) -> int:
        """Where the code of the step lies."""
        return self._compiled.code.address()

    def _addresses(self, time: np.ndarray, of_group: tuple) -> tuple[np.ndarray, np.ndarray]:
        """Where the arrays of the first group lie, and how far apart those of two groups are; None: the table."""
        arrays = (time, *(self._table if array is None else array for array in of_group))
        pointers = np.array([array.ctypes.data for array in arrays], dtype=np.uint64)
        return pointers, np.array([0, *(0 if array is None else array.strides[0] for array in of_group)])

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
        last = self.members_first(self._last)
        return np.where(last[:, 2] > 0, last[:, 3], -1).astype(np.int64)


class LaneSteps:
    """All members of a batch by single steps, in memory that stays where it is; see `stepwise.py`."""

    #: Operations below which a second thread costs more than it saves.
    ALONE = 200_000

    def __init__(self, runner: EnsembleRun, t0: float, h: float) -> None:
        self._run, self._t0, self._h, self.taken = runner, t0, h, 0
        groups, width = runner._groups, runner.width
        saved, self._spent = np.zeros((groups, 2, runner.functions.n_state, width)), np.zeros((groups, 2, 2), np.int64)
        self._time = np.repeat(np.array([[t0], [h]]), width, axis=1)
        runner._weights = runner._scaled(t0, h)
        self._left = 1
        of_group = runner.of_group(saved, self._spent)
        self._arrays, self._kept = runner._addresses(self._time, of_group), of_group
        cores = os.cpu_count() or 1
        busy = groups * runner._compiled.operations * width > self.ALONE
        pieces = min(groups, cores) if busy else 1
        self._ends = np.linspace(0, groups, pieces + 1).astype(int).tolist()
        self._here = 0 if runner.stack > LARGE_STACK else 1  # how many pieces the calling thread takes
        others = pieces - self._here
        self._pool = concurrent.futures.ThreadPoolExecutor(others) if others else None

    def advance(self, steps: int = 1) -> None:
        """Take steps; members that fail stay where they are, see `failed`."""
        run = self._run
        if self._left <= 0:
            run._weights[:] = run._scaled(self._t0, self._h)
            self._left = max(1, min(self.taken, tuning().scales_kept))
        self._left -= steps
        run._counters[:, 2:] = (0, OK)
        others = []
        if self._pool is not None:
            with stacks_of(run.stack):
                others = [self._pool.submit(self._piece, k, steps) for k in range(self._here, len(self._ends) - 1)]
        for k in range(self._here):
            self._piece(k, steps)
        for other in others:
            other.result()
        self.taken += steps

    def _piece(self, k: int, steps: int) -> None:
        pointers, strides = self._arrays
        first, last = self._ends[k], self._ends[k + 1]
        address = self._run._compiled.code.address()
        _walk_groups()(address, pointers.ctypes.data, strides.ctypes.data, first, last, steps, 2**62)

    @property
    def members(self) -> int:
        """How many trajectories there are."""
        return self._run._members

    @property
    def failed(self) -> np.ndarray:
        """Whether each member has failed."""
        return self._run.members_first(self._run._last)[:, 2] > 0

    def state(self) -> np.ndarray:
        """The states as they lie in lanes, a copy; `in_rows` turns them into (members, n_state)."""
        return self._run._state.copy()

    def in_rows(self, lanes_last: np.ndarray) -> np.ndarray:
        """(groups, n, width) as (members, n)."""
        return self._run.members_first(lanes_last)

    def set_parameters(self, places: slice, values: np.ndarray) -> None:
        """New values of some parameters, (members, parameters), or (parameters,) for all."""
        run = self._run
        rows = np.broadcast_to(values, (run._members, values.shape[-1]))
        run._parameters[:, places] = run.in_lanes(rows)

    def get_parameters(self) -> np.ndarray:
        """The parameters of all members, (members, parameters)."""
        return np.array(self.in_rows(self._run._parameters))

    def restart(self, which: np.ndarray, states: np.ndarray) -> None:
        """Put these members, by number, at other states (len(which), n_state)."""
        run = self._run
        groups, lane = which // run.width, which % run.width
        run._state[groups, :, lane], run._compensation[groups, :, lane], run._last[groups, :, lane] = states, 0.0, 0.0
        run._contraction[groups, :, lane] = FIRST_CONTRACTION
        run._counters[groups, 0] = 0  # nothing is extrapolated through the state before

    def snapshot(self) -> tuple:
        """All on which the next steps depend, to come back to with `restore`."""
        arrays = [array.copy() for array in self._changing()]
        return arrays, self.taken, self._left

    def restore(self, snapshot: tuple) -> None:
        """Come back to a snapshot."""
        arrays, self.taken, self._left = snapshot
        for array, kept in zip(self._changing(), arrays, strict=True):
            array[:] = kept

    def _changing(self) -> list[np.ndarray]:
        run = self._run
        return [run._state, run._compensation, run._history, run._contraction, run._parameters, run._weights,
                run._last, run._counters]  # fmt: skip


#: Held while threads are begun: the size of their stacks is one for the whole process.
_begun = threading.Lock()


@contextlib.contextmanager
def stacks_of(size: int) -> Iterator[None]:
    """Threads begun here have room for this many bytes on their stacks, and for what else lies there."""
    if size <= LARGE_STACK:
        yield
        return
    with _begun:
        before = threading.stack_size()
        threading.stack_size(-(-(size + STACK_BESIDE) // STACK_BESIDE) * STACK_BESIDE)
        try:
            yield
        finally:
            threading.stack_size(before)


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
    return code.function("walk", *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 4)
