"""Forces as arrows: where they begin, and that they are those of the equations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.plots import forces
from dalembert.plots.forces import CHAIN, CONTACT, REACTION, Wanted, arrows_of, fading, forces_in, mean_forces
from dalembert.plots.geometry import geometry_of


def drawn(run, rows=None, **wanted):
    rows = np.arange(len(run.t)) if rows is None else rows
    geometry = geometry_of(run)
    points = geometry.points[rows] if geometry is not None else np.zeros((len(rows), 1, 3))
    return arrows_of(run, rows, points, Wanted(**wanted))


def of_state(arrows, k):
    """By the number of its point, each force of one state."""
    some = slice(arrows.starts[k], arrows.starts[k + 1])
    return dict(zip(arrows.points[some].tolist(), arrows.vectors[some], strict=True))


def started(system, method, **changes):
    start = system.start()
    given = {"t": (0.0, start.t_end), "h": start.h} | changes
    return da.simulate(system, method, start.q0, start.v0, **given)


def test_the_rod_of_a_pendulum_pulls_with_its_tension():
    run = da.simulate(da.gallery.Pendulum(mass=2.0), da.Rattle(), [0.6, -0.8], [0.0, 0.0], t=(0, 1), h=0.01)
    arrows = drawn(run)
    tension = 2.0 * (np.sum(run.v**2, axis=1) - 9.81 * run.q[:, 1])  # m (|v|^2 / l + g cos), l = 1
    expected = -tension[:, None] * run.q
    assert np.allclose(arrows.vectors[:, [0, 2]], expected, rtol=1e-6)
    assert np.array_equal(arrows.vectors[:, 1], 0 * run.t)
    assert set(arrows.kinds) == {REACTION}


def test_forces_at_points_do_the_work_of_the_reactions():
    run = started(da.gallery.FourBar(), da.Rattle(), t=(0.0, 0.5))
    arrows, points = drawn(run), run.system.points
    for k in (3, len(run.t) // 2):
        some = slice(arrows.starts[k], arrows.starts[k + 1])
        slopes = jax.jacfwd(points, argnums=1)(run.t[k], jnp.asarray(run.q[k]))
        done = sum(slopes[p].T @ f[[0, 2]] for p, f in zip(arrows.points[some], arrows.vectors[some], strict=True))
        gradient = jax.jacrev(run.system.holonomic, argnums=1)(run.t[k], jnp.asarray(run.q[k]))
        assert np.allclose(done, -run.lam[k] @ gradient, atol=2e-3 * np.max(np.abs(run.lam[k] @ gradient)))


def test_a_corner_that_touches_takes_the_force_of_its_contact():
    run = started(da.gallery.RockingBlock(), da.MoreauJean())
    arrows = drawn(run)
    k = 100  # between two impacts the block rests on the corner on the right
    assert list(of_state(arrows, k)) == [1]
    expected = run.impulse[k, 1] / 0.005
    assert np.allclose(np.sort(np.abs(of_state(arrows, k)[1])), np.sort([0.0, *np.abs(expected)]), rtol=1e-6)
    assert set(arrows.kinds) == {CONTACT}


def test_rolling_holds_at_the_contact_alone():
    run = started(da.gallery.VerticalRollingDisc(), da.lobatto_spark(2), t=(0.0, 1.0))
    assert len(set(drawn(run).points)) == 1


def test_spheres_that_rest_on_each_other_carry_their_weights():
    system = da.Spheres([0.5, 0.5], mass=2.0)
    q0 = np.array([0, 0, 0.5, 0, 0, 1.5] + [0] * 6, dtype=float)
    run = da.simulate(system, da.MoreauJean(), q0, np.zeros(12), t=(0, 0.05), h=0.01)
    arrows = drawn(run)
    assert set(arrows.kinds) == {CHAIN}
    found = of_state(arrows, 5)
    assert np.allclose(found[0], [0, 0, 4 * 9.81], rtol=1e-4)
    assert np.allclose(found[1], [0, 0, 2 * 9.81], rtol=1e-4)
    first = slice(arrows.starts[5], arrows.starts[6])
    assert np.allclose(sorted(arrows.places[first, 2]), [0.0, 0.5], atol=1e-3)


def model(formulation="auto"):
    found = da.Multibody(gravity=(0, 0, -9.81))
    ball = found.body("ball", mass=3.0, inertia=(0.1, 0.1, 0.1), shape=da.Sphere(0.5), at=(0, 0, 0.5))
    found.contact(ball, found.plane(), friction=0.3)
    return found


def test_bodies_are_pushed_where_they_touch():
    made = model()
    start = made.assemble()
    run = da.simulate(made.system(), da.MoreauJean(), start.q0, start.v0, t=(0, 0.1), h=0.01)
    arrows = drawn(run)
    last = slice(arrows.starts[-2], arrows.starts[-1])
    assert np.allclose(arrows.vectors[last], [[0, 0, 3 * 9.81]], rtol=1e-3)
    assert np.allclose(arrows.places[last], [[0, 0, 0]], atol=1e-3)
    assert arrows.points[last].tolist() == [-1]


def test_joints_hold_with_their_reactions():
    made = da.Multibody(gravity=(0, 0, -9.81))
    bar = made.body("bar", density=100, shape=da.Box((1, 0.1, 0.1), at=(0.5, 0, 0)))
    made.joint("hinge", made.ground, bar, da.Revolute("y"), at=(0, 0, 0))
    run = da.simulate(made.system(), da.Rattle(), [0.3], [0.0], t=(0, 0.3), h=0.01)
    rows = np.array([0, 10, 30])
    arrows = drawn(run, rows)
    assert forces_in(run.system) == Wanted(contacts=False, reactions=True)
    assert np.allclose(arrows.vectors, run.joint("hinge").reaction.force[rows])
    assert np.allclose(arrows.places, 0, atol=1e-12)
    assert drawn(run, rows, reactions=False) is None


def test_impulses_of_thinned_states_are_means():
    run = started(da.gallery.BouncingBall(), da.MoreauJean())
    rows = np.arange(0, len(run.t), 7)
    found = mean_forces(run, rows)[:, 0, 0] * np.diff(run.t[rows], prepend=run.t[0])
    assert found.sum() == pytest.approx(np.sum(run.impulse[: rows[-1] + 1]), rel=1e-12)


def test_impacts_fade():
    t = np.linspace(0, 60, 61)
    vectors = np.zeros((61, 1, 2))
    vectors[[10, 30], 0, 0] = 4.0, 1.0
    shown = fading(t, vectors)
    assert np.array_equal(shown, vectors)  # one state later nothing is left of it
    dense = fading(np.linspace(0, 1, 610), np.repeat(vectors, 10, axis=0))
    assert dense[109, 0, 0] == 4.0
    assert 0 < dense[113, 0, 0] < 4.0
    assert dense[130, 0, 0] == 0


def test_only_the_strongest_are_kept_where_there_are_many(monkeypatch):
    run = da.simulate(da.gallery.Chain(links=4), da.Rattle(), *_start(da.gallery.Chain(links=4)), t=(0, 0.1), h=0.01)
    whole = drawn(run)
    monkeypatch.setattr(forces, "MOST_NUMBERS", 7 * 2 * len(run.t))
    few = drawn(run)
    assert np.max(np.diff(few.starts)) == 2
    assert "2 strongest" in few.remarks[-1]
    size = np.linalg.norm(whole.vectors[: whole.starts[1]], axis=1)
    assert np.allclose(sorted(np.linalg.norm(few.vectors[:2], axis=1)), np.sort(size)[-2:])


def _start(system):
    start = system.start()
    return start.q0, start.v0


def test_what_has_no_forces_has_no_arrows():
    run = started(da.gallery.Kepler(), da.Rattle(), t=(0.0, 0.1))
    assert drawn(run) is None
    assert forces_in(None) == Wanted(contacts=False, reactions=False)
