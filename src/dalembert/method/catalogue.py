"""Every method by name, for the command line, the documentation's table and the tests of the claims."""

from __future__ import annotations

from dataclasses import dataclass

from ..arguments import one_of
from .base import Method
from .composition import Composition
from .energy_momentum import EnergyMomentum
from .event_capturing import EventCapturing
from .galerkin import Galerkin
from .moreau_jean import MoreauJean, SchatzmanPaoli
from .rattle import Rattle, Shake
from .runge_kutta import gauss_legendre, half_explicit, lobatto_iiia, radau_iia
from .spark import euler_spark, gauss_spark, lobatto_spark
from .symplectic_euler import SymplecticEuler
from .taylor import Taylor


@dataclass(frozen=True)
class Entry:
    """One method of the catalogue, with one line about it and its source."""

    method: Method
    summary: str
    reference: str


_GALERKIN = "Wenger, Ober-Blöbaum, Leyendecker 2017"
_SPARK = "Jay 2009"
_TAYLOR = "Moore 1966; Jorba, Zou 2005"

CATALOGUE: dict[str, Entry] = {
    "rattle": Entry(
        Rattle(),
        "holonomic constraints at position and velocity level, symplectic",
        "Andersen 1983; Jay 1996",
    ),
    "shake": Entry(
        Shake(),
        "holonomic constraints at position level, reversible in q",
        "Ryckaert, Ciccotti, Berendsen 1977",
    ),
    "galerkin-2": Entry(Galerkin(2), "variational, quadratic in time, holonomic constraints, order 4", _GALERKIN),
    "galerkin-3": Entry(Galerkin(3), "variational, cubic in time, holonomic constraints, order 6", _GALERKIN),
    "galerkin-4": Entry(Galerkin(4), "variational, quartic in time, holonomic constraints, order 8", _GALERKIN),
    "gauss-spark-1": Entry(gauss_spark(1), "holonomic and nonholonomic constraints, midpoint rule, order 2", _SPARK),
    "gauss-spark-2": Entry(gauss_spark(2), "holonomic and nonholonomic constraints, order 4", _SPARK),
    "gauss-spark-3": Entry(gauss_spark(3), "holonomic and nonholonomic constraints, order 6", _SPARK),
    "lobatto-spark-2": Entry(
        lobatto_spark(2), "holonomic and nonholonomic constraints, Lobatto IIIA-IIIB, order 2: RATTLE and more", _SPARK
    ),
    "lobatto-spark-3": Entry(
        lobatto_spark(3), "holonomic and nonholonomic constraints, Lobatto IIIA-IIIB, order 4", _SPARK
    ),
    "lobatto-spark-4": Entry(
        lobatto_spark(4), "holonomic and nonholonomic constraints, Lobatto IIIA-IIIB, order 6", _SPARK
    ),
    "lobatto-abd-3": Entry(
        lobatto_spark(3, "ABD"), "Lobatto IIIA-IIIB, reactions of nonholonomic constraints with IIID, order 4", _SPARK
    ),
    "euler-spark-1": Entry(euler_spark("I"), "symplectic Euler, forces and reactions at the start of a step", _SPARK),
    "euler-spark-2": Entry(euler_spark("II"), "symplectic Euler, forces and reactions at the end of a step", _SPARK),
}

_CAPTURING = "Acary 2012; Mannshardt 1978"

#: Methods for systems with contact. What they claim is measured in their own tests: smooth claims end at an impact.
CONTACT_CATALOGUE: dict[str, Entry] = {
    "moreau-jean": Entry(
        MoreauJean(), "time stepping at velocity level, friction in the plane and in space", "Moreau 1988; Jean 1999"
    ),
    "schatzman-paoli": Entry(
        SchatzmanPaoli(), "time stepping at position level, explicit or implicit", "Paoli, Schatzman 1993"
    ),
    "event-capturing-radau-3": Entry(EventCapturing(radau_iia(2)), "Radau IIA between events, order 3", _CAPTURING),
    "event-capturing-radau-5": Entry(EventCapturing(radau_iia(3)), "Radau IIA between events, order 5", _CAPTURING),
    "event-capturing-lobatto-4": Entry(
        EventCapturing(lobatto_iiia(3)), "Lobatto IIIA between events, order 4", _CAPTURING
    ),
    "event-capturing-lobatto-6": Entry(
        EventCapturing(lobatto_iiia(4)), "Lobatto IIIA between events, order 6", _CAPTURING
    ),
    "event-capturing-gauss-4": Entry(
        EventCapturing(gauss_legendre(2)), "Gauss between events, symplectic, order 4", _CAPTURING
    ),
    "event-capturing-explicit-4": Entry(
        EventCapturing(half_explicit(4)), "half-explicit Runge-Kutta between events, order 4", _CAPTURING
    ),
}

#: Families with parameters of their own. What they claim is measured in the tests of each family.
FAMILY_CATALOGUE: dict[str, Entry] = {
    "energy-momentum": Entry(
        EnergyMomentum(), "energy, momenta of symmetries and holonomic constraints to roundoff", "Gonzalez 1999"
    ),
    "energy-momentum-velocity": Entry(
        EnergyMomentum(velocity_level=True), "the same, and the hidden constraints", "after Gonzalez 1999"
    ),
    "symplectic-euler": Entry(
        SymplecticEuler(), "overdetermined systems, reactions nonlinear in the multiplier, inequalities", "Jay 1998"
    ),
    "rattle-yoshida4": Entry(Composition(Rattle(), "yoshida4"), "RATTLE composed to order 4", "Yoshida 1990"),
    "rattle-kahan-li6": Entry(Composition(Rattle(), "kahan-li6"), "RATTLE composed to order 6", "Kahan, Li 1997"),
    "rattle-kahan-li8": Entry(Composition(Rattle(), "kahan-li8"), "RATTLE composed to order 8", "Kahan, Li 1997"),
    "taylor-8": Entry(Taylor(8), "explicit Taylor series of order 8, projected onto all constraints", _TAYLOR),
    "taylor-12": Entry(Taylor(12), "explicit Taylor series of order 12, projected onto all constraints", _TAYLOR),
}
#: All of them.
METHODS: dict[str, Entry] = CATALOGUE | CONTACT_CATALOGUE | FAMILY_CATALOGUE


def method_named(name: str) -> Method:
    """The method called `name`."""
    if not isinstance(name, str) or name.lower() not in METHODS:
        raise one_of("method", name, METHODS)
    return METHODS[name.lower()].method
