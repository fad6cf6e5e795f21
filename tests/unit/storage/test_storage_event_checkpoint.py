"""Checkpoints of event capturing: events, impulses and dense output are those of the run in memory."""

import copy

import numpy as np
import pytest

import dalembert as da
from dalembert.gallery import BouncingBall, SlidingBlock
from dalembert.stepping.event_run import EventRunner
from dalembert.storage.store_files import Damaged
from dalembert.storage.stored_values import check_condition


class Stopped(Exception):
    """What ends a run between two checkpoints."""


def interrupted(path, call, after):
    def stop(taken):
        if taken >= after:
            raise Stopped

    with pytest.raises(Stopped):
        da.simulate(**call, checkpoint=path, checkpoint_every=10, progress=stop)


@pytest.mark.parametrize(
    ("system", "end", "events"),
    [
        pytest.param(BouncingBall(), 3.0, {"impact", "closing"}, id="bouncing ball"),
        pytest.param(SlidingBlock(angle=0.2), 1.0, {"stick"}, id="sliding block", marks=pytest.mark.long),
    ],
)
def test_a_run_that_goes_on_has_the_events_of_one_that_was_not_interrupted(system, end, events, tmp_path):
    start = system.start()
    call = {"system": system, "method": da.EventCapturing(da.half_explicit(3)), "q0": start.q0, "v0": start.v0,
            "t": (0.0, end), "h": end / 60, "save_every": 3}  # fmt: skip
    whole = da.simulate(**call, checkpoint=tmp_path / "whole.zarr", checkpoint_every=10)
    plain = da.simulate(**call)
    assert whole.q == pytest.approx(plain.q, abs=1e-13)
    assert whole.impulse == pytest.approx(plain.impulse, abs=1e-12)
    interrupted(tmp_path / "run.zarr", call, 30)
    part = da.load(tmp_path / "run.zarr")
    assert 20 <= part.status.step < 60
    assert len(part.events) == int(np.sum(whole.events.time <= part.status.step * end / 60))
    again = da.simulate(**call, checkpoint=tmp_path / "run.zarr", checkpoint_every=10)
    for name in ("t", "q", "v", "p", "impulse", "iterations"):
        assert np.array_equal(getattr(again, name), getattr(whole, name))
    assert events <= set(again.events.kind.tolist())
    for name, values in whole.events.arrays().items():
        assert np.array_equal(again.events.arrays()[name], values)
    times = np.linspace(0.0, end, 7)
    assert np.array_equal(again.interpolate(times).q, whole.interpolate(times).q)
    loaded = da.load(tmp_path / "run.zarr")
    assert np.array_equal(loaded.events.time, whole.events.time)


def test_a_failed_run_says_the_same_when_it_is_asked_again(tmp_path):
    pole = da.system(lambda t, q, v: 0.5 * (v @ v) + 3.0 * q[0], gap=lambda t, q: (1.0 - q) ** 0.5)
    call = {"system": pole, "method": da.EventCapturing(da.half_explicit(3)), "q0": [0.0], "v0": [1.0],
            "t": (0.0, 2.0), "h": 0.05, "on_failure": "return", "checkpoint": tmp_path / "run.zarr"}  # fmt: skip
    first, second = da.simulate(**call), da.simulate(**call)
    assert "NaN or infinity" in str(first.status)
    assert str(second.status) == str(first.status)
    assert np.array_equal(first.q, second.q)


def test_what_no_run_can_be_in_is_refused(tmp_path, monkeypatch):
    found = []
    keep = EventRunner.restore
    monkeypatch.setattr(EventRunner, "restore", lambda run, kept, p: (found.append(kept), keep(run, kept, p)))
    call = {"system": BouncingBall(), "method": da.EventCapturing(da.half_explicit(3)), "q0": [1.0], "v0": [0.0],
            "t": (0.0, 0.2), "h": 0.01}  # fmt: skip
    interrupted(tmp_path / "run.zarr", call, 10)
    da.simulate(**call, checkpoint=tmp_path / "run.zarr", checkpoint_every=10)
    (good,) = found
    plan = _Plan()
    check_condition(good, good, plan, 0, 0)
    for change in (
        lambda c: c["moment"].update(t=9.0),
        lambda c: c["moment"].update(y=c["moment"]["y"] * np.nan),
        lambda c: c["moment"].update(y=np.zeros(1)),
        lambda c: c["moment"].update(fastest=np.zeros(3)),
        lambda c: c["counts"].update(smooth_steps=-1),
        lambda c: c["modes"].update(mode_time=np.zeros(7)),
        lambda c: c.pop("events"),
        lambda c: c["pieces"]["made"][0].update(y=np.zeros(1)),
    ):
        bad = copy.deepcopy(good)
        change(bad)
        with pytest.raises(Damaged):
            check_condition(bad, good, plan, 0, 0)


class _Plan:
    """The interval of that run."""

    t0, h, steps = 0.0, 0.01, 20


def test_what_cannot_be_kept_is_refused(tmp_path):
    call = {"method": da.EventCapturing(), "t": (0.0, 0.2), "h": 0.1, "checkpoint": tmp_path / "run.zarr"}
    with pytest.raises(da.InputError, match="checkpoint is for a single run with numbers, not for a batch"):
        da.simulate(BouncingBall(), q0=[[1.0], [2.0]], v0=np.zeros((2, 1)), **call)
