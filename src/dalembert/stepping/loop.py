"""The loop over the steps of a run with one step size, and the record that it fills.

Chunks end at fixed numbers of steps, whatever happened before: a run that was interrupted and resumed is divided as
one that was not, and gives the same bits.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..engine import OK, Carry, Chunk, Interruption, Runner, StepFunctions
from ..method import Method
from ..problem import AbstractSystem
from .step import Layout

#: A failed step is halved at most so often: into 64 parts.
HALVINGS = 6


@dataclass(frozen=True)
class Plan:
    """What the loop has to do, and how it is divided."""

    t0: float
    h: float
    steps: int
    save_every: int
    stride: int  # the engine saves after so many steps: a divisor of save_every
    chunk_steps: int  # a chunk ends at every multiple
    capacity: int  # saved states in one chunk
    parameters: np.ndarray
    retry: bool  # halve a step that fails
    reason: Callable[[Carry, int, float], int]  # (carry, status, residual) of a failed step -> the status that is meant


class Origin(NamedTuple):
    """What a run is a run of."""

    system: AbstractSystem
    method: Method
    functions: StepFunctions
    layout: Layout
    rows: tuple[int, ...] | None
    compensated: bool


class Intervals:
    """Counts between saved states, from counts over `parts` pieces of each interval."""

    def __init__(self, parts: int, join) -> None:
        self._parts, self._join = parts, join
        self._whole: list[np.ndarray] = []
        self.open: list[int] = []
        self.total = 0

    def append(self, counts: np.ndarray) -> None:
        self.total += sum(counts.tolist()) if len(counts) < 20 else int(counts.sum())  # the former is quicker for few
        if self._parts == 1:
            self._whole.append(counts)
            return
        for count in counts.tolist():
            self.open.append(count)
            if len(self.open) == self._parts:
                self._whole.append(np.array([self._join(self.open)]))
                self.open = []

    def array(self) -> np.ndarray:
        return np.concatenate([*self._whole, np.zeros(0, np.int64)])

    def drain(self) -> np.ndarray:
        """The counts since the last call; they are forgotten."""
        counts, self._whole = self.array(), []
        return counts


class Record:
    """What a run has computed so far, in memory."""

    def __init__(self, plan: Plan, carry: Carry) -> None:
        self.plan, self.carry = plan, carry
        self.saved: list[np.ndarray] = [np.asarray(carry.state)[None]]
        parts = plan.save_every // plan.stride
        self.iterations, self.worst = Intervals(parts, sum), Intervals(parts, max)
        self.status, self.residual, self.halved = OK, np.nan, 0
        self._begun = time.perf_counter()

    @property
    def step(self) -> int:
        """How many steps were taken."""
        return int(self.carry.step)

    @property
    def seconds(self) -> float:
        """How long the run has taken."""
        return time.perf_counter() - self._begun

    @property
    def stored(self) -> Any:
        """Where the rows are, if they are not in memory."""
        return None

    def begin_chunk(self, runner: Runner) -> Callable[[], None]:
        """What brings the runner back to where it is now, if the chunk that begins is not taken."""
        return lambda: None

    def takes(self, chunk: Chunk, steps: int) -> bool:
        """Whether a chunk of so many steps that Ctrl-C has cut short is worth keeping."""
        return True

    def absorb(self, chunk: Chunk) -> None:
        """Add a chunk that starts where the record ends."""
        plan, saved = self.plan, chunk.saved
        if plan.stride != plan.save_every:
            steps = plan.stride * (self.step // plan.stride + 1 + np.arange(len(saved)))
            saved = saved[steps % plan.save_every == 0]
        self.saved.append(saved)
        self.iterations.append(chunk.iterations)
        self.worst.append(chunk.worst)
        self.carry, self.status, self.residual = chunk.carry, chunk.status, chunk.residual

    def chunk_ended(self) -> None:
        """Called after every chunk; a record on disk writes now and then."""

    def run_ended(self) -> None:
        """Called once, when the loop has ended for whatever reason."""

    def close(self) -> None:
        """Give up what the record holds of the system."""


class Keeping(Protocol):
    """Where a run keeps its record, if not in memory: what the loop has to know of it."""

    def limit(self) -> int | None:
        """The number of steps after which the record is to be kept at least; None leaves it to the record."""
        ...

    def record(self, plan: Plan, runner: Runner, carry: Carry, about: Origin) -> Record:
        """The record of a run that begins, or goes on where it was left."""
        ...


def take_steps(runner: Runner, record: Record, report) -> bool:
    """Fill the record; whether the user interrupted it."""
    plan = record.plan
    with Interruption() as interruption:
        try:
            while record.step < plan.steps and not interruption.wanted:
                if record.status == OK:
                    todo = min(plan.chunk_steps - record.step % plan.chunk_steps, plan.steps - record.step)
                    take_back = record.begin_chunk(runner)
                    try:
                        chunk = interruption.call(
                            runner.run, record.carry, plan.t0, plan.h, todo, plan.stride, plan.parameters, plan.capacity
                        )
                    except KeyboardInterrupt:
                        take_back()
                        raise
                    if interruption.wanted and not record.takes(chunk, todo):
                        take_back()
                        break
                    record.absorb(chunk)
                if record.status != OK:
                    if interruption.wanted:  # the engine may have given up for that
                        record.status = OK
                        break
                    repeated = interruption.call(_in_parts, runner, record) if plan.retry else None
                    if repeated is None:
                        record.status = plan.reason(record.carry, record.status, record.residual)
                        break
                    record.absorb(repeated)
                    record.halved += 1
                record.chunk_ended()
                report(record.step)
        except KeyboardInterrupt:
            interruption.heard()
        record.run_ended()
    return interruption.wanted


def _in_parts(runner: Runner, record: Record) -> Chunk | None:
    """The step that failed, halved; None if that fails too."""
    plan, stuck = record.plan, record.carry
    end = _halved(runner, plan, stuck, plan.t0 + record.step * plan.h, plan.h, HALVINGS)
    if end is None:
        return None
    after = runner.first_carry(end.carry.state)._replace(
        compensation=end.carry.compensation, step=np.array(record.step + 1)
    )
    due = int((record.step + 1) % plan.stride == 0)
    return Chunk(after, np.asarray(after.state)[None][:due], end.iterations[:due], end.worst[:due], OK, end.residual)


def _halved(runner: Runner, plan: Plan, carry: Carry, t: float, h: float, depth: int) -> Chunk | None:
    """One step as two of half the size, each of them halved in turn where it fails."""
    spent, worst, end = 0, 0, None
    for part in range(2):
        start = runner.first_carry(carry.state)._replace(compensation=carry.compensation)
        end = runner.run(start, t + part * h / 2, h / 2, 1, 1, plan.parameters, plan.capacity)
        if end.status != OK:
            end = _halved(runner, plan, carry, t + part * h / 2, h / 2, depth - 1) if depth > 1 else None
        if end is None:
            return None
        spent, worst, carry = spent + int(end.iterations.sum()), max(worst, int(end.worst.max(initial=0))), end.carry
    assert end is not None
    return end._replace(iterations=np.array([spent]), worst=np.array([worst]))
