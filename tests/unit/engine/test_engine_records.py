"""Records of runs stay beside JAX: asked for never, once or often, they give the same derivatives."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dalembert.engine import Grid, StepFunctions, Task, native_run
from dalembert.engine.derivatives import operation
from dalembert.engine.derivatives.choice import read_by
from dalembert.engine.derivatives.recorded import Differentiable
from dalembert.engine.derivatives.records import NONE, Records


class Numbers:
    """A record of so many bytes."""

    def __init__(self, size: int) -> None:
        self.bytes = size


def decay() -> StepFunctions:
    """x' = -theta x^3 by the implicit Euler rule, with an unknown that enters linearly beside."""
    return StepFunctions(
        guess=lambda t, h, s, theta: jnp.append(s, 0.0),
        residual=lambda x, t, h, s, theta: jnp.array([x[0] - s[0] + h * theta[0] * x[0] ** 3, x[1] - 2.0 * x[0]]),
        finish=lambda x, t, h, s, theta: x[:1] - s,
        unknowns=("x", "twice"), equations=("rate", "double"), blocks=(1, 1), n_state=1, summed_blocks=(1,),
        n_parameters=1,
    )  # fmt: skip


FUNCTIONS = decay()


@pytest.fixture
def records(monkeypatch):
    """The records that runs leave in this test alone."""
    own = Records()
    monkeypatch.setattr(operation, "_records", own)
    return own


@pytest.fixture
def runs(monkeypatch):
    """How often a run was taken with a record."""
    taken, own = [], Differentiable._recorded

    def counted(self, *given):
        taken.append(1)
        return own(self, *given)

    monkeypatch.setattr(Differentiable, "_recorded", counted)
    return taken


def end(theta):
    task = Task(FUNCTIONS, True, Grid(10, 10), True)
    return native_run(task, jnp.ones(1), 0.0, 0.1, jnp.reshape(theta, 1))[0][-1, 0]


def test_the_oldest_records_go_first_and_those_that_were_asked_for_sooner(tune):
    tune(records_held=100, records_spent=50)
    kept = Records()
    first, second, third = (kept.keep(Numbers(40)) for _ in range(3))
    assert NONE not in (first, second, third)
    assert kept.find(first) is None
    assert kept.bytes == 80
    assert kept.find(second) is not None
    assert kept.find(second) is not None
    assert kept.find(third) is not None
    assert kept.find(second) is None
    assert kept.bytes == 40


def test_only_the_unknowns_that_derivatives_read_are_recorded():
    assert read_by(FUNCTIONS, forwards=False) == (0,)
    assert read_by(FUNCTIONS, forwards=True) == (0,)


def test_a_gradient_takes_its_run_once(records, runs):
    slope = jax.jit(jax.value_and_grad(end))
    first, second = slope(0.7), slope(0.7)
    assert first == second
    assert len(runs) == 2


def test_a_pullback_may_be_called_often_and_after_its_record_is_gone(records, runs, tune):
    expected = jax.grad(end)(0.7)
    _, pull = jax.vjp(jax.jit(end), 0.7)
    runs.clear()
    np.testing.assert_array_equal([pull(1.0)[0], pull(2.0)[0]], [expected, 2 * expected])
    assert not runs
    tune(records_held=0, records_spent=0)
    records.keep(Numbers(1))
    records.find(records.keep(Numbers(1)))
    _, pull = jax.vjp(end, 0.7)
    runs.clear()
    np.testing.assert_array_equal([pull(1.0)[0], pull(2.0)[0]], [expected, 2 * expected])
    assert len(runs) == 2


def test_many_members_and_directions_share_what_is_held(records):
    thetas = jnp.array([0.5, 0.7, 1.1])
    one = jnp.stack([jax.grad(end)(theta) for theta in thetas])
    np.testing.assert_allclose(jax.jit(jax.vmap(jax.grad(end)))(thetas), one, rtol=1e-14)
    np.testing.assert_allclose(jax.vmap(jax.vjp(end, 0.7)[1])(jnp.array([1.0, 3.0]))[0], one[1] * np.array([1.0, 3.0]))
    assert records.bytes < 16_000_000
