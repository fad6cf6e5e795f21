"""Contact impulses in films."""

import jax.numpy as jnp
import numpy as np

import dalembert as da
from dalembert.plots.geometry import geometry_of
from dalembert.plots.impulses import pushes_of


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


def test_a_push_points_away_from_the_floor():
    for system, up in ((Thrown(), 1), (Turned(), 0)):
        run = run_of(system)
        pushes = pushes_of(run, geometry_of(run))
        np.testing.assert_allclose(pushes[:, 0, up], run.impulse[:, 0])
        assert np.max(pushes) > 1
        assert np.all(pushes[:, 0, 1 - up] == 0)


def test_a_film_shows_an_impact(tmp_path):
    run = run_of(Thrown())
    film = run.animate(tmp_path / "thrown.gif", seconds=0.5, fps=10)
    assert film.stat().st_size > 1000


def test_without_contacts_there_is_nothing_to_show():
    run = da.simulate(da.gallery.Pendulum(), da.Rattle(), q0=[1.0, 0.0], v0=[0.0, 0.0], t=(0.0, 0.1), h=0.01)
    assert pushes_of(run, geometry_of(run)) is None
