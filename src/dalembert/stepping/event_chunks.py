"""Chunks of compiled smooth steps in a run of event capturing: they end where something happens inside a step.

Where bounces are many, a step with one bounce and nothing else is compiled too (`method/event_bounce.py`), and chunks
go on through it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..engine import Carry, Chunk
from ..method.event_equations import Modes
from .event_pieces import CompiledMode, Pieces

#: Steps of one chunk, and numbers that its saved states may have.
MOST_STEPS, MOST_NUMBERS = 4096, 4_000_000
#: A step with a bounce is compiled once there were so many, if there will be as many as this at that rate: it takes as
#: long as a thousand bounces without it.
FEWEST_BOUNCES, MANY_BOUNCES = 10, 1000


class Taken(NamedTuple):
    """A chunk; and a row for each step with a bounce: its number, and what happened (`bounce_state`)."""

    chunk: Chunk
    bounces: np.ndarray


class SmoothChunks:
    """The compiled smooth steps of one run."""

    def __init__(self, pieces: Pieces, h: float, steps: int) -> None:
        self._pieces, self._h, self._steps = pieces, h, steps
        self._guarded = -1  # the number of the step in which the guard saw something
        self._carry: tuple[CompiledMode, np.ndarray, Carry] | None = None
        self.expects_bounces = False  # whether others of the same kind have bounced so often
        self.one_by_one = False  # whether bounces are taken outside compiled steps, where their parts are noted
        self.counts = {"steps": 0, "bounces": 0}  # bounces that were plain ones, compiled or not

    def forget(self) -> None:
        """Begin the next chunk as the first."""
        self._guarded, self._carry = -1, None

    def take(self, k: int, most: int, t0: float, state: np.ndarray, y: np.ndarray, modes: Modes) -> Taken | None:
        """At most so many steps from t0 + k h on, `state` being what the steps of a mode work on without what is seen
        inside; None where the next one is not for compiled code."""
        t = t0 + k * self._h
        mode = None if k == self._guarded else self._pieces.mode(t, y, modes)
        if mode is None:
            return None
        runner, parameters = mode.runner, self._pieces.parameters(modes, guarded=True)
        steps = min(most, MOST_STEPS, runner.chunk_steps, max(1, MOST_NUMBERS // len(state)))
        carry = self._begin(mode, k, state, y)
        bounced = self.counts["bounces"]
        many = self.expects_bounces or (bounced >= FEWEST_BOUNCES and bounced * self._steps >= MANY_BOUNCES * k)
        both = self._pieces.bounces(t, y, modes) if many and not self.one_by_one else None
        if both is not None:
            chunk, bounces = both.run(carry, t0, self._h, steps, parameters)
            self.counts["bounces"] += len(bounces)
        else:
            chunk, bounces = runner.run(carry, t0, self._h, steps, 1, parameters, steps), np.zeros((0, 1))
        reached = int(chunk.carry.step)
        if reached < k + steps:
            self._guarded = reached
        self._carry = mode, np.array(chunk.carry.state[: len(y)]), chunk.carry
        self.counts["steps"] += reached - k
        return Taken(chunk, bounces) if reached > k else None

    def _begin(self, mode: CompiledMode, k: int, state: np.ndarray, y: np.ndarray) -> Carry:
        """Where the chunk goes on from, with what Newton remembers, if nothing happened since the last one."""
        if self._carry is not None:
            earlier, end, carry = self._carry
            if earlier is mode and int(carry.step) == k and np.array_equal(end, y):
                return carry
        contacts = mode.looks[0][1]
        whole = np.zeros(mode.entries)
        whole[: len(state) - contacts], whole[-contacts:] = state[:-contacts], state[-contacts:]
        return mode.runner.first_carry(whole)._replace(step=np.array(k))
