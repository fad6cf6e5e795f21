"""Equilibria, linear equations on the constraint manifold, and linear feedback."""

import jax.numpy as jnp
import numpy as np
import pytest
from control_systems import Blade, CartPole, CartPoleByAngle, Mass

import dalembert as da


def test_equilibria_of_a_pendulum_on_a_cart():
    hanging, standing = (da.equilibrium(CartPole(), [0.1, 0.2, y]) for y in (-0.4, 0.45))
    assert np.allclose(hanging.q[1:] - [hanging.q[0], 0.0], [0.0, -0.5])
    assert np.allclose(standing.q[1:] - [standing.q[0], 0.0], [0.0, 0.5])
    assert hanging.lam[0] == pytest.approx(0.3 * 9.81 / 0.5)  # lam * 0.5 = weight
    assert hanging.stability == "undecided"
    assert standing.stability == "unstable"
    damped = da.equilibrium(CartPole(friction_of_cart=1.0), [0.1, 0.2, -0.4])
    assert np.count_nonzero(damped.eigenvalues.real < -1e-3) == 3  # it may stand anywhere: one eigenvalue is zero


def test_redundant_and_minimal_coordinates_have_the_same_eigenvalues():
    bent = np.array([0.3 + 0.5 * np.sin(0.4), -0.5 * np.cos(0.4)])
    push = 2.0
    for y, angle in ((-0.5, 0.0), (0.5, np.pi)):
        here = da.linearise(CartPole(), [0.0, 0.0, y])
        other = da.linearise(CartPoleByAngle(), [0.0, angle])
        assert here.A.shape == (4, 4)
        assert np.allclose(np.poly(here.eigenvalues), np.poly(other.eigenvalues), atol=1e-9)
    # off an equilibrium and in motion: the tangent space turns, but what the inputs do is the same
    here = da.linearise(CartPole(), [0.3, *bent], u=[push])
    assert np.linalg.norm(here.B) > 0


def test_an_input_may_be_found():
    tilted = da.system(
        lambda t, q, v, slope: 0.5 * v @ v - slope * q[0] - 0.5 * q[1] ** 2,
        force=lambda t, q, v, u: jnp.array([u[0], 0.0]), inputs=("push",), slope=3.0,
    )  # fmt: skip
    found = da.equilibrium(tilted, [0.7, 0.2], free=("push",))
    assert np.allclose(found.u, 3.0)
    assert np.allclose(found.q, [0.7, 0.0])
    with pytest.raises(
        da.StepFailure, match=r"none was found next to the guess; the balance of forces of .* stays at 3"
    ):
        da.equilibrium(tilted, [0.7, 0.2])


def test_a_skate_has_the_dimension_of_its_manifold():
    linear = da.linearise(Blade(), [0.0, 0.0, 0.3], [np.cos(0.3), np.sin(0.3), 0.0])
    assert linear.A.shape == (5, 5)
    assert linear.B.shape == (5, 2)
    resting = da.equilibrium(Blade(), [0.0, 0.0, 0.3])
    assert resting.psi == pytest.approx(0.0)


@pytest.mark.parametrize("method", [da.Rattle(), da.Galerkin(2), da.gauss_spark(2)])
def test_the_map_of_a_step_is_that_of_the_method(method):
    h, start, velocity = 0.01, [0.1, 0.1, -0.5], [0.3, 0.2, 0.0]
    linear = da.linearise(CartPole(), start, velocity, u=[1.0], method=method, h=h)
    epsilon, sim = 1e-6, da.Stepper(CartPole(), method, h, start, velocity)
    for j in range(4):
        ends = []
        for sign in (1, -1):
            q, v = np.split(np.concatenate([start, velocity]) + sign * epsilon * linear.T[:, j], 2)
            moved = da.consistent(CartPole(), q, v)
            sim.reset(np.asarray(moved.q), np.asarray(moved.v))
            end = sim.step([1.0])
            ends.append(np.concatenate([end.q, end.v]))
        column = (ends[0] - ends[1]) / (2 * epsilon)
        assert np.linalg.norm(column) == pytest.approx(np.linalg.norm(linear.A[:, j]), rel=1e-5)


