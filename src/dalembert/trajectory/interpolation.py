"""Dense output: a run at any time inside it, from the polynomials of its steps.

The step that contains t is found again: from the state saved before it the steps up to it are repeated (none if every
state was saved), and its equations are solved once more, for all requested times together. With theta = (t - t_k) / h::

    Galerkin     q_d(theta), the polynomial of degree s of the variational principle, and its derivative
    Spark        q_k + h sum_j (int_0^theta l_j) V_j, and sum_j l_j(theta) V_j
    all others   the cubic Hermite polynomial through q and v of both ends, and its derivative

v is the derivative of q: where the polynomial is the method's own it need not meet the recorded v at the ends. lam is
the polynomial through `run.lam` at both ends of the step and the multipliers of the step's inner nodes (Galerkin),
the straight line where a method has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import InputError
from ..method import EventCapturing
from ..problem import State
from ..stepping import inside_steps, repeated_steps
from .attached import has_own_inputs

if TYPE_CHECKING:
    from .record import Trajectory


class Interpolated(NamedTuple):
    """The run at the requested times: arrays with the shape of t, and coordinates or constraints along a last axis."""

    t: Any
    q: Any
    v: Any
    lam: Any


def interpolate(run: Trajectory, t) -> Interpolated:
    """See `Trajectory.interpolate`; `run` is a single run with numbers."""
    if run.system is None or run.method is None:
        raise InputError(
            "interpolation needs the system and the method, which a loaded file does not hold. "
            "Repeat the run with da.simulate, or take the recorded states run.t, run.q."
        )
    if isinstance(run.method, EventCapturing):
        raise InputError(
            "interpolation repeats single steps, and steps with events are several in one. Use a smaller h, or "
            "simulate up to the time in question."
        )
    if has_own_inputs(run.system):
        raise InputError("interpolation repeats single steps, and does not know inputs that change from step to step: "
                         "use a smaller h, or a control u(t).")  # fmt: skip
    system = run._require_system("values inside a step")
    times = _times(run, t)
    shape, flat = np.shape(times), np.ravel(times)
    sizes = np.atleast_1d(np.asarray(run._info["h"], dtype=np.float64))
    if not len(flat):
        return Interpolated(times, *(np.zeros((*shape, part.shape[1])) for part in (run.q, run.v, run.lam)))
    if len(run.t) < 2:  # a run that failed in its first step
        parts = (np.repeat(np.asarray(part), len(flat), axis=0) for part in (run.q, run.v, run.lam))
        return Interpolated(times, *(part.reshape(*shape, -1) for part in parts))
    every, number = _numbers(run, sizes, flat)
    steps, which = np.unique(number, return_inverse=True)
    one_size = len(sizes) == 1
    begins = run.t[0] + sizes * steps if one_size else np.asarray(run.t)[steps]
    h = np.broadcast_to(sizes, steps.shape) if one_size else sizes[steps]
    theta = np.clip((flat - begins[which]) / h[which], 0.0, 1.0)
    start, end = _ends(run, steps, every, float(sizes[0]))
    rows = run._info["rows"]
    inner = inside_steps(system, run.method, rows, begins, h, start, end, which, theta)
    lam = _multipliers(
        theta, _lam_at(run, begins, start)[which], _lam_at(run, begins + h, end)[which],
        inner.nodes if rows is None else inner.nodes[:0], inner.inner_lam,
    )  # fmt: skip
    return Interpolated(times, *(part.reshape(*shape, -1) for part in (inner.q, inner.v, lam)))


class _Numbers(NamedTuple):
    """How many steps lie between saved states, and in which step each time lies."""

    every: int
    number: np.ndarray


def _numbers(run: Trajectory, sizes: np.ndarray, times: np.ndarray) -> _Numbers:
    saved = len(run.t) - 1
    if len(sizes) == 1:
        every = round(float(run.t[1] - run.t[0]) / float(sizes[0]))
        number = np.floor((times - run.t[0]) / sizes)
        return _Numbers(every, np.clip(number, 0, every * saved - 1).astype(np.int64))
    if run.status.step != saved:
        raise InputError(
            "a run with steps of different sizes can be interpolated only where every state was saved; repeat it with "
            "save_every=1."
        )
    return _Numbers(1, np.clip(np.searchsorted(run.t, times, side="right") - 1, 0, saved - 1))


def _times(run: Trajectory, t) -> np.ndarray:
    try:
        times = np.asarray(t, dtype=np.float64)
    except Exception as error:
        raise InputError(f"interpolate expects a time or an array of times, got {t!r}.") from error
    if not np.all(np.isfinite(times)):
        raise InputError("interpolate expects finite times; some of those given are NaN or infinite.")
    first, last = float(run.t[0]), float(run.t[-1])
    slack = 1e-12 * max(abs(first), abs(last))
    outside = times[(times < first - slack) | (times > last + slack)]
    if outside.size:
        raise InputError(
            f"interpolate expects times inside the run, [{first:g}, {last:g}], got {outside.flat[0]:.17g}"
            f"{f' and {outside.size - 1} more outside' if outside.size > 1 else ''}. Simulate a longer interval."
        )
    return times


def _ends(run: Trajectory, steps: np.ndarray, every: int, h: float) -> tuple[State, State]:
    """The states at the beginnings and the ends of steps, each (steps, ...)."""
    saved = State(
        *(np.asarray(run._arrays[name], dtype=np.float64) for name in ("q", "p", "v", "raw_lam", "raw_psi")),
        impulse=run.impulse.reshape(len(run.t), -1),
    )
    if every == 1:
        return _rows(saved, steps), _rows(saved, steps + 1)
    assert run.system is not None
    assert run.method is not None
    edges = np.cumsum([part.shape[1] for part in saved])[:-1]
    starts, ends = [], []
    for k in np.unique(steps // every):
        here = steps[steps // every == k] - k * every
        repeated = repeated_steps(
            run.system, run.method, run._info["rows"], float(run.t[k]), h, saved.row(k),
            int(here[-1]) + 1,
        )  # fmt: skip
        starts.append(repeated[here])
        ends.append(repeated[here + 1])
        if here[-1] == every - 1:  # the saved state itself, free of another run's roundoff
            ends[-1][-1] = np.concatenate([part[k + 1] for part in saved])
    first, last = (State(*np.split(np.concatenate(pieces), edges, axis=1)) for pieces in (starts, ends))
    return first, last


def _rows(state: State, index) -> State:
    return State(*(part[index] for part in state))


def _lam_at(run: Trajectory, t: np.ndarray, state: State):
    """`lam`, as the record defines it, at other states of the same run."""
    arrays = {"t": t, "q": state.q, "v": state.v, "p": state.p, "raw_lam": state.lam, "raw_psi": state.psi}
    return np.asarray(type(run)(arrays, run.system, run._info, run.status, run.method).lam)


def _multipliers(theta, before, after, nodes, inner) -> np.ndarray:
    """The polynomial through the multipliers of both ends and of the inner nodes, (N, m)."""
    places = np.concatenate([[0.0], nodes, [1.0]])
    values = [before, *(inner[:, k] for k in range(len(nodes))), after]
    total = np.zeros_like(before)
    for k, value in enumerate(values):
        others = np.delete(places, k)
        total += np.prod((theta[:, None] - others) / (places[k] - others), axis=1)[:, None] * value
    return total
