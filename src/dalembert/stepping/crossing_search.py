"""Where functions of the motion pass zero: in which steps, told from the saved rows, and when, told by shorter steps.

With the step from t to t + h from the state y written Phi_h(y), an event of the function e is a time t + tau with::

    e(t + tau, Phi_tau(y)) = 0,        0 < tau <= h

so it is as accurate as the method, whatever the order of its interpolant, and its state is one of the method's own. A
step is searched if e changes sign in it; or if its tangents at both ends meet beyond zero, since it may pass zero and
come back then. An odd number of zeros in one step counts as one. What is asked for is found by Newton's method, kept
in an interval at whose ends the signs differ; slopes come from the cubic polynomial through q and v of both ends.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import NOT_FINITE, OK, STATUS, RowFunction, Runner
from ..errors import DalembertError, ModelError
from ..method.polynomials import hermite
from ..problem import Event, State
from .step import Layout

EPS = float(np.finfo(np.float64).eps)
#: Zeros closer to the beginning of a motion than so many roundings of time belong to it: no events.
START = 64
#: Places at which the interpolant is looked at for the first guess, and iterations of the search.
PLACES, MOST_ITERATIONS = 17, 100
#: An update of Newton's below this part of the step that shrinks no more is roundoff of the function.
STALLED = 1e-8


class SearchFailure(DalembertError):
    """An event could not be found: code and message of the status."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Rows(NamedTuple):
    """States one after the other, with the times at which they are."""

    t: np.ndarray  # (N,)
    states: np.ndarray  # (N, n_state)


class Place(NamedTuple):
    """A zero of one function: in which step, after which time in it, and the state there."""

    step: int
    which: int
    tau: float
    state: np.ndarray


class EventFunctions:
    """The functions of all events at once, for many states."""

    def __init__(self, events: tuple[Event, ...], layout: Layout) -> None:
        self.events, self.layout = events, layout
        self._values = RowFunction(self._all)
        self._slopes = RowFunction(lambda t, q, v, a: jax.jvp(self._all, (t, q, v), (jnp.ones_like(t), v, a))[1])

    def _all(self, t, q, v) -> Any:
        return jnp.stack([jnp.asarray(event.function(t, q, v), jnp.float64) for event in self.events])

    def check(self, t: float, state: np.ndarray) -> None:
        """Refuse functions that do not give one number."""
        _, q, v = self._parts(t, state)
        for event in self.events:
            found = jax.eval_shape(event.function, jnp.asarray(t), jnp.asarray(q[0]), jnp.asarray(v[0]))
            if not isinstance(found, jax.ShapeDtypeStruct) or found.shape != () or found.dtype.kind == "c":
                raise ModelError(
                    f"the function of the event {event.name!r} must give one number, got "
                    f"{getattr(found, 'shape', type(found).__name__)}."
                )

    def _parts(self, t, states) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        state: State = self.layout.unflatten(np.atleast_2d(np.asarray(states, dtype=np.float64)))
        return np.atleast_1d(t), state.q, state.v

    def values(self, t, states) -> np.ndarray:
        """(N, events)."""
        t, q, v = self._parts(t, states)
        found = self._values(t, q, v)
        if not np.all(np.isfinite(found)):
            row, which = np.argwhere(~np.isfinite(found))[0]
            raise SearchFailure(
                NOT_FINITE,
                f"the function of the event {self.events[which].name!r} gave {found[row, which]} at t = {t[row]:.6g}: "
                "it must be finite along the motion.",
            )
        return found

    def slopes(self, t, h, begin, end) -> tuple[np.ndarray, np.ndarray]:
        """d e / dt at both ends of steps, (N, events) each."""
        first, q0, v0 = self._parts(t, begin)
        _, q1, v1 = self._parts(t, end)
        h = np.reshape(h, (-1, 1))
        mean = (q1 - q0) / h
        at_first = self._slopes(first, q0, v0, (6 * mean - 4 * v0 - 2 * v1) / h)
        return at_first, self._slopes(first + h[:, 0], q1, v1, (2 * v0 + 4 * v1 - 6 * mean) / h)

    def inside(self, t: float, h: float, theta: np.ndarray, begin, end) -> np.ndarray:
        """The values on the cubic polynomial of a step, (N, events)."""
        _, q0, v0 = self._parts(t, begin)
        _, q1, v1 = self._parts(t, end)
        q, v = hermite(theta[:, None], h, q0, v0, q1 - q0, v1)
        return self._values(t + theta * h, q, v)


