"""Plans with contacts that close and open: impacts between phases, forces that push, gaits that repeat."""

import importlib.util
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
import pytest
from control_systems import Mass

import dalembert as da

pytestmark = pytest.mark.skipif(importlib.util.find_spec("ipyopt") is None, reason="needs the extra control")
GRAVITY = 9.81


class Hopper(da.System):
    """A body of 1 kg and a foot of 0.1 kg above each other, a spring and a motor between them."""

    stiffness: float = 100.0
    inputs: ClassVar = {"push": da.Input(lower=-30.0, upper=30.0)}

    def lagrangian(self, t, q, v):
        stretched = q[0] - q[1] - 0.5
        kinetic = 0.5 * v[0] ** 2 + 0.05 * v[1] ** 2
        return kinetic - GRAVITY * (q[0] + 0.1 * q[1]) - 0.5 * self.stiffness * stretched**2

    def gap(self, t, q):
        return q[1:]

    def force(self, t, q, v, u):
        return jnp.array([u[0], -u[0]])


class Ball(da.System):
    """A ball of 2 kg that cannot roll on rough ground, with a wheel inside it; q = (x, y, angle of the wheel)."""

    friction: float = 0.5
    inputs: ClassVar = ("turn",)

    def lagrangian(self, t, q, v):
        return v[:2] @ v[:2] + 0.5 * v[2] ** 2 - 2 * GRAVITY * q[1]

    def gap(self, t, q):
        return q[1:2]

    def tangent(self, t, q):
        return jnp.array([[1.0, 0.0, 0.0]])

    def force(self, t, q, v, u):
        return jnp.array([0.0, 0.0, u[0]])


def effort(t, q, v, u):
    return u @ u


def hop(start=(0.4, 0.0), velocity=(0.0, 0.0), guess=None):
    N = 8
    phases = [da.Phase(N, (0.1, 1.0), closed=(0,)), da.Phase(N, (0.1, 1.0)), da.Phase(N, (0.1, 1.0), closed=(0,))]
    if guess is None:
        s = np.linspace(0.0, 1.0, N + 1)[:, None]
        up, top = np.array([0.55, 0.0]), np.array([0.0, 0.1])
        guess = [start + s * (up - start), up + 4 * s * (1 - s) * (top + top[::-1]), up + s * ([0.4, 0.0] - up)]
    return da.optimal_control(
        Hopper(), da.Rattle(), (start, velocity), ([0.4, 0.0], [0.0, 0.0]), phases=phases, cost=effort, guess=guess
    )  # fmt: skip


@pytest.fixture(scope="module")
def hopping():
    return hop()


def landing(speed):
    """A ball that falls from 0.8 m, with this speed along the ground."""
    phases = [da.Phase(4, (0.1, 2.0)), da.Phase(3, 0.5, closed=(0,))]
    s = np.linspace(0.0, 1.0, 8)
    path = np.stack([0 * s, np.maximum(0.8 - 1.6 * s, 0.0), 0 * s], axis=1)
    return da.optimal_control(
        Ball(), da.gauss_spark(1), ([0.0, 0.8, 0.0], [speed, 0.0, 0.0]), phases=phases, cost=effort, guess=path
    )


def test_a_ball_that_falls_and_stays():
    """It lands after sqrt(2 h / g) with the impulse m sqrt(2 g h), and sticks."""
    plan, fall = landing(1.0), np.sqrt(2 * 0.8 / GRAVITY)
    assert plan.phases[0].horizon == pytest.approx(fall, rel=1e-9)
    assert plan.impacts[1, 0, 0] == pytest.approx(2 * GRAVITY * fall, rel=1e-9)
    assert plan.impacts[1, 0, 1] == pytest.approx(-2.0, rel=1e-9)  # it came with 1 m/s along the ground
    assert np.max(np.abs(plan.control.values)) < 1e-6
    assert np.allclose(plan.phases[1].v, 0.0, atol=1e-6)
    assert np.allclose(plan.impulse[5:, 0, 0], 2 * GRAVITY * plan.phases[1].h)  # what carries its weight
    assert plan.horizon == pytest.approx(fall + 0.5)


