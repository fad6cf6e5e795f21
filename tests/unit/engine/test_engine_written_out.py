"""Programs written out as Python functions: the same bits as the walk, and the same infinities."""

import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.engine import Function
from dalembert.engine.tuning import tuning


def everything(x, t):
    """Arithmetic, functions, comparisons and choices."""
    a, b, c = x[0], x[1], x[2]
    smooth = jnp.stack([a * b + c, a / (1 + b**2), jnp.sin(a) * jnp.exp(-b), jnp.sqrt(1 + c**2), jnp.arctan2(a, b)])
    kinked = jnp.stack([jnp.abs(a), jnp.maximum(b, c), jnp.where((a > 0) & (b <= c), a**3, -t), jnp.sign(c) * t])
    return jnp.concatenate([smooth, kinked])


def test_the_same_bits_as_before():
    random = np.random.default_rng(0)
    points = random.standard_normal((10, 3))
    function = Function(everything)
    walked = [function(x, 0.7) for x in points]
    for _ in range(tuning().written_out_after):
        function(points[0], 0.7)
    for x, (value, jacobian) in zip(points, walked, strict=True):
        again, jacobian_again = function(x, 0.7)
        np.testing.assert_array_equal(again, value)
        np.testing.assert_array_equal(jacobian_again.toarray(), jacobian.toarray())


def test_what_python_refuses_is_left_to_numpy():
    function = Function(lambda x: jnp.stack([1 / x[0], jnp.log(x[1]), x[0] * x[1]]))
    for _ in range(tuning().written_out_after + 2):
        value, _ = function(np.array([0.0, -1.0]))
    assert np.isinf(value[0])
    assert np.isnan(value[1])
    np.testing.assert_array_equal(function(np.array([2.0, 4.0]))[0], [0.5, np.log(4.0), 8.0])


@pytest.mark.parametrize("name", ["pendulum", "double-pendulum", "heavy-top", "mclachlan-perlmutter-particles"])
def test_starts_of_the_gallery(name, tune):
    """A run from a start that was checked by written out programs is the run from before, bit for bit."""
    system = da.gallery.system_named(name)()
    start = system.start()
    ends = []
    for after in (0, 10**9):
        tune(written_out_after=after)
        found = da.consistent(system, start.q0, start.v0, 0.0 if after else 1e-300)
        ends.append(np.concatenate([found.q, found.v, found.p, found.lam]))
    np.testing.assert_array_equal(*ends)
