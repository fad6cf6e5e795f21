"""Starting values that violate the constraints, and steps that fail: what the user reads."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da


def test_start_off_the_constraint(simulate):
    message = (
        r"Pendulum: the start violates holonomic\[0\] at position level: g\(t0, q0\) = 1.5, expected 0. "
        r"Correct q0, pass project=True to move it onto the constraints, "
        r"or see how far it would move with da.consistent"
    )
    with pytest.raises(da.InconsistentStart, match=message):
        simulate(q0=[2.0, 0.0])


def test_velocity_off_the_hidden_constraint(simulate):
    message = r"violates holonomic\[0\] at velocity level: g_q v \+ g_t = 0.25, expected 0. Correct v0"
    with pytest.raises(da.InconsistentStart, match=message):
        simulate(v0=[0.25, 0.0])


def test_momentum_off_the_hidden_constraint(simulate):
    with pytest.raises(da.InconsistentStart, match=r"at velocity level: g_q v \+ g_t = 1, .* Correct p0"):
        simulate(v0=None, p0=[1.0, 0.0])


def test_the_worst_constraint_is_named(simulate, free):
    system = free(holonomic=lambda t, q: jnp.stack([q[0], q[1], 10.0 * q[2]]))
    with pytest.raises(da.InconsistentStart, match=r"violates holonomic\[1\] .*\(and 2 more\): g\(t0, q0\) = 0.5"):
        simulate(system, q0=[0.1, 0.5, 0.2, 0.0], v0=np.zeros(4))


def test_moving_constraint_at_velocity_level(simulate, free):
    system = free(holonomic=lambda t, q: q[0] - 3.0 * t)
    with pytest.raises(da.InconsistentStart, match=r"at velocity level: g_q v \+ g_t = -3"):
        simulate(system, q0=[0.0, 0.0], v0=[0.0, 1.0])
    run = simulate(system, q0=[0.0, 0.0], v0=[3.0, 1.0])
    np.testing.assert_allclose(run.q[-1], [3.0, 1.0], atol=1e-13)


def test_projection_cures_both_levels(simulate):
    run = simulate(q0=[2.0, 0.0], v0=[1.0, 0.5], project=True)
    np.testing.assert_allclose(run.q[0], [1.0, 0.0], atol=1e-14)
    np.testing.assert_allclose(run.v[0], [0.0, 0.5], atol=1e-14)
    assert np.max(run.constraint) < 1e-14


def test_consistent_says_how_far_it_moved(pendulum_class):
    found = da.consistent(pendulum_class(), [2.0, 0.0], [1.0, 0.5])
    assert repr(found).startswith("ConsistentStart(moved_q=1, moved_v=1, q=")


def test_projection_from_a_place_without_direction(simulate):
    with pytest.raises(da.RedundantConstraints, match=r"holonomic\[0\] has a zero gradient.*another configuration"):
        simulate(q0=[0.0, 0.0], project=True)


def test_projection_that_does_not_exist(simulate, free):
    with pytest.raises(da.InconsistentStart, match=r"q0 cannot be projected .* \(largest defect 1.25\)"):
        simulate(free(holonomic=lambda t, q: q[0] ** 2 + 1.0), q0=[0.5, 0.0], project=True)


def test_traced_start_off_the_constraint(simulate):
    with pytest.raises(Exception, match="the start violates a holonomic constraint; pass project=True"):
        jax.block_until_ready(jax.jit(lambda q0: simulate(q0=q0).q)(jnp.array([2.0, 0.0])))


FAR_TOO_LARGE = {"v0": [0.0, 5.0], "t": (0.0, 10.0), "h": 1.0}


def test_newton_that_does_not_converge_raises_with_step_time_cause_and_cure(simulate):
    message = (
        r"step \d+ \(from t = \d+, h = 1\) failed: Newton did not converge.*"
        r"h is too large for this motion, .*; try a smaller h\. Everything up to there is in the exception's "
        r'\.trajectory, or is returned with on_failure="return"'
    )
    with pytest.raises(da.StepFailure, match=message) as caught:
        simulate(**FAR_TOO_LARGE)
    assert len(caught.value.trajectory) >= 1
    assert np.all(np.isfinite(caught.value.trajectory.q))


def test_failed_run_can_be_returned(simulate):
    run = simulate(**FAR_TOO_LARGE, on_failure="return")
    assert not run.status
    assert not run.status.ok
    assert run.status.code > 0
    assert run.status.step == len(run) - 1
    assert run.status.time == pytest.approx(float(run.t[-1]))
    assert "try a smaller h" in run.status.message
    assert "failed" in repr(run)
    assert len(run) < 11
    for name in ("q", "v", "p", "lam", "energy", "constraint", "hidden"):
        values = getattr(run, name)
        assert len(values) == len(run.t)
        assert np.all(np.isfinite(values))


def test_failed_run_is_saved_with_its_status(simulate, tmp_path):
    run = simulate(**FAR_TOO_LARGE, on_failure="return")
    loaded = da.load(run.save(tmp_path / "failed.nc"))
    assert not loaded.status
    assert loaded.status == run.status


def test_leaving_the_domain_is_named(simulate, free):
    falling = free(lagrangian=lambda t, q, v: 0.5 * v @ v - 5.0 * jnp.sqrt(q[1]))
    with pytest.raises(da.StepFailure, match=r"step .* failed"):
        simulate(falling, q0=[0.0, 1.0], t=(0.0, 10.0))


def test_successful_run_has_a_true_status(simulate):
    run = simulate()
    assert run.status
    assert str(run.status) == "ok: 10 steps"


class SlidingMass(da.OverdeterminedDAE):
    """A mass on the line y_2 = 0; `push` is the direction of its reaction."""

    push: jax.Array

    def velocity(self, y, z):
        return z

    def force(self, y, z):
        return jnp.array([0.0, -9.81])

    def reaction(self, y, z, psi):
        return psi[0] * self.push

    def constraint(self, y):
        return y[1]


def test_a_reaction_that_does_not_push_against_the_constraint_is_named():
    start = {"y0": [0.0, 0.0], "z0": [1.0, 0.0], "t": (0.0, 0.1), "h": 0.1}
    message = r"SlidingMass: g_y v_z r_psi = \[\[0.\]\] is singular at the start .* does not determine psi"
    with pytest.raises(da.ModelError, match=message):
        da.simulate(SlidingMass(push=np.array([1.0, 0.0])), da.SymplecticEuler(), **start)
    run = da.simulate(SlidingMass(push=np.array([0.3, 1.0])), da.SymplecticEuler(), **start)
    np.testing.assert_allclose(run.psi[-1], 9.81, atol=1e-12)
