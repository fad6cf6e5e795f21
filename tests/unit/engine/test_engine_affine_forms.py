"""Newton's loop in forms whose coefficients do not change in it: the same numbers from fewer operations."""

import jax.numpy as jnp
import numpy as np
import pytest
from engine_runners import runner_and_start
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from dalembert.engine.elimination import affine_forms
from dalembert.engine.program.levels import FIRST_BLOCK, Levels
from dalembert.engine.program.program import Program, Values
from dalembert.engine.step import step_program
from dalembert.engine.trace.tracing import trace


def rewritten(program: Program, roots: list[int], unknowns: int) -> list[int] | None:
    levels = Levels(program, np.zeros(unknowns, dtype=np.int64))
    return affine_forms._Rewriting(program, levels, FIRST_BLOCK, roots).result()


def in_loop(program: Program, roots: list[int], unknowns: int) -> int:
    levels = Levels(program, np.zeros(unknowns, dtype=np.int64))
    return sum(levels[k] == FIRST_BLOCK and program.op[k] != "input" for k in program.needed(roots))


def test_a_position_that_a_multiplier_moves_is_one_multiply_add():
    program = Program()
    x, state, h = program.inputs("x", 1), program.inputs("state", 3), np.array(program.input(("h", 0)))

    def squared(x, state, h):
        q, p, d = state
        moved = q - h * (0.5 * (p - d * x[0]))
        return moved * moved + moved

    (root,) = trace(program, squared, x, state, h).ravel().tolist()
    (new,) = rewritten(program, [root], 1) or [root]
    assert in_loop(program, [root], 1) == 7
    assert in_loop(program, [new], 1) == 4
    inputs = {("x", 0): 0.3, ("h", 0): 0.1} | {("state", k): float(k + 1) for k in range(3)}
    values = Values(program, inputs)
    assert values[new] == pytest.approx(values[root], rel=1e-15)


def test_terms_that_cancel_are_gone():
    program = Program()
    x, state = program.inputs("x", 2), program.inputs("state", 2)
    (root,) = (
        trace(program, lambda x, s: s[0] * (x[0] + x[1]) - s[0] * x[1] + s[1] - s[0] * x[0], x, state).ravel().tolist()
    )
    (new,) = rewritten(program, [root], 2) or [root]
    assert in_loop(program, [new], 2) == 0
    assert Values(program, {("x", 0): 3.0, ("x", 1): 4.0, ("state", 0): 5.0, ("state", 1): 7.0})[new] == 7.0


OPERATIONS = ("add", "sub", "mul", "div", "neg", "sin", "square", "max")


@st.composite
def expressions(draw):
    """A recipe: operations on numbers of earlier results; 0 and 1 are unknowns, 2, 3 and 4 known once a step or run."""
    count = draw(st.integers(3, 25))
    return [
        (draw(st.sampled_from(OPERATIONS)), draw(st.integers(0, 5 + k)), draw(st.integers(0, 5 + k)))
        for k in range(count)
    ]


def value_of(recipe, x, state, h):
    results = [x[0], x[1], state[0], state[1], h, 0.5 * jnp.ones(())]
    for op, a, b in recipe:
        u, v = results[a], results[b]
        results.append(
            {
                "add": lambda u=u, v=v: u + v, "sub": lambda u=u, v=v: u - v, "mul": lambda u=u, v=v: 0.3 * u * v,
                "div": lambda u=u, v=v: u / (2.0 + v * v), "neg": lambda u=u: -u, "sin": lambda u=u: jnp.sin(u),
                "square": lambda u=u: u * u / (1.0 + u * u), "max": lambda u=u, v=v: jnp.maximum(u, v),
            }[op]()
        )  # fmt: skip
    return jnp.stack(results[-2:])


@settings(max_examples=150, deadline=None)
@given(expressions(), st.integers(0, 2**32 - 1))
def test_random_expressions_keep_their_values(recipe, seed):
    program, random = Program(), np.random.default_rng(seed)
    x, state, h = program.inputs("x", 2), program.inputs("state", 2), np.array(program.input(("h", 0)))
    roots = trace(program, lambda *a: value_of(recipe, *a), x, state, h).tolist()
    new = rewritten(program, roots, 2) or roots
    numbers = random.uniform(-2, 2, 5)
    names = [("x", 0), ("x", 1), ("state", 0), ("state", 1), ("h", 0)]
    values = Values(program, dict(zip(names, numbers.tolist(), strict=True)))
    sizes = [abs(float(values[k])) for k in range(len(program)) if program.op[k] != "linear"]
    roundoff = 1e-14 * len(program) * max(1.0, *(size for size in sizes if np.isfinite(size)))
    for a, b in zip(roots, new, strict=True):
        assert float(values[b]) == pytest.approx(float(values[a]), rel=1e-9, abs=roundoff)


def updates(name: str, method, monkeypatch, shorten: bool):
    """The operations of a loop, and the first update from a perturbed guess."""
    if not shorten:
        monkeypatch.setattr(step_program, "shorten_loops", lambda reduced: None)
    runner, state, parameters = runner_and_start(name, method, 0.01)
    step = runner.step
    x = np.random.default_rng(0).standard_normal(step.functions.size)
    inputs = {"t": [0.0], "h": [0.01], "state": state, "parameter": parameters, "x": x}
    nodes = np.array([node for block in step.reduced.blocks for node in block.update])
    return step.statistics["operations_per_iteration"], step.evaluator(nodes)(inputs)


@pytest.mark.parametrize(
    ("name", "method"), [("pendulum", da.Rattle()), ("double-pendulum", da.Rattle()), ("chain", da.Rattle())]
)
def test_updates_of_methods_agree_and_cost_half(name, method, monkeypatch):
    few, short = updates(name, method, monkeypatch, True)
    many, long = updates(name, method, monkeypatch, False)
    assert few < 0.7 * many
    np.testing.assert_allclose(short, long, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("method", [da.Galerkin(3), da.gauss_spark(2)], ids=lambda method: method.name)
def test_collocation_keeps_the_order_of_its_differences(method, monkeypatch):
    """(q_1 - q_0) / h is not q_1 / h - q_0 / h: the multipliers of high order need the digits."""
    few, short = updates("double-pendulum", method, monkeypatch, True)
    many, long = updates("double-pendulum", method, monkeypatch, False)
    assert few == many
    np.testing.assert_array_equal(short, long)
