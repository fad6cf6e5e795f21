"""One piece of a sweep, as a worker computes it: so many trajectories in one vectorised run, written to the store."""

from __future__ import annotations

import dataclasses
import threading
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..engine import INTERRUPTED
from ..errors import DalembertError
from ..method import Method
from ..problem import AbstractSystem
from ..stepping.ensemble import forget_ensembles
from ..storage.sweep_store import SweepStore
from .simulate import simulate

#: Vectorised code keeps the state of its members: one run at a time in a process.
_ONE_AT_A_TIME = threading.Lock()


class Rows(NamedTuple):
    """Some trajectories: the parameters that differ, q0, and v0 or p0."""

    parameters: dict[str, np.ndarray]
    q0: np.ndarray
    second: np.ndarray


@dataclass(frozen=True)
class Job:
    """What all pieces have in common; `first` is the first trajectory of the sweep."""

    key: str
    system: AbstractSystem
    method: Method
    first: Rows
    second_name: str
    t: tuple[float, float]
    h: float
    options: dict[str, Any]
    variables: tuple[str, ...]
    store: SweepStore


class Done(NamedTuple):
    """A piece, and how many of its trajectories failed."""

    number: int
    failed: int


_ready_for: list[str] = []


def compute_piece(job: Job, number: int, rows: Rows) -> Done:
    """Run the trajectories and write them. Its bits depend on the sweep and the number only, not on what this process
    ran before: the pivots of the compiled step are chosen at the first trajectory of the sweep."""
    with _ONE_AT_A_TIME:
        if _ready_for != [job.key]:
            forget_ensembles()
            one = Rows({name: values[:1] for name, values in job.first.parameters.items()}, *job.first[1:])
            _run(job, one, (job.t[0], job.t[0] + job.h), {"save_every": 1})
            _ready_for[:] = [job.key]
        try:
            run = _run(job, rows, job.t, {})
        except DalembertError as error:
            error.add_note(f"in piece {number} of the sweep, with {len(rows.q0)} trajectories")
            raise
        if np.any(np.asarray(run.status) == INTERRUPTED):  # a piece is written whole or not at all
            raise KeyboardInterrupt
        values = {name: np.asarray(getattr(run, name)) for name in job.variables}
        status = np.asarray(run.status, dtype=np.int64)
        job.store.write(number, values | {"status": status})
    return Done(number, int(np.count_nonzero(status)))


def _run(job: Job, rows: Rows, t: tuple[float, float], more: dict[str, Any]):
    system = dataclasses.replace(job.system, **rows.parameters) if rows.parameters else job.system
    start = {"q0": rows.q0, job.second_name: rows.second}
    return simulate(system, job.method, **start, t=t, h=job.h, on_failure="return", **(job.options | more))
