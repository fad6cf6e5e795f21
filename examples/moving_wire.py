"""A bead on a parabolic wire that is shaken up and down: a constraint that depends on time.

python examples/moving_wire.py [steps]     writes moving_wire.png
"""

import sys

import jax.numpy as jnp
import numpy as np

import dalembert as da

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 2000


class ShakenWire(da.System):
    amplitude: float = 0.2
    frequency: float = 6.0

    def height(self, t):
        return self.amplitude * jnp.sin(self.frequency * t)

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 9.81 * q[1]

    def holonomic(self, t, q):
        return q[1] - q[0] ** 2 - self.height(t)


wire = ShakenWire()
# On the wire at t = 0, moving up with it: g_t = -amplitude frequency is part of the hidden constraint.
run = da.simulate(wire, da.Rattle(), [0.5, 0.25], [0.0, 1.2], t=(0, 0.005 * steps), h=0.005)
run.plot("moving_wire.png")
print(f"max |g| = {np.max(run.constraint):.1e}, max |g_q v + g_t| = {np.max(run.hidden):.1e}")
print(f"the shaking pumps energy: from {run.energy[0]:.3f} to {np.max(run.energy):.3f} at most")
