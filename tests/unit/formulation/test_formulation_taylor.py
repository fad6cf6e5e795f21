"""Taylor coefficients along a curve, against nested derivatives."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.formulation import Along

ORDERS = 3
FUNCTIONS = {
    "products": lambda x: x[0] * x[1] * x[0],
    "a product of shapes that differ": lambda x: jnp.sum(x[:1] * x),
    "a scalar product": lambda x: x @ x,
    "a quadratic form": lambda x: x @ (jnp.array([[1.0, 2.0], [3.0, 4.0]]) @ x),
    "a quotient": lambda x: x[0] / (1 + x[1] ** 2),
    "exp": lambda x: jnp.exp(x[0] * x[1]),
    "exp2 and expm1": lambda x: jnp.exp2(x[0]) + jnp.expm1(x[1]),
    "log": lambda x: jnp.log(2 + x[0]),
    "log1p": lambda x: jnp.log1p(x[0]),
    "sqrt": lambda x: jnp.sqrt(x @ x),
    "rsqrt": lambda x: jax.lax.rsqrt(1 + x[0]),
    "cbrt": lambda x: jnp.cbrt(x[0]),
    "a norm": jnp.linalg.norm,
    "sin and cos": lambda x: jnp.sin(x[0]) * jnp.cos(x[1]),
    "sinh and cosh": lambda x: jnp.sinh(x[0]) + jnp.cosh(x[1]),
    "tan": lambda x: jnp.tan(x[0]),
    "tanh": lambda x: jnp.tanh(x[0]),
    "logistic": lambda x: jax.nn.sigmoid(x[0]),
    "asin and acos": lambda x: jnp.arcsin(x[0] / 2) * jnp.arccos(x[1] / 2),
    "atan": lambda x: jnp.arctan(x[0]),
    "atan2": lambda x: jnp.arctan2(x[0], x[1]),
    "asinh, acosh, atanh": lambda x: jnp.arcsinh(x[0]) + jnp.arccosh(2 + x[0]) + jnp.arctanh(x[1]),
    "erf": lambda x: jax.scipy.special.erf(x[0]),
    "whole powers": lambda x: x[0] ** 3 + x[1] ** -3 + x[0] ** 5,
    "a power": lambda x: (2 + x[0]) ** 1.7,
    "powers of an array": lambda x: jnp.sum((2 + x) ** jnp.array([0.5, 1.5])),
    "a power that moves": lambda x: (2 + x[0]) ** x[1],
    "a choice": lambda x: jnp.where(x[0] > 0.1, x[0] * x[1], x[1]),
    "abs, max, min": lambda x: jnp.abs(x[1]) * x[0] + jnp.maximum(x[0], x[1]) ** 2 + jnp.minimum(x[0], 5.0),
    "a gradient": lambda x: jax.grad(lambda y: jnp.sin(y[0] * y[1]) / jnp.sqrt(1 + y @ y))(x)[0],
    "indices": lambda x: jnp.sum(x[jnp.array([1, 0, 1])] * jnp.arange(3.0)) + jnp.zeros(2).at[1].add(x[0])[1],
    "a constant": lambda x: jnp.asarray(2.0),
}
#: at zero, where recurrences that divide by x would fail
AT_ZERO = {"powers": lambda x: x[0] ** 3 + x[1] ** 2, "products": lambda x: x[0] * x[1]}


def curve(start):
    random = np.random.default_rng(1)
    return [jnp.asarray(start), *(jnp.asarray(0.6**k * random.standard_normal(2)) for k in range(1, ORDERS + 1))]


def by_nesting(function, coefficients):
    def along(s):
        return function(sum(x * s**k for k, x in enumerate(coefficients)))

    found = []
    for k in range(ORDERS + 1):
        found.append(float(along(0.0)) / math.factorial(k))
        along = jax.grad(along)
    return found


def check(function, start):
    coefficients = curve(start)
    series, found = Along.of(function, coefficients[0]), []
    for k, x in enumerate(coefficients):
        if k > 0:
            series.coefficient(k, None)  # what is not known yet; given again below
        value = series.coefficient(k, x)
        found.append(0.0 if value is None else float(value))
    np.testing.assert_allclose(found, by_nesting(function, coefficients), rtol=1e-12, atol=1e-13)


#: Nested derivatives of these take long; what they share with the others is tested there.
SLOW = {
    "asinh, acosh, atanh", "a norm", "erf", "powers of an array", "exp2 and expm1", "logistic", "asin and acos",
    "a power that moves", "cbrt", "rsqrt", "log1p", "tanh", "sinh and cosh",
}  # fmt: skip


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if name in SLOW else ()) for name in FUNCTIONS]
)
def test_coefficients_are_scaled_derivatives(name):
    check(FUNCTIONS[name], [0.4, 0.7])


@pytest.mark.parametrize("name", AT_ZERO)
def test_polynomials_at_zero(name):
    check(AT_ZERO[name], [0.0, 0.0])


def test_what_is_not_known_enters_linearly():
    """The coefficient with an unknown x_k is the one without it plus the derivative times x_k."""
    function, coefficients = FUNCTIONS["a gradient"], curve([0.4, 0.7])
    series = Along.of(function, coefficients[0])
    for k, x in enumerate(coefficients[:-1]):
        series.coefficient(k, x)
    without = series.coefficient(ORDERS, None)
    slope = jax.grad(function)(coefficients[0]) @ coefficients[ORDERS]
    assert series.coefficient(ORDERS, coefficients[ORDERS]) == pytest.approx(float(without + slope), abs=1e-14)


def test_operations_without_a_series_are_named():
    series = Along.of(lambda x: jnp.prod(x), jnp.ones(3))
    series.coefficient(0, jnp.ones(3))
    with pytest.raises(da.MethodDoesNotFit, match="no Taylor series is known for the operation 'reduce_prod'"):
        series.coefficient(1, jnp.ones(3))


def test_operations_on_constants_need_no_series():
    series = Along.of(lambda x: x * jnp.prod(jnp.arange(1.0, 4.0)), jnp.asarray(1.0))
    assert [float(series.coefficient(k, jnp.asarray(1.0))) for k in range(3)] == [6.0, 6.0, 6.0]


def test_what_has_no_derivative_by_the_state_changes_along_the_motion():
    system = da.system(
        lagrangian=lambda t, q, v: 0.5 * v @ v, force=lambda t, q, v: -jax.lax.stop_gradient(q) + 0 * jnp.sin(q)
    )
    run = da.simulate(system, da.Taylor(12), [1.0], [0.0], t=(0.0, 1.0), h=0.1)
    assert run.q[-1, 0] == pytest.approx(np.cos(1.0), abs=1e-13)
