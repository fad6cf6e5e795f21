"""Drift: slopes with honest errors, and exponents that tell oscillation, random walk and drift apart."""

import numpy as np
import pytest

import dalembert as da
from dalembert.diagnostics import drift

T = np.linspace(0.0, 100.0, 20_001)


def test_oscillation_does_not_drift():
    found = drift(T, 5.0 + 1e-3 * np.sin(7 * T))
    assert abs(found.slope) * 100.0 <= 1e-5
    assert abs(found.slope) <= 4 * found.standard_error
    assert found.max_deviation == pytest.approx(1e-3, rel=1e-2)
    assert abs(found.growth_exponent) <= 0.01


def test_linear_drift():
    found = drift(T, 2.0 - 1e-4 * T)
    assert found.slope == pytest.approx(-1e-4, rel=1e-10)
    assert found.max_deviation == pytest.approx(1e-2, rel=1e-10)
    assert found.growth_exponent == pytest.approx(1.0, abs=0.02)


def test_drift_under_an_oscillation():
    """A rise by as much as the oscillation's amplitude is seen, with its error."""
    found = drift(T, 1e-3 * np.sin(7 * T) + 1e-5 * T)
    assert found.slope == pytest.approx(1e-5, rel=0.02)
    assert abs(found.slope - 1e-5) <= 4 * found.standard_error
    assert found.slope > 20 * found.standard_error


def test_standard_error_is_that_of_a_line_through_the_means_of_blocks():
    """Compared with numpy's least squares, which divides by the number of blocks less two as well."""
    times, means = np.linspace(0.0, 10.0, 32), np.random.default_rng(0).standard_normal(32)
    covariance = np.polyfit(times, means, 1, cov=True)[1]
    found = drift(np.repeat(times, 4), np.repeat(means, 4))
    assert found.standard_error == pytest.approx(np.sqrt(covariance[0, 0]), rel=1e-10)


def test_random_walk():
    steps = np.random.default_rng(3).standard_normal((20, len(T)))
    exponents = [drift(T, np.cumsum(walk)).growth_exponent for walk in steps]
    assert np.mean(exponents) == pytest.approx(0.5, abs=0.1)
    assert np.std(exponents) <= 0.2


def test_white_noise_is_bounded():
    noise = np.random.default_rng(4).standard_normal(len(T))
    found = drift(T, noise)
    assert abs(found.slope) <= 4 * found.standard_error
    assert found.growth_exponent <= 0.15


def test_constant():
    found = drift(T, np.full(len(T), 3.0))
    assert (found.slope, found.standard_error, found.max_deviation, found.growth_exponent) == (
        0.0,
        0.0,
        0.0,
        0.0,
    )


@pytest.mark.parametrize(
    ("t", "values", "message"),
    [
        (T, T[:-1], "of one shape"),
        (T[:50], T[:50], "at least 128 values, got 50"),
        (T, np.where(T > 50, np.nan, T), "finite"),
    ],
)
def test_bad_values_are_refused(t, values, message):
    with pytest.raises(da.InputError, match=message):
        drift(t, values)
