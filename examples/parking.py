"""A car is parked sideways with the least effort: its wheels roll and do not slip, so that it goes forth and back.

python examples/parking.py [steps]     writes parking.png
"""

import sys

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import dalembert as da

N = int(sys.argv[1]) if len(sys.argv) > 1 else 60


class Car(da.System):  # q = (x and y of the middle of the rear axle, heading, steering angle); its axles are 1 m apart
    inputs = ("drive", "steer")

    def lagrangian(self, t, q, v):
        return 0.5 * (v[0] ** 2 + v[1] ** 2) + 0.1 * v[2] ** 2 + 0.05 * v[3] ** 2

    def nonholonomic(self, t, q, v):
        rear, front = (jnp.sin(a) * v[0] - jnp.cos(a) * v[1] for a in (q[2], q[2] + q[3]))
        return jnp.array([rear, front - jnp.cos(q[3]) * v[2]])

    def force(self, t, q, v, u):
        return jnp.array([u[0] * jnp.cos(q[2]), u[0] * jnp.sin(q[2]), 0.0, u[1]])


s, rest, goal = np.linspace(0.0, 1.0, N + 1)[:, None], np.zeros(4), np.array([0.0, 1.0, 0.0, 0.0])
guess = s * goal + np.sin(2 * np.pi * s) * [0.5, 0, 0, 0] + np.sin(np.pi * s) * [0, 0, 0.5, 0]
options = {"cost": lambda t, q, v, u: u @ u, "guess": guess, "path": lambda t, q, v, u: 0.6**2 - q[3] ** 2}
plan = da.optimal_control(Car(), da.gauss_spark(1), (rest, rest), (goal, rest), horizon=4.0, steps=N, **options)
print(f"cost {plan.cost:.3f}, largest steering angle {np.max(np.abs(plan.q[:, 3])):.2f}")
for x, y, heading, _ in plan.q:
    plt.plot([x, x + np.cos(heading)], [y, y + np.sin(heading)], "0.8")
plt.plot(plan.q[:, 0], plan.q[:, 1])
plt.gca().set(aspect="equal", xlabel="x", ylabel="y", title="the car, and the way of its rear axle")
plt.savefig("parking.png")
