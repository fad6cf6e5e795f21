"""The four particles, the methods that are compared, and what they keep."""

from __future__ import annotations

import numpy as np

import dalembert as da

from ...gallery.springs_and_bars import FourParticles

SETUP = r"""
Four particles of masses 1, 3, 2.3, 1.7 in space, two rigid bars of length one and two stiff springs
($V = K (|r|^2 - 1)^2 / 4$, $K = 100$ and $1000$), started from a square with the momentum $(0, 0, 2)$ of one of them;
$[0, 10]$ with $\Delta t = 0.01$. The difference quotient of the constraints is $0/0$ at the solution, where the
invariant does not change; we compute it as a mean of the derivative there.
"""
END, STEP = 10.0, 0.01
METHODS = {
    "invariant": da.EnergyMomentum("invariant"),
    "invariant, velocity level": da.EnergyMomentum("invariant", velocity_level=True),
    "generic": da.EnergyMomentum("gonzalez"),
}


def runs(h: float = STEP, end: float = END) -> dict:
    """One run with every method."""
    system = FourParticles()
    start = system.start()
    return {
        name: da.simulate(system, method, start.q0, start.v0, t=(0.0, end), h=h) for name, method in METHODS.items()
    }


def largest_change(values) -> float:
    """The largest departure from the value at the start."""
    values = np.asarray(values)
    return float(np.max(np.abs(values - values[0])))


def kept(run) -> dict[str, float]:
    """How far each quantity departs from what it should be."""
    return {
        "energy": largest_change(run.energy),
        "linear momentum": largest_change(run.invariants["linear momentum"]),
        "angular momentum": largest_change(run.invariants["angular momentum"]),
        "g": float(np.max(run.constraint)),
        "g'": float(np.max(run.hidden)),
    }
