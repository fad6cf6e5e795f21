"""RATTLE and SHAKE at their own length: long runs, roundoff, twins and the difference between the two."""

import numpy as np
import pytest

import dalembert as da
from dalembert.diagnostics import drift, end_errors, observed_order, reversibility_defect, symplectic_defect
from dalembert.gallery import (
    BeadOnMovingWire,
    DoublePendulum,
    HamiltonianSphericalPendulum,
    Pendulum,
    SphericalPendulum,
)

STEP_SIZES = 1 / np.array([50, 100, 200, 400], dtype=float)
METHODS = pytest.mark.parametrize("method", [da.Rattle(), da.Shake()], ids=["rattle", "shake"])


def run_from_start(system, method, **options):
    start = system.start()
    return da.simulate(system, method, start.q0, start.v0, **options)


def slopes(system, method, t_end, quantities=("q", "p", "lam")):
    start = system.start()
    found = end_errors(
        system, method, start.q0, start.v0, (0.0, t_end), STEP_SIZES, system.exact, quantities=quantities
    )
    return {name: observed_order(found.hs, errors) for name, errors in found.errors.items()}


@pytest.fixture(scope="module")
def pendulum_to_1000():
    """RATTLE, 10^5 steps, every state."""
    return run_from_start(Pendulum(), da.Rattle(), t=(0.0, 1000.0), h=0.01)


@pytest.fixture(scope="module")
def pendulum_by_method():
    return {m.name: run_from_start(Pendulum(), m, t=(0.0, 10.0), h=0.01) for m in (da.Rattle(), da.Shake())}


@METHODS
def test_pendulum_converges_with_order_two_in_position_momentum_and_multiplier(method):
    for name, found in slopes(Pendulum(), method, 1.0).items():
        assert found.points >= 3, name
        assert found.slope == pytest.approx(2.0, abs=0.1), name


@METHODS
def test_bead_on_moving_wire_converges_with_order_two_to_the_closed_form(method):
    for name, found in slopes(BeadOnMovingWire(), method, 2.0).items():
        assert found.points >= 3, name
        assert found.slope == pytest.approx(2.0, abs=0.1), name


def test_pendulum_agrees_with_published_digits():
    """Reference values at t = 1 (m = l = 1, g = 9.81, angle 1, unit speed), computed in quadruple precision.

    The error of order 2 is removed by extrapolation from h and h/2.
    """
    coarse, fine = (run_from_start(Pendulum(), da.Rattle(), t=(0.0, 1.0), h=h) for h in (1 / 2000, 1 / 4000))
    q, p, lam = ((4 * getattr(fine, x)[-1] - getattr(coarse, x)[-1]) / 3 for x in ("q", "p", "lam"))
    assert q == pytest.approx([-0.78141010034530201, -0.62401783234002617], abs=1e-11)
    assert p == pytest.approx([-1.0143886608824411, 1.2702418171559067], abs=1e-11)
    assert lam == pytest.approx([8.7641135646340693], abs=1e-10)


def test_constraints_hold_to_roundoff_over_a_hundred_thousand_steps(pendulum_to_1000):
    assert len(pendulum_to_1000) == 100_001
    assert np.max(pendulum_to_1000.constraint) <= 1e-14
    assert np.max(pendulum_to_1000.hidden) <= 1e-14


def test_energy_does_not_drift_over_a_thousand_seconds(pendulum_to_1000):
    energy = pendulum_to_1000.energy
    found = drift(pendulum_to_1000.t, energy)
    assert found.max_deviation <= 2e-3
    assert abs(found.slope) * 1000.0 <= 0.01 * np.ptp(energy)
    assert abs(found.growth_exponent) <= 0.01


@METHODS
def test_energy_error_shrinks_with_the_square_of_the_step(method):
    amplitudes = [np.ptp(run_from_start(Pendulum(), method, t=(0.0, 10.0), h=h).energy) for h in (0.02, 0.01, 0.005)]
    assert observed_order([0.02, 0.01, 0.005], amplitudes).slope == pytest.approx(2.0, abs=0.05)


def test_double_pendulum_is_symplectic_and_reversible_along_the_motion():
    """From a state in the middle of the motion, where both links swing in space."""
    system = DoublePendulum()
    run = run_from_start(system, da.Rattle(), t=(0.0, 3.0), h=0.01)
    q, v = run.q[-1], run.v[-1]
    assert symplectic_defect(system, da.Rattle(), q, v, 0.0, 0.02) <= 1e-10
    found = reversibility_defect(system, da.Rattle(), q, v, (0.0, 2.0), 0.02)
    assert found.q <= 1e-10
    assert found.p <= 1e-10


def test_double_pendulum_keeps_its_vertical_angular_momentum():
    run = run_from_start(DoublePendulum(), da.Rattle(), t=(0.0, 200.0), h=0.01)
    values = run.invariants["angular_momentum_z"]
    assert abs(values[0]) > 1.0
    assert np.max(np.abs(values - values[0])) <= 1e-11


def test_positions_of_shake_are_those_of_rattle(pendulum_by_method):
    rattle, shake = pendulum_by_method["Rattle()"], pendulum_by_method["Shake()"]
    assert np.max(np.abs(rattle.q - shake.q)) <= 1e-12
    assert np.max(np.abs(rattle.p - shake.p)) > 1e-6


def test_rattle_is_shake_with_the_momentum_projected(pendulum_by_method):
    """On a circle the projection takes off the radial part."""
    rattle, shake = pendulum_by_method["Rattle()"], pendulum_by_method["Shake()"]
    radial = np.sum(shake.p * shake.q, axis=1, keepdims=True) * shake.q
    assert np.max(np.abs(shake.p - radial - rattle.p)) <= 1e-11


def test_shake_is_reversible_in_position_but_not_in_momentum():
    system, sizes = Pendulum(), [0.04, 0.02, 0.01]
    start = system.start()
    found = [reversibility_defect(system, da.Shake(), start.q0, start.v0, (0.0, 2.0), h) for h in sizes]
    assert max(defect.q for defect in found) <= 1e-10
    assert observed_order(sizes, [defect.p for defect in found]).slope == pytest.approx(2.0, abs=0.2)


def test_shake_violates_the_hidden_constraint_by_the_square_of_the_step():
    sizes = [0.04, 0.02, 0.01]
    found = [np.max(run_from_start(Pendulum(), da.Shake(), t=(0.0, 2.0), h=h).hidden) for h in sizes]
    assert observed_order(sizes, found).slope == pytest.approx(2.0, abs=0.2)


@METHODS
def test_hamiltonian_twin_moves_as_the_lagrangian_one(method):
    lagrangian = run_from_start(SphericalPendulum(mass=2.0), method, t=(0.0, 10.0), h=0.01)
    hamiltonian = run_from_start(HamiltonianSphericalPendulum(mass=2.0), method, t=(0.0, 10.0), h=0.01)
    for name in ("q", "v", "p", "energy"):
        assert np.max(np.abs(getattr(lagrangian, name) - getattr(hamiltonian, name))) <= 1e-12, name
    assert np.max(np.abs(lagrangian.lam - hamiltonian.lam)) <= 1e-10
