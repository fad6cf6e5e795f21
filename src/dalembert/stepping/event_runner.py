"""Event capturing as a runner of steps of one size: what the loop over chunks, records and checkpoints ask of one.

A chunk ends where something happens inside a step or after a while, whichever is sooner; rows between saved states are
summed up. A run that is kept on disk forgets, wherever the division into chunks says so, all that only helps it to be
quick (scales, what Newton remembers): so it goes on from a checkpoint bit for bit.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ..engine import HISTORY, OK, Carry, Chunk, Runner, is_wanted
from ..method import EventCapturing
from ..method.event_equations import Modes
from ..problem import AbstractSystem
from .consistent import Start
from .event_moment import ModeHistory, Moment
from .event_pieces import EventFailure
from .event_record import OpenInterval, Rows, flat_states, joined
from .event_steps import EventLoop
from .events import Events
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
