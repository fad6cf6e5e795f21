"""A scalar program in arrays computes what it computed, in a few arrays."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest

from dalembert.engine.functions.function import Function, TracedInArrays
from dalembert.engine.program.array_program import ArrayProgram
from dalembert.engine.program.lifting import lifted
from dalembert.engine.program.program import Program, Values
from dalembert.engine.trace.tracing import suits_arrays, trace, traced
from dalembert.engine.tuning import tuned
from dalembert.engine.values.array_values import ArrayEvaluator


def of_small_pieces(x):
    """Every operation is on three numbers."""
    triples = [x[3 * k : 3 * k + 3] for k in range(70)]
    sums = [jnp.cos(a) * b + 2.0 / (1.5 + a @ b) for a, b in itertools.pairwise(triples)]
    return jnp.concatenate([*sums, jnp.where(x[:1] > 0, x[1:2], 3.0)])


def of_large_pieces(x):
    return jnp.cos(x[1:]) * x[:-1] + 2.0 / (1.5 + x[1:] ** 2)


X = np.random.default_rng(0).uniform(-1, 1, 210)


def test_operations_that_lie_equally_deep_become_arrays():
    program, arrays = Program(), ArrayProgram()
    nodes, x = trace(program, of_small_pieces, program.inputs("x", 210)), arrays.inputs("x", 210)
    place = lifted(program, nodes, arrays)
    expected = Values(program, {("x", k): number for k, number in enumerate(X.tolist())}).array(nodes)
    np.testing.assert_array_equal(ArrayEvaluator(arrays, place[nodes])({"x": X})[:, 0], expected)
    np.testing.assert_array_equal(place[program.inputs("x", 210)], x)
    groups = list(arrays.layers(arrays.needed(place[nodes])))
    assert len(arrays) > 1000
    assert len(groups) < 40


@pytest.mark.parametrize("function", [of_small_pieces, of_large_pieces])
def test_functions_of_small_pieces_are_traced_number_by_number(function):
    assert suits_arrays(traced(function, X)) == (function is of_large_pieces)
    found = Function(function)
    value, jacobian = found(X)
    assert isinstance(found._traced[(210,),], TracedInArrays) == (function is of_large_pieces)
    with tuned(numbers_an_array=0 if function is of_small_pieces else 1000):
        other_value, other_jacobian = Function(function)(X)
    np.testing.assert_allclose(other_value, value, rtol=1e-14)
    np.testing.assert_allclose(other_jacobian.toarray(), jacobian.toarray(), rtol=1e-13, atol=1e-15)
