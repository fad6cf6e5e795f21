"""Meshes of plans: the error of each step is told by halving it, and steps are cut where it is large."""

import jax.numpy as jnp
import numpy as np
import pytest
from control_systems import Mass

import dalembert as da
from dalembert.control.mesh import refined, step_errors


class Comet(da.System):
    """A point that is attracted by the origin, with thrust."""

    inputs = {"thrust": da.Input(size=2)}  # noqa: RUF012

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v + 1.0 / jnp.sqrt(q @ q)

    def force(self, t, q, v, u):
        return u


def effort(t, q, v, u):
    return u @ u


def swing_by(**options):
    """Past the sun, near which steps must be small: an ellipse of eccentricity 0.8 and a push to another one."""
    start = [1.8, 0.0], [0.0, np.sqrt(0.2 / 1.8)]
    near = da.simulate(Comet(), da.Galerkin(3), *start, t=(0.0, 5.0), h=0.05)
    goal = near.q[-1] + [0.02, -0.01], None
    return da.optimal_control(Comet(), da.Galerkin(2), start, goal, horizon=5.0, cost=effort, guess=near, **options)


def test_the_mesh_is_fine_where_the_motion_is_quick():
    plan = swing_by(steps=20, refine=1e-6)
    h = np.diff(plan.t)
    assert plan.stats["error"] < 1e-6
    assert plan.stats["meshes"][0] == 20
    assert plan.stats["meshes"][-1] == len(h) < 400
    assert plan.stats["warning"] is None
    distance = np.linalg.norm(plan.q, axis=1)
    assert distance[np.argmin(h)] < 0.4
    assert np.max(h) > 5 * np.min(h)
    # the estimate is that of the error: a much finer mesh has another optimum by about as much
    fine = swing_by(steps=20, refine=1e-9)
    own, at = np.nonzero(np.abs(plan.t[:, None] - fine.t) < 1e-9)
    assert len(own) > 10
    away = np.max(np.abs(fine.q[at] - plan.q[own])) / np.max(np.abs(plan.q))
    assert 1e-9 < away < 1e-5
    assert plan.cost == pytest.approx(fine.cost, rel=1e-3)
    # as many equal steps are worse
    equal = swing_by(steps=len(h))
    assert np.sum(step_errors(equal._problem, equal._solution.z)) > 5 * plan.stats["error"]


def test_errors_of_steps_have_their_order():
    sums = []
    for steps in (80, 160):
        plan = swing_by(steps=steps)
        sums.append(np.sum(step_errors(plan._problem, plan._solution.z)))
    assert np.log2(sums[0] / sums[1]) == pytest.approx(4.0, abs=0.4)


def test_steps_are_cut_by_their_errors():
    found = refined(np.full(4, 0.25), np.array([1.0, 16.0, 0.0, 1e9]), 4.0, 4)
    assert len(found) == 1 + 2 + 1 + 4
    assert np.sum(found) == pytest.approx(1.0)
    assert np.allclose(found[:4], [0.25, 0.125, 0.125, 0.25])


def test_a_mesh_that_is_fine_enough_stays():
    ends = ([0.0], [0.0]), ([1.0], [0.0])
    plan = da.optimal_control(
        Mass(), da.Galerkin(2), *ends, horizon=1.0, steps=4, cost=effort, refine=1e-3
    )  # fmt: skip
    assert plan.stats["meshes"] == (4,)
    assert np.ndim(plan.h) == 0
    rough = da.optimal_control(Mass(stiffness=1.0), da.Rattle(), *ends, horizon=9.0, steps=2, cost=effort, refine=0.9)
    assert len(rough.stats["meshes"]) > 1
    for wrong in (0.0, 1e-300, np.nan):
        with pytest.raises(da.InputError, match="refine"):
            da.optimal_control(Mass(), da.Rattle(), *ends, horizon=1.0, steps=4, cost=effort, refine=wrong)
    with pytest.raises(da.InputError, match="refine"):
        da.optimal_control(Mass(), da.Rattle(), *ends, horizon=1.0, steps=4, cost=effort, refine=-1.0)
    with pytest.raises(da.InputError, match="refine is for plans without phases"):
        da.optimal_control(Mass(), da.Rattle(), *ends, phases=[da.Phase(2, 1.0)], cost=effort, refine=1e-3)
