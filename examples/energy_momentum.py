"""Two rigid bars joined by stiff springs fly through space: energy and momenta stay to the last digit.

python examples/energy_momentum.py [steps]     writes energy_momentum.png
"""

import sys

import numpy as np

import dalembert as da
from dalembert.gallery.springs_and_bars import FourParticles

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 2000

particles = FourParticles(first_stiffness=1e3, second_stiffness=1e4)
start = particles.start()
for method in (da.Rattle(), da.EnergyMomentum(), da.EnergyMomentum(velocity_level=True)):
    run = da.simulate(particles, method, start.q0, start.v0, t=(0, 0.01 * steps), h=0.01, on_failure="return")
    change = {"energy": np.ptp(run.energy) / run.energy[0], "max |g|": np.max(run.constraint)}
    for name, values in run.invariants.items():
        change[name] = np.max(np.abs(values - values[0]))
    print(f"{method.name:36}", ", ".join(f"{name} {value:.0e}" for name, value in change.items()))
run.plot("energy_momentum.png", dimension=3)
