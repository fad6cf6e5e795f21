"""A mass slides in a bowl with friction that depends on the normal force: a reaction nonlinear in its multiplier.

python examples/friction.py [steps]     writes friction.png
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np

import dalembert as da

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 1000


class Bowl(da.OverdeterminedDAE):
    roughness: float = 0.1

    def velocity(self, y, z):
        return z

    def force(self, y, z):
        return jnp.array([0.0, 0.0, -9.81])

    def constraint(self, y):
        return y[2] - 0.25 * (y[0] ** 2 + y[1] ** 2)

    def reaction(self, y, z, psi):
        push = jax.grad(self.constraint)(y) * psi[0]
        return push - self.roughness * (push @ push) ** 0.425 * z / jnp.sqrt(z @ z)  # friction ~ |push|^0.85


euler = da.SymplecticEuler()
for method in (euler, da.Composition(euler, "adjoint"), da.Composition(euler, "suzuki4")):
    run = da.simulate(Bowl(), method, y0=[1.0, 0.5, 0.3125], z0=[0.0, 2.0, 0.5], t=(0, 0.004 * steps), h=0.004)
    energy = 0.5 * np.sum(run.z**2, axis=1) + 9.81 * run.y[:, 2]
    print(f"order {method.order}: energy {energy[0]:.3f} to {energy[-1]:.10f}, max |g| {np.max(run.constraint):.0e}")
da.plots.plot_path(run, "friction.png")
