"""Optimal control against closed solutions, its costates, and what it says where there is no plan."""

import importlib.util

import jax.numpy as jnp
import numpy as np
import pytest
from control_systems import Blade, CartPole, Mass
from scipy.special import ellipk

import dalembert as da
from dalembert.control.linearise import tangent_space
from dalembert.control.step_maps import step_maps

ipopt = pytest.mark.skipif(importlib.util.find_spec("ipyopt") is None, reason="needs the extra control")
METHODS = [(da.Rattle(), 2), (da.Galerkin(2), 4), (da.Galerkin(3), 6)]


def effort(t, q, v, u):
    return 0.5 * u @ u


class Ring(da.System):
    """A bead on a ring in the plane, under gravity; it is pushed along the ring."""

    inputs = ("push",)

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 9.81 * q[1]

    def holonomic(self, t, q):
        return 0.5 * (q @ q - 1.0)

    def force(self, t, q, v, u):
        return u[0] * jnp.array([-q[1], q[0]])


class FreeCart(CartPole):
    """Without bounds of the push."""

    inputs = ("push",)


def slope(errors, steps):
    return -np.polyfit(np.log(steps), np.log(errors), 1)[0]


@pytest.mark.parametrize(("method", "order"), METHODS)
def test_orders_with_a_constraint(method, order):
    """A bead on a ring with cost phi''^2 / 2: phi is a cubic, the costate of phi' is -phi''."""
    steps, errors, angle = (8, 16, 32), [], 2.5
    goal = np.array([np.sin(angle), -np.cos(angle)])

    def cost(t, q, v, u):
        return 0.5 * (u[0] - 9.81 * q[0]) ** 2

    for count in steps:
        plan = da.optimal_control(
            Ring(), method, ([0.0, -1.0], [0.0, 0.0]), (goal, [0.0, 0.0]), horizon=1.0, steps=count, cost=cost
        )
        s = plan.t
        phi, bent = angle * (3 * s**2 - 2 * s**3), angle * (6 - 12 * s)
        right = np.stack([np.sin(phi), -np.cos(phi)], axis=1)
        along = np.stack([np.cos(phi), np.sin(phi)], axis=1)
        errors.append([
            np.max(np.abs(plan.q - right)), np.max(np.abs(np.sum(plan.costate[:, 2:] * along, axis=1) + bent)),
            abs(plan.cost - 6 * angle**2),
        ])  # fmt: skip
        assert np.max(plan.constraint) < 1e-13
        assert np.max(plan.hidden) < 1e-11
    of_q, of_costate, of_cost = np.array(errors).T
    assert slope(of_q, steps) > order - 0.2
    assert slope(of_costate, steps) > order - 0.2
    assert slope(of_cost, steps) > order - 0.2


def test_a_free_horizon_is_the_best_one():
    """Rest to rest over the distance 1 with the cost T + 6 / T^3."""
    best = 18.0**0.25
    plan = da.optimal_control(
        Mass(), da.Galerkin(2), ([0.0], [0.0]), ([1.0], [0.0]), horizon=(0.1, np.inf), steps=8,
        cost=lambda t, q, v, u: 1.0 + 0.5 * u @ u,
    )  # fmt: skip
    assert plan.horizon == pytest.approx(best, rel=1e-10)
    assert plan.cost == pytest.approx(best + 6 / best**3, rel=1e-12)


def test_the_costate_satisfies_the_adjoint_equations():
    """a_k = h cost_x + A_k^T a_(k+1), with the derivative A_k of the step, on the tangent spaces."""
    system, method, steps = Ring(), da.Rattle(), 10
    goal = np.array([np.sin(1.0), -np.cos(1.0)])
    plan = da.optimal_control(
        system, method, ([0.0, -1.0], [0.0, 0.0]), (goal, None), horizon=1.0, steps=steps, cost=effort
    )
    maps = step_maps(system, method, plan.t[:-1], plan.q[:-1], plan.v[:-1], plan.u[1:], plan.h)
    for k in range(steps):
        basis = tangent_space(system, None, plan.t[k], plan.q[k], plan.v[k])
        before = basis.T @ maps.by_state[k].T @ plan.costate[k + 1]
        assert np.allclose(before, basis.T @ plan.costate[k], atol=1e-9 * np.max(np.abs(plan.costate)))
    # the input balances its cost and what it does to the state
    balance = plan.h * plan.u[1:] + np.einsum("kij,ki->kj", maps.by_input, plan.costate[1:])
    assert np.max(np.abs(balance)) < 1e-10
    along = np.array([-plan.q[-1, 1], plan.q[-1, 0]])  # the velocity at the end is free along the ring
    assert abs(along @ plan.costate[-1, 2:]) < 1e-9


