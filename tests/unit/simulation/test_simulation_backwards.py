"""Runs back in time: t = (t0, t1) with t1 < t0."""

import jax
import numpy as np
import pytest

import dalembert as da
from dalembert import gallery

METHODS = [da.Rattle(), da.Galerkin(3), da.gauss_spark(2), da.Composition(da.Rattle(), "yoshida4"), da.Taylor(12)]


def forward_and_back(system, method, **options):
    q0, v0, *_ = (np.asarray(part) for part in system.start())
    forward = da.simulate(system, method, q0, v0, t=(0.0, 1.0), h=0.02)
    return forward, da.simulate(system, method, forward.q[-1], p0=forward.p[-1], t=(1.0, 0.0), h=0.02, **options)


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("system", [gallery.DoublePendulum(), gallery.DrivenPendulum()], ids=lambda s: type(s).__name__)
def test_a_run_back_returns_to_the_start(system, method):
    forward, back = forward_and_back(system, method)
    assert back.status
    np.testing.assert_allclose(back.t, forward.t[::-1], rtol=0, atol=1e-15)
    error = 1e-12 if method.claims.symmetric else 1e-7
    np.testing.assert_allclose(back.q, forward.q[::-1], rtol=0, atol=error)
    np.testing.assert_allclose(back.p, forward.p[::-1], rtol=0, atol=100 * error)


def test_nonholonomic_motion_and_moving_constraints():
    for system, method in ((gallery.Skate(), da.gauss_spark(2)), (gallery.BeadOnMovingWire(), da.Rattle())):
        forward, back = forward_and_back(system, method)
        np.testing.assert_allclose(back.q[-1], forward.q[0], rtol=0, atol=1e-12)


def test_what_a_run_back_is_asked(tmp_path):
    forward, back = forward_and_back(gallery.DrivenPendulum(), da.Galerkin(2))
    t = np.array([0.013, 0.5, 0.987])
    for a, b in zip(back.interpolate(t), forward.interpolate(t), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-11)
    assert back.energy_balance.change[-1] == pytest.approx(-forward.energy_balance.change[-1], abs=1e-12)
    assert back.warnings == ()
    assert float(back.to_xarray().sel(time=0.5, method="nearest")["t"]) == pytest.approx(0.5)
    again = da.load(back.save(tmp_path / "back.nc"))
    np.testing.assert_array_equal(again.q, back.q)
    assert back.animate(tmp_path / "back.gif", pixels=64, seconds=0.5, fps=4).is_file()
    back.plot(tmp_path / "back.png")
    page = back.view().save(tmp_path / "back.html")
    assert page.is_file()


def test_other_ways_to_take_the_steps(tmp_path):
    system = gallery.Pendulum()
    q0, v0, *_ = (np.asarray(part) for part in system.start())
    arguments = {"system": system, "method": da.Rattle(), "q0": q0, "v0": v0, "t": (1.0, 0.0)}
    run = da.simulate(**arguments, h=0.02)
    given = da.simulate(**arguments, h=np.full(50, 0.02))
    stored = da.simulate(**arguments, h=0.02, checkpoint=tmp_path / "run.zarr")
    batch = da.simulate(**(arguments | {"q0": [q0, q0], "v0": [v0, v0]}), h=0.02)
    traced = jax.jit(lambda q: da.simulate(**(arguments | {"q0": q}), h=0.02).q)(q0)
    # one with a store chooses its pivots at its own start, whatever ran before: it may differ in the last place
    for q in (given.q, batch.q[1], traced, stored.q):
        np.testing.assert_allclose(q, run.q, rtol=0, atol=1e-14)
    np.testing.assert_allclose(given.interpolate(0.33).q, run.interpolate(0.33).q, rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", [da.MoreauJean(), da.EventCapturing()], ids=repr)
def test_contacts_are_not_followed_back(method):
    ball = gallery.BouncingBall()
    q0, v0, *_ = ball.start()
    with pytest.raises(da.InputError, match=r"t0 < t1 for contacts, got \(1, 0\)"):
        da.simulate(ball, method, q0, v0, t=(1.0, 0.0), h=0.1)


def test_a_controller_is_not_asked_back_in_time():
    class Cart(da.System):
        inputs = ("push",)

        def lagrangian(self, t, q, v):
            return 0.5 * v @ v

        def force(self, t, q, v, u):
            return u

    with pytest.raises(da.InputError, match="t0 < t1"):
        da.simulate(Cart(), da.Rattle(), [0.0], [0.0], t=(1.0, 0.0), h=0.1, control=lambda t, q, v: -q)
