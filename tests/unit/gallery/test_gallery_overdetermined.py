"""Overdetermined systems of the gallery: found by name, run as they are, from the command line and in pictures."""

import numpy as np
import pytest

import dalembert as da
from dalembert.gallery import OVERDETERMINED_GALLERY, SYSTEMS, system_named

NAMES = pytest.mark.parametrize("name", OVERDETERMINED_GALLERY)


@NAMES
def test_runs_from_its_start(name):
    system = system_named(name)()
    start = system.start()
    run = da.simulate(system, da.SymplecticEuler(), start.q0, start.v0, t=(0.0, start.t_end), h=start.h)
    y0, z0 = system.start_values()
    same = da.simulate(system, da.SymplecticEuler(), y0=y0, z0=z0, t=(0.0, start.t_end), h=start.h)
    np.testing.assert_allclose(run.q, same.q, rtol=1e-12)
    assert np.max(run.constraint) < 1e-13
    assert np.max(run.hidden) < 1e-12


@NAMES
def test_has_a_figure_without_an_energy(name, tmp_path):
    system = system_named(name)()
    start = system.start()
    run = da.simulate(system, da.SymplecticEuler(), start.q0, start.v0, t=(0.0, 10 * start.h), h=start.h)
    assert len(run.plot(tmp_path / "run.png").axes) >= 4


def test_the_solution_that_is_known():
    system = system_named("nonlinear-reaction")()
    errors = []
    for h in (0.01, 0.005, 0.0025):
        start = system.start()
        run = da.simulate(system, da.SymplecticEuler(), start.q0, start.v0, t=(0.0, 1.0), h=h)
        errors.append(np.max(np.abs(run.q - system.exact(run.t).q)))
    rates = np.log2(np.divide(errors[:-1], errors[1:]))
    np.testing.assert_allclose(rates, 1.0, atol=0.05)
    assert system.exact(run.t, q0=start.q0, v0=start.v0) is None


def test_the_multiplier_on_the_cubic_is_that_of_the_formula():
    system = system_named("mass-on-cubic")()
    y0, z0 = system.start_values()
    start = da.consistent(system, y0, p0=z0)
    np.testing.assert_allclose(start.lam[0], system.multiplier(y0, z0), rtol=1e-12)
    assert system.multiplier(y0, z0) == pytest.approx(1.7586, abs=5e-5)


def test_no_name_is_given_twice():
    assert len({kind.__name__ for kind in SYSTEMS.values()}) == len(SYSTEMS)
