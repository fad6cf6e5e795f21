"""Starting values that are remembered: the same numbers, and nobody can change them."""

import sys

import numpy as np
import pytest

import dalembert as da
from dalembert.stepping.consistent import _eager_start


def test_a_start_is_computed_once_for_all_methods(monkeypatch):
    counted = []

    def recorded(*arguments):
        counted.append(arguments)
        return _eager_start(*arguments)

    monkeypatch.setattr(sys.modules["dalembert.stepping.consistent"], "_eager_start", recorded)
    system = da.gallery.Pendulum(gravity=9.80665)
    start = system.start()
    runs = [
        da.simulate(system, method, start.q0, start.v0, t=(0.0, 0.1), h=h)
        for method, h in ((da.Rattle(), 0.01), (da.Rattle(), 0.02), (da.Galerkin(2), 0.01))
    ]
    assert len(counted) == 1
    np.testing.assert_array_equal(runs[0].q[0], runs[2].q[0])
    da.simulate(da.gallery.Pendulum(gravity=9.8), da.Rattle(), start.q0, start.v0, t=(0.0, 0.1), h=0.01)
    da.simulate(system, da.Rattle(), start.q0, 2 * start.v0 + 0.0, t=(0.5, 0.6), h=0.01)
    assert len(counted) == 3


def test_what_a_caller_changes_is_his_own():
    system = da.gallery.Pendulum()
    start = system.start()
    first = da.consistent(system, start.q0, start.v0)
    kept = first.q.copy(), first.lam.copy()
    first.q[:] = 7.0
    first.lam[:] = 7.0
    again = da.consistent(system, start.q0, start.v0)
    np.testing.assert_array_equal(again.q, kept[0])
    np.testing.assert_array_equal(again.lam, kept[1])


def test_a_member_that_penetrates_is_named():
    """Only the first member of a batch was judged: the others began inside the floor, without a word."""
    ball = da.gallery.BouncingBall()
    with pytest.raises(da.InconsistentStart, match=r"member 2 of the batch: BouncingBall: the start penetrates"):
        da.simulate(ball, da.MoreauJean(), [[1.0], [0.5], [-0.2]], np.zeros((3, 1)), t=(0, 1), h=0.1)
