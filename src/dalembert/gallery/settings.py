"""On what the claims of methods are measured, for each smooth system of the gallery: times, step sizes, what is kept.

Chosen by hand, where the defaults of `Setting` do not show an order above roundoff or tell a drift from an oscillation.
A system that is not named here is measured with what `measure_claims` finds out.
"""

from __future__ import annotations

import functools
from typing import Any

import equinox as eqx

from ..diagnostics import Case, Setting, reference_solution
from ..method import Method
from ..problem import State
from .ready import Ready

#: Systems that move in about a tenth of a second, and those that take several; the others need about one.
FAST = {"double-pendulum", "chain", "four-bar", "slider-crank"}
SLOW = {
    "nonholonomic-particle", "appell-hamel", "skate", "chaplygin-sleigh", "vertical-rolling-disc", "mobile-robot",
    "mclachlan-perlmutter-particles", "ball-on-turntable", "harmonic-oscillator",
}  # fmt: skip
#: Over this time (else 1, of slow systems 4) orders are fitted.
END = dict.fromkeys(SLOW, 4.0) | {
    "double-pendulum": 0.5, "four-bar": 0.5, "slider-crank": 0.25, "harmonic-oscillator": 3.0,
    "bead-on-moving-wire": 3.0, "kepler": 2.0, "mobile-robot": 3.0, "ball-on-turntable": 12.0,
}  # fmt: skip
#: ... with these numbers of steps by order: asymptotic, and above roundoff. Other orders: found out.
STEPS = {
    1: (400, 800, 1600, 3200), 2: (50, 100, 200, 400), 4: (16, 24, 36, 54), 6: (14, 19, 26, 36), 8: (11, 13, 15, 18),
}  # fmt: skip
STEPS_OF_FAST = STEPS | {4: (30, 45, 67, 100), 6: (28, 38, 52, 72), 8: (20, 24, 30, 36)}
STEPS_OF_SLOW = STEPS | {8: (20, 25, 31, 38)}
STEPS_OF: dict[str, dict[int, tuple[int, ...]]] = {
    "chain": {6: (42, 60, 84, 118)}, "four-bar": {8: (12, 15, 19, 24)}, "slider-crank": {6: (14, 19, 26, 36)},
    "kepler": {8: (24, 30, 37, 46)}, "nonholonomic-particle": {6: (42, 56, 75, 100)},
    "harmonic-oscillator": {8: (11, 13, 15, 18)}, "bead-on-rotating-hoop": {8: (5, 6, 7, 9)},
    "rolling-disc": {8: (3, 4, 5, 6)}, "vertical-rolling-disc": {8: (3, 4, 5, 6)},
    "mclachlan-perlmutter-particles": {8: (19, 21, 24, 28)},
}  # fmt: skip
#: Problems on which an order cannot be seen in double precision: less than two decades lie between the first step size
#: that is asymptotic and roundoff, and slopes between 7.2 and 8.6 come out.
UNSEEN = {"chain": {8}, "slider-crank": {8}}
#: What every method computes without error: the disc's angles are linear in time, and its momentum and multipliers are
#: functions of them.
EXACT = {"vertical-rolling-disc": {"p", "psi"}}
#: Steps of the long runs where they are not 10 000: the bead on the straight wire leaves exponentially, the
#: crank winds up its angle (and with it the roundoff of its sine), the chain is large, Appell's machine gathers speed.
LONG = {"bead-on-moving-wire": 300, "slider-crank": 2000, "chain": 500, "appell-hamel": 1000}
#: The step size of the runs for the energy, as a multiple of that of the gallery: large enough for the energy error to
#: stand out from roundoff.
STRETCH = {1: 1, 2: 1, 4: 4, 6: 10, 8: 18}
STRETCH_OF_FAST = {1: 1, 2: 1, 4: 2, 6: 4, 8: 5}
STRETCH_OF_SLOW = {1: 1, 2: 1, 4: 10, 6: 15, 8: 30}
#: The step size with which structure is measured: large enough for a method without it to be found out.
COARSE = 0.05

