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
from ..runners.phases import PhasedRun, TimeSteps
from ..tuning import tuning
from .choice import read_by
from .programs import adjoint, recording, repeated, tangent
from .sweep import Recorded, Sweep


class Grid(NamedTuple):
    """The steps of a run of one step size, and which of the states are kept."""

    steps: int
    every: int

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
        state, t0, h, parameters = given
        runner, snapshots = self._runner(self.functions, state, t0, h, parameters, grid.steps), reads is not None
        part = self.part_steps(grid, reads) if snapshots else max(1, runner.chunk_steps)
        part = part if snapshots else min(part, grid.every * max(1, part // grid.every)) if part >= grid.every else part
        carry, saved, kept, spent, status = runner.first_carry(state), [state[None]], [], [], OK
        while int(carry.step) < grid.steps and status == OK:
            if snapshots:
                kept.append(np.concatenate([carry.state, carry.compensation]))
            todo = min(part, grid.steps - int(carry.step))
            chunk = runner.run(carry, t0, h, todo, grid.every, parameters, todo // grid.every + 1)
            saved.append(chunk.saved)
            spent.append(chunk.iterations)
            carry, status = chunk.carry, chunk.status
        iterations = np.concatenate([*spent, np.zeros(0, np.int64)])
        found = _ended(np.concatenate(saved), carry, iterations, status, grid)
        return found if reads is None else _with_record(found, np.array(kept), reads)

    def _recorded(self, given: tuple, grid: Grid, reads: tuple[int, ...]) -> Forward:
        many, state = len(self._fractions), given[0]
        rows, spent, status, carry = self._steps(given, None, (0, grid.steps), reads)
        taken = len(rows) // many
        each = grid.every * many
        saved = np.concatenate([state[None], rows[each - 1 :: each, : self._n][: taken // grid.every]])
        iterations = np.add.reduceat(spent, np.arange(0, len(spent), each)) if len(spent) and each > 1 else spent
        last = rows[taken * many - 1, : self._n] if taken else state
        carry = carry._replace(state=last, step=np.array(taken))
        found = _ended(saved, carry, iterations[: len(saved) - 1], status, grid)
        return _with_record(found, rows[: taken * many], reads)

    def _steps(self, given: tuple, compensation, steps: tuple[int, int], reads: tuple[int, ...]):
        """The rows of the record between two steps, the iterations of each, the status and the carry at the end."""
        (state, t0, h, parameters), (first, last) = given, steps
        begin = np.concatenate([state, np.zeros(len(reads))])
        many, now = len(self._fractions), t0 + first * h
        functions, size, count = self.recording(reads), float(self._fractions[0] * h), (last - first) * many
        start = self._runner(functions, begin, now, size, parameters, count, sizes=many > 1)
        t, sizes = self._times(t0, h, first, last) if many > 1 else (np.zeros(0), np.zeros(0))
        carry: Carry = start.first_carry(begin)
        if compensation is not None:
            carry = carry._replace(compensation=np.array(compensation))
        saved, spent, done, status = [], [], 0, OK
        while done < count and status == OK:
            todo = min(max(1, start.chunk_steps), count - done)
            if isinstance(start, PhasedRun):
                part = slice(done, done + todo)
                grid = TimeSteps(t[part].copy(), sizes[part].copy(), np.ones(todo, np.int64))
                chunk = start.run_sizes(carry, grid, 1, parameters)
            else:
                chunk = start.run(carry, now, h, todo, 1, parameters, todo)
            saved.append(chunk.saved)
            spent.append(chunk.iterations)
            carry, status, done = chunk.carry, chunk.status, int(chunk.carry.step)
        if len(saved) == 1:
            return saved[0], spent[0], status, carry
        return np.concatenate([np.zeros((0, len(begin))), *saved]), np.concatenate(spent), status, carry

    def _runner(self, functions, state, t, h, parameters, steps: int, sizes: bool = False) -> Any:
        wanted = EngineOptions(compensated=self.compensated, engine=self._engine, sizes=sizes, steps=steps)
        return choose_engine(functions, state, t, h, parameters, wanted)

    def _times(self, t0: float, h: float, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """When each phase of these steps begins, and its size."""
        begin = np.arange(first, last) * h
        begin += t0
        if len(self._fractions) == 1:
            return begin, np.full(last - first, h)
        times = begin[:, None] + self._offsets * h
        return np.ravel(times), np.ravel(np.broadcast_to(self._fractions * h, times.shape)).copy()

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
        many, t_h = len(self._fractions), self._times(t0, h, first, last)
        fixed = np.concatenate([parameters, [t0, h]])
        if part >= grid.steps:
            return Recorded(record.start, record.rows[first * many : last * many], *t_h, fixed)
        snapshot = record.rows[first // part]
        state, compensation = snapshot[: self._n], snapshot[self._n :]
        rows, *_ = self._steps((state, t0, h, parameters), compensation, steps, record.reads)
        return Recorded(state, rows, *t_h, fixed)

    def _sweep(self, recorded: Recorded, reads: tuple[int, ...], *, forwards: bool) -> Sweep:
        """The compiled tangent or adjoint; its pivots suit the run for which it was first needed."""
        if (forwards, reads) not in self._sweeps:
            made = (tangent if forwards else adjoint)(self.step, reads)
            tail = self.functions.n_parameters + 2 if forwards else 0
            self._sweeps[forwards, reads] = Sweep(made, self._n, recorded, tail)
        sweep = self._sweeps[forwards, reads]
        sweep.improve()
        return sweep


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
