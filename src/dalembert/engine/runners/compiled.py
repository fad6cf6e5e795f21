"""Machine code of a step: straight lines for small systems, loops for large ones. Both are called alike."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np

from ..code.rolled import RolledEmitter
from ..code.straight_line import StepEmitter
from ..elimination.array_elimination import TooIrregular
from ..machine.arithmetic import Arithmetic
from ..machine.compilation import lanes
from ..machine.effort import TieredCode, arguments
from ..program.passes import logged
from ..scales.compiled_scaling import CompiledScaling
from ..scales.rolled_scaling import Code, RolledScaling
from ..step.array_step import ArrayStep
from ..step.step_program import StepProgram
from ..tuning import tuning


class Compiled:
    """Machine code of one step program, one instruction an operation."""

    kind = "straight-line"

    def __init__(self, step: StepProgram, arithmetic: Arithmetic, compensated: bool, soon: bool = False) -> None:
        self.operations = step.statistics["operations_per_step"]
        limits = (tuning().quicker_compilation, tuning().quick_compilation)
        effort = sum(self.operations < limit for limit in limits)
        log, operations = step.log, {"operations": self.operations}
        with logged(log, self.kind, "emit", operations) as after:
            text = StepEmitter(step, arithmetic, compensated).text()
            after["lines"] = text.count("\n")
        with logged(log, self.kind, "compile", after):
            self.code = TieredCode(text, "straight lines", arguments(13), effort, soon)
        with logged(log, self.kind, "scales", {}):
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
        self.operations = step.statistics["operations_per_step"] // tuning().operations_at_once
        log, operations = step.log, {"operations": step.statistics["operations_per_step"]}
        with logged(log, self.kind, "schedule", operations) as loops:
            emitter = RolledEmitter(step, arithmetic, compensated, lanes())
            loops["alone"] = int(emitter.lonely)
            if emitter.lonely > max(tuning().most_lonely, tuning().lonely_part * operations["operations"]):
                raise TooIrregular
        with logged(log, self.kind, "emit", loops) as after:
            text = emitter.text()
            after["lines"] = text.count("\n")
        with logged(log, self.kind, "compile", after):
            self.code = TieredCode(text, "loops", arguments(15), 2, soon)
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
