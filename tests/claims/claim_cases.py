"""Which method is measured on which system of the gallery, and checks that fail where a claim does not hold.

The measures are those of `dalembert.diagnostics.claims`, the settings those of the gallery; the audit uses both too.
`test_checks_can_fail.py` calls the checks for a method that breaks every claim.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import dalembert as da
from dalembert.diagnostics import claims as measures
from dalembert.diagnostics.claims import Case, Measured
from dalembert.gallery import GALLERY
from dalembert.gallery.settings import case_of
from dalembert.method import CATALOGUE, Method

#: The catalogue, and the members that complete s = 1..4 of two of its families.
METHODS: dict[str, Method] = {name: entry.method for name, entry in CATALOGUE.items()} | {
    "galerkin-1": da.Galerkin(1),
    "gauss-spark-4": da.gauss_spark(4),
}
#: Linear equations of motion: they can confirm a claim, but not carry it alone.
LINEAR = {"harmonic-oscillator", "bead-on-moving-wire"}


def fits(method: Method, system) -> bool:
    return all(part in method.handles for part in system.parts) and method.misfit(system) is None


def pairs(methods: dict[str, Method] = METHODS) -> list[tuple[str, str]]:
    """The names of methods and of systems of the gallery that they treat."""
    return [(method, name) for method in methods for name, kind in GALLERY.items() if fits(methods[method], kind())]


@functools.lru_cache(maxsize=4)  # the tests of one case follow each other
def case(method: str, system: str) -> Case:
    return case_of(system, GALLERY[system](), METHODS[method])


def _check_of(measure: Callable[..., Measured]) -> Callable[..., None]:
    def check(*arguments) -> None:
        try:
            found = measure(*arguments)
        except da.InconsistentStart as error:
            raise AssertionError(f"the way back cannot begin where the way there ended: {error}") from error
        assert found.holds, str(found)

    return check


check_order = _check_of(measures.measure_order)
check_constraint = _check_of(measures.measure_constraint)
check_symmetric = _check_of(measures.measure_symmetric)
check_symmetric_positions = _check_of(measures.measure_symmetric_positions)
check_symplectic = _check_of(measures.measure_symplectic)
check_momentum = _check_of(measures.measure_momentum)
check_energy = _check_of(measures.measure_energy)
check_bounded_energy = _check_of(measures.measure_bounded_energy)
