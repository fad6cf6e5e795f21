"""Linear systems inside traced functions, solved on operations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.engine.elimination.linear_systems import ArrayLinearSystems, LinearSystems
from dalembert.engine.program.array_program import ArrayProgram
from dalembert.engine.program.program import Program, by_name
from dalembert.engine.trace.tracing import trace, trace_with_jacobian
from dalembert.engine.values.array_values import ArrayEvaluator
from dalembert.engine.values.scalar_values import Evaluator
from dalembert.errors import UnsupportedByEngine


def dense(matrix, right):
    return jnp.linalg.solve(jax.jacfwd(matrix)(jnp.zeros_like(right)), right)


def solved(a, right):
    """A tridiagonal matrix with 4 + a^2 on its diagonal."""

    def matrix(x):
        beside = jnp.pad(x, 1)
        return (4 + a**2) * x - beside[:-2] - jnp.sin(a) * beside[2:]

    return jax.lax.custom_linear_solve(matrix, right, dense, transpose_solve=dense)


def function(a):
    """Two systems with one matrix; the second needs the solution of the first."""
    first = solved(a, jnp.cos(a))
    return jnp.concatenate([first, solved(a, first * a)])


SIZE = 40
SAMPLES = np.random.default_rng(0).standard_normal((SIZE, 5))
START = np.linspace(0.1, 0.9, SIZE)


def scalar_program():
    program = Program()
    inputs = program.inputs("state", SIZE)
    program.linear_systems = LinearSystems(program, by_name({"state": SAMPLES}))
    return program, inputs


def test_solution_in_scalar_programs():
    program, inputs = scalar_program()
    nodes = trace(program, function, inputs)
    found = Evaluator(program, nodes)(by_name({"state": START[:, None]}))[:, 0]
    np.testing.assert_allclose(found, function(jnp.asarray(START)), rtol=1e-13)
    assert len(program.linear_systems.growth) > 0


def test_one_matrix_is_eliminated_once():
    program, inputs = scalar_program()
    trace(program, lambda a: solved(a, a), inputs)
    watched = list(program.linear_systems.growth)
    divisions = program.op.count("div")
    trace(program, lambda a: solved(a, jnp.exp(a)), inputs)
    assert program.linear_systems.growth == watched
    assert program.op.count("div") == divisions


def test_derivative_by_what_the_right_side_depends_on():
    program, inputs = scalar_program()
    x = program.inputs("x", 3)
    program.linear_systems._values._inputs |= by_name({"x": np.zeros((3, 5))})

    def right_side(x, a):
        return solved(a, jnp.concatenate([x**2, a[3:]]))

    _, jacobian = trace_with_jacobian(program, right_side, x, inputs)
    nodes = np.array([row.get(j, program.zero) for row in jacobian for j in range(3)])
    at = np.array([0.3, -0.2, 0.5])
    numbers = Evaluator(program, nodes)(by_name({"state": START[:, None], "x": at[:, None]}))
    found = np.broadcast_to(numbers, (len(nodes), 1)).reshape(SIZE, 3)
    expected = jax.jacfwd(right_side)(jnp.asarray(at), jnp.asarray(START))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


def test_solution_in_arrays():
    """What follows a solution is built on stand-ins, which are gone at the end."""
    program = ArrayProgram()
    inputs = program.inputs("state", SIZE)
    systems = program.linear_systems = ArrayLinearSystems(program, {"state": SAMPLES.copy()})
    nodes = trace(program, function, inputs)
    again = trace(program, function, inputs)
    np.testing.assert_array_equal(nodes, again)

    class Empty:
        blocks, solutions, growth = [], [], np.zeros(0, np.int64)

    nodes = systems.put_in(Empty)(nodes)
    found = ArrayEvaluator(program, nodes)({"state": START})[:, 0]
    np.testing.assert_allclose(found, function(jnp.asarray(START)), rtol=1e-13)
    assert [len(part) for part in Empty.solutions] == [SIZE, SIZE]


def test_without_samples_there_are_no_pivots():
    program = Program()
    with pytest.raises(UnsupportedByEngine, match="a linear system of 40 unknowns outside of the equations of a step"):
        trace(program, function, program.inputs("state", SIZE))


def test_a_long_chain_agrees_with_another_method():
    """Forty links: rolled code, with solutions of one system in the right sides of the next."""
    chain = da.gallery.Chain(links=40)
    start = chain.start()
    run = da.simulate(chain, da.Taylor(6), start.q0, start.v0, t=(0.0, 0.05), h=0.005)
    other = da.simulate(
        chain, da.Composition(da.Rattle(), "kahan-li8"), start.q0, start.v0, t=(0.0, 0.05), h=0.0025, save_every=2
    )
    assert run.stats["code"] == "rolled"
    np.testing.assert_allclose(run.q, other.q, atol=1e-9)
    assert np.max(run.constraint) <= 1e-12
