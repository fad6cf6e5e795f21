"""The scales of Newton's unknowns: compiled for one trajectory, they are those that arrays give."""

import numpy as np
import pytest
from engine_runners import runner_and_start

import dalembert as da
from dalembert.engine.scales.compiled_scaling import CompiledScaling
from dalembert.engine.scales.scaling import NewtonScaling
from dalembert.engine.tuning import tuning

H = 0.05


CASES = [
    ("pendulum", da.Rattle()),
    ("double-pendulum", da.Galerkin(3)),
    ("four-particles", da.EnergyMomentum()),
    ("mclachlan-perlmutter-particles", da.gauss_spark(2)),
    ("kepler", da.Rattle()),  # nothing is left to Newton
]


@pytest.mark.parametrize(("name", "method"), CASES, ids=lambda part: part if isinstance(part, str) else part.name)
@pytest.mark.parametrize("known", [False, True], ids=["guess", "last solution"])
def test_compiled_scales_are_those_of_arrays(name, method, known):
    runner, state, parameters = runner_and_start(name, method, H)
    x = np.linspace(-1.0, 2.0, len(runner.step.unknowns)) if known else None
    compiled = CompiledScaling(runner.step)(state, x, 0.3, H, parameters)
    columns = (state[:, None], None if x is None else x[:, None])
    arrays = NewtonScaling(runner.step)(*columns, 0.3, H, parameters[:, None])[:, 0]
    np.testing.assert_allclose(compiled, arrays, rtol=1e-12)
    assert np.all(compiled > 0)
    assert compiled[-1] >= tuning().growth_limit


@pytest.mark.parametrize("method", [da.Rattle(), da.Taylor(4)], ids=lambda method: method.name)
@pytest.mark.parametrize("known", [False, True], ids=["guess", "last solution"])
def test_rolled_code_finds_the_scales_of_arrays(method, known):
    """By steps without updates: they leave nothing behind."""
    runner, state, parameters = runner_and_start(da.gallery.Chain(links=40), method, 0.01)
    assert runner.report()["code"] == "rolled"
    x = np.linspace(-1.0, 2.0, len(runner.step.unknowns)) if known else None
    first = runner.run(runner.first_carry(state), 0.0, 0.01, 5, 5, parameters, 1).saved
    found = runner.scaling(state, x, 0.3, 0.01, parameters)
    columns = (state[:, None], None if x is None else x[:, None])
    arrays = NewtonScaling(runner.step)(*columns, 0.3, 0.01, parameters[:, None])[:, 0]
    np.testing.assert_allclose(found, arrays, rtol=1e-9)
    np.testing.assert_array_equal(runner.run(runner.first_carry(state), 0.0, 0.01, 5, 5, parameters, 1).saved, first)


def test_numbers_out_of_range_give_scales_all_the_same():
    runner, state, parameters = runner_and_start("double-pendulum", da.Rattle(), H)
    x = np.full(len(runner.step.unknowns), np.nan)
    found = CompiledScaling(runner.step)(state, x, 0.0, H, parameters)
    assert np.all(np.isfinite(found))
    assert np.all(found > 0)
