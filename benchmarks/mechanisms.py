"""Robots in both formulations: an arm, a quadruped and a humanoid of rigid bodies with hinges in general position."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

import dalembert as da
from dalembert.engine import finish_compiling

from .tables import Table, microseconds

STEP = 0.001
#: The time that the timed runs of one row should take together, by the first run.
SECONDS_A_ROW = 2.0


@dataclass(frozen=True)
class Robot:
    """A tree of bodies: for every joint the body that carries it, in order; body k + 1 hangs at joint k. A floating
    robot has a free body 0, the others are fixed to the ground there."""

    name: str
    carriers: tuple[int, ...]
    floating: bool

    def model(self, seed: int = 0) -> da.Multibody:
        """As robots are drawn: hinges about x, y or z, principal axes along x, y, z, all else in general position."""
        random = np.random.default_rng(seed)
        model = da.Multibody(name=self.name.capitalize())
        bodies = [self._body(model, 0, random, np.zeros(3)) if self.floating else model.ground]
        for k, carrier in enumerate(self.carriers):
            place = bodies[carrier].place + random.uniform(-1, 1, 3) * 0.05 + 0.3 * _direction(random)
            bodies.append(self._body(model, k + 1, random, place))
            model.joint(f"joint {k + 1}", bodies[carrier], bodies[k + 1], da.Revolute("xyz"[random.integers(3)]))
        return model

    def _body(self, model: da.Multibody, k: int, random: np.random.Generator, place: np.ndarray) -> da.Body:
        euler = random.uniform(0.005, 0.02, 3)
        return model.body(
            f"body {k}", mass=random.uniform(0.5, 2), inertia=euler.sum() - euler, com=random.uniform(-0.1, 0.1, 3),
            at=place,
        )  # fmt: skip

    def start(self, model: da.Multibody, coordinates: str, seed: int = 1) -> da.Assembly:
        """A pose and rates of the joints, the same in all coordinates."""
        random = np.random.default_rng(seed)
        names = [f"joint {k + 1}" for k in range(len(self.carriers))]
        angles, rates = random.uniform(-0.5, 0.5, len(names)), random.uniform(-0.5, 0.5, len(names))
        values = dict(zip(names, angles.tolist(), strict=True))
        return model.assemble(**values, rates=dict(zip(names, rates.tolist(), strict=True)), coordinates=coordinates)


def _direction(random: np.random.Generator) -> np.ndarray:
    vector = random.standard_normal(3)
    return vector / np.linalg.norm(vector)


def _limbs(*limbs: tuple[int, int]) -> tuple[int, ...]:
    """Limbs one after the other, as (the body that carries it, how many joints it has)."""
    carriers: list[int] = []
    for carrier, joints in limbs:
        carriers += [carrier, *range(len(carriers) + 1, len(carriers) + joints)]
    return tuple(carriers)


ROBOTS = (
    Robot("arm", _limbs((0, 7)), floating=False),
    Robot("quadruped", _limbs((0, 3), (0, 3), (0, 3), (0, 3)), floating=True),
    Robot("humanoid", _limbs((0, 6), (0, 6), (0, 3), (15, 7), (15, 7)), floating=True),
)


def mechanisms_table(repeats: int, share: float) -> Table:
    """The first call (translation and compilation), sizes and time of a step."""
    header = (
        "robot, coordinates", "engine, code", "unknowns", "left to Newton", "operations an iteration", "a step",
        "first call, s", "microseconds a step", "worst constraint",
    )  # fmt: skip
    table = Table("Mechanisms, RATTLE", header)
    for robot in ROBOTS if share >= 1 else ROBOTS[:1]:
        for coordinates in ("joints", "directors"):
            table.rows.append(measured(robot, coordinates, repeats, share))
    table.notes.append(
        f"Rigid bodies on hinges: an arm of 7, a floating body with 4 legs of 3, and one with 2 legs of 6, a back of 3 "
        f"and 2 arms of 7; axes along x, y or z, offsets and centres of mass in general position. h = {STEP}, the same "
        "pose and rates in both coordinates."
    )
    return table


def measured(robot: Robot, coordinates: str, repeats: int, share: float) -> tuple[str, ...]:
    """One row: a robot in one kind of coordinates."""
    model = robot.model()
    start, system = robot.start(model, coordinates), model.system(coordinates)

    def run(steps: int) -> da.Trajectory:
        return da.simulate(system, da.Rattle(), start.q0, start.v0, t=(0.0, steps * STEP), h=STEP, save_every=steps)

    begun = time.perf_counter()
    found = run(10)
    first = time.perf_counter() - begun
    found = run(100)
    wanted = share * SECONDS_A_ROW / repeats * 100 / found.stats["wall_seconds"]
    steps = int(np.clip(wanted, 10, 20_000))
    run(steps)
    finish_compiling()
    runs = [run(steps) for _ in range(repeats)]
    best = 1e6 * min(one.stats["wall_seconds"] for one in runs) / steps
    stats, worst = runs[-1].stats, np.max(runs[-1].constraint, initial=0.0)
    newton = stats.get("newton_unknowns")
    return (
        f"{robot.name}, {coordinates}",
        ", ".join(filter(None, (stats["engine"], stats.get("code")))),
        str(stats["unknowns"]),
        "-" if newton is None else " + ".join(map(str, newton)),
        str(stats.get("operations_per_iteration", "-")),
        str(stats.get("operations_per_step", "-")),
        f"{first:.1f}",
        microseconds(best),
        f"{worst:.1e}",
    )
