"""Starting values under JAX's transformations: compiled as a step, differentiated as one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.stepping.consistent import prepare_start


class Swing(da.System):
    mass: float = 2.0

    def lagrangian(self, t, q, v):
        return 0.5 * self.mass * v @ v - 9.81 * q[1]

    def holonomic(self, t, q):
        return 0.5 * (q @ q - 1.0)


def start_of(system, q0, v0=None, p0=None, project=True):
    return prepare_start(system, q0, v0, p0, 0.0, project=project, redundant="refuse").state


Q0, V0 = np.array([0.9, 0.5]), np.array([0.3, 1.0])


def test_a_compiled_start_is_the_one_found_with_numbers():
    traced = jax.jit(lambda mass, q0, v0: tuple(start_of(Swing(mass), q0, v0)))(1.5, Q0, V0)
    for a, b in zip(traced, start_of(Swing(1.5), Q0, V0), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-13)


def test_a_projected_start_is_differentiated():
    def parts(x):
        state = start_of(Swing(), jnp.array([x, 0.5]), V0)
        return jnp.concatenate([state.q, state.v, state.p, state.lam])

    step = 1e-5
    difference = (parts(0.9 + step) - parts(0.9 - step)) / (2 * step)
    np.testing.assert_allclose(jax.jacfwd(parts)(0.9), difference, rtol=0, atol=1e-8)


def test_an_inconsistent_start_is_a_typed_error_outside_jit():
    with pytest.raises(da.InconsistentStart, match=r"Swing: the start violates a holonomic constraint; pass project=T"):
        jax.grad(lambda x: jnp.sum(start_of(Swing(), jnp.array([x, 0.5]), V0, project=False).q))(0.9)