def test_momentum_changes_by_the_impulse_of_the_inputs():
    """Cart and bob are pushed from outside by u alone; `simulate` repeats the motion."""
    method, steps = da.Galerkin(2), 10
    plan = da.optimal_control(
        FreeCart(), method, ([0.0, 0.0, -0.5], np.zeros(3)), ([0.3, 0.3, -0.5], np.zeros(3)), horizon=2.0,
        steps=steps, cost=effort,
    )  # fmt: skip
    impulse = plan.h * np.einsum("i,kij->kj", [0.5, 0.5], plan.control.values)[:, 0]
    assert np.allclose(np.diff(plan.p[:, 0] + plan.p[:, 1]), impulse, atol=1e-12)
    assert np.allclose(plan.q[-1], [0.3, 0.3, -0.5], atol=1e-10)
    again = da.simulate(FreeCart(), method, plan.q[0], plan.v[0], t=(0.0, 2.0), h=2.0 / steps, control=plan.control)
    assert np.max(np.abs(again.q - plan.q)) < 1e-11
    assert np.allclose(again.u, plan.u)


@pytest.mark.parametrize(("method", "order"), METHODS[:2])
def test_energy_changes_by_the_work_of_the_inputs(method, order):
    """With the order of the method: work is the integral of push times the velocity of the cart."""
    steps, defects = (10, 20, 40), []
    for count in steps:
        plan = da.optimal_control(
            FreeCart(), method, ([0.0, 0.0, -0.5], np.zeros(3)), ([0.3, 0.3, -0.5], np.zeros(3)), horizon=2.0,
            steps=count, cost=effort,
        )  # fmt: skip
        points = np.array(plan.control.points) if order > 2 else np.array([0.5])
        inside = plan.interpolate((plan.t[:-1, None] + plan.h * points).ravel()).v[:, 0].reshape(count, -1)
        work = plan.h * np.mean(plan.control.values[:, :, 0] * inside, axis=1)  # equal weights, one or two nodes
        defects.append(np.max(np.abs(plan.energy[1:] - plan.energy[0] - np.cumsum(work))))
    assert slope(defects, steps) > order - 0.2
    assert defects[-1] < 1e-3


@ipopt
def test_swing_up_of_a_pendulum_on_a_cart():
    """The minimum that others found, with bounds of the push that hold in the second run."""
    s = np.linspace(0.0, 1.0, 51)
    angle = np.pi * s**2 - 0.5 * np.sin(np.pi * s)
    guess = np.stack([s, s + 0.5 * np.sin(angle), -0.5 * np.cos(angle)], axis=1)
    asked = {"horizon": 2.0, "steps": 50, "cost": lambda t, q, v, u: u @ u}
    ends = ([0.0, 0.0, -0.5], np.zeros(3)), ([1.0, 1.0, 0.5], np.zeros(3))
    plan = da.optimal_control(CartPole(), da.Rattle(), *ends, guess=guess, **asked)
    assert plan.cost == pytest.approx(58.004604, abs=1e-5)
    assert np.max(plan.constraint) < 1e-14
    most = 0.8 * np.max(plan.control.values)
    narrow = da.optimal_control(
        CartPole(), da.Rattle(), *ends, guess=plan, **asked, path=lambda t, q, v, u: most - u[0]
    )
    assert narrow.cost > plan.cost + 0.01
    assert np.max(narrow.control.values) < most + 1e-7
    again = da.optimal_control(CartPole(), da.Rattle(), *ends, guess=plan, **asked)
    assert again.stats["iterations"] < plan.stats["iterations"] / 3
    assert again.cost == pytest.approx(plan.cost, rel=1e-9)


@ipopt
def test_shortest_time_is_bang_bang():
    class Pushed(Mass):
        inputs = {"push": da.Input(lower=-1.0, upper=1.0)}  # noqa: RUF012

    plan = da.optimal_control(
        Pushed(), da.Rattle(), ([0.0], [0.0]), ([1.0], [0.0]), horizon=(0.5, 5.0), steps=20,
        final=lambda t, q, v: t, bounds={"v": (-2.0, 2.0)},
    )  # fmt: skip
    assert plan.horizon == pytest.approx(2.0, abs=1e-6)
    assert np.allclose(plan.control.values[:10], 1.0, atol=1e-5)
    assert np.allclose(plan.control.values[10:], -1.0, atol=1e-5)


