"""Model predictive control: plans from where the system is, sought from the ones before."""

import jax.numpy as jnp
import numpy as np
import pytest
from control_systems import CartPole, Mass

import dalembert as da


def test_plans_of_an_undisturbed_system_are_those_of_the_first_one():
    """The system comes near rest, and what is found from the plan before is what is found anew."""

    def cost(t, q, v, u):
        return q @ q + 0.1 * v @ v + 0.1 * u @ u

    law = da.PredictiveControl(Mass(stiffness=1.0), da.Rattle(), horizon=2.0, steps=20, cost=cost)
    run = da.simulate(
        Mass(stiffness=1.0), da.Rattle(), [1.0], [0.5], t=(0.0, 6.0), h=0.1, control=da.Sampled(law, period=0.1)
    )
    assert len(law.iterations) == 60
    assert max(law.iterations) <= 2  # linear and quadratic: one step of Newton's method
    assert not law.failures
    assert abs(run.q[-1, 0]) < 0.02
    # the last plan is the one that is found anew
    plan = da.optimal_control(
        Mass(stiffness=1.0), da.Rattle(), (run.q[-2], run.v[-2]), horizon=2.0, steps=20, cost=cost
    )
    assert plan.control.values[0, 0, 0] == pytest.approx(run.u[-1, 0], abs=1e-9)


def test_a_pendulum_on_a_cart_is_kept_up():
    class Free(CartPole):
        inputs = ("push",)

    up = np.array([0.0, 0.0, 0.5])

    def cost(t, q, v, u):
        away = q - jnp.asarray(up)
        return 10.0 * away @ away + 0.1 * v @ v + 0.01 * u @ u

    law = da.PredictiveControl(Free(), da.Rattle(), horizon=0.8, steps=16, cost=cost, final=lambda t, q, v: 50 * cost(
        t, q, v, jnp.zeros(1)))  # fmt: skip
    start = da.consistent(Free(), [0.0, 0.12, 0.48], np.zeros(3))
    run = da.simulate(Free(), da.Rattle(), start.q, start.v, t=(0.0, 1.0), h=0.01, control=da.Sampled(law, period=0.05))
    assert not law.failures
    assert np.max(law.iterations[1:]) < law.iterations[0]
    assert abs(run.q[-1, 1] - run.q[-1, 0]) < 0.03


def test_wrong_options_are_refused():
    with pytest.raises(da.InputError, match="takes bounds, cost"):
        da.PredictiveControl(Mass(), da.Rattle(), horizon=1.0, steps=4, start=1.0)
    with pytest.raises(da.InputError, match="needs a system with inputs"):
        da.PredictiveControl(da.gallery.Pendulum(), da.Rattle(), horizon=1.0, steps=4)
