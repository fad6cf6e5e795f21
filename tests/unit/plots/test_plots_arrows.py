"""Forces in films and figures: where arrows begin, how long they are, and that they are drawn."""

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image

import dalembert as da
from dalembert.plots.arrows import FORCES, LONGEST, THICK, USUAL, ForcesInTime, at_the_end, outlines
from dalembert.plots.forces import Wanted
from dalembert.plots.geometry import geometry_of


class Thrown(da.System):
    """A point mass over a floor."""

    restitution: float = 0.5

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 9.81 * q[1]

    def gap(self, t, q):
        return q[1:]


class Turned(Thrown):
    """The same, drawn sideways."""

    def points(self, t, q):
        return jnp.array([[q[1], q[0]]])


def run_of(system):
    return da.simulate(system, da.MoreauJean(), q0=[0.0, 0.2], v0=[1.0, 0.0], t=(0.0, 0.4), h=0.01)


@pytest.fixture(scope="module")
def thrown():
    return run_of(Thrown())


@pytest.fixture(scope="module")
def pendulum():
    return da.simulate(da.gallery.Pendulum(), da.Rattle(), q0=[1.0, 0.0], v0=[0.0, 0.0], t=(0.0, 1.0), h=0.01)


def red(path) -> int:
    """Pixels of a film or figure with the colour of contact forces."""
    found = 0
    with Image.open(path) as film:
        for k in range(getattr(film, "n_frames", 1)):
            film.seek(k)
            pixels = np.asarray(film.convert("RGB")).astype(int)
            found += np.count_nonzero(np.max(np.abs(pixels - [193, 18, 31]), axis=2) < 25)
    return found


def test_a_push_points_away_from_the_floor(thrown):
    for run, up in ((thrown, 1), (run_of(Turned()), 0)):
        geometry = geometry_of(run)
        forces = ForcesInTime(run, geometry, run.t, FORCES["contacts"])
        drawn = forces.at(int(np.argmax(run.impulse[:, 0])), np.array([[0.3, 0.4]]))
        np.testing.assert_array_equal(drawn.starts, [[0.3, 0.4]])
        along = drawn.ends[0] - drawn.starts[0]
        assert along[up] > 0
        assert along[1 - up] == 0
        assert forces.at(0, geometry.points[0]).starts.shape == (0, 2)


def test_lengths_are_those_of_the_forces_up_to_the_longest(pendulum):
    geometry = geometry_of(pendulum)
    forces = ForcesInTime(pendulum, geometry, pendulum.t, FORCES["reactions"])
    drawn = [forces.at(k, geometry.points[k]) for k in (20, 60)]
    lengths = [np.linalg.norm(one.ends[0] - one.starts[0]) for one in drawn]
    # the rod pulls with lam q, |q| = 1
    np.testing.assert_allclose(lengths[0] / lengths[1], abs(pendulum.lam[20, 0] / pendulum.lam[60, 0]), rtol=1e-9)
    size = np.abs(pendulum.lam[:, 0])
    span = np.max(np.ptp(geometry.limits(margin=0.0), axis=1))
    share = np.minimum(size[60] / np.quantile(size[size > 1e-4 * size.max()], 0.75), LONGEST)
    np.testing.assert_allclose(lengths[1], USUAL * span * share, rtol=1e-9)


def test_times_between_states_and_runs_back_in_time(thrown):
    late = ForcesInTime(thrown, geometry_of(thrown), thrown.t[:-1] + 0.004, FORCES["contacts"])
    exact = ForcesInTime(thrown, geometry_of(thrown), thrown.t[:-1], FORCES["contacts"])
    np.testing.assert_array_equal(late.arrows.vectors, exact.arrows.vectors)
    runs = [da.simulate(da.gallery.Pendulum(), da.Rattle(), [1.0, 0.0], [0.0, 0.0], t=(0.0, end), h=0.01)
            for end in (-0.5, 0.5)]  # fmt: skip
    drawn = [at_the_end(run, geometry_of(run), FORCES["reactions"]) for run in runs]
    np.testing.assert_allclose(drawn[0].ends, drawn[1].ends, atol=1e-9)