def test_a_periodic_orbit_has_the_period_of_the_pendulum():
    system, amplitude = da.gallery.Pendulum(length=1.0, gravity=1.0), 2.0
    q0 = np.array([np.sin(amplitude), -np.cos(amplitude)])
    near = da.simulate(system, da.Galerkin(3), q0, [0.0, 0.0], t=(0.0, 8.0), h=0.1)
    plan = da.optimal_control(
        system, da.Galerkin(3), start=lambda t, q, v: jnp.stack([q[0] - q0[0], v[0]]), periodic=True,
        horizon=(1.0, np.inf), steps=40, guess=near,
    )  # fmt: skip
    exact = 4 * ellipk(np.sin(amplitude / 2) ** 2)
    assert plan.horizon == pytest.approx(exact, rel=1e-6)
    assert np.allclose(plan.q[-1], plan.q[0], atol=1e-10)


def test_a_runner_that_parks():
    """Sideways by one metre, against the nonholonomic constraint."""
    s = np.linspace(0.0, 1.0, 21)
    guess = np.stack([0.7 * np.sin(np.pi * s), s, 1.2 * np.sin(np.pi * s)], axis=1)
    plan = da.optimal_control(
        Blade(), da.gauss_spark(2), (np.zeros(3), np.zeros(3)), ([0.0, 1.0, 0.0], np.zeros(3)), horizon=4.0,
        steps=20, cost=effort, guess=guess,
    )  # fmt: skip
    assert np.allclose(plan.q[-1], [0.0, 1.0, 0.0], atol=1e-9)
    assert np.max(plan.hidden) < 1e-10


REST = ([0.0], [0.0]), ([1.0], [0.0])


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"cost": lambda t, q, v, u: jnp.zeros(2)}, da.ModelError, r"cost\(t, q, v, u\) must return one number"),
        ({"cost": lambda t, q, v, u: jnp.log(q[0] - 5.0)}, da.InputError, "not finite along the guess"),
        ({"cost": lambda t, q, v, u: u[3] @ q}, da.ModelError, "cost"),
        ({"cost": lambda q: q @ q}, da.InputError, "must be a function of"),
        ({"end": ([1.0, 2.0], None)}, da.InputError, "same number of coordinates"),
        ({"end": [1.0]}, da.InputError, "must be a pair"),
        ({"horizon": -1.0}, da.InputError, "horizon"),
        ({"horizon": (2.0, 1.0)}, da.InputError, "least < greatest"),
        ({"steps": 0}, da.InputError, "steps"),
        ({"periodic": (4,)}, da.InputError, "periodic"),
        ({"bounds": {"x": (0, 1)}}, da.InputError, "bounds"),
        ({"guess": np.zeros((3, 1))}, da.InputError, "guess must hold a position"),
        ({"points": (0.5, 0.5)}, da.InputError, "points"),
        ({"solver": "magic"}, da.InputError, "solver"),
    ],
)
def test_what_is_wrong_is_said(change, kind, message):
    asked = {"start": REST[0], "end": REST[1], "horizon": 1.0, "steps": 4, "cost": effort} | change
    with pytest.raises(kind, match=message):
        da.optimal_control(Mass(), da.Rattle(), **asked)


def test_what_cannot_be_reached_is_named():
    """Both ends of a pendulum without inputs are out of reach; the end lies off the ring."""
    with pytest.raises(da.InconsistentStart, match="the end violates the constraints"):
        da.optimal_control(
            Ring(), da.Rattle(), ([0.0, -1.0], [0.0, 0.0]), ([2.0, 0.0], None), horizon=1.0, steps=5, cost=effort
        )
    still = da.gallery.HarmonicOscillator()
    n = len(still.start().q0)

    class Weak(Mass):
        inputs = {"push": da.Input(lower=-0.1, upper=0.1)}  # noqa: RUF012

    if importlib.util.find_spec("ipyopt") is not None:
        with pytest.raises(da.StepFailure, match="the bound of the input push in step"):
            da.optimal_control(Weak(), da.Rattle(), ([0.0], [0.0]), ([1.0], [0.0]), horizon=1.0, steps=5, cost=effort)
    with pytest.raises(da.StepFailure, match=r"q\[0\] at the end"):
        da.optimal_control(
            still, da.Rattle(), (np.zeros(n), np.zeros(n)), (np.ones(n), None), horizon=1.0, steps=5, cost=effort
        )


def test_a_cost_without_a_minimum_is_refused():
    with pytest.raises(da.StepFailure, match="cost"):
        da.optimal_control(
            Mass(), da.Rattle(), ([0.0], [0.0]), None, horizon=1.0, steps=5, cost=lambda t, q, v, u: -u @ u
        )


def test_contacts_are_refused():
    ball = da.gallery.BouncingBall()
    start = ball.start()
    with pytest.raises(da.MethodDoesNotFit, match="contacts"):
        da.optimal_control(ball, da.MoreauJean(), (start.q0, start.v0), None, horizon=1.0, steps=5)
