"""siconos: Moreau-Jean time stepping of the bouncing ball, where the operating system has it."""

from __future__ import annotations

import numpy as np
from measure import NotApplicable, Solver, main
from problems import BALL_GRAVITY, BALL_RESTITUTION, Problem

try:
    import siconos.kernel as sk
except ImportError:
    sk = None

STEPS = [21 * 4**k for k in range(9)]


def ball(problem: Problem, h: float):
    body = sk.LagrangianLinearTIDS(problem.q0.copy(), problem.v0.copy(), np.eye(1))
    body.setFExtPtr(np.array([-BALL_GRAVITY]))
    law, relation = sk.NewtonImpactNSL(BALL_RESTITUTION), sk.LagrangianLinearTIR(np.eye(1))
    interaction = sk.Interaction(law, relation)
    system = sk.NonSmoothDynamicalSystem(0.0, problem.end)
    system.insertDynamicalSystem(body)
    system.link(interaction, body)
    stepping = sk.TimeStepping(system, sk.TimeDiscretisation(0.0, h), sk.MoreauJeanOSI(0.5), sk.LCP())
    return body, stepping


class Siconos(Solver):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.settings = {"Moreau-Jean": STEPS}
        self.note = "of order 1 through impacts"
        self.written_by_user = (ball,)

    def prepare(self, method, setting):
        import time

        def run():
            body, stepping = ball(self.problem, self.problem.end / setting)
            begun = time.perf_counter()
            for _ in range(setting):
                stepping.computeOneStep()
                stepping.nextStep()
            return time.perf_counter() - begun, np.array(body.q())

        return run

    def states(self, method, setting, times):
        body, stepping = ball(self.problem, self.problem.end / setting)
        rows = [(self.problem.q0, self.problem.v0)]
        for _ in range(setting):
            stepping.computeOneStep()
            stepping.nextStep()
            rows.append((np.array(body.q()), np.array(body.velocity())))
        q, v = zip(*rows, strict=True)
        return np.array(q), np.array(v)


def make(problem: Problem) -> Solver:
    if sk is None:
        raise NotApplicable("not installed by the operating system")
    if problem.kind != "ball":
        raise NotApplicable("made for contacts; its smooth integrators are of order 1 and 2")
    return Siconos(problem)


if __name__ == "__main__":
    main(make, "" if sk is None else str(getattr(__import__("siconos"), "__version__", "")))
