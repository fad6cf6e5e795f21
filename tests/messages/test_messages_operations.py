"""Operations beside the usual ones in a model: each works, or is refused with its name and a cure."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.engine import Function
from dalembert.engine.program.program import Program
from dalembert.engine.trace.tracing import trace
from dalembert.errors import UnsupportedByEngine

RUN = {"q0": np.array([0.3, 0.2]), "v0": np.array([0.1, -0.2]), "t": (0.0, 0.04), "h": 0.02}
KEY = jax.random.key(0)


def squared(x):
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return jax.pure_callback(lambda a: np.asarray(a) ** 2, shape, x, vmap_method="sequential")


@jax.custom_jvp
def squared_with_derivative(x):
    return squared(x)


squared_with_derivative.defjvp(lambda x, dx: (squared_with_derivative(*x), 2.0 * x[0] * dx[0]))


def printed(t, q, v):
    jax.debug.callback(lambda _: None, q)
    return -0.1 * v


def by_key_of_state(t, q, v):
    return 0.1 * jax.random.normal(jax.random.fold_in(KEY, (q[0] * 100).astype(jnp.int32)), (2,))


def model(potential=lambda q: 0.0, **parts):
    return da.system(lambda t, q, v: 0.5 * v @ v - 0.5 * q @ q - potential(q), **parts)


KNOWN = {
    "a key": lambda q: jnp.sum(q * jax.random.normal(KEY, (2,))),
    "an old key": lambda q: jnp.sum(q * jax.random.uniform(jax.random.PRNGKey(1), (2,))),
    "keys": lambda q: jnp.sum(q * jax.vmap(jax.random.normal)(jax.random.split(KEY, 2))),
    "an order": lambda q: jnp.sum(q[jax.random.permutation(KEY, 2)] ** 3 * jnp.arange(2.0)),
    "a callback": lambda q: q @ squared(jnp.ones(2)),
}


@pytest.mark.parametrize("potential", KNOWN.values(), ids=KNOWN)
def test_known_random_numbers_and_callbacks_are_numbers(potential):
    run = da.simulate(model(potential), da.Rattle(), **RUN, engine="native")
    numbers, _ = Function(lambda q: jnp.atleast_1d(potential(q)))(RUN["q0"])
    np.testing.assert_allclose(numbers[0], potential(jnp.asarray(RUN["q0"])), rtol=1e-14)
    assert np.isfinite(run.energy).all()


REFUSED = {
    "random_": by_key_of_state,
    "debug_callback": printed,
    "pure_callback": lambda t, q, v: 0.1 * squared_with_derivative(q),
    "eigh": lambda t, q, v: -0.1 * jnp.linalg.eigh(jnp.eye(2) * q)[0],
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_only_xla_knows_is_named(name):
    system = model(force=REFUSED[name])
    with pytest.raises(da.InputError, match=f"the native engine cannot run this system: the operation '{name}"):
        da.simulate(system, da.Rattle(), **RUN, engine="native")
    with pytest.raises(da.InputError, match=f"this system cannot run as a native ensemble: the operation '{name}"):
        da.simulate(system, da.Rattle(), **RUN | {"q0": np.zeros((2, 2)), "v0": np.zeros((2, 2))})
    assert np.isfinite(da.consistent(system, RUN["q0"], RUN["v0"]).v).all()


def test_what_only_xla_knows_runs_there():
    with pytest.warns(da.SlowEngineWarning, match="'debug_callback'"):
        run = da.simulate(model(force=printed), da.Rattle(), **RUN)
    without = da.simulate(model(force=lambda t, q, v: -0.1 * v), da.Rattle(), **RUN)
    np.testing.assert_allclose(run.q, without.q, rtol=0, atol=1e-13)


@pytest.mark.parametrize("part", ["force", "holonomic"])
@pytest.mark.parametrize("engine", ["auto", "native", "xla", "traced", "consistent"])
def test_callbacks_without_derivatives_are_refused(part, engine):
    functions = {"force": lambda t, q, v: 0.1 * squared(q), "holonomic": lambda t, q: squared(q)[:1] - 0.09}
    system, start = model(**{part: functions[part]}), jnp.asarray(RUN["q0"])

    def traced(q0):
        return jnp.sum(da.simulate(system, da.Rattle(), **RUN | {"q0": q0}).q)

    ways = {
        "consistent": lambda: da.consistent(system, RUN["q0"], RUN["v0"]),
        "traced": lambda: jax.grad(traced)(start),
    }
    way = ways.get(engine, lambda: da.simulate(system, da.Rattle(), **RUN, engine=engine))
    message = (
        rf"system\.{part}.* cannot be differentiated, .*ValueError: Pure callbacks do not support JVP.*"
        r"give that function a derivative with jax\.custom_jvp"
    )
    with pytest.raises(da.ModelError, match=message):
        way()


TWICE = np.array([0, 0])
NOT_DIFFERENTIATED = {
    "a function of an entry": lambda q: q.at[np.array([0])].apply(jnp.sin),
    "products at one place": lambda q: q.at[TWICE].multiply(jnp.cos(q)),
    "the next number": lambda q: jnp.nextafter(q, 1.0),
    "an exponent of a beta function": lambda q: jax.scipy.special.betainc(q**2, 0.5, 0.3),
}


@pytest.mark.parametrize("force", NOT_DIFFERENTIATED.values(), ids=NOT_DIFFERENTIATED)
def test_what_jax_cannot_differentiate_is_refused(force):
    with pytest.raises(da.ModelError, match=r"system\.force cannot be differentiated, as the equations of a step need"):
        da.simulate(model(force=lambda t, q, v: -force(q)), da.Rattle(), **RUN)


@pytest.mark.parametrize("place", [lambda q: 1, lambda q: slice(0, 1), lambda q: jnp.floor(q[1]).astype(int)])
def test_an_entry_changed_by_a_function_is_not_mistaken_for_one_that_is_replaced(place):
    program = Program()
    with pytest.raises(UnsupportedByEngine, match="'scatter' with a function of what is there"):
        trace(program, lambda q: q.at[place(q)].apply(jnp.sin), program.inputs("q", 2))


def test_linear_systems_without_a_transposed_solver_are_refused():
    def potential(q):
        return q @ jax.lax.custom_linear_solve(lambda x: (1 + q**2) * x, q, lambda _, b: b / (1 + q**2))

    with pytest.raises(da.ModelError, match=r"failed when traced .*transpose_solve required for backwards mode"):
        da.simulate(model(potential), da.Rattle(), **RUN)


@pytest.mark.parametrize("power", [jnp.inf, jnp.nan])
def test_powers_that_are_no_numbers_are_refused(power):
    system = model(lambda q: jnp.sum(jnp.abs(q) ** power))
    with pytest.raises(da.ModelError, match=r"forces or constraints are not finite there"):
        da.simulate(system, da.Rattle(), **RUN)


def test_taylor_series_of_complex_numbers_are_refused():
    with pytest.raises(da.MethodDoesNotFit, match=r"no Taylor series is known for complex numbers"):
        da.simulate(model(lambda q: jnp.real(jnp.exp(jax.lax.complex(0.0 * q[0], q[0])))), da.Taylor(4), **RUN)
