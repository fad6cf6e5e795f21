"""Steps one by one: the same bits as a run, inputs that change, batches, snapshots, refusals."""

from typing import ClassVar

import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da


class Crane(da.System):
    """A pendulum in the plane on a cart that is pushed."""

    mass: float = 0.3
    inputs: ClassVar = {"push": da.Input(lower=-20.0, upper=20.0)}

    def lagrangian(self, t, q, v):
        return 0.5 * v[0] ** 2 + 0.5 * self.mass * (v[1] ** 2 + v[2] ** 2) - 9.81 * self.mass * q[2]

    def holonomic(self, t, q):
        return (q[1] - q[0]) ** 2 + q[2] ** 2 - 0.25

    def force(self, t, q, v, u):
        return jnp.array([u[0], 0.0, 0.0])


HANGING, REST = [0.0, 0.0, -0.5], [0.0, 0.0, 0.0]


def stepper(**options):
    return da.Stepper(Crane(), da.Rattle(), 0.01, HANGING, REST, **options)


def test_steps_are_those_of_a_run():
    start = [0.0, 0.5, 0.0]
    run = da.simulate(Crane(), da.Rattle(), start, REST, t=(0.0, 1.0), h=0.01)
    sim = da.Stepper(Crane(), da.Rattle(), 0.01, start, REST)
    states = [sim.step() for _ in range(100)]
    assert np.allclose([state.q for state in states], run.q[1:], rtol=0, atol=1e-13)
    assert np.allclose(sim.rates().lam, run.lam[-1], rtol=1e-12)


def test_a_constant_input_is_a_constant_force():
    sim, weights = stepper(), {"push": 3.0}
    pushed = da.system(
        lambda t, q, v, push: Crane().lagrangian(t, q, v) + push * q[0], holonomic=Crane().holonomic, **weights
    )
    run = da.simulate(pushed, da.Rattle(), HANGING, REST, t=(0.0, 0.5), h=0.01)
    assert np.allclose(sim.step([3.0], 50).q, run.q[-1], atol=1e-13)
    assert sim.step(steps=5).t == pytest.approx(0.55)  # the input stays


def test_an_input_may_be_a_line_in_every_step():
    sim, h = stepper(points=(0.0, 1.0)), 0.01
    by_time = da.system(
        lambda t, q, v: Crane().lagrangian(t, q, v) + 4.0 * t * q[0], holonomic=Crane().holonomic
    )  # fmt: skip
    run = da.simulate(by_time, da.Rattle(), HANGING, REST, t=(0.0, 0.3), h=h)
    for k in range(30):
        state = sim.step([[4.0 * k * h], [4.0 * (k + 1) * h]])
    assert np.allclose(state.q, run.q[-1], atol=1e-13)


@pytest.mark.parametrize("method", [da.Rattle(), da.Galerkin(2), da.Composition(da.Rattle(), "yoshida4")])
def test_a_snapshot_brings_back_every_bit(method):
    sim = da.Stepper(Crane(), method, 0.01, HANGING, REST)
    sim.step([1.0], 37)
    moment = sim.snapshot()
    there = sim.step([2.0], 20)
    sim.reset()
    sim.restore(moment)
    assert sim.t == pytest.approx(0.37)
    again = sim.step([2.0], 20)
    assert np.array_equal(there.q, again.q)
    assert np.array_equal(there.p, again.p)


def test_members_of_a_batch_go_their_own_ways():
    angles = np.linspace(-1.0, 1.0, 11)
    q = np.stack([0 * angles, 0.5 * np.sin(angles), -0.5 * np.cos(angles)], axis=1)
    pushes = np.linspace(-2.0, 2.0, 11)[:, None]
    sim = da.Stepper(Crane(), da.Rattle(), 0.01, q, 0 * q)
    state, moment = sim.step(pushes, 50), sim.snapshot()
    for k in (0, 3, 10):
        alone = da.Stepper(Crane(), da.Rattle(), 0.01, q[k], REST)
        assert np.allclose(state.q[k], alone.step(pushes[k], 50).q, atol=1e-13)
        assert np.allclose(sim.rates().lam[k], alone.rates().lam, atol=1e-11)
    first = sim.step(0.5 * pushes, 10).q
    sim.restore(moment)
    assert np.array_equal(first, sim.step(0.5 * pushes, 10).q)
    there = sim.restart([4], q[:1], 0 * q[:1])
    assert np.array_equal(there.q[4], q[0])
    assert np.allclose(sim.step(pushes[0], 5).q[4], da.Stepper(Crane(), da.Rattle(), 0.01, q[0], REST)
                       .step(pushes[0], 5).q, atol=1e-13)  # fmt: skip


class Fuse(da.System):
    """A mass that is pushed towards where its potential ends."""

    inputs = ("push",)

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - jnp.sum(jnp.sqrt(1.0 - q**2))

    def force(self, t, q, v, u):
        return u


def test_a_step_that_fails_leaves_the_state_before_it():
    sim = da.Stepper(Fuse(), da.Rattle(), 0.1, [0.0], [0.0])
    before = sim.step([0.1])
    with pytest.raises(da.StepFailure, match=r"step 2 \(from t = 0.1, h = 0.1\) failed"):
        sim.step([1e4])
    assert np.array_equal(sim.state.q, before.q)
    assert sim.step([0.1]).t == pytest.approx(0.2)
    with pytest.raises(da.InputError, match="the input push is inf in this step, expected a finite number"):
        sim.step([np.inf])
    batch = da.Stepper(Fuse(), da.Rattle(), 0.1, [[0.0], [0.1]], [[0.0], [0.0]])
    with pytest.raises(da.StepFailure, match=r"1 of 2 members of the batch failed .* the first is member 1"):
        batch.step([[0.1], [1e4]])
    assert batch.failed.tolist() == [False, True]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stepper().step([1.0, 2.0]), r"u must have shape \(1,\) for the inputs push, got \(2,\)"),
        (lambda: stepper().step([25.0]), "the input push is 25 in this step, expected a number between -20 and 20"),
        (lambda: stepper().step([np.nan]), "the input push is nan"),
        (lambda: stepper().step("left"), "u must be an array of floats"),
        (lambda: stepper().step([1.0], 0), "steps must be a positive integer, got 0"),
        (lambda: stepper(points=(0.0, 0.0)), "points must be one or more different numbers"),
        (lambda: stepper().restore(3), "restore takes what snapshot gave"),
        (lambda: stepper().reset(v0=REST), "give q0 with v0 or p0"),
        (lambda: da.Stepper(Crane(), da.EventCapturing(), 0.01, HANGING, REST), "chooses its own"),
        (lambda: da.Stepper(da.gallery.Pendulum(), da.Rattle(), 0.01, [1.0, 0.0], [0.0, 0.0]).step([1.0]),
         "Pendulum has no inputs"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(call, message):
    with pytest.raises((da.InputError, da.MethodDoesNotFit), match=message):
        call()
