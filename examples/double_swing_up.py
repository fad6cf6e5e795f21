"""A double pendulum is swung up by its upper joint alone, with the least effort, in coordinates with constraints.

python examples/double_swing_up.py [steps]     writes double_swing_up.png
"""

import sys

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import dalembert as da

N = int(sys.argv[1]) if len(sys.argv) > 1 else 80


class DoublePendulum(da.System):  # q = (x and y of the first bob, x and y of the second); both rods are 1 m long
    inputs = ("torque",)

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 9.81 * (q[1] + q[3])

    def holonomic(self, t, q):
        rod = q[2:] - q[:2]
        return 0.5 * jnp.array([q[:2] @ q[:2] - 1.0, rod @ rod - 1.0])

    def force(self, t, q, v, u):
        return u[0] * jnp.array([-q[1], q[0], 0.0, 0.0])


s, rest = np.linspace(0.0, 1.0, N + 1), np.zeros(4)
swing = np.outer(np.sin(2 * np.pi * s) * (1 - s), [1.0, -1.0])  # forth and back before it goes up
rods = np.exp(1j * (np.pi * s[:, None] ** 3 + swing - np.pi / 2)).cumsum(axis=1)
guess = np.stack([rods[:, 0].real, rods[:, 0].imag, rods[:, 1].real, rods[:, 1].imag], axis=1)
ends = {"start": (guess[0], rest), "end": ([0.0, 1.0, 0.0, 2.0], rest), "cost": lambda t, q, v, u: u @ u}
plan = da.optimal_control(DoublePendulum(), da.Rattle(), horizon=4.0, steps=N, guess=guess, solver="ipopt", **ends)
print(f"cost {plan.cost:.1f}, largest torque {np.max(np.abs(plan.u)):.1f}, constraint {np.max(plan.constraint):.0e}")
plt.axes(aspect="equal").plot(plan.q[:, 0], plan.q[:, 1], plan.q[:, 2], plan.q[:, 3])
plt.savefig("double_swing_up.png")
