"""A whole run of event capturing: its steps as chunks, like those of other runs, and its record.

Rows between saved states are summed up. A run that is kept on disk forgets at the end of every chunk all that only
helps it to be quick (scales, what Newton remembers): so it goes on from a checkpoint bit for bit.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arguments import interval
from ..engine import HISTORY, OK, STATUS, Carry, Chunk, Runner, compile_time, is_wanted
from ..errors import InputError
from ..method import EventCapturing
from ..method.event_equations import Modes
from ..problem import AbstractSystem
from .consistent import Start
from .event_pieces import EventFailure
from .event_record import ModeHistory, Moment, OpenInterval, Rows, flat_states, joined
from .event_steps import EventLoop
from .events import Events
from .loop import Origin, Plan, Record, take_steps
from .model_check import layout_of
from .options import Given, Options, check_room, checked_save_every
from .prologue import begin
from .run import Run, Status, interrupted_after, ok_after
from .shared_equations import flat_parameters
from .step import assemble
from .step_sizes import EqualSteps

#: What the condition of such a run is called among those of others.
KIND = "events"
#: The division into chunks of a run that is kept on disk; the seconds after which others report.
CHUNK_STEPS, SECONDS = 16_384, 0.1


class EventRunner(Runner):
    """One run of event capturing."""

    chunk_steps = CHUNK_STEPS

    def __init__(
        self, system: AbstractSystem, method: EventCapturing, start: Start, grid: EqualSteps, t1: float,
        save_every: int, engine: str, *, forgets: bool = False,
    ) -> None:  # fmt: skip
        """`forgets`: whether nothing that helps goes from one chunk to the next.

        Many arguments: this is where a run becomes a runner.
        """
        self.system, self.method = system, method
        self._rows, self._directions = start.rows, start.layout.directions
        self._forgets = forgets
        self.loop = EventLoop(system, method, start, t1, grid, engine, fresh=forgets)
        self.name = "xla (events)" if engine == "xla" else "native (events)"
        self.failure: EventFailure | None = None
        layout = start.layout
        sizes = 2 * layout.n, len(self.loop.first) - 3 * layout.n - layout.k - layout.contacts * layout.directions
        self._nothing = Rows.none(*sizes, layout.k, layout.contacts * layout.directions)
        self._open = OpenInterval(save_every)

    def begin(self) -> None:
        """The impacts and modes at the start."""
        try:
            self.loop.begin()
        except EventFailure as failure:
            self.failure = failure

    def first_carry(self, state: np.ndarray) -> Carry:
        return self._carry(np.asarray(state), 0)

    def first_state(self) -> np.ndarray:
        """The state at the start, after `begin`."""
        return self.loop.first if self.failure is not None else self._flat(self.loop.row(0))[0]

    @staticmethod
    def _carry(state: np.ndarray, step: int) -> Carry:
        none = np.zeros(0)
        return Carry(state, none, np.zeros((HISTORY, 0)), np.array(0), none, np.array(step))

    def run(self, carry: Carry, t0: float, h: float, steps: int, save_every: int, parameters, capacity: int) -> Chunk:
        """At most so many steps: less where somebody waits for a report."""
        first, done, begun = int(carry.step), 0, time.perf_counter()
        rows, status = [self._nothing], OK if self.failure is None else self.failure.code
        while status == OK and done < steps and not is_wanted():
            try:
                found = self.loop.go_on(first + done, steps - done)
            except EventFailure as failure:
                self.failure, status = failure, failure.code
                break
            rows.append(self._open.closed_by(found, first + done))
            done += len(found.t)
            if not self._forgets and time.perf_counter() - begun > SECONDS:
                break
        if self._forgets:
            self.loop.forget()
        kept = joined(rows)
        last = self.loop.row(0)
        state = self._flat(last._replace(impulse=np.zeros_like(last.impulse)))[0] if done else np.asarray(carry.state)
        return Chunk(
            self._carry(state, first + done), self._flat(kept), kept.iterations, kept.iterations, status, np.nan
        )

    def _flat(self, rows: Rows) -> np.ndarray:
        return flat_states(self.system, self._rows, rows)

    def report(self) -> dict:
        counts = {"compiled_steps": self.loop.chunks.counts["steps"], "events": len(self.loop.events)}
        return {**self.loop.counts, **counts}

    # -- going on in another process -------------------------------------------------------------------------------

    @property
    def condition(self) -> dict[str, Any]:
        """All of the run that is no row: numbers and arrays by name."""
        loop, open_ = self.loop, self._open
        t, y, modes, fastest, far, fast = loop.moment
        return {
            "kind": KIND,
            "moment": {
                "t": t, "y": y, "modes": np.array([*map(np.asarray, modes[:3])], dtype=np.float64),
                "dependent": float(modes.dependent), "fastest": fastest, "far": far, "fast": fast,
            },
            "open": {"impulse": np.array(open_.impulse), "iterations": int(open_.iterations)},
            "counts": dict(loop.counts),
            "chunks": loop.chunks.counts,
            "events": Events.of(loop.events, self._directions).arrays(),
            "modes": loop.history.arrays(),
            "pieces": loop.pieces.condition,
            "failure": None if self.failure is None else [self.failure.code, str(self.failure)],
        }  # fmt: skip

    def restore(self, condition: dict[str, Any], parameters: np.ndarray) -> None:
        """Bring a run that has begun to where another one was."""
        loop, at = self.loop, condition["moment"]
        closed, sticking, direction = at["modes"]
        modes = Modes(closed.astype(bool), sticking.astype(bool), direction, float(at["dependent"]))
        loop.move_to(Moment(float(at["t"]), at["y"], modes, at["fastest"], float(at["far"]), float(at["fast"])))
        self._open.impulse = np.array(condition["open"]["impulse"])
        self._open.iterations = int(condition["open"]["iterations"])
        loop.counts = {name: int(count) for name, count in condition["counts"].items()}
        loop.chunks.counts = {name: int(count) for name, count in condition["chunks"].items()}
        loop.events = list(Events.from_arrays(condition["events"]))
        loop.history = ModeHistory.from_arrays(condition["modes"])
        loop.pieces.restore(condition["pieces"])
        failure = condition["failure"]
        self.failure = None if failure is None else EventFailure(int(failure[0]), str(failure[1]))
        loop.forget()

    def way_back(self) -> Callable[[], None]:
        kept = self.condition
        return lambda: self.restore(kept, np.zeros(0))


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
    system: AbstractSystem, method: EventCapturing, start: Start, options: Options, grid: EqualSteps,
    *, bouncing: bool = False,
) -> Run:  # fmt: skip
    """Take the steps, in memory or into the store of a checkpoint; `bouncing` says that bounces will be many."""
    t1, begun = interval(options.t)[1], time.perf_counter()
    save_every = checked_save_every(options.save_every, grid.steps)
    with compile_time() as compiling:
        runner = EventRunner(
            system, method, start, grid, t1, save_every, options.engine, forgets=options.checkpoint is not None
        )
        runner.loop.chunks.expects_bounces = bouncing
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
