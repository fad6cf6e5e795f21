"""The scales of Newton's unknowns: compiled for one trajectory, they are those that arrays give."""

import numpy as np
import pytest

import dalembert as da
from dalembert.engine.llvm_scaling import CompiledScaling
from dalembert.engine.native import NativeRun
from dalembert.engine.scaling import GROWTH_LIMIT, NewtonScaling
from dalembert.problem import prepared
from dalembert.stepping.consistent import prepare_start
from dalembert.stepping.family import flat_parameters
from dalembert.stepping.step import assemble

H = 0.05


def runner_and_start(name: str, method):
    system = da.gallery.system_named(name)()
    given = system.start()
    system = prepared(system)
    start = prepare_start(system, given.q0, given.v0, None, 0.0, project=False, redundant="refuse")
    functions = assemble(system, method, start.layout, start.rows)
    state, parameters = np.concatenate([np.ravel(part) for part in start.state]), np.asarray(flat_parameters(system))
    return NativeRun(functions, state, 0.0, H, parameters, True), state, parameters


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
    runner, state, parameters = runner_and_start(name, method)
    x = np.linspace(-1.0, 2.0, len(runner.step.unknowns)) if known else None
    compiled = CompiledScaling(runner.step)(state, x, 0.3, H, parameters)
    columns = (state[:, None], None if x is None else x[:, None])
    arrays = NewtonScaling(runner.step)(*columns, 0.3, H, parameters[:, None])[:, 0]
    np.testing.assert_allclose(compiled, arrays, rtol=1e-12)
    assert np.all(compiled > 0)
    assert compiled[-1] >= GROWTH_LIMIT


def test_numbers_out_of_range_give_scales_all_the_same():
    runner, state, parameters = runner_and_start("double-pendulum", da.Rattle())
    x = np.full(len(runner.step.unknowns), np.nan)
    found = CompiledScaling(runner.step)(state, x, 0.0, H, parameters)
    assert np.all(np.isfinite(found))
    assert np.all(found > 0)
