"""Large systems whose equations do not fall into loops: Newton with a sparse factorisation, nothing compiled.

Residual and non-zeros of the Jacobian are evaluated as arrays, one numpy call for all operations of one kind and depth,
so that neither the time to translate nor the time of a step grows faster than the system. A step costs milliseconds
where compiled code takes microseconds; it is taken where compiling would take minutes.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import scipy.sparse as sparse
import scipy.sparse.linalg as sparse_linalg

from .contract import (
    HISTORY,
    MAX_ITERATIONS,
    NOT_CONVERGED,
    NOT_FINITE,
    OK,
    ROUGH_ITERATIONS,
    Carry,
    Chunk,
    StepFunctions,
    extrapolation_weights,
    first_carry,
    rounded,
)
from .evaluate import Function, TracedInArrays
from .rescue import Rescue
from .rows import RowFunction

#: Newton stops when an update is this small, relative to its group of unknowns: the error left is its square.
UPDATE_TOLERANCE = 1e-9
#: The factorisation of an earlier iteration serves on as long as updates fall by this factor.
GOOD_CONTRACTION = 0.05
#: Where that of the step before does not, so many steps factorise at once, before it is tried again.
RENEWALS = 20
#: With an old factorisation the error left is about the contraction times the update.
ROUNDOFF = 1e-15
#: Updates below this may be the roundoff of the equations (in a multiplier it is divided by h^2).
NOISE = 1e-6
#: Larger ones are too, if rounding the unknowns and the state moves the solution as far, but no more than this.
LARGEST_NOISE = 1e-2


class SparseRun:
    """A runner of single steps; the factorisation is kept from step to step while it serves."""

    name = "sparse"
    chunk_steps = 200

    def __init__(self, functions: StepFunctions, compensated: bool, traced: TracedInArrays | None = None) -> None:
        """`traced` is the residual, if it was traced already."""
        self.functions, self._compensated = functions, compensated
        self._residual, self._values = Function(functions.residual, traced), RowFunction(functions.residual)
        self._guess, self._finish = RowFunction(functions.guess), RowFunction(functions.checked_finish)
        self._continued = None if functions.continued is None else RowFunction(functions.continued)
        self._rescue = Rescue(functions)
        self._weights = extrapolation_weights()
        self._groups = np.repeat(np.arange(len(functions.blocks)), functions.blocks)
        self._counts = {"factorisations": 0, "rescued_steps": 0}
        self._solve, self._renewals = None, 0
        self._reach = np.zeros(len(functions.blocks))
        self._reason = ""

    def begin(self, reason: str) -> SparseRun:
        """Ready for a new run; `reason` says why this engine was taken."""
        run = copy.copy(self)  # a run beside others keeps its own factorisation
        run._counts, run._reach = dict.fromkeys(self._counts, 0), self._reach.copy()
        run._solve, run._reason = None, reason
        return run

    def first_carry(self, state: np.ndarray) -> Carry:
        """The carry before the first step."""
        return first_carry(self.functions, np.array(state, dtype=np.float64))

    def report(self) -> dict:
        """Why this engine ran, and how often it factorised."""
        return {"engine_reason": self._reason, "unknowns": self.functions.size, **self._counts}

    def run(self, carry: Carry, t0: float, h: float, steps: int, save_every: int, parameters, capacity: int) -> Chunk:
        """Take `steps` steps, saving after every `save_every`-th since the start of the run."""
        saved, iterations, worst, status, since, most = [], [], [], OK, 0, 0
        self._solve, self._renewals = None, 0  # a chunk depends on its carry only, so that a resumed one goes on
        self._measure_reach(carry, t0, h, parameters)
        for _ in range(steps):
            new, count = self._step(carry, t0, h, np.asarray(parameters))
            if isinstance(new, int):
                status = new
                break
            carry, since, most = new, since + count, max(most, count)
            if int(carry.step) % save_every == 0:
                saved.append(carry.state)
                iterations.append(since)
                worst.append(most)
                since = most = 0
        rows = np.array(saved).reshape(-1, self.functions.n_state)
        return Chunk(carry, rows, np.array(iterations, np.int64), np.array(worst, np.int64), status, np.nan)

    def _step(self, carry: Carry, t0: float, h: float, parameters) -> tuple[Carry | int, int]:
        """The carry after one step, or a status; and the iterations it took."""
        t, state = t0 + float(carry.step) * h, carry.state
        arguments = (np.asarray(t), np.asarray(h), state, parameters)
        rows = tuple(part[None] for part in arguments)
        known = int(carry.known)
        x, count = None, 0
        foreseen = None if self._continued is None or not known else self._continued(carry.history[:1], *rows)[0]
        if foreseen is not None:  # see `StepEmitter.extrapolate`
            begin = foreseen + self._weights[known - 1][:-1] @ carry.history[1:]
            x, count = self._newton(begin, arguments, rows)
        elif known >= 2:
            x, count = self._newton(self._weights[known] @ carry.history, arguments, rows)
        if x is None:
            x, more = self._newton(self._guess(*rows)[0], arguments, rows)
            count += more
        if x is not None:
            end = self._finish(x[None], *rows)[0]
            x = x if np.all(np.isfinite(end)) else None
        if x is None:
            found = self._rescue.step(state, carry.compensation, t, h, parameters, self._compensated)
            if found is None:
                finite = np.all(np.isfinite(self._values(self._guess(*rows), *rows)))
                return (NOT_CONVERGED if finite else NOT_FINITE), count
            self._counts["rescued_steps"] += 1
            fresh = self.first_carry(found[0])
            return fresh._replace(compensation=found[1], step=np.array(int(carry.step) + 1)), count
        state, compensation = self._rescue.added(state, carry.compensation, end, self._compensated)
        if self._continued is None:
            history = np.concatenate([x[None], carry.history[:-1]])
        else:
            missed = np.zeros_like(x) if foreseen is None else x - foreseen
            history = np.concatenate([x[None], missed[None], carry.history[1:-1]])
        known = 1 if count > ROUGH_ITERATIONS * 4 else min(known + 1, HISTORY)
        return Carry(state, compensation, history, np.array(known), carry.contraction, carry.step + 1), count

    def _newton(self, x: np.ndarray, arguments: tuple, rows: tuple) -> tuple[np.ndarray | None, int]:
        before, fresh, helped, served = np.inf, False, False, self._renewals == 0
        if not served:
            self._solve, self._renewals = None, self._renewals - 1
        for count in range(1, MAX_ITERATIONS + 1):
            if self._solve is None:
                value, jacobian = self._residual(x, *arguments)
                if not (np.all(np.isfinite(value)) and np.all(np.isfinite(jacobian.data))):
                    return None, count
                try:
                    self._solve = sparse_linalg.splu(sparse.csc_matrix(jacobian)).solve
                except RuntimeError:  # exactly singular
                    return None, count
                self._counts["factorisations"] += 1
                fresh = True
            else:
                value = self._values(x[None], *rows)[0]
            update = self._solve(value)
            if not np.all(np.isfinite(update)):
                self._solve = None
                return None, count
            x = x - update
            size = self._scaled(update, x)
            measured = np.isfinite(before)
            contraction = size / before if measured else 1.0
            if (fresh and size <= UPDATE_TOLERANCE) or size * contraction <= ROUNDOFF:
                return x, count
            # a factorisation that is new, or helped before, and does not help now: what is left is roundoff
            if size <= 100 * ROUNDOFF or ((fresh or helped) and size <= NOISE and contraction > 0.3):
                return x, count
            stagnant = fresh and measured and contraction > 0.3
            if stagnant and size <= LARGEST_NOISE and size <= 10 * self._noise(x, self._solve, rows):
                return x, count
            helped = measured and contraction <= GOOD_CONTRACTION
            if contraction > GOOD_CONTRACTION and measured:
                self._solve = None
                self._renewals = RENEWALS if served else self._renewals
            before, fresh = size, False
        self._solve = None
        return None, MAX_ITERATIONS

    def _noise(self, x: np.ndarray, solve: Callable, rows: tuple) -> float:
        """The update that follows from roundoff of the unknowns and of the state: with coordinates of size 10^4 and
        h = 10^-3 it is 10^-5 of a multiplier."""
        random = np.random.default_rng(0)
        t, h, state, parameters = rows
        here = self._values(x[None], *rows)[0]
        moved = self._values(rounded(x, random)[None], t, h, rounded(state, random), parameters)[0]
        return self._scaled(solve(moved - here), x)

    def _scaled(self, update: np.ndarray, x: np.ndarray) -> float:
        """The largest update relative to the scale of its group of unknowns."""
        moves = self._largest(update)
        scales = np.maximum(self._largest(x), self._reach)
        return float(np.max(moves / np.where(scales > 0, scales, 1.0), initial=0.0))

    def _largest(self, x: np.ndarray) -> np.ndarray:
        """The largest entry of each group."""
        sizes = np.zeros(len(self.functions.blocks))
        np.maximum.at(sizes, self._groups, np.abs(x))
        return sizes

    def _measure_reach(self, carry: Carry, t0: float, h: float, parameters) -> None:
        """The change of each group that would move a part of the new state by its own size: the scale of a multiplier
        that happens to be zero."""
        rows = tuple(
            np.asarray(part)[None] for part in (t0 + float(carry.step) * h, h, carry.state, np.asarray(parameters))
        )
        x = self._guess(*rows)[0]
        sizes, summed = self._largest(x), self.functions.n_summed
        parts = np.split(np.arange(summed), np.cumsum(self.functions.summed_blocks)[:-1])
        here = self._finish(x[None], *rows)[0][:summed]
        reach = np.zeros(len(sizes))
        for group in np.unique(self._groups):
            probe = 1e-3 * sizes[group] if sizes[group] > 0 else 1e-3
            moved = self._finish(np.where(self._groups == group, x + probe, x)[None], *rows)[0][:summed]
            found = [
                probe * np.max(np.abs(carry.state[part])) / change
                for part in parts
                if (change := np.max(np.abs(moved - here)[part], initial=0.0)) > 0
            ]
            reach[group] = min((value for value in found if value > 0 and np.isfinite(value)), default=0.0)
        self._reach = reach
