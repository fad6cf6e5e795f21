"""The scalar program: equal expressions are one operation, and what is zero or one disappears."""

import jax.numpy as jnp
import numpy as np
import pytest

from dalembert.engine.program.program import Program, Values
from dalembert.engine.trace.tracing import trace, trace_with_jacobian
from dalembert.engine.values.scalar_values import Evaluator


@pytest.fixture
def program() -> Program:
    return Program()


@pytest.fixture
def x(program) -> list[int]:
    return program.inputs("x", 3).tolist()


def test_equal_expressions_are_one_operation(program, x):
    a, b, c = x
    assert program.add(a, b) == program.add(b, a)
    assert program.mul(a, b) == program.mul(b, a)
    assert program.apply("max", a, b) == program.apply("max", b, a)
    assert program.sub(a, b) != program.sub(b, a)
    assert program.apply("sin", program.mul(a, c)) == program.apply("sin", program.mul(c, a))
    assert program.input(("x", 0)) == a
    assert program.const(2.5) == program.const(2.5)


def test_constants_keep_their_kind_and_sign(program):
    assert len({program.const(1.0), program.const(True), program.const(-1.0)}) == 3
    assert program.const(0.0) != program.const(-0.0)


def test_zeros_and_ones_fold(program, x):
    a, b, _ = x
    zero, one = program.zero, program.one
    assert program.mul(zero, a) == program.mul(a, zero) == zero
    assert program.mul(a, program.const(-0.0)) == zero
    assert program.add(a, zero) == program.add(zero, a) == program.sub(a, zero) == a
    assert program.mul(one, a) == program.mul(a, one) == program.div(a, one) == a
    assert program.sub(a, a) == program.add(a, program.neg(a)) == zero
    assert program.div(zero, a) == zero
    assert program.div(a, a) == one
    assert program.neg(program.neg(a)) == a
    assert program.sub(zero, a) == program.neg(a)
    assert program.add(a, program.neg(b)) == program.sub(a, b)
    assert program.neg(program.sub(a, b)) == program.sub(b, a)
    assert program.power(a, 0) == one
    assert program.power(a, 1) == a


def test_numbers_in_front_are_collected(program, x):
    a, b, _ = x
    two_a, three_a = program.scaled(2.0, a), program.scaled(3.0, a)
    assert program.add(two_a, three_a) == program.scaled(5.0, a)
    assert program.sub(three_a, two_a) == a
    assert program.add(a, a) == two_a
    assert program.mul(two_a, three_a) == program.scaled(6.0, program.mul(a, a))
    assert program.mul(program.neg(a), program.neg(b)) == program.mul(a, b)
    assert program.mul(program.const(0.5), two_a) == a
    assert program.div(a, program.const(2.0)) == program.scaled(0.5, a)


def test_numbers_are_computed_at_once(program):
    two, three = program.const(2.0), program.const(3.0)
    assert program.number(program.add(two, three)) == 5.0
    assert program.number(program.apply("sin", two)) == np.sin(2.0)
    assert program.number(program.apply("lt", two, three)) is True
    assert program.select(program.apply("lt", two, three), two, three) == two


def test_powers_share_their_squares(program, x):
    before = len(program)
    program.power(x[0], 4)
    program.power(x[0], 8)
    assert len(program) - before == 3


def test_division_by_zero_is_left_to_the_run(program, x):
    node = program.div(x[0], program.zero)
    assert Values(program, {("x", k): 1.0 for k in range(3)})[node] == np.inf


def test_only_what_is_needed_is_computed(program, x):
    a, b, c = x
    wanted, other = program.add(a, b), program.apply("sin", c)
    assert other not in program.needed([wanted])
    np.testing.assert_array_equal(Evaluator(program, np.array([wanted]))({("x", 0): 1.0, ("x", 1): 2.0}), [3.0])


def test_values_take_samples_along_the_last_axis(program, x):
    values = Values(program, {("x", k): np.array([1.0, 2.0]) * (k + 1) for k in range(3)})
    np.testing.assert_array_equal(values.array(np.array([[x[0], x[1]], [program.one, x[2]]])),
                                  [[[1.0, 2.0], [2.0, 4.0]], [[1.0, 1.0], [3.0, 6.0]]])  # fmt: skip


def test_structural_zeros_of_a_jacobian_are_absent():
    program = Program()
    inputs = program.inputs("x", 4)
    matrix = np.diag([1.0, 2.0, 3.0, 4.0])
    _, rows = trace_with_jacobian(program, lambda x: matrix @ x + jnp.zeros(4).at[0].set(x[3] * x[1]), inputs)
    assert [sorted(row) for row in rows] == [[0, 1, 3], [1], [2], [3]]
    assert program.number(rows[1][1]) == 2.0
    assert rows[0][1] == inputs[3]


def test_terms_that_cancel_leave_no_entry():
    program = Program()
    _, rows = trace_with_jacobian(program, lambda x: x * x[0] - x[0] * x + x[::-1], program.inputs("x", 3))
    assert [sorted(row) for row in rows] == [[2], [1], [0]]


def test_the_same_work_of_two_functions_is_done_once():
    program = Program()
    inputs = program.inputs("x", 3)
    first = trace(program, lambda x: jnp.sin(x @ x), inputs)
    size = len(program)
    assert trace(program, lambda x: jnp.sin(jnp.sum(x * x)), inputs).tolist() == first.tolist()
    assert len(program) == size


def test_one_sample_gives_the_bits_of_the_walk():
    program = Program()
    x, y = program.input(("x", 0)), program.input(("x", 1))
    quotient = program.div(program.add(x, y), program.sub(x, y))
    larger = program.apply("max", program.apply("sin", x), program.apply("pow", y, program.const(1.5)))
    chosen = program.select(program.apply("lt", x, y), quotient, larger)
    evaluate = Evaluator(program, np.array([quotient, larger, chosen]))
    for values in ((0.3, 1.7), (2.0, 0.5), (1.0, 1.0)):  # the last divides by zero
        inputs = {("x", k): np.array([value]) for k, value in enumerate(values)}
        first, second, third = (evaluate(inputs) for _ in range(3))
        many = evaluate({name: np.repeat(value, 3) for name, value in inputs.items()})
        np.testing.assert_array_equal(first, second)
        np.testing.assert_array_equal(first, third)
        np.testing.assert_array_equal(first[:, 0], many[:, 0])
