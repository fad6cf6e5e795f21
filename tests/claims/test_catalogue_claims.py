"""Every claim of every method of the catalogue, measured over the gallery."""

import dataclasses

import claim_cases as measured
import pytest
from claim_cases import Case, cases

import dalembert as da
from dalembert.gallery import GALLERY
from dalembert.method import CATALOGUE

#: The systems of the fast tests: one constraint and several, a mass matrix that depends on q, a constraint
#: that depends on t, a force that depends on v, a Hamiltonian, no constraint at all. The others run with
#: the long tests.
QUICK = {
    "polar-pendulum", "hamiltonian-spherical-pendulum", "double-pendulum", "bead-on-rotating-hoop",
    "driven-pendulum", "kepler",
}  # fmt: skip
#: To differentiate the compiled step takes seconds; the double pendulum is in `test_rattle_and_shake.py`.
QUICK_SYMPLECTIC = {"polar-pendulum", "bead-on-rotating-hoop"}


def listed(found: list[Case], quick=frozenset(QUICK)):
    """One test for each case; those that are not quick are marked as long."""
    marked = [
        pytest.param(case, marks=() if case.system_name in quick else pytest.mark.long, id=str(case)) for case in found
    ]
    return pytest.mark.parametrize("case", marked)


def holonomic() -> set[str]:
    return {name for name, system in GALLERY.items() if system().provides("holonomic")}


@listed(cases(lambda claims: True))
def test_order(case: Case):
    for quantity in ("q", "p"):
        measured.check_order(case, quantity, case.claims.order)


@listed(cases(lambda claims: claims.multiplier_order is not None, among=holonomic()))
def test_multiplier_order(case: Case):
    measured.check_order(case, "lam", case.claims.multiplier_order)


@listed(cases(lambda claims: claims.constraints, among=holonomic()))
def test_constraints(case: Case):
    for level in case.claims.constraints:
        measured.check_constraint(case, level)


@listed(cases(lambda claims: claims.symmetric))
def test_symmetric(case: Case):
    measured.check_symmetric(case)


@listed(cases(lambda claims: claims.symmetric_positions))
def test_symmetric_positions(case: Case):
    measured.check_symmetric_positions(case)


@listed(cases(lambda claims: claims.symplectic, among=set(GALLERY) - measured.FORCED), QUICK_SYMPLECTIC)
def test_symplectic(case: Case):
    measured.check_symplectic(case)


@listed(cases(lambda claims: claims.momentum, among=measured.SYMMETRIC))
def test_momentum(case: Case):
    measured.check_momentum(case)


@listed(cases(lambda claims: claims.bounded_energy, among=measured.OSCILLATING))
def test_bounded_energy(case: Case):
    measured.check_bounded_energy(case)


def test_every_claim_is_measured():
    """A new field of `Claims` needs a check of its own here."""
    measured_above = {
        "order", "multiplier_order", "constraints", "symmetric", "symmetric_positions", "symplectic",
        "momentum", "bounded_energy",
    }  # fmt: skip
    assert {field.name for field in dataclasses.fields(da.Claims)} - {"note"} == measured_above


@pytest.mark.parametrize("name", CATALOGUE)
def test_no_claim_rests_on_linear_problems(name):
    found = [case for case in cases(lambda claims: True) if case.method_name == name]
    assert {case.system_name for case in found} - measured.LINEAR


def test_every_system_is_classified():
    """A new system of the gallery must be said to be conservative, rheonomic or forced."""
    kinds = (measured.CONSERVATIVE, measured.RHEONOMIC, measured.FORCED)
    assert set.union(*kinds) == set(GALLERY)
    assert sum(map(len, kinds)) == len(GALLERY)


def test_symmetries_are_classified():
    for name, system in GALLERY.items():
        start = system().start()
        found = system().invariants(0.0, start.q0, start.v0) if system().provides("invariants") else {}
        assert any(key.startswith("angular_momentum") for key in found) == (name in measured.SYMMETRIC), name
