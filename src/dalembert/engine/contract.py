"""What the engine is given and what it gives back. Flat arrays only: no mechanics."""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

#: Newton stops when the update that would follow is predicted below this, relative to the block of unknowns.
TOLERANCE = 2e-16
MAX_ITERATIONS = 25
#: Starting values are extrapolated through at most this many previous solutions.
HISTORY = 5
#: A step that took more iterations is too rough to extrapolate from: the next one starts from the method's guess.
ROUGH_ITERATIONS = 4

OK, NOT_CONVERGED, NOT_FINITE, SINGULAR, LEFT_CONSTRAINTS, RESCUED_TOO_OFTEN = 0, 1, 2, 3, 4, 5
#: Something happens inside the step, so that it was not taken: no failure.
GUARDED = 6
#: A run that Ctrl-C ended; no step fails with it.
INTERRUPTED = -1
#: The status with which compiled code is asked to compute a step and to leave its updates out.
LOOK_ONLY = -1
STATUS = {
    OK: "ok",
    NOT_CONVERGED: "Newton did not converge",
    NOT_FINITE: "the equations gave NaN or infinity",
    SINGULAR: "the Jacobian of the step is singular",
    LEFT_CONSTRAINTS: "the step leaves the constraints",
    GUARDED: "something happens inside the step",
    RESCUED_TOO_OFTEN: "Newton did not find it, as so many steps before it, which had to be rescued one by one",
}


@dataclass(frozen=True)
class Phase:
    """A part of a step that is a step itself, of the size fraction * h."""

    functions: StepFunctions
    fraction: float


@dataclass(frozen=True, eq=False)
class StepFunctions:
    """One step of a method on a system, as functions of flat arrays.

    guess(t, h, state, parameters) -> x
    residual(x, t, h, state, parameters) -> r, of the length of x
    finish(x, t, h, state, parameters) -> increments of the first `n_summed` entries of the state, new values of
    the others
    """

    guess: Callable
    residual: Callable
    finish: Callable
    unknowns: tuple[str, ...]
    equations: tuple[str, ...]
    blocks: tuple[int, ...]  # lengths of the named groups of unknowns, which share one scale
    n_state: int
    summed_blocks: tuple[int, ...]  # lengths of the parts of the state that are advanced by increments
    n_parameters: int
    phases: tuple[Phase, ...] = ()  # steps taken one after the other that together are this one
    smooth: bool = True  # False: kinks in the residual, so that neither extrapolation nor quadratic convergence hold
    exact: Callable | None = None  # the residual with its true derivatives, if `residual` helps Newton by others
    rescue: Callable | None = None  # (t, h, state, parameters) -> x, or None: a solver of its own for hard steps
    explicit: bool = False  # the unknowns only correct a known end: where they are not found, h is too large
    misled: Callable | None = None  # of what finish gave and the same rest: whether it solves but is not what is meant
    continued: Callable | None = None  # of x and the same rest: what the next x will be about, linear in x
    guard: Callable | None = None  # of what finish gave and the same rest: whether something happens inside, so that a
    # chunk ends before
    n_saved: int | None = None  # so many of the first entries of the state are saved (one trajectory at a time); all
    linear: bool = False  # the residual is linear in x and the guess is zero: Newton's first update is the solution
    changing: int = 0  # so many parameters, the first ones, have other values in every step of a run

    @property
    def saved(self) -> int:
        """How many entries of the state are saved."""
        return self.n_state if self.n_saved is None else self.n_saved

    @property
    def n_summed(self) -> int:
        """The length of the part of the state that is advanced by increments."""
        return sum(self.summed_blocks)

    @property
    def size(self) -> int:
        """The number of unknowns."""
        return len(self.unknowns)

    def checked_finish(self, x, *arguments):
        """As `finish`, and NaN where Newton was misled."""
        end = self.finish(x, *arguments)
        if self.misled is None:
            return end
        return jnp.where(self.misled(end, *arguments), jnp.nan, end)


