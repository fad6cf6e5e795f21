"""Which method is measured on which system, and how each claim is measured.

Every check is a function of a `Case` that raises AssertionError where the claim does not hold. The tests call
them for the catalogue and for two more members of its families; `test_checks_can_fail.py` calls them for a method
that breaks every claim.
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

#: The catalogue, and the members that complete s = 1..4 of two of its families.
METHODS: dict[str, Method] = {name: entry.method for name, entry in CATALOGUE.items()} | {
    "galerkin-1": da.Galerkin(1),
    "gauss-spark-4": da.gauss_spark(4),
}

#: Systems whose energy v . L_v - L is constant along the exact motion.
CONSERVATIVE = {
    "pendulum", "polar-pendulum", "spherical-pendulum", "hamiltonian-spherical-pendulum", "double-pendulum",
    "chain", "four-bar", "slider-crank", "harmonic-oscillator", "kepler", "nonholonomic-particle", "appell-hamel",
    "skate", "chaplygin-sleigh", "vertical-rolling-disc", "mobile-robot", "mclachlan-perlmutter-particles",
    "rolling-disc",
}  # fmt: skip
#: Systems with constraints that depend on time, or are affine in the velocity: they do work.
MOVING = {"bead-on-moving-wire", "bead-on-rotating-hoop", "ball-on-turntable"}
#: Systems with forces that do not derive from a potential.
FORCED = {"driven-pendulum"}
#: Systems with constraints on the velocity: their flow is not symplectic, and symmetries do not give momentum maps.
NONHOLONOMIC = {name for name, kind in GALLERY.items() if kind().provides("nonholonomic")}
#: Systems on which a hundred or more oscillations fit into the long run, so that a drift can be told from
#: them. Of the nonholonomic ones those that are reversible and integrable: elsewhere no theorem bounds the energy of a
#: method, and on the chaotic particles it wanders.
OSCILLATING = (CONSERVATIVE - NONHOLONOMIC - {"chain"}) | {"bead-on-rotating-hoop"}
#: With methods of these orders and more the energy error of a system consists of rare bursts (it grows like the sixth
#: power of the frequency), so that its range grows with the time one looks at it, without any drift.
BURSTS = {"double-pendulum": 6, "slider-crank": 6}
REVERSIBLE_INTEGRABLE = {"nonholonomic-particle", "skate", "mobile-robot"}
#: Systems with a symmetry of the configuration space.
SYMMETRIC = {
    "spherical-pendulum", "hamiltonian-spherical-pendulum", "double-pendulum", "chain", "harmonic-oscillator",
    "kepler",
}  # fmt: skip
#: Linear equations of motion: they can confirm a claim, but not carry it alone.
LINEAR = {"harmonic-oscillator", "bead-on-moving-wire"}
#: Systems with a quadratic Hamiltonian, which Gauss methods conserve to roundoff.
QUADRATIC = {"harmonic-oscillator"}
#: Systems whose rate of the momentum vanishes: the first-order methods, which differ from the second-order ones in
#: where they take it, are of second order in some or all quantities.
WITHOUT_RATE = {"bead-on-moving-wire", "bead-on-rotating-hoop", "vertical-rolling-disc", "ball-on-turntable"}

#: Systems that move in about a tenth of a second, and those that take several; the others need about one.
FAST = {"double-pendulum", "chain", "four-bar", "slider-crank"}
SLOW = NONHOLONOMIC - {"rolling-disc"} | {"harmonic-oscillator"}
#: Over this time (else 1) orders are fitted.
END = dict.fromkeys(SLOW, 4.0) | {
    "double-pendulum": 0.5, "four-bar": 0.5, "slider-crank": 0.25, "harmonic-oscillator": 3.0,
    "bead-on-moving-wire": 3.0, "kepler": 2.0, "mobile-robot": 3.0, "ball-on-turntable": 12.0,
}  # fmt: skip
#: ... with these numbers of steps by order: asymptotic, and above roundoff.
STEPS = {
    1: (400, 800, 1600, 3200), 2: (50, 100, 200, 400), 4: (16, 24, 36, 54), 6: (14, 19, 26, 36), 8: (11, 13, 15, 18),
}  # fmt: skip
STEPS_OF_FAST = STEPS | {4: (30, 45, 67, 100), 6: (28, 38, 52, 72), 8: (20, 24, 30, 36)}
STEPS_OF_SLOW = STEPS | {8: (20, 25, 31, 38)}
STEPS_OF = {
    ("chain", 6): (42, 60, 84, 118), ("four-bar", 8): (12, 15, 19, 24), ("slider-crank", 6): (14, 19, 26, 36),
    ("kepler", 8): (24, 30, 37, 46), ("nonholonomic-particle", 6): (42, 56, 75, 100),
    ("harmonic-oscillator", 8): (11, 13, 15, 18), ("bead-on-rotating-hoop", 8): (5, 6, 7, 9),
}  # fmt: skip
#: Problems on which an order cannot be seen in double precision: less than two decades lie between the first step size
#: that is asymptotic and roundoff, and slopes between 7.2 and 8.6 come out.
UNSEEN = {("chain", 8), ("slider-crank", 8)}
#: What every method computes without error: the disc's angles are linear in time, and its momentum and multipliers are
#: functions of them.
EXACT = {("vertical-rolling-disc", "p"), ("vertical-rolling-disc", "psi")}
#: Steps of the long runs where they are not 10 000: the bead on the straight wire leaves exponentially, the
#: crank winds up its angle (and with it the roundoff of its sine), the chain is large, Appell's machine gathers speed.
LONG = {"bead-on-moving-wire": 300, "slider-crank": 2000, "chain": 500, "appell-hamel": 1000}
#: The step size of the runs for the energy, as a multiple of that of the gallery: large enough for the energy error to
#: stand out from roundoff.
STRETCH = {1: 1, 2: 1, 4: 4, 6: 10, 8: 18}
STRETCH_OF_FAST = {1: 1, 2: 1, 4: 2, 6: 4, 8: 5}
STRETCH_OF_SLOW = {1: 1, 2: 1, 4: 10, 6: 15, 8: 30}
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
    return all(part in method.handles for part in system.parts) and method.misfit(system) is None


def cases(claim=lambda claims: True, *, among=None) -> list[Case]:
    """The methods times the gallery, where `claim(claims)` is true and the method treats the system."""
    names = [name for name in GALLERY if among is None or name in among]
    return [
        Case(method_name, method, name)
        for method_name, method in METHODS.items()
        for name in names
        if claim(method.claims) and fits(method, GALLERY[name]())
    ]


def by_pace(case: Case, fast, usual, slow):
    """One of three, according to how quickly the system moves."""
    return fast if case.system_name in FAST else slow if case.system_name in SLOW else usual


# -- runs, each computed once
# ----------------------------------------------------------------------------------


@functools.cache
def reference_at_end(system_name: str):
    """The state at the end of the interval of the orders: exact where known, else of order 8 at a tolerance near
    roundoff."""
    system, end = GALLERY[system_name](), END.get(system_name, 1.0)
    exact = system.exact(end)
    if exact is not None:
        return exact
    start = system.start()
    return reference_solution(system, start.q0, start.v0, (0.0, end))


@functools.cache
def errors_at_end(case: Case):
    start, end = case.system.start(), END.get(case.system_name, 1.0)
    order = case.claims.order
    steps = STEPS_OF.get((case.system_name, order)) or by_pace(case, STEPS_OF_FAST, STEPS, STEPS_OF_SLOW)[order]
    multipliers = [key for part, key in (("holonomic", "lam"), ("nonholonomic", "psi")) if case.system.provides(part)]
    return end_errors(
        case.system,
        case.method,
        start.q0,
        start.v0,
        (0.0, end),
        end / np.array(steps, dtype=float),
        reference_at_end(case.system_name),
        quantities=("q", "p", *multipliers),
    )


@functools.cache
def long_run(case: Case, stretch: int = 1):
    """A run of 10 000 steps (see `LONG`) with the step size of the gallery, or a multiple of it."""
    start = case.system.start()
    h, steps = stretch * start.h, LONG.get(case.system_name, 10_000)
    return da.simulate(case.system, case.method, start.q0, start.v0, t=(0.0, steps * h), h=h, save_every=2)


def energy_run(case: Case):
    """The run in which the energy is watched."""
    return long_run(case, by_pace(case, STRETCH_OF_FAST, STRETCH, STRETCH_OF_SLOW)[case.claims.order])


@functools.cache
def there_and_back(case: Case):
    start = case.system.start()
    try:
        return reversibility_defect(case.system, case.method, start.q0, start.v0, (0.0, 1.0), COARSE)
    except da.InconsistentStart as error:
        raise AssertionError(f"the way back cannot begin where the way there ended: {error}") from error


# -- checks
# ----------------------------------------------------------------------------------------------------


def check_order(case: Case, quantity: str, order: int) -> None:
    if (case.system_name, quantity) in EXACT:
        assert np.max(errors_at_end(case).errors[quantity]) <= 1e-13
        return
    found = observed_order(errors_at_end(case).hs, errors_at_end(case).errors[quantity])
    assert found.points >= 3
    assert abs(found.slope - order) <= 0.2, found


def check_constraint(case: Case, level: str) -> None:
    """`velocity` covers g_q v + g_t and k."""
    run = long_run(case)
    violation = {"position": run.constraint, "velocity": run.hidden}[level]
    assert np.max(violation) <= 1e-13, np.max(violation)


def check_symmetric(case: Case) -> None:
    found = there_and_back(case)
    assert found.q <= 1e-11
    assert found.p <= 1e-11


def check_symmetric_positions(case: Case) -> None:
    assert there_and_back(case).q <= 1e-11


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


def check_energy(case: Case) -> None:
    """The energy keeps its value to roundoff over the long run."""
    energy = long_run(case).energy
    assert np.ptp(energy) <= 1e-11 * max(1.0, abs(energy[0])), np.ptp(energy)


def conserved_energy(case: Case) -> np.ndarray:
    """The energy; for constraints that turn uniformly, the energy in the turning frame."""
    run = energy_run(case)
    return run.invariants["jacobi_integral"] if case.system_name in MOVING else run.energy


def check_bounded_energy(case: Case) -> None:
    """The fitted line rises over the whole run by much less than the energy error oscillates."""
    run, energy = energy_run(case), conserved_energy(case)
    found = drift(run.t, energy)
    amplitude = np.ptp(energy)
    if case.system_name in QUADRATIC and amplitude <= 1e-10:
        return
    assert amplitude > 1e-8, f"nothing to measure: the energy error is at roundoff, {amplitude:.1e}"
    assert abs(found.slope) * (run.t[-1] - run.t[0]) <= 0.1 * amplitude, found
    assert found.growth_exponent <= 0.2, found
