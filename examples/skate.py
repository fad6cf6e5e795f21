"""A skate on a slope does not slide down: pushed into a turn, it drifts along the level line.

python examples/skate.py [steps]     writes skate.png
"""

import sys

import jax.numpy as jnp
import numpy as np

import dalembert as da

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 1000


class Skate(da.System):
    pull: float = 1.0  # of gravity along the slope, x downwards
    bars = ((0, 1),)

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v + self.pull * q[0]

    def nonholonomic(self, t, q, v):  # the blade at (x, y) in the direction theta does not move sideways
        x_rate, y_rate, _ = v
        return jnp.cos(q[2]) * y_rate - jnp.sin(q[2]) * x_rate

    def points(self, t, q):
        blade = 0.1 * jnp.array([jnp.cos(q[2]), jnp.sin(q[2])])
        return jnp.stack([q[:2] - blade, q[:2] + blade])


for method in (da.lobatto_spark(2), da.gauss_spark(2), da.gauss_spark(3)):
    run = da.simulate(Skate(), method, np.zeros(3), [0.0, 0.0, 1.0], t=(0, 0.02 * steps), h=0.02)
    exact = np.stack([np.sin(run.t) ** 2 / 2, run.t / 2 - np.sin(2 * run.t) / 4, run.t], axis=1)
    print(f"{method.name:22} error {np.max(np.abs(run.q - exact)):.1e}, slip {np.max(run.hidden):.0e}")
run.plot("skate.png")
print(f"it came down by {run.q[:, 0].max():.3f} at most and drifted by {run.q[-1, 1]:.2f}")
