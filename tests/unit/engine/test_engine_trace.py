"""Every primitive the engine translates: values and sparse Jacobians are those of JAX, and machine code agrees.

All cases go through one compilation a backend; what is wrong is listed by name.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from engine_cases import CASES, POINT_SIZE, all_values, all_values_flat, by_name, evaluation, points_of_all
from jax import lax

from dalembert.engine import EnsembleRun
from dalembert.engine.program.array_program import ArrayProgram
from dalembert.engine.program.program import CONST, INPUT, NUMPY, Program, Values
from dalembert.engine.runners.native import NativeRun
from dalembert.engine.trace.interpreter import Interpreter
from dalembert.engine.trace.primitives import ELEMENTWISE
from dalembert.engine.trace.tracing import trace, trace_with_jacobian
from dalembert.engine.values.array_values import ArrayEvaluator
from dalembert.errors import UnsupportedByEngine


def is_close(actual, expected, tolerance) -> bool:
    size = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    return actual.shape == expected.shape and np.allclose(actual, expected, rtol=tolerance, atol=tolerance * size)


def wrong(actual, expected, tolerance) -> list[str]:
    """The cases whose numbers differ."""
    actual, expected = by_name(actual), by_name(expected)
    return [name for name in CASES if not is_close(actual[name], expected[name], tolerance)]


@pytest.mark.usefixtures("quick_xla")
def test_traced_values_and_jacobians_are_those_of_jax():
    points = points_of_all(2, seed=0)
    by_jax = jax.jit(all_values)
    expected = [jax.tree.map(np.asarray, by_jax(point)) for point in points]
    differ, first = [], 0
    for name, case in CASES.items():
        program = Program()
        outputs, rows = trace_with_jacobian(program, case.flat, program.inputs("x", case.size))
        for point, found in zip(points[:, first : first + case.size], expected, strict=True):
            value, jacobian = found[name]
            numbers = Values(program, {("x", k): float(number) for k, number in enumerate(point)})
            dense = np.zeros((len(outputs), case.size))
            for i, row in enumerate(rows):
                for j, node in row.items():
                    dense[i, j] = numbers[node]
            if not (is_close(numbers.array(outputs), value, 1e-14) and is_close(dense, jacobian, 1e-14)):
                differ.append(name)
        first += case.size
    assert differ == []


@functools.cache
def traced() -> tuple[Program, np.ndarray]:
    program = Program()
    return program, trace(program, all_values_flat, program.inputs("x", POINT_SIZE))


def walked(point, number_type) -> np.ndarray:
    """All values by numpy, in any precision."""
    program, nodes = traced()
    known: dict = {}
    with np.errstate(all="ignore"):
        for node in program.needed(nodes.tolist()):
            op = program.op[node]
            if op == INPUT:
                known[node] = number_type(point[program.value[node][1]])
            elif op == CONST:
                value = program.value[node]
                known[node] = value if isinstance(value, bool) else number_type(value)
            else:
                known[node] = NUMPY[op](*[known[a] for a in program.args[node]])
    return np.array([known[node] for node in nodes.tolist()], dtype=number_type)


def start_of(functions, points) -> np.ndarray:
    return np.concatenate([points, np.zeros((len(points), functions.n_state - POINT_SIZE))], axis=1)


@pytest.mark.parametrize(("extended", "tolerance"), [(False, 1e-14), (True, 1e-17)], ids=["double", "extended"])
def test_machine_code_agrees_with_numpy(extended, tolerance):
    functions = evaluation()
    points = points_of_all(3, seed=1)
    states = start_of(functions, points)
    run = NativeRun(functions, states[0], 0.0, 0.1, np.zeros(0), compensated=False, extended=extended)
    assert run.report()["newton_unknowns"] == []
    for point, state in zip(points, states, strict=True):
        chunk = run.run(run.first_carry(state), 0.0, 0.1, 1, 1, np.zeros(0), 1)
        number_type = np.longdouble if extended else np.float64
        assert chunk.status == 0
        assert chunk.saved.dtype == number_type
        np.testing.assert_array_equal(chunk.saved[0, :POINT_SIZE], point)
        assert wrong(chunk.saved[0, POINT_SIZE:], walked(point, number_type), tolerance) == []


def test_vector_code_agrees_with_numpy_in_every_lane():
    functions = evaluation()
    points = points_of_all(11, seed=2)  # fills no number of lanes evenly
    states = start_of(functions, points)
    run = EnsembleRun(functions, states, 0.0, 0.1, np.zeros((11, 0)), compensated=False)
    run = run.begin(states, np.zeros((11, 0)))
    saved, _ = run.run(0.0, 0.1, 1, 1, True)
    assert np.all(run.failed == -1)
    np.testing.assert_array_equal(saved[:, 0, :POINT_SIZE], points)
    expected = np.stack([walked(point, np.float64) for point in points])
    assert wrong(saved[:, 0, POINT_SIZE:], expected, 1e-14) == []


class TestKnownNumbers:
    """What does not depend on the state is computed while tracing, as XLA would, but without it."""

    NUMBERS = np.array([-3.5, 0.0, 2.0, np.inf])
    WHOLE = np.array([-7, 3, 0, 8])

    FUNCTIONS = (
        ("abs", jnp.abs),
        ("sign", jnp.sign),
        ("quotient", lambda x: x / jnp.array([2, 0, -3, 7]).astype(x.dtype)),
        ("largest", lambda x: jnp.max(x) + jnp.zeros_like(x)),
        ("least", lambda x: jnp.min(x) + jnp.zeros_like(x)),
        ("larger", lambda x: jnp.maximum(x, -x)),
        ("smaller", lambda x: jnp.minimum(x, -x)),
        ("square", jnp.square),
        ("other", lambda x: (x != 0).astype(x.dtype)),
        ("quotient of integers", lambda x: lax.div(x, jnp.array([2, 2, -3, -3]))),
        ("largest integer", lambda x: jnp.max(x) + jnp.zeros_like(x)),
    )

    @pytest.mark.usefixtures("quick_xla")
    def test_they_are_those_of_jax(self):
        for name, function in self.FUNCTIONS:
            given = self.WHOLE if "integer" in name else self.NUMBERS
            program = Program()
            nodes = trace(program, lambda x, f=function, y=given: x[0] * 0 + f(y).astype(float), program.inputs("x", 1))
            found = [program.number(node) for node in nodes.tolist()]
            np.testing.assert_array_equal(found, np.asarray(function(jnp.asarray(given)), dtype=float), err_msg=name)


@pytest.mark.parametrize("kind", [Program, ArrayProgram])
def test_a_function_called_again_with_the_same_arguments_is_not_run_again(kind, monkeypatch):
    inner = jax.jit(lambda x: jnp.sin(x) * x)
    program = kind()
    x, y = program.inputs("x", 3), program.inputs("y", 3)
    runs = []
    run = Interpreter.run
    monkeypatch.setattr(Interpreter, "run", lambda self, *a: runs.append(1) or run(self, *a))
    first = trace(program, lambda x: inner(x) + 1.0, x)
    again = trace(program, lambda x: 2.0 * inner(x), x)
    assert len(runs) == 3  # two functions, one call
    other = trace(program, lambda x: inner(x), y)
    assert len(runs) == 5
    assert len({*first.tolist(), *again.tolist(), *other.tolist()}) == 9


def test_one_minus_square_of_later_versions_of_jax():
    """JAX 0.11 writes derivatives of tanh by it; the version of the tests has it not."""
    program = Program()
    (x,) = program.inputs("x", 1)
    node = ELEMENTWISE["one_minus_square"](program, x)
    assert Values(program, {("x", 0): 0.3})[node] == 1.3 * 0.7


@pytest.mark.parametrize("kind", [Program, ArrayProgram])
def test_single_entries_of_arrays_are_arguments_of_functions(kind):
    inner = jax.jit(lambda x, y: x * y)
    program = kind()
    nodes = trace(program, lambda x: inner(*jnp.unstack(jnp.sin(x))), program.inputs("x", 2))
    np.testing.assert_allclose(numbers_at(program, nodes, np.array([0.3, 0.7])), [np.sin(0.3) * np.sin(0.7)])


class TestLoopsUnderVmap:
    """One loop stands for many, and each of them keeps what it had when it ended."""

    @staticmethod
    def powers(count, x):
        def body(carry):
            k, y, total = carry
            return k + 1, y * jnp.sin(x), total + k

        return jax.lax.while_loop(lambda carry: carry[0] < count, body, (0, x, jnp.zeros((), int)))

    @pytest.mark.parametrize("kind", [Program, ArrayProgram])
    def test_of_known_lengths(self, kind):
        counts, x = jnp.array([1, 3, 0]), np.array([0.4, 0.7, 1.2])

        def many(x):
            k, y, total = jax.vmap(self.powers)(counts, x)
            return jnp.concatenate([y, (k + 10 * total).astype(float)])

        program = kind()
        nodes = trace(program, many, program.inputs("x", 3))
        found = numbers_at(program, nodes, x)
        np.testing.assert_allclose(found, many(jnp.asarray(x)), rtol=1e-14)

    def test_of_lengths_that_depend_on_the_state_are_refused(self):
        def many(x):
            return jax.vmap(lambda y: jax.lax.while_loop(lambda z: z < 2.0, lambda z: 1.5 * z, y))(x)

        program = Program()
        with pytest.raises(UnsupportedByEngine, match="a loop whose length depends on the state"):
            trace(program, many, program.inputs("x", 3))


def numbers_at(program, nodes, x) -> np.ndarray:
    if isinstance(program, ArrayProgram):
        return ArrayEvaluator(program, nodes)({"x": x})[:, 0]
    return Values(program, {("x", k): number for k, number in enumerate(x)}).array(nodes)