def test_eigenvalues_of_steps_are_exponentials():
    here = da.linearise(CartPole(), [0.0, 0.0, 0.5])
    steps = da.linearise(CartPole(), [0.0, 0.0, 0.5], method=da.Galerkin(3), h=0.01)
    assert np.log(steps.eigenvalues[0].real) / 0.01 == pytest.approx(here.eigenvalues[0].real, rel=1e-8)
    assert steps.stability == "unstable"


def test_feedback_of_a_double_integrator_is_that_of_the_textbook():
    found = da.lqr(da.linearise(Mass(), [0.0]), [1.0, 0.0], 1.0)
    assert np.allclose(found.gain, [[1.0, np.sqrt(2.0)]])


def test_feedback_keeps_a_pole_upright():
    upright = da.equilibrium(CartPole(), [0.0, 0.0, 0.5])
    law = da.lqr(upright, [1, 1, 1, 0.1, 0.1, 0.1], 0.1)
    assert np.max(law.eigenvalues.real) < -0.5
    q0 = da.consistent(CartPole(), [0.2, 0.3, 0.48], [0.0, 0.0, 0.0]).q
    run = da.simulate(CartPole(), da.Rattle(), q0, [0.0] * 3, t=(0.0, 8.0), h=0.01, control=da.Sampled(law, 0.02))
    assert np.allclose(run.q[-1], upright.q, atol=1e-3)


def test_feedback_along_a_run_brings_a_disturbed_motion_back():
    push = 3.0 * np.cos(0.02 * np.arange(200))
    run = da.simulate(CartPole(), da.Rattle(), [0.0, 0.0, 0.5], [0.0] * 3, t=(0.0, 2.0), h=0.01, control=push)
    law = da.lqr(run, [10, 10, 10, 1, 1, 1], 0.01)
    other = da.consistent(CartPole(), [0.02, 0.04, 0.5], [0.0] * 3)
    open_loop = da.simulate(CartPole(), da.Rattle(), other.q, other.v, t=(0.0, 2.0), h=0.01, control=push)
    closed = da.simulate(
        CartPole(), da.Rattle(), other.q, other.v, t=(0.0, 2.0), h=0.01,
        control=lambda t, q, v: np.clip(law(t, q, v), -20, 20),
    )  # fmt: skip
    assert np.max(np.abs(closed.q[-1] - run.q[-1])) < 0.01
    assert np.max(np.abs(open_loop.q[-1] - run.q[-1])) > 0.1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: da.equilibrium(CartPole(), [[0.0]]), r"guess must have shape \(n,\)"),
        (lambda: da.equilibrium(CartPole(), [0.0, 0.0, 0.5], free="push"), "free must be a sequence of names"),
        (lambda: da.linearise(CartPole(), [0.0, 0.0, 0.6]), "the state violates a constraint"),
        (lambda: da.linearise(CartPole(), [0.0, 0.0, 0.5], method=da.Rattle()), "give method and h together"),
        (lambda: da.lqr(3, 1.0, 1.0), "about must be what da.linearise"),
        (lambda: da.lqr(da.linearise(Mass(), [0.0]), 1.0, 0.0), "input_weight must be positive definite"),
        (lambda: da.lqr(da.linearise(da.gallery.Pendulum(), [0.0, -1.0]), 1.0, 1.0), "needs a system with inputs"),
        (lambda: da.lqr(da.equilibrium(Blade(), [0.0, 0.0, 0.0]), 1.0, 1.0), "the inputs cannot move the mode"),
    ],
)
def test_what_cannot_be_is_refused(call, message):
    with pytest.raises((da.InputError, da.ModelError), match=message):
        call()
