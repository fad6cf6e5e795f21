"""How long JAX compiled: spans inside each other count once."""

import time

import jax
import jax.numpy as jnp
import pytest

import dalembert as da
from dalembert.engine.runners import native
from dalembert.engine.runners.compile_time import CompileTime, compile_time, compiling
from dalembert.engine.runners.translation import translated


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


def test_what_this_engine_compiles_is_measured_with_what_jax_does_meanwhile():
    function = jax.jit(lambda x: jnp.cos(x) + 18.25)
    with compile_time() as outer, compile_time() as inner:
        with compiling():
            function(1.0)
        inside = inner.seconds
    assert outer.seconds == pytest.approx(inside)
    with compile_time() as nothing:
        pass
    assert nothing.seconds == 0


def test_event_capturing_counts_the_translation_of_its_smooth_steps(monkeypatch):
    spent = []

    def watched(*arguments):
        begun = time.perf_counter()
        time.sleep(0.1)  # not in JAX
        found = translated(*arguments)
        spent.append(time.perf_counter() - begun)
        return found

    monkeypatch.setattr(native, "translated", watched)
    ball = da.system(  # compiled nowhere else
        lagrangian=lambda t, q, v: 0.5 * v @ v - 9.4321 * q[0] + 0.01 * jnp.cos(q[0]), gap=lambda t, q: q
    )
    run = da.simulate(ball, da.EventCapturing(), [1.0], [0.0], t=(0.0, 0.01), h=0.001)
    assert run.stats["compiled_steps"] > 0
    assert 0 < sum(spent) <= run.stats["compile_seconds"]
