"""Symmetries of constraints that are vectors: they turn with the motion, and hold where the constraints do."""

import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da


class HeavyTop(da.System):
    """A body held at one point, by its centre x and the directors d_1, d_2, d_3: x - l d_3 = 0, all of them unit and
    orthogonal."""

    length: float = 1.0
    gravity: float = 0.0

    def lagrangian(self, t, q, v):
        v = v.reshape(4, 3)
        kinetic = v[0] @ v[0] + jnp.sum(jnp.array([1.0, 2.0, 3.0])[:, None] * v[1:] ** 2)
        return 0.5 * kinetic - self.gravity * q[2]

    def holonomic(self, t, q):
        x, a, b, c = q.reshape(4, 3)
        lengths = jnp.stack([a @ a - 1, b @ b - 1, c @ c - 1, a @ b, b @ c, c @ a])
        return jnp.concatenate([x - self.length * c, lengths])


class Apart(da.System):
    """Two particles at a fixed vector from each other: it does not turn with them."""

    def lagrangian(self, t, q, v):
        return 0.5 * (v @ v)

    def holonomic(self, t, q):
        return q[:3] - q[3:] - jnp.array([0.0, 0.0, 1.0])


@pytest.mark.parametrize(("gravity", "axes"), [(0.0, "xyz"), (9.81, "z")])
def test_vector_constraints_turn_with_the_body(gravity, axes):
    start = np.concatenate([[0.0, 0.0, 1.0], np.eye(3).ravel()])
    names = [symmetry.name for symmetry in da.symmetries(HeavyTop(gravity=gravity), start)]
    assert names == [f"angular momentum about {axis}" for axis in axes]


def test_a_fixed_vector_allows_turns_about_itself_only():
    names = [symmetry.name for symmetry in da.symmetries(Apart(), np.ones(6))]
    assert names == [*(f"momentum along {axis}" for axis in "xyz"), "angular momentum about z"]
