"""A walker of three links finds the gait of least effort: with each impact its legs change their roles.

python examples/walker.py [steps]     writes walker.png
"""

import sys

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import dalembert as da

N, TURNS = (int(sys.argv[1]) if len(sys.argv) > 1 else 40) // 2, jnp.array([[1.0], [1.0], [-1.0]])


class Walker(da.System):  # q = (x and y of the hip, the angles of both legs and of the torso against the vertical)
    inputs, friction = ("first", "second"), 0.8  # torques between the torso and each leg

    def ends(self, q):  # both feet and the head, seen from the hip
        return jnp.stack([jnp.sin(q[2:]), -TURNS[:, 0] * jnp.cos(q[2:])], axis=1)

    def lagrangian(self, t, q, v):  # 5 kg in the middle of each leg, 10 kg in that of the torso, 15 kg at the hip
        mass, half = jnp.array([5.0, 5.0, 10.0]), 0.5 * self.ends(q)
        moving = v[:2] + TURNS * v[2:, None] * jnp.stack([-half[:, 1], half[:, 0]], axis=1)
        return 0.5 * mass @ jnp.sum(moving**2, axis=1) + 7.5 * v[:2] @ v[:2] - 9.81 * (35.0 * q[1] + mass @ half[:, 1])

    def gap(self, t, q):
        return q[1] - jnp.cos(q[2:4])

    def tangent(self, t, q):
        return jnp.concatenate([jnp.array([[1.0, 0], [1, 0]]), jnp.diag(jnp.cos(q[2:4])), jnp.zeros((2, 1))], axis=1)

    def force(self, t, q, v, u):
        return jnp.array([0.0, 0.0, u[0], u[1], u[0] + u[1]])


def change_legs(q, v):  # the foot that landed stands at x = 0
    return jnp.stack([-jnp.sin(q[3]), q[1], q[3], q[2], q[4]]), v[jnp.array([0, 1, 3, 2, 4])]


a = 0.25 * np.linspace(-1.0, 1.0, N + 1)[:, None]
options = {"guess": np.hstack([np.sin(a), np.cos(a), -a, a, 0 * a]), "cost": lambda t, q, v, u: u @ u}
options |= {"phases": [da.Phase(N, (0.3, 1.5), closed=(0,), ignored=(1,))], "periodic": change_legs}
plan = da.optimal_control(Walker(), da.gauss_spark(2), end=lambda t, q, v: q[3] - 0.25, **options)
print(f"{2 * np.sin(0.25) / plan.horizon:.3f} m/s, impulse of the landing foot {plan.impacts[0, 0, 0]:.2f} N s")
plt.figure(figsize=(9, 4)).gca().set_aspect("equal")
for k in range(0, 4 * N + 1, max(1, N // 4)):
    q = plan.q[k % N] + 2 * np.sin(0.25) * (k // N) * np.eye(5)[0]
    for end, color in zip(Walker().ends(q), ("C0", "C1", "0.6") if k // N % 2 else ("C1", "C0", "0.6"), strict=True):
        plt.plot(*zip(q[:2], q[:2] + end, strict=True), color)
plt.savefig("walker.png")
