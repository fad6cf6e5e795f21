"""The native engine: a step program compiled by LLVM, run in chunks, watched and mended.

A step that fails is tried again from the method's own guess, then with pivots chosen anew at the current state, and
last with damping, partial pivoting and continuation (`rescue.py`); `report()` counts what happened.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator

import numpy as np

from .array_elimination import TooIrregular
from .array_step import ArrayStep, build_array_step
from .contract import FIRST_CONTRACTION, HISTORY, OK, SINGULAR, Carry, Chunk, StepFunctions, extrapolation_weights
from .evaluate import TracedInArrays
from .llvm_arithmetic import Arithmetic
from .llvm_compile import lanes
from .llvm_loop import POINTERS
from .llvm_rolled import RolledEmitter
from .llvm_scaling import CompiledScaling
from .llvm_step import StepEmitter
from .rescue import Rescue
from .rolled_scaling import Code, RolledScaling
from .sparse_elimination import TooManyOperations
from .step_memory import pointer_to, room_for
from .step_program import StepProgram, build_step_program
from .tiers import TieredCode, arguments

#: Operations after which a chunk returns to Python (a fixed number, so that a run never depends on the clock).
CHUNK_OPERATIONS = 200_000_000
#: Above this many operations LLVM only allocates registers well, which from there on is as fast; above the second not
#: even that: its time grows faster than the program. (30 000 operations: 3.3 s with all passes, 0.4 s without.)
QUICK_COMPILATION, QUICKER_COMPILATION = 9_000, 20_000
#: The first run with some code, if it takes fewer steps, gets code that is there soon (`tiers.py`).
SHORT_RUN = 50_000
#: Unknowns of the method from which on the step is rolled into loops.
ROLLED_FROM = 300
#: Unknowns from which on a smaller step is too, if straight lines would need more operations: no longer in the cache of
#: the processor, they take two to three times as long as a band.
BANDS_FROM, MOST_OPERATIONS = 100, 32_000
#: Operations that belong to no loop from which on rolling a step up is not worth while.
MOST_LONELY = 6_000
#: Rolled code takes about a quarter of the time an operation; its chunks may be as much longer.
OPERATIONS_AT_ONCE = 4


#: places of arguments that grow with the run
_SAVED, _ITERATIONS, _WORST = (POINTERS.index(name) for name in ("saved", "iterations", "worst"))
#: where t, h and all else lie from which scales are computed, and where these go
_TIME, _WEIGHTS = (POINTERS.index(name) for name in ("time", "weights"))
#: what belongs to one choice of pivots
_OF_A_BUILD = ("step", "_compiled", "_scaling", "_room", "pivots")
#: what is tried after a failed step, in this order, by the name under which it is reported
_CURES: tuple[str, ...] = ("guess_restarts", "pivot_changes", "rescued_steps")


#: Translations with pivots chosen anew that are kept.
BUILDS_KEPT = 8
#: Steps taken by a solver of their own after which pivots are chosen anew.
RESCUES_A_CHANGE = 50


class TooLarge(Exception):
    """Compiling the step would take minutes; `traced` holds its residual, where that was traced already, by the
    functions that it belongs to: it may be one phase of the step."""

    def __init__(self, reason: str, traced: dict[StepFunctions, TracedInArrays] | None = None) -> None:
        super().__init__(reason)
        self.traced = traced or {}


class Compiled:
    """Machine code of one step program, one instruction an operation."""

    kind = "straight-line"

    def __init__(self, step: StepProgram, arithmetic: Arithmetic, compensated: bool, soon: bool = False) -> None:
        self.operations = step.statistics["operations_per_step"]
        effort = 2 if self.operations < QUICK_COMPILATION else 1 if self.operations < QUICKER_COMPILATION else 0
        text = StepEmitter(step, arithmetic, compensated).text()
        self.code = TieredCode(text, "straight lines", arguments(13), effort, soon)
        self.scaling = CompiledScaling(step)

    def improve(self) -> None:
        """Begin to make the code as fast as it gets."""
        self.code.improve()
        self.scaling.code.improve()

    def function(self, *arguments) -> None:
        """Take steps."""
        self.code.function(*arguments)

    @contextlib.contextmanager
    def memory(self) -> Iterator[list[int]]:
        """Pointers that the code takes after those of every step: none."""
        yield []


class CompiledLoops:
    """Machine code of the step of a large system, rolled into loops; owns the memory it works in."""

    kind = "rolled"

    def __init__(self, step: ArrayStep, arithmetic: Arithmetic, compensated: bool, soon: bool = False) -> None:
        emitter = RolledEmitter(step, arithmetic, compensated, lanes())
        if emitter.lonely > MOST_LONELY:
            raise TooIrregular
        self.operations = step.statistics["operations_per_step"] // OPERATIONS_AT_ONCE
        self.code = TieredCode(emitter.text(), "loops", arguments(15), 2, soon)
        self._first = emitter.work(np.longdouble if arithmetic.extended else np.float64)
        self._spare = [self._first]
        self._places = emitter.places()
        places = emitter.x_place, emitter.update_place, emitter.finish_place
        look = Code(lambda *given: self.code.function(*given), self._memory, *places)
        self.scaling = RolledScaling(step, look, np.longdouble if arithmetic.extended else np.float64)

    def improve(self) -> None:
        """Begin to make the code as fast as it gets."""
        self.code.improve()

    def function(self, *arguments) -> None:
        """The arguments of straight-line code; the memory is added."""
        *pointers, steps, every = arguments
        with self.memory() as memory:
            self.code.function(*pointers, *memory, steps, every)

    @contextlib.contextmanager
    def memory(self) -> Iterator[list[int]]:
        """Pointers that the code takes after those of every step."""
        with self._memory() as arrays:
            yield [array.ctypes.data for array in arrays]

    @contextlib.contextmanager
    def _memory(self) -> Iterator[list[np.ndarray]]:
        """Its work space and its tables. Runs side by side, in threads, have work spaces of their own."""
        try:
            work = self._spare.pop()
        except IndexError:
            work = self._first.copy()  # of which only the constants matter, and they stay as they are
        try:
            yield [work, self._places]
        finally:
            self._spare.append(work)


class NativeRun:
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
        self._rescue = Rescue(functions)
        self._builds: dict[tuple, dict] = {}  # shared by all runs
        self.table = extrapolation_weights().astype(self._dtype)
        self._table_pointer = pointer_to(self.table)
        self._build(state, t0, h, parameters)

    def begin(self) -> NativeRun:
        """A runner with the same code for one run, beside others if need be: what it counts, and pivots that it has to
        choose anew, are its own. So a run does not depend on what happened in others."""
        if self._used:  # a second run: there may be more
            self._soon = False
            self._compiled.improve()
        self._used = True
        run = copy.copy(self)
        run._counts = dict.fromkeys(_CURES, 0)
        return run

    def _build(self, state, t, h, parameters, seed: int = 0) -> None:
        """Translate with pivots that suit a state; those chosen anew are kept for a while, for the same run again."""
        state, parameters = np.asarray(state, dtype=np.float64), np.asarray(parameters)
        key = (state.tobytes(), float(t), float(h), parameters.tobytes(), seed)
        if key in self._builds:
            vars(self).update(self._builds[key])
            self._compiled.improve()
            return
        self._translate(state, t, h, parameters, seed)
        if seed:
            while len(self._builds) >= BUILDS_KEPT:
                self._builds.pop(next(iter(self._builds)), None)
            self._builds[key] = {name: vars(self)[name] for name in _OF_A_BUILD}

    def _translate(self, state: np.ndarray, t, h, parameters: np.ndarray, seed: int) -> None:
        self.step: StepProgram | ArrayStep
        self._compiled: Compiled | CompiledLoops
        where = (self.functions, state, float(t), h, parameters, seed)
        self.pivots = {"state": state, "t": float(t), "h": float(h), "seed": seed} if seed else None
        how = self._arithmetic, self._compensated, self._soon
        size = self.functions.size
        try:
            if size < ROLLED_FROM:
                # explicit steps have nothing that a band could do better; contacts were quicker in straight lines
                banded = size >= BANDS_FROM and self.functions.smooth and not self.functions.explicit
                most = MOST_OPERATIONS if banded else np.inf
                self.step = build_step_program(*where, most=most)
                self._compiled = Compiled(self.step, *how)
            else:
                self.step = build_array_step(*where)
                self._compiled = CompiledLoops(self.step, *how)
        except TooManyOperations:
            try:
                self.step = build_array_step(*where)
                self._compiled = CompiledLoops(self.step, *how)
            except TooIrregular:
                self.step = build_step_program(*where)
                self._compiled = Compiled(self.step, *how)
        except TooIrregular as failure:
            if not self._arithmetic.extended:
                traced = {} if failure.traced is None else {self.functions: failure.traced}
                raise TooLarge("its equations are many and do not fall into loops", traced) from None
            self.step = build_step_program(*where)
            self._compiled = Compiled(self.step, *how)
        self._scaling = self._compiled.scaling
        functions, item = self.functions, np.dtype(self._dtype).itemsize
        self._room = room_for((self.sizes,), (0,), functions.n_state, functions.n_summed, functions.n_parameters, item)

    @property
    def mended(self) -> dict[str, int]:
        """How often each cure was tried."""
        return self._counts

    def restore(self, pivots: dict | None, mended: dict[str, int], parameters: np.ndarray) -> None:
        """Choose the pivots where another runner of the same steps chose them last, and count on from its counts."""
        if pivots is not None:
            self._build(pivots["state"], pivots["t"], pivots["h"], parameters, seed=pivots["seed"])
        self._counts = {name: int(mended[name]) for name in _CURES}

    @property
    def chunk_steps(self) -> int:
        """Steps a chunk takes before it returns to Python."""
        return max(1, CHUNK_OPERATIONS // max(1, self._compiled.operations))

    def report(self) -> dict:
        """Sizes before and after elimination, and what had to be mended."""
        counted = {name: count for name, count in self._counts.items() if count}
        return {
            **self.step.statistics,
            "code": self._compiled.kind,
            "from_cache": self._compiled.code.from_cache,
            **counted,
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
        if pieces[0].status == OK:
            carry, saved, iterations, worst, status, residual = pieces[0]
            return Chunk(carry, saved, iterations[: len(saved)], worst[: len(saved)], status, residual)
        cures = self._cures()
        while pieces[-1].status != OK and cures:
            stuck = pieces[-1].carry
            cure = cures.pop(0)
            if cure == "pivot_changes" and self._pivots_are_good and pieces[-1].status != SINGULAR:
                continue
            t = t0 + float(stuck.step) * h
            if cure == "guess_restarts":
                carry = self._restarted(stuck)
            elif cure == "pivot_changes":
                try:
                    self._build(stuck.state, t, h, parameters, seed=int(stuck.step) + 1)
                except TooLarge:  # at a state gone wild nothing may be alike any more
                    continue
                carry = self._restarted(stuck)
            else:
                rescued = self._rescue.step(stuck.state, stuck.compensation, t, h, parameters, self._compensated)
                if rescued is None:
                    break
                state, compensation = (np.asarray(part, dtype=self._dtype) for part in rescued)
                after = stuck._replace(state=state, compensation=compensation, step=stuck.step + 1)
                carry = self._restarted(after)
                pieces.append(_one_step_chunk(carry, save_every))
            self._counts[cure] += 1
            pieces.append(self._raw(carry, t0, h, target - int(carry.step), save_every, parameters))
            if int(pieces[-1].carry.step) > int(stuck.step) + (cure == "rescued_steps"):
                cures = self._cures()
            elif cure == "rescued_steps":
                cures = ["rescued_steps"]
        return _joined(pieces)

    @property
    def _pivots_are_good(self) -> bool:
        """Where only a projection is iterated for, it began as near as it can; bands choose pivots themselves."""
        in_bands = isinstance(self.step, ArrayStep) and self.step.reduced.only_bands
        return self.functions.explicit or in_bands

    def _cures(self) -> list[str]:
        """What to try next, in this order. New pivots cost a translation: where steps have a solver of their own, it
        comes first, and they are chosen anew only after many steps that it had to take."""
        counts = self._counts
        if self.functions.rescue is None or counts["rescued_steps"] >= RESCUES_A_CHANGE * (1 + counts["pivot_changes"]):
            return list(_CURES)
        return [cure for cure in _CURES if cure != "pivot_changes"]

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
        return self._scaling(carry.state, last_solution, t, h, parameters).astype(self._dtype, copy=False)

    def _raw(self, carry: Carry, t0: float, h: float, steps: int, save_every: int, parameters) -> Chunk:
        dtype, room, n_state = self._dtype, self._room, self.functions.n_state
        known, step = int(carry.known), int(carry.step)
        saves = steps // save_every + 2
        numbers, integers, saved = room.block_of_one(saves, n_state, dtype)  # integers: counters, iterations, worst
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
        if isinstance(self._scaling, CompiledScaling) and dtype is np.float64:
            self._scaling.write(pointers[_TIME], known > 0, pointers[_WEIGHTS])
            if not known:
                numbers[held["history"]] = 0.0  # a guess was put there
        else:
            numbers[held["weights"]] = self.scales(carry, t0, h, parameters)
        numbers[0] = t0
        self._compiled.function(*pointers, steps, save_every)
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
