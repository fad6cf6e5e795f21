"""Runs that can be differentiated: with all that a derivative needs, or with states from which that is computed again.

A run whose record would be larger than `record_bytes` leaves snapshots (state and compensation) only; the derivative
then takes the run in parts, and every part once more before its own.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..contract import OK, Carry, StepFunctions
from ..runners.choice import EngineOptions, choose_engine
from ..runners.phases import TimeSteps, steps_of_sizes
from ..tuning import tuning
from .choice import read_by
from .programs import adjoint, recording, repeated, tangent
from .sweep import Recorded, Sweep


class Sizes:
    """The steps of a run of different sizes, in units of H: that of number k begins at t0 + begins[k] H and has the
    size sizes[k] H. It is known by its numbers."""

    def __init__(self, begins: np.ndarray, sizes: np.ndarray) -> None:
        self.begins, self.sizes = np.array(begins), np.array(sizes)
        self._key = self.begins.tobytes(), self.sizes.tobytes()
        self._hash = hash(self._key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other) -> bool:
        return isinstance(other, Sizes) and self._key == other._key


class Grid(NamedTuple):
    """The steps of a run, and which of the states are kept."""

    steps: int
    every: int
    sizes: Sizes | None = None  # all have the size H

    def begin(self, step: int, t0: float, h: float) -> float:
        """When a step begins."""
        return t0 + h * (step if self.sizes is None else float(self.sizes.begins[step]))

    @property
    def saves(self) -> int:
        return self.steps // self.every


class Forward(NamedTuple):
    """What comes out of a run."""

    saved: np.ndarray  # (saves + 1, n_state), the start first; after a step that failed the last state again
    iterations: np.ndarray  # (saves,)
    status: int
    taken: int  # steps until one failed, or all
    record: Any  # a `Record`, that of another kind of run, or None


@dataclass(frozen=True, eq=False)
class Record:
    """What a run leaves for its derivative."""

    start: np.ndarray  # the first state
    taken: int  # steps until one failed, or all
    rows: np.ndarray  # a row a step, or one for each part of the run
    reads: tuple[int, ...]  # the unknowns that a row of a step has

    @property
    def bytes(self) -> int:
        """How large it is."""
        return self.rows.nbytes


class Differentiable:
    """A step of a method with its derivatives, each compiled when it is first needed."""

    def __init__(self, functions: StepFunctions, compensated: bool, engine: str = "auto") -> None:
        self.functions, self.compensated, self._engine = functions, compensated, engine
        self.step, parts = repeated(functions)
        self._fractions = np.array(parts)
        self._offsets = np.concatenate([[0.0], np.cumsum(self._fractions)[:-1]])
        self._recordings: dict[tuple[int, ...], StepFunctions] = {}
        self._sweeps: dict[tuple[bool, tuple[int, ...]], Sweep] = {}

    # -- what is recorded ---------------------------------------------------------------------------------------------

    @functools.cached_property
    def reads(self) -> tuple[int, ...]:
        """The unknowns that a record has: those that the adjoint reads."""
        return read_by(self.step, forwards=False)

    @functools.cached_property
    def _read_forwards(self) -> tuple[int, ...]:
        """Those that the tangent reads too."""
        return tuple(sorted({*self.reads, *read_by(self.step, forwards=True)}))

    def recording(self, reads: tuple[int, ...]) -> StepFunctions:
        """The step that leaves a row of the record."""
        if reads not in self._recordings:
            self._recordings[reads] = recording(self.step, reads)
        return self._recordings[reads]

    @property
    def _n(self) -> int:
        return self.functions.n_state

    def part_steps(self, grid: Grid, reads: tuple[int, ...] | None = None) -> int:
        """Into parts of how many steps a run is divided: all of them, where the record is not too large."""
        numbers = tuning().record_bytes // 8
        a_step = (self._n + len(self.reads if reads is None else reads)) * len(self._fractions)
        if grid.steps * a_step <= numbers:
            return max(1, grid.steps)
        even = math.sqrt(grid.steps * (self._n + self.functions.n_summed) / a_step)  # snapshots as large as a part
        return max(1, min(math.ceil(even), numbers // a_step))

    # -- forwards -----------------------------------------------------------------------------------------------------

    def run(self, state, t0: float, h: float, parameters, grid: Grid, *, record: bool) -> Forward:
        """All steps, or those before one that fails."""
        return self._run((state, t0, h, parameters), grid, self.reads if record else None)

    def record(self, state, t0: float, h: float, parameters, grid: Grid, reads: tuple | None = None) -> Record:
        """The record of a run, with these unknowns, or those that the adjoint reads."""
        record = self._run((state, t0, h, parameters), grid, self.reads if reads is None else reads).record
        assert record is not None  # it was asked for
        return record

    def _run(self, given: tuple, grid: Grid, reads: tuple[int, ...] | None) -> Forward:
        if reads is not None and self.part_steps(grid, reads) >= grid.steps:
            return self._recorded(given, grid, reads)
        return self._plain(given, grid, reads)

    def _plain(self, given: tuple, grid: Grid, reads: tuple[int, ...] | None) -> Forward:
        """Without a record; where there are unknowns to be recorded later, with a snapshot for each part."""
        (state, t0, h, parameters), sized = given, grid.sizes is not None
        first = h if grid.sizes is None else h * float(grid.sizes.sizes[0])
        runner, snapshots = self._runner(self.functions, given, first, grid.steps, sizes=sized), reads is not None
        part = self.part_steps(grid, reads) if snapshots else max(1, runner.chunk_steps)
        part = part if snapshots else min(part, grid.every * max(1, part // grid.every)) if part >= grid.every else part
        carry, saved, kept, spent, status = runner.first_carry(state), [state[None]], [], [], OK
        while int(carry.step) < grid.steps and status == OK:
            if snapshots:
                kept.append(np.concatenate([carry.state, carry.compensation]))
            todo = min(part, grid.steps - int(carry.step))
            if sized:
                table = _time_steps(grid, t0, h, int(carry.step), int(carry.step) + todo)
                chunk = steps_of_sizes(runner, carry, table, grid.every, parameters)
            else:
                chunk = runner.run(carry, t0, h, todo, grid.every, parameters, todo // grid.every + 1)
            saved.append(chunk.saved)
            spent.append(chunk.iterations)
            carry, status = chunk.carry, chunk.status
        iterations = np.concatenate([*spent, np.zeros(0, np.int64)])
        found = _ended(np.concatenate(saved), carry, iterations, status, grid)
        return found if reads is None else _with_record(found, np.array(kept), reads)

    def _recorded(self, given: tuple, grid: Grid, reads: tuple[int, ...]) -> Forward:
        many, state = len(self._fractions), given[0]
        rows, spent, status, carry = self._steps(given, None, (0, grid.steps), grid, reads)
        taken = len(rows) // many
        each = grid.every * many
        saved = np.concatenate([state[None], rows[each - 1 :: each, : self._n][: taken // grid.every]])
        iterations = np.add.reduceat(spent, np.arange(0, len(spent), each)) if len(spent) and each > 1 else spent
        last = rows[taken * many - 1, : self._n] if taken else state
        carry = carry._replace(state=last, step=np.array(taken))
        found = _ended(saved, carry, iterations[: len(saved) - 1], status, grid)
        return _with_record(found, rows[: taken * many], reads)

    def _steps(self, given: tuple, compensation, steps: tuple[int, int], grid: Grid, reads: tuple[int, ...]):
        """The rows of the record between two steps, the iterations of each, the status and the carry at the end."""
        (state, t0, h, parameters), (first, last) = given, steps
        begin, many = np.concatenate([state, np.zeros(len(reads))]), len(self._fractions)
        count, now, sized = (last - first) * many, grid.begin(first, t0, h), many > 1 or grid.sizes is not None
        table = self._phases(_time_steps(grid, t0, h, first, last)) if sized else None
        size = h if table is None else float(table.h[0])
        start = self._runner(self.recording(reads), (begin, now, h, parameters), size, count, sizes=sized)
        carry: Carry = start.first_carry(begin)
        if compensation is not None:
            carry = carry._replace(compensation=np.array(compensation))
        saved, spent, done, status = [], [], 0, OK
        while done < count and status == OK:
            todo = min(max(1, start.chunk_steps), count - done)
            if table is None:
                chunk = start.run(carry, now, h, todo, 1, parameters, todo)
            else:
                part = TimeSteps(*(column[done : done + todo].copy() for column in table))
                chunk = steps_of_sizes(start, carry, part, 1, parameters)
            saved.append(chunk.saved)
            spent.append(chunk.iterations)
            carry, status, done = chunk.carry, chunk.status, int(chunk.carry.step)
        if len(saved) == 1:
            return saved[0], spent[0], status, carry
        return np.concatenate([np.zeros((0, len(begin))), *saved]), np.concatenate(spent), status, carry

    def _runner(self, functions, given: tuple, size: float, steps: int, *, sizes: bool) -> Any:
        state, t, _, parameters = given
        wanted = EngineOptions(compensated=self.compensated, engine=self._engine, sizes=sizes, steps=steps)
        return choose_engine(functions, state, t, size, parameters, wanted)

    def _phases(self, steps: TimeSteps) -> TimeSteps:
        """The phases of these steps, each as a step."""
        if len(self._fractions) == 1:
            return steps
        sizes = steps.h[:, None] * self._fractions
        times = np.ravel(steps.t[:, None] + steps.h[:, None] * self._offsets)
        return TimeSteps(times, np.ravel(sizes), np.ones(times.size, np.int64))

    # -- derivatives --------------------------------------------------------------------------------------------------

    def tangents(self, record: Record, t0, h, parameters, moved: tuple, grid: Grid) -> np.ndarray:
        """How the saved states move, (saves + 1, n_state), with (state, t0, h, parameters)."""
        state_dot, t0_dot, h_dot, parameters_dot = moved
        saved, many = np.empty((grid.saves + 1, self._n)), len(self._fractions)
        saved[0], tail = state_dot, np.concatenate([parameters_dot, [t0_dot, h_dot]])
        now = np.array(state_dot, dtype=np.float64)
        if not set(self._read_forwards) <= set(record.reads):
            record = self.record(record.start, t0, h, parameters, grid, self._read_forwards)
        for part in self._parts(record, grid):
            recorded = self.recorded(record, t0, h, parameters, part, grid)
            sweep = self._sweep(recorded, record.reads, forwards=True)
            now = sweep.forwards(recorded, now, tail, part[0] * many, grid.every * many, saved[1:])
        saved[record.taken // grid.every + 1 :] = now
        return saved

    def adjoints(self, record: Record, t0, h, parameters, cotangents: np.ndarray, grid: Grid) -> tuple:
        """(state, t0, h, parameters) bar from those of the saved states, (saves + 1, n_state)."""
        many, n = len(self._fractions), self._n
        now = np.zeros(n + len(parameters) + 2)
        rest = cotangents[record.taken // grid.every + 1 :]
        now[:n] = rest.sum(axis=0)
        rows = np.ascontiguousarray(cotangents[1:])
        for part in reversed(self._parts(record, grid)):
            recorded = self.recorded(record, t0, h, parameters, part, grid)
            sweep = self._sweep(recorded, record.reads, forwards=False)
            now = sweep.backwards(recorded, now, part[0] * many, grid.every * many, rows)
        return now[:n] + cotangents[0], now[-2], now[-1], now[n:-2]

    def _parts(self, record: Record, grid: Grid) -> list[tuple[int, int]]:
        part = self.part_steps(grid, record.reads)
        return [(first, min(first + part, record.taken)) for first in range(0, record.taken, part)]

    def recorded(self, record: Record, t0, h, parameters, steps: tuple[int, int], grid: Grid) -> Recorded:
        """The steps first, ..., last - 1 with all that their derivatives need."""
        (first, last), part = steps, self.part_steps(grid, record.reads)
        many, table = len(self._fractions), self._phases(_time_steps(grid, t0, h, first, last))
        fixed = np.concatenate([parameters, [t0, h]])
        if part >= grid.steps:
            return Recorded(record.start, record.rows[first * many : last * many], table.t, table.h, fixed)
        snapshot = record.rows[first // part]
        state, compensation = snapshot[: self._n], snapshot[self._n :]
        rows, *_ = self._steps((state, t0, h, parameters), compensation, steps, grid, record.reads)
        return Recorded(state, rows, table.t, table.h, fixed)

    def _sweep(self, recorded: Recorded, reads: tuple[int, ...], *, forwards: bool) -> Sweep:
        """The compiled tangent or adjoint; its pivots suit the run for which it was first needed."""
        if (forwards, reads) not in self._sweeps:
            made = (tangent if forwards else adjoint)(self.step, reads)
            tail = self.functions.n_parameters + 2 if forwards else 0
            self._sweeps[forwards, reads] = Sweep(made, self._n, recorded, tail)
        sweep = self._sweeps[forwards, reads]
        sweep.improve()
        return sweep


def _time_steps(grid: Grid, t0: float, h: float, first: int, last: int) -> TimeSteps:
    """When each of these steps begins, its size, and whether this is another than that of the step before."""
    if grid.sizes is None:
        begin = np.arange(first, last) * h
        begin += t0
        return TimeSteps(begin, np.full(last - first, h), np.zeros(last - first, np.int64))
    sizes = h * grid.sizes.sizes[first:last]
    fresh = np.concatenate([[1], sizes[1:] != sizes[:-1]]).astype(np.int64)
    return TimeSteps(t0 + h * grid.sizes.begins[first:last], sizes, fresh)


def _with_record(found: Forward, rows: np.ndarray, reads: tuple[int, ...]) -> Forward:
    return found._replace(record=Record(found.saved[0].copy(), found.taken, rows, reads))


def _ended(saved, carry: Carry, iterations, status: int, grid: Grid) -> Forward:
    """A run to its end, or the last state again after a step that failed."""
    missing = grid.saves + 1 - len(saved)
    if missing:
        saved = np.concatenate([saved, np.repeat(np.asarray(carry.state)[None], missing, axis=0)])
        iterations = np.concatenate([iterations, np.zeros(missing, np.int64)])
    return Forward(saved, iterations[: grid.saves], status, int(carry.step), None)


@functools.lru_cache(maxsize=64)
def differentiable(functions: StepFunctions, compensated: bool) -> Differentiable:
    """The step with its derivatives; what is compiled for one run serves the next."""
    return Differentiable(functions, compensated)
