"""Numbers of a model are parameters: derivatives by them, and no new code for other values."""

import jax
import jax.numpy as jnp
import pytest

import dalembert as da
from dalembert.stepping import Family


def pendulum(mass, length, gain):
    model = da.Multibody(name="Arm")
    arm = model.body("arm", mass=mass, inertia=(0.1, 0.1, 0.02), com=(0, 0, -length))
    model.joint("hinge", model.ground, arm, da.Revolute("y"), at=(0, 0, 1))
    model.motor("hinge", lambda t, x: -x.gain * x.angle, gain=gain)
    return model.system("joints")


def test_other_values_are_of_the_same_family():
    assert Family(pendulum(1.0, 0.5, 2.0)) is Family(pendulum(1.5, 0.7, 3.0))


@pytest.mark.long
def test_derivatives_by_the_numbers_of_a_model(quick_xla):
    def angle(numbers):
        start = jnp.array([0.3]), jnp.array([0.0])
        return da.simulate(pendulum(*numbers), da.Rattle(), *start, t=(0, 0.03), h=0.01).q[-1, 0]

    numbers = jnp.array([1.0, 0.5, 2.0])
    slope = jax.grad(angle)(numbers)
    for k in range(3):
        small = jnp.zeros(3).at[k].set(1e-5)
        assert slope[k] == pytest.approx((angle(numbers + small) - angle(numbers - small)) / 2e-5, rel=1e-5)
