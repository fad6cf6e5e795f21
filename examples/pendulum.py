"""A pendulum in Cartesian coordinates against its exact motion (Jacobi elliptic functions).

python examples/pendulum.py [steps]     writes pendulum.png
"""

import sys

import numpy as np

import dalembert as da
from dalembert.gallery import Pendulum as ExactPendulum

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 1000


class Pendulum(da.System):
    length: float = 1.0
    gravity: float = 9.81

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - self.gravity * q[1]

    def holonomic(self, t, q):
        return 0.5 * (q @ q - self.length**2)


q0, v0 = [1.0, 0.0], [0.0, 0.0]
for method in (da.Rattle(), da.Shake()):
    for k in (1, 2, 4):
        run = da.simulate(Pendulum(), method, q0, v0, t=(0, 0.01 * steps), h=0.01 / k)
        error = np.max(np.abs(run.q - ExactPendulum().exact(run.t, q0, v0).q))
        print(f"{method.name:9} h = {0.01 / k:.4f}   largest error of q {error:.2e}")
run.plot("pendulum.png")
