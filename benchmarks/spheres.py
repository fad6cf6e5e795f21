"""Frictional spheres that fall into a box, beside siconos (Debian: `apt install siconos python3-siconos`).

The same scheme on both sides: Moreau-Jean with theta = 1/2, contacts forecast at the end of the step, Newton's law with
restitution 0 and Coulomb friction in space, the same spheres, box, start and step size.
"""

from __future__ import annotations

import json
import pathlib
import subprocess
import time

import jax.numpy as jnp
import numpy as np

import dalembert as da

from .tables import Table

COUNT, RADIUS, WIDTH, STEP = 50, 0.1, 1.0, 0.005
SIMULATED = 1.0
#: what siconos' Gauss-Seidel aims at; ours ends at 1e-9
TOLERANCE = 1e-4
#: what da.Spheres aims at
AIM_BY_CELLS = 1e-6
_SICONOS = pathlib.Path(__file__).with_name("spheres_siconos.py")
_SYSTEM_PYTHON = "/usr/bin/python3"


class SpheresInBox(da.System):
    """Equal spheres between a floor and four walls; q = (centres, turns), three numbers each.

    A sphere looks the same however it is turned, so that the integrals of its angular velocity serve as coordinates.
    Contacts: all pairs, then the spheres with the floor and with each wall.
    """

    count: int = COUNT
    radius: float = RADIUS
    mass: float = 1.0
    gravity: float = 9.81
    width: float = WIDTH
    restitution: float = 0.0
    friction: float = 0.3

    def lagrangian(self, t, q, v):
        heights, (velocity, spin) = q.reshape(2, self.count, 3)[0, :, 2], v.reshape(2, self.count, 3)
        inertia = 0.4 * self.mass * self.radius**2
        kinetic = 0.5 * self.mass * jnp.sum(velocity**2) + 0.5 * inertia * jnp.sum(spin**2)
        return kinetic - self.mass * self.gravity * jnp.sum(heights)

    def _lines(self, q):
        """First and second sphere of every pair, and the vector between them."""
        centres = q.reshape(2, self.count, 3)[0]
        i, j = np.triu_indices(self.count, 1)
        return i, j, centres[j] - centres[i]

    def gap(self, t, q):
        centres, (_, _, line) = q.reshape(2, self.count, 3)[0], self._lines(q)
        pairs = jnp.sqrt(jnp.sum(line**2, axis=1)) - 2 * self.radius
        walls = [centres[:, 2] - self.radius]
        for k in (0, 1):
            walls += [self.width / 2 - self.radius + sign * centres[:, k] for sign in (1.0, -1.0)]
        return jnp.concatenate([pairs, *walls])

    def tangent(self, t, q):
        i, j, line = self._lines(q)
        rows, n = np.arange(len(i)), self.count
        normal = line / jnp.sqrt(jnp.sum(line**2, axis=1))[:, None]
        other = jnp.where(jnp.abs(normal[:, 2:]) > 0.9, jnp.array([1.0, 0.0, 0.0]), jnp.array([0.0, 0.0, 1.0]))
        first = jnp.cross(normal, other)
        first = first / jnp.sqrt(jnp.sum(first**2, axis=1))[:, None]
        directions = jnp.stack([first, jnp.cross(normal, first)], axis=1)
        arms = -self.radius * jnp.cross(normal[:, None], directions)
        pairs = jnp.zeros((len(i), 2, 2, n, 3))
        pairs = pairs.at[rows, :, 0, j].set(directions).at[rows, :, 0, i].set(-directions)
        pairs = pairs.at[rows, :, 1, j].set(arms).at[rows, :, 1, i].set(arms)
        return jnp.concatenate([pairs, *(self._on_wall(inward) for inward in _INWARD)]).reshape(-1, 2, 6 * n)

    def _on_wall(self, inward: np.ndarray):
        n, each = self.count, np.arange(self.count)
        along = np.eye(3)[(np.argmax(np.abs(inward)) + 1) % 3]
        directions = np.stack([along, np.cross(inward, along)])
        moving, turning = np.zeros((n, 2, 2, n, 3)), np.zeros((n, 2, 2, n, 3))
        moving[each, :, 0, each], turning[each, :, 1, each] = directions, -np.cross(inward, directions)
        return jnp.asarray(moving) + self.radius * jnp.asarray(turning)


_INWARD = np.array([[0, 0, 1], [1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]], dtype=float)


