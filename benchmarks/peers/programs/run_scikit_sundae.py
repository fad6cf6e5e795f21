"""scikit-sundae: IDA of SUNDIALS on the stabilised index-2 form, residual in numpy, Jacobian by its differences."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
from differential_algebraic import MODELS, model_of, stabilised
from measure import NotApplicable, Solver, main
from problems import Problem
from sksundae.ida import IDA

TOLERANCES = [10.0**-k for k in range(5, 13)]


class Sundae(Solver):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.settings = {"IDA, stabilised index 2": TOLERANCES}
        self.residual, self.y0, self.rate0 = stabilised(problem)
        self.written_by_user = (MODELS[problem.kind], stabilised)
        self.options = {}
        if len(self.y0) > 100:
            self.options = {"linsolver": "sparse", "sparsity": self.pattern()}

    def pattern(self):
        """Where F_y + c F_y' may be non-zero: from differences at a disturbed state."""
        from scipy.sparse import csc_matrix

        rng, size = np.random.default_rng(0), len(self.y0)
        y, rate = (x + 0.1 * rng.standard_normal(size) for x in (self.y0, self.rate0))
        here = self.residual(0.0, y, rate)
        rows, columns = [], []
        for k in range(size):
            move = np.zeros(size)
            move[k] = 1e-3
            found = np.flatnonzero(np.abs(self.residual(0.0, y + move, rate + np.pi * move) - here) > 0)
            rows.extend(found)
            columns.extend([k] * len(found))
        return csc_matrix((np.ones(len(rows)), (rows, columns)), shape=(size, size))

    def solve(self, tolerance: float, times):
        def function(t, y, rate, result):
            result[:] = self.residual(t, y, rate)

        solver = IDA(
            function, rtol=tolerance, atol=tolerance, max_num_steps=10**6, **self.options
        )  # fmt: skip
        return lambda: solver.solve(np.asarray(times, dtype=float), self.y0, self.rate0)

    def prepare(self, method, setting):
        solve, n = self.solve(setting, [0.0, self.problem.end]), len(self.problem.q0)

        def run():
            found = solve()
            if not found.success:
                raise RuntimeError(str(found.message))
            return found.y[-1, :n]

        return run

    def states(self, method, setting, times):
        found, n = self.solve(setting, times)(), len(self.problem.q0)
        return found.y[:, :n], found.y[:, n : 2 * n]


def make(problem: Problem) -> Solver:
    if problem.kind not in MODELS:
        raise NotApplicable("no impacts")
    if problem.links >= 1000:
        raise NotApplicable("the residual in Python takes too long")
    model_of(problem)
    return Sundae(problem)


if __name__ == "__main__":
    main(make, version("scikit-sundae"))
