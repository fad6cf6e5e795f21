"""A batch with event capturing: every member has its own events, at its own times.

Members are run one after the other, by the same code: what was compiled for the modes of one serves all of them. Where
all members together will have bounced so often that it pays, the next ones take compiled steps for bounces from their
beginning on; they agree with the runs of their own to roundoff, and else to the last bit.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..engine import INTERRUPTED, Interruption
from ..errors import MethodDoesNotFit
from ..method import EventCapturing
from ..problem import AbstractSystem
from .consistent import Start
from .event_chunks import FEWEST_BOUNCES, MANY_BOUNCES
from .event_record import MODE_PREFIX
from .event_run import events_from
from .events import EVENT_PREFIX
from .members import Members, member
from .options import Given, Options, check_room, checked_save_every
from .prologue import check_suits
from .run import Run
from .step_sizes import EqualSteps

#: In the arrays of a batch, after the prefix of what was noted: whose it is.
MEMBER = "member"
#: What the members counted, and what is said of all of them together.
COUNTED = (
    "smooth_steps", "newton_iterations", "critical_steps", "compiled_steps", "events", "compile_seconds",
    "wall_seconds",
)  # fmt: skip


def run_event_members(
    system: AbstractSystem, method: EventCapturing, given: Given, options: Options, grid: EqualSteps, count: int
) -> Run:  # fmt: skip
    """All members of a batch; one that fails repeats its last state, and the others go on."""
    saves = grid.steps // checked_save_every(options.save_every, grid.steps) + 1
    members = Members(system, given, grid.t0, count, options.project, options.redundant, grid.h, strict=True)
    check_room(count * saves, members.layout.n_state)
    runs, bounced, begun = [], 0, time.perf_counter()
    with Interruption() as interruption:
        for k in range(count):
            if interruption.wanted:
                break
            try:
                bouncing = bounced >= FEWEST_BOUNCES and bounced * count >= MANY_BOUNCES * k
                one, start = member(system, k), _start(members, method, k)
                runs.append(events_from(one, method, start, options, grid, bouncing=bouncing))
                bounced += len(runs[-1].events.only("impact"))
            except KeyboardInterrupt:
                interruption.heard()
    if not runs:
        raise KeyboardInterrupt
    first, status = runs[0], np.full(count, INTERRUPTED)
    states = np.zeros((count, saves, first.states.shape[1]))
    for k in range(count):
        if k < len(runs):
            done = runs[k].states
            states[k, : len(done)], states[k, len(done) :] = done, done[-1]
            status[k] = runs[k].status.code
        else:
            states[k] = np.asarray(members.states[k])
    times = np.broadcast_to(grid.times(checked_save_every(options.save_every, grid.steps)), (count, saves))
    stats: dict[str, Any] = {name: sum(run.stats[name] for run in runs) for name in COUNTED}
    stats |= {"engine": first.stats["engine"], "members": count, "steps": grid.steps}
    stats["wall_seconds"] = time.perf_counter() - begun - stats["compile_seconds"]
    return Run(
        system, method, first.layout, first.rows, times, states, None, None, status, grid.h, stats,
        more={
            **_joined(EVENT_PREFIX, [run.events.arrays() for run in runs]),
            **_joined(MODE_PREFIX, [run.more for run in runs]),
        },
    )  # fmt: skip


def _start(members: Members, method: EventCapturing, k: int) -> Start:
    """The consistent start of a member."""
    first = members.start
    if first.rows is not None:
        start = members.start_of(k)
    else:
        start = Start(first.layout.unflatten(np.asarray(members.states[k])), first.layout, None)
    try:
        check_suits(member(members.system, k), method, start, members.t0)
    except MethodDoesNotFit as reason:
        raise MethodDoesNotFit(f"member {k} of the batch: {reason}") from reason
    return start


def _joined(prefix: str, parts: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """What all members have noted, one after the other, and whose it is."""
    arrays = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    lengths = [len(part[f"{prefix}time"]) for part in parts]
    return arrays | {f"{prefix}{MEMBER}": np.repeat(np.arange(len(parts)), lengths)}


def of_member(arrays: Mapping[str, Any], index: int) -> dict[str, Any]:
    """Of the arrays of a batch, those of one member."""
    found = {}
    for name, values in arrays.items():
        prefix = next((prefix for prefix in (EVENT_PREFIX, MODE_PREFIX) if name.startswith(prefix)), None)
        if prefix is None:
            found[name] = values[index]
        elif name != f"{prefix}{MEMBER}":
            found[name] = np.asarray(values)[np.asarray(arrays[f"{prefix}{MEMBER}"]) == index]
    return found
