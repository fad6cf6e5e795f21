"""What an equation depends on without a derivative: signs, comparisons, rounded numbers, stopped gradients."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import dalembert as da
from dalembert.engine.elimination.dependence import held_behind_steps, not_affine
from dalembert.engine.program.array_program import ArrayProgram
from dalembert.engine.program.program import Program
from dalembert.engine.trace.tracing import trace

FRICTION, STIFFNESS = 0.7, 4.0
FORCES = {
    "sign": lambda v: -FRICTION * jnp.sign(v),
    "where": lambda v: jnp.where(v > 0.0, -FRICTION, FRICTION),
    "cond": lambda v: lax.cond(v[0] > 0.0, lambda: -FRICTION * jnp.ones(1), lambda: FRICTION * jnp.ones(1)),
    "floor": lambda v: -FRICTION * (1.0 + jnp.clip(jnp.floor(v), -1.0, 0.0)),
    "round": lambda v: -FRICTION * jnp.sign(jnp.round(1e6 * v)),
    "stopped": lambda v: -FRICTION * lax.stop_gradient(v) / jnp.abs(lax.stop_gradient(v)),
}


def oscillator(name: str) -> da.System:
    """A mass on a spring with dry friction."""
    return da.system(
        lagrangian=lambda t, q, v: 0.5 * (v @ v) - 0.5 * STIFFNESS * (q @ q),
        force=lambda t, q, v: FORCES[name](v),
    )


def exact(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """From q = -1, v = 0.3, while it moves to the right."""
    w, middle = np.sqrt(STIFFNESS), -FRICTION / STIFFNESS
    return (
        middle + (-1 - middle) * np.cos(w * t) + 0.3 / w * np.sin(w * t),
        -(-1 - middle) * w * np.sin(w * t) + 0.3 * np.cos(w * t),
    )


@pytest.mark.parametrize("name", FORCES)
@pytest.mark.parametrize("method", [da.Rattle(), da.gauss_spark(3), da.lobatto_spark(3, "AB")], ids=lambda m: m.name)
def test_a_force_without_a_derivative_by_the_velocity(name, method):
    run = da.simulate(oscillator(name), method, q0=[-1.0], v0=[0.3], t=(0.0, 1.0), h=0.05, engine="native")
    q, v = exact(run.t)
    tolerance = {2: 2e-3, 4: 5e-7, 6: 1e-9}[method.order]
    np.testing.assert_allclose(run.q[:, 0], q, rtol=0, atol=tolerance)
    np.testing.assert_allclose(run.v[:, 0], v, rtol=0, atol=2 * tolerance)
    np.testing.assert_allclose(run.p, run.v, rtol=0, atol=tolerance)


class FrictionChain(da.System):
    """Masses that slide on a line against dry friction, each tied to its neighbours by springs."""

    count: int = 12

    def lagrangian(self, t, q, v):
        stretched = jnp.diff(jnp.concatenate([jnp.zeros(1), q]))
        return 0.5 * (v @ v) - 0.5 * (stretched @ stretched)

    def force(self, t, q, v):
        return -0.1 * jnp.sign(v)


class SameChain(FrictionChain):
    """For code of its own."""


def test_large_systems_in_arrays(tune):
    """The same, where the step is rolled: its code agrees with that of the scalar program."""
    n = FrictionChain.count
    start = {"q0": np.linspace(0.0, 1.0, n) ** 2, "v0": 1.0 + 0.1 * np.sin(np.arange(n)), "t": (0.0, 0.2), "h": 0.02}
    straight = da.simulate(FrictionChain(), da.gauss_spark(2), **start, engine="native")
    tune(rolled_from=10)
    rolled = da.simulate(SameChain(), da.gauss_spark(2), **start, engine="native")
    assert (straight.stats["code"], rolled.stats["code"]) == ("straight-line", "rolled")
    np.testing.assert_allclose(rolled.q, straight.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(rolled.v, straight.v, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", [Program, ArrayProgram])
def test_held_behind_steps(kind):
    def residual(x):
        return jnp.stack([x[0] + jnp.sign(x[1]), jnp.where(x[0] * x[2] > 0.0, x[3], 1.0), x[2] * x[3], jnp.floor(x[0])])

    program = kind()
    x = program.inputs("x", 4)
    nodes = trace(program, residual, x)
    if kind is Program:
        masks = not_affine(program, nodes.tolist(), {int(node): j for j, node in enumerate(x.tolist())})
        assert masks == [0b0010, 0b0101, 0, 0b0001]
        together = not_affine(program, nodes.tolist(), {int(node): 0 for node in x.tolist()})
        assert together == [1, 1, 1, 1]
    else:
        rows, unknowns = held_behind_steps(program, np.arange(4), nodes)
        assert list(zip(rows.tolist(), unknowns.tolist(), strict=True)) == [(0, 1), (1, 0), (1, 2), (3, 0)]
