"""Dense output: a run at any time inside it.

The states of a smooth run lie, up to the error of the method, on a smooth curve. Between two of them it is the
polynomial through the 2k numbers q_j, v_j of the k states around them (`curves.py`), with 2k - 1 >= p for a method of
order p: q, and v as its derivative, are of order p at any time. lam is the polynomial through 2k states. Where states
lie on no smooth curve, with contacts and with inputs that jump, both go through the two ends of the step only.

Steps between saved states are taken again, from the saved state before them. A run that was loaded cannot take steps:
its curve goes through the saved states. A Taylor series is its own curve, and `own=True` asks for the polynomials that
other methods have inside a step, with theta = (t - t_k) / h::

    Galerkin     q_d(theta), the polynomial of degree s of the variational principle, and its derivative
    Spark        q_k + h sum_j (int_0^theta l_j) V_j, and sum_j l_j(theta) V_j
    all others   the cubic through q and v of both ends, and its derivative

They are of order s + 1 at most, however high the order at the ends of the steps is; lam is the polynomial through both
ends and the multipliers of the step's inner nodes (Galerkin), the straight line where a method has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arguments import flag
from ..errors import InputError
from ..method import EventCapturing, Langevin
from ..problem import State, has_own_inputs
from ..stepping import (
    CROSSING_INFO,
    EVENT_PREFIX,
    MODE_PREFIX,
    Events,
    ModeHistory,
    SavedEvents,
    TakenSteps,
    repeated_steps,
)
from .curves import hermite_curve, lagrange_curve, stencils
from .stretches import is_cut, named_parts, saved_vectors, stretches

if TYPE_CHECKING:
    from .record import Trajectory

#: Polynomials through more states would spread roundoff and what is not smooth over too many steps.
MOST_STATES = 8


class Interpolated(NamedTuple):
    """The run at the requested times: arrays with the shape of t, and coordinates or constraints along a last axis."""

    t: Any
    q: Any
    v: Any
    lam: Any


def interpolate(run: Trajectory, t, own: bool = False) -> Interpolated:
    """See `Trajectory.interpolate`; `run` is a single run with numbers."""
    own = flag("own", own)
    _check(run, own)
    times = _times(run, t)
    shape, flat = np.shape(times), np.ravel(times)
    if run.method is not None and MODE_PREFIX + "time" in run._arrays and len(flat):
        state = _captured(run, flat)
        return Interpolated(times, *(part.reshape(*shape, -1) for part in (state.q, state.v, state.lam)))
    if is_cut(run):
        return _piecewise(run, times, own)
    if not len(flat):
        return Interpolated(times, *(np.zeros((*shape, part.shape[1])) for part in (run.q, run.v, run.lam)))
    if len(run.t) < 2:  # a run that failed in its first step
        parts = [np.repeat(np.asarray(part), len(flat), axis=0) for part in (run.q, run.v, run.lam)]
    elif own:
        parts = _own(run, _Grid(run), flat)
    else:
        parts = _smooth(run, _Grid(run), flat)
        if run.method is not None and run.method.dense_is_of_full_order:
            parts[:2] = _own(run, _Grid(run), flat)[:2]
    return Interpolated(times, *(part.reshape(*shape, -1) for part in parts))


def _piecewise(run: Trajectory, times: np.ndarray, own: bool) -> Interpolated:
    """Of a motion that events have changed, stretch by stretch; at an event the motion after it counts."""
    parts = stretches(run)
    begins = np.array([part.t[0] for part in parts])
    flat = np.ravel(times)
    which = np.clip(np.searchsorted(begins, flat, side="right") - 1, 0, len(parts) - 1)
    found = [np.zeros((len(flat), np.shape(part)[1])) for part in (run.q, run.v, run.lam)]
    for k in np.unique(which):
        inside = interpolate(parts[k], np.clip(flat[which == k], *parts[k].t[[0, -1]]), own)
        for values, part in zip(found, (inside.q, inside.v, inside.lam), strict=True):
            values[which == k] = part
    return Interpolated(times, *(values.reshape(*np.shape(times), -1) for values in found))


def _check(run: Trajectory, own: bool) -> None:
    captured = CROSSING_INFO not in run._info and any(name.startswith(EVENT_PREFIX) for name in run._arrays)
    if captured and (run.system is None or run.method is None):
        raise InputError(
            "between states of event capturing the motion is computed again, through its impacts, which needs the "
            "system and the method, and a loaded file does not hold them. Repeat the run with da.simulate."
        )
    if captured and own:
        raise InputError(
            "event capturing has one motion between two states, that of shorter steps through the same events: leave "
            "out own=True."
        )
    if own and (run.system is None or run.method is None):
        raise InputError(
            "the method's own polynomials need the system and the method, which a loaded file does not hold. Repeat "
            "the run with da.simulate, or leave out own=True."
        )
    if own and has_own_inputs(run.system):
        raise InputError(
            "own=True solves steps again, and does not know inputs that change from step to step: leave it out, or use "
            "a control u(t)."
        )


def _captured(run: Trajectory, times: np.ndarray) -> State:
    """Of a run of event capturing: from the state before, through the events on the way."""
    system = run._require_system("states between those of event capturing")
    assert isinstance(run.method, EventCapturing)
    arrays, saved = run._arrays, named_parts(run, saved_vectors(run))
    of_run = SavedEvents(
        system, run.method, run._info["rows"], np.asarray(run.t), float(run._info["h"]), saved,
        ModeHistory.from_arrays(arrays), Events.from_arrays(arrays),
    )  # fmt: skip
    return of_run.at(times)


def _times(run: Trajectory, t) -> np.ndarray:
    try:
        times = np.asarray(t, dtype=np.float64)
    except Exception as error:
        raise InputError(f"interpolate expects a time or an array of times, got {t!r}.") from error
    if not np.all(np.isfinite(times)):
        raise InputError("interpolate expects finite times; some of those given are NaN or infinite.")
    first, last = sorted((float(run.t[0]), float(run.t[-1])))
    slack = 1e-12 * max(abs(first), abs(last))
    outside = times[(times < first - slack) | (times > last + slack)]
    if outside.size:
        raise InputError(
            f"interpolate expects times inside the run, [{first:g}, {last:g}], got {outside.flat[0]:.17g}"
            f"{f' and {outside.size - 1} more outside' if outside.size > 1 else ''}. Simulate a longer interval."
        )
    return np.clip(times, first, last)


class _Grid:
    """The steps of a run, or, where steps between saved states cannot be taken again, the intervals between those."""

    def __init__(self, run: Trajectory) -> None:
        self._run, self._t, saved = run, np.asarray(run.t), len(run.t) - 1
        sizes = np.atleast_1d(np.asarray(run._info["h"], dtype=np.float64))
        self._h, self._equal = float(sizes[0]), len(sizes) == 1
        every = round(float(run.t[1] - run.t[0]) / self._h) if self._equal else 1
        if not self._equal and run.status.step != saved:
            raise InputError(
                "a run with steps of different sizes can be interpolated only where every state was saved; repeat it "
                "with save_every=1."
            )
        if every > 1 and (has_own_inputs(run.system) or isinstance(run.method, Langevin)):
            raise InputError(
                "steps between saved states are taken again, and the inputs or the random numbers that they had are "
                "not known: repeat the run with save_every=1."
            )
        self._every = 1 if run.system is None or run.method is None else every
        self.states = self._every * saved + 1

    def steps_at(self, times: np.ndarray) -> np.ndarray:
        """The number of the step in which each time lies."""
        if self._equal and self._every > 1:
            found = np.floor((times - self._t[0]) / self._h)
        else:
            forward = 1.0 if self._t[-1] > self._t[0] else -1.0
            found = np.searchsorted(forward * self._t, forward * times, side="right") - 1
        return np.clip(found, 0, self.states - 2).astype(np.int64)

    def times(self, numbers: np.ndarray) -> np.ndarray:
        """When the states with these numbers were there."""
        return self._t[numbers] if self._every == 1 else self._t[0] + self._h * numbers

    def rows(self, numbers: np.ndarray) -> State:
        """The states with these numbers, which ascend; those between saved ones are computed again."""
        run, every = self._run, self._every
        saved = State(
            *(np.asarray(run._arrays[name], dtype=np.float64) for name in ("q", "p", "v", "raw_lam", "raw_psi")),
            impulse=run.impulse.reshape(len(run.t), -1),
        )
        if every == 1:
            return State(*(part[numbers] for part in saved))
        assert run.system is not None
        assert run.method is not None
        edges = np.cumsum([part.shape[1] for part in saved])[:-1]
        pieces = []
        for k in np.unique(numbers // every):
            inside = numbers[numbers // every == k] - k * every
            if inside[-1] == 0:
                pieces.append(np.concatenate([part[k] for part in saved])[None])
                continue
            repeated = repeated_steps(
                run.system, run.method, run._info["rows"], float(run.t[k]), self._h, saved.row(k), int(inside[-1])
            )
            pieces.append(repeated[inside])
        return State(*np.split(np.concatenate(pieces), edges, axis=1))

    def lam(self, numbers: np.ndarray, states: State) -> np.ndarray:
        """`lam`, as the record defines it, at the states with these numbers."""
        run = self._run
        if run.system is None or self._every == 1:
            return np.asarray(run.lam)[numbers]
        arrays = {"t": self.times(numbers), "q": states.q, "v": states.v, "p": states.p}
        arrays |= {"raw_lam": states.lam, "raw_psi": states.psi}
        return np.asarray(type(run)(arrays, run.system, run._info, run.status, run.method).lam)


def _smooth(run: Trajectory, grid: _Grid, times: np.ndarray) -> list[np.ndarray]:
    """q, v and lam on the curve through neighbouring states."""
    order, smooth = run._info.get("order", 2), run._info.get("smooth", True)
    width = min(max(2, order // 2 + 1), MOST_STATES) if smooth else 2
    steps, which = np.unique(grid.steps_at(times), return_inverse=True)
    for_q = stencils(steps, grid.states, width)
    for_lam = stencils(steps, grid.states, 2 * width if smooth else 2)
    numbers, places = np.unique(np.concatenate([for_q, for_lam], axis=1), return_inverse=True)
    places = places.reshape(len(steps), -1)
    at_q, at_lam = places[:, : for_q.shape[1]], places[:, for_q.shape[1] :]
    states, t = grid.rows(numbers), grid.times(numbers)
    q, v = hermite_curve(t[at_q], states.q[at_q], states.v[at_q], which, times)
    lam = grid.lam(numbers, states)
    return [q, v, lagrange_curve(t[at_lam], lam[at_lam], which, times)]


def _own(run: Trajectory, grid: _Grid, times: np.ndarray) -> list[np.ndarray]:
    """q, v and lam from the polynomials of the method."""
    system, method, rows = run._require_system("values inside a step"), run.method, run._info["rows"]
    assert method is not None
    steps, which = np.unique(grid.steps_at(times), return_inverse=True)
    begins, ends = grid.times(steps), grid.times(steps + 1)
    theta = np.clip((times - begins[which]) / (ends - begins)[which], 0.0, 1.0)
    start, end = grid.rows(steps), grid.rows(steps + 1)
    inner = TakenSteps(system, method, rows, begins, ends - begins, start, end).inside(which, theta)
    nodes = inner.nodes if rows is None else inner.nodes[:0]
    lam = _through_inner_nodes(
        theta, grid.lam(steps, start)[which], grid.lam(steps + 1, end)[which], nodes, inner.inner_lam
    )
    return [inner.q, inner.v, lam]


def _through_inner_nodes(theta, before, after, nodes, inner) -> np.ndarray:
    """The polynomial through the multipliers of both ends and of the inner nodes, (N, m)."""
    places = np.tile(np.concatenate([[0.0], nodes, [1.0]]), (len(theta), 1))
    values = np.stack([before, *(inner[:, k] for k in range(len(nodes))), after], axis=1)
    return lagrange_curve(places, values, np.arange(len(theta)), theta)
