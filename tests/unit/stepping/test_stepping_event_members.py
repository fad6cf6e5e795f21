"""Batches with event capturing: every member has the events and the bits of the run of its own."""

import numpy as np
import pytest

import dalembert as da
from dalembert.gallery import BallInBox, BouncingBall, ImpactOscillator, SlidingBlock
from dalembert.stepping import event_members

METHOD = da.EventCapturing(da.half_explicit(4))


def test_members_are_the_runs_of_their_own_bit_for_bit(tmp_path):
    oscillator, q0 = ImpactOscillator(), np.array([[1.0], [0.25], [0.8]])
    batch = da.simulate(oscillator, METHOD, q0, np.zeros((3, 1)), t=(0.0, 2.0), h=0.02, save_every=2)
    counts = []
    for k in range(3):
        alone = da.simulate(oscillator, METHOD, q0[k], [0.0], t=(0.0, 2.0), h=0.02, save_every=2)
        one = batch.member(k)
        for name in ("t", "q", "v", "p", "impulse"):
            assert np.array_equal(getattr(one, name), getattr(alone, name))
        assert repr(one.events) == repr(alone.events)
        assert np.array_equal(one.interpolate([0.7, 1.3]).q, alone.interpolate([0.7, 1.3]).q)
        counts.append(len(alone.events))
    assert batch.stats["events"] == sum(counts)
    assert len(set(counts)) > 1
    with pytest.raises(da.InputError, match=r"holds a batch of runs .*; ask for the events of one"):
        _ = batch.events
    again = da.load(batch.save(tmp_path / "batch.nc"))
    assert np.array_equal(again._arrays["event_member"], np.repeat([0, 1, 2], counts))


def test_members_that_bounce_often_together_take_compiled_bounces(monkeypatch):
    monkeypatch.setattr(event_members, "MANY_BOUNCES", 20)
    q0 = np.linspace(0.5, 1.5, 9)[:, None]
    ball = BouncingBall(restitution=0.8)
    batch = da.simulate(ball, METHOD, q0, 0 * q0, t=(0.0, 4.0), h=0.02)
    alone = [da.simulate(ball, METHOD, q, [0.0], t=(0.0, 4.0), h=0.02) for q in q0]
    assert batch.stats["compiled_steps"] > sum(run.stats["compiled_steps"] for run in alone)
    for k, run in enumerate(alone):
        assert batch.q[k] == pytest.approx(run.q, abs=1e-12)
        assert batch.member(k).events.time == pytest.approx(run.events.time, abs=1e-11)


@pytest.mark.parametrize(
    ("system", "name", "values"),
    [
        (BouncingBall, "restitution", [[0.0], [0.5], [1.0]]),
        (BouncingBall, "gravity", [2.0, 3.0]),
        (SlidingBlock, "friction", [[0.3], [0.8], [0.0]]),
        (BallInBox, "restitution", [[1.0, 1.0, 0.5, 0.5], [0.9, 0.8, 0.7, 0.6]]),
    ],
)
def test_parameters_of_members_are_those_of_contacts_too(system, name, values):
    """Restitution and friction are (members, 1), or (members, contacts)."""
    start = system().start()
    batch = da.simulate(
        system(**{name: np.array(values)}), METHOD, start.q0, start.v0, t=(0.0, 1.5), h=0.05, on_failure="return"
    )
    for k, value in enumerate(values):
        one = np.array(value) if np.ndim(value) and len(value) > 1 else float(np.ravel(value)[0])
        alone = da.simulate(system(**{name: one}), METHOD, start.q0, start.v0, t=(0.0, 1.5), h=0.05)
        assert np.array_equal(batch.q[k], alone.q)
        assert np.array_equal(batch.energy[k], alone.energy)


def test_a_member_that_fails_leaves_the_others_alone():
    class Pole(da.System):
        def lagrangian(self, t, q, v):
            return 0.5 * (v @ v) + 3.0 * q[0]

        def gap(self, t, q):
            return (1.0 - q) ** 0.5

    batch = da.simulate(
        Pole(), METHOD, [[0.0], [0.9], [-9.0]], np.zeros((3, 1)), t=(0.0, 0.6), h=0.05, on_failure="return"
    )
    assert batch.status.tolist() == [0, 2, 0]
    assert np.all(batch.q[1, -1] == batch.q[1, -2])
    assert np.all(np.isfinite(batch.q))
    with pytest.raises(da.InconsistentStart, match="member 1 of the batch"):
        da.simulate(BouncingBall(), METHOD, [[1.0], [-1.0]], np.zeros((2, 1)), t=(0.0, 0.6), h=0.05)


def test_a_sweep_over_restitution_and_friction(tmp_path):
    store = tmp_path / "sweep.zarr"
    found = da.sweep(
        SlidingBlock(), METHOD, {"friction": [0.3, 0.9], "angle": [0.3, 0.5]}, store, executor="here", t=(0.0, 1.0),
        h=0.05,
    )  # fmt: skip
    q = found.dataset["q"].values
    for k, (friction, angle) in enumerate([(0.3, 0.3), (0.3, 0.5), (0.9, 0.3), (0.9, 0.5)]):
        block = SlidingBlock(friction=friction, angle=angle)
        assert q[k] == pytest.approx(np.asarray(block.exact(np.linspace(0.0, 1.0, 21)).q), abs=1e-9)
    with da.sweep(
        BouncingBall(), da.MoreauJean(), {"restitution": [0.2, 0.8]}, tmp_path / "other.zarr", executor="here",
        t=(0.0, 2.0), h=0.01,
    ).dataset as runs:  # fmt: skip
        alone = [
            da.simulate(BouncingBall(restitution=rho), da.MoreauJean(), [1.0], [0.0], t=(0.0, 2.0), h=0.01).q
            for rho in (0.2, 0.8)
        ]
        assert runs["q"].values == pytest.approx(np.stack(alone), abs=1e-12)
