"""First and second derivatives of functions over many rows, from one trace."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dalembert.engine import RowDerivatives

ROWS = np.random.default_rng(0)
X, P = ROWS.uniform(0.5, 1.5, (5, 4)), ROWS.uniform(0.5, 1.5, (5, 2))


def smooth(x, p):
    """Several outputs share entries; one does not depend on x, one is linear in it."""
    return jnp.stack([jnp.sin(x[0] * x[1]) / x[2], p[0] * x[3], p[1] ** 2, jnp.sum(x**3) * p[0], jnp.exp(x[1] - x[2])])


def bent(x, p):
    """A derivative that is not that of the operations."""
    return jnp.stack([jnp.maximum(x[0], x[1]) * x[2] ** 2, jnp.linalg.solve(jnp.diag(x) + p[0], x)[3]])


def by_a_loop(x, p):
    """A loop whose length depends on the state has no scalar program: JAX evaluates it."""
    turns = jax.lax.while_loop(lambda c: c[1] < p[0], lambda c: (c[0], c[1] + 1.0), (p[0], 0.0))[1]
    return jnp.stack([jnp.sin(x[0] * x[1]) * jax.lax.stop_gradient(turns)])


@pytest.mark.parametrize(("function", "outputs"), [(smooth, 5), (bent, 2), (by_a_loop, 1)])
def test_second_derivatives_are_those_of_jax(function, outputs):
    factors, traced = ROWS.standard_normal((5, outputs)), RowDerivatives(function)
    for _ in range(2):  # traced, and found again
        first, second, values = traced(X, P), traced.curvature(X, factors, P), traced.values(X, P)
        assert np.all(second.row >= second.column)
    slopes = jax.vmap(jax.jacfwd(function))(X, P)
    np.testing.assert_allclose(values, jax.vmap(function)(X, P), rtol=1e-13)
    np.testing.assert_allclose(first.dense(4), slopes, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(second.values, np.einsum("ki,kij->kj", factors, slopes), rtol=1e-12, atol=1e-14)
    hessians = np.zeros((5, 4, 4))
    hessians[:, second.row, second.column] = second.entries
    right = jax.vmap(lambda x, f, p: jax.jacfwd(jax.jacfwd(lambda x: f @ function(x, p)))(x))(X, factors, P)
    np.testing.assert_allclose(hessians, np.tril(right), rtol=1e-11, atol=1e-12)


def test_a_function_without_outputs():
    nothing = RowDerivatives(lambda x: jnp.zeros(0))
    assert nothing.values(X).shape == (5, 0)
    found = nothing.curvature(X, np.zeros((5, 0)))
    assert found.entries.shape == (5, 0)
    assert np.array_equal(found.values, np.zeros((5, 4)))
