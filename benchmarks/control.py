"""Control: single steps, environments for learning, and plans beside those of CasADi with Ipopt.

`python -m benchmarks.control PROBLEM STEPS CALLS` measures plans in a process of its own, as CasADi's are.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import ClassVar

import jax.numpy as jnp
import numpy as np

import dalembert as da

from .pages import ROOT
from .peers.environments import HERE, PEERS, python_of
from .plan_orders import KNOWN
from .tables import Table

MEMBERS = 4096
#: For an error of 1e-8 of the cost: the steps of Galerkin(3), and those of Hermite and Simpson.
PLANS = {"oscillator": (10, 70), "orbit": (40, 240), "brachistochrone": (8, 40)}


class DoublePendulum(da.System):
    """Two bobs of 1 kg on rods of 1 m in the plane, in Cartesian coordinates; the upper one is pushed."""

    inputs: ClassVar = {"push": da.Input(lower=-1.0, upper=1.0)}

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 9.81 * (q[1] + q[3])

    def holonomic(self, t, q):
        apart = q[2:] - q[:2]
        return 0.5 * jnp.stack([q[:2] @ q[:2] - 1.0, apart @ apart - 1.0])

    def force(self, t, q, v, u):
        return u[0] * jnp.array([-q[1], q[0], 0.0, 0.0])


def control_calls_table(repeats: int, share: float) -> Table:
    """A double pendulum with RATTLE, h = 2 ms, one step a call."""
    q0, v0, calls = np.array([0.0, -1.0, 0.0, -2.0]), np.zeros(4), max(10, int(20_000 * share))
    options = {"h": 0.002, "start": (q0, v0)}
    one = da.gym(DoublePendulum(), da.Rattle(), reward=lambda t, q, v, u: q[3], **options)
    many = da.gym(DoublePendulum(), da.Rattle(), reward=lambda t, q, v, u: q[:, 3], members=MEMBERS, **options)
    sim, u, rows = da.Stepper(DoublePendulum(), da.Rattle(), 0.002, q0, v0), np.array([0.3]), np.full((MEMBERS, 1), 0.3)
    one.reset(seed=0)
    many.reset(seed=0)
    table = Table("Steps one by one", ("", "microseconds a call", "steps a second", "steps a second of one core"))
    for name, call, count, members in (
        ("`Stepper.step(u)`", lambda: sim.step(u), calls, 1),
        ("`gym`, one member", lambda: one.step(u), calls, 1),
        (f"`gym`, {MEMBERS} members", lambda: many.step(rows), calls // 100 + 1, MEMBERS),
    ):
        wall, busy = _least(call, count, repeats)
        table.rows.append((name, f"{1e6 * wall:.3g}", f"{members / wall:,.0f}", f"{members / busy:,.0f}"))
    table.notes.append("Each call takes a new input and gives the state, or observation and reward.")
    return table


def _least(call: Callable, count: int, repeats: int) -> tuple[float, float]:
    """Seconds of a call by the clock, and of all cores; the least of several measurements."""
    found = []
    for _ in range(repeats + 1):
        begun = time.perf_counter(), time.process_time()
        for _ in range(count):
            call()
        found.append(((time.perf_counter() - begun[0]) / count, (time.process_time() - begun[1]) / count))
    return min(wall for wall, _ in found), min(busy for _, busy in found)


def plans_table(repeats: int, share: float) -> Table:
    """Plans with the same error, in seconds of one core."""
    header = ("problem", "program", "steps", "error of the cost", "defect", "first call, s", "another call, s")
    table = Table("Plans", header)
    for name, (own, theirs) in PLANS.items():
        exact = KNOWN[name]().cost
        table.rows.append((name, "dalembert, `Galerkin(3)`", str(own), *_measured(
            [sys.executable, "-m", "benchmarks.control", name, str(own), str(repeats + 1)], exact)))  # fmt: skip
        if share < 1:
            continue
        try:
            python = python_of(PEERS["casadi"])
        except RuntimeError as error:
            table.notes.append(f"CasADi: {error}")
            continue
        program = [python, str(HERE / "programs" / "plans_casadi.py"), name, str(theirs), str(repeats + 1)]
        table.rows.append((name, "CasADi, Hermite-Simpson", str(theirs), *_measured(program, exact)))
    table.notes.append(
        "Seconds are those of one core. Steps were chosen for an error of 1e-8 of the cost. The first call includes "
        "what is done once for a problem (tracing and derivatives), and no import. The brachistochrone has one input a "
        "step in both."
    )
    return table


def _measured(command: list[str], exact: float) -> tuple[str, ...]:
    """Error, defect and seconds of a program that prints them."""
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300, check=True)
    found = json.loads(done.stdout.strip().splitlines()[-1])
    first, *others = found["seconds"]
    error = abs(found["cost"] / exact - 1)
    return f"{error:.0e}", f"{found['defect']:.0e}", f"{first:.3f}", f"{min(others):.3f}"


def main(name: str, steps: int, calls: int) -> None:
    """Plans of one problem, each call as if it were the user's."""
    known, seconds, plan = KNOWN[name](), [], None
    importlib.import_module("ipyopt")
    assert da.optimal_control  # loads what it is made of
    for _ in range(calls):
        begun = time.process_time()
        plan = known.plan(da.Galerkin(3), steps)
        seconds.append(time.process_time() - begun)
    assert plan is not None
    print(json.dumps({"cost": plan.cost, "seconds": seconds, "defect": plan.stats["defect"]}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
