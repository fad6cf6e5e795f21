"""Bodies on rods that branch, or meet: a tree in any direction, and a net that hangs from one of its corners."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

import dalembert as da
from dalembert.gallery import Start


class Tree(da.System):
    """Two bodies hang on rods from every body of the generation before; the first is held."""

    generations: int = 10

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 9.81 * q[2::3].sum()

    def holonomic(self, t, q):
        r = q.reshape(-1, 3)
        rods = r[1:] - r[self._parents()]
        return jnp.concatenate([r[0], 0.5 * (jnp.sum(rods**2, axis=1) - 1.0)])

    def _parents(self) -> np.ndarray:
        return (np.arange(1, 2**self.generations - 1) - 1) // 2

    def start(self) -> Start:
        """At rest, every rod in a direction of its own."""
        q = np.zeros((2**self.generations - 1, 3))
        rods = np.random.default_rng(0).normal(size=q.shape)
        for body, parent in enumerate(self._parents(), start=1):
            q[body] = q[parent] + rods[body] / np.linalg.norm(rods[body])
        return Start(q.ravel(), np.zeros(q.size), 1.0, 0.0005)


class Net(da.System):
    """Knots in a square with rods between neighbours; one corner is held."""

    side: int = 20

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 9.81 * q[2::3].sum()

    def holonomic(self, t, q):
        r = q.reshape(self.side, self.side, 3)
        across, along = (jnp.sum(rods**2, axis=-1).ravel() for rods in (r[:, 1:] - r[:, :-1], r[1:] - r[:-1]))
        return jnp.concatenate([r[0, 0], 0.5 * (jnp.concatenate([across, along]) - 1.0)])

    def start(self) -> Start:
        """At rest, level. Where it is stretched, after two seconds, it jerks: so few steps a second do not go there."""
        places = np.arange(float(self.side))
        q = np.stack([*np.meshgrid(places, places, indexing="ij"), np.zeros((self.side, self.side))], axis=-1)
        return Start(q.ravel(), np.zeros(q.size), 1.0, 0.0005)
