"""How chaotic a double pendulum is: Lyapunov exponents as it is let go from higher and higher.

python examples/lyapunov_exponents.py [time]     writes lyapunov_exponents.png
"""

import sys

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import dalembert as da

time = float(sys.argv[1]) if len(sys.argv) > 1 else 500.0


class DoublePendulum(da.System):
    def lagrangian(self, t, q, v):
        directions = jnp.stack([jnp.sin(q), -jnp.cos(q)], axis=1)
        velocities = jnp.cumsum(jnp.stack([jnp.cos(q), jnp.sin(q)], axis=1) * v[:, None], axis=0)
        return 0.5 * jnp.sum(velocities**2) - 9.81 * jnp.sum(jnp.cumsum(directions, axis=0)[:, 1])


degrees = np.arange(30, 181, 30)
method, steps = da.gauss_spark(2), {"t": (0.0, time), "h": 0.02}
starts = [np.radians([angle, angle - 0.5]) for angle in degrees]
found = np.array([da.lyapunov_spectrum(DoublePendulum(), method, q0, [0.0, 0.0], **steps) for q0 in starts])
plt.figure()
plt.plot(degrees, found, "o-")
plt.xlabel("both angles at the start, degrees")
plt.ylabel(f"exponents over {time:g} s, 1/s")
plt.savefig("lyapunov_exponents.png", dpi=150)
print(f"the largest exponent is {found[0, 0]:.3f} from 30 degrees, {found.max():.2f} at most")
print(f"the sum of all is zero within {np.max(np.abs(np.sum(found, axis=1))):.0e}")
