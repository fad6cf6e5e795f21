"""One step a call, in memory that stays where it is: for controllers, which choose the parameters of the next step.

A chunk of a run fills its memory anew, asks for addresses and measures the scales of Newton's unknowns, which takes as
long as a hundred steps. Here that is done once: a call of Python's hands one address to compiled code, which reads all
others from a table there. Scales are measured again after 1, 2, 4, ... steps. A step that fails is given to the runner,
with all its cures, and memory is laid out anew for what it came to.
"""

from __future__ import annotations

import abc
import contextlib
import ctypes
import functools
from typing import Any, NamedTuple

import numpy as np

from ..code.loop import POINTERS
from ..code.step_memory import pointer_to
from ..contract import FIRST_CONTRACTION, HISTORY, OK, Carry, Runner
from ..machine.compilation import compile_text
from ..scales.compiled_scaling import CompiledScaling
from ..tuning import tuning
from .native import NativeRun

#: States are saved after so many steps: never.
NEVER = 2**62
_TIME, _WEIGHTS = (POINTERS.index(name) for name in ("time", "weights"))


class Snapshot(NamedTuple):
    """All on which the next steps depend."""

    carry: Carry
    parameters: np.ndarray
    held: Any  # what belongs to one kind of `Stepwise`


class Stepwise(abc.ABC):
    """Steps one by one; `parameters` and `state` are arrays in place, of which the first may be written to."""

    runner: Any
    parameters: np.ndarray
    state: np.ndarray
    residual: float  # of the last step that failed

    @abc.abstractmethod
    def advance(self, steps: int = 1) -> int:
        """Take steps until one fails; how that ended. The state is then the last good one."""

    @property
    @abc.abstractmethod
    def taken(self) -> int:
        """The steps taken since the start."""

    @property
    @abc.abstractmethod
    def iterations(self) -> int:
        """The Newton iterations since the start."""

    @property
    @abc.abstractmethod
    def carry(self) -> Carry:
        """All that goes from one step to the next, as a copy."""

    @abc.abstractmethod
    def snapshot(self) -> Snapshot:
        """All on which the next steps depend, to come back to."""

    @abc.abstractmethod
    def restore(self, snapshot: Snapshot) -> None:
        """Come back to a snapshot: the steps from there on are the same, bit for bit."""


def stepwise(runner: Runner, carry: Carry, t0: float, h: float, parameters: np.ndarray) -> Stepwise:
    """The quickest way to take single steps with a runner."""
    if isinstance(runner, NativeRun) and runner.in_double:
        return CompiledSteps(runner, carry, t0, h, parameters)
    return ChunkedSteps(runner, carry, t0, h, parameters)


class ChunkedSteps(Stepwise):
    """Steps of any runner, each a chunk."""

    def __init__(self, runner: Runner, carry: Carry, t0: float, h: float, parameters: np.ndarray) -> None:
        self.runner, self._carry, self._t0, self._h = runner, carry, t0, h
        self.parameters, self.residual = np.array(parameters, dtype=np.float64), np.nan
        self._iterations = 0

    @property
    def state(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleVariableOverride]
        return np.asarray(self._carry.state)

    @property
    def taken(self) -> int:
        return int(self._carry.step)

    @property
    def iterations(self) -> int:
        return self._iterations

    @property
    def carry(self) -> Carry:
        return Carry(*(np.array(part) for part in self._carry))

    def advance(self, steps: int = 1) -> int:
        chunk = self.runner.run(self._carry, self._t0, self._h, steps, steps, self.parameters, 1)
        self._carry, self.residual = chunk.carry, chunk.residual
        self._iterations += int(chunk.iterations.sum())
        return chunk.status

    def snapshot(self) -> Snapshot:
        return Snapshot(self.carry, self.parameters.copy(), self.runner.way_back())

    def restore(self, snapshot: Snapshot) -> None:
        self._carry = Carry(*(np.array(part) for part in snapshot.carry))
        self.parameters[:] = snapshot.parameters
        snapshot.held()


