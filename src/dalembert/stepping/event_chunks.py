"""Chunks of compiled smooth steps in a run of event capturing: they end where something happens inside a step."""

from __future__ import annotations

import numpy as np

from ..engine import Carry, Chunk, Runner
from ..method.event_equations import Modes
from .event_pieces import CompiledMode, Pieces

#: Steps of one chunk, and numbers that its saved states may have.
MOST_STEPS, MOST_NUMBERS = 4096, 4_000_000


class SmoothChunks:
    """The compiled smooth steps of one run."""

    def __init__(self, pieces: Pieces, h: float) -> None:
        self._pieces, self._h = pieces, h
        self._guarded = -1  # the number of the step in which the guard saw something
        self._carry: tuple[Runner, np.ndarray, Carry] | None = None
        self.taken = 0

    def take(self, k: int, most: int, t0: float, state: np.ndarray, y: np.ndarray, modes: Modes) -> Chunk | None:
        """At most so many steps from t0 + k h on, `state` being what is saved of one; None where the next one is not
        for compiled code."""
        mode = None if k == self._guarded else self._pieces.mode(t0 + k * self._h, y, modes)
        if mode is None:
            return None
        runner, parameters = mode.runner, self._pieces.parameters(modes, guarded=True)
        steps = min(most, MOST_STEPS, runner.chunk_steps, max(1, MOST_NUMBERS // len(state)))
        carry = self._begin(mode, k, state, y)
        chunk = runner.run(carry, t0, self._h, steps, 1, parameters, steps)
        reached = int(chunk.carry.step)
        if reached < k + steps:
            self._guarded = reached
        self._carry = runner, np.array(chunk.carry.state[: len(y)]), chunk.carry
        self.taken += reached - k
        return chunk if reached > k else None

    def _begin(self, mode: CompiledMode, k: int, state: np.ndarray, y: np.ndarray) -> Carry:
        """Where the chunk goes on from, with what Newton remembers, if nothing happened since the last one."""
        if self._carry is not None:
            earlier, end, carry = self._carry
            if earlier is mode.runner and int(carry.step) == k and np.array_equal(end, y):
                return carry
        whole = np.zeros(mode.entries)
        whole[: len(state)] = state
        return mode.runner.first_carry(whole)._replace(step=np.array(k))
