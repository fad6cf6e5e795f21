"""A whole run of event capturing: the regular grid t0 + k h of saved states, status, statistics, events."""

from __future__ import annotations

import time

import numpy as np

from ..arguments import interval
from ..engine import Interruption, compile_time
from ..method import EventCapturing
from ..problem import AbstractSystem
from .consistent import Start
from .event_pieces import EventFailure
from .event_record import EventRecord
from .event_steps import EventLoop
from .events import Events
from .model_check import layout_of
from .options import Given, Options, check_room, checked_save_every
from .prologue import begin
from .run import Run, Status, interrupted_after, ok_after
from .step_sizes import EqualSteps


def run_events(system: AbstractSystem, method: EventCapturing, given: Given, options: Options, grid: EqualSteps) -> Run:
    """A run of one start."""
    start = begin(system, method, given, options, grid.t0, strict=True)
    check_room(grid.steps // checked_save_every(options.save_every, grid.steps) + 1, start.layout.n_state)
    return events_from(system, method, start, options, grid)


def events_from(
    system: AbstractSystem, method: EventCapturing, start: Start, options: Options, grid: EqualSteps
) -> Run:
    """Take the steps, with states saved on the regular grid."""
    t0, h, steps = grid
    t1, save_every = interval(options.t)[1], checked_save_every(options.save_every, steps)
    begun = time.perf_counter()
    status = ok_after(steps, t1)
    loop, record = EventLoop(system, method, start, t1, grid, options.engine), EventRecord(save_every)
    with compile_time() as compiling, Interruption() as interruption, options.bar(steps) as report:
        try:
            interruption.call(loop.begin)
            record.begin(interruption.call(loop.row, 0))
            while record.steps < steps and not interruption.wanted:
                record.add(interruption.call(loop.go_on, record.steps, steps - record.steps))
                report(record.steps)
        except EventFailure as failure:
            done = record.steps
            now = t0 + done * h
            message = f"step {done + 1} (from t = {now:.6g}, h = {h:g}) failed: {failure}"
            status = Status(failure.code, done, now, message)
        except KeyboardInterrupt:
            interruption.heard()
    if interruption.wanted:
        status = interrupted_after(record.steps, t0 + record.steps * h)
    layout = start.layout if start.rows is None else layout_of(system, start.layout.n)
    states, iterations = record.states(system, start.rows), record.iterations
    states = loop.first[None] if states is None else states
    finished = time.perf_counter()
    return Run(
        system=system,
        method=method,
        layout=layout,
        rows=start.rows,
        t=t0 + h * save_every * np.arange(len(states)),
        states=states,
        iterations=iterations,
        worst_iterations=iterations,
        status=status,
        h=h,
        stats={
            "engine": "native (events)" if loop.compiled_steps else "xla (events)",
            "steps": record.steps,
            "compile_seconds": compiling.seconds,
            "wall_seconds": finished - begun - compiling.seconds,
            **loop.counts,
            "compiled_steps": loop.compiled_steps,
            "events": len(loop.events),
        },
        events=Events.of(loop.events, start.layout.directions),
        more=loop.history.arrays(),
    )
