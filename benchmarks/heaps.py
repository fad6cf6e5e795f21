"""Heaps of 50 to 10,000 spheres that fall into a box: time per step and contact, sweeps, residual, memory.

Each runs in a process of its own, so that its peak of memory is its own. All heaps are five layers high, on a floor
that grows with their number, so that a step of each is the same work for every contact.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

import numpy as np

import dalembert as da

from .tables import Table, microseconds

RADIUS, STEP, LAYERS = 0.1, 0.005, 5
COUNTS = (50, 200, 1000, 10_000)


def heap(across: int, layers: int, friction: float = 0.3, seed: int = 0) -> tuple[da.Spheres, np.ndarray]:
    """Spheres in layers of across x across over the floor of a box, disturbed a little, and their centres."""
    count, width = across**2 * layers, 2.2 * RADIUS * across
    k = np.arange(count)
    grid = np.stack([k % across, k // across % across, k // across**2], axis=1).astype(float)
    centres = np.array([1.1 * RADIUS - width / 2, 1.1 * RADIUS - width / 2, 1.2 * RADIUS])
    centres = centres + grid * np.array([2.2, 2.2, 2.3]) * RADIUS
    centres[:, :2] += np.random.default_rng(seed).uniform(-0.05, 0.05, (count, 2)) * RADIUS
    inward = np.array([[0, 0, 1], [1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]], dtype=float)
    planes = np.column_stack([inward, [0.0, *[-width / 2] * 4]])
    return da.Spheres(radius=np.full(count, RADIUS), planes=planes, friction=friction), centres


def measure(across: int, layers: int, steps: int) -> dict:
    """One heap, in this process."""
    system, centres = heap(across, layers)
    count, method = len(centres), da.MoreauJean(gamma=1.0)
    start = {"q0": np.concatenate([centres.ravel(), np.zeros(3 * count)]), "v0": np.zeros(6 * count), "h": STEP}
    small, low = heap(2, 3)
    few = {"q0": np.concatenate([low.ravel(), np.zeros(36)]), "v0": np.zeros(72), "h": STEP}
    da.simulate(small, method, **few, t=(0.0, 40 * STEP))  # everything compiled
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.perf_counter()
    run = da.simulate(system, method, **start, t=(0.0, steps * STEP), save_every=max(1, steps // 10))
    seconds = time.perf_counter() - begun
    return {
        "count": count, "steps": steps, "seconds": seconds, "contacts": run.stats["contacts"],
        "sweeps": run.stats["sweeps"], "residual": run.stats["complementarity_residual"],
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, "before": before,
        "speed": float(np.max(np.linalg.norm(run.v[-1].reshape(2, count, 3)[0], axis=1))),
    }  # fmt: skip


def heaps_table(share: float = 1.0) -> Table:
    """One row a heap."""
    header = (
        "spheres", "steps", "contacts a step", "ms a step", "microseconds a step and contact", "sweeps a step",
        "worst residual", "peak memory, MB", "of it during the run",
    )  # fmt: skip
    table, steps = Table("Heaps of spheres", header), max(10, int(100 * share))
    for count in COUNTS:
        across = round((count / LAYERS) ** 0.5)
        table.rows.append(_row(str(across**2 * LAYERS), _apart(across, LAYERS, steps)))
    table.notes.append(
        f"Equal spheres of radius {RADIUS} fall in {LAYERS} layers into a box, friction 0.3, h = {STEP}: they hit the "
        "floor and each other and come to lie. Each heap has a process of its own and one core; contacts and "
        "sweeps are means over the steps."
    )
    return table


def _apart(across: int, layers: int, steps: int) -> dict:
    command = [sys.executable, "-m", "benchmarks.heaps", str(across), str(layers), str(steps)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def _row(name: str, found: dict) -> tuple[str, ...]:
    seconds, steps, contacts = found["seconds"], found["steps"], found["contacts"]
    return (
        name, str(steps), f"{contacts / steps:.0f}", f"{1e3 * seconds / steps:.3g}",
        microseconds(1e6 * seconds / contacts), f"{found['sweeps'] / steps:.0f}", f"{found['residual']:.0e}",
        f"{found['memory'] / 1024:.0f}", f"{(found['memory'] - found['before']) / 1024:.0f}",
    )  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(measure(*map(int, sys.argv[1:4]))))
