"""Gradients by the implicit function theorem and batches: `jax.grad` and `jax.vmap` through `simulate`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.gallery import BeadOnMovingWire, Pendulum, SphericalPendulum


def central_difference(function, x: float, step: float = 1e-5) -> float:
    return float((function(x + step) - function(x - step)) / (2 * step))


@pytest.mark.parametrize(
    "method",
    [pytest.param(da.Rattle(), id="rattle"), pytest.param(da.Shake(), id="shake", marks=pytest.mark.long)],
)
def test_gradient_of_the_end_position_by_the_length(method):
    def end(length):
        system = Pendulum(length=length)
        start = system.start()
        return da.simulate(system, method, start.q0, start.v0, t=(0.0, 2.0), h=0.02).q[-1, 0]

    assert float(jax.jit(jax.grad(end))(1.1)) == pytest.approx(central_difference(end, 1.1), abs=1e-7)


def test_gradient_by_the_rate_of_a_moving_constraint():
    """Forward mode, through a start that depends on the parameter, against the closed form."""

    def end(rate):
        system = BeadOnMovingWire(rate=rate)
        start = system.start()
        return da.simulate(system, da.Rattle(), start.q0, start.v0, t=(0.0, 1.0), h=0.01).q[-1, 0]

    found = float(jax.jit(lambda rate: jax.jvp(end, (rate,), (1.0,))[1])(1.2))
    exact = central_difference(lambda rate: BeadOnMovingWire(rate=rate).exact(1.0).q[0], 1.2)
    assert found == pytest.approx(central_difference(end, 1.2), abs=1e-7)
    assert found == pytest.approx(exact, abs=1e-3)


@pytest.mark.long
def test_gradient_of_the_energy_by_the_initial_velocity():
    """The energy at the end is that of the start up to O(h^2): its gradient is the momentum."""
    system = SphericalPendulum()
    start = system.start()

    def energy(speed):
        v0 = speed * jnp.array([0.0, 1.0, 0.0])
        return da.simulate(system, da.Rattle(), start.q0, v0, t=(0.0, 1.0), h=0.01).energy[-1]

    found = float(jax.jit(jax.grad(energy))(1.5))
    assert found == pytest.approx(central_difference(energy, 1.5), abs=1e-7)
    assert found == pytest.approx(1.5, abs=1e-2)


def test_batch_over_parameters_agrees_with_single_runs():
    lengths = jnp.array([0.7, 1.0, 1.6])

    def positions(length):
        system = Pendulum(length=length)
        start = system.start()
        return da.simulate(system, da.Rattle(), start.q0, start.v0, t=(0.0, 2.0), h=0.02).q

    batch = np.asarray(jax.jit(jax.vmap(positions))(lengths))
    single = np.stack([positions(float(length)) for length in lengths])
    assert np.max(np.abs(batch - single)) <= 1e-11


def test_batch_over_initial_positions_agrees_with_single_runs():
    angles = jnp.linspace(0.2, 2.5, 4)
    positions = jnp.stack([jnp.sin(angles), -jnp.cos(angles)], axis=1)

    def run(q0):
        return da.simulate(Pendulum(), da.Rattle(), q0, jnp.zeros(2), t=(0.0, 2.0), h=0.02)

    batch = jax.jit(jax.vmap(lambda q0: (lambda one: (one.q, one.p))(run(q0))))(positions)
    single = [run(np.asarray(q0)) for q0 in positions]
    assert np.max(np.abs(batch[0] - np.stack([one.q for one in single]))) <= 1e-11
    assert np.max(np.abs(batch[1] - np.stack([one.p for one in single]))) <= 1e-11
