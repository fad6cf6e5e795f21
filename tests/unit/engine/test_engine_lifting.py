"""A scalar program in arrays computes what it computed, in a few arrays."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.engine.functions.function import Function, TracedInArrays
from dalembert.engine.program.array_program import ArrayProgram
from dalembert.engine.program.lifting import lifted
from dalembert.engine.program.program import Program, Values
from dalembert.engine.step import array_step
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


class Linked(da.System):
    """Four points on rods, one after the other: no other test has these equations."""

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 3.0 * q[1::2].sum()

    def holonomic(self, t, q):
        r = jnp.concatenate([jnp.zeros((1, 2)), q.reshape(-1, 2)])
        return 0.5 * (jnp.sum((r[1:] - r[:-1]) ** 2, axis=1) - 1.0)


def test_what_was_traced_for_straight_lines_is_put_into_arrays(monkeypatch):
    def again(*_):
        raise AssertionError("traced again")

    monkeypatch.setattr(array_step, "one_by_one", again)
    q0, v0 = np.array([1.0, 0, 2, 0, 3, 0, 4, 0]), np.array([0.0, 1, 0, 2, 0, 3, 0, 4])
    with tuned(bands_from=10, most_straight_operations=100):
        rolled = da.simulate(Linked(), da.Rattle(), q0, v0, t=(0, 0.2), h=0.01)
    assert [(one["code"], one["pass"], "gave_up" in one) for one in rolled.stats["passes"][:2]] == [
        ("straight-line", "trace", True), ("rolled", "trace", False),
    ]  # fmt: skip
    straight = da.simulate(Linked(), da.Rattle(), q0, v0, t=(0, 0.2), h=0.01, precision="extended")
    assert straight.stats["code"] == "straight-line"
    np.testing.assert_allclose(rolled.q, np.asarray(straight.q, float), atol=1e-12)
    assert rolled.constraint.max() < 1e-13
