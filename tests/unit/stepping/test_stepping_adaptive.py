"""Step sizes of Moreau-Jean chosen by the error."""

import jax.numpy as jnp
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
        ((1e-3, 0.0, 0.01, 0.1, False, 1.1), "alpha of Adaptive must be at most 1"),
        ((1e-3, 0.0, 0.01, 0.1, False, 0.0), "alpha of Adaptive must be a positive number"),
        ((1e-3, 0.0, 0.01, 0.1, False, None, 1.0), "alpha_min of Adaptive must be below 1"),
        ((1e-3, 0.0, 0.01, 0.1, False, None, 0.5, 1.0), "alpha_max above"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(da.InputError, match=message):
        da.Adaptive(*arguments)


def test_what_has_no_meaning_is_refused():
    sizes = da.Adaptive(1e-3, 0.0, 0.01, 0.1)
    with pytest.raises(da.InputError, match="single run with numbers"):
        da.simulate(ImpactOscillator(), da.MoreauJean(), np.ones((3, 1)), np.zeros((3, 1)), h=sizes)
    with pytest.raises(da.MethodDoesNotFit, match=r"da\.Adaptive does not fit SchatzmanPaoli: a contact that"):
        da.simulate(ImpactOscillator(), da.SchatzmanPaoli(), [1.0], [0.0], h=sizes)
    with pytest.raises(da.InputError, match="save_every must be 1"):
        da.simulate(ImpactOscillator(), da.MoreauJean(), [1.0], [0.0], h=sizes, save_every=2)
    with pytest.raises(da.InputError, match="atol of Adaptive must be a number or 1, one a coordinate, got 2"):
        da.simulate(ImpactOscillator(), da.MoreauJean(), [1.0], [0.0], h=da.Adaptive((1e-3, 1e-3), 0.0, 0.01, 0.1))


def test_the_rule_in_numbers():
    """(57), (59), (60) by hand for order 4, (61) for steps through impacts."""
    rule = da.Adaptive(1e-3, 1e-2, 0.1, 1.0, alpha=0.8, alpha_min=0.25, alpha_max=3.0)
    start, one, halves = np.array([0.1, 1.0]), np.array([0.2, 1.03]), np.array([0.2, 1.0])
    assert rule.error(start, one, halves, 4) == pytest.approx(0.03 / 15 / (1e-3 + 1e-2))
    assert rule.error(start, one, halves) == pytest.approx(0.03 / (1e-3 + 1e-2))
    assert rule.next_size(0.1, 0.5, 4) == pytest.approx(0.1 * 0.8 * 2 ** (1 / 5))
    assert rule.next_size(0.1, 1e9, 4) == pytest.approx(0.025)
    assert rule.next_size(0.1, 1e-9, 1) == pytest.approx(0.3)
    assert rule.next_size(0.1, 0.0, 1) == pytest.approx(0.3)
    assert rule.next_size(0.9, 0.0, 1) == 1.0


PROBLEMS = {
    "pendulum": (da.gallery.Pendulum(), da.Rattle(), 2.0),
    "double pendulum": (da.gallery.DoublePendulum(), da.Galerkin(2), 1.0),
    "skate": (da.gallery.Skate(), da.gauss_spark(2), 5.0),
}


@pytest.mark.parametrize("name", list(PROBLEMS))
def test_the_error_follows_the_tolerance(name):
    """A step errs by the tolerance and there are tol^(-1/(p+1)) of them: the error goes like tol^(p/(p+1))."""
    system, method, end = PROBLEMS[name]
    q0, v0 = ([0.0] * 3, [0.0, 0.0, 1.0]) if name == "skate" else tuple(system.start())[:2]
    exact = da.simulate(system, da.gauss_spark(3), q0, v0, t=(0.0, end), h=end / 2000).q[-1]
    tolerances, errors = np.array([1e-4, 1e-5, 1e-6, 1e-7]), []
    for tolerance in tolerances:
        run = da.simulate(system, method, q0, v0, t=(0.0, end), h=da.Adaptive(tolerance, tolerance, 1e-2, 1.0))
        errors.append(np.max(np.abs(run.q[-1] - exact)))
        assert max(np.max(run.constraint, initial=0.0), np.max(run.hidden)) < 1e-12
    slope = np.polyfit(np.log(tolerances), np.log(errors), 1)[0]
    assert slope == pytest.approx(method.order / (method.order + 1), abs=0.1)
    assert np.max(errors / tolerances) < 200


class Kepler(da.System):
    def lagrangian(self, t, q, v):
        return 0.5 * (v @ v) + 1 / jnp.sqrt(q @ q)


def test_small_steps_where_the_motion_is_quick_and_what_they_cost():
    """With eccentricity 0.9 equal steps of the same number lose the orbit; the chosen ones make the energy drift."""
    period, q0, v0 = 2 * np.pi, [0.1, 0.0], [0.0, 19**0.5]
    run = da.simulate(Kepler(), da.gauss_spark(2), q0, v0, t=(0.0, 10 * period), h=da.Adaptive(1e-6, 1e-6, 1e-3, 1.0))
    equal = da.simulate(
        Kepler(), da.gauss_spark(2), q0, v0, t=(0.0, 10 * period), h=10 * period / len(run.t), on_failure="return"
    )
    assert np.max(np.abs(run.q[-1] - q0)) < 0.1
    assert not equal.status or np.max(np.abs(equal.q[-1] - q0)) > 0.5
    assert np.max(np.diff(run.t)) > 100 * np.min(np.diff(run.t))
    error = np.asarray(run.energy) - run.energy[0]
    middle = np.searchsorted(run.t, 5 * period)
    assert error[-1] == pytest.approx(2 * error[middle], rel=0.3)  # it grows: the method is not symplectic any more


@pytest.mark.parametrize("method", [da.Composition(da.Rattle(), "yoshida4"), da.Taylor(8)])
def test_other_methods_take_it(method):
    """A composition, whose phases are runners of their own, and an explicit method."""
    system = da.gallery.Pendulum()
    start = system.start()
    run = da.simulate(system, method, start.q0, start.v0, t=(0.0, 1.0), h=da.Adaptive(1e-5, 1e-5, 1e-3, 0.1))
    assert np.max(np.abs(run.q - np.asarray(system.exact(run.t).q))) < 3e-4
    assert run.stats["accepted"] < 100
