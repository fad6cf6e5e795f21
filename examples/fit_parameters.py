"""Find the length and the damping of a pendulum from where it was seen: `jax.grad` through `simulate`.

python examples/fit_parameters.py [steps]
"""

import sys

import jax
import jax.numpy as jnp
from scipy.optimize import minimize

import dalembert as da

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 200


class Pendulum(da.System):
    length: float = 1.0
    damping: float = 0.1

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 9.81 * q[1]

    def holonomic(self, t, q):
        return 0.5 * (q @ q - self.length**2)

    def force(self, t, q, v):
        return -self.damping * v


def positions(parameters):
    q0 = parameters[0] * jnp.array([jnp.sin(1.0), -jnp.cos(1.0)])
    return da.simulate(Pendulum(*parameters), da.Rattle(), q0, jnp.zeros(2), t=(0, 0.01 * steps), h=0.01).q


seen = positions(jnp.array([1.3, 0.25]))
misfit = jax.jit(jax.value_and_grad(lambda x: jnp.sum((positions(x) - seen) ** 2)))
found = minimize(misfit, x0=[1.1, 0.1], jac=True, tol=1e-12)
print(f"length {found.x[0]:.8f}, damping {found.x[1]:.8f}, misfit {found.fun:.1e} in {found.nfev} runs")
