"""Newton's method under transformations of JAX: roots, their derivatives, and what stays in memory."""

import collections
import gc
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dalembert.nonlinear import find_root


def test_derivatives_of_a_root_are_those_of_the_implicit_function():
    """x^3 + x = a: dx/da = 1 / (3 x^2 + 1), d2x/da2 = -6 x (dx/da)^3."""

    def root(a):
        return find_root(lambda x, a: x**3 + x - a, jnp.ones(1), (a,), 25).x[0]

    a = jnp.array([0.5, 2.0])
    derivatives = jax.jit(jax.vmap(lambda a: (root(a), jax.grad(root)(a), jax.jacfwd(jax.grad(root))(a))))
    x, slope, curvature = (np.asarray(each) for each in derivatives(a))
    assert x**3 + x == pytest.approx(np.asarray(a), abs=1e-15)
    assert slope == pytest.approx(1 / (3 * x**2 + 1), rel=1e-13)
    assert curvature == pytest.approx(-6 * x * slope**3, rel=1e-12)


def test_an_update_that_is_only_roundoff_ends_the_iteration():
    """Equations whose values are known to 1e-8 have a root known to 1e-8."""

    def noisy(x):
        return x**2 - 2.0 + 1e-8 * jax.lax.stop_gradient(jnp.sin(1e12 * x))

    found = find_root(noisy, jnp.ones(1), (), 25)
    assert found.converged
    assert found.iterations < 10
    assert float(found.x[0]) == pytest.approx(np.sqrt(2.0), abs=1e-8)


def test_no_root_is_no_convergence():
    found = find_root(lambda x: x**2 + 1.0, jnp.array([0.7]), (), 25)
    assert not found.converged
    singular = find_root(lambda x: jnp.stack([x[0] + x[1], x[0] + x[1] - 1.0]), jnp.zeros(2), (), 25)
    assert not singular.converged


def test_what_was_solved_is_forgotten():
    """Solving many different equations leaves nothing of them behind."""

    def solve(k):
        def equation(x, a):
            return x**3 + x * jnp.cosh(k * x) - a

        def root(a):
            return find_root(equation, jnp.ones(3), (a,), 25).x

        jax.jit(root)(jnp.ones(3))
        return weakref.ref(equation)

    def kept():
        gc.collect()
        return collections.Counter(type(each).__name__ for each in gc.get_objects())

    solve(0.5)
    before = kept()
    equations = [solve(k) for k in (1.0, 1.5, 2.0)]
    after = kept()
    assert [equation() for equation in equations] == [None] * 3
    for kind in ("Jaxpr", "JaxprEqn", "DynamicJaxprTracer"):
        assert after[kind] <= before[kind], kind
