"""The native engine: a step program compiled by LLVM, run in chunks, watched and mended.

A step that fails is tried again from the method's own guess, with pivots chosen anew at the current state, and last by
continuation from small steps with partial pivoting (`rescue.py`); `report()` counts what happened. Where Newton
stood still at the roundoff of unknowns that have become small (velocities of a motion that comes to rest), that is
measured, and unknowns are asked for no more than that from there on. What cures may cost is bounded.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...interruption import is_wanted, unless_abandoned
from ..code.loop import POINTERS
from ..code.step_memory import pointer_to, room_for
from ..contract import (
    FIRST_CONTRACTION,
    GUARDED,
    HISTORY,
    NOT_CONVERGED,
    OK,
    RESCUED_TOO_OFTEN,
    SINGULAR,
    Carry,
    Chunk,
    Runner,
    StepFunctions,
    extrapolation_weights,
)
from ..machine.arithmetic import Arithmetic
from ..program.passes import told
from ..scales.compiled_scaling import CompiledScaling
from ..step.array_step import ArrayStep
from ..step.step_program import StepProgram
from ..tuning import tuning
from .rescue import ROUNDOFF, Rescue
from .translation import TooLarge, translated

#: places of arguments that grow with the run
_SAVED, _ITERATIONS, _WORST = (POINTERS.index(name) for name in ("saved", "iterations", "worst"))
#: where t, h and all else lie from which scales are computed, and where these go
_TIME, _WEIGHTS = (POINTERS.index(name) for name in ("time", "weights"))
#: what belongs to one choice of pivots
_OF_A_BUILD = ("step", "_compiled", "scaling", "room", "pivots")
#: what is tried after a failed step, in this order, by the name under which it is reported
_CURES: tuple[str, ...] = ("guess_restarts", "roundoff_measured", "pivot_changes", "rescued_steps")


#: Translations with pivots chosen anew that are kept.
BUILDS_KEPT = 8
#: Newton whose last update was no larger was at an end.
AT_AN_END = 1e-12
#: Steps rescued after which pivots are chosen anew.
RESCUES_A_CHANGE = 50
#: Steps of a run that may be rescued (each takes as long as thousands of others), at first and for every step taken.
MOST_RESCUES, RESCUES_A_STEP = 1000, 0.02


class LaidOut(NamedTuple):
    """The memory in which a chunk of steps works, and the addresses of its parts."""

    numbers: np.ndarray
    integers: np.ndarray
    saved: np.ndarray
    pointers: list[int]


class NativeRun(Runner):
    """Runs a step program; the same code serves every start, step size and parameter value."""

    name = "native"

    def __init__(
        self, functions: StepFunctions, state: np.ndarray, t0: float, h: float, parameters: np.ndarray,
        compensated: bool, extended: bool = False, soon: bool = False,
    ) -> None:  # fmt: skip
        self.functions = functions
        self._compensated, self._soon, self._used = compensated, soon, False
        self._arithmetic = Arithmetic(extended=extended)
        self._dtype = np.longdouble if extended else np.float64
        self._counts: dict[str, int] = dict.fromkeys(_CURES, 0)
        self._mending_seconds = 0.0
        self._least_scale: np.ndarray | None = None  # of every unknown of the method, where its roundoff was measured
        self._builds: dict[tuple, dict] = {}  # shared by all runs
        self.table = extrapolation_weights().astype(self._dtype)
        self._table_pointer = pointer_to(self.table)
        self._build(state, t0, h, parameters)

    @property
    def in_double(self) -> bool:
        """Whether it computes with float64."""
        return self._dtype is np.float64

    @functools.cached_property
    def _rescue(self) -> Rescue:
        return Rescue(self.functions)

    def begin(self) -> NativeRun:
        """A runner with the same code for one run, beside others if need be: what it counts, and pivots that it has to
        choose anew, are its own. So a run does not depend on what happened in others."""
        if self._used:  # a second run: there may be more
            self._soon = False
            self._compiled.improve()
        self._used = True
        run = copy.copy(self)
        run._counts, run._least_scale = dict.fromkeys(_CURES, 0), None
        run._mending_seconds, run.mends = 0.0, True
        return run

    def _build(self, state, t, h, parameters, seed: int = 0) -> None:
        """Translate with pivots that suit a state; those chosen anew are kept for a while, for the same run again."""
        state, parameters = np.asarray(state, dtype=np.float64), np.asarray(parameters)
        key = (state.tobytes(), float(t), float(h), parameters.tobytes(), seed)
        kept = self._builds.get(key)
        if kept is not None:
            vars(self).update(kept)
            self._compiled.improve()
            return
        self._translate(state, t, h, parameters, seed)
        if seed:
            for oldest in list(self._builds)[: max(0, len(self._builds) + 1 - BUILDS_KEPT)]:  # other threads do so too
                self._builds.pop(oldest, None)
            self._builds[key] = {name: vars(self)[name] for name in _OF_A_BUILD}

    def _translate(self, state: np.ndarray, t, h, parameters: np.ndarray, seed: int) -> None:
        self.pivots = {"state": state, "t": float(t), "h": float(h), "seed": seed} if seed else None
        how = self._arithmetic, self._compensated, self._soon
        self.step, self._compiled = translated(self.functions, state, float(t), h, parameters, seed, *how)
        self.scaling = self._compiled.scaling
        functions, item = self.functions, np.dtype(self._dtype).itemsize
        self.room = room_for((self.sizes,), (0,), functions.n_state, functions.n_summed, functions.n_parameters, item)

    @property
    def condition(self) -> list[dict]:
        """One entry: where pivots were chosen anew, or None for the start; how often each cure was tried, since what is
        tried first depends on that; and the least scale of every unknown, where its roundoff was measured."""
        least = None if self._least_scale is None else self._least_scale.tolist()
        return [{"pivots": self.pivots, "mended": dict(self._counts), "least_scale": least}]

    def restore(self, condition: list[dict], parameters: np.ndarray) -> None:
        if len(condition) != 1:
            raise ValueError(f"{len(condition)} compiled steps were kept, this run has 1")
        pivots, mended, least = condition[0]["pivots"], condition[0]["mended"], condition[0].get("least_scale")
        if pivots is not None:
            self._build(pivots["state"], pivots["t"], pivots["h"], parameters, seed=pivots["seed"])
        self._counts = {name: int(mended.get(name, 0)) for name in _CURES}
        self._least_scale = None if least is None else np.array(least)

    def way_back(self) -> Callable[[], None]:
        kept = vars(self) | {"_counts": dict(self._counts)}
        return lambda: vars(self).update(kept)

    @property
    def chunk_steps(self) -> int:
        """Steps a chunk takes before it returns to Python."""
        return max(1, tuning().chunk_operations // max(1, self._compiled.operations))

    def report(self) -> dict:
        """Sizes before and after elimination, and what had to be mended."""
        mended = {**self._counts, "mending_seconds": self._mending_seconds}
        return {
            **self.step.statistics,
            "passes": told(self.step.log),
            "code": self._compiled.kind,
            "from_cache": self._compiled.code.from_cache,
            **{name: count for name, count in mended.items() if count},
        }

    @property
    def sizes(self) -> tuple[int, int, int]:
        """The unknowns that Newton finds, those that are remembered, and the blocks."""
        return len(self.step.unknowns), len(self.step.remembered), len(self.step.reduced.blocks)

    def first_carry(self, state: np.ndarray) -> Carry:
        """The carry before the first step; its history holds only what the next steps begin from."""
        return Carry(
            state=np.array(state, dtype=self._dtype),
            compensation=np.zeros(self.functions.n_summed, dtype=self._dtype),
            history=np.zeros((HISTORY, len(self.step.remembered)), dtype=self._dtype),
            known=np.array(0, dtype=np.int64),
            contraction=np.full(len(self.step.reduced.blocks), FIRST_CONTRACTION, dtype=self._dtype),
            step=np.array(0, dtype=np.int64),
        )

    def run(self, carry: Carry, t0: float, h: float, steps: int, save_every: int, parameters, capacity: int) -> Chunk:
        """Take `steps` steps, saving after every `save_every`-th since the start of the run."""
        target = int(carry.step) + steps
        pieces = [self._raw(carry, t0, h, steps, save_every, parameters)]
        if pieces[0].status in (OK, GUARDED):
            carry, saved, iterations, worst, status, residual = pieces[0]
            return Chunk(carry, saved, iterations[: len(saved)], worst[: len(saved)], status, residual)
        cures = list(_CURES) if self.mends else []
        while pieces[-1].status not in (OK, GUARDED) and cures and not is_wanted():
            stuck = pieces[-1].carry
            cure, begun = cures.pop(0), time.perf_counter()
            if cure == "rescued_steps" and self._rescues_are_a_habit(int(stuck.step)):
                pieces[-1] = pieces[-1]._replace(status=RESCUED_TOO_OFTEN)
                break
            if not self._may_help(cure, pieces[-1]):
                continue
            if cure == "rescued_steps":
                chunk = unless_abandoned(self._rescued, stuck, t0, h, save_every, parameters)
                if chunk is None:
                    continue
                carry = chunk.carry
                pieces.append(chunk)
            else:
                cured = unless_abandoned(self._cured, cure, stuck, t0 + float(stuck.step) * h, h, parameters)
                if cured is None:
                    continue
                carry = cured
            self._counts[cure] += 1
            self._mending_seconds += time.perf_counter() - begun
            pieces.append(self._raw(carry, t0, h, target - int(carry.step), save_every, parameters))
            if int(pieces[-1].carry.step) > int(stuck.step) + (cure == "rescued_steps"):
                cures = list(_CURES)
            elif cure == "rescued_steps":
                cures = ["rescued_steps"]
        return _joined(pieces)

    def _cured(self, cure: str, stuck: Carry, t: float, h: float, parameters) -> Carry | None:
        """Where the run goes on after a failed step, or None."""
        if cure == "roundoff_measured" and not self._measure_roundoff(stuck, t, h, parameters):
            return None
        if cure == "pivot_changes":
            try:
                self._build(stuck.state, t, h, parameters, seed=int(stuck.step) + 1)
            except TooLarge:  # at a state gone wild nothing may be alike any more
                return None
        return self._restarted(stuck)

    def _rescued(self, stuck: Carry, t0: float, h: float, save_every: int, parameters) -> Chunk | None:
        """The one step that failed, or None. The compiled step takes it once more from the solution that was found, in
        its own precision; where it does not accept that, the rescued step counts. The next step goes on along the
        polynomials of this one: from the method's own guess it might fail as this one did."""
        t = t0 + float(stuck.step) * h
        found = self._rescue.step(stuck.state, stuck.compensation, t, h, parameters, self._compensated)
        if found is None:
            return None
        chunk = self._raw(self._beginning_at(found.x, stuck, t, h, parameters), t0, h, 1, save_every, parameters)
        if chunk.status == OK:
            return chunk._replace(carry=chunk.carry._replace(known=np.array(1, dtype=np.int64)))
        state, compensation, x = (np.asarray(part, dtype=self._dtype) for part in found)
        carry = self._restarted(stuck._replace(state=state, compensation=compensation, step=stuck.step + 1))
        carry.history[0] = x[self.step.remembered]
        return _one_step_chunk(carry._replace(known=np.array(1, dtype=np.int64)), save_every)

    def _beginning_at(self, x: np.ndarray, stuck: Carry, t: float, h: float, parameters) -> Carry:
        """The carry from which the next step begins at x: what is extrapolated from its history is x."""
        carry, step = self._restarted(stuck), self.step
        carry.history[:2] = x[step.remembered]
        if isinstance(step, StepProgram) and len(step.continued):  # large steps are not continued
            parts = {"x": x, "t": [t], "h": [h], "state": stuck.state, "parameter": parameters}
            columns = {name: np.asarray(part, dtype=np.float64)[:, None] for name, part in parts.items()}
            ahead = np.ravel(step.evaluator(np.asarray(step.continued))(columns))
            carry.history[1, : len(ahead)] = x[step.unknowns] - ahead
        return carry._replace(known=np.array(2, dtype=np.int64))

    def _may_help(self, cure: str, failed: Chunk) -> bool:
        """New pivots cost a translation: they are chosen where the elimination met a singular matrix, else only after
        many steps that were rescued. Where Newton came to an end, but at a solution that is not the one meant, neither
        they nor other scales lead it elsewhere."""
        functions, counts, ended = self.functions, self._counts, failed.residual <= AT_AN_END
        if cure == "rescued_steps" and functions.guard is not None:  # a rescue does not look inside its step
            return False
        if cure == "pivot_changes":
            many = counts["rescued_steps"] >= RESCUES_A_CHANGE * (1 + counts[cure])
            wanted = failed.status == SINGULAR or (many and not self._pivots_are_good)
            return wanted and counts[cure] < tuning().most_pivot_changes
        if cure == "roundoff_measured":
            standing = failed.status == NOT_CONVERGED and not ended
            return standing and functions.smooth and not functions.explicit and functions.rescue is None
        return True

    def _rescues_are_a_habit(self, step: int) -> bool:
        """Whether so many steps were rescued that h does not suit the motion."""
        allowed = MOST_RESCUES + RESCUES_A_STEP * step
        return self.functions.rescue is None and self._counts["rescued_steps"] >= allowed

    def _measure_roundoff(self, stuck: Carry, t: float, h: float, parameters) -> bool:
        """Scales from which on a change of unknowns is their roundoff; whether they say more than was known."""
        x = self._rescue.solution(stuck.state, t, h, parameters)
        if x is None:
            return False
        found = self._rescue.roundoff(x, t, h, stuck.state, parameters) / ROUNDOFF
        before = np.zeros(len(found)) if self._least_scale is None else self._least_scale
        used = 1.0 / self.scales(stuck, t - float(stuck.step) * h, h, parameters)[:-1]
        self._least_scale = np.maximum(before, found)
        return bool(np.any(self._least_scale[self.step.unknowns] > 1.01 * used))

    @property
    def _pivots_are_good(self) -> bool:
        """Where only a projection is iterated for, it began as near as it can; bands choose pivots themselves."""
        in_bands = isinstance(self.step, ArrayStep) and self.step.reduced.exchanges_rows
        return self.functions.explicit or in_bands

    def _restarted(self, carry: Carry) -> Carry:
        """No history: the next step starts from the method's own guess."""
        return self.first_carry(carry.state)._replace(compensation=carry.compensation, step=carry.step)

    def address(self) -> int:
        """Where the code of the step lies."""
        return self._compiled.code.address()

    def memory(self) -> contextlib.AbstractContextManager[list[int]]:
        """Pointers that the code takes after those of every step, while they are its own."""
        return self._compiled.memory()

    def scales(self, carry: Carry, t0: float, h: float, parameters) -> np.ndarray:
        """The scales of Newton's unknowns at the carry."""
        last_solution = carry.history[0][: len(self.step.unknowns)] if int(carry.known) else None
        t = t0 + float(carry.step) * h
        weights = self.scaling(carry.state, last_solution, t, h, parameters).astype(self._dtype, copy=False)
        return self.above_roundoff(weights)

    def above_roundoff(self, weights: np.ndarray) -> np.ndarray:
        """1 / scales, in place, where scales are at least those that were found by measuring roundoff."""
        if self._least_scale is not None:
            with np.errstate(divide="ignore"):
                weights[:-1] = np.minimum(weights[:-1], 1.0 / self._least_scale[self.step.unknowns])
        return weights

    def _raw(self, carry: Carry, t0: float, h: float, steps: int, save_every: int, parameters) -> Chunk:
        laid_out = self.lay_out(carry, t0, h, steps // save_every + 2, parameters)
        self._compiled.function(*laid_out.pointers, steps, save_every)
        return self.chunk_of(laid_out)

    def lay_out(self, carry: Carry, t0: float, h: float, saves: int, parameters) -> LaidOut:
        """Memory for steps from a carry on, with the scales of their unknowns measured."""
        dtype, room, length = self._dtype, self.room, self.functions.saved
        known, step = int(carry.known), int(carry.step)
        numbers, integers, saved = room.block_of_one(saves, length, dtype)  # integers: counters, iterations, worst
        held = room.sections
        numbers[0], numbers[1] = t0 + step * h, h
        numbers[held["state"]] = carry.state
        numbers[held["parameters"]] = parameters
        if known:
            numbers[held["history"]] = np.ravel(carry.history)
        numbers[held["compensation"]] = carry.compensation
        numbers[held["contraction"]] = carry.contraction
        integers[0], integers[1], integers[3] = known, step, OK
        pointers = room.pointers_into(numbers, self._table_pointer)
        pointers[_WORST] = pointers[_ITERATIONS] + 8 * saves
        pointers[_SAVED] = pointers[_ITERATIONS] + 8 * (len(integers) - 4)
        if isinstance(self.scaling, CompiledScaling) and dtype is np.float64:
            self.scaling.write(pointers[_TIME], known > 0, pointers[_WEIGHTS])
            self.above_roundoff(numbers[held["weights"]])
            if not known:
                numbers[held["history"]] = 0.0  # a guess was put there
        else:
            numbers[held["weights"]] = self.scales(carry, t0, h, parameters)
        numbers[0] = t0
        return LaidOut(numbers, integers, saved, pointers)

    def chunk_of(self, laid_out: LaidOut) -> Chunk:
        """What steps left in their memory."""
        numbers, integers, saved, _ = laid_out
        held, saves = self.room.sections, len(saved)
        known, step, count, status = integers[:4].tolist()
        new = Carry(
            numbers[held["state"]], numbers[held["compensation"]],
            numbers[held["history"]].reshape(HISTORY, -1), np.array(known), numbers[held["contraction"]],
            np.array(step),
        )  # fmt: skip
        iterations, worst = integers[4 : 5 + count], integers[4 + saves : 5 + saves + count]
        return Chunk(new, saved[:count], iterations, worst, status, float(numbers[held["last"]][0]))


def _one_step_chunk(carry: Carry, save_every: int) -> Chunk:
    """A chunk of the one step that was rescued; its iterations are not counted."""
    saved = carry.state[None] if int(carry.step) % save_every == 0 else carry.state[None][:0]
    zeros = np.zeros(len(saved) + 1, np.int64)
    return Chunk(carry, saved, zeros, zeros, OK, 0.0)


def _joined(pieces: list[Chunk]) -> Chunk:
    """Pieces in a row as one chunk; the last entry of each `iterations` belongs to the first of the next."""
    saved = np.concatenate([p.saved for p in pieces])
    iterations, worst = np.zeros(len(saved) + 1, np.int64), np.zeros(len(saved) + 1, np.int64)
    first = 0
    for piece in pieces:
        rows = slice(first, first + len(piece.saved) + 1)
        iterations[rows] += piece.iterations
        worst[rows] = np.maximum(worst[rows], piece.worst)
        first += len(piece.saved)
    last = pieces[-1]
    return Chunk(last.carry, saved, iterations[:-1], worst[:-1], last.status, last.residual)
