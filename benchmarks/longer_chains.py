"""How time and program grow with the length of a chain."""

from __future__ import annotations

import time

import dalembert as da
from dalembert.engine import finish_compiling
from dalembert.gallery import Chain

from .cases import hanging_chain
from .tables import Table, microseconds

LENGTHS = (10, 30, 100, 300, 1000, 10_000)
#: Steps of a run of ten links; longer chains take proportionally fewer.
STEP, STEPS = 0.001, 40_000


def longer_chains_table(repeats: int, share: float) -> Table:
    """The first call (translation and compilation), operations and time of a step."""
    header = ("links", "unknowns", "code", "operations a step", "first call, s", "microseconds a step", "per link")
    table = Table("Longer chains, RATTLE", header)
    for links in LENGTHS if share >= 1 else LENGTHS[:2]:
        steps = max(10, int(share * STEPS * LENGTHS[0] / links))
        q0, v0 = hanging_chain(links, 0.3)
        arguments = (Chain(links=links), da.Rattle(), q0, v0, None, (0.0, steps * STEP), STEP)
        begun = time.perf_counter()
        da.simulate(*arguments, save_every=steps)
        first = time.perf_counter() - begun
        da.simulate(*arguments, save_every=steps)
        finish_compiling()
        runs = [da.simulate(*arguments, save_every=steps) for _ in range(repeats)]
        best = 1e6 * min(run.stats["wall_seconds"] for run in runs) / steps
        stats = runs[-1].stats
        table.rows.append(
            (
                str(links),
                str(stats["unknowns"]),
                str(stats.get("code", "-")),
                str(stats.get("operations_per_step", "-")),
                f"{first:.1f}",
                microseconds(best),
                microseconds(best / links),
            )
        )
    table.notes.append(f"h = {STEP}, starting 0.3 rad from the vertical; same process for all rows.")
    return table
