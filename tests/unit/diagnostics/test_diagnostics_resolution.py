"""The step size against the fastest oscillation."""

import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.gallery import HarmonicOscillator, Pendulum


class Springs(da.System):
    stiffness: float = 400.0

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 0.5 * self.stiffness * q[0] ** 2 - 0.5 * q[1] ** 2


def test_frequency_of_a_spring_and_the_limit_of_rattle():
    start = {"q0": [0.01, 1.0], "v0": [0.0, 0.0]}
    fine = da.step_resolution(da.simulate(Springs(), da.Rattle(), **start, t=(0.0, 1.0), h=0.05))
    assert fine
    assert fine.omega == pytest.approx(20.0)
    assert fine.turn == pytest.approx(1.0)
    assert fine.largest_step == pytest.approx(0.1)
    below = da.simulate(Springs(), da.Rattle(), **start, t=(0.0, 19.8), h=0.099)
    beyond = da.simulate(Springs(), da.Rattle(), **start, t=(0.0, 2.02), h=0.101)
    assert da.step_resolution(below)
    assert not da.step_resolution(beyond)
    assert np.max(np.abs(below.q[:, 0])) < 0.1
    assert np.max(np.abs(beyond.q[:, 0])) > 1.0  # and so it is: it grows


def test_constraints_leave_the_slow_direction():
    run = da.simulate(Pendulum(), da.Rattle(), [0.0, -1.0], [0.1, 0.0], t=(0.0, 1.0), h=0.01)
    assert da.step_resolution(run).omega == pytest.approx(np.sqrt(9.81), rel=2e-2)


def test_no_oscillation():
    run = da.simulate(da.system(lagrangian=lambda t, q, v: 0.5 * v @ v), da.Rattle(), [0.0], [1.0], t=(0.0, 1.0), h=0.5)
    found = da.step_resolution(run)
    assert found.turn == 0.0
    assert found.largest_step == np.inf


def test_what_it_needs(tmp_path):
    oscillator = HarmonicOscillator()
    start = oscillator.start()
    run = da.simulate(oscillator, da.Rattle(), start.q0, start.v0, t=(0.0, 0.2), h=0.1)
    with pytest.raises(da.InputError, match="needs the system"):
        da.step_resolution(da.load(run.save(tmp_path / "run.nc")))
    with pytest.raises(da.InputError):
        da.step_resolution(jnp.zeros(2))  # pyright: ignore[reportArgumentType]
