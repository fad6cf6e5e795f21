"""One step as a scalar program after elimination: what every native backend reads."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..contract import StepFunctions
from ..elimination.affine_forms import shorten_loops
from ..elimination.elimination import ELIMINATION, Elimination, Reduced
from ..elimination.linear_systems import LinearSystems
from ..elimination.sparse_elimination import TooManyOperations
from ..program.levels import FIRST_BLOCK, Levels
from ..program.passes import Pass, run_passes
from ..program.program import CONST, INPUT, Program, Values, by_name
from ..trace.tracing import trace, trace_with_jacobian
from ..values.scalar_values import Evaluator

#: the start, two states near it, and states far from it
SAMPLES = 12


@dataclass(frozen=True)
class Inputs:
    """The operations of the inputs, by what they are."""

    x: np.ndarray
    t: np.ndarray
    h: np.ndarray
    state: np.ndarray
    parameters: np.ndarray


@dataclass
class StepProgram:
    """The reduced step: guess, Newton blocks, finish."""

    functions: StepFunctions
    program: Program
    inputs: Inputs
    reduced: Reduced
    unknowns: list[int]  # those that Newton finds, block after block
    guess: np.ndarray  # their starting values, operations of the state
    finish: np.ndarray  # increments and new values of the state
    values: np.ndarray  # every unknown of the method, in terms of those that Newton finds
    misled: int | None  # whether Newton found a solution that is not the one meant, as far as one can tell
    guard: int | None  # whether something happens inside the step, so that it is not to be taken
    continued: np.ndarray  # what those of the next step will be about, by all unknowns of this one; or nothing
    log: list[dict]  # what every pass did

    @functools.cached_property
    def remembered(self) -> list[int]:
        """The unknowns that are kept for the next step: those that Newton finds, and what `continued` needs beside."""
        of_node = {int(node): j for j, node in enumerate(self.inputs.x.tolist())}
        needed = [of_node[k] for k in self.program.needed(self.continued.tolist()) if k in of_node]
        return self.unknowns + sorted(set(needed) - set(self.unknowns))

    @functools.cached_property
    def levels(self) -> Levels:
        """When each operation can be computed; the program does not grow any more."""
        return self.reduced.levels()

    @property
    def growth(self) -> list[int]:
        """All multipliers that are watched."""
        return [node for block in self.reduced.blocks for node in block.growth] + self.reduced.growth

    def operations(self, nodes) -> int:
        """How many operations (not inputs, not constants) the nodes need."""
        return sum(self.program.op[k] not in (CONST, INPUT) for k in self.program.needed(nodes))

    def evaluator(self, nodes: np.ndarray, arrays=np) -> Callable:
        """Numbers for some operations, from {kind: values}; `arrays` is numpy or what stands in for it on a GPU."""
        evaluate = Evaluator(self.program, np.asarray(nodes, dtype=np.int64), arrays)
        return lambda inputs: evaluate(by_name(inputs))

    @functools.cached_property
    def statistics(self) -> dict:
        """Sizes before and after elimination."""
        updates = [node for block in self.reduced.blocks for node in block.update]
        levels = self.levels
        op, needed = self.program.op, self.program.needed(updates)
        in_loop = [k for k in needed if levels[k] >= FIRST_BLOCK and op[k] not in (CONST, INPUT)]
        return {
            **self.reduced.statistics,
            "operations_per_iteration": len(in_loop),
            "operations_per_step": self.operations([*updates, *self.finish.tolist(), *self.guess.tolist()]),
        }


class StepDraft(Elimination):
    """A step on its way through the passes."""

    inputs: Inputs
    guess: np.ndarray
    finish: np.ndarray
    misled: int | None
    guard: int | None
    continued: np.ndarray
    inside: LinearSystems  # those inside traced functions
    doubts: list[int]
    step: StepProgram

    def __init__(
        self, functions: StepFunctions, state: np.ndarray, t: float, h: float, parameters: np.ndarray, seed: int,
        most: float,
    ) -> None:  # fmt: skip
        super().__init__()
        self.functions, self.seed, self.most, self.parameters = functions, seed, most, parameters
        x, parameters = np.zeros(functions.size), first_column(parameters)
        self.plain = {"t": [t], "h": [h], "state": state, "parameter": parameters, "x": x}
        self.names = functions.unknowns, functions.equations

    def results(self) -> dict:
        found = super().results()
        return {**found, "guess": self.guess, "finish": self.finish} if found else {}


class TracedStep(NamedTuple):
    """The functions of a step in single operations, before anything is eliminated."""

    program: Program
    guess: np.ndarray
    residual: np.ndarray
    jacobian: list[dict[int, int]]
    finish: np.ndarray  # NaN where Newton was misled

    @classmethod
    def of(cls, draft: StepDraft) -> TracedStep | None:
        """What a draft begins with; None where linear systems inside its functions were eliminated for its samples."""
        if draft.inside.used:
            return None
        program, finish = draft.program, draft.finish
        if draft.misled is not None:
            nowhere = program.const(np.nan)
            finish = np.array([program.select(draft.misled, nowhere, node) for node in finish.tolist()])
        return cls(program, draft.guess, draft.residual, draft.jacobian, finish)


def trace_functions(draft: StepDraft) -> None:
    """Guess, residual with its Jacobian, and the end of the step, in operations; these are simplified as they come."""
    functions, plain = draft.functions, draft.plain
    program = draft.program = Program()
    program.changing = functions.changing
    inputs = draft.inputs = Inputs(
        x=program.inputs("x", functions.size),
        t=np.array(program.input(("t", 0))),
        h=np.array(program.input(("h", 0))),
        state=program.inputs("state", functions.n_state),
        parameters=program.inputs("parameter", functions.n_parameters),
    )
    rest = (inputs.t, inputs.h, inputs.state, inputs.parameters)
    draft.x, draft.guess = inputs.x, trace(program, functions.guess, *rest)
    start = Values(program, by_name(plain)).array(draft.guess)
    around = plain["state"], plain["t"][0], plain["h"][0], draft.parameters, draft.seed
    draft.samples = by_name(sampled_inputs(functions, start, *around, SAMPLES))
    program.linear_systems = draft.inside = LinearSystems(program, draft.samples)
    draft.residual, draft.jacobian = trace_with_jacobian(program, functions.residual, inputs.x, *rest)
    finish = draft.finish = trace(program, functions.finish, inputs.x, *rest)
    draft.misled = None if functions.misled is None else trace(program, functions.misled, finish, *rest)[0]
    draft.guard = None if functions.guard is None else trace(program, functions.guard, finish, *rest)[0]
    draft.continued = trace(program, functions.continued, inputs.x, *rest) if functions.continued else inputs.x
    program.most = draft.most
    if len(program) > program.most:
        raise TooManyOperations(TracedStep.of(draft))
    entries = [node for row in draft.jacobian for node in row.values()]
    draft.leave([*draft.residual.tolist(), *entries], functions.size, len(entries))


def ask_for_doubts(draft: StepDraft) -> None:
    """What tells that Newton found a solution that is not the one meant."""
    functions, reduced = draft.functions, draft.reduced
    reduced.growth += draft.inside.growth
    draft.doubts = [] if draft.misled is None else reduced.rewrite(np.array([draft.misled])).tolist()
    # with a guard the equations are linear but for arguments that a step hardly moves
    asked = functions.guard is None and not functions.linear
    if asked and functions.smooth and not functions.explicit and reduced.blocks:
        draft.doubts += _turned(reduced, draft.inputs, draft.guess, draft.plain)


def shorten(draft: StepDraft) -> None:
    """Newton's iteration in forms whose coefficients do not change in it."""
    shorten_loops(draft.reduced)
    draft.leave_blocks()


