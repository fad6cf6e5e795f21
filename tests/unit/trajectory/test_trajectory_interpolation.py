"""Dense output: orders of the polynomials inside steps, their ends, continuity, derivatives, and what is refused."""

import jax
import numpy as np
import pytest

import dalembert as da
from dalembert.gallery import DoublePendulum, DrivenPendulum, Pendulum

THETA = np.linspace(0.05, 0.95, 7)
SYSTEM = Pendulum()
Q0, V0, *_ = (np.asarray(x) for x in SYSTEM.start())


def run_of(method, steps=20, system=SYSTEM, **options):
    q0, v0, *_ = (np.asarray(x) for x in system.start())
    return da.simulate(system, method, q0, v0, t=(0.0, 1.0), h=1 / steps, **options)


def errors_inside(method, steps, own=False):
    t = (np.arange(steps)[:, None] + THETA).ravel() / steps
    found, exact = run_of(method, steps).interpolate(t, own), SYSTEM.exact(t)
    return [np.max(np.abs(getattr(found, name) - getattr(exact, name))) for name in ("q", "v", "lam")]


@pytest.mark.parametrize(
    "method",
    [
        da.Rattle(),
        da.Galerkin(2),
        da.Galerkin(3),
        da.gauss_spark(2),
        da.lobatto_spark(4),
        da.Composition(da.Rattle(), "suzuki4"),
        da.Composition(da.Rattle(), "kahan-li6"),
    ],
    ids=repr,
)
def test_between_the_states_a_run_has_the_order_of_the_method(method):
    coarse, fine = np.array(errors_inside(method, 40)), np.array(errors_inside(method, 80))
    assert np.all(np.log2(coarse / fine) > method.order - 0.3)


def test_a_loaded_run_is_interpolated_through_its_saved_states(tmp_path):
    run = run_of(da.Galerkin(3), 40)
    again = da.load(run.save(tmp_path / "run.nc"))
    t = np.linspace(0.0, 1.0, 301)
    for a, b in zip(again.interpolate(t), run.interpolate(t), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)
    few = da.load(run_of(da.Galerkin(3), 40, save_every=2).save(tmp_path / "few.nc"))
    np.testing.assert_allclose(few.interpolate(t).q, run.interpolate(t).q, rtol=0, atol=1e-8)
    with pytest.raises(da.InputError, match="which a loaded file does not hold"):
        again.interpolate(0.5, own=True)


def test_steps_with_contacts_are_not_smoothed_over():
    ball = da.gallery.BouncingBall()
    q0, v0, *_ = (np.asarray(x) for x in ball.start())
    run = da.simulate(ball, da.MoreauJean(), q0, v0, t=(0.0, 2.0), h=0.01)
    assert run.interpolate(np.linspace(0.0, 2.0, 501)).q.min() > -0.01 * np.abs(run.v).max()


@pytest.mark.parametrize(
    ("method", "orders"),
    [
        (da.Galerkin(1), (2, 1, 2)),
        (da.Galerkin(2), (3, 2, 2)),
        (da.Galerkin(3), (4, 3, 3)),
        (da.Galerkin(4), (5, 4, 4)),
        (da.Galerkin(3, quadrature="lobatto"), (4, 3, 3)),
        (da.gauss_spark(2), (3, 2, 2)),
        (da.lobatto_spark(3), (3, 2, 2)),
        (da.Composition(da.Rattle(), "suzuki4"), (4, 3, 2)),
        (da.Rattle(), (2, 2, 2)),
    ],
    ids=repr,
)
def test_order_of_the_methods_own_polynomials(method, orders):
    coarse, fine = np.array(errors_inside(method, 20, own=True)), np.array(errors_inside(method, 40, own=True))
    assert np.all(np.abs(np.log2(coarse / fine) - orders) < 0.2)


@pytest.mark.parametrize(
    "method",
    [da.Galerkin(1), da.Galerkin(3), da.Galerkin(2, project=False), da.gauss_spark(2), da.euler_spark(), da.Rattle()],
    ids=repr,
)
def test_ends_of_steps_are_the_recorded_states(method):
    run = run_of(method)
    for own in (False, True):
        found = run.interpolate(run.t, own)
        np.testing.assert_allclose(found.q, run.q, rtol=0, atol=1e-15)
        np.testing.assert_allclose(found.lam, run.lam, rtol=0, atol=1e-11)
        before, after = run.interpolate(run.t[1:-1] - 1e-12, own), run.interpolate(run.t[1:-1] + 1e-12, own)
        np.testing.assert_allclose(before.q, after.q, rtol=0, atol=1e-10)


