"""Many spheres: neighbours by cells, the equations of Moreau and Jean, two solvers, statuses."""

import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.spheres import SpheresInBox, centres_at_start

import dalembert as da
from dalembert import nonlinear
from dalembert.errors import InconsistentStart, InputError, MethodDoesNotFit, ModelError, StepFailure
from dalembert.nonlinear import sphere_contacts
from dalembert.stepping import sphere_run

BOX = np.array([[0, 0, 1, 0], [1, 0, 0, -0.5], [-1, 0, 0, -0.5], [0, 1, 0, -0.5], [0, -1, 0, -0.5]], dtype=float)


def box_of(count, **more):
    return da.Spheres(radius=np.full(count, 0.1), planes=BOX, **more)


def at_rest(centres):
    return {"q0": np.concatenate([np.ravel(centres), np.zeros(centres.size)]), "v0": np.zeros(2 * centres.size)}


def scattered(count, seed=3):
    """Spheres of different sizes that do not touch, and fast ones among them."""
    random = np.random.default_rng(seed)
    centres = centres_at_start(count)
    velocity = random.normal(size=(2, count, 3))
    return {"q0": np.concatenate([centres.ravel(), np.zeros(3 * count)]), "v0": velocity.ravel()}


@pytest.mark.parametrize("spread", [0.3, 3.0, 300.0])
def test_neighbours_are_all_and_no_others(spread):
    random = np.random.default_rng(1)
    centres, radius = random.uniform(-spread, spread, (200, 3)), random.uniform(0.05, 0.3, 200)
    found = sphere_contacts.candidates(centres, radius, 0.1)
    i, j = np.triu_indices(200, 1)
    near = np.linalg.norm(centres[i] - centres[j], axis=1) <= radius[i] + radius[j] + 0.1
    assert set(map(tuple, found.tolist())) == set(zip(i[near].tolist(), j[near].tolist(), strict=True))
    assert len(found) == np.sum(near)


@pytest.mark.long
@pytest.mark.parametrize("law", [{"restitution": 0.0, "friction": 0.3}, {"restitution": 0.7, "friction": 0.1}])
def test_the_motion_is_that_of_the_same_model_with_gaps(law):
    count, method = 5, da.MoreauJean(gamma=1.0)
    start = scattered(count)
    found = da.simulate(box_of(count, **law, tolerance=1e-12), method, **start, t=(0.0, 0.5), h=0.005)
    expected = da.simulate(SpheresInBox(count=count, **law), method, **start, t=(0.0, 0.5), h=0.005)
    assert found.stats["most_contacts"] >= 3
    np.testing.assert_allclose(found.q, expected.q, atol=1e-8)
    np.testing.assert_allclose(found.energy, expected.energy, atol=1e-7)


def test_an_elastic_impact_keeps_energy_and_momentum():
    pair = da.Spheres(radius=[0.1, 0.2], mass=[1.0, 3.0], planes=np.zeros((0, 4)), gravity=np.zeros(3),
                      restitution=1.0, friction=0.0)  # fmt: skip
    q0 = np.array([0.0, 0.0, 0.0, 1.0, 0.05, 0.02, *np.zeros(6)])
    v0 = np.array([2.0, 0.0, 0.0, -1.0, 0.0, 0.0, *np.zeros(6)])
    run = da.simulate(pair, da.MoreauJean(), q0, v0, t=(0.0, 1.0), h=0.01)
    assert np.ptp(run.v[:, 0]) > 1
    assert np.ptp(run.energy) < 1e-12
    np.testing.assert_allclose(
        run.p[:, :3] + run.p[:, 3:6], run.p[0, :3] + run.p[0, 3:6] + np.zeros((101, 1)), atol=1e-14
    )


def test_a_sphere_rolls_down_a_slope_without_slipping():
    """Of the acceleration g sin(alpha) a ball keeps 5/7 where it rolls."""
    alpha = 0.2
    slope = da.Spheres(radius=[0.1], gravity=9.81 * np.array([np.sin(alpha), 0.0, -np.cos(alpha)]), friction=0.5)
    run = da.simulate(slope, da.MoreauJean(), [0.0, 0.0, 0.1, 0.0, 0.0, 0.0], np.zeros(6), t=(0.0, 1.0), h=0.01)
    assert run.v[-1, 0] == pytest.approx(5 / 7 * 9.81 * np.sin(alpha), rel=1e-10)
    np.testing.assert_allclose(run.v[:, 0], 0.1 * run.v[:, 4], atol=1e-12)


