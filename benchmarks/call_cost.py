"""The fixed cost of a short call of `simulate`, once everything is compiled."""

from __future__ import annotations

import time

import numpy as np

from .cases import cases
from .tables import Table

STEPS = 10


def call_cost_table(repeats: int) -> Table:
    """Milliseconds of a call of ten steps, best and median."""
    table = Table("Fixed cost of one call", (f"milliseconds, {STEPS} steps", "best", "median"))
    for name in ("pendulum", "two-links", "ten-links"):
        case = cases()[name]
        case.simulate(STEPS)
        times = []
        for _ in range(4 * repeats):
            begun = time.perf_counter()
            case.simulate(STEPS)
            times.append(1e3 * (time.perf_counter() - begun))
        table.rows.append((case.name, f"{min(times):.1f}", f"{np.median(times):.1f}"))
    table.notes.append("Checks of the input, consistent starting values and the first multiplier included.")
    return table
