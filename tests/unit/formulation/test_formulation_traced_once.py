"""What a system's functions say is traced once in a call, and anew for other equations."""

import sys
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np

import dalembert as da
from dalembert.formulation import mechanics_of
from dalembert.problem import prepared


class Swinging(da.System):
    """A pendulum in space, whose mass is a parameter."""

    mass: float = 1.0

    def lagrangian(self, t, q, v):
        return 0.5 * self.mass * (v @ v) - 9.81 * self.mass * q[2]

    def holonomic(self, t, q):
        return 0.5 * (q @ q - 1.0)


def calls_of(function):
    """How often Python enters the functions of `Swinging`. (A counter that they read would make them others.)"""
    codes = {Swinging.lagrangian.__code__: "lagrangian", Swinging.holonomic.__code__: "holonomic"}
    found: Counter = Counter()

    def count(frame, event, _):
        if event == "call" and frame.f_code in codes:
            found[codes[frame.f_code]] += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(before)
    return found


def swing(system, method=None, **options):
    return da.simulate(system, method or da.Rattle(), [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], t=(0, 0.1), h=0.01, **options)


def test_a_first_call_enters_the_functions_of_a_system_a_few_times():
    found = calls_of(lambda: swing(Swinging()))
    assert 1 <= found["lagrangian"] <= 3  # itself, its gradients
    assert 1 <= found["holonomic"] <= 5  # itself, its derivatives along the motion and across it


def test_another_method_and_another_parameter_enter_them_no_more():
    swing(Swinging())
    assert calls_of(lambda: swing(Swinging(mass=2.0), da.Galerkin(2)))["lagrangian"] == 0


def test_parameters_and_points_are_arguments_of_what_was_traced():
    t, q, v = 0.0, jnp.array([0.6, 0.0, -0.8]), jnp.array([1.0, 2.0, 3.0])

    def of(mass):
        return mechanics_of(prepared(Swinging(mass=mass)))

    gradients = jax.jit(lambda mass, q: of(mass).gradients(t, q, v))
    for mass in (1.0, 2.5):
        by_q, by_v = gradients(mass, q)
        np.testing.assert_allclose(by_v, mass * v, rtol=1e-15)
        np.testing.assert_allclose(by_q, [0.0, 0.0, -9.81 * mass], rtol=1e-15)
    for where in (q, 2.0 * q):
        by_mass = jax.grad(lambda mass, where=where: of(mass).energy(t, where, v, v))(3.0)
        np.testing.assert_allclose(by_mass, 7.0 + 9.81 * where[2], rtol=1e-15)
    several = jax.vmap(lambda mass, q: of(mass).constraint(t, q))(jnp.ones(2), jnp.stack([q, 2.0 * q]))
    np.testing.assert_allclose(several, [[0.0], [1.5]], atol=1e-15)


def test_nothing_that_was_traced_is_left_behind():
    def energy(mass):
        return jnp.sum(mechanics_of(Swinging(mass=mass)).energy(0.0, *jnp.ones((3, 3))))

    with jax.checking_leaks():
        np.testing.assert_allclose(jax.grad(energy)(2.0), 1.5 + 9.81, rtol=1e-15)
    np.testing.assert_allclose(jax.grad(energy)(3.0), 1.5 + 9.81, rtol=1e-15)
