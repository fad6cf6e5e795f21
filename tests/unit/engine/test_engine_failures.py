"""Faults at run time: a status that says what happened, and everything up to there."""

import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.gallery import FourBar, Pendulum


class LeavesItsDomain(da.System):
    """A point that flies towards x = 1, where the potential sqrt(1 - x) ends."""

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - jnp.sqrt(1.0 - q[0])


def test_root_that_leaves_its_domain():
    with pytest.raises(da.StepFailure) as caught:
        da.simulate(LeavesItsDomain(), da.Rattle(), [0.0], [1.0], t=(0.0, 2.0), h=0.01)
    run = caught.value.trajectory
    assert not run.status
    assert run.status.code == 2
    assert "the equations gave NaN or infinity" in str(caught.value)
    assert f"step {run.status.step + 1} " in str(caught.value)
    assert run.status.time == pytest.approx(0.01 * run.status.step)
    assert len(run) == run.status.step + 1
    assert np.all(np.isfinite(run.q))
    assert 0.9 < run.q[-1, 0] < 1.0


def test_prefix_is_the_run_that_ends_before():
    run = da.simulate(LeavesItsDomain(), da.Rattle(), [0.0], [1.0], t=(0.0, 2.0), h=0.01, on_failure="return")
    end = run.status.step * 0.01
    short = da.simulate(LeavesItsDomain(), da.Rattle(), [0.0], [1.0], t=(0.0, end), h=0.01)
    np.testing.assert_allclose(run.q, short.q, rtol=0, atol=1e-15)


def test_step_far_too_large():
    start = Pendulum().start()
    with pytest.raises(da.StepFailure, match="smaller h") as caught:
        da.simulate(Pendulum(), da.Rattle(), start.q0, 50.0 * start.v0, t=(0.0, 100.0), h=10.0)
    assert caught.value.trajectory.status.code in (1, 2, 3)
    assert len(caught.value.trajectory) == caught.value.trajectory.status.step + 1


@pytest.mark.parametrize("gap", [1e-2, 1e-4])
def test_four_bar_that_passes_close_to_its_flat_configuration(gap):
    """crank + ground = coupler + rocker - gap: with the crank turned back all bars nearly lie on one line."""
    system = FourBar(crank=1.0, coupler=2.5, rocker=2.0 + gap, ground=3.5)
    B, C = system.configuration(jnp.asarray(3.0))
    vB = 2.0 * np.array([-B[1], B[0]])
    bar, arm = np.asarray(C - B), np.array([C[0] - 3.5, C[1]])
    vC = (bar @ vB) / (bar[0] * arm[1] - bar[1] * arm[0]) * np.array([arm[1], -arm[0]])
    q0, v0 = np.concatenate([B, C]), np.concatenate([vB, vC])
    run = da.simulate(system, da.Rattle(), q0, v0, t=(0.0, 0.5), h=0.001, project=True)
    assert run.q[0, 1] > 0 > run.q[-1, 1]  # the crank has passed the flat configuration
    assert np.max(run.constraint) <= 1e-14
    assert np.max(run.hidden) <= 1e-12
    assert "rescued_steps" not in run.stats


class Forgetful(da.Rattle):
    """RATTLE with an equation that lost its unknown."""

    def residual(self, x, step):
        found = super().residual(x, step)
        return found | {"second half: velocity": found["second half: velocity"] * jnp.array([1.0, 0.0])}


def test_residual_without_an_unknown_is_named():
    start = Pendulum().start()
    with pytest.raises(da.ModelError, match=r"structurally singular: the equation 'second half: velocity\[1\]'"):
        da.simulate(Pendulum(), Forgetful(), start.q0, start.v0, t=(0.0, 0.1), h=0.01)
