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
from ..step.step_program import StepProgram, TracedStep, build_step_program
from ..tuning import tuning
from .compiled import Compiled, CompiledLoops


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
    return Way(lambda *where, log, traced: build_step_program(*where, most=most, log=log), Compiled)


def loops() -> Way:
    """Loops over operations that look alike; given up where few do."""
    return Way(lambda *where, log, traced: build_array_step(*where, log=log, traced=traced), CompiledLoops)


def ways(functions: StepFunctions, arithmetic: Arithmetic) -> list[Way]:
    """What is tried for a step, the first that is not given up being taken."""
    chosen = tuning()
    if functions.guard is not None:  # loops do not ask for it; without code a step takes a hundred times as long
        few = functions.size < chosen.rolled_from
        guarded = straight_lines(math.inf if few else chosen.most_straight_operations)
        return [guarded] if functions.size < chosen.guarded_up_to else []
    if functions.size >= chosen.rolled_from:  # straight lines would take minutes to compile: if nothing else can
        return [loops(), *([straight_lines()] if arithmetic.extended else [])]
    # explicit steps have nothing that a band could do better; contacts were quicker in straight lines
    if functions.size >= chosen.bands_from and functions.smooth and not functions.explicit:
        return [straight_lines(chosen.most_straight_operations), loops(), straight_lines()]
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
    begun: TracedStep | None = None  # what one way has traced, for the next
    for way in ways(functions, arithmetic):
        try:
            step = way.build(functions, state, t, h, parameters, seed, log=log, traced=begun)
            return step, way.compiled(step, arithmetic, compensated, soon)
        except TooManyOperations as failure:
            begun = failure.traced
        except TooIrregular as failure:
            traced = {} if failure.traced is None else {functions: failure.traced}
    raise TooLarge("its equations are many and do not fall into loops", traced)
