"""Environments of Gymnasium: the motion is that of `simulate`, episodes end and begin, batches do the same."""

import importlib.util
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da

gymnasium = pytest.mark.skipif(importlib.util.find_spec("gymnasium") is None, reason="needs the extra control")


class Arm(da.System):
    """Two links under gravity, pushed at the elbow."""

    inputs: ClassVar = {"elbow": da.Input(lower=-5.0, upper=5.0)}

    def lagrangian(self, t, q, v):
        kinetic = v[0] ** 2 + 0.5 * v[1] ** 2 + v[0] * v[1] * jnp.cos(q[0] - q[1])
        return kinetic + 9.81 * (2 * jnp.cos(q[0]) + jnp.cos(q[1]))

    def force(self, t, q, v, u):
        return jnp.array([-u[0], u[0]])


START = ([0.1, 0.0], [0.0, 0.0])


@gymnasium
def test_an_episode_is_a_run():
    environment = da.gym(Arm(), da.Rattle(), 0.01, START, lambda t, q, v, u: -abs(q[0]) - u[0], most_steps=20, steps=2)
    observed, _ = environment.reset(seed=3)
    assert np.array_equal(observed, [0.1, 0.0, 0.0, 0.0])
    actions = np.linspace(-1.0, 8.0, 20)[:, None]
    seen = [environment.step(action) for action in actions]
    used = np.repeat(np.clip(actions, -5.0, 5.0), 2, axis=0)
    run = da.simulate(Arm(), da.Rattle(), *START, t=(0.0, 0.4), h=0.01, control=used)
    assert np.allclose([state for state, *_ in seen], np.concatenate([run.q, run.v], axis=1)[2::2], atol=1e-12)
    assert seen[5][1] == pytest.approx(-abs(run.q[12, 0]) - actions[5, 0])
    assert [cut for *_, cut, _ in seen] == [False] * 19 + [True]
    assert environment.action_space.contains(np.array([4.0]))
    again, _ = environment.reset()
    assert np.array_equal(again, observed)


@gymnasium
def test_many_members_begin_anew_one_by_one():
    def start(random):
        return random.normal(size=2), np.zeros(2)

    many = da.gym(
        Arm(), da.Rattle(), 0.01, start, lambda t, q, v, u: -q[:, 0], ends=lambda t, q, v: q[:, 0] > 1.0,
        most_steps=4, members=6,
    )  # fmt: skip
    first, _ = many.reset(seed=1)
    assert first.shape == (6, 4)
    over = np.zeros(6, bool)
    for k in range(8):
        observed, reward, ended, cut, _ = many.step(np.zeros((6, 1)))
        assert np.all(reward[over] == 0.0)
        assert np.array_equal(reward[~over], -observed[~over, 0])
        assert not (ended | cut)[over].any()
        over = ended | cut
        if k == 3:
            assert over.all()


def test_without_the_package_or_with_the_wrong_arguments(monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(importlib.util, "find_spec", lambda name: None)
        with pytest.raises(da.InputError, match=r"dalembert\[control\]"):
            da.gym(Arm(), da.Rattle(), 0.01, START, lambda t, q, v, u: 0.0)


@gymnasium
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": 3}, "start must be"),
        ({"reward": lambda q: 0.0}, "reward must be a function"),
        ({"ends": 2}, "ends must be a function"),
        ({"steps": 0}, "steps"),
        ({"members": 0}, "members"),
        ({"system": da.gallery.Pendulum()}, "needs a system with inputs"),
    ],
)
def test_what_is_wrong_is_said(change, message):
    given = {"system": Arm(), "method": da.Rattle(), "h": 0.01, "start": START, "reward": lambda t, q, v, u: 0.0}
    with pytest.raises(da.InputError, match=message):
        da.gym(**(given | change))
