"""One step of a large system as a program in arrays, after elimination: what the rolled code is made from."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass

import numpy as np
from jax.extend.core import ClosedJaxpr

from ..contract import StepFunctions
from ..elimination.array_elimination import (
    ELIMINATION,
    ArrayElimination,
    ArrayReduced,
    Plan,
    TooIrregular,
    operation_count,
)
from ..elimination.array_in_turn import IN_TURN
from ..elimination.array_probe import Equations
from ..elimination.linear_systems import ArrayLinearSystems
from ..functions.function import TracedInArrays
from ..program.array_program import ArrayProgram
from ..program.levels import FIRST_BLOCK
from ..program.lifting import lifted
from ..program.passes import Pass, run_passes
from ..program.program import Program
from ..trace.tracing import solves_nothing, suits_arrays, trace, trace_with_entries, trace_with_jacobian, traced
from ..tuning import tuning
from ..values.array_values import ArrayEvaluator
from .step_program import TracedStep, first_column

#: how far the samples are from the start; fewer than for small systems, because what looks alike is judged together,
#: and fewer still for very large ones
DISTANCES = (0.0, 1e-2, 1e-2, 0.1, 0.1, 1.0, 1.0, 1.0)
FEW_DISTANCES, FEW_FROM = (0.0, 1e-2, 0.1, 1.0), 50_000


@dataclass
class ArrayStep:
    """The reduced step: guess, Newton blocks, finish. The counterpart of `StepProgram`."""

    functions: StepFunctions
    program: ArrayProgram
    reduced: ArrayReduced
    unknowns: np.ndarray  # those that Newton finds, block after block
    guess: np.ndarray  # their starting values, operations of the state
    finish: np.ndarray  # increments and new values of the state
    log: list[dict]  # what every pass did

    @property
    def remembered(self) -> np.ndarray:
        """The unknowns that are kept for the next step."""
        return self.unknowns

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
        anew = sum(block.factored.work for block in self.reduced.blocks if block.factored is not None)
        return {
            **self.reduced.statistics,
            "operations_per_iteration": operation_count(self.program, in_loop) + anew,
            "operations_per_step": operation_count(self.program, in_step) + anew,
        }

    def evaluator(self, nodes: np.ndarray, arrays=np) -> ArrayEvaluator:
        """Numbers for some operations, from {kind: values}."""
        return ArrayEvaluator(self.program, nodes)


class ArrayDraft(ArrayElimination):
    """A large step on its way through the passes."""

    guess: np.ndarray
    finish: np.ndarray
    inside: ArrayLinearSystems  # those inside traced functions
    step: ArrayStep
    traced: TracedStep | None = None  # number by number, where that was done

    def __init__(
        self, functions: StepFunctions, state: np.ndarray, t: float, h: float, parameters: np.ndarray, seed: int
    ) -> None:
        super().__init__()
        self.functions, self.seed, self.parameters = functions, seed, parameters
        self.names = functions.unknowns, functions.equations
        self.plain = {
            "t": np.array([t]),
            "h": np.array([h]),
            "state": state,
            "parameter": first_column(parameters),
            "x": np.zeros(functions.size),
        }
        self.very_large = False

    def results(self) -> dict[str, np.ndarray]:
        found = super().results()
        return {**found, "guess": self.guess, "finish": self.finish} if found else {}

    def too_irregular(self, fill: float) -> TooIrregular:
        """What to raise, with what was traced."""
        kinds = ("x", "t", "h", "state", "parameter")
        traced = TracedInArrays(self.program, self.residual, self.entries, self.functions.size, kinds)
        return TooIrregular(fill, traced)


def trace_functions(draft: ArrayDraft) -> None:
    """Guess, residual with its Jacobian, and the end of the step, in operations; these are simplified as they come."""
    functions = draft.functions
    program = draft.program = ArrayProgram(expected=tuning().operations_an_unknown * functions.size)
    x = draft.x = program.inputs("x", functions.size)
    rest = (
        program.inputs("t", 1)[0],
        program.inputs("h", 1)[0],
        program.inputs("state", functions.n_state),
        program.inputs("parameter", functions.n_parameters, functions.changing),
    )
    if draft.traced is None:
        guess, residual = traced(functions.guess, *rest), traced(functions.residual, x, *rest)
        finish = traced(functions.checked_finish, x, *rest)
        if suits_arrays(residual) or not all(solves_nothing(one.jaxpr) for one in (guess, residual, finish)):
            draft.guess = trace(program, guess, *rest)
            look_around(draft)
            draft.residual, draft.entries = trace_with_entries(program, residual, x, *rest)
            draft.finish = trace(program, finish, x, *rest)
        else:
            draft.traced = one_by_one(functions, guess, residual, finish)
    if draft.traced is not None:
        in_arrays(draft, draft.traced)
        look_around(draft)
    draft.leave(np.concatenate([draft.residual, draft.entries[2]]), functions.size, len(draft.entries[2]))


def look_around(draft: ArrayDraft) -> None:
    """Samples around the guess at the start, at which pivots are chosen."""
    plain = draft.plain
    start = ArrayEvaluator(draft.program, draft.guess)(plain)[:, 0]
    around = plain["state"], plain["t"][0], plain["h"][0], draft.parameters, draft.seed
    draft.samples = samples_around(draft.functions, start, *around)
    draft.program.linear_systems = draft.inside = ArrayLinearSystems(draft.program, draft.samples)


def one_by_one(
    functions: StepFunctions, guess: ClosedJaxpr, residual: ClosedJaxpr, finish: ClosedJaxpr
) -> TracedStep:  # fmt: skip
    """Functions whose operations are on few numbers each, number by number."""
    program = Program()
    kinds = ("t", 1), ("h", 1), ("state", functions.n_state), ("parameter", functions.n_parameters)
    t, h, *others = (program.inputs(*kind) for kind in kinds)
    x, rest = program.inputs("x", functions.size), (t[0], h[0], *others)
    first = trace(program, guess, *rest)
    values, jacobian = trace_with_jacobian(program, residual, x, *rest)
    return TracedStep(program, first, values, jacobian, trace(program, finish, x, *rest))


def in_arrays(draft: ArrayDraft, step: TracedStep) -> None:
    """What was traced number by number, in arrays."""
    found = [(i, j, row[j]) for i, row in enumerate(step.jacobian) for j in sorted(row)]
    rows, columns, nodes = np.array(found, dtype=np.int64).reshape(-1, 3).T
    place = lifted(step.program, np.concatenate([step.guess, step.residual, nodes, step.finish]), draft.program)
    draft.guess, draft.residual, draft.finish = place[step.guess], place[step.residual], place[step.finish]
    draft.entries = rows, columns, place[nodes]
    draft.traced = None  # large, and of no more use


def simplify(draft: ArrayDraft) -> None:
    """Of what was traced, derivatives are the most, and only those of the residual itself are needed further on."""
    program, inside, (rows, columns, nodes) = draft.program, draft.inside, draft.entries
    place = program.forget_all_but(np.concatenate([draft.residual, nodes, draft.finish, draft.guess, *inside.nodes()]))
    draft.residual, draft.finish, draft.guess = place[draft.residual], place[draft.finish], place[draft.guess]
    draft.entries = rows, columns, place[nodes]
    inside.renumber(place)
    draft.x = program.inputs("x", draft.functions.size)
    draft.leave(np.concatenate([draft.residual, draft.entries[2]]), draft.functions.size, len(rows))


def look_ahead(draft: ArrayDraft) -> None:
    """Whether derivatives are those of the equations, and what a piece of a large system says about the whole."""
    functions = draft.functions
    equations = Equations(draft.program, draft.residual, draft.entries, draft.samples)
    large = functions.size >= tuning().piece_first_from
    piece = equations.piece() if large else equations
    if functions.exact is None and not piece.derivatives_hold():
        raise TooIrregular
    in_loops = True
    if large and not functions.explicit:
        failure = piece.tried()
        in_loops = failure is None or failure.fill <= tuning().most_fill
    draft.very_large = functions.size >= FEW_FROM and not in_loops
    # equations that are linear in all unknowns are eliminated as they are; that keeps more links of a chain alike
    draft.plan = Plan(in_loops=in_loops, uniform=draft.very_large, by_changing=not functions.linear)


def eliminate_one_way_or_another(draft: ArrayDraft) -> None:
    """In loops; or, if that fills up, as a band or in fronts, for which couplings that are linear all along a chain are
    kept."""
    passes = IN_TURN if draft.functions.linear else ELIMINATION
    try:
        run_passes(passes, draft)
    except TooIrregular as failure:
        if draft.very_large:  # rather at once than fast
            raise draft.too_irregular(failure.fill) from None
        if draft.functions.explicit:
            raise
    else:
        return
    draft.plan = dataclasses.replace(draft.plan, in_loops=False, uniform=False, most_cost=tuning().band_cost)
    try:
        run_passes(passes, draft)
    except TooIrregular as failure:
        raise draft.too_irregular(failure.fill) from None


def finish_step(draft: ArrayDraft) -> None:
    """Everything in terms of the unknowns that Newton finds; all else is forgotten."""
    program, reduced = draft.program, draft.reduced
    unknowns = np.concatenate([np.zeros(0, np.int64), *[block.unknowns for block in reduced.blocks]])
    finish = reduced.rewrite(draft.finish)
    put_in = draft.inside.put_in(reduced)
    guess, finish = put_in(draft.guess[unknowns]), put_in(finish)
    place = program.forget_all_but(np.concatenate([guess, finish, *reduced.nodes()]), for_good=True)
    reduced.renumber(place)
    draft.guess, draft.finish = place[guess], place[finish]
    draft.leave_blocks()
    draft.step = ArrayStep(draft.functions, program, reduced, unknowns, draft.guess, draft.finish, draft.log)


#: The whole way of a large step; its code follows (`runners/compiled.py`: schedule, emit, compile).
BEFORE = (Pass("trace", trace_functions), Pass("simplify", simplify), Pass("look ahead", look_ahead))
AFTER = (Pass("finish", finish_step),)


def build_array_step(
    functions: StepFunctions, state: np.ndarray, t: float, h: float, parameters: np.ndarray, seed: int = 0,
    log: list[dict] | None = None, traced: TracedStep | None = None,
) -> ArrayStep:  # fmt: skip
    """Trace, differentiate, eliminate. The pivots suit the given state and states around it. What was tried before may
    be in the log, and what was traced for it need not be again."""
    draft = ArrayDraft(functions, state, t, h, parameters, seed)
    draft.log, draft.traced = draft.log if log is None else log, traced
    run_passes(BEFORE, draft)
    eliminate_one_way_or_another(draft)
    run_passes(AFTER, draft)
    return draft.step


def samples_around(
    functions: StepFunctions, x: np.ndarray, state: np.ndarray, t: float, h: float, parameters: np.ndarray, seed: int
) -> dict[str, np.ndarray]:
    """Inputs at the actual start and at states around it, some near, some as far as neighbouring numbers differ.

    The ends of a long chain are far from the origin, but what enters its equations are differences of neighbours; a
    disturbance of the size of the numbers themselves would tear every link.
    """
    random = np.random.default_rng(seed)
    distance = np.array(DISTANCES if len(x) < FEW_FROM else FEW_DISTANCES)
    parameters = np.asarray(parameters, dtype=np.float64)
    samples = {
        "t": np.full((1, len(distance)), t),
        "h": np.array([h]),
        "parameter": parameters if parameters.ndim < 2 else parameters[:, : len(distance)],
    }
    for kind, vector, lengths in (("state", np.asarray(state), [functions.n_state]), ("x", x, functions.blocks)):
        parts = np.split(np.asarray(vector, dtype=np.float64), np.cumsum(lengths)[:-1])
        noise = [_local_size(part) * random.standard_normal((len(part), len(distance))) for part in parts]
        samples[kind] = np.asarray(vector)[:, None] + distance * np.concatenate(noise)
    return samples


def _local_size(part: np.ndarray) -> float:
    """By how much numbers differ from others nearby; their size where they do not."""
    differences = [np.sqrt(np.mean((part[lag:] - part[:-lag]) ** 2)) for lag in range(1, min(17, len(part)))]
    whole = np.max(np.abs(part), initial=0.0) or 1.0
    return min([size for size in differences if size > 1e-6 * whole], default=whole)
