"""scipy_dae: its Radau IIA method on the stabilised index-2 form, residual in numpy, Jacobian by its differences."""

from __future__ import annotations

from importlib.metadata import version

from differential_algebraic import MODELS, stabilised
from measure import NotApplicable, Solver, main
from problems import Problem
from scipy_dae.integrate import solve_dae

TOLERANCES = [10.0**-k for k in range(4, 13)]


class ScipyDae(Solver):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.settings = {"Radau IIA, stabilised index 2": TOLERANCES}
        self.residual, self.y0, self.rate0 = stabilised(problem)
        self.written_by_user = (MODELS[problem.kind], stabilised)

    def solve(self, tolerance: float, times=None):
        found = solve_dae(
            self.residual, (0.0, self.problem.end), self.y0, self.rate0, method="Radau", rtol=tolerance,
            atol=tolerance, t_eval=times,
        )  # fmt: skip
        if not found.success:
            raise RuntimeError(found.message)
        return found.y

    def prepare(self, method, setting):
        n = len(self.problem.q0)
        return lambda: self.solve(setting)[:n, -1]

    def states(self, method, setting, times):
        y, n = self.solve(setting, times), len(self.problem.q0)
        return y[:n].T, y[n : 2 * n].T


def make(problem: Problem) -> Solver:
    if problem.kind not in MODELS:
        raise NotApplicable("no impacts")
    if problem.links >= 1000:
        raise NotApplicable("its Jacobian is dense: 8000 x 8000")
    return ScipyDae(problem)


if __name__ == "__main__":
    main(make, version("scipy_dae"))
