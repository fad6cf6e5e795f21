"""What the native engine does not translate runs by XLA, with a note; asked for by name it is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.engine.program.program import Program
from dalembert.engine.trace.tracing import trace
from dalembert.errors import SlowEngineWarning, UnsupportedByEngine
from dalembert.gallery import PolarPendulum


class SlowlyComputed(da.System):
    """A harmonic oscillator whose stiffness comes from a loop that stops by itself: Newton for the root of 9."""

    start: float = 9.0

    def lagrangian(self, t, q, v):
        def better(x):
            return 0.5 * (x + self.start / x)

        root = jax.lax.while_loop(lambda x: jnp.abs(better(x) - x) > 1e-15, better, jnp.asarray(self.start))
        return 0.5 * v @ v - 0.5 * jax.lax.stop_gradient(root) ** 2 * q @ q


class Oscillator(da.System):
    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 0.5 * 9.0 * q @ q


RUN = {"q0": np.array([1.0, 0.0]), "v0": np.array([0.0, 1.0]), "t": (0.0, 0.5), "h": 0.05}
REASON = "a loop whose length depends on the state"


@pytest.mark.usefixtures("quick_xla")
def test_auto_takes_xla_and_says_why():
    with pytest.warns(SlowEngineWarning, match=f"does not translate {REASON}; the run takes the XLA engine"):
        run = da.simulate(SlowlyComputed(), da.Rattle(), **RUN)
    assert run.stats["engine"] == "xla"
    assert run.stats["engine_reason"] == REASON
    native = da.simulate(Oscillator(), da.Rattle(), **RUN)
    assert native.stats["engine"] == "native"
    np.testing.assert_allclose(run.q, native.q, rtol=0, atol=1e-13)
    np.testing.assert_allclose(run.p, native.p, rtol=0, atol=1e-12)


@pytest.mark.parametrize("options", [{"engine": "native"}, {"precision": "extended"}])
def test_native_refuses_and_names_the_cause(options):
    with pytest.raises(da.InputError, match=f"the native engine cannot run this system: {REASON}"):
        da.simulate(SlowlyComputed(), da.Rattle(), **RUN, **options)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: jnp.sort(jnp.tile(x, 20)), "the operation 'sort' on 60 numbers"),
        (lambda x: jnp.linalg.inv(jnp.eye(9) * x[0] + x[1]), "the operation 'lu' on a matrix of 9 rows"),
        (lambda x: jnp.linalg.cholesky(jnp.eye(25) * x[0] + x[1]), "the operation 'cholesky' on a matrix of 25 rows"),
        (lambda x: jnp.linalg.eigh(jnp.eye(3) * x)[0], "the operation 'eigh', for which it has no rule"),
        (
            lambda x: jnp.zeros(9000).at[x.astype(jnp.int64)].set(1.0),
            "writing to 27000 places that depend on the state",
        ),
        (lambda x: jnp.tile(x, 2000)[x[0].astype(jnp.int64)], "an index that depends on the state among 6000 places"),
        (lambda x: x.astype(jnp.float32).astype(jnp.float64), "'convert_element_type' with a result of type float32"),
        (
            lambda x: x * jnp.cumprod((7.0 * x).astype(jnp.int8)).astype(jnp.float64),
            "'cumprod' on numbers of type int8",
        ),
        (lambda x: x * ((7.0 * x).astype(jnp.int64) & 1).astype(jnp.float64), "'and' on numbers of type int64"),
        (lambda x: jax.lax.while_loop(lambda y: y[0] < 5.0, lambda y: 2.0 * y, x), REASON),
        (lambda x: jax.lax.fori_loop(0, 30_000, lambda _, y: y * 1.0, x), "passes"),
        (lambda x: jax.lax.erf_inv(x), "the operation 'erf_inv'"),
    ],
)
def test_what_is_not_translated_is_named(function, reason):
    program = Program()
    with pytest.raises(UnsupportedByEngine, match=reason):
        trace(program, function, program.inputs("x", 3))


def test_operations_without_entries_are_no_reason_for_the_slow_engine():
    """The multipliers of a system without constraints are no numbers; whatever is done with them is translated."""
    program = Program()
    x = program.inputs("x", 3)
    assert trace(program, lambda x: jnp.concatenate([x[:0] ** 2, x]), x).tolist() == x.tolist()
    start = PolarPendulum().start()
    run = da.simulate(PolarPendulum(), da.Galerkin(1), start.q0, start.v0, t=(0.0, 0.1), h=0.01)
    assert run.stats["engine"] == "native"
