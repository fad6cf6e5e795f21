"""A ball bounces infinitely often and rests from t = 3 on: time stepping, and events found with order 6.

python examples/bouncing_ball.py [steps]     writes bouncing_ball.png
"""

import sys

import numpy as np

import dalembert as da
from dalembert.gallery import BouncingBall as ExactBall

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 500


class BouncingBall(da.System):
    gravity: float = 2.0
    restitution: float = 0.5

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - self.gravity * q[0]

    def gap(self, t, q):
        return q


for method in (da.MoreauJean(), da.SchatzmanPaoli(), da.EventCapturing(da.lobatto_iiia(4))):
    run = da.simulate(BouncingBall(), method, q0=[1.0], v0=[0.0], t=(0, 5.0), h=5.0 / steps)
    error = np.mean(np.abs(run.q - ExactBall().exact(run.t).q))
    print(f"{method.name:32} mean error of the height {error:.1e}, deepest {min(0.0, np.min(run.gap)):.1e}")
run.plot("bouncing_ball.png")
print(run.events)
