"""A cat of three rods falls without spin and turns all the same, by bending its two joints one after the other.

python examples/falling_cat.py [steps]     writes falling_cat.png
"""

import sys

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import dalembert as da

N = int(sys.argv[1]) if len(sys.argv) > 1 else 40


class Cat(da.System):  # q = the directions of three rods, hinged end to end; their centre of mass falls freely
    inputs = ("front", "back")

    def middles(self, half):  # of the rods, where each reaches from -half to half around its own
        return jnp.stack([-half[0] - half[1], 0.0 * half[1], half[1] + half[2]]) - (half[2] - half[0]) / 3

    def lagrangian(self, t, q, v):
        rates = 0.5 * v[:, None] * jnp.stack([-jnp.sin(q), jnp.cos(q)], axis=1)
        return 0.5 * jnp.sum(self.middles(rates) ** 2) + v @ v / 24

    def force(self, t, q, v, u):
        return jnp.array([-u[0], u[0] - u[1], u[1]])


s, rest, goal = np.linspace(0.0, 1.0, N + 1)[:, None], np.zeros(3), np.full(3, 0.5)
guess = s * goal + np.sin(2 * np.pi * s) * [1.5, 0.0, 0.0] + (1 - np.cos(2 * np.pi * s)) * [0.0, 0.0, 1.0]
limits = {"path": lambda t, q, v, u: 2.2**2 - (q[1:] - q[:-1]) ** 2, "cost": lambda t, q, v, u: u @ u, "guess": guess}
plan = da.optimal_control(Cat(), da.Galerkin(2), (rest, rest), (goal, rest), horizon=2.0, steps=N, **limits)
print(f"cost {plan.cost:.2f}, turned by {plan.q[-1, 1]:.2f} without spin: {np.max(np.abs(plan.p.sum(axis=1))):.0e}")
plt.figure(figsize=(12, 2.5)).gca().set(aspect="equal")
for k in range(0, N + 1, N // 8):  # side by side, as in a strip of film
    z = Cat().middles(half := 0.5 * np.exp(1j * plan.q[k])) + np.outer([-1, 1], half) + 20 * k / N
    plt.plot(z.real, z.imag, "C0")
plt.savefig("falling_cat.png")
