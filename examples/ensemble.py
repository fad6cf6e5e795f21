"""Four thousand pendulums in one call: a square of starts in phase space, drawn out by the motion.

python examples/ensemble.py [steps]     writes ensemble.png
"""

import sys

import matplotlib as mpl
import numpy as np

import dalembert as da
from dalembert.gallery import Pendulum

mpl.use("Agg")
import matplotlib.pyplot as plt

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 800

side = np.linspace(-0.4, 0.4, 64)
angle, rate = (x.ravel() for x in np.meshgrid(1.5 + side, side))
q0 = np.stack([np.sin(angle), -np.cos(angle)], axis=1)  # one row a member
v0 = rate[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
run = da.simulate(Pendulum(), da.Rattle(), q0, v0, t=(0, 0.01 * steps), h=0.01, save_every=steps // 4)

figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
for k in range(5):
    q, v = run.q[:, k], run.v[:, k]
    angles, rates = np.arctan2(q[:, 0], -q[:, 1]), q[:, 0] * v[:, 1] - q[:, 1] * v[:, 0]
    axes.scatter(angles, rates, s=1, label=f"t = {run.t[0, k]:g}")
axes.set(xlabel="angle", ylabel="rate")
axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), markerscale=6)
figure.savefig("ensemble.png", dpi=150)
print(f"{len(run.q)} pendulums, {steps} steps each: {run.stats['wall_seconds']:.3f} s with {run.stats['engine']}")