class CompiledSteps(Stepwise):
    """Steps of compiled code, in memory that stays where it is."""

    runner: NativeRun

    def __init__(self, runner: NativeRun, carry: Carry, t0: float, h: float, parameters: np.ndarray) -> None:
        self.runner, self._t0, self._h, self.residual = runner, t0, h, np.nan
        self._stack, self._earlier = contextlib.ExitStack(), 0
        self._lay_out(carry, parameters)

    def _lay_out(self, carry: Carry, parameters: np.ndarray) -> None:
        """Memory for the step as it is compiled now."""
        runner, room = self.runner, self.runner.room
        self._stack.close()
        block, integers, _ = room.block_of_one(2, runner.functions.saved, np.float64)
        held = room.sections
        self._block, self._integers, self._held = block, integers, held
        self.parameters, self.state = block[held["parameters"]], block[held["state"]]
        pointers = room.pointers_into(block, pointer_to(runner.table))
        places = {name: k for k, name in enumerate(POINTERS)}
        pointers[places["worst"]] = pointers[places["iterations"]] + 16
        pointers[places["saved"]] = pointers[places["iterations"]] + 8 * (len(integers) - 4)
        self._time_at, self._weights_at = pointers[_TIME], pointers[_WEIGHTS]
        pointers += self._stack.enter_context(runner.memory())
        self._table = np.array([0, *pointers, 1], dtype=np.int64)
        self._table_at, self._call = pointer_to(self._table), _caller(len(pointers))
        buffer: Any = integers
        self._at_once, self._counters = 1, memoryview(buffer)  # which gives Python's integers sooner than numpy
        self._layout = id(runner.step), len(block)
        block[0], block[1] = self._t0, self._h
        self.parameters[:] = parameters
        self._write(carry)
        self._measure_scales()

    def _write(self, carry: Carry) -> None:
        block, held = self._block, self._held
        self.state[:] = carry.state
        block[held["compensation"]] = carry.compensation
        block[held["history"]] = np.ravel(carry.history)
        block[held["contraction"]] = carry.contraction
        self._integers[:4] = int(carry.known), int(carry.step), 0, OK

    def _measure_scales(self) -> None:
        """The scales of Newton's unknowns where the motion is now, and the address of the fastest code there is."""
        runner, block, known = self.runner, self._block, int(self._integers[0])
        if isinstance(runner.scaling, CompiledScaling):
            block[0] = self._t0 + self.taken * self._h
            runner.scaling.write(self._time_at, known > 0, self._weights_at)
            runner.above_roundoff(block[self._held["weights"]])
            if not known:
                block[self._held["history"]] = 0.0  # a guess was put there
            block[0] = self._t0
        else:
            block[self._held["weights"]] = runner.scales(self.carry, self._t0, self._h, self.parameters)
        self._table[0] = runner.address()
        self._target = self.taken
        self._left = max(1, min(self._target, tuning().scales_kept))

    @property
    def taken(self) -> int:
        return self._counters[1]

    @property
    def iterations(self) -> int:
        return self._earlier + self._counters[4]

    @property
    def carry(self) -> Carry:
        block, held, (known, step) = self._block, self._held, self._integers[:2].tolist()
        parts = (block[held[name]].copy() for name in ("state", "compensation", "history", "contraction"))
        state, compensation, history, contraction = parts
        rows = history.reshape(HISTORY, len(self.runner.step.remembered))
        return Carry(state, compensation, rows, np.array(known), contraction, np.array(step))

    def advance(self, steps: int = 1) -> int:
        if self._left <= 0:
            self._measure_scales()
        self._left -= steps
        self._target += steps
        if steps != self._at_once:
            self._table[-1] = self._at_once = steps
        self._call(self._table_at)
        return OK if self._counters[3] == OK else self._mended()

    def _mended(self) -> int:
        """The steps from the one that failed on, by the runner."""
        carry, parameters = self.carry, self.parameters.copy()
        chunk = self.runner.run(carry, self._t0, self._h, self._target - self.taken, NEVER, parameters, 1)
        self.residual, self._earlier = chunk.residual, self.iterations + int(chunk.iterations.sum())
        self._lay_out(chunk.carry, parameters)
        return chunk.status

    def snapshot(self) -> Snapshot:
        held = self._layout, self._block.copy(), self._left, self.runner.way_back()
        return Snapshot(self.carry, self.parameters.copy(), held)

    def restore(self, snapshot: Snapshot) -> None:
        layout, block, left, back = snapshot.held
        back()
        if layout != self._layout:
            self._lay_out(snapshot.carry, snapshot.parameters)
        self._block[:] = block
        self._left, self._target = left, self.taken


