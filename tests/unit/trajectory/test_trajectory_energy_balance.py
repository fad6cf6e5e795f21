"""The change of the energy is the work that was done, to the order of the method."""

import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.gallery import GALLERY, BouncingBall, Pendulum, SlidingBlock
from dalembert.trajectory.energy_balance import integrals


class Pushed(Pendulum):
    """A pendulum with damping and a force that depends on time."""

    def force(self, t, q, v):
        return jnp.array([jnp.sin(t), 0.0]) - 0.3 * v


class RubbedPendulum(Pendulum):
    """Its rod rubs in the pivot: friction that grows with a power of the tension."""

    def reaction(self, t, q, v, psi):
        return -0.1 * jnp.abs(psi[0]) ** 0.85 * v / jnp.sqrt(v @ v + 1e-4)


class Stiffening(da.HamiltonianSystem):
    """A spring that stiffens with time."""

    def hamiltonian(self, t, q, p):
        return 0.5 * p @ p + 0.5 * (1 + t) * q @ q


def balance(system, method, h, end=1.0):
    start = system.start()
    return da.simulate(system, method, start.q0, start.v0, t=(0.0, end), h=h).energy_balance


@pytest.mark.parametrize(
    ("system", "method", "h", "cause"),
    [
        (Pushed(), da.Rattle(), 0.02, "force"),
        (Pushed(), da.Shake(), 0.02, "force"),
        (Pushed(), da.Galerkin(2), 0.02, "force"),
        (GALLERY["bead-on-moving-wire"](), da.gauss_spark(2), 0.02, "holonomic"),
        (GALLERY["ball-on-turntable"](), da.gauss_spark(1), 0.02, "nonholonomic"),
        (RubbedPendulum(), da.SymplecticEuler(), 0.002, "reaction"),
    ],
    ids=["rattle", "shake", "galerkin", "moving wire", "turntable", "friction"],
)
def test_it_closes_to_the_order_of_the_method(system, method, h, cause):
    coarse, fine = balance(system, method, h), balance(system, method, h / 2)
    assert abs(fine.work[cause][-1]) > 100 * fine.largest_defect > 0
    assert np.log2(coarse.largest_defect / fine.largest_defect) == pytest.approx(method.order, abs=0.2)
    np.testing.assert_allclose(fine.change, sum(fine.work.values()) + fine.defect, atol=1e-15)


def test_without_work_the_defect_is_the_error_of_the_energy():
    found = balance(Pendulum(), da.Rattle(), 0.01)
    assert list(found.work) == ["holonomic"]
    np.testing.assert_allclose(found.defect, found.change, atol=1e-14)


def test_a_hamiltonian_that_depends_on_time():
    run = da.simulate(Stiffening(), da.Galerkin(2), [1.0], p0=[0.0], t=(0.0, 2.0), h=0.02)
    found = run.energy_balance
    assert list(found.work) == ["explicit time"]
    assert found.work["explicit time"][-1] > 0.1
    assert found.largest_defect < 1e-8


def test_impacts_and_sliding_to_roundoff():
    ball = BouncingBall()
    start = ball.start()
    run = da.simulate(ball, da.MoreauJean(), start.q0, start.v0, t=(0.0, 2.5), h=0.005)
    assert run.energy_balance.work["contacts"][-1] == pytest.approx(-1.875, abs=1e-4)
    assert run.energy_balance.largest_defect < 1e-12
    assert balance(SlidingBlock(), da.MoreauJean(), 0.01).largest_defect < 1e-11


def test_every_third_state_and_steps_of_different_sizes():
    start = Pushed().start()
    sizes = np.random.default_rng(0).uniform(0.005, 0.015, 99)
    for options in ({"h": 0.01, "save_every": 3}, {"h": sizes * 0.99 / np.sum(sizes)}):
        found = da.simulate(Pushed(), da.Galerkin(3), start.q0, start.v0, t=(0.0, 0.99), **options).energy_balance
        assert found.largest_defect < 1e-8


@pytest.mark.parametrize("neighbours", [1, 2, 5, 8])
def test_polynomials_are_integrated_exactly(neighbours):
    t = np.cumsum(np.random.default_rng(1).uniform(0.1, 0.3, 30))
    values = np.stack([t**k for k in range(neighbours)], axis=1)
    exact = np.stack([(t ** (k + 1) - t[0] ** (k + 1)) / (k + 1) for k in range(neighbours)], axis=1)
    np.testing.assert_allclose(integrals(t, values, neighbours), exact, rtol=1e-9, atol=1e-12)
    assert np.all(integrals(t[:1], values[:1], neighbours) == 0)


def test_it_reads_well():
    text = repr(balance(Pushed(), da.Rattle(), 0.01))
    assert text.startswith("EnergyBalance(change=-")
    assert "work: force -" in text


def test_what_is_refused():
    ball = BouncingBall()
    run = da.simulate(ball, da.EventCapturing(), [1.0], [0.0], t=(0.0, 0.5), h=0.01)
    with pytest.raises(da.InputError, match=r"run\.events holds the velocities"):
        _ = run.energy_balance
    run = da.simulate(ball, da.MoreauJean(), [1.0], [0.0], t=(0.0, 0.5), h=0.01, save_every=5)
    with pytest.raises(da.InputError, match="save_every=1"):
        _ = run.energy_balance
