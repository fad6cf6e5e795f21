"""A double pendulum in space: chaotic, yet the energy stays and the vertical angular momentum is kept.

python examples/double_pendulum.py [steps]     writes double_pendulum.png
"""

import sys

import jax.numpy as jnp
import numpy as np

import dalembert as da

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000


class DoublePendulum(da.System):
    bars = "chain"

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 9.81 * (q[2] + q[5])

    def holonomic(self, t, q):
        first, second = q[:3], q[3:] - q[:3]
        return 0.5 * jnp.array([first @ first - 1.0, second @ second - 1.0])

    def points(self, t, q):
        return q.reshape(2, 3)

    def invariants(self, t, q, p):
        return {"angular_momentum_z": q[0] * p[1] - q[1] * p[0] + q[3] * p[4] - q[4] * p[3]}


q0, v0 = [1.0, 0.0, 0.0, 1.0, 0.6, -0.8], [0.0, 1.0, 0.0, -1.0, 1.0, 0.0]
run = da.simulate(DoublePendulum(), da.Rattle(), q0, v0, t=(0, 0.01 * steps), h=0.01)
run.plot("double_pendulum.png")
spin = run.invariants["angular_momentum_z"]
print(f"angular momentum changes by {np.max(np.abs(spin - spin[0])):.1e}")
print(f"energy stays within {np.ptp(run.energy):.1e}, max |g| = {np.max(run.constraint):.1e}")
