"""Functions that are written out late are the same function for JAX, under all its transformations, and the engine."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dalembert.engine.program.program import Program, Values
from dalembert.engine.trace.tracing import trace, trace_with_jacobian
from dalembert.formulation import late, solved


def plain(a, b):
    return jnp.concatenate([(a * b - 3.0 * a) / b, -jnp.stack([a[0], b[1]])]), jnp.sum(a * b) * jnp.ones((2, 3))


def write(arithmetic, a, b):
    first = arithmetic.div(arithmetic.sub(arithmetic.mul(a, b), arithmetic.mul(3.0, a)), b)
    pair = arithmetic.concatenate([arithmetic.part(a, 0, 1), arithmetic.part(b, 1, 2)])
    dot = arithmetic.dot_general(a, b, (([0], [0]), ([], [])))
    halves = arithmetic.stack([arithmetic.broadcast_to(dot, (3,))] * 2)
    return arithmetic.concatenate([first, arithmetic.neg(pair)]), arithmetic.add(halves, np.zeros(3))


def written_late(a, b):
    return late(write, [(5,), (2, 3)], a, b)


def close(found, expected):
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-14), list(found), list(expected))


@pytest.fixture
def arguments():
    random = np.random.default_rng(2)
    return jnp.asarray(random.standard_normal(3)), jnp.asarray(random.standard_normal(3))


@pytest.mark.usefixtures("quick_xla")
class TestInJax:
    def test_it_is_one_operation(self, arguments):
        jaxpr = jax.make_jaxpr(written_late)(*arguments).jaxpr
        assert [equation.primitive.name for equation in jaxpr.eqns] == ["late_function"]

    def test_values(self, arguments):
        close(written_late(*arguments), plain(*arguments))
        close(jax.jit(written_late)(*arguments), plain(*arguments))

    def test_derivatives_forward_and_backward(self, arguments):
        close(jax.jvp(written_late, arguments, arguments)[1], jax.jvp(plain, arguments, arguments)[1])
        for one in (jax.jacfwd, jax.jacrev):
            close(one(lambda a: tuple(written_late(a, arguments[1])))(arguments[0]),
                  one(lambda a: plain(a, arguments[1]))(arguments[0]))  # fmt: skip

    def test_batches_of_one_argument(self, arguments):
        a = jnp.stack([arguments[0], 2.0 * arguments[0]])
        close(jax.vmap(written_late, (0, None))(a, arguments[1]), jax.vmap(plain, (0, None))(a, arguments[1]))

    def test_a_linear_system_and_its_derivative(self, arguments):
        a, b = arguments

        def solution(a, b):
            return solved(lambda x: a * x + 0.1 * jnp.roll(x, 1) * b[0], b)

        def dense(a, b):
            return jnp.linalg.solve(jnp.diag(a) + 0.1 * b[0] * jnp.roll(jnp.eye(3), 1, 0), b)

        np.testing.assert_allclose(solution(a, b), dense(a, b), rtol=1e-12)
        for one in (jax.jacfwd, jax.jacrev):
            np.testing.assert_allclose(one(solution)(a, b), one(dense)(a, b), rtol=1e-11)


def test_the_engine_writes_it_in_its_own_operations(arguments):
    program = Program()
    inputs = program.inputs("x", 6)
    nodes = trace(program, lambda a, b: tuple(written_late(a, b)), inputs[:3], inputs[3:])
    numbers = Values(program, {("x", k): float(x) for k, x in enumerate(np.concatenate(arguments))})
    expected = np.concatenate([np.ravel(part) for part in plain(*arguments)])
    np.testing.assert_allclose(numbers.array(nodes), expected, rtol=1e-15)


@pytest.mark.usefixtures("quick_xla")
def test_the_engine_differentiates_it(arguments):
    a, b = arguments
    program = Program()
    _nodes, rows = trace_with_jacobian(program, lambda x: written_late(x, b)[0], program.inputs("x", 3))
    numbers = Values(program, {("x", k): float(x) for k, x in enumerate(a)})
    found = np.array([[numbers[row[j]] if j in row else 0.0 for j in range(3)] for row in rows])
    np.testing.assert_allclose(found, jax.jacfwd(lambda a: plain(a, b)[0])(a), rtol=1e-14)


def test_known_arguments_stay_numbers():
    program = Program()
    before = len(program)
    known = np.arange(1.0, 4.0)
    found = trace(program, lambda x: x + written_late(known, known)[0][:1], program.inputs("x", 1))
    added = [program.op[k] for k in range(before, len(program)) if program.op[k] not in ("const", "input")]
    assert len(found) == 1
    assert len(added) == 1
