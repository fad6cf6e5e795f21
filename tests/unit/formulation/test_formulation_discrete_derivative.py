"""Discrete derivatives: directionality, consistency, orthogonality, and smoothness where a quotient is 0/0."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.formulation import DISCRETE_DERIVATIVES, quotient, through
from dalembert.formulation.entrywise import affine_entries

FUNCTIONS = {
    "polynomial": lambda x: x[0] ** 4 - 2 * x[0] * x[1] ** 2 + x[2] ** 3,
    "trigonometric": lambda x: jnp.sin(x[0] * x[1]) + jnp.cos(x[2] - x[0]),
    "exponential": lambda x: jnp.exp(0.3 * x[0] - 0.2 * x[1] ** 2) * (1 + x[2] ** 2),
    "vector": lambda x: jnp.array([x @ x, jnp.sin(x[0]) * x[2]]),
}
POINTS = st.lists(st.floats(-1.5, 1.5), min_size=3, max_size=3).map(np.array)


@pytest.mark.parametrize("kind", DISCRETE_DERIVATIVES)
@pytest.mark.parametrize("name", FUNCTIONS)
@given(x=POINTS, y=POINTS)
@settings(max_examples=15, deadline=None)
def test_directionality(kind, name, x, y):
    f = FUNCTIONS[name]
    x, y = jnp.asarray(x), jnp.asarray(y)
    change = DISCRETE_DERIVATIVES[kind](f, x, y) @ (y - x)
    tolerance = 1e-7 if kind == "mean-value" and name != "polynomial" else 1e-12  # quadrature over a long segment
    assert np.allclose(change, f(y) - f(x), atol=tolerance)


@pytest.mark.parametrize("kind", DISCRETE_DERIVATIVES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_consistency_of_second_order(kind, name):
    f, x, direction = FUNCTIONS[name], jnp.array([0.4, -0.7, 0.9]), jnp.array([1.0, 0.5, -0.8])
    defects = []
    for size in (0.04, 0.02, 0.01):
        y = x + size * direction
        exact = jax.jacfwd(f)((x + y) / 2)
        defects.append(float(np.max(np.abs(DISCRETE_DERIVATIVES[kind](f, x, y) - exact))))
    assert np.log2(defects[1] / defects[2]) == pytest.approx(2.0, abs=0.2)


@pytest.mark.parametrize("kind", DISCRETE_DERIVATIVES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_value_and_derivative_where_both_arguments_agree(kind, name):
    f, x = FUNCTIONS[name], jnp.array([0.4, -0.7, 0.9])
    discrete = DISCRETE_DERIVATIVES[kind]
    assert np.allclose(discrete(f, x, x), jax.jacfwd(f)(x), atol=1e-14)
    # near x the discrete derivative moves with half the second derivative
    by_y = jax.jacfwd(lambda y: discrete(f, x, y))(x + 1e-9)
    assert np.all(np.isfinite(by_y))
    if kind != "itoh-abe":
        assert np.allclose(by_y, jax.hessian(f)(x) / 2, atol=1e-5)


@given(a=st.floats(0.2, 5.0), relative=st.sampled_from([0.0, 1e-14, 1e-9, 2.9e-4, 3.1e-4, 1e-2, 0.5]))
@settings(max_examples=40, deadline=None)
def test_quotient_is_exact_across_its_switch(a, relative):
    x, y = jnp.array([a]), jnp.array([a * (1 + relative)])
    exact = 1 / (np.sqrt(a) + np.sqrt(float(y[0])))  # of the square root
    assert float(quotient(jnp.sqrt, x, y)[0]) == pytest.approx(exact, rel=3e-12)
    slope = jax.jacfwd(lambda y: quotient(jnp.sqrt, x, y))(y)
    assert float(slope[0, 0]) == pytest.approx(-(exact**2) / (2 * np.sqrt(float(y[0]))), rel=1e-7)


def rotation(axis):
    return jnp.cross(jnp.eye(3)[axis][None], jnp.eye(3)).T


@given(x=st.lists(st.floats(-2, 2), min_size=6, max_size=6).map(np.array),
       y=st.lists(st.floats(-2, 2), min_size=6, max_size=6).map(np.array))  # fmt: skip
@settings(max_examples=30, deadline=None)
def test_the_derivative_through_invariants_is_equivariant(x, y):
    def pi(q):
        a, b = q[:3], q[3:]
        return jnp.stack([a @ a, b @ b, a @ b, (a - b) @ (a - b)])

    for phi in (lambda p: jnp.exp(-p) + p**2, lambda p: jnp.sin(p[0]) * p[1] + p[2] ** 2 * p[3]):
        discrete = through(pi, phi, jnp.asarray(x), jnp.asarray(y))
        change = jnp.sum(phi(pi(y)) - phi(pi(x)))
        assert float(discrete @ (y - x)) == pytest.approx(float(change), abs=1e-9)
        for axis in range(3):
            turn = jnp.kron(jnp.eye(2), rotation(axis))
            assert float(discrete @ (turn @ (x + y) / 2)) == pytest.approx(0.0, abs=1e-9)


def test_affine_terms_have_their_slope_where_invariants_are_roundoff():
    """Constraints are zero at both ends of a step: a quotient of what is left of them would be roundoff."""
    weights, x, y = jnp.array([3.0, 0.7, 2.0]), jnp.array([1e-17, 2.0, 0.0]), jnp.array([-2.3e-17, 2.5, 1e-16])

    def phi(pi):
        return weights * pi - jnp.array([0.0, 1.0, 0.0])

    assert np.array_equal(through(lambda q: q, phi, x, y), weights)
    by_y = jax.jacfwd(lambda y: through(lambda q: q, phi, x, y))(y)
    assert np.array_equal(by_y, np.zeros((3, 3)))
    # next to terms that are not affine
    mixed = through(lambda q: q, lambda pi: weights * jnp.stack([pi[0], pi[1] ** 2, pi[2]]), x, y)
    assert mixed == pytest.approx([3.0, 0.7 * 4.5, 2.0], rel=1e-14)


def test_affine_entries_are_told_from_others():
    a = jnp.array([1.0, 2.0, 3.0])
    assert affine_entries(lambda z: 2 * z + 1, a).tolist() == [True, True, True]
    assert affine_entries(lambda z: jnp.stack([z[0], jnp.sin(z[1]), z[2] / 3]), a).tolist() == [True, False, True]
    assert affine_entries(lambda z: jnp.sqrt(z), a).tolist() == [False, False, False]
