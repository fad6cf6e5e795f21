"""Ensembles on a GPU: `python -m benchmarks.gpu`, where there is one. Prints trajectory-steps a second and defects."""

from __future__ import annotations

import sys
import time

import numpy as np
from rich.console import Console

import dalembert as da
from dalembert.gallery import DoublePendulum, McLachlanPerlmutterParticles, Pendulum

from .ensemble import ensemble_start, particle_start
from .tables import Table

#: members that are run on the processor too, for the comparison
COMPARED = 256


def double_pendulum_start(members: int) -> tuple[np.ndarray, np.ndarray]:
    """Double pendulums released at rest, both links at random angles of up to 2 from the vertical, in space."""
    random = np.random.default_rng(0)
    angle, around = random.uniform(0.1, 2.0, (2, members)), random.uniform(0.0, 2 * np.pi, (2, members))
    links = np.stack([np.sin(angle) * np.cos(around), np.sin(angle) * np.sin(around), -np.cos(angle)], axis=-1)
    return np.concatenate([links[0], links[0] + links[1]], axis=1), np.zeros((members, 6))


def particles(members: int) -> tuple[np.ndarray, np.ndarray]:
    """The thousand starting values of the particles, as often as it takes."""
    q0, v0 = particle_start(1000)
    rows = np.arange(members) % 1000
    return q0[rows], v0[rows]


def gpu_table(share: float = 1.0) -> Table:
    """Trajectory-steps a second, the worst constraint violation at the end, and the distance from the processor."""
    table = Table(
        "Ensembles on a GPU",
        ("case", "trajectories", "steps", "seconds", "whole call", "steps/s", "worst |g|, |k|", "from the CPU"),
    )
    cases = (
        ("pendulum, RATTLE", Pendulum(), da.Rattle(), ensemble_start, 2**20, 20_000, 0.01),
        ("particles, 2-stage Lobatto", McLachlanPerlmutterParticles(), da.lobatto_spark(2, "AB"), particles, 2**20,
         20_000, 0.05),
        ("double pendulum, RATTLE", DoublePendulum(), da.Rattle(), double_pendulum_start, 10**6, 10_000, 0.005),
    )  # fmt: skip
    for name, system, method, start, members, steps, h in cases:
        members, steps = max(COMPARED, int(members * share)), max(100, int(steps * share))
        q0, v0 = start(members)
        few = slice(0, members, members // COMPARED)
        short = {"t": (0.0, 100 * h), "h": h, "save_every": 10}
        here = da.simulate(system, method, q0[few], v0[few], **short)
        there = da.simulate(system, method, q0[few], v0[few], **short, engine="cuda")
        distance = float(np.max(np.abs(here.q - there.q)))
        begun = time.perf_counter()
        run = da.simulate(
            system, method, q0, v0, t=(0.0, steps * h), h=h, save_every=steps, engine="cuda", on_failure="return"
        )
        whole = time.perf_counter() - begun
        kept = np.concatenate([np.ravel(run.constraint[:, -1]), np.ravel(run.hidden[:, -1])])
        seconds = run.stats["wall_seconds"]
        table.rows.append(
            (name, str(members), str(steps), f"{seconds:.2f}", f"{whole:.1f}", f"{members * steps / seconds:.2e}",
             f"{np.nanmax(kept):.1e}", f"{distance:.1e}")
        )  # fmt: skip
        table.notes.append(
            f"{name}: {run.stats['registers']} registers, {run.stats['local_bytes']} bytes of local memory, "
            f"{run.stats['vector_iterations'] / members / steps:.2f} Newton iterations a step, "
            f"{run.stats['run_alone']} members repeated on the processor, {int(np.sum(run.status != 0))} failed, "
            f"compiled in {run.stats['compile_seconds']:.2f} s, {run.stats['device']}."
        )
    return table


if __name__ == "__main__":
    gpu_table(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0).show(Console(width=160))
