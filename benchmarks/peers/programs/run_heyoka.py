"""heyoka: Taylor series in machine code, on the equations reduced by hand; a terminal event for the ball."""

from __future__ import annotations

import heyoka as hy
import numpy as np
from measure import NotApplicable, Solver, main
from problems import BALL_GRAVITY, BALL_RESTITUTION, Problem
from symbolic import ACCELERATIONS

TOLERANCES = [10.0**-k for k in range(3, 18)]


def equations(problem: Problem):
    n = len(problem.q0)
    q, v = ([hy.expression(f"{name}{i}") for i in range(n)] for name in "qv")
    a = ACCELERATIONS[problem.kind](q, v)
    return [*zip(q, v, strict=True), *zip(v, a, strict=True)]


def ball():
    q, v = hy.make_vars("q0", "v0")
    return [(q, v), (v, hy.expression(-BALL_GRAVITY))]


def bounce(integrator, sign):
    """An impact: the velocity turns round."""
    integrator.state[1] *= -BALL_RESTITUTION
    return True


class Heyoka(Solver):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.start = np.concatenate([problem.q0, problem.v0])
        # every tolerance is compiled anew, for 1000 links during more than a minute
        self.settings = {"Taylor": TOLERANCES if problem.links < 1000 else [1e-7, 1e-8]}
        if problem.kind == "ball":
            self.system, self.written_by_user = ball(), (ball, bounce)
            self.settings = {"Taylor, events": TOLERANCES[::2]}
            self.note = "events stop before they accumulate"
        else:
            self.system = equations(problem)
            self.written_by_user = (equations, ACCELERATIONS[problem.kind])
        self.made = {}

    def integrator(self, tolerance: float):
        if tolerance not in self.made:
            more = {"compact_mode": len(self.start) > 30}
            if self.problem.kind == "ball":
                event = hy.t_event(hy.expression("q0"), callback=bounce, direction=hy.event_direction.negative)
                more = {"t_events": [event]}
            self.made = {tolerance: hy.taylor_adaptive(self.system, list(self.start), tol=tolerance, **more)}
        found = self.made[tolerance]
        found.time = 0.0
        found.state[:] = self.start
        if self.problem.kind == "ball":
            found.reset_cooldowns()
        return found

    def prepare(self, method, setting):
        self.integrator(setting)

        def run():
            integrator = self.integrator(setting)
            integrator.propagate_until(self.problem.end)
            return integrator.state[: len(self.start) // 2].copy()

        return run

    def states(self, method, setting, times):
        integrator, n = self.integrator(setting), len(self.start) // 2
        rows = []
        for t in times:
            integrator.propagate_until(t)
            rows.append(integrator.state.copy())
        rows = np.array(rows)
        return rows[:, :n], rows[:, n:]


def make(problem: Problem) -> Solver:
    if problem.kind not in (*ACCELERATIONS, "ball"):
        raise NotApplicable("no contacts")
    return Heyoka(problem)


if __name__ == "__main__":
    main(make, hy.__version__)