def finish_step(draft: StepDraft) -> None:
    """Everything in terms of the unknowns that Newton finds."""
    functions, program, reduced, doubts = draft.functions, draft.program, draft.reduced, draft.doubts
    unknowns = [j for block in reduced.blocks for j in block.unknowns]
    draft.guess = draft.guess[unknowns] if unknowns else np.zeros(0, np.int64)
    draft.finish = reduced.rewrite(draft.finish)
    draft.step = StepProgram(
        functions=functions,
        program=program,
        inputs=draft.inputs,
        reduced=reduced,
        unknowns=unknowns,
        guess=draft.guess,
        finish=draft.finish,
        values=reduced.rewrite(draft.x),
        misled=functools.reduce(functools.partial(program.apply, "or"), doubts) if doubts and unknowns else None,
        guard=None if draft.guard is None else int(reduced.rewrite(np.array([draft.guard]))[0]),
        continued=draft.continued[unknowns] if functions.continued else np.zeros(0, np.int64),
        log=draft.log,
    )


#: The whole way of a small step; its code follows (`runners/compiled.py`: emit, compile, scales).
PASSES = (
    Pass("trace", trace_functions),
    *ELIMINATION,  # scale, substitute, complement, order, eliminate
    Pass("doubts", ask_for_doubts),
    Pass("shorten", shorten),
    Pass("finish", finish_step),
)


