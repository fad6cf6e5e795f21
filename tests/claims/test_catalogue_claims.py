"""Every claim of every method of the catalogue, measured over the gallery.

All claims of one method on one system are one test, so that their runs are computed once.
"""

import dataclasses
from collections.abc import Callable

import claim_cases as measured
import pytest

import dalembert as da
from dalembert import diagnostics
from dalembert.gallery import GALLERY

PAIRS = measured.pairs()

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


#: A method of the catalogue that is not named above is measured on these in the fast tests.
DEFAULT = {"polar-pendulum", "hamiltonian-spherical-pendulum", "bead-on-rotating-hoop", "kepler"}


def quick_systems(method: str) -> set[str]:
    """The systems on which a method is measured in the fast tests, as far as it treats them."""
    return {name for name in QUICK.get(method, DEFAULT) if (method, name) in PAIRS}


def listed(is_listed: Callable[[str, str], bool], is_quick: Callable[[str, str], bool]):
    """One test for each pair; those that are not quick are marked as long."""
    marked = [
        pytest.param(*pair, marks=() if is_quick(*pair) else pytest.mark.long, id="-".join(pair))
        for pair in PAIRS
        if is_listed(*pair)
    ]
    return pytest.mark.parametrize(("method", "system"), marked)


@listed(lambda method, system: True, lambda method, system: system in quick_systems(method))
def test_claims(method: str, system: str):
    found = diagnostics.measured(measured.case(method, system), symplectic=False, unequal=False)
    assert found.found
    assert not found.broken


def is_quick_with_unequal_steps(method: str, system: str) -> bool:
    return system in ("polar-pendulum", "nonholonomic-particle") and measured.METHODS[method].order <= 6


@listed(lambda method, system: True, is_quick_with_unequal_steps)
def test_orders_with_unequal_steps(method: str, system: str):
    case = measured.case(method, system)
    for claim, measure in diagnostics.claims_of(case, symplectic=False):
        if claim == "order with unequal steps":
            try:
                found = measure()
            except diagnostics.claims.NotSeen:
                continue  # roundoff already
            assert found.holds, str(found)


def is_symplectic(method: str, system: str) -> bool:
    kind = GALLERY[system]()
    return (
        measured.METHODS[method].claims.symplectic and not kind.provides("nonholonomic") and not kind.provides("force")
    )


@listed(is_symplectic, lambda method, system: (method, system) in QUICK_SYMPLECTIC)
def test_symplectic(method: str, system: str):
    measured.check_symplectic(measured.case(method, system))


def test_every_claim_is_measured():
    """A new field of `Claims` needs a measure of its own."""
    found = {claim for pair in PAIRS for claim, _ in diagnostics.claims_of(measured.case(*pair))}
    fields = {
        "order": "order of q", "unequal_order": "order with unequal steps", "multiplier_order": "order of lam",
        "constraints": "constraint at velocity level",
        "symmetric": "symmetric", "symmetric_positions": "symmetric positions", "symplectic": "symplectic",
        "momentum": "momentum", "bounded_energy": "bounded energy",
    }  # fmt: skip
    # `energy` is claimed by no method of the catalogue; once one does, it is measured
    assert not any(method.claims.energy for method in measured.METHODS.values())
    assert {field.name for field in dataclasses.fields(da.Claims)} - {"note", "energy"} == set(fields)
    assert set(fields.values()) <= found
    assert {"order of p", "order of psi", "constraint at position level"} <= found


@pytest.mark.parametrize("name", measured.METHODS)
def test_every_method_is_measured_on_several_nonlinear_problems_in_the_fast_tests(name):
    assert not QUICK.get(name, set()) - quick_systems(name)  # each of those named is treated
    assert len(quick_systems(name) - measured.LINEAR) >= 4


def test_what_is_said_of_the_systems_is_what_is_found_out():
    """A setting that says that the energy is constant, or that there is a symmetry, agrees with the system itself."""
    for name, kind in GALLERY.items():
        case = measured.case("gauss-spark-2" if kind().provides("nonholonomic") else "rattle", name)
        free = dataclasses.replace(case, setting=diagnostics.Setting())
        if case.energy in ("energy", None) and name not in NOT_SEEN_AT_ONE_STATE:
            assert case.energy == free.energy, name
        start = case.system.start()
        found = case.system.invariants(0.0, start.q0, start.v0) if case.system.provides("invariants") else {}
        assert any(key.startswith("angular_momentum") for key in found) == case.setting.symmetric, name


#: Their constraints are affine in the velocity: they do work, although nothing depends on the time.
NOT_SEEN_AT_ONE_STATE = {"ball-on-turntable"}
