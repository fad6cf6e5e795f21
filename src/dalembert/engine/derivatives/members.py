"""Members of a batch side by side: their runs and adjoints in vectors, one member a lane.

    run        the vector code of an ensemble
    adjoint    every core takes a group of lanes after the other: the run once more, recorded, and back while the record
               is in its cache

What does not fit here is taken member by member by whoever asks: steps that are too large for vectors, and members that
fail in vectors, where nothing is mended.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..contract import OK, StepFunctions
from ..machine.compilation import lanes
from ..runners.ensemble import EnsembleRun
from ..runners.translation import TooLarge
from ..tuning import tuning
from .lane_sweep import LaneRuns, LaneSweep, cores
from .programs import adjoint
from .recorded import Differentiable, Grid, differentiable

_Code = TypeVar("_Code")


class Batch(NamedTuple):
    """Where the members begin, and how they differ."""

    states: np.ndarray  # (members, n_state)
    t0: float
    h: float
    parameters: np.ndarray  # (members, n_parameters)


class Together(NamedTuple):
    """What members did side by side."""

    found: tuple[np.ndarray, ...]  # members first
    failed: np.ndarray  # the members that failed, whose rows mean nothing


class SideBySide:
    """A step in vectors, with its adjoint; translated when it is first needed, for the first member of that batch."""

    def __init__(self, step: Differentiable) -> None:
        self._step = step
        self._made: dict[str, Any] = {}

    def _once(self, name: str, make: Callable[[], _Code]) -> _Code:
        """What is translated once; also that it is too large is found out once."""
        if name not in self._made:
            try:
                self._made[name] = make()
            except TooLarge as reason:
                self._made[name] = TooLarge(str(reason))
        if isinstance(self._made[name], TooLarge):
            raise self._made[name]
        return self._made[name]

    def run(self, batch: Batch, grid: Grid) -> Together:
        """Saved states, iterations (of a group of lanes), status and steps taken."""
        code = self._once("run", lambda: _ensemble(self._step.functions, batch, self._step.compensated))
        runner = code.begin(batch.states, batch.parameters)
        saved, iterations = taken_together(runner, batch.t0, batch.h, grid)
        count, n = batch.states.shape
        states = np.empty((*saved.shape[::3], grid.saves + 1, n))  # groups, lanes, ...
        states[:, :, 1:] = np.moveaxis(saved, -1, 1)
        states = states.reshape(-1, grid.saves + 1, n)[:count]
        states[:, 0] = batch.states
        spent = np.repeat(iterations, runner.width, axis=0)[:count]
        found = states, spent, np.full(count, OK), np.full(count, grid.steps)
        return Together(found, np.flatnonzero(runner.failed >= 0))

    def adjoints(self, batch: Batch, bars: np.ndarray, grid: Grid) -> Together:
        """(state, t0, h, parameters) bar from those of the saved states, (members, saves + 1, n_state)."""
        step, n, p = self._step, batch.states.shape[1], batch.parameters.shape[1]
        begin = batch._replace(states=np.pad(batch.states, ((0, 0), (0, len(step.reads)))))
        recording = step.recording(step.reads)
        code = self._once("recording", lambda: _ensemble(recording, begin, step.compensated))
        sweep = self._once("adjoint", lambda: self._sweep(batch, grid))
        a_group = (code.operations + sweep.operations) * grid.steps
        row = 8 * recording.n_state * lanes()
        if row * grid.steps > tuning().record_bytes or a_group > tuning().chunk_operations:
            raise TooLarge("the record of one group of members is too large")
        at_once = tuning().chunk_operations // a_group * cores() * lanes()  # between them Ctrl-C is heard
        found, failed = np.empty((len(bars), n + p + 2)), []
        for first in range(0, len(bars), at_once):
            last = min(first + at_once, len(bars))
            runner = code.begin(begin.states[first:last], batch.parameters[first:last])
            fixed = np.pad(batch.parameters[first:last], ((0, 0), (0, 2)))
            fixed[:, -2:] = batch.t0, batch.h
            starts = runner.in_lanes(batch.states[first:last]), runner.in_lanes(fixed)
            runs = LaneRuns(runner, *starts, batch.t0, batch.h, grid.steps)
            added = runner.in_lanes(bars[first:last, 1:].reshape(last - first, -1))
            end, lost = sweep.backwards(runs, added, grid.every)
            found[first:last] = runner.members_first(end)
            failed.append(first + np.flatnonzero((runner.failed >= 0) | runner.members_first(lost[:, None])[:, 0]))
        found[:, :n] += bars[:, 0]
        return Together((found[:, :n], found[:, -2], found[:, -1], found[:, n:-2]), np.concatenate(failed))

    def _sweep(self, batch: Batch, grid: Grid) -> LaneSweep:
        """The adjoint in vectors, with pivots that suit the first member that does not fail at once."""
        step, t0, h = self._step, batch.t0, batch.h
        for state, parameters in zip(batch.states, batch.parameters, strict=True):
            record = step.record(state, t0, h, parameters, grid)
            if record.taken:
                run = step.recorded(record, t0, h, parameters, (0, record.taken), grid)
                return LaneSweep(adjoint(step.step, step.reads), len(state), run)
        raise TooLarge("every member fails in its first step")


def _ensemble(functions, batch: Batch, compensated: bool) -> EnsembleRun:
    if functions.size >= tuning().rolled_from:
        raise TooLarge(f"a step has {functions.size} unknowns")
    return EnsembleRun(functions, batch.states[:1], batch.t0, batch.h, batch.parameters[:1], compensated)


def taken_together(runner: EnsembleRun, t0: float, h: float, grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """All steps of a batch: saved states as they lie in lanes (groups, saves, n, lanes), and the iterations of each
    group before each."""
    saved, spent, taken = [], [], 0
    while taken < grid.steps:
        begins = True
        for todo in runner.pieces(min(max(1, runner.chunk_steps), grid.steps - taken)):
            rows, iterations = runner.run_in_lanes(t0, h, todo, grid.every, begins)
            saved.append(rows)
            if spent and taken % grid.every:  # a save is not yet due
                iterations[:, 0] += spent[-1][:, -1]
                spent[-1] = spent[-1][:, :-1]
            spent.append(iterations[:, : rows.shape[1] + 1])
            taken, begins = taken + todo, False
            if taken % grid.every == 0:
                spent[-1] = spent[-1][:, :-1]
    rows = saved[0] if len(saved) == 1 else np.concatenate(saved, axis=1)
    return rows, np.concatenate(spent, axis=1)[:, : grid.saves]


@functools.lru_cache(maxsize=64)
def side_by_side(functions: StepFunctions, compensated: bool) -> SideBySide:
    """The step in vectors; what is translated for one batch serves the next."""
    return SideBySide(differentiable(functions, compensated))
