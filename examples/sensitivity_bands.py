"""Where a pendulum is whose damping and start are known to some percent: a band from first derivatives.

python examples/sensitivity_bands.py     writes sensitivity_bands.png
"""

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import dalembert as da


class Pendulum(da.System):
    damping: float = 0.3

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v + 9.81 * jnp.cos(q[0])

    def force(self, t, q, v):
        return -self.damping * v


call = {"v0": [0.0], "t": (0.0, 8.0), "h": 0.02}
deviations = np.array([0.03, 0.04])  # of the damping and of the first angle
by = da.sensitivity(Pendulum(), da.Rattle(), [1.2], **call, wrt=["damping", "q0"])
band = 2 * np.linalg.norm(deviations * by.q[:, 0], axis=1)
middle = da.simulate(Pendulum(), da.Rattle(), [1.2], **call).q[:, 0]
drawn = [0.3, 1.2] + deviations * np.random.default_rng(1).standard_normal((40, 2))
q = np.array([da.simulate(Pendulum(damping), da.Rattle(), [angle], **call).q[:, 0] for damping, angle in drawn])
plt.figure()
plt.plot(by.t, q.T, color="0.8", linewidth=0.7)
plt.fill_between(by.t, middle - band, middle + band, alpha=0.35, label="two standard deviations")
plt.plot(by.t, middle, label="the motion")
plt.legend()
plt.savefig("sensitivity_bands.png", dpi=150)
print(f"{np.mean(np.abs(q - middle) <= band + 1e-12):.0%} of the states of 40 drawn motions are in the band")
