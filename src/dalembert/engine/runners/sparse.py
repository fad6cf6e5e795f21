"""Large systems whose equations do not fall into loops: Newton with a sparse factorisation, nothing compiled.

Residual and non-zeros of the Jacobian are evaluated as arrays, one numpy call for all operations of one kind and depth,
so that neither the time to translate nor the time of a step grows faster than the system. A step costs milliseconds
where compiled code takes microseconds; it is taken where compiling would take minutes. A step that consists of others
is taken one after the other.
"""

from __future__ import annotations

import copy
import itertools

import numpy as np

from ...interruption import is_wanted
from ..contract import (
    HISTORY,
    NOT_CONVERGED,
    NOT_FINITE,
    OK,
    ROUGH_ITERATIONS,
    Carry,
    Chunk,
    Phase,
    Runner,
    StepFunctions,
    first_carry,
)
from ..functions.function import TracedInArrays
from .rescue import Rescue
from .sparse_newton import SparseNewton


class SparseRun(Runner):
    """A runner of single steps; factorisations are kept from step to step while they serve."""

    name = "sparse"
    chunk_steps = 200

    def __init__(
        self, functions: StepFunctions, compensated: bool, traced: dict[StepFunctions, TracedInArrays] | None = None
    ) -> None:
        """`traced` holds residuals that were traced already, by the functions that they belong to."""
        self.functions, self._compensated = functions, compensated
        self._phases = functions.phases or (Phase(functions, 1.0),)
        kinds = dict.fromkeys(phase.functions for phase in self._phases)
        self._newton = {kind: SparseNewton(kind, (traced or {}).get(kind)) for kind in kinds}
        self._rescue = {kind: Rescue(kind) for kind in kinds}
        ends = np.cumsum([0, *[phase.functions.size for phase in self._phases]])
        self._columns = [slice(a, b) for a, b in itertools.pairwise(ends)]  # of the history
        self._offsets = np.cumsum([0.0, *[phase.fraction for phase in self._phases]])[:-1]
        self._counts = {"factorisations": 0, "rescued_steps": 0}
        self._reason = ""

    def begin(self, reason: str) -> SparseRun:
        """Ready for a new run; `reason` says why this engine was taken."""
        run = copy.copy(self)
        run._counts, run._reason = dict.fromkeys(self._counts, 0), reason
        return run

    def first_carry(self, state: np.ndarray) -> Carry:
        """The carry before the first step; the histories of phases lie side by side."""
        carry = first_carry(self.functions, np.array(state, dtype=np.float64))
        return carry._replace(history=np.zeros((HISTORY, self._columns[-1].stop)))

    def report(self) -> dict:
        """Why this engine ran, and how often it factorised."""
        unknowns = self._phases[0].functions.size
        phases = {"phases": len(self._phases)} if len(self._phases) > 1 else {}
        return {"engine_reason": self._reason, "unknowns": unknowns, **phases, **self._counts}

    def run(self, carry: Carry, t0: float, h: float, steps: int, save_every: int, parameters, capacity: int) -> Chunk:
        """Take `steps` steps, saving after every `save_every`-th since the start of the run."""
        saved, iterations, worst, status, since, most = [], [], [], OK, 0, 0
        solvers = self._solvers(carry, t0, h, np.asarray(parameters))
        for _ in range(steps):
            if is_wanted():
                break
            new, count = self._step(solvers, carry, t0, h, np.asarray(parameters))
            if isinstance(new, int):
                status = new
                break
            carry, since, most = new, since + count, max(most, count)
            if int(carry.step) % save_every == 0:
                saved.append(carry.state)
                iterations.append(since)
                worst.append(most)
                since = most = 0
        self._counts["factorisations"] += sum(solver.factorisations for solver in dict.fromkeys(solvers))
        rows = np.array(saved).reshape(-1, self.functions.n_state)
        return Chunk(carry, rows, np.array(iterations, np.int64), np.array(worst, np.int64), status, np.nan)

    def _solvers(self, carry: Carry, t0: float, h: float, parameters) -> list[SparseNewton]:
        """One for every phase; those of the same size share it. They are new for every chunk, which depends on its
        carry only, so that a resumed one goes on."""
        t, found = t0 + float(carry.step) * h, {}
        for phase in self._phases:
            if (phase.functions, phase.fraction) not in found:
                moment = (np.asarray(t), np.asarray(phase.fraction * h), carry.state, parameters)
                found[phase.functions, phase.fraction] = self._newton[phase.functions].anew(moment)
        return [found[phase.functions, phase.fraction] for phase in self._phases]

    def _step(
        self, solvers: list[SparseNewton], carry: Carry, t0: float, h: float, parameters
    ) -> tuple[Carry | int, int]:
        """The carry after one step, or a status; and the iterations it took."""
        t, known = t0 + float(carry.step) * h, int(carry.known)
        state, compensation, histories, total, most, rescued = carry.state, carry.compensation, [], 0, 0, False
        for solver, phase, columns, offset in zip(solvers, self._phases, self._columns, self._offsets, strict=True):
            moment = (np.asarray(t + offset * h), np.asarray(phase.fraction * h), state, parameters)
            x, history, count = solver.step(carry.history[:, columns], known, moment)
            histories.append(history)
            total, most = total + count, max(most, count)
            end, rescue = None if x is None else solver.end(x, moment), self._rescue[phase.functions]
            if end is not None:
                state, compensation = rescue.added(state, compensation, end, self._compensated)
                continue
            found = rescue.step(state, compensation, float(moment[0]), float(moment[1]), parameters, self._compensated)
            if found is None:
                return (NOT_CONVERGED if solver.begins_finite(moment) else NOT_FINITE), total
            state, compensation, rescued = found.state, found.compensation, True
        self._counts["rescued_steps"] += rescued
        step = np.array(int(carry.step) + 1)
        if rescued:
            return self.first_carry(state)._replace(compensation=compensation, step=step), total
        known = 1 if most > ROUGH_ITERATIONS * 4 else min(known + 1, HISTORY)
        return Carry(state, compensation, np.hstack(histories), np.array(known), carry.contraction, step), total
