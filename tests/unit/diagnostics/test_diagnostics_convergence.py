"""Fitted orders: what is masked, what never is, and the runs behind them."""

import numpy as np
import pytest

import dalembert as da
from dalembert.diagnostics import end_errors, observed_order, reference_solution, work_precision
from dalembert.gallery import HarmonicOscillator, Kepler, Pendulum

HS = 0.1 / 2.0 ** np.arange(10)


def test_exact_power_law():
    found = observed_order(HS, 3.0 * HS**2)
    assert found.slope == pytest.approx(2.0, abs=1e-12)
    assert np.exp(found.intercept) == pytest.approx(3.0, rel=1e-12)
    assert found.points == 10
    assert found.mask.all()
    assert found.residual <= 1e-12


def test_order_of_the_step_sizes_does_not_matter():
    order = np.random.default_rng(0).permutation(len(HS))
    errors = HS**4 + 1e-13
    sorted_first, shuffled = observed_order(HS, errors), observed_order(HS[order], errors[order])
    assert shuffled.slope == pytest.approx(sorted_first.slope, rel=1e-12)
    assert shuffled.mask.tolist() == sorted_first.mask[order].tolist()


@pytest.mark.parametrize("order", [1, 2, 4, 6])
@pytest.mark.parametrize("level", [1e-15, 1e-12])
def test_plateau_of_roundoff_is_masked(order, level):
    noise = level * np.abs(np.random.default_rng(1).standard_normal(len(HS)))
    found = observed_order(HS, HS**order + noise)
    assert found.points >= 3
    assert found.slope == pytest.approx(order, abs=0.05)
    assert found.mask.sum() < len(HS) or order * np.log10(HS[-1]) > np.log10(level)


def test_roundoff_that_grows_as_the_step_shrinks_is_masked():
    """As of a multiplier that is found with a roundoff of 1e-16 / h^2."""
    found = observed_order(HS, 1e-3 * HS**2 + 1e-16 / HS**2)
    assert found.slope == pytest.approx(2.0, abs=0.1)


def test_range_before_the_asymptotic_one_is_masked():
    found = observed_order(HS, HS**2 * (1 + 300 * HS**2))
    assert found.slope == pytest.approx(2.0, abs=0.05)
    assert not found.mask[0]
    assert found.mask[-1]


def test_method_that_does_not_converge_is_not_excused():
    """A flat end far above roundoff stays in the fit."""
    found = observed_order(HS, HS + 3e-3)
    assert found.slope < 0.2
    assert found.mask[-3:].all()


def test_failed_runs_and_exact_zeros_are_left_out():
    errors = HS**2
    errors[0], errors[-1] = np.nan, 0.0
    found = observed_order(HS, errors)
    assert found.slope == pytest.approx(2.0, abs=1e-10)
    assert found.mask.tolist() == [False, *[True] * 8, False]


def test_too_few_points_above_roundoff():
    with pytest.raises(da.InputError, match="needs 3 points above roundoff, got 2 of 3"):
        observed_order([0.1, 0.05, 0.025], [1e-2, 1e-3, 0.0])


@pytest.mark.parametrize(
    ("hs", "errors", "message"),
    [
        ([0.1, 0.2], [1.0], "of one shape"),
        ([0.1, 0.1, 0.2], [1.0, 1.0, 1.0], "positive and different"),
        ([0.1, -0.1, 0.2], [1.0, 1.0, 1.0], "positive and different"),
    ],
)
def test_bad_points_are_refused(hs, errors, message):
    with pytest.raises(da.InputError, match=message):
        observed_order(hs, errors)


@pytest.fixture(scope="module")
def kepler():
    return Kepler(), Kepler().start()


def test_reference_solution_agrees_with_the_exact_motion(kepler):
    system, start = kepler
    found = reference_solution(system, start.q0, start.v0, (0.0, 3.0))
    for name in ("q", "p", "v"):
        assert np.asarray(getattr(found, name)) == pytest.approx(
            np.asarray(getattr(system.exact(3.0), name)), abs=1e-11
        )


