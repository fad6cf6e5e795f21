"""Constrained Hamiltonian Monte Carlo: points on a torus, uniform on its surface.

python examples/sample_torus.py [samples]     writes sample_torus.png
"""

import sys

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

import dalembert as da

torus = da.system(
    lambda t, q, v: 0.5 * v @ v,
    holonomic=lambda t, q: 0.5 * ((jnp.hypot(q[0], q[1]) - 2) ** 2 + q[2] ** 2 - 1),
)
move = da.step_function(torus, da.Rattle(), h=0.3, steps=5)


def sample(q, key):
    key_p, key_u = jax.random.split(key)
    normal = jax.grad(lambda q: torus.holonomic(0.0, q))(q)
    p = jax.random.normal(key_p, (3,))
    p = p - normal * (normal @ p) / (normal @ normal)  # tangent to the torus
    q1, p1 = move(q, p)
    back, _ = move(q1, -p1)  # a large step may not return: such a proposal is refused, and one that failed (NaN)
    accept = (jax.random.uniform(key_u) < jnp.exp((p @ p - p1 @ p1) / 2)) & (jnp.max(jnp.abs(back - q)) < 1e-8)
    return (jnp.where(accept, q1, q),) * 2


count = int([*sys.argv, "20000"][1])
keys = jax.random.split(jax.random.key(1), count)
q = jax.lax.scan(sample, jnp.array([3.0, 0.0, 0.0]), keys)[1]
axes = plt.figure().add_subplot(projection="3d", aspect="equal")
axes.scatter(*q[:5000].T, s=1)
plt.savefig("sample_torus.png", dpi=150)
print("mean cosine of the small angle:", jnp.mean(jnp.hypot(q[:, 0], q[:, 1]) - 2), "exact: 0.25")
