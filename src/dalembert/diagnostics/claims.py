"""Does a method keep what it claims? Every claim that applies to one system, measured on it.

The tests, the audit, the report and `da.measure_claims` use these measures. What a measure needs to know of a system
(over which time orders are fitted, whether the energy is constant along the exact motion, ...) stands in a `Setting`;
what is left open there is found out from the system itself.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..arguments import flag, instance
from ..errors import DalembertError, InputError, MethodDoesNotFit
from ..formulation import symmetries
from ..method import Method
from ..problem import AbstractSystem, prepared
from ..stepping import consistent, observe
from .cases import LADDERS, Case, Setting
from .convergence import ObservedOrder, observed_order
from .invariants import drift
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


def measure_unequal_order(case: Case, orders: dict[str, int]) -> Measured:
    """The fitted slopes with steps that alternate 2 : 1, over the same times and with step sizes as in `measure_order`:
    of the quantity that is worst against its order. An error that changes its sign from step to step cancels with equal
    steps, so that an order may hold for those only. What cancels by chance is no matter: a slope may be larger."""
    for ladder in range(1 if case.setting.steps else len(LADDERS)):
        errors, found = case.unequal_errors(ladder), []
        for quantity, order in orders.items():
            try:
                slope = observed_order(errors.hs, errors.errors[quantity]).slope
            except InputError as reason:
                if BELOW_ROUNDOFF not in str(reason):
                    raise
                continue
            holds, wanted = slope >= order - ORDER_TOLERANCE, f"{order} +- {ORDER_TOLERANCE:g} or more of {quantity}"
            found.append((Measured(slope, wanted, holds), slope - order))
        if not found:
            raise NotSeen("the errors are roundoff already: nothing to measure")
        worst, missing = min(found, key=lambda pair: pair[1])
        if worst.holds:
            return worst
    if not case.setting.steps and missing > ORDER_TOLERANCE - 1:
        raise NotSeen(f"a slope of {worst.value:.3g}: not yet asymptotic, give step sizes of your own in `setting`")
    return worst


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
    run, start = case.long_run(), consistent(case.system, case.q0, case.v0)
    name, along = ("gradients", run.q) if level == "position" else ("velocity gradients", run.v)
    state = (np.asarray(part)[None] for part in (0.0, start.q, start.v, start.p))
    matrix = observe(prepared(case.system), name, *state).reshape(-1, run.q.shape[1])
    return float(np.max(np.abs(matrix) @ np.max(np.abs(along), axis=0), initial=0.0)) or 1.0


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


def claims_of(
    case: Case, *, symplectic: bool = True, unequal: bool = True
) -> Iterator[tuple[str, Callable[[], Measured]]]:
    """The claims that apply to a case, by name, with their measures. To measure symplecticity takes seconds, because a
    compiled step is differentiated: `symplectic=False` leaves it out, `unequal=False` steps of different sizes."""
    claims, setting, system = case.claims, case.setting, case.system
    nonholonomic = system.provides("nonholonomic")
    orders = {"q": claims.order, "p": claims.order}
    orders |= dict.fromkeys(case.quantities[2:], claims.multiplier_order)
    for quantity, order in orders.items():
        if order is not None and order >= setting.lowest_order and claims.order not in setting.unseen:
            yield f"order of {quantity}", functools.partial(measure_order, case, quantity, order)
    limit = claims.order if claims.unequal_order is None else claims.unequal_order
    # multipliers that are computed again at the recorded state have the order of the state
    told = case.quantities if case.method.multiplier == "discrete" else ("q", "p")
    lower = {
        quantity: min(order, limit)
        for quantity, order in orders.items()
        if order is not None and order >= setting.lowest_order and quantity in told and quantity not in setting.exact
    }
    if unequal and lower and claims.order not in setting.unseen:
        yield "order with unequal steps", functools.partial(measure_unequal_order, case, lower)
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


def measured(case: Case, *, symplectic: bool = True, unequal: bool = True) -> MeasuredClaims:
    """Every claim of a case. What fails while it is measured is a claim that does not hold; errors of the size of
    roundoff have no order, which is no failure."""
    found, unmeasured = {}, {}
    for claim, measure in claims_of(case, symplectic=symplectic, unequal=unequal):
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
    if setting is not None:
        instance("setting", setting, Setting, "a Setting, over which time and with which step sizes")
    system, symplectic = prepared(system), flag("symplectic", symplectic)
    begin: Any = getattr(system, "start", None)
    if q0 is None and v0 is None and callable(begin):
        given: Any = begin()
        q0, v0, setting = given.q0, given.v0, setting or Setting(h=given.h)
    if q0 is None or v0 is None:
        raise InputError(f"measure_claims needs starting values: {type(system).__name__} has none, pass q0 and v0.")
    exact: Any = getattr(system, "exact", None)
    known: Any = exact if callable(exact) and exact(0.0) is not None else None
    return measured(Case(method, system, q0, v0, setting or Setting(), known), symplectic=symplectic)
