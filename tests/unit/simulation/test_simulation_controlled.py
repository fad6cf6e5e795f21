"""Runs whose inputs are given: by numbers, functions of time, controllers, tables."""

from typing import ClassVar

import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da


class Pushed(da.System):
    """A pendulum in the plane, pushed along x."""

    inputs: ClassVar = {"push": da.Input(lower=-9.0, upper=9.0)}

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 9.81 * q[1]

    def holonomic(self, t, q):
        return 0.5 * (q @ q - 1.0)

    def force(self, t, q, v, u):
        return jnp.array([u[0], 0.0])


def run(control, method=None, **options):
    return da.simulate(
        Pushed(), method or da.Rattle(), [0.0, -1.0], [0.0, 0.0], t=(0.0, 1.0), h=0.01, control=control, **options
    )


def test_numbers_functions_and_controllers_agree():
    t = 0.01 * np.arange(101)
    by_law, by_line = run(lambda t: 3.0 * t), run(3.0 * t)
    assert by_law.stats["engine"] == "native"
    assert np.allclose(by_law.q, by_line.q, atol=1e-12)
    assert np.allclose(by_law.u, by_line.u)
    assert np.allclose(by_law.lam, by_line.lam, atol=1e-9)
    held, asked = run(3.0 * t[:-1]), run(lambda t, q, v: [3.0 * t])
    assert np.array_equal(held.q, asked.q)
    free = da.simulate(Pushed(), da.Rattle(), [1.0, 0.0], [0.0, 0.0], t=(0.0, 1.0), h=0.01)
    none = da.simulate(Pushed(), da.Rattle(), [1.0, 0.0], [0.0, 0.0], t=(0.0, 1.0), h=0.01, control=np.zeros(100))
    assert np.allclose(free.q, none.q, rtol=0, atol=1e-13)
    assert abs(free.iterations.sum() - none.iterations.sum()) <= 3
    assert np.array_equal(held.u[1:, 0], 3.0 * t[:-1])
    assert np.array_equal(run(3.0 * t[:-1], save_every=10).q, held.q[::10])


def test_the_multiplier_knows_the_input():
    found = run(np.full(100, 4.0))
    x, y = found.q.T
    lam = 4.0 * x - 9.81 * y + np.sum(found.v**2, axis=1)  # |q| = 1
    assert np.allclose(found.lam[:, 0], lam, atol=1e-10)


def test_a_sampled_controller_has_a_period_and_a_delay():
    asked = []

    def law(t, q, v):
        asked.append(t)
        return [t]

    found = run(da.Sampled(law, period=0.05, delay=0.02))
    assert np.allclose(asked, 0.05 * np.arange(20))
    steps = np.arange(100)
    expected = np.where(steps < 2, 0.0, 0.05 * ((steps - 2) // 5))
    assert np.allclose(found.u[1:, 0], expected)


def test_a_saved_run_keeps_its_inputs(tmp_path):
    found = run(np.linspace(-1, 1, 100))
    found.save(tmp_path / "run.nc")
    again = da.load(tmp_path / "run.nc")
    assert np.array_equal(again.u, found.u)
    assert np.array_equal(again.lam, found.lam)


@pytest.mark.parametrize("kind", ["constant", "linear", "cubic"])
def test_tables_are_compiled(kind):
    times = np.linspace(0.0, 1.0, 6)
    table = da.interpolated(times, np.stack([np.sin(times), times], axis=1), kind)
    inside = np.linspace(-0.2, 1.2, 47)
    found = np.array([table(t) for t in inside])
    clipped = np.clip(inside, 0.0, 1.0)
    if kind == "linear":
        assert np.allclose(found[:, 0], np.interp(clipped, times, np.sin(times)))
    elif kind == "cubic":
        assert np.allclose(found[:, 0], np.sin(clipped), atol=1e-4)
        assert np.allclose(found[:, 1], clipped)
    else:
        assert np.allclose(found[:, 1], np.floor(5 * clipped + 1e-12) / 5)
    driven = run(da.interpolated(times, np.sin(times), kind))
    assert driven.stats["engine"] == "native"


@pytest.mark.parametrize(
    ("control", "options", "message"),
    [
        (np.zeros((50, 1)), {}, r"control must have shape \(100, 1\), constant in every step, or \(101, 1\)"),
        (np.full(100, 20.0), {}, "the input push is 20 in row 0, expected a number between -9 and 9"),
        (lambda t, q, v: [1.0, 2.0], {}, "the controller must give 1 numbers for push"),
        (lambda t, q, v: [np.nan], {}, "the input push is nan at t = 0, expected a finite number"),
        (lambda q, v: [1.0], {}, r"control must be a function of t or of \(t, q, v\)"),
        (da.Sampled(lambda t, q, v: [1.0], 0.015), {}, "period = 0.015 is not a multiple of the step size"),
        (np.zeros(100), {"retry": True}, "retry is for runs without control"),
    ],
)
def test_what_cannot_be_is_refused(control, options, message):
    with pytest.raises(da.InputError, match=message):
        run(control, **options)


def test_a_system_without_inputs_takes_no_control():
    with pytest.raises(da.InputError, match="control needs a system with inputs, Pendulum has none"):
        da.simulate(da.gallery.Pendulum(), da.Rattle(), [1.0, 0.0], [0.0, 0.0], control=np.zeros(100))


@pytest.mark.parametrize(
    ("t", "values", "message"),
    [([0.0, 0.0], [1.0, 2.0], "ascending"), ([0.0, 1.0], [1.0], r"values must have shape \(2,\)")],
)
def test_tables_that_are_none_are_refused(t, values, message):
    with pytest.raises(da.InputError, match=message):
        da.interpolated(t, values)
