"""Many trajectories at once."""

from __future__ import annotations

import os

import numpy as np

import dalembert as da
from dalembert.gallery import Pendulum

from .tables import Table, microseconds

MEMBERS = 4096


def ensemble_start(members: int) -> tuple[np.ndarray, np.ndarray]:
    """Pendulums released from angles between 0.1 and 2 with unit speed."""
    angle = np.linspace(0.1, 2.0, members)
    q0 = np.stack([np.sin(angle), -np.cos(angle)], axis=1)
    v0 = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return q0, v0


def ensemble_table(repeats: int, share: float) -> Table:
    """Microseconds per step and trajectory."""
    steps = max(10, int(share * 10_000))
    table = Table("Ensembles", ("microseconds per step and trajectory", "time", "trajectories", "steps"))
    q0, v0 = ensemble_start(MEMBERS)
    options = {"t": (0.0, steps * 0.01), "h": 0.01, "save_every": steps}
    try:
        da.simulate(Pendulum(), da.Rattle(), q0, v0, **options)
        runs = [da.simulate(Pendulum(), da.Rattle(), q0, v0, **options) for _ in range(repeats)]
    except da.InputError as error:
        table.notes.append(f"Not measured: {error}")
        return table
    best = min(run.stats["wall_seconds"] for run in runs)
    table.rows.append(
        (
            f"pendulum, RATTLE, {os.cpu_count()} cores",
            microseconds(1e6 * best / steps / MEMBERS),
            str(MEMBERS),
            str(steps),
        )
    )
    table.notes.append("The same program on vectors of float64, on all cores.")
    return table
