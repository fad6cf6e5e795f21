"""One system with one method: a run, its numbers, and which of the method's claims they bear out."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..diagnostics import EndErrors, measured
from ..gallery import Ready
from ..gallery.settings import case_of
from ..method import Method
from ..simulation import simulate
from ..trajectory import Trajectory

#: The speed is that of the fastest of so many runs.
REPEATS = 5


@dataclass
class Measurement:
    """The numbers of one system with one method; `failures` names the claims that they contradict."""

    system_name: str
    method_name: str
    run: Trajectory
    orders: dict[str, float | None]
    errors: EndErrors
    max_constraint: float
    max_hidden: float
    energy_error: float
    conserves_energy: bool
    invariants: dict[str, float]
    steps_per_second: float
    failures: list[str] = field(default_factory=list)


def measure(system_name: str, system: Ready, method_name: str, method: Method) -> Measurement:
    """Run the system from its default start, and measure the claims of the method on it."""
    start = system.start()
    arguments = (system, method, start.q0, start.v0, None, (0.0, start.t_end), start.h)
    run, *others = (simulate(*arguments) for _ in range(REPEATS))
    fastest = min(other.stats["wall_seconds"] for other in others)  # the first one may have compiled
    case = case_of(system_name, system, method)
    claims = measured(case, symplectic=False, unequal=False)
    energy = np.asarray(run.energy)
    return Measurement(
        system_name=system_name,
        method_name=method_name,
        run=run,
        orders={name: claims.value(f"order of {name}") for name in case.quantities},
        errors=case.errors(),
        max_constraint=float(np.max(run.constraint)),
        max_hidden=float(np.max(run.hidden)),
        energy_error=float(np.max(np.abs(energy - energy[0]))),
        conserves_energy=case.energy == "energy",
        invariants={
            name: float(np.max(np.abs(np.asarray(x) - np.asarray(x)[:1]))) for name, x in run.invariants.items()
        },
        steps_per_second=run.stats["steps"] / max(fastest, 1e-9),
        failures=claims.broken,
    )
