"""Runs of smooth motions with events: the steps of `equal_steps.py`, chunk by chunk, and in every chunk the zeros.

What only looks changes nothing: the states on the grid t0 + k h are those of the run without events. Where an event
ends the run, or has an action, the rest of its chunk is forgotten; the motion goes on with a shorter step to the next
time of the grid, and from there as before.
"""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import numpy as np

from ..arguments import floats
from ..engine import NOT_CONVERGED, OK, Interruption
from ..engine.tuning import tuning
from ..errors import InconsistentStart, InputError, MethodDoesNotFit, ModelError
from ..method import Method
from ..problem import AbstractSystem, Event
from .consistent import prepare_start
from .crossing_search import EventFunctions, Place, Rows, Search, SearchFailure, ShortSteps
from .crossings import Found
from .options import Given, Options, check_room, checked_save_every, state_size
from .prologue import Prepared, begin
from .run import Run, Status, interrupted_after, ok_after
from .step_sizes import EqualSteps

#: Steps of a chunk: the most, and those after an event with an action, of which the next one may be near.
MOST_STEPS, FEWEST_STEPS = 8192, 32
#: More events with actions in one step than this are a sign that they do not end.
MOST_ACTIONS = 1000
#: So many times an action may be followed by another one that cannot be told from it by its time.
MOST_AT_ONCE = 3