class Unkeyed:
    """A value that is handed to a cached function but takes no part in its key (such as the state at which pivots are
    chosen): all of them are equal."""

    def __init__(self, value) -> None:
        self.value = value

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other) -> bool:
        return isinstance(other, Unkeyed)


class Carry(NamedTuple):
    """Everything that goes from one chunk of steps to the next. A run resumed at the end of a chunk goes on bit for
    bit; another division into chunks measures Newton's updates in other scales and agrees to roundoff."""

    state: Any
    compensation: Any
    history: Any  # (HISTORY, unknowns), the newest first; see `StepEmitter.extrapolate` for steps that are continued
    known: Any  # how many rows of the history are filled
    contraction: Any  # the last measured constant of Newton's quadratic convergence
    step: Any  # how many steps were taken


class Chunk(NamedTuple):
    """What one call of an engine returns."""

    carry: Carry
    saved: np.ndarray  # (saves, n_state)
    iterations: np.ndarray  # (saves,) Newton iterations since the save before
    worst: np.ndarray  # (saves,) the most iterations one step took since the save before
    status: int
    residual: float  # the last scaled update, for messages


class Runner(abc.ABC):
    """What takes steps: one class for every way to run them. One instance serves one run."""

    name: str  # what `run.stats["engine"]` says
    chunk_steps: int  # steps after which a chunk returns to Python
    mends: bool = True

    @abc.abstractmethod
    def first_carry(self, state: np.ndarray) -> Carry:
        """The carry before the first step."""

    @abc.abstractmethod
    def run(self, carry: Carry, t0: float, h: float, steps: int, save_every: int, parameters, capacity: int) -> Chunk:
        """Take `steps` steps, saving after every `save_every`-th since the start of the run."""

    @abc.abstractmethod
    def report(self) -> dict:
        """What `run.stats` says of this way: sizes, counts, reasons."""

    @property
    def condition(self) -> Any:
        """What a run that goes on in another process needs besides its carry, as plain numbers and arrays: all on which
        the bits of its next steps depend."""
        return []

    def restore(self, condition: Any, parameters: np.ndarray) -> None:
        """Bring a runner that was made at the start of the run into the condition in which another one was."""
        if condition:
            raise ValueError(f"{len(condition)} compiled steps were kept, this run has none")

    def way_back(self) -> Callable[[], None]:
        """What brings the runner back into the condition in which it is now, in the same process."""
        return lambda: None

    def mend(self, wanted: bool) -> None:
        """Whether a step that Newton does not find is mended, if this way can. Who takes it again with a smaller h
        does without: that costs less."""
        self.mends = wanted


def first_carry(functions: StepFunctions, state: np.ndarray) -> Carry:
    """The carry before the first step."""
    return Carry(
        state=np.asarray(state),
        compensation=np.zeros(functions.n_summed),
        history=np.zeros((HISTORY, functions.size)),
        known=np.array(0),
        contraction=np.array(FIRST_CONTRACTION),
        step=np.array(0),
    )


#: Before anything was measured, Newton is trusted only when its update is small.
FIRST_CONTRACTION = 1e3
EPSILON = float(np.finfo(np.float64).eps)


def extrapolation_weights() -> np.ndarray:
    """Row k: the weights that extrapolate a polynomial through the k newest solutions by one step."""
    weights = np.zeros((HISTORY + 1, HISTORY))
    for k in range(1, HISTORY + 1):
        sign, binomial = 1.0, float(k)
        for j in range(k):
            weights[k, j] = sign * binomial
            sign, binomial = -sign, binomial * (k - 1 - j) / (j + 2)
    return weights


def rounded(numbers: np.ndarray, random: np.random.Generator, epsilon: float = EPSILON) -> np.ndarray:
    """Numbers as they might have been rounded otherwise: what moves with them is not known any better."""
    return numbers * (1 + epsilon * random.uniform(-1, 1, numbers.shape))
