"""A pendulum on a cart is swung up with the least effort; feedback keeps to the plan from a disturbed start.

python examples/swing_up.py [steps]     writes swing_up.png
"""

import sys

import jax.numpy as jnp
import numpy as np

import dalembert as da

N = int(sys.argv[1]) if len(sys.argv) > 1 else 100


class CartPole(da.System):  # q = (cart, x and y of the bob)
    inputs = ("push",)

    def lagrangian(self, t, q, v):
        return 0.5 * v[0] ** 2 + 0.15 * (v[1] ** 2 + v[2] ** 2) - 9.81 * 0.3 * q[2]

    def holonomic(self, t, q):
        return 0.5 * ((q[1] - q[0]) ** 2 + q[2] ** 2 - 0.25)

    def force(self, t, q, v, u):
        return jnp.array([u[0], 0.0, 0.0])


s, away = np.linspace(0.0, 1.0, N + 1), [0.02, 0.05, -0.5]
angle, rest = np.pi * s**2 - 0.5 * np.sin(np.pi * s), np.zeros(3)
guess = np.stack([s, s + 0.5 * np.sin(angle), -0.5 * np.cos(angle)], axis=1)
ends, effort = {"start": (guess[0], rest), "end": ([1.0, 1.0, 0.5], rest)}, lambda t, q, v, u: u @ u
plan = da.optimal_control(CartPole(), da.Rattle(), **ends, horizon=2.0, steps=N, cost=effort, guess=guess)
print(f"cost {plan.cost:.5f}, largest push {np.max(np.abs(plan.u)):.2f} N, constraint {np.max(plan.constraint):.0e}")
feedback = da.lqr(plan, state_weight=1.0, input_weight=0.1, final_weight=100.0)
for name, control in (("without feedback", plan.control), ("with feedback", feedback)):
    run = da.simulate(CartPole(), da.Rattle(), away, rest, t=(0, 2), h=plan.h, control=control, project=True)
    print(f"{name}: the bob ends {np.linalg.norm(run.q[-1, 1:] - [1.0, 0.5]):.4f} m from where it should")
plan.plot("swing_up.png")
