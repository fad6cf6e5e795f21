"""The states of a run in stretches of unbroken motion: events with actions end one and begin the next."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ..method import EventCapturing
from ..problem import State, has_own_inputs
from ..stepping import CROSSING_INFO, Rows, repeated_steps

if TYPE_CHECKING:
    from .record import Trajectory

#: Times closer than so many roundings of the largest are the same.
SAME_TIME = 64 * float(np.finfo(np.float64).eps)
_PARTS = ("q", "p", "v", "raw_lam", "raw_psi")


def check_repeatable(run: Trajectory, what: str) -> None:
    """Refuse a run whose steps cannot be taken again, for `what`, which repeats single steps."""
    if run.system is None or run.method is None:
        raise InputError(
            f"{what} needs the system and the method, which a loaded file does not hold. "
            "Repeat the run with da.simulate, or take the recorded states run.t, run.q."
        )
    if isinstance(run.method, EventCapturing):
        raise InputError(
            f"{what} repeats single steps, and steps with events are several in one. Use a smaller h, or "
            "simulate up to the time in question."
        )
    if has_own_inputs(run.system):
        raise InputError(f"{what} repeats single steps, and does not know inputs that change from step to step: "
                         "use a smaller h, or a control u(t).")  # fmt: skip


def is_cut(run: Trajectory) -> bool:
    """Whether an event ended the run inside a step, or changed its motion."""
    return bool(np.any(_cutting(run)))


def _cutting(run: Trajectory) -> np.ndarray:
    about = run._info.get(CROSSING_INFO)
    if about is None:
        return np.zeros(0, bool)
    return np.array(about["interrupts"], bool)[np.asarray(run._arrays["event_which"], np.int64)]


def saved_vectors(run: Trajectory) -> np.ndarray:
    """The saved states as vectors, (N, n_state)."""
    none = np.zeros((len(run.t), 0))  # files leave out what is empty
    parts = [np.asarray(run._arrays.get(name, none), dtype=np.float64) for name in _PARTS]
    return np.concatenate([*parts, run.impulse.reshape(len(run.t), -1)], axis=1)


def named_parts(run: Trajectory, vectors: np.ndarray) -> State:
    """State vectors, (N, n_state), by the names of their parts."""
    sizes = [np.shape(run._arrays.get(name, np.zeros((0, 0))))[1] for name in _PARTS]
    return State(*np.split(vectors, np.cumsum(sizes), axis=1))


def stretches_of(run: Trajectory) -> Iterator[Rows]:
    """All states of a run of which every state was saved, in stretches of unbroken motion."""
    times, saved, cut = np.asarray(run.t, dtype=np.float64), saved_vectors(run), _cutting(run)
    begin, state = float(times[0]), saved[0]
    near = SAME_TIME * float(np.max(np.abs(times)))
    moments = (
        (np.asarray(run._arrays[name])[cut] for name in ("event_time", "event_before", "event_after"))
        if len(cut)
        else ()
    )
    for moment, before, after in zip(*moments, strict=True):
        if moment > begin:  # of several events at one time each says the same
            inner = (times > begin + near) & (times < moment - near)
            yield Rows(
                np.concatenate([[begin], times[inner], [moment]]), np.concatenate([[state], saved[inner], [before]])
            )
        begin, state = float(moment), after
    inner = times > begin + near
    if np.any(inner):
        yield Rows(np.concatenate([[begin], times[inner]]), np.concatenate([[state], saved[inner]]))


def stretches(run: Trajectory) -> list[Trajectory]:
    """The same as runs of their own, whose steps have sizes of their own."""
    _every(run)
    found = []
    for rows in stretches_of(run):
        state = named_parts(run, rows.states)
        arrays = {"t": rows.t, "q": state.q, "v": state.v, "p": state.p, "raw_lam": state.lam, "raw_psi": state.psi}
        info = {name: value for name, value in run._info.items() if name != CROSSING_INFO}
        info["h"] = np.diff(rows.t).tolist()
        status = dataclasses.replace(run.status, step=len(rows.t) - 1)
        found.append(type(run)(arrays, run.system, info, status, run.method))
    return found


def _every(run: Trajectory) -> int:
    """The steps between saved states."""
    sizes = np.atleast_1d(np.asarray(run._info["h"], dtype=np.float64))
    every = max(1, round(float(run.t[1] - run.t[0]) / float(sizes[0]))) if len(sizes) == 1 and len(run.t) > 1 else 1
    if (len(sizes) > 1 and run.status.step != len(run.t) - 1) or (every > 1 and is_cut(run)):
        raise InputError(
            "of a run with steps of different sizes, or with events that changed its motion, every state has to be "
            "saved for what lies between them: repeat it with save_every=1."
        )
    return every


def all_rows(run: Trajectory) -> Iterator[Rows]:
    """All states in stretches; of a run of which not every state was saved the steps between them are repeated."""
    assert run.system is not None
    assert run.method is not None
    every = _every(run)
    if every == 1:
        yield from stretches_of(run)
        return
    h, saved = float(np.ravel(run._info["h"])[0]), saved_vectors(run)
    states = named_parts(run, saved)
    for k in range(len(run.t) - 1):
        begin = float(run.t[k])
        rows = repeated_steps(run.system, run.method, run._info["rows"], begin, h, states.row(k), every)
        rows[-1] = saved[k + 1]  # free of another run's roundoff
        yield Rows(begin + h * np.arange(every + 1), rows)