def run_with_events(system: AbstractSystem, method: Method, given: Given, options: Options, grid: EqualSteps) -> Run:
    """Take steps of one size, and find the events of `options.events`."""
    t0, h, steps = grid
    save_every = checked_save_every(options.save_every, steps)
    check_room(steps // save_every + 1, state_size(given.q0))
    start = begin(system, method, given, options, t0)
    if start.layout.contacts:
        raise MethodDoesNotFit(
            "events are for motions without contacts: their velocities jump inside steps. da.EventCapturing() finds "
            "what contacts do, in run.events."
        )
    if start.rows is not None and any(event.action for event in options.events):
        raise InputError(
            "an event with an action needs independent constraints: of those that depend on each other, which ones are "
            "imposed may change with the jump. Leave out the dependent ones."
        )
    prepared = Prepared.of(system, method, start, options, t0, h, steps=steps)
    loop = _Loop(prepared, grid, save_every)
    begun = time.perf_counter()
    with Interruption() as interruption, options.bar(steps) as report:
        try:
            while loop.goes_on and not interruption.wanted:
                interruption.call(loop.go_on)
                report(loop.k)
        except KeyboardInterrupt:
            interruption.heard()
    status = loop.status(interrupted=interruption.wanted)
    iterations = np.array(loop.iterations, dtype=np.int64)
    run = prepared.run(
        t=np.array(loop.times), states=np.array(loop.saved), iterations=iterations, worst=None, status=status, h=h,
        counted=loop.counted, wall_seconds=time.perf_counter() - begun,
        more={"events": len(loop.found), "short_steps": loop.short.taken},
    )  # fmt: skip
    return dataclasses.replace(run, crossings=loop.found)


class _Loop:
    """The motion at a time of the grid, and what was saved up to it."""

    def __init__(self, prepared: Prepared, grid: EqualSteps, save_every: int) -> None:
        self._prepared, self._runner, self._save_every = prepared, prepared.runner, save_every
        self._t0, self._h, self._steps = grid
        self._events = prepared.options.events
        functions = EventFunctions(self._events, prepared.layout)
        functions.check(self._t0, prepared.state)
        beside = Prepared.of(prepared.system, prepared.method, prepared.start, prepared.options, self._t0, self._h)
        self.short = ShortSteps(beside.runner, prepared.parameters)
        longest = max(abs(self._t0), abs(self._t0 + self._steps * self._h), self._h)
        self._search, self.found = Search(functions, self.short, longest), Found(self._events, prepared.layout)
        self.k, self._carry = 0, self._runner.first_carry(prepared.state)
        self.times, self.saved = [self._t0], [np.asarray(prepared.state)]
        self.iterations: list[int] = []
        self.counted = self._pending = 0  # Newton iterations of all steps, and since the last saved state
        self._begun_by: frozenset[int] | None = frozenset()
        self._ended_by, self._failure = "", (OK, "", np.nan)
        room = max(1, tuning().run_numbers // len(prepared.state))
        self._most = min(MOST_STEPS, room, self._runner.chunk_steps)
        self._length = self._most

    @property
    def goes_on(self) -> bool:
        """Whether there are steps left to take."""
        return self.k < self._steps and not self._ended_by and self._failure[0] == OK

    def go_on(self) -> None:
        """One chunk of steps; where an event changes the motion, up to the next time of the grid."""
        todo, before = min(self._length, self._steps - self.k), self._carry
        take_back = self._runner.way_back()
        chunk = self._runner.run(before, self._t0, self._h, todo, 1, self._prepared.parameters, todo)
        rows = Rows(
            self._t0 + self._h * np.arange(self.k, self.k + len(chunk.saved) + 1),
            np.concatenate([np.asarray(before.state)[None], chunk.saved]),
        )
        try:
            kept, together = self._look(rows, self._begun_by)
            self._begun_by = None
            if together:
                take_back()
            self._keep(rows.states[1 : kept + 1], chunk.iterations[:kept])
            if together:
                self._length = int(np.clip(2 * kept, FEWEST_STEPS, self._most))
                self._pass(float(rows.t[kept]), together)
                return
        except SearchFailure as failure:
            self._failure = failure.code, str(failure), np.nan
            return
        self._carry, self._length = chunk.carry, min(2 * self._length, self._most)
        if chunk.status != OK:
            now = self._t0 + self.k * self._h
            code = self._prepared.meant(chunk.carry, now, self._h, chunk.status, chunk.residual)
            self._failure = code, "", chunk.residual

    def _look(self, rows: Rows, begun_by: frozenset[int] | None) -> tuple[int, list[Place]]:
        """Note what happens up to the first event that changes the motion: how many steps come before the step in which
        it lies, and the events at that time; all steps and none where there is no such event."""
        places = self._search.places(rows, begun_by)
        first = next((place for place in places if self._events[place.which].interrupts), None)
        moment = np.inf if first is None else rows.t[first.step] + first.tau
        together = []
        for place in places:
            now = float(rows.t[place.step]) + place.tau
            if abs(now - moment) <= self._search.floor:
                together.append(place)
            elif now < moment:
                self.found.add(now, place.which, place.state, place.state)
        return (len(rows.t) - 1, []) if first is None else (first.step, together)

    def _pass(self, begin: float, together: list[Place]) -> None:
        """Through events that change the motion, and on to the next time of the grid."""
        end, spent, at_once = self._t0 + (self.k + 1) * self._h, self.short.iterations, 0
        for _ in range(MOST_ACTIONS):
            first = next(place for place in together if self._events[place.which].interrupts)
            now, at_once = min(begin + first.tau, end), at_once + 1 if first.tau <= self._search.floor else 0
            after, self._begun_by = (
                self._after(now, first.state, together),
                frozenset(place.which for place in together),
            )
            for place in together:
                self.found.add(now, place.which, first.state, after)
            if self._ended_by:
                self._save(now, first.state, self.short.iterations - spent)
                return
            if end - now <= self._search.floor or at_once > MOST_AT_ONCE:
                break
            begin, new = now, self.short(now, end - now, after)
            _, together = self._look(Rows(np.array([now, end]), np.array([after, new])), self._begun_by)
            after = new
            if not together:
                self._begun_by = frozenset()
                break
        if together and end - now > self._search.floor:
            names = ", ".join(dict.fromkeys(str(self._events[place.which].name) for place in together))
            raise SearchFailure(
                NOT_CONVERGED,
                f"the times of the event {names} accumulate at t = {begin:.10g}, after {len(self.found)} events. Let "
                "the action end the sequence (a velocity of zero, and a force that keeps it), or model impacts by gap "
                "and restitution with da.EventCapturing().",
            )
        self._keep(after[None], np.array([self.short.iterations - spent]))
        self._carry = self._runner.first_carry(after)._replace(step=np.array(self.k))

    def _after(self, now: float, state: np.ndarray, together: list[Place]) -> np.ndarray:
        """The state after all actions of one time, in the order of the events as they were given."""
        for which in sorted(place.which for place in together):
            event = self._events[which]
            if event.terminal:
                self._ended_by = str(event.name)
            if event.action is not None:
                state = jumped(self._prepared, event, now, state)
        return state

    def _keep(self, states: np.ndarray, iterations: np.ndarray) -> None:
        """Save those of the next states that lie on the grid of saved states."""
        counts = iterations.tolist()
        self.counted += sum(counts)
        for state, count in zip(states, counts, strict=True):
            self.k += 1
            self._pending += count
            if self.k % self._save_every == 0:
                self._save(self._t0 + self.k * self._h, state, 0)

    def _save(self, now: float, state: np.ndarray, iterations: int) -> None:
        self.times.append(now)
        self.saved.append(state)
        self.iterations.append(self._pending + iterations)
        self._pending = 0

    def status(self, *, interrupted: bool) -> Status:
        """How the run ended."""
        code, text, residual = self._failure
        now = self._t0 + self.k * self._h
        if self._ended_by:
            return ok_after(
                self.k, self.times[-1], f", ended by the event {self._ended_by!r} at t = {self.times[-1]:.10g}"
            )
        if interrupted:
            return interrupted_after(self.k, now)
        if text:
            return Status(code, self.k, now, f"step {self.k + 1} (from t = {now:.6g}, h = {self._h:g}) failed: {text}")
        return self._prepared.status(code, self._carry, now, self._h, residual, interrupted=False)


def jumped(prepared: Prepared, event: Event, now: float, state: np.ndarray) -> np.ndarray:
    """The state from which the motion goes on after the action of an event."""
    parts, options = prepared.layout.unflatten(np.asarray(state, dtype=np.float64)), prepared.options
    assert event.action is not None
    answer: Any = event.action(now, parts.q.copy(), parts.v.copy())
    what = f"the action of the event {event.name!r}, at t = {now:.6g},"
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        raise ModelError(f"{what} must give (q, v), got {type(answer).__name__}.")
    q, v = (floats(f"{what} gives {name}, which", part, finite=True) for name, part in zip("qv", answer, strict=True))
    if q.shape != parts.q.shape or v.shape != parts.v.shape:
        raise ModelError(f"{what} must give q and v of the shape {parts.q.shape}, got {q.shape} and {v.shape}.")
    try:
        start = prepare_start(
            prepared.system, q, v, None, now, project=options.project, redundant=options.redundant,
            any_velocity=options.any_velocity,
        )  # fmt: skip
    except InconsistentStart as error:
        raise InconsistentStart(f"{what} leaves the constraints: {error}") from error
    return np.concatenate([np.ravel(part) for part in start.state])
