"""A hopper jumps ahead with the least effort: it stands, flies and lands, and its foot sticks where it stands.

python examples/hopper.py [steps]     writes hopper.png
"""

import sys

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import dalembert as da

N = (int(sys.argv[1]) if len(sys.argv) > 1 else 60) // 3


class Hopper(da.System):  # q = (x and y of a body of 10 kg that does not turn, x and y of its foot of 1 kg)
    inputs, friction = ("push", "turn"), 0.8  # along the leg and across it

    def lagrangian(self, t, q, v):
        return 5.0 * v[:2] @ v[:2] + 0.5 * v[2:] @ v[2:] - 9.81 * (10.0 * q[1] + q[3])

    def gap(self, t, q):
        return q[3:]

    def tangent(self, t, q):
        return jnp.array([[0.0, 0.0, 1.0, 0.0]])

    def force(self, t, q, v, u):
        (x, y), (push, turn) = q[:2] - q[2:], u
        return jnp.array([push * x + turn * y, push * y - turn * x, -push * x - turn * y, turn * x - push * y])


keys = np.array([[0, 0.6, 0, 0], [0.2, 0.8, 0, 0], [0.4, 0.9, 0.4, 0.2], [0.6, 0.8, 0.8, 0], [0.8, 0.6, 0.8, 0]])
guess = np.stack([np.interp(np.arange(3 * N + 1), [0, N, 1.5 * N, 2 * N, 3 * N], column) for column in keys.T], axis=1)
options = {"phases": [da.Phase(N, (0.1, 0.8), closed=closed) for closed in ((0,), (), (0,))], "guess": guess}
options |= {"cost": lambda t, q, v, u: u[0] ** 2 + 9 * u[1] ** 2}
options |= {"path": lambda t, q, v, u: 0.8 - jnp.sum((q[:2] - q[2:]) ** 2)}  # the leg is not longer
plan = da.optimal_control(Hopper(), da.gauss_spark(2), (keys[0], 0 * keys[0]), (keys[-1], 0 * keys[0]), **options)
print("phases of", *(f"{phase.horizon:.3f}" for phase in plan.phases), f"s, impact {plan.impacts[2, 0, 0]:.2f} N s")
plt.plot(plan.q[:: max(1, N // 5), ::2].T, plan.q[:: max(1, N // 5), 1::2].T, "0.7")
plt.plot(plan.q[:, ::2], plan.q[:, 1::2])
plt.savefig("hopper.png")
