"""A whole run of event capturing: the regular grid t0 + k h of saved states, status, statistics, events."""

from __future__ import annotations

import time

import numpy as np

from ..arguments import interval
from ..engine import OK, Interruption, compile_time
from ..errors import InputError
from ..method import EventCapturing, Method
from ..problem import AbstractSystem
from .consistent import is_traced, prepare_start
from .ensemble import batch_size
from .event_steps import EventFailure, EventLoop
from .events import Events
from .model_check import layout_of
from .progress import ProgressBar
from .simulate import (
    Run,
    Status,
    _steps,
    check_room,
    check_start,
    checked,
    checked_save_every,
    interrupted_after,
)


def integrate_events(
    system: AbstractSystem,
    method: Method,
    q0,
    v0=None,
    *,
    p0=None,
    t=(0.0, 1.0),
    h: float = 0.01,
    save_every: int = 1,
    progress: bool = False,
    project: bool = False,
    redundant: str = "refuse",
    compensated: bool = True,
    engine: str = "auto",
    precision: str = "double",
) -> Run:
    """Take the steps; see `dalembert.simulate` for the arguments."""
    system = checked(system, method, engine, precision)
    assert isinstance(method, EventCapturing)
    t0, t1 = interval(t)
    steps, h = _steps(t0, t1, h)
    save_every = checked_save_every(save_every, steps)
    if engine not in ("auto", "xla") or precision == "extended":
        raise InputError('event capturing runs on XLA in double precision; use engine="auto" and precision="double".')
    if not compensated:
        raise InputError(
            "event capturing does not add up increments, its states are moved onto the contacts that hold: compensated "
            "has no meaning for it. Leave compensated out."
        )
    if is_traced(system, q0, v0, p0) or batch_size(system, q0, v0, p0) is not None:
        raise InputError(
            "event capturing is for a single run with numbers: when events happen depends on them. Under jit, vmap and "
            "grad and for a batch use da.MoreauJean()."
        )
    start = prepare_start(system, q0, v0, p0, t0, project=project, redundant=redundant, strict=True)
    check_room(steps // save_every + 1, start.layout.n_state)
    check_start(system, method, t0, start)
    begun = time.perf_counter()
    status = Status(OK, steps, t1, f"ok: {steps} steps")
    loop, done, counted = EventLoop(system, method, start, t0, t1, h), 0, 0
    rows, iterations = [], []
    with compile_time() as compiling, Interruption() as interruption, ProgressBar(progress, steps) as report:
        try:
            interruption.call(loop.begin)
            rows.append(interruption.call(loop.row))
            while done < steps and not interruption.wanted:
                interruption.call(loop.advance, t0 + (done + 1) * h)
                done += 1
                if done % save_every == 0:
                    rows.append(interruption.call(loop.row))
                    loop.impulse = np.zeros_like(loop.impulse)
                    iterations.append(loop.counts["newton_iterations"] - counted)
                    counted = loop.counts["newton_iterations"]
                    report(done)
        except EventFailure as failure:
            now = t0 + done * h
            message = f"step {done + 1} (from t = {now:.6g}, h = {h:g}) failed: {failure}"
            status = Status(failure.code, done, now, message)
        except KeyboardInterrupt:
            interruption.heard()
    if interruption.wanted:
        status = interrupted_after(done, t0 + done * h)
    layout = start.layout if start.rows is None else layout_of(system, start.layout.n)
    first = loop.first[None]
    finished = time.perf_counter()
    return Run(
        system=system,
        method=method,
        layout=layout,
        rows=start.rows,
        t=t0 + h * save_every * np.arange(max(len(rows), 1)),
        states=loop.states(rows) if rows else first,
        iterations=np.array(iterations, np.int64),
        worst_iterations=np.array(iterations, np.int64),
        status=status,
        h=h,
        stats={
            "engine": "xla (events)",
            "steps": done,
            "compile_seconds": compiling.seconds,
            "wall_seconds": finished - begun - compiling.seconds,
            **loop.counts,
            "events": len(loop.events),
        },
        events=Events.of(loop.events, start.layout.directions),
    )
