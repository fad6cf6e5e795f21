"""Which method is measured on which system, and how each claim is measured.

Every measure is a function of a `Case` that returns what was found, and whether the claim holds; every check raises
AssertionError where it does not. The tests call them for the catalogue and for two more members of its families;
`test_checks_can_fail.py` calls them for a method that breaks every claim, `docs/make_audit.py` writes what they find.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

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
    ("rolling-disc", 8): (3, 4, 5, 6), ("vertical-rolling-disc", 8): (3, 4, 5, 6),
    ("mclachlan-perlmutter-particles", 8): (19, 21, 24, 28),
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


class Measured(NamedTuple):
    """A number, what it has to be, and whether it is."""

    value: float
    wanted: str
    holds: bool

    def __str__(self) -> str:
        return f"{self.value:.3g}, expected {self.wanted}"


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


# -- measures
# --------------------------------------------------------------------------------------------------


def at_most(value, bound: float) -> Measured:
    """A defect that has to lie in the roundoff."""
    return Measured(float(value), f"<= {bound:.0e}", bool(value <= bound))


def measure_order(case: Case, quantity: str, order: int) -> Measured:
    if (case.system_name, quantity) in EXACT:
        return at_most(np.max(errors_at_end(case).errors[quantity]), 1e-13)
    found = observed_order(errors_at_end(case).hs, errors_at_end(case).errors[quantity])
    return Measured(found.slope, f"{order} +- 0.2", found.points >= 3 and abs(found.slope - order) <= 0.2)


def measure_constraint(case: Case, level: str) -> Measured:
    """`velocity` covers g_q v + g_t and k."""
    run = long_run(case)
    return at_most(np.max({"position": run.constraint, "velocity": run.hidden}[level]), 1e-13)


def measure_symmetric(case: Case) -> Measured:
    found = there_and_back(case)
    return at_most(max(found.q, found.p), 1e-11)


def measure_symmetric_positions(case: Case) -> Measured:
    return at_most(there_and_back(case).q, 1e-11)


def measure_symplectic(case: Case) -> Measured:
    start = case.system.start()
    return at_most(symplectic_defect(case.system, case.method, start.q0, start.v0, 0.0, COARSE), 1e-10)


def momenta(case: Case) -> dict[str, np.ndarray]:
    """The invariants that come from a symmetry of the configuration space (Noether)."""
    return {k: x for k, x in long_run(case).invariants.items() if k.startswith("angular_momentum")}


def measure_momentum(case: Case) -> Measured:
    found = momenta(case)
    assert found
    return at_most(max(np.max(np.abs(values - values[0])) for values in found.values()), 1e-11)


def measure_energy(case: Case) -> Measured:
    """The energy keeps its value to roundoff over the long run."""
    energy = long_run(case).energy
    return at_most(np.ptp(energy) / max(1.0, abs(energy[0])), 1e-11)


def conserved_energy(case: Case) -> np.ndarray:
    """The energy; for constraints that turn uniformly, the energy in the turning frame."""
    run = energy_run(case)
    return run.invariants["jacobi_integral"] if case.system_name in MOVING else run.energy


def measure_bounded_energy(case: Case) -> Measured:
    """The fitted line rises over the whole run by much less than the energy error oscillates: the part of it is
    measured."""
    run, energy = energy_run(case), conserved_energy(case)
    found = drift(run.t, energy)
    amplitude = float(np.ptp(energy))
    if case.system_name in QUADRATIC and amplitude <= 1e-10:
        return at_most(amplitude, 1e-10)
    if amplitude <= 1e-8:
        return Measured(amplitude, "an energy error above roundoff, > 1e-08, to measure", False)
    part = abs(found.slope) * float(run.t[-1] - run.t[0]) / amplitude
    if found.growth_exponent > 0.2:
        return Measured(found.growth_exponent, "a growth exponent of the energy error <= 0.2", False)
    return Measured(part, "<= 0.1 of the oscillation", part <= 0.1)


def claims_of(case: Case) -> Iterator[tuple[str, Callable[[], Measured]]]:
    """The claims that apply to a case, by name, with their measures; symplecticity, which takes seconds, is not among
    them."""
    claims, name = case.claims, case.system_name
    nonholonomic = name in NONHOLONOMIC
    orders = {"q": claims.order, "p": claims.order}
    orders |= {"lam": claims.multiplier_order} if case.system.provides("holonomic") else {}
    orders |= {"psi": claims.multiplier_order} if nonholonomic else {}
    for quantity, order in orders.items():
        exceeded = order == 1 and name in WITHOUT_RATE
        if order is not None and not exceeded and (name, claims.order) not in UNSEEN:
            yield f"order of {quantity}", functools.partial(measure_order, case, quantity, order)
    if case.system.provides("holonomic") or nonholonomic:
        for level in claims.constraints:
            yield f"constraint at {level} level", functools.partial(measure_constraint, case, level)
    if claims.symmetric:
        yield "symmetric", functools.partial(measure_symmetric, case)
    if claims.symmetric_positions:
        yield "symmetric positions", functools.partial(measure_symmetric_positions, case)
    if claims.momentum and name in SYMMETRIC:
        yield "momentum", functools.partial(measure_momentum, case)
    if claims.energy and name in CONSERVATIVE:
        yield "energy", functools.partial(measure_energy, case)
    if claims.bounded_energy and not claims.energy and name in OSCILLATING and claims.order < BURSTS.get(name, 100):
        yield "bounded energy", functools.partial(measure_bounded_energy, case)
    # what bounds the energy on a nonholonomic system is the symmetry of the method
    if claims.symmetric and name in REVERSIBLE_INTEGRABLE:
        yield "bounded energy", functools.partial(measure_bounded_energy, case)


# -- checks
# ----------------------------------------------------------------------------------------------------


def _check_of(measure: Callable[..., Measured]) -> Callable[..., None]:
    def check(*arguments) -> None:
        found = measure(*arguments)
        assert found.holds, str(found)

    return check


check_order = _check_of(measure_order)
check_constraint = _check_of(measure_constraint)
check_symmetric = _check_of(measure_symmetric)
check_symmetric_positions = _check_of(measure_symmetric_positions)
check_symplectic = _check_of(measure_symplectic)
check_momentum = _check_of(measure_momentum)
check_energy = _check_of(measure_energy)
check_bounded_energy = _check_of(measure_bounded_energy)
