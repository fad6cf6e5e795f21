"""A whole run of event capturing: the regular grid t0 + k h of saved states, status, statistics, events."""

from __future__ import annotations

import time

import numpy as np

from ..arguments import interval
from ..engine import OK, STATUS, compile_time
from ..errors import InputError
from ..method import EventCapturing
from ..problem import AbstractSystem
from .consistent import Start
from .event_runner import EventRunner
from .events import Events
from .loop import Origin, Plan, Record, take_steps
from .model_check import layout_of
from .options import Given, Options, check_room, checked_save_every
from .prologue import begin
from .run import Run, Status, interrupted_after, ok_after
from .shared_equations import flat_parameters
from .step import assemble
from .step_sizes import EqualSteps


def run_events(system: AbstractSystem, method: EventCapturing, given: Given, options: Options, grid: EqualSteps) -> Run:
    """A run of one start."""
    start = begin(system, method, given, options, grid.t0, strict=True)
    if options.checkpoint is None:
        check_room(grid.steps // checked_save_every(options.save_every, grid.steps) + 1, start.layout.n_state)
    elif start.rows is not None:
        raise InputError(
            "event capturing with constraints that depend on each other cannot go on from a checkpoint, since which of "
            "them are imposed changes on the way: leave out checkpoint, or the constraints that are superfluous."
        )
    return events_from(system, method, start, options, grid)


def events_from(
    system: AbstractSystem, method: EventCapturing, start: Start, options: Options, grid: EqualSteps
) -> Run:
    """Take the steps, in memory or into the store of a checkpoint."""
    t1, begun = interval(options.t)[1], time.perf_counter()
    save_every = checked_save_every(options.save_every, grid.steps)
    with compile_time() as compiling:
        runner = EventRunner(
            system, method, start, grid, t1, save_every, options.engine, forgets=options.checkpoint is not None
        )
        runner.begin()
        record = _record(runner, start, options, grid, save_every)
        try:
            with options.bar(grid.steps) as report:
                interrupted = take_steps(runner, record, report)
        finally:
            record.close()
    layout = start.layout if start.rows is None else layout_of(system, start.layout.n)
    stored = record.stored
    states = None if stored else np.concatenate(record.saved)
    iterations = None if stored else record.iterations.array()
    loop = runner.loop
    return Run(
        system=system,
        method=method,
        layout=layout,
        rows=start.rows,
        t=None if states is None else grid.times(save_every)[: len(states)],
        states=states,
        iterations=iterations,
        worst_iterations=iterations,
        status=_status(runner, record, grid, t1, interrupted),
        h=grid.h,
        stats={
            "engine": "native (events)" if loop.chunks.counts["steps"] else "xla (events)",
            "steps": record.step,
            "compile_seconds": compiling.seconds,
            "wall_seconds": time.perf_counter() - begun - compiling.seconds,
            **runner.report(),
        },
        events=Events.of(loop.events, start.layout.directions),
        more=loop.history.arrays(),
        stored=stored,
    )


def _record(runner: EventRunner, start: Start, options: Options, grid: EqualSteps, save_every: int) -> Record:
    """The record of the run, in memory or on disk."""
    (t0, h, steps), checkpoint, system = grid, options.checkpoint, runner.system
    limit = None if checkpoint is None else checkpoint.limit()
    chunk = min(runner.chunk_steps, limit or runner.chunk_steps)
    chunk = save_every * max(1, chunk // save_every)
    plan = Plan(
        t0, h, steps, save_every, save_every, chunk, chunk // save_every, np.asarray(flat_parameters(system)), False,
        lambda carry, status, residual: status,
    )  # fmt: skip
    carry = runner.first_carry(runner.first_state())
    if checkpoint is None:
        return Record(plan, carry)
    functions = assemble(system, runner.method, start.layout, None)
    return checkpoint.record(plan, runner, carry, Origin(system, runner.method, functions, start.layout, None, False))


def _status(runner: EventRunner, record: Record, grid: EqualSteps, t1: float, interrupted: bool) -> Status:
    done = record.step
    now = grid.t0 + done * grid.h
    if interrupted:
        return interrupted_after(done, now)
    if record.status == OK:
        return ok_after(grid.steps, t1)
    reason = STATUS[record.status] if runner.failure is None else str(runner.failure)
    message = f"step {done + 1} (from t = {now:.6g}, h = {grid.h:g}) failed: {reason}"
    return Status(record.status, done, now, message)
