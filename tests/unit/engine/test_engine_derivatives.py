"""Derivatives of compiled runs: the tangent and the adjoint of a step, the operation of JAX made of them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.engine import Grid, StepFunctions, Task, native_run, reason_for_xla
from dalembert.engine.derivatives.programs import adjoint, recording, tangent
from dalembert.engine.derivatives.recorded import Differentiable

#: x' = theta_0 sin(x) + theta_1 t x, the implicit midpoint rule
GRID = Grid(12, 3)
ARGUMENTS = (jnp.array([0.3, -0.2, 0.0]), 0.5, 0.05, jnp.array([0.7, -0.4]))


def rate(t, x, theta):
    return theta[0] * jnp.sin(x[::-1]) + theta[1] * t * x**2


def midpoint() -> StepFunctions:
    """The implicit midpoint rule; the last number of the state is the size of the rate, which is replaced."""
    return StepFunctions(
        guess=lambda t, h, s, theta: rate(t, s[:2], theta),
        residual=lambda k, t, h, s, theta: k - rate(t + h / 2, s[:2] + h / 2 * k, theta),
        finish=lambda k, t, h, s, theta: jnp.concatenate([h * k, (k @ k)[None]]),
        unknowns=("k[0]", "k[1]"),
        equations=("rate[0]", "rate[1]"),
        blocks=(2,),
        n_state=3,
        summed_blocks=(2,),
        n_parameters=2,
    )


def written_out(state, t0, h, theta):
    """The same run in JAX alone, Newton by a fixed number of iterations."""

    def step(s, number):
        t = t0 + number * h

        def better(k, _):
            return rate(t + h / 2, s[:2] + h / 2 * k, theta), None

        k, _ = jax.lax.scan(better, jnp.zeros(2), None, length=30)
        s = jnp.concatenate([s[:2] + h * k, (k @ k)[None]])
        return s, s

    _, saved = jax.lax.scan(step, state, jnp.arange(float(GRID.steps)))
    return jnp.concatenate([state[None], saved[GRID.every - 1 :: GRID.every]])


FUNCTIONS = midpoint()


def run(*arguments):
    return native_run(Task(FUNCTIONS, True, GRID, True), *arguments)[0]


def loss(function):
    return lambda *arguments: jnp.sum(jnp.sin(function(*arguments) + 0.3))


def agree(found, expected, tolerance: float = 1e-11) -> None:
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


ALL = (0, 1, 2, 3)


def test_values_and_gradients_by_everything_agree_with_jax():
    agree(run(*ARGUMENTS), written_out(*ARGUMENTS))
    agree(jax.grad(loss(run), ALL)(*ARGUMENTS), jax.jit(jax.grad(loss(written_out), ALL))(*ARGUMENTS))
    agree(jax.jit(jax.grad(loss(run), ALL))(*ARGUMENTS), jax.grad(loss(run), ALL)(*ARGUMENTS), 0.0)


def test_tangents_agree_with_jax_and_with_the_adjoint():
    dots = (jnp.array([0.2, 1.0, 0.0]), 0.3, -0.7, jnp.array([0.5, 1.1]))
    _, found = jax.jvp(run, ARGUMENTS, dots)
    _, expected = jax.jit(lambda *a: jax.jvp(written_out, a[:4], a[4:]))(*ARGUMENTS, *dots)
    agree(found, expected)
    bar = np.random.default_rng(0).standard_normal(found.shape)
    bars = jax.vjp(run, *ARGUMENTS)[1](jnp.asarray(bar))
    assert float(np.sum(bar * found)) == pytest.approx(
        sum(float(np.sum(np.asarray(a) * np.asarray(b))) for a, b in zip(bars, dots, strict=True)), rel=1e-12
    )


def test_transformations_of_jax_nest():
    states = jnp.stack([ARGUMENTS[0], 2 * ARGUMENTS[0], -ARGUMENTS[0]])
    rest, one = ARGUMENTS[1:], jax.grad(loss(run), 3)
    single = jnp.stack([one(s, *rest) for s in states])
    agree(jax.vmap(one, (0, None, None, None))(states, *rest), single, 1e-12)

    def of_all(theta):
        return jnp.sum(jax.vmap(loss(run), (0, None, None, None))(states, *rest[:2], theta))

    agree(jax.jit(jax.grad(of_all))(rest[2]), single.sum(axis=0), 1e-12)
    thetas = jnp.stack([rest[2], 1.5 * rest[2]])
    twice = jax.vmap(lambda theta: jax.vmap(lambda s: one(s, *rest[:2], theta))(states))(thetas)
    agree(twice[1], jnp.stack([one(s, *rest[:2], thetas[1]) for s in states]), 1e-12)


def test_members_side_by_side_have_the_derivatives_of_each_alone():
    """More members than fit in two vectors, and the last of these is not full."""
    states = 0.3 * jnp.asarray(np.random.default_rng(1).standard_normal((19, 3)))
    thetas = states[:, :2] + 0.5
    rest = ARGUMENTS[1:3]
    together = jax.vmap(jax.value_and_grad(lambda s, theta: loss(run)(s, *rest, theta), (0, 1)))
    found, expected = together(states, thetas), [one(s, th) for s, th in zip(states, thetas, strict=True)]
    agree(found, jax.tree.map(lambda *parts: jnp.stack(parts), *expected), 1e-12)
    shared = jax.grad(lambda theta: jnp.sum(jax.vmap(lambda s: loss(run)(s, *rest, theta))(states)))(ARGUMENTS[3])
    agree(shared, sum(one(s, ARGUMENTS[3])[1][1] for s in states), 1e-12)


@jax.jit
def one(state, theta):
    return jax.value_and_grad(lambda s, th: loss(run)(s, *ARGUMENTS[1:3], th), (0, 1))(state, theta)


@pytest.mark.long
@pytest.mark.parametrize("second", [jax.jacfwd, jax.jacrev])
@pytest.mark.parametrize("first", [jax.jacfwd, jax.jacrev])
def test_second_derivatives_in_every_mode(first, second):
    expected = jax.jit(jax.hessian(loss(written_out), 3))(*ARGUMENTS)
    agree(second(first(loss(run), 3), 3)(*ARGUMENTS), expected, 1e-10)


def test_a_long_run_is_taken_in_parts_with_the_same_gradient(tune):
    whole = jax.grad(loss(run), ALL)(*ARGUMENTS)
    tune(record_bytes=8 * 5 * 4)
    step = Differentiable(FUNCTIONS, compensated=True)
    assert step.part_steps(GRID) < GRID.steps
    arguments = tuple(np.asarray(part) for part in ARGUMENTS)
    record = step.record(*arguments[:1], 0.5, 0.05, arguments[3], GRID)
    assert len(record.rows) > 1
    bar = np.asarray(jnp.cos(run(*ARGUMENTS) + 0.3))
    agree(step.adjoints(record, 0.5, 0.05, arguments[3], bar, GRID), whole, 1e-12)


def test_the_derivatives_of_a_step_are_solved_without_iterations():
    """Both problems are linear: every unknown is eliminated, so that nothing is left for Newton."""
    step = Differentiable(FUNCTIONS, compensated=True)
    arguments = tuple(np.asarray(part) for part in ARGUMENTS)
    record = step.record(*arguments[:1], 0.5, 0.05, arguments[3], GRID)
    step.adjoints(record, 0.5, 0.05, arguments[3], np.ones((GRID.saves + 1, 3)), GRID)
    step.tangents(record, 0.5, 0.05, arguments[3], (np.ones(3), 0.0, 0.0, np.ones(2)), GRID)
    for sweep in step._sweeps.values():
        assert sweep._step.statistics["newton_unknowns"] == []
    for made in (adjoint(FUNCTIONS, (0, 1)), tangent(FUNCTIONS, (0, 1))):
        assert made.linear
        assert made.size == FUNCTIONS.size
    assert recording(FUNCTIONS, (0, 1)).n_state == FUNCTIONS.n_state + 2


def test_a_step_that_fails_is_a_typed_error_or_a_status():
    """x = 2 + theta x^2 has no solution for theta > 1/8."""
    functions = StepFunctions(
        guess=lambda t, h, s, theta: 2.0 * jnp.ones(1),
        residual=lambda x, t, h, s, theta: x - 2.0 - (theta + t) * x**2,
        finish=lambda x, *rest: h_times(x, *rest),
        unknowns=("x",), equations=("r",), blocks=(1,), n_state=1, summed_blocks=(1,), n_parameters=1,
    )  # fmt: skip
    arguments = (jnp.zeros(1), 0.0, 0.01, jnp.array([0.05]))
    with pytest.raises(da.StepFailure, match=r"step 9 .*failed: .*use a smaller h"):
        native_run(Task(functions, True, Grid(20, 1), True), *arguments)
    saved, _, status, taken = native_run(Task(functions, True, Grid(20, 1), False), *arguments)
    assert int(status) != 0
    np.testing.assert_array_equal(saved[int(taken) :], np.repeat(saved[int(taken)][None], 21 - int(taken), axis=0))


def h_times(x, t, h, s, theta):
    return h * x


def test_untranslated_operations_have_a_reason():
    assert reason_for_xla(FUNCTIONS) is None
    other = StepFunctions(
        **{**vars(FUNCTIONS), "guess": lambda t, h, s, theta: jnp.linalg.eigvalsh(jnp.outer(s[:2], s[:2]))}
    )
    with pytest.warns(da.SlowEngineWarning, match="eigh"):
        assert "eigh" in (reason_for_xla(other) or "")
