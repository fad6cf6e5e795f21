"""Does a method keep what it claims? Every claim that applies to one system, measured on it.

The tests, the audit, the report and `da.measure_claims` use these measures. What a measure needs to know of a system
(over which time orders are fitted, whether the energy is constant along the exact motion, ...) stands in a `Setting`;
what is left open there is found out from the system itself.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..arguments import instance
from ..errors import DalembertError, InputError, MethodDoesNotFit
from ..formulation import mechanics_of, symmetries
from ..method import Claims, Method
from ..problem import AbstractSystem, State, prepared
from ..simulation import simulate
from ..stepping import consistent
from ..trajectory import Trajectory
from .convergence import EndErrors, ObservedOrder, end_errors, observed_order
from .invariants import drift
from .reference import reference_solution
from .structure import reversibility_defect, symplectic_defect

#: How far a fitted order may be from the claimed one.
ORDER_TOLERANCE = 0.2
#: What counts as roundoff: residuals of constraints and momenta relative to the sizes of q and v, the distance from the
#: start after the way there and back, the defect of symplecticity.
CONSTRAINT, MOMENTUM, REVERSIBLE, SYMPLECTIC = 1e-13, 1e-11, 1e-11, 1e-10
#: A trend of the energy may be this part of its oscillation, and its range may grow with this power of the time.
TREND, GROWTH = 0.1, 0.2
#: An energy error below this cannot be told from roundoff; one below the second is that of a quadratic Hamiltonian.
SMALLEST_ENERGY_ERROR, QUADRATIC = 1e-8, 1e-10
#: Errors between which step sizes are chosen for the fit of an order, relative to the size of the motion: first from
#: one of these on, down to the last; and the numbers of steps that are worth while.
LADDERS, SMALLEST_ERROR = (1e-4, 1e-6), 1e-9
MOST_STEPS, POINTS = 6_400, 5
#: An error that is this small foretells those of smaller step sizes.
FORETELLING = 1e-2
#: Slopes between neighbouring step sizes that differ by more do not belong to a straight line.
STRAIGHT = 0.6
#: So many oscillations has the long run to have for a drift of the energy to be told from them.
OSCILLATIONS = 10
#: What a fit of an order says when too few errors are larger than roundoff.
BELOW_ROUNDOFF = "points above roundoff"


class NotSeen(Exception):
    """A claim of which this run shows neither that it holds nor that it does not."""


class Measured(NamedTuple):
    """A number, what it has to be, and whether it is."""

    value: float
    wanted: str
    holds: bool

    def __str__(self) -> str:
        return f"{self.value:.3g}, expected {self.wanted}"


@dataclass(frozen=True)
class Setting:
    """On what the claims are measured on one system. None: found out, or a default that suits most systems."""

    end: float | None = None  # orders are fitted over (0, end)
    steps: Callable[[int], tuple[int, ...] | None] | None = None  # order -> numbers of steps
    h: float | None = None  # the step size of the long run
    long_steps: int = 10_000
    stretch: Callable[[int], float] = lambda order: 1.0  # order -> multiple of h with which the energy is watched
    coarse: float | None = None  # the step size with which reversibility (20 steps) and symplecticity are measured
    energy: str | None = "found out"  # "energy" or the invariant that is constant in its stead; None: nothing is
    bounded: Callable[[Method], bool] | None = None  # whether a bound of the energy error can be seen
    symmetric: bool | None = None  # whether an angular momentum of the system is conserved
    lowest_order: int = 1  # methods of a lower order are of a higher one on this system by chance
    unseen: frozenset[int] = frozenset()  # orders that cannot be seen in double precision
    exact: frozenset[str] = frozenset()  # quantities that every method computes without error
    size: float | None = None  # of the terms of the constraints, to which their residuals are compared


@dataclass(frozen=True, eq=False)
class Case:
    """One method on one system from one start; its runs are computed once."""

    method: Method
    system: AbstractSystem
    q0: Any
    v0: Any
    setting: Setting = field(default_factory=Setting)
    reference: Callable[[float], State] | None = None  # the state at a time, where it is known

    @property
    def claims(self) -> Claims:
        return self.method.claims

    @functools.cached_property
    def h(self) -> float:
        """The step size of the long run."""
        return self.setting.h or self.end / 100

    @functools.cached_property
    def end(self) -> float:
        return self.setting.end or (100 * self.setting.h if self.setting.h else 1.0)

    @property
    def coarse(self) -> float:
        return self.setting.coarse or self.end / 20

    @functools.cached_property
    def at_end(self) -> State:
        if self.reference is not None:
            return self.reference(self.end)
        return reference_solution(self.system, self.q0, self.v0, (0.0, self.end))

    @property
    def quantities(self) -> tuple[str, ...]:
        """What has an order: q, p, and the multipliers that there are."""
        multipliers = (("holonomic", "lam"), ("nonholonomic", "psi"))
        return ("q", "p", *(key for part, key in multipliers if self.system.provides(part)))

    @functools.cache  # noqa: B019 - a case lives as long as what is measured on it
    def errors(self, ladder: int = 0) -> EndErrors:
        """At the end of the interval of the orders, for the step sizes of the setting, or of one of the ladders."""
        steps = self.setting.steps(self.claims.order) if self.setting.steps else None
        steps = steps or self._suitable_steps(LADDERS[ladder])
        return end_errors(
            self.system, self.method, self.q0, self.v0, (0.0, self.end), self.end / np.array(steps, dtype=float),
            self.at_end, quantities=self.quantities,
        )  # fmt: skip

    @functools.cached_property
    def _first_error(self) -> tuple[int, float]:
        """A number of steps that is large enough for the error to foretell others, and that error relative to q."""
        scale = float(np.max(np.abs(self.at_end.q))) or 1.0
        for steps in (16, 64, 256, 1024):
            hs = np.array([self.end / steps])
            found = end_errors(self.system, self.method, self.q0, self.v0, (0.0, self.end), hs, self.at_end)
            error = float(found.errors["q"][0]) / scale
            if error <= FORETELLING:
                return steps, max(error, 1e-2 * SMALLEST_ERROR)
        return steps, error if np.isfinite(error) else 1.0

    def _suitable_steps(self, largest_error: float) -> list[int]:
        """Numbers of steps whose errors, as a first one foretells by the claimed order, lie between two bounds."""
        order, (steps, error) = self.claims.order, self._first_error
        first = max(4, round(steps * (error / largest_error) ** (1 / order)))
        last = min(MOST_STEPS, max(2 * first, round(steps * (error / SMALLEST_ERROR) ** (1 / order))))
        first = min(first, last // 2 if order > 2 else last // 8)
        return np.unique(np.round(np.geomspace(first, last, POINTS)).astype(int)).tolist()

    @functools.cache  # noqa: B019 - a case lives as long as what is measured on it
    def long_run(self, stretch: float = 1.0) -> Trajectory:
        """A long run with the step size of the system, or a multiple of it."""
        h, steps = stretch * self.h, self.setting.long_steps
        return simulate(self.system, self.method, self.q0, self.v0, t=(0.0, steps * h), h=h, save_every=2)

    @functools.cached_property
    def energy_run(self) -> Trajectory:
        """The run in which the energy is watched."""
        return self.long_run(self.setting.stretch(self.claims.order))

    @functools.cached_property
    def energy(self) -> str | None:
        """What is constant along the exact motion: the energy, an invariant in its stead, or nothing."""
        if self.setting.energy != "found out":
            return self.setting.energy
        return "energy" if _is_autonomous(self.system, self.q0, self.v0) else None


def _is_autonomous(system: AbstractSystem, q0, v0) -> bool:
    """Whether no force acts, and neither energy nor constraints depend on the time, judged at the start."""
    if system.provides("force") or system.provides("reaction"):
        return False
    start, mechanics = consistent(system, q0, v0), mechanics_of(system)

    def observed(time: float) -> list[np.ndarray]:
        t = jnp.asarray(time)
        found = mechanics.energy(t, start.q, start.v, start.p), mechanics.constraint(t, start.q)
        return [np.asarray(x) for x in (*found, mechanics.hidden(t, start.q, start.v))]

    return all(np.allclose(a, b) for a, b in zip(observed(0.0), observed(0.37), strict=True))


# -- measures ----------------------------------------------------------------------------------------------------------


def at_most(value, bound: float) -> Measured:
    """A defect that has to lie in the roundoff."""
    return Measured(float(value), f"<= {bound:.0e}", bool(value <= bound))


def measure_order(case: Case, quantity: str, order: int) -> Measured:
    """With step sizes of the setting: the fitted slope. Otherwise that of the coarsest ladder of step sizes on which it
    is the claimed one. A method that has not that order shows it on none of them, but that of a
    lower one; a slope in between, or slopes that change from step size to step size, say nothing."""
    if quantity in case.setting.exact:
        return at_most(np.max(case.errors().errors[quantity]), CONSTRAINT)
    found, bent = [], False
    for ladder in range(1 if case.setting.steps else len(LADDERS)):
        errors = case.errors(ladder)
        fitted = observed_order(errors.hs, errors.errors[quantity])
        holds = fitted.points >= 3 and abs(fitted.slope - order) <= ORDER_TOLERANCE
        found.append(Measured(fitted.slope, f"{order} +- {ORDER_TOLERANCE:g}", holds))
        bent = bent or _spread_of_slopes(fitted) > STRAIGHT
        if holds:
            return found[-1]
    if not case.setting.steps and (bent or found[0].value > order - 1 + ORDER_TOLERANCE):
        raise NotSeen(f"a slope of {found[0].value:.3g}: not yet asymptotic, give step sizes of your own in `setting`")
    return found[0]


def _spread_of_slopes(found: ObservedOrder) -> float:
    """How far the slopes from one step size to the next are from each other."""
    slopes = np.diff(np.log(found.errors[found.mask])) / np.diff(np.log(found.hs[found.mask]))
    return float(np.ptp(slopes))


def measure_constraint(case: Case, level: str) -> Measured:
    """`velocity` covers g_q v + g_t and k. Residuals are compared to the size of the terms that cancel in them: of
    g_q q and of the derivative of the hidden constraint by v, times v, unless the setting says another one."""
    run = case.long_run()
    found = {"position": run.constraint, "velocity": run.hidden}[level]
    size = case.setting.size or _size_of_terms(case, level)
    return at_most(np.max(found), CONSTRAINT * size)


def _size_of_terms(case: Case, level: str) -> float:
    """The largest sum of the absolute terms of a row, at the start and with the largest q and v of the long run."""
    run, mechanics, t = case.long_run(), mechanics_of(case.system), jnp.asarray(0.0)
    start = consistent(case.system, case.q0, case.v0)
    if level == "position":
        matrix, largest = jax.jacfwd(mechanics.constraint, argnums=1)(t, start.q), np.max(np.abs(run.q), axis=0)
    else:
        parts = (mechanics.hidden, mechanics.velocity_constraint)
        matrix = jnp.concatenate([jax.jacfwd(part, argnums=2)(t, start.q, start.v) for part in parts])
        largest = np.max(np.abs(run.v), axis=0)
    return float(np.max(np.abs(np.asarray(matrix)) @ largest, initial=0.0)) or 1.0


@functools.cache
def _there_and_back(case: Case):
    end = 20 * case.coarse
    return reversibility_defect(case.system, case.method, case.q0, case.v0, (0.0, end), case.coarse)


def measure_symmetric(case: Case) -> Measured:
    found = _there_and_back(case)
    return at_most(max(found.q, found.p), REVERSIBLE)


def measure_symmetric_positions(case: Case) -> Measured:
    return at_most(_there_and_back(case).q, REVERSIBLE)


def measure_symplectic(case: Case) -> Measured:
    return at_most(symplectic_defect(case.system, case.method, case.q0, case.v0, 0.0, case.coarse), SYMPLECTIC)


def momenta(case: Case) -> dict[str, np.ndarray]:
    """Momenta that a symmetry of the configuration space conserves (Noether): invariants named so, or those found."""
    run = case.long_run()
    named = {name: x for name, x in run.invariants.items() if name.startswith("angular_momentum")}
    return named or dict(run.momenta)


def measure_momentum(case: Case) -> Measured:
    found = momenta(case)
    return at_most(max(np.max(np.abs(values - values[0])) for values in found.values()), MOMENTUM)


def measure_energy(case: Case) -> Measured:
    """The energy keeps its value to roundoff over the long run."""
    energy = case.long_run().energy
    return at_most(np.ptp(energy) / max(1.0, abs(energy[0])), MOMENTUM)


def measure_bounded_energy(case: Case) -> Measured:
    """The fitted line rises over the whole run by much less than the energy error oscillates: the part of it is
    measured."""
    run = case.energy_run
    energy = np.asarray(run.energy if case.energy == "energy" else run.invariants[str(case.energy)])
    found, amplitude = drift(run.t, energy), float(np.ptp(energy))
    if amplitude <= QUADRATIC:
        return at_most(amplitude, QUADRATIC)
    if amplitude <= SMALLEST_ENERGY_ERROR:
        return Measured(amplitude, "an energy error above roundoff, > 1e-08, to measure", False)
    part = abs(found.slope) * float(run.t[-1] - run.t[0]) / amplitude
    if found.growth_exponent > GROWTH and part <= TREND and case.setting.bounded is None:
        raise NotSeen("the energy error comes in rare bursts, without a trend: a longer run would tell")
    if found.growth_exponent > GROWTH:
        return Measured(found.growth_exponent, f"a growth exponent of the energy error <= {GROWTH:g}", False)
    return Measured(part, f"<= {TREND:g} of the oscillation", part <= TREND)


# -- all of them -------------------------------------------------------------------------------------------------------


def claims_of(case: Case, *, symplectic: bool = True) -> Iterator[tuple[str, Callable[[], Measured]]]:
    """The claims that apply to a case, by name, with their measures. To measure symplecticity takes seconds, because a
    compiled step is differentiated: `symplectic=False` leaves it out."""
    claims, setting, system = case.claims, case.setting, case.system
    nonholonomic = system.provides("nonholonomic")
    orders = {"q": claims.order, "p": claims.order}
    orders |= dict.fromkeys(case.quantities[2:], claims.multiplier_order)
    for quantity, order in orders.items():
        if order is not None and order >= setting.lowest_order and claims.order not in setting.unseen:
            yield f"order of {quantity}", functools.partial(measure_order, case, quantity, order)
    if system.provides("holonomic") or nonholonomic:
        for level in claims.constraints:
            yield f"constraint at {level} level", functools.partial(measure_constraint, case, level)
    if claims.symmetric:
        yield "symmetric", functools.partial(measure_symmetric, case)
    if claims.symmetric_positions:
        yield "symmetric positions", functools.partial(measure_symmetric_positions, case)
    if claims.symplectic and symplectic and not nonholonomic and not system.provides("force"):
        yield "symplectic", functools.partial(measure_symplectic, case)
    if claims.momentum and _has_momenta(case):
        yield "momentum", functools.partial(measure_momentum, case)
    if case.energy is None:
        return
    if claims.energy:
        if case.energy == "energy":
            yield "energy", functools.partial(measure_energy, case)
    elif (claims.bounded_energy or (claims.symmetric and nonholonomic)) and _bound_is_seen(case):
        # what bounds the energy on a nonholonomic system is the symmetry of the method
        yield "bounded energy", functools.partial(measure_bounded_energy, case)


def _has_momenta(case: Case) -> bool:
    if case.setting.symmetric is not None:
        return case.setting.symmetric
    return not case.system.provides("nonholonomic") and bool(symmetries(case.system, case.q0, v=case.v0))


def _bound_is_seen(case: Case) -> bool:
    """Whether a drift could be told from an oscillation. Without a setting that says so: for systems that are not
    nonholonomic (elsewhere no theorem bounds the energy), if the motion turns often and the energy error is above
    roundoff."""
    if case.setting.bounded is not None:
        return case.setting.bounded(case.method)
    if case.system.provides("nonholonomic"):
        return False
    run = case.energy_run
    turns = np.count_nonzero(np.diff(np.sign(np.asarray(run.v)), axis=0), axis=0)
    return bool(np.ptp(run.energy) > SMALLEST_ENERGY_ERROR and np.max(turns) >= 2 * OSCILLATIONS)


@dataclass(frozen=True)
class MeasuredClaims:
    """What was found for every claim that applies, by its name; `broken` are the claims that do not hold."""

    method: str
    system: str
    found: dict[str, Measured]
    unmeasured: dict[str, str]  # claims that could not be measured, with the reason

    @property
    def broken(self) -> list[str]:
        return [f"{claim}: {found}" for claim, found in self.found.items() if not found.holds]

    @property
    def hold(self) -> bool:
        """Whether every claim that was measured holds."""
        return not self.broken

    def value(self, claim: str) -> float | None:
        """The number found for a claim; None where it was not measured."""
        return self.found[claim].value if claim in self.found else None

    def __str__(self) -> str:
        rows = [f"{claim:28s} {found.value:10.3g}   {found.wanted}" for claim, found in self.found.items()]
        rows = [row + ("" if found.holds else "   FAILS") for row, found in zip(rows, self.found.values(), strict=True)]
        rows += [f"{claim:28s} {'-':>10s}   {reason}" for claim, reason in self.unmeasured.items()]
        return "\n".join([f"{self.method} on {self.system}", *rows])


def measured(case: Case, *, symplectic: bool = True) -> MeasuredClaims:
    """Every claim of a case. What fails while it is measured is a claim that does not hold; errors of the size of
    roundoff have no order, which is no failure."""
    found, unmeasured = {}, {}
    for claim, measure in claims_of(case, symplectic=symplectic):
        try:
            found[claim] = measure()
        except MethodDoesNotFit:
            raise
        except NotSeen as reason:
            unmeasured[claim] = str(reason)
        except DalembertError as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            if BELOW_ROUNDOFF in reason:
                unmeasured[claim] = "the errors are roundoff already: nothing to measure"
            else:
                found[claim] = Measured(np.nan, reason, False)
    return MeasuredClaims(case.method.name, type(case.system).__name__, found, unmeasured)


def measure_claims(
    method: Method, system: AbstractSystem, q0=None, v0=None, *, setting: Setting | None = None,
    symplectic: bool = True,
) -> MeasuredClaims:  # fmt: skip
    """Measure every claim of a method that applies to a system: orders as fitted slopes, constraints, momenta and
    energy over a long run, reversibility, symplecticity.

    `q0`, `v0`: consistent starting values; a system with a `start()` (those of the gallery) brings its own. `setting`
    says over which time and with which step sizes; by default orders are fitted over a hundred of the system's own
    steps (else over t = 1), with step sizes whose errors lie between 1e-4 and roundoff. `symplectic=False` leaves out
    the measure that takes seconds.
    """
    instance("method", method, Method, "a method such as da.Rattle()")
    system = prepared(system)
    begin: Any = getattr(system, "start", None)
    if q0 is None and v0 is None and callable(begin):
        given: Any = begin()
        q0, v0, setting = given.q0, given.v0, setting or Setting(h=given.h)
    if q0 is None or v0 is None:
        raise InputError(f"measure_claims needs starting values: {type(system).__name__} has none, pass q0 and v0.")
    exact: Any = getattr(system, "exact", None)
    known: Any = exact if callable(exact) and exact(0.0) is not None else None
    return measured(Case(method, system, q0, v0, setting or Setting(), known), symplectic=symplectic)