def centres_at_start(count: int = COUNT) -> np.ndarray:
    """Layers of a grid, disturbed a little so that nothing balances."""
    columns = int((WIDTH - 2 * RADIUS) // (2.2 * RADIUS)) + 1
    k = np.arange(count)
    grid = np.stack([k % columns, k // columns % columns, k // columns**2], axis=1).astype(float)
    corner = np.array([1.1 * RADIUS - WIDTH / 2, 1.1 * RADIUS - WIDTH / 2, 1.2 * RADIUS])
    centres = corner + grid * np.array([2.2, 2.2, 2.3]) * RADIUS
    centres[:, :2] += np.random.default_rng(0).uniform(-0.05, 0.05, (count, 2)) * RADIUS
    return centres


def spheres_table(share: float = 1.0) -> Table:
    """Seconds for a simulated second, and the deepest penetration, of both programs."""
    end = STEP * max(20, round(share * SIMULATED / STEP))
    centres = centres_at_start()
    table = Table(
        f"{COUNT} frictional spheres in a box",
        ("program", "seconds per simulated second", "ms a step", "deepest penetration", "energy at the end"),
    )
    seconds = {"dalembert": _own(table, centres, end)}
    by_cells = _by_cells(table, centres, end)
    table.notes.append(
        f"Contacts given as gaps take {seconds['dalembert'] / by_cells:.2g} times as long as da.Spheres."
    )
    found = _siconos(centres, end)
    if isinstance(found, str):
        table.notes.append(f"siconos: not measured, {found}")
        return table
    seconds["siconos"] = found["seconds"]
    table.rows.append(_row(f"siconos, tolerance {TOLERANCE:g}", end, found["seconds"], found["gap"], found["energy"]))
    with_gaps, without = (seconds["siconos"] / own for own in (seconds["dalembert"], by_cells))
    table.notes.append(
        f"h = {STEP}, t = {end:g}; in this run siconos takes {without:.2g} times as long as da.Spheres, and "
        f"{with_gaps:.2g} times as long as contacts given as gaps."
    )
    return table


def _own(table: Table, centres: np.ndarray, end: float) -> float:
    system, method = SpheresInBox(), da.MoreauJean(gamma=1.0)
    start = {"q0": np.concatenate([centres.ravel(), np.zeros(3 * COUNT)]), "v0": np.zeros(6 * COUNT), "h": STEP}
    da.simulate(system, method, **start, t=(0.0, 30 * STEP))  # everything compiled
    begun = time.perf_counter()
    run = da.simulate(system, method, **start, t=(0.0, end))
    seconds = time.perf_counter() - begun
    residual = run.stats["complementarity_residual"]
    table.rows.append(_row(f"dalembert, residual {residual:.0e}", end, seconds, run.gap.min(), run.energy[-1]))
    return seconds


def _by_cells(table: Table, centres: np.ndarray, end: float) -> float:
    """The same spheres with contacts from neighbours; to a tolerance between those of the others."""
    planes = np.column_stack([_INWARD, [0.0, *[-WIDTH / 2] * 4]])
    system = da.Spheres(radius=np.full(COUNT, RADIUS), planes=planes, friction=0.3, tolerance=AIM_BY_CELLS)
    start = {"q0": np.concatenate([centres.ravel(), np.zeros(3 * COUNT)]), "v0": np.zeros(6 * COUNT), "h": STEP}
    method = da.MoreauJean(gamma=1.0)
    da.simulate(system, method, **start, t=(0.0, end), on_failure="return")  # everything compiled
    begun = time.perf_counter()
    run = da.simulate(system, method, **start, t=(0.0, end))
    seconds = time.perf_counter() - begun
    deepest = min(_deepest(q.reshape(2, COUNT, 3)[0]) for q in run.q)
    residual = run.stats["complementarity_residual"]
    table.rows.append(_row(f"da.Spheres, residual {residual:.0e}", end, seconds, deepest, run.energy[-1]))
    return seconds


def _deepest(centres: np.ndarray) -> float:
    i, j = np.triu_indices(len(centres), 1)
    pairs = np.linalg.norm(centres[i] - centres[j], axis=1) - 2 * RADIUS
    walls = centres @ _INWARD.T + np.array([0.0, *[WIDTH / 2] * 4]) - RADIUS
    return float(min(pairs.min(), walls.min()))


def _row(name: str, end: float, seconds: float, gap: float, energy: float) -> tuple[str, ...]:
    return (name, f"{seconds / end:.2f}", f"{1e3 * seconds * STEP / end:.1f}", f"{max(0.0, -gap):.1e}", f"{energy:.2f}")


def _siconos(centres: np.ndarray, end: float) -> dict | str:
    """Its measurements, or why there are none."""
    problem = {
        "centres": centres.tolist(), "radius": RADIUS, "width": WIDTH, "h": STEP, "end": end, "friction": 0.3,
        "gravity": 9.81, "tolerance": TOLERANCE,
    }  # fmt: skip
    try:
        done = subprocess.run(
            [_SYSTEM_PYTHON, str(_SICONOS)], input=json.dumps(problem), capture_output=True, text=True, timeout=600,
            check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["it failed"])[-1]
    return json.loads(done.stdout.strip().splitlines()[-1])
