"""A necklace of eleven beads on twelve rigid links, both ends tied to the origin: 33 coordinates, 12 constraints.

python examples/necklace.py [steps]     writes necklace.png
"""

import sys

import jax.numpy as jnp
import numpy as np

import dalembert as da

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000


class Necklace(da.System):
    bars = "chain"  # for the picture

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 9.81 * jnp.sum(q[2::3])

    def holonomic(self, t, q):
        beads = jnp.pad(q.reshape(-1, 3), ((1, 1), (0, 0)))
        return 0.5 * (jnp.sum(jnp.diff(beads, axis=0) ** 2, axis=1) - 1)


angle = np.arange(1, 12) * np.pi / 6
q0 = 1.93 * np.stack([np.sin(angle), 0 * angle, np.cos(angle) - 1], axis=1).ravel()
run = da.simulate(Necklace(), da.Rattle(), q0, np.ones(33), t=(0, 0.002 * steps), h=0.002, project=True)
run.plot("necklace.png")
print(run)
print(f"max |g| = {np.max(run.constraint):.1e}, energy error {np.max(np.abs(run.energy - run.energy[0])):.1e}")
