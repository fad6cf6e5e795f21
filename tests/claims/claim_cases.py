"""Which method is measured on which system, and how each claim is measured.

Every check is a function of a `Case` that raises AssertionError where the claim does not hold. The tests call
them for the catalogue; `test_checks_can_fail.py` calls them for a method that breaks every claim.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

import numpy as np

import dalembert as da
from dalembert.diagnostics import (
    drift,
    end_errors,
    observed_order,
    reference_solution,
    reversibility_defect,
    symplectic_defect,
)
from dalembert.gallery import GALLERY
from dalembert.method import CATALOGUE, Method

#: Systems whose energy v . L_v - L is constant along the exact motion.
CONSERVATIVE = {
    "pendulum", "polar-pendulum", "spherical-pendulum", "hamiltonian-spherical-pendulum", "double-pendulum",
    "chain", "four-bar", "slider-crank", "harmonic-oscillator", "kepler",
}  # fmt: skip
#: Systems on which a hundred or more oscillations fit into the long run, so that a drift can be told from
#: them.
OSCILLATING = CONSERVATIVE - {"chain"} | {"bead-on-rotating-hoop"}
#: Systems with a symmetry of the configuration space.
SYMMETRIC = {
    "spherical-pendulum", "hamiltonian-spherical-pendulum", "double-pendulum", "chain", "harmonic-oscillator",
    "kepler",
}  # fmt: skip
#: Systems with constraints that depend on time.
RHEONOMIC = {"bead-on-moving-wire", "bead-on-rotating-hoop"}
#: Systems with forces that do not derive from a potential.
FORCED = {"driven-pendulum"}
#: Linear equations of motion: they can confirm a claim, but not carry it alone.
LINEAR = {"harmonic-oscillator", "bead-on-moving-wire"}

#: Numbers of steps over [0, 1] for the fitted orders.
FEW, MANY = (40, 80, 160, 320), (100, 200, 400, 800)
STEPS = dict.fromkeys(("double-pendulum", "chain", "kepler", "four-bar", "slider-crank"), MANY)
#: Steps of the long runs where they are not 10 000: the bead on the straight wire leaves exponentially, the
#: crank winds up its angle (and with it the roundoff of its sine), the chain is large.
LONG = {"bead-on-moving-wire": 300, "slider-crank": 2000, "chain": 500}
#: Step sizes with which structure is measured: large enough for a method without it to be found out.
COARSE = 0.05


@dataclass(frozen=True)
class Case:
    """One method on one system."""

    method_name: str
    method: Method = field(compare=False)
    system_name: str

    def __str__(self) -> str:
        return f"{self.method_name}-{self.system_name}"

    @property
    def system(self):
        return GALLERY[self.system_name]()

    @property
    def claims(self) -> da.Claims:
        return self.method.claims


def fits(method: Method, system) -> bool:
    return all(part in method.handles for part in system.parts)


def cases(claim, *, among=None) -> list[Case]:
    """The catalogue times the gallery, where `claim(claims)` is true and the method treats the system."""
    names = [name for name in GALLERY if among is None or name in among]
    return [
        Case(method_name, entry.method, name)
        for method_name, entry in CATALOGUE.items()
        for name in names
        if claim(entry.method.claims) and fits(entry.method, GALLERY[name]())
    ]


# -- runs, each computed once
# ----------------------------------------------------------------------------------


@functools.cache
def reference_at_one(system_name: str):
    """The state at t = 1: exact where known, else of order 8 at a tolerance near roundoff."""
    system = GALLERY[system_name]()
    exact = system.exact(1.0)
    if exact is not None:
        return exact
    start = system.start()
    return reference_solution(system, start.q0, start.v0, (0.0, 1.0))


@functools.cache
def errors_at_one(case: Case):
    start = case.system.start()
    constrained = case.system.provides("holonomic")
    return end_errors(
        case.system,
        case.method,
        start.q0,
        start.v0,
        (0.0, 1.0),
        1 / np.array(STEPS.get(case.system_name, FEW), dtype=float),
        reference_at_one(case.system_name),
        quantities=("q", "p", "lam") if constrained else ("q", "p"),
    )


@functools.cache
def long_run(case: Case):
    """A run of 10 000 steps (see `LONG`) with the step size of the gallery."""
    start = case.system.start()
    end = LONG.get(case.system_name, 10_000) * start.h
    return da.simulate(case.system, case.method, start.q0, start.v0, t=(0.0, end), h=start.h, save_every=2)


@functools.cache
def there_and_back(case: Case):
    start = case.system.start()
    return reversibility_defect(case.system, case.method, start.q0, start.v0, (0.0, 1.0), COARSE)


# -- checks
# ----------------------------------------------------------------------------------------------------


def check_order(case: Case, quantity: str, order: int) -> None:
    found = observed_order(errors_at_one(case).hs, errors_at_one(case).errors[quantity])
    assert found.points >= 3
    assert abs(found.slope - order) <= 0.2, found


def check_constraint(case: Case, level: str) -> None:
    run = long_run(case)
    violation = {"position": run.constraint, "velocity": run.hidden}[level]
    assert np.max(violation) <= 1e-13, np.max(violation)


def check_symmetric(case: Case) -> None:
    found = there_and_back(case)
    assert found.q <= 1e-10
    assert found.p <= 1e-10


def check_symmetric_positions(case: Case) -> None:
    assert there_and_back(case).q <= 1e-10


def check_symplectic(case: Case) -> None:
    start = case.system.start()
    assert symplectic_defect(case.system, case.method, start.q0, start.v0, 0.0, COARSE) <= 1e-10


def momenta(case: Case) -> dict[str, np.ndarray]:
    """The invariants that come from a symmetry of the configuration space (Noether)."""
    return {k: x for k, x in long_run(case).invariants.items() if k.startswith("angular_momentum")}


def check_momentum(case: Case) -> None:
    found = momenta(case)
    assert found
    for values in found.values():
        assert np.max(np.abs(values - values[0])) <= 1e-11


def conserved_energy(case: Case) -> np.ndarray:
    """The energy; for constraints that turn uniformly, the energy in the turning frame."""
    run = long_run(case)
    return run.invariants["jacobi_integral"] if case.system_name in RHEONOMIC else run.energy


def check_bounded_energy(case: Case) -> None:
    """The fitted line rises over the whole run by much less than the energy error oscillates."""
    run = long_run(case)
    found = drift(run.t, conserved_energy(case))
    amplitude = np.ptp(conserved_energy(case))
    assert amplitude > 1e-8, "nothing to measure: the energy error is at roundoff"
    assert abs(found.slope) * (run.t[-1] - run.t[0]) <= 0.1 * amplitude, found
    assert found.growth_exponent <= 0.2, found
