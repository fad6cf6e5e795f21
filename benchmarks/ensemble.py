"""Many trajectories at once."""

from __future__ import annotations

import os

import numpy as np

import dalembert as da
from dalembert.gallery import McLachlanPerlmutterParticles, Pendulum

from .tables import Table, microseconds

MEMBERS, PARTICLE_MEMBERS = 4096, 1000


def ensemble_start(members: int) -> tuple[np.ndarray, np.ndarray]:
    """Pendulums released from angles between 0.1 and 2 with unit speed."""
    angle = np.linspace(0.1, 2.0, members)
    q0 = np.stack([np.sin(angle), -np.cos(angle)], axis=1)
    v0 = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return q0, v0


def particle_start(members: int) -> tuple[np.ndarray, np.ndarray]:
    """Coupled particles with one constraint on the velocity: starting values of one energy."""
    starts = [McLachlanPerlmutterParticles().start_of(k, members - 1) for k in range(members)]
    return np.stack([start.q0 for start in starts]), np.stack([start.v0 for start in starts])


def ensemble_table(repeats: int, share: float) -> Table:
    """Microseconds per step and trajectory."""
    steps = max(10, int(share * 10_000))
    table = Table("Ensembles", ("microseconds per step and trajectory", "time", "trajectories", "steps"))
    rows = (
        ("pendulum, RATTLE", Pendulum(), da.Rattle(), *ensemble_start(MEMBERS), 0.01),
        (
            "McLachlan-Perlmutter particles, 2-stage Lobatto IIIA-B", McLachlanPerlmutterParticles(),
            da.lobatto_spark(2, "AB"), *particle_start(PARTICLE_MEMBERS), 0.05,
        ),
    )  # fmt: skip
    for name, system, method, q0, v0, h in rows:
        options = {"t": (0.0, steps * h), "h": h, "save_every": steps}
        try:
            da.simulate(system, method, q0, v0, **options)
            runs = [da.simulate(system, method, q0, v0, **options) for _ in range(repeats)]
        except da.InputError as error:
            table.notes.append(f"{name}: not measured, {error}")
            continue
        best = 1e6 * min(run.stats["wall_seconds"] for run in runs) / steps / len(q0)
        table.rows.append((f"{name}, {os.cpu_count()} cores", microseconds(best), str(len(q0)), str(steps)))
    table.notes.append("The same program on vectors of float64, on all cores.")
    return table
