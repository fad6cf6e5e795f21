"""Runs that can be differentiated: with all that a derivative needs, or with states from which that is computed again.

A run whose record would be larger than `record_bytes` leaves snapshots (state and compensation) only; the derivative
then takes the run in parts, and every part once more before its own.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from ..contract import OK, Carry, StepFunctions
from ..runners.choice import EngineOptions, choose_engine
from ..runners.phases import PhasedRun, TimeSteps
from ..tuning import tuning
from .programs import adjoint, recording, tangent
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
    record: np.ndarray  # rows of the record, or snapshots, or nothing


class Differentiable:
    """A step of a method with its derivatives, each compiled when it is first needed."""

    def __init__(self, functions: StepFunctions, compensated: bool, engine: str = "auto") -> None:
        self.functions, self._compensated, self._engine = functions, compensated, engine
        phases = functions.phases
        self._step = phases[0].functions if phases else functions
        self._fractions = np.array([phase.fraction for phase in phases] or [1.0])
        self._offsets = np.concatenate([[0.0], np.cumsum(self._fractions)[:-1]])
        self._recording = recording(self._step)
        self._sweeps: dict[bool, Sweep] = {}

    # -- sizes, which are known before any number is ----------------------------------------------------------------

    @property
    def width(self) -> int:
        """The length of a row of the record."""
        return self._recording.n_state

    @property
    def _n(self) -> int:
        return self.functions.n_state

    def part_steps(self, grid: Grid) -> int:
        """Into parts of how many steps a run is divided: all of them, where the record is not too large."""
        numbers = tuning().record_bytes // 8
        a_step = self.width * len(self._fractions)
        if grid.steps * a_step <= numbers:
            return max(1, grid.steps)
        even = math.sqrt(grid.steps * (self._n + self.functions.n_summed) / a_step)  # snapshots as large as a part
        return max(1, min(math.ceil(even), numbers // a_step))

    def record_shape(self, grid: Grid) -> tuple[int, int]:
        """The shape of what a run leaves for its derivative."""
        part = self.part_steps(grid)
        if part >= grid.steps:
            return grid.steps * len(self._fractions), self.width
        return -(-grid.steps // part), self._n + self.functions.n_summed

    # -- forwards -----------------------------------------------------------------------------------------------------

    def run(self, state, t0: float, h: float, parameters, grid: Grid, *, record: bool) -> Forward:
        """All steps, or those before one that fails."""
        if record and self.part_steps(grid) >= grid.steps:
            return self._recorded(state, t0, h, parameters, grid)
        return self._plain(state, t0, h, parameters, grid, snapshots=record)

    def _plain(self, state, t0, h, parameters, grid: Grid, snapshots: bool) -> Forward:
        runner = self._runner(self.functions, state, t0, h, parameters, grid.steps)
        part = self.part_steps(grid) if snapshots else max(1, runner.chunk_steps)
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
        record = np.zeros((0, self.width))
        if snapshots:
            record = _filled(np.array(kept), self.record_shape(grid)[0])
        iterations = np.concatenate([*spent, np.zeros(0, np.int64)])
        return _ended(np.concatenate(saved), carry, iterations, status, grid, record)

    def _recorded(self, state, t0, h, parameters, grid: Grid) -> Forward:
        many = len(self._fractions)
        rows, spent, status, carry = self._steps(state, None, t0, h, parameters, (0, grid.steps))
        taken = len(rows) // many
        each = grid.every * many
        saved = np.concatenate([state[None], rows[each - 1 :: each, : self._n][: taken // grid.every]])
        iterations = np.add.reduceat(spent, np.arange(0, len(spent), each)) if len(spent) else spent
        last = rows[taken * many - 1, : self._n] if taken else state
        carry = carry._replace(state=last, step=np.array(taken))
        rows = _filled(rows[: taken * many], grid.steps * many)
        return _ended(saved, carry, iterations[: len(saved) - 1], status, grid, rows)

    def _steps(self, state, compensation, t0, h, parameters, steps: tuple[int, int]):
        """The rows of the record between two steps, the iterations of each, the status and the carry at the end."""
        first, last = steps
        begin = np.concatenate([state, np.zeros(self._step.size)])
        several = len(self._fractions) > 1
        count = (last - first) * len(self._fractions)
        t, sizes = self._times(t0, h, first, last)
        start = self._runner(self._recording, begin, float(t[0]), float(sizes[0]), parameters, count, several)
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
                chunk = start.run(carry, t0 + first * h, h, todo, 1, parameters, todo)
            saved.append(chunk.saved)
            spent.append(chunk.iterations)
            carry, status, done = chunk.carry, chunk.status, int(chunk.carry.step)
        rows = saved[0] if len(saved) == 1 else np.concatenate([np.zeros((0, self.width)), *saved])
        return rows, np.concatenate([*spent, np.zeros(0, np.int64)]), status, carry

    def _runner(self, functions, state, t, h, parameters, steps: int, sizes: bool = False) -> Any:
        wanted = EngineOptions(compensated=self._compensated, engine=self._engine, sizes=sizes, steps=steps)
        return choose_engine(functions, state, t, h, parameters, wanted)

    def _times(self, t0: float, h: float, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """When each phase of these steps begins, and its size."""
        begin = t0 + np.arange(first, last) * h
        times = begin[:, None] + self._offsets * h
        return np.ravel(times), np.ravel(np.broadcast_to(self._fractions * h, times.shape)).copy()

    # -- derivatives --------------------------------------------------------------------------------------------------

    def tangents(self, run: Forward, t0, h, parameters, moved: tuple, grid: Grid) -> np.ndarray:
        """How the saved states move, (saves + 1, n_state), with (state, t0, h, parameters)."""
        state_dot, t0_dot, h_dot, parameters_dot = moved
        saved, many = np.empty((grid.saves + 1, self._n)), len(self._fractions)
        saved[0], tail = state_dot, np.concatenate([parameters_dot, [t0_dot, h_dot]])
        now = np.array(state_dot, dtype=np.float64)
        for first, last in self._parts(run.taken, grid):
            recorded = self._part(run, t0, h, parameters, first, last, grid)
            sweep = self._sweep(recorded, forwards=True)
            now = sweep.forwards(recorded, now, tail, first * many, grid.every * many, saved[1:])
        saved[run.taken // grid.every + 1 :] = now
        return saved

    def adjoints(self, run: Forward, t0, h, parameters, cotangents: np.ndarray, grid: Grid) -> tuple:
        """(state, t0, h, parameters) bar from those of the saved states, (saves + 1, n_state)."""
        many, n = len(self._fractions), self._n
        now = np.zeros(n + len(parameters) + 2)
        rest = cotangents[run.taken // grid.every + 1 :]
        now[:n] = rest.sum(axis=0)
        rows = np.ascontiguousarray(cotangents[1:])
        for first, last in reversed(self._parts(run.taken, grid)):
            recorded = self._part(run, t0, h, parameters, first, last, grid)
            sweep = self._sweep(recorded, forwards=False)
            now = sweep.backwards(recorded, now, first * many, grid.every * many, rows)
        return now[:n] + cotangents[0], now[-2], now[-1], now[n:-2]

    def _parts(self, taken: int, grid: Grid) -> list[tuple[int, int]]:
        part = self.part_steps(grid)
        return [(first, min(first + part, taken)) for first in range(0, taken, part)]

    def _part(self, run: Forward, t0, h, parameters, first: int, last: int, grid: Grid) -> Recorded:
        """The steps first, ..., last - 1 with all that their derivatives need."""
        many, t_h = len(self._fractions), self._times(t0, h, first, last)
        fixed = np.concatenate([parameters, [t0, h]])
        if self.part_steps(grid) >= grid.steps:
            return Recorded(run.saved[0], run.record[first * many : last * many], *t_h, fixed)
        snapshot = run.record[first // self.part_steps(grid)]
        rows, *_ = self._steps(snapshot[: self._n], snapshot[self._n :], t0, h, parameters, (first, last))
        return Recorded(snapshot[: self._n], rows, *t_h, fixed)

    def _sweep(self, recorded: Recorded, *, forwards: bool) -> Sweep:
        """The compiled tangent or adjoint; its pivots suit the run for which it was first needed."""
        if forwards not in self._sweeps:
            made = (tangent if forwards else adjoint)(self._step)
            tail = self.functions.n_parameters + 2 if forwards else 0
            self._sweeps[forwards] = Sweep(made, self._n, recorded, tail)
        sweep = self._sweeps[forwards]
        sweep.improve()
        return sweep


def _filled(rows: np.ndarray, count: int) -> np.ndarray:
    """As many rows as there would be, had all steps been taken."""
    return rows if len(rows) == count else np.concatenate([rows, np.zeros((count - len(rows), rows.shape[1]))])


def _ended(saved, carry: Carry, iterations, status: int, grid: Grid, record: np.ndarray) -> Forward:
    """A run to its end, or the last state again after a step that failed."""
    missing = grid.saves + 1 - len(saved)
    if missing:
        saved = np.concatenate([saved, np.repeat(np.asarray(carry.state)[None], missing, axis=0)])
        iterations = np.concatenate([iterations, np.zeros(missing, np.int64)])
    return Forward(saved, iterations[: grid.saves], status, int(carry.step), record)


@functools.lru_cache(maxsize=64)
def differentiable(functions: StepFunctions, compensated: bool) -> Differentiable:
    """The step with its derivatives; what is compiled for one run serves the next."""
    return Differentiable(functions, compensated)
