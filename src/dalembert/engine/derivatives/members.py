"""Members of a batch side by side: their runs and adjoints in vectors, one member a lane.

    run        the vector code of an ensemble
    adjoint    some groups of lanes at a time: the run once more, recorded, while the record is in the cache; then back

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
from .lane_sweep import LaneRecord, LaneSweep, cores
from .programs import adjoint
from .recorded import Differentiable, Grid, differentiable
from .sweep import Recorded

_Code = TypeVar("_Code")


class Batch(NamedTuple):
    """Where the members begin, and how they differ."""

    states: np.ndarray  # (members, n_state)
    t0: float
    h: float
    parameters: np.ndarray  # (members, n_parameters)

    def some(self, first: int, last: int) -> Batch:
        """A part of the members."""
        return self._replace(states=self.states[first:last], parameters=self.parameters[first:last])


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
        states = np.concatenate([batch.states[:, None], runner.members_first(saved)], axis=1)
        count = len(states)
        spent = np.repeat(iterations, runner.width, axis=0)[:count]
        found = states, spent, np.full(count, OK), np.full(count, grid.steps)
        return Together(found, np.flatnonzero(runner.failed >= 0))

    def adjoints(self, batch: Batch, bars: np.ndarray, grid: Grid) -> Together:
        """(state, t0, h, parameters) bar from those of the saved states, (members, saves + 1, n_state)."""
        n, p = batch.states.shape[1], batch.parameters.shape[1]
        found, failed = np.empty((len(bars), n + p + 2)), []
        at_once = self._members_at_once(grid)
        for first in range(0, len(bars), at_once):
            last = min(first + at_once, len(bars))
            found[first:last], wrong = self._backwards(batch.some(first, last), bars[first:last], grid)
            failed.append(first + wrong)
        return Together((found[:, :n], found[:, -2], found[:, -1], found[:, n:-2]), np.concatenate(failed))

    def _members_at_once(self, grid: Grid) -> int:
        """So many that their records stay in the cache, in whole groups for every core."""
        row = self._step.functions.n_state + len(self._step.reads)
        group = 8 * row * lanes() * grid.steps
        groups = max(1, tuning().records_in_cache // group // cores()) * cores()
        if group * groups > tuning().record_bytes:
            raise TooLarge("the record of one group of members is too large")
        return groups * lanes()

    def _backwards(self, batch: Batch, bars: np.ndarray, grid: Grid) -> tuple[np.ndarray, np.ndarray]:
        """The adjoints of some members, and which of them failed."""
        begin = batch._replace(states=np.pad(batch.states, ((0, 0), (0, len(self._step.reads)))))
        recording = self._step.recording(self._step.reads)
        code = self._once("recording", lambda: _ensemble(recording, begin, self._step.compensated))
        runner = code.begin(begin.states, begin.parameters)
        rows, _ = taken_together(runner, batch.t0, batch.h, Grid(grid.steps, 1))
        t = batch.t0 + np.arange(grid.steps) * batch.h
        fixed = np.pad(batch.parameters, ((0, 0), (0, 2)))
        fixed[:, -2:] = batch.t0, batch.h
        first = Recorded(batch.states[0], np.ascontiguousarray(rows[0, :, :, 0]), t, np.full(len(t), batch.h), fixed[0])
        made = adjoint(self._step.step, self._step.reads)
        sweep = self._once("adjoint", lambda: LaneSweep(made, len(batch.states[0]), first))
        recorded = LaneRecord(rows, runner.in_lanes(batch.states), runner.in_lanes(fixed), t, batch.h)
        end, lost = sweep.backwards(recorded, runner.in_lanes(bars[:, 1:].reshape(len(bars), -1)), grid.every)
        found = runner.members_first(end)
        found[:, : batch.states.shape[1]] += bars[:, 0]
        return found, np.flatnonzero((runner.failed >= 0) | runner.members_first(lost[:, None])[:, 0])


def _ensemble(functions, batch: Batch, compensated: bool) -> EnsembleRun:
    if functions.size >= tuning().rolled_from:
        raise TooLarge(f"a step has {functions.size} unknowns")
    first = batch.some(0, 1)
    return EnsembleRun(functions, first.states, first.t0, first.h, first.parameters, compensated)


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
