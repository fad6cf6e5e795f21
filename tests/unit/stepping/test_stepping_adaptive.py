"""Step sizes of Moreau-Jean chosen by the error."""

import numpy as np
import pytest

import dalembert as da
from dalembert.gallery.impacts import ImpactOscillator


def run_with(step_size):
    system = ImpactOscillator(stop=0.2, restitution=0.5)
    start = system.start()
    run = da.simulate(system, da.MoreauJean(), start.q0, start.v0, t=(0.0, 5.0), h=step_size)
    error = np.abs(run.q - np.asarray(system.exact(run.t).q))[1:, 0]
    return run, float(np.sum(error * np.diff(run.t)))


def test_smaller_tolerance_smaller_error_and_more_steps():
    coarse, fine = (run_with(da.Adaptive(tolerance, 0.0, 1e-3, 0.02)) for tolerance in (1e-2, 1e-5))
    assert fine[1] < 0.2 * coarse[1]
    assert fine[0].stats["accepted"] > coarse[0].stats["accepted"]


@pytest.mark.parametrize("event_aware", [False, True])
def test_record_of_a_run(event_aware):
    run, _ = run_with(da.Adaptive(1e-4, 1e-4, 1e-3, 0.05, event_aware))
    sizes = np.diff(run.t)
    assert run.t[0] == 0.0
    assert run.t[-1] == 5.0
    assert np.all(sizes > 0)
    assert np.max(sizes) <= 0.05 + 1e-12
    assert run.stats["accepted"] == len(sizes) == run.status.step
    assert run.stats["rejected"] > 0
    assert run.stats["force_evaluations"] >= 3 * (run.stats["accepted"] + run.stats["rejected"])
    # forces of spring and damper are smooth: the impulses of both halves of every step are there
    total = np.sum(run.impulse)
    assert total == pytest.approx(run.p[-1, 0] - run.p[0, 0] + momentum_of_spring_and_damper(run), abs=0.05)


def momentum_of_spring_and_damper(run):
    middle = (run.q[1:, 0] + run.q[:-1, 0]) / 2
    return np.sum(20.0 * middle * np.diff(run.t)) + 0.2 * (run.q[-1, 0] - run.q[0, 0])


def test_awareness_of_events_saves_steps():
    plain, aware = (run_with(da.Adaptive(1e-5, 0.0, 1e-3, 0.05, flag))[0] for flag in (False, True))
    assert aware.stats["force_evaluations"] < plain.stats["force_evaluations"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1e-3, 0.0, -1.0, 0.1), "h0 of Adaptive must be a positive number"),
        ((1e-3, 0.0, 0.01, np.inf), "h_max of Adaptive must be a positive number"),
        ((-1.0, 0.0, 0.01, 0.1), "atol of Adaptive must be at least 0"),
        (("small", 0.0, 0.01, 0.1), "atol of Adaptive must be an array of floats"),
        ((0.0, 0.0, 0.01, 0.1), "must not both be 0"),
        ((1e-3, 0.0, 0.2, 0.1), "must not exceed h_max"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(da.InputError, match=message):
        da.Adaptive(*arguments)


def test_other_methods_and_batches_are_refused():
    sizes = da.Adaptive(1e-3, 0.0, 0.01, 0.1)
    with pytest.raises(da.MethodDoesNotFit, match=r"da.Adaptive is for da.MoreauJean"):
        da.simulate(da.gallery.Pendulum(), da.Rattle(), [1.0, 0.0], [0.0, 0.0], h=sizes)
    with pytest.raises(da.InputError, match="single run with numbers"):
        da.simulate(ImpactOscillator(), da.MoreauJean(), np.ones((3, 1)), np.zeros((3, 1)), h=sizes)
    with pytest.raises(da.InputError, match="save_every must be 1"):
        da.simulate(ImpactOscillator(), da.MoreauJean(), [1.0], [0.0], h=sizes, save_every=2)
