"""Runs with many contacts: every step by the complementarity solver, none of them compiled.

Newton on the residual of all contacts, closed or not, is quickest for a few of them; its code grows with their square.
Here only those that are forecast closed enter, and the cost of a step follows their number.
"""

from __future__ import annotations

import copy
import dataclasses

import numpy as np

from ..engine import NOT_CONVERGED, OK, Carry, Chunk, Rescue, Runner, StepFunctions, is_wanted
from .contact_step import ContactSolver
from .step import Layout

#: Impulses (contacts times directions) from which on a step is not compiled.
MANY_IMPULSES = 60


def has_many_contacts(functions: StepFunctions, layout: Layout) -> bool:
    """Whether a run is quicker without compiled steps."""
    return functions.rescue is not None and layout.contacts * layout.directions >= MANY_IMPULSES


class ContactRun(Runner):
    """A runner of single steps."""

    name = "complementarity"
    chunk_steps = 1000

    def __init__(self, functions: StepFunctions, compensated: bool) -> None:
        self.functions, self._compensated = functions, compensated
        assert isinstance(functions.rescue, ContactSolver)
        self._solver = copy.copy(functions.rescue)  # which remembers the worst step of this run only
        self._steps = Rescue(dataclasses.replace(functions, rescue=self._solver))

    def first_carry(self, state: np.ndarray) -> Carry:
        return Carry(
            state=np.array(state, dtype=np.float64),
            compensation=np.zeros(self.functions.n_summed),
            history=np.zeros((0, 0)),
            known=np.array(0),
            contraction=np.zeros(0),
            step=np.array(0),
        )

    def report(self) -> dict:
        return {"unknowns": self.functions.size, "complementarity_residual": self._solver.worst}

    def run(self, carry: Carry, t0: float, h: float, steps: int, save_every: int, parameters, capacity: int) -> Chunk:
        """Take `steps` steps, saving after every `save_every`-th since the start of the run."""
        saved, status = [], OK
        state, compensation, taken = carry.state, carry.compensation, int(carry.step)
        for _ in range(steps):
            if is_wanted():
                break
            found = self._steps.step(state, compensation, t0 + taken * h, h, parameters, self._compensated)
            if found is None:
                status = NOT_CONVERGED
                break
            state, compensation, _ = found
            taken += 1
            if taken % save_every == 0:
                saved.append(state)
        rows = np.array(saved).reshape(-1, self.functions.n_state)
        counts = np.zeros(len(rows), np.int64)
        new = carry._replace(state=state, compensation=compensation, step=np.array(taken))
        return Chunk(new, rows, counts, counts, status, np.nan)
