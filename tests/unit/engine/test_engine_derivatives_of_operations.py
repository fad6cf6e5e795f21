"""Jacobians by the rules of operations; what JAX means by a derivative is kept."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dalembert.engine.program.array_program import ArrayProgram
from dalembert.engine.program.program import Program, Values
from dalembert.engine.trace.tracing import NoRule, pushed_forward, trace_with_entries, trace_with_jacobian
from dalembert.engine.values.array_values import ArrayEvaluator

X = np.array([0.3, -0.7, 0.9])


def jacobian(function, in_arrays: bool) -> np.ndarray:
    """The Jacobian that the engine has of a function of three numbers, at X."""
    if in_arrays:
        program = ArrayProgram()
        outputs, (rows, columns, nodes) = trace_with_entries(program, function, program.inputs("x", 3))
        numbers = ArrayEvaluator(program, nodes)({"x": X})[:, 0]
        found = np.zeros((len(outputs), 3))
        found[rows, columns] = numbers
        return found
    program = Program()
    _, entries = trace_with_jacobian(program, function, program.inputs("x", 3))
    values = Values(program, {("x", k): number for k, number in enumerate(X.tolist())})
    return np.array([[values[row[j]] if j in row else 0.0 for j in range(3)] for row in entries])


@jax.custom_jvp
def flat(x):
    """The sine, with a derivative of its own."""
    return jnp.sin(x)


@flat.defjvp
def _tangent(primals, tangents):
    return flat(primals[0]), 3.0 * tangents[0]


FUNCTIONS = {
    "many": lambda x: jnp.stack([x @ x, jnp.sqrt(1 + x[0] ** 2) / jnp.cos(x[1]), jnp.arctan2(x[1], x[2]) * x[0]]),
    "powers": lambda x: jnp.abs(x) ** 2.5 + jnp.exp(x) ** -3 + jnp.log(2 + x),
    "chosen": lambda x: jnp.where(x > 0, jnp.tanh(x), jnp.arcsin(x) * x[2]),
    "gradient": lambda x: jax.grad(lambda x: jnp.prod(jnp.cosh(x)) / (1 + x @ x))(x),
    "derivative of its own": lambda x: flat(x) * x[0],
    "constant by decree": lambda x: jax.lax.stop_gradient(x) * x[::-1],
    "tie": lambda x: jnp.maximum(x, x * 1.0) + jnp.minimum(x[0], jnp.asarray(0.3)),
    "power of two numbers": lambda x: jnp.abs(x) ** x[0],
    "whole numbers": lambda x: jnp.floor(x) * x + jnp.sign(x) * x[1],
}


@pytest.mark.parametrize("in_arrays", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_jacobians_are_those_of_jax(name, in_arrays):
    expected = np.asarray(jax.jacfwd(FUNCTIONS[name])(jnp.asarray(X)))
    np.testing.assert_allclose(jacobian(FUNCTIONS[name], in_arrays), expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("in_arrays", [False, True])
def test_jax_is_not_asked_where_there_are_rules(monkeypatch, in_arrays):
    def refused(*_):
        raise AssertionError("differentiated by JAX")

    monkeypatch.setattr(jax, "jvp", refused)
    jacobian(FUNCTIONS["many"], in_arrays)
    with pytest.raises(AssertionError, match="differentiated by JAX"):
        jacobian(FUNCTIONS["constant by decree"], in_arrays)


@pytest.mark.parametrize("kind", [Program, ArrayProgram])
def test_an_operation_without_a_rule_is_refused(kind):
    program = kind()
    x = program.inputs("x", 1)
    kinked = program.apply("max", *(x[:1], program.mul(x, x)) if program.in_arrays else (int(x[0]), program.one))
    with pytest.raises(NoRule):
        pushed_forward(program, x, np.atleast_1d(kinked))