def test_reference_solution_takes_a_momentum():
    start = Pendulum(mass=2.0).start()
    by_velocity = reference_solution(Pendulum(mass=2.0), start.q0, start.v0)
    by_momentum = reference_solution(Pendulum(mass=2.0), start.q0, p0=2.0 * start.v0)
    assert np.asarray(by_velocity.q) == pytest.approx(np.asarray(by_momentum.q), abs=1e-13)


def test_reference_solution_refuses_what_it_cannot_integrate():
    ball = da.system(lambda t, q, v: 0.5 * v @ v - q[0], gap=lambda t, q: q)
    with pytest.raises(da.InputError, match="expects a system without contact, got system with a gap"):
        reference_solution(ball, [1.0], [0.0])


def test_order_of_runs_with_every_kind_of_reference(kepler):
    system, start = kepler
    hs = [0.02, 0.01, 0.005]
    arguments = (system, da.Rattle(), start.q0, start.v0, (0.0, 1.0), hs)
    exact = system.exact(1.0)
    found = [
        observed_order(*arguments),
        observed_order(*arguments, exact),
        observed_order(*arguments, system.exact),
        observed_order(*arguments, np.asarray(exact.q)),
        observed_order(*arguments, float(exact.q[0]), quantity=lambda run: run.q[-1, 0]),
        observed_order(system=system, method=da.Rattle(), q0=start.q0, v0=start.v0, t=(0.0, 1.0), hs=hs, quantity="p"),
    ]
    for one in found:
        assert one.slope == pytest.approx(2.0, abs=0.1)
    assert found[0].errors == pytest.approx(found[1].errors, rel=1e-6)
    assert found[1].errors == pytest.approx(found[3].errors, rel=1e-12)


def test_a_function_as_quantity_needs_its_own_reference(kepler):
    system, start = kepler
    with pytest.raises(da.InputError, match="its own reference value"):
        end_errors(
            system,
            da.Rattle(),
            start.q0,
            start.v0,
            (0.0, 1.0),
            [0.1],
            quantities={"x": lambda run: run.q[-1, 0]},
        )


def test_run_that_fails_has_no_error():
    """A pendulum that turns by more than a right angle in a step has no solution of its constraint."""
    q0, v0 = [0.0, -1.0], [30.0, 0.0]
    found = end_errors(Pendulum(), da.Rattle(), q0, v0, (0.0, 1.0), [0.1, 0.01, 0.005], quantities=("q", "lam"))
    assert np.isnan(found.errors["q"]).tolist() == [True, False, False]
    assert np.isnan(found.seconds).tolist() == [True, False, False]


def test_work_precision_has_a_row_for_each_method():
    system = HarmonicOscillator()
    start = system.start()
    found = work_precision(
        system,
        {"one": da.Rattle(), "two": da.Shake()},
        start.q0,
        start.v0,
        (0.0, 1.0),
        [0.1, 0.05],
        system.exact,
    )
    assert found.methods == ("one", "two")
    assert found.steps.tolist() == [10, 20]
    assert found.errors.shape == found.seconds.shape == found.iterations.shape == (2, 2)
    assert found.errors[:, 0] / found.errors[:, 1] == pytest.approx([4.0, 4.0], rel=0.1)
    assert np.all(found.seconds > 0)


def test_work_precision_names_methods_by_themselves(kepler):
    system, start = kepler
    found = work_precision(system, [da.Rattle()], start.q0, start.v0, (0.0, 1.0), [0.1], system.exact, quantity="p")
    assert found.methods == ("Rattle()",)
    with pytest.raises(da.InputError, match="methods, at least one"):
        work_precision(system, [], start.q0, start.v0, (0.0, 1.0), [0.1])
