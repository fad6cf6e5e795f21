"""One step of a large system as a program in arrays, after elimination: what the rolled code is made from."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from .array_elimination import ArrayReduced, operation_count, reduce_arrays
from .array_program import ArrayProgram
from .array_values import ArrayEvaluator
from .contract import StepFunctions
from .elimination import FIRST_BLOCK
from .step_program import sampled_inputs
from .trace import trace, trace_with_entries

#: fewer samples than for small systems: entries that look alike are judged together
SAMPLES = 8


@dataclass
class ArrayStep:
    """The reduced step: guess, Newton blocks, finish. The counterpart of `StepProgram`."""

    functions: StepFunctions
    program: ArrayProgram
    reduced: ArrayReduced
    unknowns: np.ndarray  # those that Newton finds, block after block
    guess: np.ndarray  # their starting values, operations of the state
    finish: np.ndarray  # increments and new values of the state

    @property
    def updates(self) -> np.ndarray:
        return np.concatenate([np.zeros(0, np.int64), *[block.update for block in self.reduced.blocks]])

    @property
    def growth(self) -> np.ndarray:
        """All multipliers that are watched."""
        return np.concatenate([*[block.growth for block in self.reduced.blocks], self.reduced.growth])

    @functools.cached_property
    def levels(self) -> np.ndarray:
        """When each operation can be computed."""
        return self.reduced.levels(np.concatenate([self.updates, self.growth, self.guess, self.finish]))

    @functools.cached_property
    def statistics(self) -> dict:
        """Sizes before and after elimination."""
        in_updates = self.program.needed(self.updates)
        in_step = self.program.needed(np.concatenate([self.updates, self.finish, self.guess]))
        in_loop = in_updates[self.levels[in_updates] >= FIRST_BLOCK]
        return {
            **self.reduced.statistics,
            "operations_per_iteration": operation_count(self.program, in_loop),
            "operations_per_step": operation_count(self.program, in_step),
        }

    def evaluator(self, nodes: np.ndarray) -> ArrayEvaluator:
        """Numbers for some operations, from {kind: values}."""
        return ArrayEvaluator(self.program, nodes)


def build_array_step(
    functions: StepFunctions, state: np.ndarray, t: float, h: float, parameters: np.ndarray, seed: int = 0
) -> ArrayStep:
    """Trace, differentiate, eliminate. The pivots suit the given state and states around it."""
    program = ArrayProgram()
    x = program.inputs("x", functions.size)
    rest = (
        program.inputs("t", 1)[0],
        program.inputs("h", 1)[0],
        program.inputs("state", functions.n_state),
        program.inputs("parameter", functions.n_parameters),
    )
    guess = trace(program, functions.guess, *rest)
    residual, entries = trace_with_entries(program, functions.residual, x, *rest)
    finish = trace(program, functions.finish, x, *rest)
    plain = {"t": np.array([t]), "h": np.array([h]), "state": state, "parameter": parameters, "x": np.zeros(len(x))}
    start = ArrayEvaluator(program, guess)(plain)[:, 0]
    samples = sampled_inputs(functions, start, state, t, h, parameters, seed, SAMPLES)
    reduced = reduce_arrays(program, x, residual, entries, samples, functions.unknowns, functions.equations)
    unknowns = np.concatenate([np.zeros(0, np.int64), *[block.unknowns for block in reduced.blocks]])
    return ArrayStep(functions, program, reduced, unknowns, guess[unknowns], reduced.rewrite(finish))
