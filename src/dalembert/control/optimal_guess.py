"""Where the search for a plan begins: a motion, inputs, and the unknowns of every step."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arguments import floats, shown
from ..errors import InputError
from ..problem import lagrange_weights, undriven
from ..simulation.boundary_guess import momenta_of, path_between, states_along
from ..trajectory import Trajectory
from .plan import Plan
from .question import Question
from .transcription import Transcription


class Guess(NamedTuple):
    """A motion near the plan: positions (N + 1, n), velocities or None, inputs (N, points, inputs), the length."""

    q: np.ndarray
    v: np.ndarray | None
    U: np.ndarray
    T: float


def coordinates_of(guess: Any) -> int | None:
    """The number of coordinates of a guess; None where there is none."""
    if guess is None:
        return None
    shape = np.shape(guess.q if isinstance(guess, Trajectory) else guess)
    if len(shape) != 2:
        raise InputError(
            "guess must be a run, such as da.simulate or da.optimal_control gives, or positions of shape "
            f"(steps + 1, n), got {shown(guess, 80)}."
        )
    return shape[1]


def guess_of(asked: Question, guess: Any) -> Guess:
    """The user's guess at the times of the plan; without one the straight line from the start to the end."""
    T = _length(asked, guess)
    at_rest = np.clip(0.0, asked.inputs.lower, asked.inputs.upper)
    U = np.broadcast_to(at_rest, (asked.steps, len(asked.points), asked.inputs.size)).copy()
    share = asked.begins
    if guess is None:
        return Guess(_straight(asked, T), None, U, T)
    if not isinstance(guess, Trajectory):
        path = floats("guess", guess, finite=True)
        if len(path) != asked.steps + 1:
            raise InputError(
                f"guess must hold a position for each of the {asked.steps + 1} states: expected the shape "
                f"({asked.steps + 1}, {asked.layout.n}), got {path.shape}."
            )
        return Guess(path, None, U, T)
    own = (np.asarray(guess.t) - guess.t[0]) / (guess.t[-1] - guess.t[0])
    q, v = (
        np.stack([np.interp(share, own, column) for column in np.asarray(part).T], 1) for part in (guess.q, guess.v)
    )
    if asked.inputs.size and (isinstance(guess, Plan) or "u" in guess._arrays):
        inside = share[:-1, None] + np.array(asked.points) * asked.shares[:, None]
        U = _inputs_at(guess, own, inside)
        U = np.clip(U, asked.inputs.lower, asked.inputs.upper)
    return Guess(q, v, U, T)


def _inputs_at(guess: Trajectory, own: np.ndarray, where: np.ndarray) -> np.ndarray:
    """The inputs of a run whose states lie at `own`: of a plan the polynomials of its steps, else lines."""
    if not isinstance(guess, Plan) or len(guess.control.values) != len(own) - 1:
        return np.stack([np.interp(where, own, column) for column in guess.u.T], axis=2)
    k = np.clip(np.searchsorted(own, where, side="right") - 1, 0, len(own) - 2)
    theta = (where - own[k]) / (own[k + 1] - own[k])
    return np.einsum("ikj,kjil->kjl", lagrange_weights(guess.control.points, theta), guess.control.values[k])


def _length(asked: Question, guess: Any) -> float:
    least, most = asked.horizon
    if isinstance(guess, Trajectory):
        return float(np.clip(guess.t[-1] - guess.t[0], least, most))
    return (least + most) / 2 if np.isfinite(most) else 2.0 * least


def _straight(asked: Question, T: float) -> np.ndarray:
    n, times = asked.layout.n, asked.t0 + T * asked.begins
    wishes = asked.wishes
    first, last = (
        place if isinstance(names, tuple) and "q" in names else None
        for names, place in ((wishes.start, asked.given[:n]), (wishes.end, asked.given[2 * n : 3 * n]))
    )
    if first is None and last is None:
        raise InputError("without a position at the start or at the end, pass guess=...: a run near the plan, or "
                         "positions of shape (steps + 1, n).")  # fmt: skip
    first, last = (last if first is None else first), (first if last is None else last)
    return path_between(undriven(asked.system), asked.layout, times, first, last)


def packed(problem: Transcription, guess: Guess) -> np.ndarray:
    """z of a guess: momenta and unknowns of the steps belong to its motion."""
    asked, n = problem.question, problem.question.layout.n
    times = asked.t0 + guess.T * asked.begins
    full = momenta_along(asked, times, guess)
    if asked.wishes.starts_in_state:
        full[0, : 3 * n] = np.concatenate([asked.given[:n], asked.p_given, asked.given[n : 2 * n]])
    U = guess.U.reshape(asked.steps, -1)
    h = guess.T * asked.shares
    many = np.broadcast_to(problem.parameters, (asked.steps, len(problem.parameters)))
    x = problem.functions.guess(times[:-1], h, full[:-1], U, many)
    return problem.pack(full[:, : 3 * n], x, U, guess.T)


def momenta_along(asked: Question, times: np.ndarray, guess: Guess) -> np.ndarray:
    """States (N + 1, n_state) with the momenta of the velocities."""
    full, _ = states_along(asked.system, asked.layout, times, guess.q)
    if guess.v is not None:
        n = asked.layout.n
        full[:, 2 * n : 3 * n] = guess.v
        full[:, n : 2 * n] = momenta_of(asked.system, times, guess.q, guess.v)
    return full
