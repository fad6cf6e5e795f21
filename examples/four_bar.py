"""A closed linkage: crank, coupler and rocker on a fixed base, set turning and left alone.

python examples/four_bar.py [steps]     writes four_bar.png and four_bar.gif
"""

import sys

import jax.numpy as jnp
import numpy as np

import dalembert as da

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
BASE = np.array([3.5, 0.0])


class FourBar(da.System):
    crank: float = 1.0
    coupler: float = 3.0
    rocker: float = 2.5
    bars = ((None, 0), (0, 1), (1, 2))

    def lagrangian(self, t, q, v):  # unit masses at the moving joints B = q[:2] and C = q[2:]
        return 0.5 * v @ v - 9.81 * (q[1] + q[3])

    def holonomic(self, t, q):
        B, C = q[:2], q[2:]
        squares = jnp.array([B @ B, (C - B) @ (C - B), (C - BASE) @ (C - BASE)])
        return 0.5 * (squares - jnp.array([self.crank, self.coupler, self.rocker]) ** 2)

    def points(self, t, q):
        return jnp.concatenate([q, BASE]).reshape(3, 2)


start = da.consistent(FourBar(), [0.5, 0.87, 2.9, 2.4], [-8.0, 4.0, 0.0, 0.0])  # roughly right is enough
run = da.simulate(FourBar(), da.Rattle(), start.q, start.v, t=(0, 0.005 * steps), h=0.005)
run.plot("four_bar.png")
run.animate("four_bar.gif", pixels=400)
print(f"largest force in the coupler {3.0 * np.max(np.abs(run.lam[:, 1])):.0f}, max |g| {np.max(run.constraint):.0e}")
