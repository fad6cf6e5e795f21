"""Every claim of every method of the catalogue, measured over the gallery.

All claims of one method on one system are one test, so that their runs are computed once.
"""

import dataclasses
from collections.abc import Callable

import claim_cases as measured
import pytest
from claim_cases import Case, cases, claims_of

import dalembert as da
from dalembert.gallery import GALLERY

#: The systems of the fast tests: one constraint and several, a mass matrix that depends on q, a constraint that depends
#: on t, a force that depends on v, a Hamiltonian, no constraint at all; constraints on the velocity that are linear,
#: affine and quadratic in it, and both kinds of constraints. The other pairs run with the long tests.
HOLONOMIC = {
    "polar-pendulum", "hamiltonian-spherical-pendulum", "double-pendulum", "bead-on-rotating-hoop",
    "driven-pendulum", "kepler",
}  # fmt: skip
GALERKIN = {"polar-pendulum", "hamiltonian-spherical-pendulum", "bead-on-rotating-hoop", "driven-pendulum"}
GAUSS = {"polar-pendulum", "nonholonomic-particle", "mobile-robot", "appell-hamel", "ball-on-turntable"}
LOBATTO = {"hamiltonian-spherical-pendulum", "skate", "chaplygin-sleigh", "mclachlan-perlmutter-particles"}
QUICK: dict[str, set[str]] = {
    "rattle": HOLONOMIC,
    "shake": HOLONOMIC,
    **{f"galerkin-{s}": GALERKIN for s in (1, 2, 3, 4)},
    **{f"gauss-spark-{s}": GAUSS for s in (1, 2, 3, 4)},
    **{f"lobatto-spark-{s}": LOBATTO for s in (2, 3, 4)},
    "lobatto-abd-3": {"nonholonomic-particle", "mobile-robot", "appell-hamel", "ball-on-turntable"},
    "euler-spark-1": {"hamiltonian-spherical-pendulum", "nonholonomic-particle", "mobile-robot", "chaplygin-sleigh"},
    "euler-spark-2": {"hamiltonian-spherical-pendulum", "nonholonomic-particle", "mobile-robot", "chaplygin-sleigh"},
}
#: To differentiate the compiled step takes seconds; the double pendulum is in `test_rattle_and_shake.py`.
QUICK_SYMPLECTIC = {
    ("rattle", "polar-pendulum"), ("rattle", "bead-on-rotating-hoop"), ("galerkin-2", "polar-pendulum"),
    ("gauss-spark-2", "polar-pendulum"), ("euler-spark-1", "spherical-pendulum"),
    ("lobatto-spark-4", "double-pendulum"),  # with coefficients of roundoff, which must not set the scale of an unknown
}  # fmt: skip


def listed(found: list[Case], is_quick: Callable[[Case], bool]):
    """One test for each case; those that are not quick are marked as long."""
    marked = [pytest.param(case, marks=() if is_quick(case) else pytest.mark.long, id=str(case)) for case in found]
    return pytest.mark.parametrize("case", marked)


@listed(cases(), lambda case: case.system_name in QUICK[case.method_name])
def test_claims(case: Case):
    broken = []
    for claim, measure in claims_of(case):
        try:
            found = measure()
            broken += [] if found.holds else [f"{claim}: {found}"]
        except (AssertionError, da.DalembertError) as error:
            broken.append(f"{claim}: {str(error).splitlines()[0] if str(error) else type(error).__name__}")
    assert not broken


@listed(
    cases(lambda claims: claims.symplectic, among=set(GALLERY) - measured.FORCED - measured.NONHOLONOMIC),
    lambda case: (case.method_name, case.system_name) in QUICK_SYMPLECTIC,
)
def test_symplectic(case: Case):
    measured.check_symplectic(case)


def test_every_claim_is_measured():
    """A new field of `Claims` needs a check of its own here."""
    found = {claim for case in cases() for claim, _ in claims_of(case)} | {"symplectic"}
    fields = {
        "order": "order of q", "multiplier_order": "order of lam", "constraints": "constraint at velocity level",
        "symmetric": "symmetric", "symmetric_positions": "symmetric positions", "symplectic": "symplectic",
        "momentum": "momentum", "bounded_energy": "bounded energy",
    }  # fmt: skip
    # `energy` is claimed by no method of the catalogue; once one does, it needs a check
    assert not any(method.claims.energy for method in measured.METHODS.values())
    assert {field.name for field in dataclasses.fields(da.Claims)} - {"note", "energy"} == set(fields)
    assert set(fields.values()) <= found
    assert {"order of p", "order of psi", "constraint at position level"} <= found


@pytest.mark.parametrize("name", measured.METHODS)
def test_every_method_is_measured_on_several_nonlinear_problems_in_the_fast_tests(name):
    quick = {case.system_name for case in cases() if case.method_name == name} & QUICK[name]
    assert quick == QUICK[name]
    assert len(quick - measured.LINEAR) >= 4


def test_every_system_is_classified():
    """A new system of the gallery must be said to be conservative, moving or forced."""
    kinds = (measured.CONSERVATIVE, measured.MOVING, measured.FORCED)
    assert set.union(*kinds) == set(GALLERY)
    assert sum(map(len, kinds)) == len(GALLERY)


def test_symmetries_are_classified():
    for name, system in GALLERY.items():
        start = system().start()
        found = system().invariants(0.0, start.q0, start.v0) if system().provides("invariants") else {}
        assert any(key.startswith("angular_momentum") for key in found) == (name in measured.SYMMETRIC), name