#: Systems with forces that do not derive from a potential, and those with constraints that do work because they depend
#: on time or are affine in the velocity: their energy is not constant. Where they turn uniformly, the energy in the
#: turning frame is.
NOT_CONSERVATIVE = {"driven-pendulum", "bead-on-moving-wire", "ball-on-turntable"}
CONSERVED = {"bead-on-rotating-hoop": "jacobi_integral"}
#: With methods of these orders and more the energy error of a system consists of rare bursts (it grows like the sixth
#: power of the frequency), so that its range grows with the time one looks at it, without any drift.
BURSTS = {"double-pendulum": 6, "slider-crank": 6}
#: The only systems with nonholonomic constraints on which the energy is bounded: reversible and integrable. Elsewhere
#: no theorem bounds it, and on the chaotic particles it wanders.
REVERSIBLE_INTEGRABLE = {"nonholonomic-particle", "skate", "mobile-robot"}
#: Too few oscillations fit into the long run to tell a drift from them.
FEW_OSCILLATIONS = {"chain"}
#: Systems with a symmetry of the configuration space.
SYMMETRIC = {
    "spherical-pendulum", "hamiltonian-spherical-pendulum", "double-pendulum", "chain", "harmonic-oscillator",
    "kepler",
}  # fmt: skip
#: Systems whose rate of the momentum vanishes: the first-order methods, which differ from the second-order ones in
#: where they take it, are of second order in some or all quantities.
WITHOUT_RATE = {"bead-on-moving-wire", "bead-on-rotating-hoop", "vertical-rolling-disc", "ball-on-turntable"}


def setting_of(name: str, system: Ready) -> Setting:
    """The setting of a system of the gallery."""
    if name not in MEASURED:
        return Setting(h=system.start().h)
    stretch, steps = STRETCH, STEPS
    if name in FAST:
        stretch, steps = STRETCH_OF_FAST, STEPS_OF_FAST
    elif name in SLOW:
        stretch, steps = STRETCH_OF_SLOW, STEPS_OF_SLOW
    return Setting(
        end=END.get(name, 1.0),
        steps=(steps | STEPS_OF.get(name, {})).get,
        h=system.start().h,
        long_steps=LONG.get(name, 10_000),
        stretch=lambda order: stretch.get(order, stretch[max(known for known in stretch if known <= order)]),
        coarse=COARSE,
        energy=None if name in NOT_CONSERVATIVE else CONSERVED.get(name, "energy"),
        bounded=functools.partial(_bounded, name, system.provides("nonholonomic")),
        symmetric=name in SYMMETRIC,
        lowest_order=2 if name in WITHOUT_RATE else 1,
        unseen=frozenset(UNSEEN.get(name, ())),
        exact=frozenset(EXACT.get(name, ())),
        size=1.0,
    )


def _bounded(name: str, nonholonomic: bool, method: Method) -> bool:
    """Whether a bound of the energy error can be seen: that of a symplectic method, or on a nonholonomic system that of
    a symmetric one."""
    if nonholonomic:
        return method.claims.symmetric and name in REVERSIBLE_INTEGRABLE
    return method.claims.bounded_energy and name not in FEW_OSCILLATIONS and method.order < BURSTS.get(name, 100)


#: The systems for which settings were chosen.
MEASURED = FAST | SLOW | set(END) | NOT_CONSERVATIVE | set(CONSERVED) | SYMMETRIC | {
    "pendulum", "polar-pendulum", "rolling-disc",
}  # fmt: skip


def case_of(name: str, system: Ready, method: Method) -> Case:
    """A method on a system of the gallery, from its own start, with its setting and its exact motion where known."""
    start = system.start()
    known: Any = None if system.exact(0.0) is None else system.exact
    if known is None and eqx.tree_equal(system, type(system)()):
        known = functools.partial(_reference, type(system))
    return Case(method, system, start.q0, start.v0, setting_of(name, system), known)


@functools.lru_cache(maxsize=32)
def _reference(kind: type[Ready], end: float) -> State:
    """The state of a system with its default parameters, computed once for all methods."""
    system = kind()
    start = system.start()
    return reference_solution(system, start.q0, start.v0, (0.0, end))