class LoneSteps(CompiledSteps):
    """Steps of any size from any state, each as the first of a run, in memory that stays where it is."""

    def __init__(self, runner: NativeRun, state: np.ndarray, h: float, parameters: np.ndarray) -> None:
        super().__init__(runner, runner.first_carry(state), 0.0, h, parameters)
        self._taken, self._next_scales = 0, 0

    def take(self, t: float, h: float, begin: np.ndarray) -> int:
        """One step at t of the size h from a state of which these first entries are given; `state` is then its end."""
        self._begin(t, h, begin)
        if self._taken >= self._next_scales:
            self._scales_of_a_whole_step(t, h)
            self._next_scales = self._taken + max(1, min(self._taken, tuning().scales_kept))
        self._taken += 1
        self._call(self._table_at)
        return OK if self._counters[3] == OK else self._cured(t, h, begin)

    def forget(self) -> None:
        """Measure the scales of the unknowns anew, as for the first step."""
        self._taken = self._next_scales = 0

    def _begin(self, t: float, h: float, begin: np.ndarray) -> None:
        self._block[0], self._block[1] = t, h
        self._block[self._held["contraction"]] = FIRST_CONTRACTION
        self.state[: len(begin)] = begin
        self._integers[:4] = 0, 0, 0, OK

    def _scales_of_a_whole_step(self, t: float, h: float) -> None:
        """Scales of the unknowns of a whole step: in a step of no length nothing moves."""
        self._t0, self._block[1] = t, self._h
        self._measure_scales()
        self._block[1] = h

    def _cured(self, t: float, h: float, begin: np.ndarray) -> int:
        """The same in scales of its own; at last by the runner, with all its cures."""
        self._begin(t, h, begin)
        self._scales_of_a_whole_step(t, h)
        self._call(self._table_at)
        if self._counters[3] == OK:
            return OK
        state, parameters = self.state.copy(), self.parameters.copy()
        state[: len(begin)] = begin
        chunk = self.runner.run(self.runner.first_carry(state), t, h, 1, NEVER, parameters, 1)
        earlier = self.iterations + int(chunk.iterations.sum())
        self._lay_out(chunk.carry, parameters)
        self._earlier = earlier
        return chunk.status


@functools.cache
def _caller(pointers: int):
    """A compiled function of one address, a table: the code of the step, its pointers, the number of steps."""
    lines = []
    for k in range(pointers + 2):
        kind = "i64" if k == pointers + 1 else "ptr"
        lines.append(f"  %at.{k} = getelementptr i64, ptr %table, i64 {k}\n  %a{k} = load {kind}, ptr %at.{k}")
    passed = ", ".join(f"ptr %a{k}" for k in range(1, pointers + 1))
    body = "\n".join(lines)
    text = f"""
define void @once(ptr %table) {{
{body}
  call void %a0({passed}, i64 %a{pointers + 1}, i64 {NEVER})
  ret void
}}
"""
    code, _ = compile_text(text, effort=2)
    return code.function("once", ctypes.c_void_p)