@pytest.mark.parametrize("method", [da.Galerkin(2), da.Galerkin(3), da.gauss_spark(3), da.Rattle()], ids=repr)
def test_velocity_is_the_derivative_of_the_position(method):
    run, small = run_of(method), 1e-5
    t = np.array([0.113, 0.4271, 0.977])
    difference = (run.interpolate(t + small).q - run.interpolate(t - small).q) / (2 * small)
    np.testing.assert_allclose(run.interpolate(t).v, difference, rtol=0, atol=1e-7)


def test_hermite_passes_through_the_recorded_velocities():
    run = run_of(da.Rattle())
    np.testing.assert_allclose(run.interpolate(run.t).v, run.v, rtol=0, atol=1e-13)


@pytest.mark.parametrize("method", [da.Galerkin(2), da.Rattle(), da.Shake()], ids=repr)
@pytest.mark.parametrize("system", [DoublePendulum(), DrivenPendulum()], ids=lambda s: type(s).__name__)
def test_states_between_saved_ones_are_found_again(method, system):
    t = np.random.default_rng(1).uniform(0.0, 1.0, 50)
    every, few = run_of(method, 40, system), run_of(method, 40, system, save_every=8)
    for a, b in zip(every.interpolate(t), few.interpolate(t), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-9)


def test_shapes_follow_the_times():
    run = run_of(da.Galerkin(2))
    one, grid = run.interpolate(0.33), run.interpolate(np.full((2, 3), 0.33))
    assert isinstance(one, da.Interpolated)
    assert one.q.shape == one.v.shape == (2,)
    assert one.lam.shape == (1,)
    assert grid.q.shape == (2, 3, 2)
    assert grid.lam.shape == (2, 3, 1)
    assert run.interpolate([]).q.shape == (0, 2)
    np.testing.assert_allclose(grid.q[1, 2], one.q, rtol=0, atol=1e-15)


def test_unconstrained_and_redundant_systems():
    free = da.system(lambda t, q, v: 0.5 * v @ v - 0.5 * q @ q)
    run = da.simulate(free, da.Galerkin(3), [1.0], [0.0], t=(0.0, 1.0), h=0.05)
    found = run.interpolate(0.777)
    assert found.q == pytest.approx([np.cos(0.777)], abs=1e-7)
    assert found.lam.shape == (0,)
    twice = da.system(
        lambda t, q, v: 0.5 * v @ v - 9.81 * q[1],
        holonomic=lambda t, q: 0.5 * (q @ q - 1.0) * np.array([1.0, 2.0]),
    )
    run = da.simulate(twice, da.Galerkin(2), Q0, V0, t=(0.0, 1.0), h=0.05, redundant="allow")
    assert run.interpolate(0.512).lam.shape == (2,)
    assert run.interpolate(0.512).q == pytest.approx(np.asarray(SYSTEM.exact(0.512).q), abs=1e-4)


def test_members_of_a_batch_and_failed_runs():
    batch = da.simulate(SYSTEM, da.Galerkin(2), np.stack([Q0, Q0]), np.stack([V0, 2 * V0]), t=(0.0, 1.0), h=0.05)
    assert batch.member(0).interpolate(0.42).q == pytest.approx(run_of(da.Galerkin(2)).interpolate(0.42).q, abs=1e-13)
    with pytest.raises(da.InputError, match="holds a batch of runs"):
        batch.interpolate(0.5)


@pytest.mark.parametrize("t", [-0.1, 1.1, [0.5, 2.0], 1 + 1e-9])
def test_times_outside_are_refused(t):
    with pytest.raises(da.InputError, match=r"expects times inside the run, \[0, 1\], got .* Simulate a longer"):
        run_of(da.Rattle()).interpolate(t)


def test_other_times_that_are_none_are_refused():
    with pytest.raises(da.InputError, match="finite times"):
        run_of(da.Rattle()).interpolate(np.nan)
    with pytest.raises(da.InputError, match="a time or an array of times"):
        run_of(da.Rattle()).interpolate("soon")


def test_traced_runs_are_refused():
    def traced(q0):
        return da.simulate(SYSTEM, da.Rattle(), q0, V0, t=(0.0, 1.0), h=0.05).interpolate(0.5).q

    with pytest.raises(da.InputError, match="traced trajectory has no numbers yet; interpolate it outside"):
        jax.jit(traced)(Q0)
