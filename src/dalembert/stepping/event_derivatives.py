"""The derivative of a run of event capturing: those of its moves, one after the other.

The run is taken as always, with notes of its moves (`event_trail.py`); the sequence of events is that of the run, while
their times move. Steps of the regular grid have tangents and adjoints in compiled code (`engine/derivatives`). A single
move solves R(x; s, theta) = 0 and leads to F(x; s, theta): its derivative F_s - F_x R_x^-1 R_s is a matrix.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from ..engine import OK, Forward, Function, Grid, StepFunctions, differentiable, find_root, is_wanted, solve_linear
from ..errors import InputError, StepFailure
from ..formulation import mechanics_of
from ..method import EventCapturing
from ..method.event_moves import Move, WholeStep
from .consistent import Start
from .event_run import EventRunner
from .event_smooth import named
from .event_trail import Leap, Mark, Steps, Trail
from .shared_equations import Family, for_family
from .step import Layout
from .step_sizes import EqualSteps


class Dimensions(NamedTuple):
    """What an operation of JAX has to know of a run."""

    n_state: int
    n_parameters: int


class EventTask(NamedTuple):
    """A run of event capturing as `engine/derivatives/operation.py` wants it."""

    family: Family
    method: EventCapturing
    layout: Layout
    steps: EqualSteps
    grid: Grid
    strict: bool
    momentum: bool  # whether the state of the Runge-Kutta method holds p
    message: str = ""

    @property
    def functions(self) -> Dimensions:
        """The sizes of state and parameters."""
        return Dimensions(self.layout.n_state, self.family.size)

    @property
    def step(self) -> EventRuns:
        """What takes the run and its derivatives."""
        return _event_runs(self.family, self.method, self.layout, self.steps, self.momentum)

    @property
    def in_vectors(self) -> bool:
        """Members of a batch have their own events."""
        return False

    def with_tangent(self) -> EventTask:
        """The run of a state and its tangent."""
        raise InputError(
            "second derivatives of event capturing are not computed: take differences of first derivatives, or use a "
            "method without events."
        )


@functools.lru_cache(maxsize=16)
def _event_runs(family: Family, method: EventCapturing, layout: Layout, steps: EqualSteps, momentum: bool) -> EventRuns:
    return EventRuns(family, method, layout, steps, momentum)


@dataclass(frozen=True, eq=False)
class Noted:
    """What a run leaves for its derivative."""

    trail: list
    last: int  # the number of the last saved state, all or those before a failure

    @property
    def bytes(self) -> int:
        """About how large it is."""
        return sum(1000 + note.y.nbytes for note in self.trail)


class EventRuns:
    """Runs of one family of systems on one grid, with their derivatives."""

    def __init__(
        self, family: Family, method: EventCapturing, layout: Layout, steps: EqualSteps, momentum: bool
    ) -> None:
        self._family, self._method, self._layout, self._steps = family, method, layout, steps
        self._places = _Places.of(layout, momentum)

    # -- forwards ------------------------------------------------------------------------------------------------------

    def run(self, state, t0: float, h: float, parameters, grid: Grid, *, record: bool) -> Forward:
        """All steps, or those before one that fails."""
        return self._take(np.array(state), np.array(parameters), grid, record)

    def record(self, state, t0: float, h: float, parameters, grid: Grid) -> Any:
        """The record of a run."""
        return self._take(np.array(state), np.array(parameters), grid, record=True).record

    def _take(self, state, parameters, grid: Grid, record: bool) -> Forward:
        system, layout, (t0, h, steps) = self._family.with_numbers(parameters), self._layout, self._steps
        start = Start(layout.unflatten(state), layout, None)
        runner = EventRunner(system, self._method, start, self._steps, t0 + steps * h, grid.every, "auto")
        if record:
            runner.loop.leave(Trail(self._method.smooth_part, layout))
        runner.begin()
        carry, status = runner.first_carry(runner.first_state()), OK
        runner.loop.mark(0)
        rows, iterations = [carry.state[None]], [np.zeros(0, np.int64)]
        while status == OK and int(carry.step) < steps and not is_wanted():
            chunk = runner.run(carry, t0, h, steps - int(carry.step), grid.every, parameters, grid.saves)
            carry, status = chunk.carry, chunk.status
            rows.append(chunk.saved)
            iterations.append(chunk.iterations)
        saved, counted = np.concatenate(rows), np.concatenate(iterations)
        missing = grid.saves + 1 - len(saved)
        saved = np.concatenate([saved, np.repeat(saved[-1:], missing, axis=0)])
        counted = np.concatenate([counted, np.zeros(missing, np.int64)])
        taken, noted = int(carry.step), None
        if runner.loop.trail is not None:
            noted = Noted(runner.loop.trail.notes, taken // grid.every)
        return Forward(saved, counted, status, taken, noted)

    # -- derivatives ---------------------------------------------------------------------------------------------------

    def tangents(self, record: Noted, t0, h, parameters, moved: tuple, grid: Grid) -> np.ndarray:
        """How the saved states move, (saves + 1, n_state), with the start and the parameters."""
        places, numbers = self._places, np.array(parameters)
        rows = np.zeros((grid.saves + 1, places.length))
        dot, last = np.append(places.begun(np.asarray(moved[0])), 0.0), 0
        for note in record.trail:
            if isinstance(note, Steps):
                begin = np.concatenate([dot[:-1], np.zeros(note.move.length - len(dot) + 1)])
                found = _Chunk(self._family, note, numbers, self._steps).tangents(begin, moved[3])
                dot = np.append(found[-1][: len(dot) - 1], 0.0)
                kept = _kept(note, grid)
                rows[kept // grid.every], last = found[kept - note.first], max([last, *(kept // grid.every)])
            elif not isinstance(note, Mark):
                dot = self._derivative(note, numbers) @ np.concatenate([dot, moved[3]])
            else:
                dot[-1] = 0.0  # the times of the grid do not move
                if note.k % grid.every == 0:
                    last = note.k // grid.every
                    more = self._derivative(note, numbers) @ np.concatenate([dot, moved[3]])
                    rows[last] = np.concatenate([dot[:-1], more])
        rows[last + 1 :] = rows[last]
        rows[1:, places.impulse] -= rows[:-1, places.impulse].copy()  # those of a row are those since the row before
        return rows[:, places.order]

    def adjoints(self, record: Noted, t0, h, parameters, cotangents: np.ndarray, grid: Grid) -> tuple:
        """The bars of the start and of the parameters from those of the saved states, (saves + 1, n_state)."""
        places, numbers, last = self._places, np.array(parameters), record.last
        rows = np.zeros((grid.saves + 1, places.length))
        rows[:, places.order] = cotangents
        rows[last] += rows[last + 1 :].sum(axis=0)
        rows[last + 1 :] = 0.0
        rows[:-1, places.impulse] -= rows[1:, places.impulse].copy()
        bar, by_all = np.zeros(places.carried + 1), np.zeros(len(numbers))
        for note in reversed(record.trail):
            if isinstance(note, Steps):
                kept = _kept(note, grid)
                added = np.zeros((note.count + 1, note.move.length))
                added[kept - note.first] = rows[kept // grid.every]
                added[-1, : places.carried] += bar[:-1]
                begin, moved = _Chunk(self._family, note, numbers, self._steps).adjoints(added)
                bar, by_all = np.append(begin[: places.carried], 0.0), by_all + moved
            elif not isinstance(note, Mark):
                bar, moved = np.split(bar @ self._derivative(note, numbers), [len(bar)])
                by_all += moved
            else:
                bar[-1] = 0.0
                if note.k % grid.every == 0:
                    held, rest = np.split(rows[note.k // grid.every], [places.carried])
                    bar[:-1] += held
                    if np.any(rest):
                        more, moved = np.split(rest @ self._derivative(note, numbers), [len(bar)])
                        bar[:-1], by_all = bar[:-1] + more[:-1], by_all + moved
        return places.begin_bar(bar[:-1]), 0.0, 0.0, by_all

    def _derivative(self, note: Leap | Mark, parameters: np.ndarray) -> np.ndarray:
        """How s after a move, or the rest of a row, moves with s before and the parameters of the system."""
        s = np.concatenate([note.y, np.zeros(self._places.carried - len(note.y)), [note.t]])
        move = note.row if isinstance(note, Mark) else note.move
        found = _linear_move(self._family, move).at(s, np.concatenate([parameters, note.numbers]), note.t)
        return found[:, : len(s) + len(parameters)]


class _Places(NamedTuple):
    """Where the parts of a saved state (q, p, v, lam, psi, impulse) are in a row (y, I, lam, psi, and what of p and v y
    leaves out), and how long that is."""

    order: np.ndarray
    carried: int  # y and I
    impulse: slice
    length: int
    n_state: int
    second: int  # where the second half of y is in a saved state

    @classmethod
    def of(cls, layout: Layout, momentum: bool) -> _Places:
        """`momentum` says whether y holds p."""
        n, contacts, held = layout.n, layout.contacts * layout.directions, layout.m + layout.k
        carried = 2 * n + contacts
        second, other = np.arange(n, 2 * n), np.arange(carried + held, carried + held + n)
        both = (second, other) if momentum else (other, second)
        order = np.concatenate([
            np.arange(n), *both, np.arange(carried, carried + held), np.arange(2 * n, carried),
        ])  # fmt: skip
        return cls(order, carried, slice(2 * n, carried), len(order), layout.n_state, n if momentum else 2 * n)

    def begun(self, state_dot: np.ndarray) -> np.ndarray:
        """How y and I move with a starting state; a run begins without impulses."""
        n = (self.impulse.start) // 2
        y = np.concatenate([state_dot[:n], state_dot[self.second : self.second + n]])
        return np.concatenate([y, np.zeros(self.carried - 2 * n)])

    def begin_bar(self, bar: np.ndarray) -> np.ndarray:
        """The bar of a starting state."""
        n, found = self.impulse.start // 2, np.zeros(self.n_state)
        found[:n], found[self.second : self.second + n] = bar[:n], bar[n : 2 * n]
        return found


def _kept(note: Steps, grid: Grid) -> np.ndarray:
    """The numbers of the steps of a note whose ends are saved."""
    ends = np.arange(note.first + 1, note.first + note.count + 1)
    return ends[ends % grid.every == 0]


# -- the derivatives of the moves --------------------------------------------------------------------------------------


class _Linear:
    """Equations R(x, s, theta) = 0 and what follows, F(x, s, theta), with the derivative F_s - F_x R_x^-1 R_s of the
    whole. A move occurs now and then: it is not compiled."""

    def __init__(self, guess: Callable, residual: Callable, finish: Callable, size: int, known: int = 0) -> None:
        """So many of the unknowns, the first ones, are `known` but for roundoff: the others are solved for at first."""
        self._guess, self._size, self._known = Function(guess), size, known

        def both(z, s, theta):
            x, s, theta = z[:size], z[size : size + len(s)], z[size + len(s) :]
            return jnp.concatenate([residual(x, s, theta), finish(x, s, theta)])

        self._both = Function(both)

    def at(self, s: np.ndarray, theta: np.ndarray, t: float) -> np.ndarray:
        """The derivative by (s, theta); t is for a message."""
        size = self._size

        def whole(x, s, theta):
            return self._both(np.concatenate([x, s, theta]), s, theta)

        def equations(x, s, theta):
            value, slope = whole(x, s, theta)
            return value[:size], slope[:size, :size]

        x, known = self._guess(s, theta)[0], self._known
        if known:
            first = x[:known]

            def others(x, s, theta):
                value, slope = equations(np.concatenate([first, x]), s, theta)
                return value[known:], slope[known:, known:]

            near = find_root(others, x[known:], s, theta)
            x = x if near is None else np.concatenate([first, near])
        x = find_root(equations, x, s, theta)
        slope = whole(np.full(size, np.nan) if x is None else x, s, theta)[1]
        moved = solve_linear(slope[:size, :size], slope[:size, size:].toarray())
        found = slope[size:, size:].toarray() - slope[size:, :size] @ moved
        if x is None or not np.all(np.isfinite(found)):
            raise StepFailure(
                f"the derivative at t = {t:.6g} could not be computed: the equations of this moment are singular. "
                "Contacts that depend on each other, and those that are only touched, have no derivative."
            )
        return found


@for_family(maxsize=128)
def _linear_move(family: Family, move: Move) -> _Linear:
    """A move, whose theta are the parameters of the system and its own numbers."""

    def at(s, theta):
        return mechanics_of(family.at(theta[: family.size])), s, theta[family.size :]

    return _Linear(
        lambda s, theta: move.guess(*at(s, theta)), lambda x, s, theta: move.residual(x, *at(s, theta)),
        lambda x, s, theta: move.finish(x, *at(s, theta)), sum(move.groups.values()), move.known,
    )  # fmt: skip


class _Chunk:
    """Steps of the regular grid in one mode."""

    def __init__(self, family: Family, note: Steps, parameters: np.ndarray, steps: EqualSteps) -> None:
        self._step, self._size = differentiable(step_functions(family, note.move), False), family.size
        self._parameters = np.concatenate([parameters, note.numbers])
        self._how = steps.t0 + note.first * steps.h, steps.h, self._parameters
        self._grid = Grid(note.count, 1)
        state = np.concatenate([note.y, np.zeros(note.move.length - len(note.y))])
        self._run = self._step.record(state, *self._how, self._grid)

    def tangents(self, begin: np.ndarray, by_all: np.ndarray) -> np.ndarray:
        """How the states move, the first included."""
        numbers = np.concatenate([by_all, np.zeros(len(self._parameters) - self._size)])
        return self._step.tangents(self._run, *self._how, (begin, 0.0, 0.0, numbers), self._grid)

    def adjoints(self, added: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The bars of the first state and of the parameters of the system from those of all states."""
        begin, _, _, moved = self._step.adjoints(self._run, *self._how, added, self._grid)
        return begin, moved[: self._size]


@for_family(maxsize=64)
def step_functions(family: Family, move: WholeStep) -> StepFunctions:
    """A step of the regular grid as one of the engine."""

    def at(t, h, state, parameters):
        m = mechanics_of(family.at(parameters[: family.size]))
        return m, t, h, state, parameters[family.size :]

    return StepFunctions(
        guess=lambda *rest: move.guess_at(*at(*rest)),
        residual=lambda x, *rest: move.residual_at(x, *at(*rest)),
        finish=lambda x, *rest: move.finish_at(x, *at(*rest)),
        **named({name: length for name, length in move.groups.items() if length}),
        n_state=move.length,
        summed_blocks=(),
        n_parameters=family.size + move.numbers,
    )
