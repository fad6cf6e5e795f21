"""Every method by name, for the command line, the documentation's table and the tests of the claims."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import InputError
from .base import Method
from .galerkin import Galerkin
from .rattle import Rattle, Shake
from .spark import euler_spark, gauss_spark, lobatto_spark


@dataclass(frozen=True)
class Entry:
    """One method of the catalogue, with one line about it and its source."""

    method: Method
    summary: str
    reference: str


_GALERKIN = "Wenger, Ober-Blöbaum, Leyendecker 2017"
_SPARK = "Jay 2009"

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


def method_named(name: str) -> Method:
    """The method of the catalogue called `name`."""
    try:
        return CATALOGUE[name.lower()].method
    except KeyError:
        raise InputError(f"unknown method {name!r}; expected one of: {', '.join(sorted(CATALOGUE))}.") from None