def test_films_show_the_forces_that_are_asked_for(thrown, tmp_path):
    seen = {words: red(thrown.animate(tmp_path / f"{words}.gif", seconds=1, fps=10, pixels=200, forces=words))
            for words in ("contacts", "none")}  # fmt: skip
    assert seen["contacts"] > 10
    assert seen["none"] == 0


def test_figures_show_forces_at_the_end(tmp_path, monkeypatch):
    resting = da.simulate(Thrown(), da.MoreauJean(), [0.0, 0.0], [1.0, 0.0], t=(0.0, 0.1), h=0.01)
    monkeypatch.setattr("dalembert.plots.figures.moving_geometry", lambda run, dimension: geometry_of(run, dimension))
    for words, least in (("contacts", 20), ("none", -1)):
        da.plots.plot_path(resting, tmp_path / "path.png", forces=words)
        assert red(tmp_path / "path.png") > least
    assert red(tmp_path / "path.png") == 0
    with pytest.raises(da.InputError, match='forces must be "none", "contacts", "reactions" or "all"'):
        da.plots.plot_path(resting, tmp_path / "path.png", forces=True)


def test_arrows_in_space_are_turned_with_the_axes():
    from dalembert.plots.arrow_artist import add_arrows

    run = da.simulate(da.gallery.SphericalPendulum(), da.Rattle(), *da.gallery.SphericalPendulum().start()[:2],
                      t=(0.0, 0.5), h=0.01)  # fmt: skip
    drawn = at_the_end(run, geometry_of(run), FORCES["reactions"])
    assert drawn.starts.shape == (1, 3)
    figure = plt.figure()
    axes = figure.add_subplot(projection="3d")
    arrows = add_arrows(axes)
    arrows.show(drawn)
    outlines_seen = []
    for azimuth in (10, 80):
        axes.view_init(20, azimuth)
        figure.canvas.draw()
        outlines_seen.append(arrows.get_paths()[0].vertices.copy())
    assert not np.allclose(*outlines_seen)
    plt.close(figure)


def test_without_contacts_and_where_points_are_not_the_systems_own_nothing_is_drawn(pendulum, thrown, tmp_path):
    geometry = geometry_of(pendulum)
    assert ForcesInTime(pendulum, geometry, pendulum.t, FORCES["contacts"]).at(3, geometry.points[3]) is None
    turned = run_of(Turned())
    assert red(turned.animate(tmp_path / "film.gif", seconds=1, fps=10, pixels=128, dimension=2)) == 0
    assert FORCES["all"] == Wanted()


def test_between_spheres_forces_are_rods_from_centre_to_centre():
    radius, centres = np.array([0.5, 0.5]), [0.0, 0.0, 0.5, 0.0, 0.0, 1.5, *np.zeros(6)]
    spheres = da.Spheres(radius=radius, mass=np.ones(2))
    run = da.simulate(spheres, da.MoreauJean(), centres, np.zeros(12), t=(0.0, 0.1), h=0.01)
    drawn = at_the_end(run, geometry_of(run), FORCES["contacts"])
    assert np.all(drawn.head == 0)
    np.testing.assert_allclose(sorted(drawn.ends[:, 2]), [0.5, 1.5], atol=1e-3)
    # the lower one carries twice the weight, in a section twice as large
    lower, upper = drawn.half[np.argsort(drawn.ends[:, 2])]
    np.testing.assert_allclose((lower / upper) ** 2, 2.0, rtol=0.1)


def test_an_outline_is_no_wider_than_its_head_and_ends_at_its_tip():
    ends = np.array([[3.0, 4.0], [0.001, 0.0]])
    found = outlines(np.zeros((2, 2)), ends, np.array([THICK, THICK]), np.array([0.5, 0.5]))
    np.testing.assert_allclose(found[:, 3], ends)
    np.testing.assert_allclose(found[0, 2] - found[0, 4], [-0.36, 0.27], atol=1e-12)  # 0.9 times the head, across
    assert np.ptp(found[1, :, 0]) <= 0.001 + 1e-12  # a short arrow does not begin behind its start