def build_step_program(
    functions: StepFunctions, state: np.ndarray, t: float, h: float, parameters: np.ndarray, seed: int = 0,
    most: float = math.inf, log: list[dict] | None = None,
) -> StepProgram:  # fmt: skip
    """Trace, differentiate, eliminate (until there are `most` operations). The pivots suit the given state and states
    around it. What was tried before may be in the log."""
    draft = StepDraft(functions, state, t, h, parameters, seed, most)
    draft.log = draft.log if log is None else log
    run_passes(PASSES, draft)
    return draft.step


#: A step so much smaller is one whose solution the method guesses well.
SMALL_STEP = 1 / 128


def _turned(reduced: Reduced, inputs: Inputs, guess: np.ndarray, plain: dict) -> list[int]:
    """Whether the determinant of the equations has another sign at the solution than in a small step; or nothing, where
    that cannot be told.

    The solution that is meant is the one that begins at the guess for h = 0 and moves on as h grows. On its way the
    Jacobian stays regular, so that its determinant keeps its sign, over all states, since these hang together. Two
    solutions that meet and vanish as h grows on (the two points in which a line meets a circle) differ in that sign.
    """
    program, sign = reduced.program, reduced.determinant_sign()
    small = plain | {"h": [SMALL_STEP * abs(plain["h"][0]) * np.array([1.0, -1.0])]}
    x = Values(program, by_name(small)).array(guess)
    signs = Values(program, by_name(small | {"x": x})).array(np.array([sign]))
    forwards, backwards = np.broadcast_to(signs[0], 2).tolist()
    if abs(forwards) != 1.0 or abs(backwards) != 1.0:
        return []
    expected = program.const(forwards)
    if forwards != backwards:
        expected = program.mul(expected, program.apply("sign", int(inputs.h)))
    return [program.apply("lt", program.mul(expected, sign), program.zero)]


def first_column(parameters: np.ndarray) -> np.ndarray:
    """The parameters at the start, where they are given in columns, one for every sample."""
    return parameters if np.ndim(parameters) < 2 else np.ascontiguousarray(parameters[:, 0])


def sampled_inputs(
    functions: StepFunctions, x: np.ndarray, state: np.ndarray, t: float, h: float, parameters: np.ndarray, seed: int,
    count: int,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Inputs at the actual start, at states near it, and at states that only share its magnitudes.

    Pivots must be large on all of them: an entry that vanishes at the start by symmetry (a chain along an axis) or
    only somewhere else is never divided by. Where parameters are given in columns, each sample has its own.
    """
    random = np.random.default_rng(seed)
    samples = {"t": np.full((1, count), t), "h": np.array([h]), "parameter": np.asarray(parameters, dtype=np.float64)}
    for kind, vector, lengths in (
        ("state", np.asarray(state, dtype=np.float64), [functions.n_state]),
        ("x", x, functions.blocks),
    ):
        tables, first = [np.zeros((0, count))], 0
        for length in lengths:
            part = vector[first : first + length]
            scale = np.max(np.abs(part), initial=0.0) or 1.0
            near = part[:, None] + 0.1 * scale * random.standard_normal((length, 2))
            far = scale * random.standard_normal((length, count - 3))
            far[::2, 0] = 0.0  # every component vanishes in one of these two: a pivot must not be a single one
            far[1::2, 1] = 0.0
            tables.append(np.concatenate([part[:, None], near, far], axis=1))
            first += length
        samples[kind] = np.concatenate(tables)
    return samples
