"""Compiled values of a program are those that walking it gives."""

import numpy as np
import pytest

import dalembert as da
from dalembert.engine.evaluator import Evaluator
from dalembert.engine.llvm_evaluate import CompiledEvaluator
from dalembert.engine.program import Program
from dalembert.engine.step_program import by_name
from dalembert.engine.trace import trace
from dalembert.gallery import Pendulum


def values_of(function, x):
    program = Program()
    outputs = trace(program, function, program.inputs("x", len(x)))
    nodes = np.ravel(outputs)
    return CompiledEvaluator(program, nodes.tolist())({"x": x}), Evaluator(program, nodes)(by_name({"x": x}))


def test_arithmetic_is_the_same_to_the_last_bit():
    compiled, walked = values_of(lambda x: x[0] * x[1] / (x[2] - x[0]), np.array([0.3, 1.7, -2.1]))
    assert np.array_equal(compiled, walked)


def test_choices_and_functions_agree():
    import jax.numpy as jnp

    def function(x):
        return jnp.stack([jnp.where(x[0] > x[1], jnp.sin(x[0]), jnp.exp(x[1])), jnp.maximum(x[0], 2.0)])

    compiled, walked = values_of(function, np.array([0.3, 1.7]))
    assert compiled == pytest.approx(walked, rel=1e-15)


def test_nothing_to_compute():
    assert len(CompiledEvaluator(Program(), [])({})) == 0


def test_short_run_takes_less_than_the_scales_did():
    start = Pendulum().start()
    call = {"t": (0.0, 1.0), "h": 0.1, "save_every": 10}
    runs = [da.simulate(Pendulum(), da.Galerkin(4), start.q0, start.v0, **call) for _ in range(6)]
    assert min(run.stats["wall_seconds"] for run in runs) < 2e-3  # was 4 ms
