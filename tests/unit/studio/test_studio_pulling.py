"""A point that is drawn towards a place: where it comes to rest, what is kept, and how a live run begins and ends."""

import time

import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.gallery import BallInBox, Chain, Pendulum
from dalembert.studio.messages import PullRequest
from dalembert.studio.pulling import FOLLOWING, Hand, LiveRun, Picture, Place

HANGING = Place(0.0, np.array([0.0, -1.0]), np.zeros(2))


def test_a_held_pendulum_comes_to_rest_where_spring_and_weight_balance():
    """On the circle, so where the sum of both forces points along the rod."""
    hand = Hand(Pendulum(), da.Rattle(), 0.01, HANGING)
    to = np.array([0.9, -0.2])
    hand.hold(0, tuple(to))
    hand.go_on(3000)
    (q,) = hand.picture().points
    force = FOLLOWING**2 * (to - q) - np.array([0.0, Pendulum().gravity])  # of a mass of 1
    assert abs(q @ q - 1) < 1e-14
    assert abs(force[0] * q[1] - force[1] * q[0]) < 1e-9 * np.linalg.norm(force)


def test_when_let_go_it_moves_as_without_a_hand():
    system = Pendulum()
    hand = Hand(system, da.Rattle(), 0.01, HANGING)
    hand.hold(0, (1.0, -0.5))
    hand.go_on(20)
    hand.hold(None, ())
    begun = hand.picture()
    hand.go_on(100)
    state = hand._stepper.state
    # back in time, without a pull: RATTLE is symmetric
    back = da.simulate(system, da.Rattle(), state.q, -state.v, t=(0, 1), h=0.01)
    np.testing.assert_allclose(back.q[-1], begun.points[0], atol=1e-12)


def test_the_pull_is_a_force_like_any_other():
    """The same numbers as a system whose force was written by hand."""

    class Drawn(Pendulum):
        def force(self, t, q, v):
            return FOLLOWING**2 * (jnp.array([0.5, -0.5]) - q) - 2 * FOLLOWING * v

    hand = Hand(Pendulum(), da.gauss_spark(1), 0.01, HANGING)
    hand.hold(0, (0.5, -0.5))
    hand.go_on(49)
    run = da.simulate(Drawn(), da.gauss_spark(1), HANGING.q, HANGING.v, t=(0, 0.5), h=0.01)
    np.testing.assert_allclose(hand.picture().points[0], run.q[-1], atol=1e-12)


@pytest.mark.parametrize(
    ("system", "method", "place", "point"),
    [
        (Chain(links=3), da.Rattle(), None, 2),
        (BallInBox(), da.MoreauJean(), None, 0),
        (da.gallery.HamiltonianSphericalPendulum(), da.Rattle(), None, 0),
    ],
    ids=["chain", "contact", "hamiltonian"],
)
def test_a_point_comes_nearer(system, method, place, point):
    start = system.start()
    hand = Hand(system, method, start.h, Place(0.0, np.asarray(start.q0), np.asarray(start.v0)))
    before = hand.picture().points[point]
    to = before + 0.05 * np.array([1.0, 1.0, 1.0][: len(before)]) - 0.1 * before
    hand.hold(point, tuple(to))
    hand.go_on(round(3 / start.h))
    assert np.linalg.norm(hand.picture().points[point] - to) < 0.9 * np.linalg.norm(before - to)


def test_what_cannot_be_pulled_is_named():
    hand = Hand(Pendulum(), da.Rattle(), 0.01, HANGING)
    with pytest.raises(da.InputError, match="there is no point 3"):
        hand.hold(3, (0.0, 0.0))
    with pytest.raises(da.InputError, match="have 2 coordinates, got 3"):
        hand.hold(0, (0.0, 0.0, 0.0))
    with pytest.raises(da.MethodDoesNotFit):
        Hand(BallInBox(), da.EventCapturing(), 0.01, Place(0.0, np.zeros(2), np.zeros(2)))


def test_a_live_run_shows_pictures_until_it_is_told_to_end():
    pictures: list[Picture] = []
    live = LiveRun(pictures.append, pytest.fail)
    live.want(PullRequest(1, 0, (1.0, -0.5), number=1))
    live.begin(Hand(Pendulum(), da.Rattle(), 0.01, HANGING))
    deadline = time.monotonic() + 30
    while len(pictures) < 5 and time.monotonic() < deadline:
        time.sleep(0.01)
    live.end()
    assert live._thread is not None
    live._thread.join(10)
    assert not live._thread.is_alive()
    assert live.ended
    assert len(pictures) >= 5
    assert np.all(np.diff([picture.t for picture in pictures]) >= 0)
    assert pictures[-1].t > 0


def test_a_live_run_that_fails_says_why():
    said: list[str] = []
    live = LiveRun(lambda picture: None, said.append)
    live.want(PullRequest(1, 9, (1.0, -0.5), number=1))
    live.begin(Hand(Pendulum(), da.Rattle(), 0.01, HANGING))
    assert live._thread is not None
    live._thread.join(30)
    assert live.ended
    assert "there is no point 9" in said[0]
