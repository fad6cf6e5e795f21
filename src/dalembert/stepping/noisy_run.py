"""Runs with random numbers: `da.Langevin`.

The numbers of step k, counted from t = 0, come from Philox, a generator that counts: those of a block of steps begin at
a place of their own, so that they do not depend on where a run begins, or where it was interrupted. They are parameters
of the compiled step, written before each one.
"""

from __future__ import annotations

import functools

import numpy as np

from ..engine import OK, Carry, Chunk, Runner, is_wanted, stepwise
from ..method import Langevin
from ..problem import AbstractSystem
from ..problem.noise import NOISE
from .consistent import Start
from .shared_equations import facts_at, parameter_places

#: Steps whose random numbers are drawn together.
BLOCK = 256


class NoisyRun(Runner):
    """A runner whose steps have random numbers among their parameters."""

    chunk_steps = 1000

    def __init__(self, runner: Runner, system: AbstractSystem, method: Langevin, start: Start, t0: float, h: float):
        self._runner, self.name = runner, runner.name
        state = start.state
        facts = facts_at(system, method, start.rows, t0, state.q, state.v, state.p)
        self._root = method.noise_size(h) * method.mass_root(facts)
        self._place = parameter_places(system)[NOISE]
        self._seed, self._draws = method.seed, method.draws
        self._first = round(t0 / h)  # the number of the first step since t = 0
        self._block = functools.lru_cache(maxsize=2)(self._drawn)

    def _drawn(self, block: int) -> np.ndarray:
        """The random momenta of a block of steps, (steps, draws n)."""
        generator = np.random.Generator(np.random.Philox(key=self._seed, counter=[0, 0, block % 2**64, 0]))
        normal = generator.standard_normal((BLOCK, self._draws, len(self._root)))
        return (normal @ self._root.T).reshape(BLOCK, -1)

    def first_carry(self, state: np.ndarray) -> Carry:
        return self._runner.first_carry(state)

    def run(self, carry: Carry, t0: float, h: float, steps: int, save_every: int, parameters, capacity: int) -> Chunk:
        """Take `steps` steps, saving after every `save_every`-th since the start of the run."""
        work, status = stepwise(self._runner, carry, t0, h, parameters), OK
        saved, counts, worst = [], [], []
        counted, most, before = 0, 0, 0
        for number in range(int(carry.step), int(carry.step) + steps):
            if is_wanted():
                break
            block, row = divmod(self._first + number, BLOCK)
            work.parameters[self._place] = self._block(block)[row]
            status = work.advance()
            if status != OK:
                break
            spent = work.iterations - before
            counted, most, before = counted + spent, max(most, spent), work.iterations
            if (number + 1) % save_every == 0:
                saved.append(work.state.copy())
                counts.append(counted)
                worst.append(most)
                counted, most = 0, 0
        states = np.array(saved).reshape(-1, len(work.state))
        iterations, largest = (np.array(part, dtype=np.int64) for part in (counts, worst))
        return Chunk(work.carry, states, iterations, largest, status, work.residual)

    def report(self) -> dict:
        return self._runner.report()

    @property
    def condition(self):
        return self._runner.condition

    def restore(self, condition, parameters: np.ndarray) -> None:
        self._runner.restore(condition, parameters)

    def way_back(self):
        return self._runner.way_back()