def test_friction_bounds_the_impact():
    """With 5 m/s along the ground it would slide: m 5 > mu m sqrt(2 g h)."""
    with pytest.raises(da.StepFailure, match="impulse of a contact where phase 1 begins"):
        landing(5.0)


def test_a_hop_keeps_to_its_phases(hopping):
    plan, (stand, fly, land) = hopping, hopping.phases
    assert np.max(np.abs(plan.q[:9, 1])) < 1e-14
    assert np.max(np.abs(plan.q[16:, 1])) < 1e-14
    assert np.min(plan.q[9:16, 1]) > 0
    assert np.min(plan.impulse) > -1e-9
    assert plan.stats["defect"] < 1e-12
    assert plan.t[-1] == pytest.approx(stand.horizon + fly.horizon + land.horizon, rel=1e-12)
    assert np.all(np.diff(plan.t) > 0)
    # the impact changes the momentum of the foot, and nothing else
    assert np.allclose(land.q[0], fly.q[-1], atol=1e-14)
    assert np.allclose(land.p[0] - fly.p[-1], [0.0, plan.impacts[2, 0, 0]], atol=1e-12)
    assert land.v[0, 1] == pytest.approx(0.0, abs=1e-12)
    for phase in plan.phases:
        again = da.simulate(
            phase.system, da.Rattle(), phase.q[0], phase.v[0], t=(phase.t[0], phase.t[-1]), h=phase.h,
            control=phase.control,
        )  # fmt: skip
        assert np.max(np.abs(again.q - phase.q)) < 1e-10


def test_the_costate_is_the_slope_of_the_cost_across_phases(hopping):
    epsilon = 1e-5
    costs = [hop(velocity=(sign * epsilon, 0.0), guess=hopping).cost for sign in (1, -1)]
    assert (costs[0] - costs[1]) / (2 * epsilon) == pytest.approx(hopping.costate[0, 2], rel=1e-6)
    costs = [hop(start=(0.4 + sign * epsilon, 0.0), guess=hopping).cost for sign in (1, -1)]
    assert (costs[0] - costs[1]) / (2 * epsilon) == pytest.approx(hopping.costate[0, 0], rel=1e-6)


class Compass(da.System):
    """Two legs of 1 m with 5 kg in the middle of each, 20 kg at the hip; q = (x and y of the hip, two angles)."""

    inputs: ClassVar = ("hip",)
    friction = 1.0

    def lagrangian(self, t, q, v):
        middle = v[:2] + 0.5 * v[2:, None] * jnp.stack([jnp.cos(q[2:]), jnp.sin(q[2:])], axis=1)
        return 10 * v[:2] @ v[:2] + 2.5 * jnp.sum(middle**2) - GRAVITY * (30 * q[1] - 2.5 * jnp.sum(jnp.cos(q[2:])))

    def gap(self, t, q):
        return q[1] - jnp.cos(q[2:])

    def tangent(self, t, q):
        return jnp.concatenate([jnp.tile(jnp.array([1.0, 0.0]), (2, 1)), jnp.diag(jnp.cos(q[2:]))], axis=1)

    def force(self, t, q, v, u):
        return jnp.array([0.0, 0.0, u[0], -u[0]])


def change_legs(q, v):
    order = jnp.array([0, 1, 3, 2])
    return q[order].at[0].set(-jnp.sin(q[3])), v[order]


