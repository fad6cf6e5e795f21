"""casadi: IDAS on the index-1 form, all derivatives from its own symbols, sparse."""

from __future__ import annotations

import casadi as ca
import numpy as np
from measure import NotApplicable, Solver, main
from problems import GRAVITY, MASSES, PAIRS, RODS, SPRINGS, Problem

#: With looser ones the constraint is lost on the way.
TOLERANCES = [10.0 ** (-k / 2) for k in range(9, 28)]


def pendulum(q, v):
    return -GRAVITY * q[1], np.ones(2), ca.dot(q, q) / 2 - 0.5


def chain(q, v):
    r = ca.reshape(q, 3, -1)
    d = r - ca.horzcat(ca.SX(3, 1), r[:, :-1])
    return -GRAVITY * ca.sum2(r[2, :]), np.ones(q.numel()), ca.sum1(d * d).T / 2 - 0.5


def four(q, v):
    r = ca.reshape(q, 3, -1)
    springs = sum(-k / 4 * (ca.sumsqr(r[:, i] - r[:, j]) - 1) ** 2 for i, j, k in SPRINGS)
    return springs, np.repeat(MASSES, 3), ca.vertcat(*(ca.sumsqr(r[:, i] - r[:, j]) / 2 - 0.5 for i, j in RODS))


def particles(q, v):
    y, z = q[1 : PAIRS + 1], q[PAIRS + 1 :]
    negative_potential = -(ca.dot(q, q) + z[0] ** 2 * z[1] ** 2 + ca.dot(y**2, z**2)) / 2
    return negative_potential, np.ones(q.numel()), v[0] + ca.dot(y, v[PAIRS + 1 :])


MODELS = {"pendulum": pendulum, "chain": chain, "four": four, "particles": particles}


def equations(problem: Problem):
    """q' = v, m v' = V_q - G^T lam, and the constraint differentiated until v' appears."""
    n = len(problem.q0)
    q, v = ca.SX.sym("q", n), ca.SX.sym("v", n)
    negative_potential, masses, constraint = MODELS[problem.kind](q, v)
    hidden = constraint if problem.kind == "particles" else ca.jtimes(constraint, q, v)
    rows = ca.jacobian(hidden, v)
    lam = ca.SX.sym("lam", hidden.numel())
    acceleration = (ca.gradient(negative_potential, q) - ca.mtimes(rows.T, lam)) / masses
    algebraic = ca.mtimes(rows, acceleration) + ca.jtimes(hidden, q, v)
    return {"x": ca.vertcat(q, v), "z": lam, "ode": ca.vertcat(v, acceleration), "alg": algebraic}


class Casadi(Solver):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.settings = {"IDAS, index 1": TOLERANCES}
        self.equations = equations(problem)
        self.written_by_user = (MODELS[problem.kind], equations)
        self.start = np.concatenate([problem.q0, problem.v0])
        e = self.equations
        options = {
            "error_on_fail": False,
            "max_iter": 3,
        }  # linear: its tolerance would not know the size of the tensions
        multiplier = ca.rootfinder("multiplier", "newton", {"x": e["z"], "p": e["x"], "g": e["alg"]}, options)
        self.z0 = multiplier(np.zeros(e["z"].numel()), self.start)

    def integrator(self, tolerance: float, times):
        options = {"abstol": tolerance, "reltol": tolerance, "max_num_steps": 10**6}
        return ca.integrator("motion", "idas", self.equations, 0.0, [float(t) for t in times], options)

    def prepare(self, method, setting):
        integrator, n = self.integrator(setting, [self.problem.end]), len(self.problem.q0)
        return lambda: np.asarray(integrator(x0=self.start, z0=self.z0)["xf"]).ravel()[:n]

    def states(self, method, setting, times):
        rows = np.asarray(self.integrator(setting, times[1:])(x0=self.start, z0=self.z0)["xf"]).T
        rows = np.vstack([self.start, rows])
        n = len(self.problem.q0)
        return rows[:, :n], rows[:, n:]


def make(problem: Problem) -> Solver:
    if problem.kind not in MODELS:
        raise NotApplicable("no impacts")
    return Casadi(problem)


if __name__ == "__main__":
    main(make, ca.__version__)
