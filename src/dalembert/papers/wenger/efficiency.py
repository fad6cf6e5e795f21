"""What figures 4 and 5 share: errors and run times over step sizes, and the work that a given accuracy costs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

import dalembert as da

from ...plots.series import label_few_decades
from ...plots.style import PALETTE
from ...trajectory import Trajectory

#: Runs are repeated until the shortest time of none of them has become shorter by this part in so many rounds, or until
#: so many seconds are over.
SHORTER, QUIET_ROUNDS, MOST_SECONDS = 0.02, 6, 60.0
#: Errors at the end below this are roundoff; at or above `LARGEST` the run is too coarse or has lost its way.
FLOOR, LARGEST = 1e-11, 0.3
#: Times at which the error is looked at.
SAVED = 100


@dataclass(frozen=True)
class Costs:
    """One row for every number of steps: the largest error of q, seconds, floating-point operations."""

    steps: list[int]
    errors: list[float]
    seconds: list[float]
    operations: list[float]


def costs(system, method, q0, v0, end: float, counts, exact, most_seconds: float = MOST_SECONDS) -> Costs:
    """Run with every number of steps; failed runs, lost ones and those at roundoff are left out.

    The error is the largest one over `SAVED` times; `exact` gives q there. Numbers of steps are multiples of `SAVED`.
    """

    def run(count: int):
        return da.simulate(
            system, method, q0, v0, t=(0.0, end), h=end / count, save_every=count // SAVED, on_failure="return"
        )

    found = Costs([], [], [], [])
    for count in counts:
        first, seconds = timed(run, count)
        error = float(np.max(np.abs(np.asarray(first.q) - exact))) if first.status else np.nan
        if FLOOR < error < LARGEST:
            found.steps.append(count)
            found.errors.append(error)
            found.seconds.append(seconds)
            found.operations.append(_operations(first.stats))
    quiet, begun = 0, time.perf_counter()
    while quiet < QUIET_ROUNDS and time.perf_counter() - begun < most_seconds:
        before = np.array(found.seconds)
        for k, count in enumerate(found.steps):  # round after round: what disturbs one shall not disturb all of a kind
            found.seconds[k] = min(found.seconds[k], timed(run, count)[1])
        quiet = quiet + 1 if np.all(np.array(found.seconds) > (1 - SHORTER) * before) else 0
    return found


def timed(run, count: int) -> tuple[Trajectory, float]:
    """A run, and a bound from above for the seconds of its steps.

    The clock on the wall runs on while other programs have the processor, the processor's time contains all that a call
    does beside its steps: the smaller one is nearer. What mending a step took, tracing equations anew, is left out.
    """
    begun = time.process_time()
    found = run(count)
    processor, wall = time.process_time() - begun, found.stats["wall_seconds"]
    mending = found.stats.get("mending_seconds", 0.0)
    return found, wall - mending if mending else min(processor, wall)


def _operations(stats: dict[str, Any]) -> float:
    per_iteration, per_step = stats.get("operations_per_iteration"), stats.get("operations_per_step")
    if per_iteration is None or per_step is None:
        return float("nan")
    return float(per_iteration * stats["newton_iterations"] + per_step * stats["steps"])


def at_accuracy(found: Costs, accuracy: float, what: str = "operations") -> float:
    """The cost of an accuracy, on lines between the runs in double logarithmic axes.

    Beyond the finest run the line is extended; where even the coarsest run is more accurate, its cost is the answer.
    """
    x, y = np.log(found.errors)[::-1], np.log(getattr(found, what))[::-1]  # from the finest run to the coarsest
    target = np.log(accuracy)
    if target >= x[0] or len(x) < 2:
        return float(np.exp(np.interp(target, x, y)))
    slope = (y[1] - y[0]) / (x[1] - x[0])
    return float(np.exp(y[0] + slope * (target - x[0])))


def rows(named: dict[str, Costs]) -> dict[str, list]:
    """All runs as one table."""
    columns: dict[str, list] = {key: [] for key in ("method", "steps", "error of q", "seconds", "operations")}
    for name, found in named.items():
        columns["method"] += [name] * len(found.steps)
        columns["steps"] += found.steps
        columns["error of q"] += found.errors
        columns["seconds"] += found.seconds
        columns["operations"] += found.operations
    return columns


def draw_costs(axes, table, styles: dict[str, tuple[int, str, str]]) -> None:
    """Error against run time in double logarithmic axes; `styles` gives colour number, marker and line of each."""
    names, seconds, errors = (np.asarray(table[key]) for key in ("method", "seconds", "error of q"))
    for name, (colour, marker, line) in styles.items():
        mine = names == name
        axes.plot(
            1e3 * seconds[mine], errors[mine], marker=marker, linestyle=line, color=PALETTE[colour], label=name,
            markersize=6, markerfacecolor="white" if line == "--" else None,
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("run time [ms]")
    label_few_decades(axes.xaxis)
