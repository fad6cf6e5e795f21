"""Poincare sections: where a finished run passes the zeros of a function.

Between two states the zero is found as `simulate(..., events=[...])` finds it: by steps of a smaller size from the
state before it, to the accuracy of the method.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError, StepFailure
from ..problem import Event, named_events
from ..stepping import Crossings, EventFunctions, Found, Layout, Rows, Search, SearchFailure, ShortSteps, runner_at
from .record import check_single
from .stretches import all_rows, check_repeatable, named_parts, saved_vectors

if TYPE_CHECKING:
    from .record import Trajectory


def section(self: Trajectory, function: Callable, direction: int = 0) -> Crossings:
    """Where the run passes the zeros of `function(t, q, v)`, to the accuracy of the method: a Poincare section.

    Args:
        function: a function (t, q, v) -> number, written with `jax.numpy`.
        direction: +1 for zeros that it passes from negative to positive values, -1 for the others, 0 for all.

    The result has `time`, `q`, `v` and `p`, a row for every zero.
    """
    run = self
    check_single(run, "ask")
    events = named_events([Event(function, direction, name=_name(function))])
    check_repeatable(run, "a section")
    if run.impulse.size:
        raise InputError("a section repeats parts of steps, and a run with contacts has its impacts inside them: use "
                         "da.EventCapturing(), whose run.events has the impacts.")  # fmt: skip
    if run.t[-1] < run.t[0]:
        raise InputError("a section is that of a motion forward in time: simulate it from its other end.")
    run._require_system("states inside a step")
    assert run.system is not None
    assert run.method is not None
    state = named_parts(run, saved_vectors(run)[:1]).row(0)
    layout = Layout(*(len(part) for part in (state.q, state.lam, state.psi)))
    found, functions = Found(events, layout), EventFunctions(events, layout)
    functions.check(float(run.t[0]), saved_vectors(run)[0])
    if len(run.t) > 1:
        h = float(np.atleast_1d(run._info["h"])[0])
        runner, parameters = runner_at(run.system, run.method, run._info["rows"], float(run.t[0]), h, state)
        search = Search(functions, ShortSteps(runner, parameters), float(np.max(np.abs(run.t))))
        try:
            _fill(found, search, run)
        except SearchFailure as failure:
            raise StepFailure(str(failure)) from failure
    arrays = {"q": run.q, **found.arrays()}
    return Crossings.from_arrays(arrays, [str(event.name) for event in events])


def _name(function: Callable) -> str:
    name = getattr(function, "__name__", "")
    return name if name.isidentifier() else "section"


def _fill(found: Found, search: Search, run: Trajectory) -> None:
    before: Rows | None = None
    for rows in all_rows(run):
        begins = before is None or not np.array_equal(before.states[-1], rows.states[0])
        for place in search.places(rows, frozenset() if begins else None):
            found.add(float(rows.t[place.step]) + place.tau, place.which, place.state, place.state)
        before = rows
