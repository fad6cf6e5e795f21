"""How long JAX compiled: spans inside each other count once."""

import jax
import jax.numpy as jnp
import pytest

from dalembert.engine.runners.compile_time import CompileTime, compile_time


def test_spans_inside_each_other_count_once():
    found = CompileTime()
    for begin, end in ((1.0, 2.0), (3.0, 4.0), (0.5, 5.0), (6.0, 7.0), (7.0, 7.5)):
        found.add(begin, end)
    assert found.seconds == pytest.approx(6.0)


def test_what_is_compiled_is_measured_and_what_is_known_is_not():
    function = jax.jit(lambda x: jnp.sin(x) + 17.25)
    with compile_time() as first:
        function(1.0)
    with compile_time() as second:
        function(2.0)
    assert first.seconds > 0
    assert second.seconds == 0
