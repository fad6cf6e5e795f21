"""A method of one's own in a few lines: the constrained symplectic Euler method, of order 1.

python examples/own_method.py [steps]     writes own_method.png
"""

import sys
from collections import namedtuple
from typing import ClassVar

import dalembert as da
from dalembert.gallery import DoublePendulum

Unknowns = namedtuple("Unknowns", "V P L p1 v1 K")


class ProjectedEuler(da.Method):
    claims: ClassVar = da.Claims(order=1, symplectic=True, constraints=("position", "velocity"))

    def guess(self, step):
        _, p, v, lam, *_ = step.start
        return Unknowns(V=v, P=p, L=step.h**2 * lam, p1=p, v1=v, K=0 * lam)

    def residual(self, x, step):
        m, h, t0, t1, (q0, p0, *_) = step.mechanics, step.h, step.t, step.t_end, step.start
        q1 = q0 + h * x.V
        to_q1 = x.P - p0 - h * m.rate(t0, q0, x.V, x.P) + m.constraint_force(t0, q0, x.L) / h
        projection = x.p1 - x.P + m.constraint_force(t1, q1, x.K)
        first = {"momentum": to_q1, "V": m.legendre(t0, q0, x.V, x.P), "g": m.constraint(t1, q1)}
        return first | {"p1": projection, "v1": m.legendre(t1, q1, x.v1, x.p1), "hidden": m.hidden(t1, q1, x.v1)}

    def finish(self, x, step):
        return step.end(dq=step.h * x.V, dp=x.p1 - step.start.p, v=x.v1, lam=x.L / step.h**2)


arguments = DoublePendulum(), ProjectedEuler(), *DoublePendulum().start()[:2]
run = da.simulate(*arguments, t=(0, 0.01 * int([*sys.argv, "1000"][1])), h=0.01)
run.plot("own_method.png")
print(run.stats["engine"], da.observed_order(*arguments, (0, 1), [0.01, 0.005, 0.0025, 0.00125]))
