"""States of a run of event capturing at any time inside it.

From the saved state before it the motion is computed again, in the same modes and through the same events, by steps of
the run's size and a last one that ends at the time in question: states have the order of the method at every time, on
either side of impacts. At an event the state after it counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import StepFailure
from ..method import EventCapturing
from ..problem import AbstractSystem, State
from .consistent import Start
from .event_pieces import EventFailure
from .event_record import ModeHistory, Moment, flat_states, joined
from .event_steps import EventLoop
from .events import Events
from .step import Layout
from .step_sizes import EqualSteps

#: Times closer than this part of a step to its end are the end.
SAME = 1e-9


@dataclass(frozen=True)
class SavedEvents:
    """What a run of event capturing has saved: states, (N, ...), at the times t, and what happened between them."""

    system: AbstractSystem
    method: EventCapturing
    rows: tuple[int, ...] | None
    t: np.ndarray
    h: float
    states: State
    modes: ModeHistory
    events: Events

    def at(self, times: np.ndarray) -> State:
        """The states at times inside the run, (N, ...)."""
        every = max(1, round(float(self.t[1] - self.t[0]) / self.h)) if len(self.t) > 1 else 1
        before = np.clip(np.searchsorted(self.t, times, side="right") - 1, 0, None)
        order, rows, taken = np.argsort(times, kind="stable"), [], -1
        loop = self._loop(every)
        moment = loop.moment
        for time, saved in zip(times[order].tolist(), before[order].tolist(), strict=True):
            if saved * every > taken:
                taken, moment = saved * every, self._moment(saved)
            loop.move_to(moment)
            try:
                while moment.t + self.h * (1 + SAME) <= time:
                    taken += 1
                    loop.advance(float(self.t[0]) + taken * self.h)
                    moment = loop.moment
                loop.advance(time)
                rows.append(loop.row(0))
            except EventFailure as failure:
                raise StepFailure(f"the motion to t = {time:.6g} could not be computed again: {failure}") from failure
        flat = flat_states(self.system, self.rows, joined(rows))
        edges = np.cumsum([part.shape[1] for part in self.states])[:-1]
        return State(*np.split(flat[np.argsort(order, kind="stable")], edges, axis=1))

    def _loop(self, every: int) -> EventLoop:
        """A loop like that of the run."""
        q, _, _, lam, psi, impulse = (part[0] for part in self.states)
        contacts = len(self.modes.at(float(self.t[0])).closed)
        kept = lam if self.rows is None else lam[list(self.rows)]
        layout = Layout(len(q), len(kept), len(psi), contacts, len(impulse) // contacts)
        start = Start(self.states.row(0)._replace(lam=kept), layout, self.rows)
        grid = EqualSteps(float(self.t[0]), self.h, every * (len(self.t) - 1))
        loop = EventLoop(self.system, self.method, start, float(self.t[-1]), grid, "auto")
        loop.begin()  # which tells how wide events are
        return loop

    def _moment(self, saved: int) -> Moment:
        """The motion at a saved state."""
        t, state = float(self.t[saved]), self.states.row(saved)
        modes = self.modes.at(t + self.h / 4)  # noted at the ends of steps, of which this is one up to roundoff
        hits = self.events.only("impact")
        fastest = np.zeros(len(modes.closed))
        earlier = hits.time <= t
        np.maximum.at(fastest, hits.contact[earlier], np.abs(hits.before[earlier, 0]))
        second = state.p if self.system.gives_velocity else state.v
        return Moment(t, np.concatenate([state.q, second]), modes, fastest)
