"""From the functions of a step to machine code: the ways to do it, in the order in which they are tried."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..contract import StepFunctions
from ..elimination.array_elimination import TooIrregular
from ..elimination.sparse_elimination import TooManyOperations
from ..functions.function import TracedInArrays
from ..machine.arithmetic import Arithmetic
from ..step.array_step import ArrayStep, build_array_step
from ..step.step_program import StepProgram, build_step_program
from .compiled import Compiled, CompiledLoops

#: Unknowns of the method from which on the step is rolled into loops.
ROLLED_FROM = 300
#: Unknowns from which on a smaller step is too, if straight lines would need more operations: no longer in the cache of
#: the processor, they take two to three times as long as a band.
BANDS_FROM, MOST_OPERATIONS = 100, 32_000
#: Unknowns up to which a step with a guard is compiled.
GUARDED_UP_TO = 800


class TooLarge(Exception):
    """Compiling the step would take minutes; `traced` holds its residual, where that was traced already, by the
    functions that it belongs to: it may be one phase of the step."""

    def __init__(self, reason: str, traced: dict[StepFunctions, TracedInArrays] | None = None) -> None:
        super().__init__(reason)
        self.traced = traced or {}


@dataclass(frozen=True)
class Way:
    """A step program and the code that is made of it."""

    build: Callable
    compiled: Callable


def straight_lines(most: float = math.inf) -> Way:
    """One instruction an operation; given up where there are more operations than `most`."""
    return Way(lambda *where, log: build_step_program(*where, most=most, log=log), Compiled)


def loops() -> Way:
    """Loops over operations that look alike; given up where few do."""
    return Way(lambda *where, log: build_array_step(*where, log=log), CompiledLoops)


def ways(functions: StepFunctions, arithmetic: Arithmetic) -> list[Way]:
    """What is tried for a step, the first that is not given up being taken."""
    if functions.guard is not None:  # loops do not ask for it; without code a step takes a hundred times as long
        few = functions.size < ROLLED_FROM
        return [straight_lines(math.inf if few else MOST_OPERATIONS)] if functions.size < GUARDED_UP_TO else []
    if functions.size >= ROLLED_FROM:  # straight lines would take minutes to compile: only where nothing else can
        return [loops(), *([straight_lines()] if arithmetic.extended else [])]
    # explicit steps have nothing that a band could do better; contacts were quicker in straight lines
    if functions.size >= BANDS_FROM and functions.smooth and not functions.explicit:
        return [straight_lines(MOST_OPERATIONS), loops(), straight_lines()]
    return [straight_lines()]


def translated(
    functions: StepFunctions, state: np.ndarray, t: float, h: float, parameters: np.ndarray, seed: int,
    arithmetic: Arithmetic, compensated: bool, soon: bool,
) -> tuple[StepProgram | ArrayStep, Compiled | CompiledLoops]:  # fmt: skip
    """The step program and its code. The log of the step tells what was tried.

    Many arguments: where a step begins, and the settings of its code, which nobody else holds together.
    """
    log: list[dict] = []
    traced: dict[StepFunctions, TracedInArrays] = {}
    for way in ways(functions, arithmetic):
        try:
            step = way.build(functions, state, t, h, parameters, seed, log=log)
            return step, way.compiled(step, arithmetic, compensated, soon)
        except TooManyOperations:
            continue
        except TooIrregular as failure:
            traced = {} if failure.traced is None else {functions: failure.traced}
    raise TooLarge("its equations are many and do not fall into loops", traced)
