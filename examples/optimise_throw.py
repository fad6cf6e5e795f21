"""How to throw a ball farthest: angle and backspin by the gradient of the distance, with drag and lift of the air.

python examples/optimise_throw.py     writes optimise_throw.png
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
from scipy.optimize import minimize

import dalembert as da


class Ball(da.System):
    spin: float = 0.0  # it lifts the ball, and brakes it

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 9.81 * q[1]

    def force(self, t, q, v):
        lift, drag = 0.015 * self.spin / (1 + self.spin), 0.006 * (1 + self.spin**2)
        return jnp.sqrt(v @ v) * jnp.array([-lift * v[1] - drag * v[0], lift * v[0] - drag * v[1]])


def flight(angle, spin):
    v0 = 40.0 * jnp.array([jnp.cos(angle), jnp.sin(angle)])
    q = da.simulate(Ball(spin), da.gauss_spark(2), jnp.zeros(2), v0, t=(0, 10.0), h=0.025).q
    k = jnp.argmax(q[1:, 1] < 0.0)  # the last state above the ground
    return q[k, 0] + (q[k + 1, 0] - q[k, 0]) * q[k, 1] / (q[k, 1] - q[k + 1, 1]), q


best = minimize(jax.jit(jax.value_and_grad(lambda z: -flight(*z)[0])), x0=[0.8, 0.1], jac=True, bounds=2 * [(0.0, 1.5)])
plt.figure()
for distance, q in (flight(0.785, 0.0), flight(*best.x)):
    plt.plot(*q[q[:, 1] >= 0].T, label=f"{distance:.1f} m")
plt.legend(title="45 degrees without spin, and the best")
plt.savefig("optimise_throw.png", dpi=150)
print(f"{best.x[0]:.3f} radians with spin {best.x[1]:.3f}: {-best.fun:.2f} m, found in {best.nfev} throws")
