"""A Poincare section of the Henon-Heiles problem: curves where it is regular, a sea of points where it is chaotic.

python examples/poincare_section.py [time]     writes poincare_section.png
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

import dalembert as da

time, energy = float(sys.argv[1]) if len(sys.argv) > 1 else 3000.0, 1 / 8


class HenonHeiles(da.HamiltonianSystem):
    def hamiltonian(self, t, q, p):
        return 0.5 * (p @ p + q @ q) + q[0] ** 2 * q[1] - q[1] ** 3 / 3


figure, axes = plt.subplots(figsize=(6, 6))
method, worst = da.Composition(da.Rattle(), "kahan-li8"), 0.0
for y, py in ((0.1, 0.0), (0.25, 0.0), (0.35, 0.0), (0.0, 0.3), (0.0, 0.42), (-0.1, 0.0), (-0.2, 0.0), (0.55, 0.0)):
    px = np.sqrt(2 * energy - y**2 + 2 * y**3 / 3 - py**2)
    run = da.simulate(HenonHeiles(), method, q0=[0.0, y], p0=[px, py], t=(0.0, time), h=0.1)
    points = run.section(lambda t, q, v: q[0], direction=+1)
    energies = [HenonHeiles().hamiltonian(*state) for state in zip(points.time, points.q, points.p, strict=True)]
    worst = max(worst, float(np.max(np.abs(np.array(energies) - energy))))
    axes.plot(points.q[:, 1], points.p[:, 1], ".", markersize=2)
axes.set(xlabel="$y$", ylabel="$p_y$", title=f"Henon-Heiles, E = 1/8, section x = 0, {time:g} units of time")
axes.set_aspect("equal")
figure.savefig("poincare_section.png", dpi=150)
print(f"energies of all points within {worst:.0e} of 1/8")
