"""The checks of the claims find out a method that claims what it does not keep."""

from __future__ import annotations

from typing import ClassVar

import claim_cases as measured
import jax.numpy as jnp
import pytest

import dalembert as da
from dalembert.diagnostics import Case
from dalembert.formulation import Acceleration
from dalembert.gallery import GALLERY
from dalembert.gallery.settings import case_of
from dalembert.method import Claims, Method, Rattle, Shake, Step


class UnderlyingEuler(Method):
    """Explicit Euler for the equations with twice differentiated constraints; it claims to be RATTLE::

    q1 = q0 + h v0,    p1 = p0 + h p',    v1 = v0 + h v'
    """

    claims: ClassVar[Claims] = Rattle.claims
    handles: ClassVar[frozenset[str]] = frozenset({"holonomic", "nonholonomic", "force", "invariants"})

    def guess(self, step: Step):
        start = step.start
        return Acceleration(jnp.zeros_like(start.v), jnp.zeros_like(start.p), start.lam, start.psi)

    def residual(self, x, step: Step):
        start = step.start
        return step.mechanics.acceleration_residual(x, step.t, start.q, start.v, start.p)

    def finish(self, x, step: Step):
        h, start = step.h, step.start
        return step.end(dq=h * start.v, dp=h * x.p_rate, v=start.v + h * x.v_rate, lam=x.lam, psi=x.psi)


def case(method: Method, system: str) -> Case:
    return case_of(system, GALLERY[system](), method)


WRONG = case(UnderlyingEuler(), "spherical-pendulum")


@pytest.mark.parametrize("quantity", ["q", "p", "lam"])
def test_order_is_found_out(quantity):
    with pytest.raises(AssertionError, match=r"expected \d \+- 0\.2"):
        measured.check_order(WRONG, quantity, WRONG.claims.order)


@pytest.mark.parametrize("level", ["position", "velocity"])
def test_constraint_is_found_out(level):
    with pytest.raises(AssertionError):
        measured.check_constraint(WRONG, level)


@pytest.mark.parametrize("check", [measured.check_symmetric, measured.check_symmetric_positions])
def test_asymmetry_is_found_out(check):
    with pytest.raises(AssertionError):
        check(WRONG)


def test_lack_of_symplecticity_is_found_out():
    with pytest.raises(AssertionError):
        measured.check_symplectic(WRONG)


def test_loss_of_momentum_is_found_out():
    with pytest.raises(AssertionError):
        measured.check_momentum(WRONG)


def test_drift_of_energy_is_found_out():
    with pytest.raises(AssertionError):
        measured.check_bounded_energy(WRONG)


NONHOLONOMIC = case(UnderlyingEuler(), "mobile-robot")


@pytest.mark.parametrize("quantity", ["q", "p", "psi"])
def test_order_with_a_nonholonomic_constraint_is_found_out(quantity):
    with pytest.raises(AssertionError, match=r"expected \d \+- 0\.2"):
        measured.check_order(NONHOLONOMIC, quantity, NONHOLONOMIC.claims.order)


def test_nonholonomic_constraint_is_found_out():
    with pytest.raises(AssertionError):
        measured.check_constraint(NONHOLONOMIC, "velocity")


def test_drift_of_energy_with_a_nonholonomic_constraint_is_found_out():
    with pytest.raises(AssertionError):
        measured.check_bounded_energy(NONHOLONOMIC)


def test_a_claim_that_shake_does_not_make_is_not_kept():
    """SHAKE: the hidden constraint is violated, and the momentum does not return."""
    shake = case(Shake(), "spherical-pendulum")
    with pytest.raises(AssertionError):
        measured.check_constraint(shake, "velocity")
    with pytest.raises(AssertionError):
        measured.check_symmetric(shake)


def test_the_energy_is_kept_by_the_method_that_claims_it_and_by_no_other():
    """RATTLE only bounds its error; a discrete derivative that needs no invariants keeps it."""
    measured.check_energy(case(da.EnergyMomentum("gonzalez"), "spherical-pendulum"))
    with pytest.raises(AssertionError):
        measured.check_energy(case(da.Rattle(), "spherical-pendulum"))
