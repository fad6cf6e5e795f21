"""Models with the less common operations in machine code: straight-line, rolled and as an ensemble, beside XLA."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.engine.runners import choice

RUN = {"t": (0.0, 0.3), "h": 0.02}
START = {"q0": np.array([0.6, -0.3, 0.9]), "v0": np.array([0.2, 0.5, -0.4])}


class Matrices(da.System):
    """A mass matrix that is an inverse, and potentials of a determinant, a solution and a Cholesky factor."""

    def lagrangian(self, t, q, v):
        compliance = jnp.diag(1.0 + 0.1 * q**2) + 0.2
        turned = jnp.array(
            [[jnp.sin(q[0]), jnp.cos(q[0]), 0.1], [jnp.cos(q[0]), -jnp.sin(q[0]), q[2]], [0.3, 0.0, 1.0]]
        )
        bordered = jnp.block([[turned, jnp.ones((3, 1))], [jnp.ones((1, 3)), jnp.full((1, 1), 3.0)]])
        potential = q @ jnp.linalg.solve(turned, q) + 0.1 * jnp.linalg.det(bordered) ** 2
        potential += jnp.linalg.slogdet(compliance)[1] + jnp.linalg.cholesky(compliance)[2, 1]
        return 0.5 * v @ jnp.linalg.inv(compliance) @ v - potential - q @ q


class Tables(da.System):
    """Forces from error functions, tables, sorted coordinates, roundings and cases."""

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - q @ q - jnp.sort(q) @ jnp.array([0.1, 0.2, 0.4]) - jnp.sum(jax.scipy.special.erf(q))

    def force(self, t, q, v):
        table = jnp.array([0.5, -0.2, 0.3, 0.1, -0.4])
        place = jnp.clip(jnp.floor(10.0 * q[0]), 0, 4).astype(jnp.int64)
        which = jnp.clip(jnp.round(3.0 * q[1]), 0, 2).astype(jnp.int64)
        read = jnp.interp(q[2], jnp.linspace(-1.0, 1.0, 5), table) + table[place]
        case = jax.lax.switch(which, [lambda x: 0.1 * x, jnp.sin, lambda x: x**2], q[0])
        window = jax.lax.dynamic_update_slice(0.1 * v, q[:1] ** 2, (which,))
        return window.at[jnp.argmax(q)].add(read + case)


MODELS = [Matrices(), Tables()]
#: XLA compiles the first for ten seconds
SLOW_BY_XLA = [pytest.param(Matrices(), marks=pytest.mark.long, id="Matrices"), pytest.param(Tables(), id="Tables")]


@pytest.fixture
def rolled(tune):
    tune(rolled_from=0)
    choice._native.cache_clear()
    yield
    choice._native.cache_clear()


@pytest.mark.usefixtures("quick_xla")
@pytest.mark.parametrize("system", SLOW_BY_XLA)
def test_machine_code_agrees_with_xla(system):
    run = da.simulate(system, da.Rattle(), **START, **RUN, engine="native")
    by_xla = da.simulate(system, da.Rattle(), **START, **RUN, engine="xla")
    np.testing.assert_allclose(run.q, by_xla.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.p, by_xla.p, rtol=0, atol=1e-11)


@pytest.mark.parametrize("system", MODELS, ids=lambda system: type(system).__name__)
def test_an_ensemble_takes_the_steps_of_its_members(system):
    starts = START["q0"] + np.array([[0.0], [0.07], [-0.15]])
    together = da.simulate(system, da.Rattle(), starts, np.tile(START["v0"], (3, 1)), **RUN)
    for member, start in enumerate(starts):
        alone = da.simulate(system, da.Rattle(), start, START["v0"], **RUN, engine="native")
        np.testing.assert_allclose(together.q[member], alone.q, rtol=0, atol=1e-13)


@pytest.mark.usefixtures("rolled")
@pytest.mark.parametrize("system", MODELS, ids=lambda system: type(system).__name__)
def test_rolled_code_takes_the_steps_of_straight_lines(system, tune):
    run = da.simulate(system, da.Rattle(), **START, **RUN, engine="native")
    assert run.stats["code"] == "rolled"
    tune(rolled_from=10**9)
    choice._native.cache_clear()
    straight = da.simulate(system, da.Rattle(), **START, **RUN, engine="native")
    assert straight.stats["code"] != "rolled"
    np.testing.assert_allclose(run.q, straight.q, rtol=0, atol=1e-13)