class ShortSteps:
    """Steps of any size from any state, beside those of the run, which they do not change."""

    def __init__(self, runner: Runner, parameters: np.ndarray) -> None:
        self._runner, self._parameters, self.taken, self.iterations = runner, parameters, 0, 0

    def __call__(self, t: float, tau: float, state: np.ndarray) -> np.ndarray:
        runner = self._runner
        chunk = runner.run(runner.first_carry(state), t, tau, 1, 1, self._parameters, 1)
        self.taken += 1
        self.iterations += int(chunk.iterations.sum())
        if chunk.status != OK:
            raise SearchFailure(
                chunk.status,
                f"the step of the size {tau:.3g} from t = {t:.6g}, in which an event is looked for, failed: "
                f"{STATUS[chunk.status]}. Use a smaller h.",
            )
        return np.asarray(chunk.carry.state)


class Search:
    """The zeros in steps that are given by the rows at their ends; `longest` is the largest time of the run."""

    def __init__(self, functions: EventFunctions, short: ShortSteps, longest: float) -> None:
        self.functions, self._short = functions, short
        self.floor = START * EPS * longest
        self._directions = np.array([event.direction for event in functions.events])

    def places(self, rows: Rows, begun_by: frozenset[int] | None = None) -> list[Place]:
        """All zeros, in the order of the steps and of time in each. Where a motion begins with the first row,
        `begun_by` are the events with which it does: the sides of their functions follow from the slopes, whatever
        roundoff says."""
        sizes, values = np.diff(rows.t), self.functions.values(rows.t, rows.states)
        if begun_by is not None and len(sizes):
            soon = self.floor * self.functions.slopes(rows.t[0], sizes[0], rows.states[0], rows.states[1])[0][0]
            passed = np.abs(values[0]) <= np.abs(soon)
            passed[list(begun_by)] = True
            values[0] = np.where(passed, soon, values[0])
        before, after, wanted = values[:-1], values[1:], self._directions
        rising = (before < 0) & (after >= 0) & (wanted >= 0)
        falling = (before > 0) & (after <= 0) & (wanted <= 0)
        found = [self._at_sign_change(rows, int(k), int(i), values) for k, i in np.argwhere(rising | falling)]
        for k, i in self._may_turn(rows, values):
            found += self._around_turn(rows, int(k), int(i), values)
        return sorted(found, key=lambda place: (place.step, place.tau))

    def _may_turn(self, rows: Rows, values: np.ndarray) -> np.ndarray:
        """Steps, and functions in them, that may pass zero and come back: (N, 2)."""
        size, same = np.abs(values), values[:-1] * values[1:] > 0
        low = np.ones_like(same)  # next to a minimum of |e| among the rows
        low[1:] &= size[1:-1] <= size[:-2]
        low[:-1] &= size[1:-1] <= size[2:]
        steps = np.flatnonzero(np.any(same & low, axis=1))
        if not len(steps):
            return np.zeros((0, 2), np.int64)
        t, h = rows.t[steps], np.diff(rows.t)[steps, None]
        first, last = self.functions.slopes(t, h[:, 0], rows.states[steps], rows.states[steps + 1])
        sign, start, end = np.sign(values[steps]), size[steps], size[steps + 1]
        down, up = -sign * first * h, sign * last * h  # both positive where |e| falls and rises again
        turning = (same & low)[steps] & (down > 0) & (up > 0)
        # the tangents start - down theta and end - up (1 - theta) meet below zero
        chosen = np.argwhere(turning & (start * up + end * down <= down * up))
        return np.column_stack([steps[chosen[:, 0]], chosen[:, 1]])

    def _at_sign_change(self, rows: Rows, k: int, i: int, values: np.ndarray) -> Place:
        h = float(rows.t[k + 1] - rows.t[k])
        return self._zero(rows, k, i, (0.0, values[k, i]), (h, values[k + 1, i]))

    def _around_turn(self, rows: Rows, k: int, i: int, values: np.ndarray) -> list[Place]:
        """Both zeros around an extremum beyond zero, those that are asked for."""
        h, (first, last) = float(rows.t[k + 1] - rows.t[k]), values[k : k + 2, i]
        evaluate, sign = self._function(rows, k, i), np.sign(first)
        low, high = 0.0, h
        while high - low > STALLED * h:
            middle = (low + high) / 2
            value, slope, _ = evaluate(middle)
            if sign * value <= 0:
                ends = [(0.0, first), (middle, value), (h, last)]
                wanted = self._directions[i]
                pairs = [pair for pair in itertools.pairwise(ends)
                         if wanted in (0, np.sign(pair[1][1] - pair[0][1]))]  # fmt: skip
                return [self._zero(rows, k, i, *pair) for pair in pairs]
            low, high = (middle, high) if sign * slope < 0 else (low, middle)
        return []

    def _function(self, rows: Rows, k: int, i: int) -> Callable[[float], tuple[float, float, np.ndarray]]:
        """e, its slope and the state at the end of a shorter step."""
        t, state, functions = float(rows.t[k]), rows.states[k], self.functions

        def evaluate(tau: float) -> tuple[float, float, np.ndarray]:
            end = self._short(t, tau, state)
            slope = functions.slopes(t, tau, state, end)[1]
            return float(functions.values(t + tau, end)[0, i]), float(slope[0, i]), end

        return evaluate

    def _zero(self, rows: Rows, k: int, i: int, left: tuple[float, float], right: tuple[float, float]) -> Place:
        """The zero between two times of a step, at which the values are given."""
        low, (high, at_high) = left[0], right
        if at_high == 0:
            h = float(rows.t[k + 1] - rows.t[k])
            whole = rows.states[k + 1] if high == h else self._short(float(rows.t[k]), high, rows.states[k])
            return Place(k, i, high, whole)
        evaluate, rising = self._function(rows, k, i), at_high > 0
        tau, before = self._guess(rows, k, i, low, high), np.inf
        enough = EPS * max(abs(float(rows.t[k + 1])), abs(float(rows.t[k])))
        state = rows.states[k]
        for _ in range(MOST_ITERATIONS):
            value, slope, state = evaluate(tau)
            if (value > 0) == rising and value != 0:
                high = tau
            else:
                low = tau
            change = -value / slope if slope else np.inf
            stalled = abs(change) >= before / 2 and abs(change) <= STALLED * (right[0] - left[0])
            if value == 0 or abs(change) <= enough or stalled or high - low <= enough:
                break
            before = abs(change)
            new = tau + change
            tau = new if low < new < high else (low + high) / 2
        return Place(k, i, tau, state)

    def _guess(self, rows: Rows, k: int, i: int, low: float, high: float) -> float:
        """The first zero of the function on the cubic polynomial, or the middle where it has none."""
        t, h = float(rows.t[k]), float(rows.t[k + 1] - rows.t[k])
        for _ in range(3):
            tau = np.linspace(low, high, PLACES)
            values = self.functions.inside(t, h, tau / h, rows.states[k], rows.states[k + 1])[:, i]
            change = np.flatnonzero(values[:-1] * values[1:] < 0)
            if not len(change):
                break
            low, high = float(tau[change[0]]), float(tau[change[0] + 1])
        return (low + high) / 2