def test_a_gait_repeats_itself():
    N, lean = 8, 0.2
    s = np.linspace(-1.0, 1.0, N + 1)[:, None]
    guess = np.concatenate([np.sin(lean * s), np.cos(lean * s), -lean * s, lean * s], axis=1)
    plan = da.optimal_control(
        Compass(), da.gauss_spark(2), phases=[da.Phase(N, (0.3, 1.5), closed=(0,), ignored=(1,))], guess=guess,
        periodic=change_legs, end=lambda t, q, v: q[3] - lean, cost=effort,
    )  # fmt: skip
    first, last = plan.q[0], plan.q[-1]
    returned = change_legs(jnp.asarray(last), plan.v[-1])
    assert np.allclose(returned[0], first, atol=1e-12)
    assert last[0] - first[0] == pytest.approx(2 * np.sin(lean), rel=1e-4)  # a stride; rolling feet drift by h^4
    # the impact: the foot that lands comes to rest, by impulses of its own, and energy is lost
    here = da.consistent(plan.phases[0].system, first, plan.v[0])
    assert here.moved_v < 1e-10
    before = da.consistent(da.system(Compass().lagrangian), first, returned[1])
    normal, along = plan.impacts[0, 0]
    row = np.concatenate([np.asarray(Compass().tangent(0.0, first))[0], [0.0, 1.0, np.sin(first[2]), 0.0]])
    assert np.allclose(plan.p[0] - np.asarray(before.p), along * row[:4] + normal * row[4:], atol=1e-9)
    assert normal > 0
    assert abs(along) < normal


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"phases": []}, da.InputError, "phases must be a list of da.Phase"),
        ({"phases": [3]}, da.InputError, "phases must be a list of da.Phase"),
        ({"phases": [da.Phase(3, 1.0)], "horizon": 2.0}, da.InputError, "horizon and steps are those of each"),
        ({"phases": [da.Phase(3, 1.0, closed=(4,))]}, da.InputError, "has 1 contacts"),
        ({"guess": [np.zeros((4, 2))]}, da.InputError, "one entry for each of the 2 phases"),
        ({"guess": np.zeros((4, 2))}, da.InputError, "each of the 7 states"),
        ({"guess": None}, da.InputError, "phases need a guess"),
        ({"periodic": True}, da.InputError, "a periodic plan finds its start"),
        ({"periodic": lambda q: q, "start": None}, da.InputError, r"must take \(q, v\)"),
        ({"periodic": lambda q, v: (q[:1], v), "start": None}, da.ModelError, "must return a pair"),
    ],
)
def test_what_is_wrong_is_said(change, kind, message):
    asked = {"start": ([0.4, 0.0], [0.0, 0.0]), "cost": effort, "guess": np.zeros((7, 2))}
    phases = [da.Phase(3, 1.0, closed=(0,)), da.Phase(3, 1.0)]
    with pytest.raises(kind, match=message):
        da.optimal_control(Hopper(), da.Rattle(), **({"phases": phases} | asked | change))


@pytest.mark.parametrize("arguments", [{"closed": 3}, {"closed": (-1,)}, {"closed": (0, 0)}, {"steps": 0}])
def test_wrong_phases_are_refused(arguments):
    with pytest.raises(da.InputError):
        da.Phase(**({"steps": 3, "horizon": 1.0} | arguments))


def test_contacts_without_phases_are_refused():
    ball = da.gallery.BouncingBall()
    start = ball.start()
    with pytest.raises(da.MethodDoesNotFit, match=r"da\.Phase"):
        da.optimal_control(ball, da.Rattle(), (start.q0, start.v0), None, horizon=1.0, steps=5)


def test_phases_of_a_system_without_contacts_are_one_plan():
    """Two halves of one motion cost what the whole costs."""
    ends = ([0.0], [0.0]), ([1.0], [0.0])
    whole = da.optimal_control(Mass(), da.Galerkin(2), *ends, horizon=2.0, steps=8, cost=effort)
    halves = [da.Phase(4, 1.0), da.Phase(4, 1.0)]
    parts = da.optimal_control(Mass(), da.Galerkin(2), *ends, phases=halves, cost=effort)
    assert parts.cost == pytest.approx(whole.cost, rel=1e-12)
    assert np.allclose(parts.q, whole.q, atol=1e-12)
    assert np.allclose(parts.costate, whole.costate, atol=1e-9)
