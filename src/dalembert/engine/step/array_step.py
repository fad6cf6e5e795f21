"""One step of a large system as a program in arrays, after elimination: what the rolled code is made from."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from ..contract import StepFunctions
from ..elimination.array_elimination import ArrayReduced, TooIrregular, operation_count, reduce_arrays
from ..elimination.array_probe import Equations
from ..elimination.banded import MOST_WORK, band_of
from ..elimination.elimination import FIRST_BLOCK
from ..elimination.linear_systems import ArrayLinearSystems
from ..functions.function import TracedInArrays
from ..program.array_program import ArrayProgram
from ..trace.interpreter import trace, trace_with_entries
from ..values.array_values import ArrayEvaluator

#: how far the samples are from the start; fewer than for small systems, because what looks alike is judged together,
#: and fewer still for very large ones
DISTANCES = (0.0, 1e-2, 1e-2, 0.1, 0.1, 1.0, 1.0, 1.0)
FEW_DISTANCES, FEW_FROM = (0.0, 1e-2, 0.1, 1.0), 50_000
#: unknowns from which on a piece of the system is looked at first
PIECE_FIRST_FROM = 5_000
#: entries of a row with which a piece may fail; with fewer its ends may be at fault
MOST_FILL = 12
#: How much wider than it may be a band can be found before unknowns are substituted, beyond those that are no longer in
#: it.
SLACK = 4
#: The Markowitz cost of substitutions that leave a band narrow.
MOST_COST = 9
#: operations that are made for every unknown of a method, in the end and on the way; more or fewer only take time
OPERATIONS_AN_UNKNOWN = 40


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
        in_bands = sum(block.band.work for block in self.reduced.blocks if block.band is not None)
        return {
            **self.reduced.statistics,
            "operations_per_iteration": operation_count(self.program, in_loop) + in_bands,
            "operations_per_step": operation_count(self.program, in_step) + in_bands,
        }

    def evaluator(self, nodes: np.ndarray, arrays=np) -> ArrayEvaluator:
        """Numbers for some operations, from {kind: values}."""
        return ArrayEvaluator(self.program, nodes)


def build_array_step(
    functions: StepFunctions, state: np.ndarray, t: float, h: float, parameters: np.ndarray, seed: int = 0
) -> ArrayStep:
    """Trace, differentiate, eliminate. The pivots suit the given state and states around it."""
    program = ArrayProgram(expected=OPERATIONS_AN_UNKNOWN * functions.size)
    x = program.inputs("x", functions.size)
    kinds = ("x", "t", "h", "state", "parameter")
    rest = (
        program.inputs("t", 1)[0],
        program.inputs("h", 1)[0],
        program.inputs("state", functions.n_state),
        program.inputs("parameter", functions.n_parameters),
    )
    guess = trace(program, functions.guess, *rest)
    plain = {"t": np.array([t]), "h": np.array([h]), "state": state, "parameter": parameters, "x": np.zeros(len(x))}
    start = ArrayEvaluator(program, guess)(plain)[:, 0]
    samples = samples_around(functions, start, state, t, h, parameters, seed)
    program.linear_systems = inside = ArrayLinearSystems(program, samples)
    residual, entries = trace_with_entries(program, functions.residual, x, *rest)
    finish = trace(program, functions.checked_finish, x, *rest)
    # of what was traced, derivatives are the most, and only those of the residual itself are needed further on
    place = program.forget_all_but(np.concatenate([residual, entries[2], finish, guess, *inside.nodes()]))
    residual, finish, guess, entries = place[residual], place[finish], place[guess], (*entries[:2], place[entries[2]])
    inside.renumber(place)
    x = program.inputs("x", functions.size)
    equations = Equations(program, residual, entries, samples)
    large = functions.size >= PIECE_FIRST_FROM
    piece = equations.piece() if large else equations
    if functions.exact is None and not piece.derivatives_hold():
        raise TooIrregular
    in_loops = True
    if large and not functions.explicit:
        failure = piece.tried()
        in_loops = failure is None or failure.fill <= MOST_FILL
        if failure is not None and not in_loops and not _may_be_a_band(entries, functions.size, failure.left):
            raise TooIrregular(failure.fill, TracedInArrays(program, residual, entries, functions.size, kinds))
    system = (program, x, residual, entries, samples, functions.unknowns, functions.equations)
    very_large = functions.size >= FEW_FROM and not in_loops
    try:
        reduced = reduce_arrays(*system, in_loops=in_loops, uniform=very_large)
    except TooIrregular as failure:
        if very_large:  # rather at once than fast
            raise TooIrregular(
                failure.fill, TracedInArrays(program, residual, entries, functions.size, kinds)
            ) from None
        # couplings that are linear all along a chain fill it up if they are substituted
        if functions.explicit or not _may_be_a_band(entries, functions.size, failure.left):
            raise
        reduced = reduce_arrays(*system, in_loops=False, most_cost=MOST_COST)
    unknowns = np.concatenate([np.zeros(0, np.int64), *[block.unknowns for block in reduced.blocks]])
    finish = reduced.rewrite(finish)
    put_in = inside.put_in(reduced)
    guess, finish = put_in(guess[unknowns]), put_in(finish)
    place = program.forget_all_but(np.concatenate([guess, finish, *reduced.nodes()]), for_good=True)
    reduced.renumber(place)
    return ArrayStep(functions, program, reduced, unknowns, place[guess], place[finish])


def _may_be_a_band(entries: tuple[np.ndarray, ...], size: int, left: float) -> bool:
    """Whether what is left of the unknowns may be a narrow band: as much narrower as there are fewer of them."""
    return band_of(entries[0], entries[1], np.ones(size), int(SLACK * MOST_WORK / left**2)) is not None


def samples_around(
    functions: StepFunctions, x: np.ndarray, state: np.ndarray, t: float, h: float, parameters: np.ndarray, seed: int
) -> dict[str, np.ndarray]:
    """Inputs at the actual start and at states around it, some near, some as far as neighbouring numbers differ.

    The ends of a long chain are far from the origin, but what enters its equations are differences of neighbours; a
    disturbance of the size of the numbers themselves would tear every link.
    """
    random = np.random.default_rng(seed)
    distance = np.array(DISTANCES if len(x) < FEW_FROM else FEW_DISTANCES)
    samples = {
        "t": np.full((1, len(distance)), t),
        "h": np.array([h]),
        "parameter": np.asarray(parameters, dtype=np.float64),
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
