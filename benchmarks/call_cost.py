"""The fixed cost of a short call of `simulate`, once everything is compiled."""

from __future__ import annotations

import time

import numpy as np

import dalembert as da

from .cases import Case, cases
from .tables import Table

STEPS = 10


def call_cost_table(repeats: int) -> Table:
    """Milliseconds of a call of ten steps, from a start that was seen before and from one that was not."""
    header = (f"milliseconds, {STEPS} steps", "the same start", "median", "another start", "median")
    table = Table("Fixed cost of one call", header)
    for name in ("pendulum", "two-links", "ten-links"):
        case = cases()[name]
        same = [_milliseconds(case, 0.0) for _ in range(4 * repeats + 1)][1:]
        # the start of an autonomous system at another time; the first few write the programs out that check it
        other = [_milliseconds(case, float(k)) for k in range(1, 4 * repeats + 11)][10:]
        table.rows.append((case.name, *(f"{number:.1f}" for t in (same, other) for number in (min(t), np.median(t)))))
    table.notes.append(
        "Checks of the input, consistent starting values and the first multiplier included; those of the last "
        "starts are remembered."
    )
    return table


def _milliseconds(case: Case, t0: float) -> float:
    begun = time.perf_counter()
    da.simulate(
        case.system, case.method, case.q0, case.v0, t=(t0, t0 + STEPS * case.h), h=case.h, save_every=STEPS
    )  # fmt: skip
    return 1e3 * (time.perf_counter() - begun)
