"""Chunks of compiled smooth steps in a run of event capturing: they end where something happens inside a step.

A mode is compiled once it has lasted for some steps, in a run that is long enough: for few steps it would not pay.
Whether it is depends on the run alone, not on what was compiled before it.
"""

from __future__ import annotations

import warnings

import numpy as np

from ..engine import Carry, Chunk, Runner, compiled_or_reason
from ..errors import SlowEngineWarning
from ..method import EventCapturing
from ..method.event_capturing import Modes
from ..problem import AbstractSystem
from .event_smooth import guarded_steps
from .family import Family
from .step import Layout

#: Steps of a run from which on its modes are compiled, and steps that a mode but the first one has to last before.
SHORTEST_RUN, STEPS_IN_A_MODE = 400, 10
#: Steps of one chunk, and numbers that its saved states may have.
MOST_STEPS, MOST_NUMBERS = 4096, 4_000_000

Mode = tuple[tuple[bool, ...], tuple[bool, ...]]


class SmoothChunks:
    """The compiled smooth steps of one run, by mode."""

    def __init__(
        self, system: AbstractSystem, method: EventCapturing, layout: Layout, parameters, h: float, steps: int,
        engine: str,
    ):  # fmt: skip
        self._system, self._tableau, self._layout = system, method.smooth_part, layout
        self._parameters, self._h = parameters, h
        self._compiles = engine != "xla" and steps >= SHORTEST_RUN
        self._runners: dict[Mode, Runner | str] = {}
        self._lasted: dict[Mode, int] = {}
        self._guarded = -1  # the number of the step in which the guard saw something
        self._carry: tuple[Mode, np.ndarray, Carry] | None = None
        self.taken = 0

    def take(self, k: int, most: int, t0: float, state: np.ndarray, modes: Modes) -> Chunk | None:
        """At most so many steps from t0 + k h on; None where the next one is not for compiled code."""
        mode = tuple(modes.closed.tolist()), tuple(modes.sticking.tolist())
        if k == self._guarded or modes.dependent or not self._worth_while(mode):
            return None
        parameters = np.concatenate([self._parameters, modes.direction])
        if mode not in self._runners:
            functions = guarded_steps(Family(self._system), self._tableau, self._layout, *mode)
            self._runners[mode] = compiled_or_reason(functions, state, t0 + k * self._h, self._h, parameters)
            if isinstance(self._runners[mode], str):
                warnings.warn(
                    f"smooth steps between events are not compiled, since {self._runners[mode]}; they take about a "
                    "hundred times longer. Write that part of the model by other operations.",
                    SlowEngineWarning,
                    stacklevel=2,
                )
        runner = self._runners[mode]
        if isinstance(runner, str):
            return None
        steps = min(most, MOST_STEPS, runner.chunk_steps, max(1, MOST_NUMBERS // len(state)))
        chunk = runner.run(self._begin(runner, mode, k, state), t0, self._h, steps, 1, parameters, steps)
        reached = int(chunk.carry.step)
        if reached < k + steps:
            self._guarded = reached
        self._carry = mode, np.asarray(chunk.carry.state), chunk.carry
        self.taken += reached - k
        return chunk if reached > k else None

    def _worth_while(self, mode: Mode) -> bool:
        if not self._compiles:
            return False
        lasted = self._lasted.get(mode, 0 if self._lasted else STEPS_IN_A_MODE)
        self._lasted[mode] = lasted + 1
        return lasted >= STEPS_IN_A_MODE

    def _begin(self, runner: Runner, mode: Mode, k: int, state: np.ndarray) -> Carry:
        """Where the chunk goes on from, with what Newton remembers, if nothing happened since the last one."""
        if self._carry is not None and self._carry[0] == mode and int(self._carry[2].step) == k:
            n = 2 * self._layout.n
            if np.array_equal(self._carry[1][:n], state[:n]):
                return self._carry[2]
        return runner.first_carry(state)._replace(step=np.array(k))
