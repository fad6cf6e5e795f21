"""Values, Jacobians and Newton for many rows at once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dalembert.engine import RowJacobian, RowNewton
from dalembert.engine.functions.batched_jacobian import solve_rows


def function(x, a):
    return jnp.stack([x[0] ** 2 + a * x[1], jnp.sin(x[1]), 3.0 * x[0]])


def by_a_loop(x, a):
    """A loop whose length depends on the state has no scalar program: JAX evaluates it."""
    doubled = jax.lax.while_loop(lambda c: c[1] < a, lambda c: (c[0], c[1] + 1.0), (x[0], 0.0))[0]
    return jnp.stack([x[0] ** 2 + a * x[1] + 0.0 * doubled, jnp.sin(x[1]), 3.0 * x[0]])


@pytest.mark.parametrize("traced", [function, by_a_loop])
@pytest.mark.parametrize("count", [1, 5, 3000])
def test_rows_agree_with_jax(traced, count):
    x, a = np.random.default_rng(0).standard_normal((count, 2)), np.linspace(1.0, 2.0, count)
    found = RowJacobian(traced)(x, a)
    np.testing.assert_allclose(found.values, jax.vmap(function)(x, a), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(found.dense(2), jax.vmap(jax.jacfwd(function))(x, a), rtol=1e-14, atol=1e-15)


def test_structural_zeros_are_left_out():
    found = RowJacobian(function)(np.ones((2, 2)), np.ones(2))
    assert list(zip(found.row.tolist(), found.column.tolist(), strict=True)) == [(0, 0), (0, 1), (1, 1), (2, 0)]


def test_newton_solves_every_row_and_says_which_it_could_not():
    """arctan(x - a) = 0 defeats full Newton steps from far away, and x^2 + a = 0 has no root for a > 0."""
    shifted = RowNewton(lambda x, a: jnp.arctan(x - a))(np.array([[0.0], [50.0]]), np.array([[0.5], [1.0]]))
    assert shifted.found.all()
    np.testing.assert_allclose(shifted.x, [[0.5], [1.0]], rtol=1e-14)
    roots = RowNewton(lambda x, a: x**2 + a)(np.ones((2, 1)), np.array([[-4.0], [4.0]]))
    assert roots.found.tolist() == [True, False]
    assert roots.x[0] == pytest.approx(2.0, abs=1e-15)
    assert RowNewton(lambda x, a: x)(np.zeros((3, 0)), np.zeros(3)).found.all()


def test_a_singular_row_leaves_the_others_alone():
    matrices = np.stack([np.eye(2), np.zeros((2, 2)), np.full((2, 2), np.nan), 2 * np.eye(2)])
    solved = solve_rows(matrices, np.ones((4, 2)))
    np.testing.assert_allclose(solved[[0, 3]], [[1.0, 1.0], [0.5, 0.5]])
    assert np.isnan(solved[1:3]).all()
