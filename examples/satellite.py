"""A satellite in free space turns by three wheels inside it with the least effort: its angular momentum stays zero.

python examples/satellite.py [steps]     writes satellite.png
"""

import sys

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import dalembert as da

N = int(sys.argv[1]) if len(sys.argv) > 1 else 40
INERTIA, WHEEL = np.array([3.0, 2.0, 1.5]), 0.05


class Satellite(da.System):  # q = (yaw, pitch, roll, and the angles of the wheels against the body)
    inputs = ("x", "y", "z")

    def turning(self, q, v):  # the angular velocity along the body's axes
        s, c = jnp.sin(q), jnp.cos(q)
        return jnp.stack([v[2] - s[1] * v[0], c[2] * v[1] + s[2] * c[1] * v[0], c[2] * c[1] * v[0] - s[2] * v[1]])

    def lagrangian(self, t, q, v):
        omega = self.turning(q, v)
        return 0.5 * jnp.sum(INERTIA * omega**2) + 0.5 * WHEEL * jnp.sum((omega + v[3:]) ** 2)

    def force(self, t, q, v, u):
        return jnp.concatenate([jnp.zeros(3), u])


goal, rest = np.array([2.0, 0.4, -1.0]), np.zeros(6)
guess = np.outer(np.linspace(0.0, 1.0, N + 1), [*goal, 0.0, 0.0, 0.0])
options = {"end": lambda t, q, v: jnp.concatenate([q[:3] - goal, v]), "cost": lambda t, q, v, u: u @ u, "guess": guess}
plan = da.optimal_control(Satellite(), da.Galerkin(2), (rest, rest), horizon=10.0, steps=N, **options)
print(f"cost {plan.cost:.4f}, momentum of yaw {np.max(np.abs(plan.p[:, 0])):.0e}")
plt.plot(plan.t, plan.q[:, :3], label=["yaw", "pitch", "roll"])
plt.legend()
plt.savefig("satellite.png")