def test_two_solvers_agree_on_a_heap():
    system, method = box_of(20), da.MoreauJean(gamma=1.0)
    run = da.simulate(system, method, **at_rest(centres_at_start(20)), t=(0.0, 0.4), h=0.005)
    work = sphere_run.SphereSteps(system, method, 0.005)
    centres, velocity = run.q[-1].reshape(2, 20, 3)[0], np.column_stack(run.v[-1].reshape(2, 20, 3))
    pairs = work.closed(centres, velocity)
    normal, _ = sphere_contacts.geometry(pairs, centres, work.bodies)
    free = velocity + 0.005 * np.array([0, 0, -9.81, 0, 0, 0])
    W, b, _ = work.problem(pairs, normal, np.zeros(len(pairs)), free)
    dense = np.zeros((len(pairs), 3, len(pairs), 3))
    dense[np.repeat(np.arange(len(pairs)), np.diff(W.starts)), :, W.columns, :] = W.blocks
    dense = dense.reshape(3 * len(pairs), -1)
    np.testing.assert_allclose(dense, dense.T, atol=1e-14)
    assert np.linalg.eigvalsh(dense)[0] > -1e-12
    found = [nonlinear.solve_friction(W, b.ravel(), 0.3, 3, tolerance=1e-9, method=name)
             for name in ("gauss_seidel", "auto")]  # fmt: skip
    assert all(one.residual <= 1e-8 for one in found)
    np.testing.assert_allclose(found[0].u, found[1].u, atol=1e-6)  # impulses need not be unique, velocities are


def test_a_heap_loses_energy_and_stands_on_its_planes():
    run = da.simulate(box_of(30), da.MoreauJean(gamma=1.0), **at_rest(centres_at_start(30)), t=(0.0, 1.0), h=0.005)
    assert run.status
    assert run.stats["complementarity_residual"] <= 1e-6
    assert run.energy[-1] < 0.8 * run.energy[0]
    momentum, touching = run.p[:, :90].reshape(-1, 30, 3).sum(axis=1), run.touching()
    from_planes = touching.impulse[touching.pairs[:, 0] < 0].sum(axis=0)
    np.testing.assert_allclose(momentum[-1] - momentum[-2], from_planes - [0, 0, 30 * 9.81 * 0.005], atol=1e-12)
    assert len(run.iterations) == len(run) - 1


def test_steps_that_do_not_converge_are_said(monkeypatch):
    monkeypatch.setattr(sphere_run, "MOST_SWEEPS", 0)
    monkeypatch.setattr(sphere_run, "NEWTON_STEPS", 0)
    monkeypatch.setattr(sphere_run, "FEW_SWEEPS", 0)
    with pytest.raises(StepFailure, match="did not converge"):
        da.simulate(box_of(30), da.MoreauJean(gamma=1.0), **at_rest(centres_at_start(30)), t=(0.0, 0.5), h=0.005)


def test_what_is_refused():
    start = at_rest(centres_at_start(8))
    with pytest.raises(MethodDoesNotFit, match="does not treat spheres"):
        da.simulate(box_of(8), da.Rattle(), **start)
    low = dict(start, q0=start["q0"] - 0.05)
    with pytest.raises(InconsistentStart, match="penetrate each other or a plane"):
        da.simulate(box_of(8), da.MoreauJean(), **low)
    with pytest.raises(InputError, match="position_correction"):
        da.simulate(box_of(8), da.MoreauJean(position_correction=True), **start)
    with pytest.raises(InputError, match="engine has no meaning"):
        da.simulate(box_of(8), da.MoreauJean(), **start, engine="xla")
    with pytest.raises(InputError, match="shape"):
        da.simulate(box_of(8), da.MoreauJean(), start["q0"][:-1], start["v0"])
    with pytest.raises(InputError, match="length 1"):
        da.Spheres(radius=[0.1], planes=[[0.0, 0.0, 2.0, 0.0]])
    with pytest.raises(InputError, match="radius"):
        da.Spheres(radius=[0.1, -0.1])
    with pytest.raises(ModelError, match="defines force"):

        class Pushed(da.Spheres):
            def force(self, t, q, v):
                return jnp.zeros_like(q)


def test_what_repeats_steps_does_not_know_the_contacts():
    start = at_rest(centres_at_start(8))
    run = da.simulate(box_of(8), da.MoreauJean(), **start, t=(0.0, 0.2), h=0.01, save_every=2)
    with pytest.raises(MethodDoesNotFit, match="step by step"):
        run.interpolate(0.05)
    with pytest.raises(MethodDoesNotFit, match="step by step"):
        da.Stepper(box_of(8), da.MoreauJean(), h=0.01, q0=start["q0"], v0=start["v0"])
    with pytest.raises(InputError, match="single runs"):
        da.simulate(box_of(8), da.MoreauJean(), np.stack([start["q0"]] * 2), np.stack([start["v0"]] * 2))
    with pytest.raises(InputError, match=r"da\.Spheres"):
        da.simulate(da.gallery.BouncingBall(), da.MoreauJean(), [1.0], [0.0]).touching()
