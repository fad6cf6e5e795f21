"""Plans with inequalities: the interior-point method of Ipopt, in the package `ipyopt`."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np

from ..engine import is_wanted
from ..errors import InputError
from .newton_optimum import Solution
from .phased import Problem
from .transcription import Values

#: Ipopt takes bounds beyond this for none.
UNBOUNDED = 2e19
#: What its return codes mean.
SOLVED = (0, 1)
REASONS = {2: "infeasible", 3: "stuck", 4: "unbounded", 5: "interrupted", -1: "iterations", -2: "infeasible",
           -13: "not finite", -12: "not finite"}  # fmt: skip


def require_ipopt() -> Any:
    """The package, or what to do without it."""
    if importlib.util.find_spec("ipyopt") is None:
        raise InputError(
            "bounds of inputs and states, path=... and a free horizon need the solver Ipopt, in the package ipyopt, "
            'which is not installed: pip install "dalembert[control]".'
        )
    import ipyopt  # pyright: ignore[reportMissingImports]

    return ipyopt


class _Callbacks:
    """The problem as Ipopt asks for it: cost, rows and derivatives one by one, for one z after the other."""

    def __init__(self, problem: Problem, tell: Callable[[int, float, float], None]) -> None:
        self.problem, self.tell = problem, tell
        self.history: list[tuple[float, float, float]] = []
        self._z, self._plain, self._values = np.full(problem.count, np.nan), None, None
        self.interrupted = False

    def _at(self, z: np.ndarray) -> None:
        if not np.array_equal(z, self._z):
            self._z, self._plain, self._values = z.copy(), None, None

    def _both(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        self._at(z)
        if self._values is not None:
            return self._values.cost, self._values.rows
        self._plain = self._plain or self.problem.evaluate(z)
        return self._plain

    def _all(self, z: np.ndarray) -> Values:
        self._at(z)
        self._values = self._values or self.problem(z)
        return self._values

    def cost(self, z):
        return self._both(z)[0]

    def rows(self, z, out):
        out[()] = self._both(z)[1]

    def gradient(self, z, out):
        out[()] = self._all(z).gradient

    def jacobian(self, z, out):
        out[()] = self._all(z).entries

    def hessian(self, z, multipliers, scale, out):
        out[()] = self.problem.hessian_entries(z, multipliers, scale)

    def iteration(self, mode, number, cost, rows, slope, *rest):
        self.history.append((cost, rows, slope))
        self.tell(number, cost, rows)
        self.interrupted = is_wanted()
        return not self.interrupted


def ipopt_optimum(
    problem: Problem, z: np.ndarray, multipliers: np.ndarray | None, more: dict[str, np.ndarray],
    max_iterations: int, tell: Callable[[int, float, float], None],
) -> Solution:  # fmt: skip
    """The optimum that Ipopt finds from z; with multipliers, `more` are those of the bounds, of a solution nearby."""
    ipyopt, warm = require_ipopt(), multipliers is not None
    calls = _Callbacks(problem, tell)
    options = {"print_level": 0, "sb": "yes", "tol": 1e-9, "constr_viol_tol": 1e-10, "acceptable_tol": 1e-7,
               "max_iter": max_iterations, "bound_relax_factor": 0.0, "honor_original_bounds": "yes",
               "fixed_variable_treatment": "make_parameter"}  # fmt: skip
    if warm:
        options |= {"warm_start_init_point": "yes", "mu_init": 1e-6, "warm_start_bound_push": 1e-9,
                    "warm_start_mult_bound_push": 1e-9}  # fmt: skip
    bounds = (np.clip(b, -UNBOUNDED, UNBOUNDED) for b in (problem.lower, problem.upper))
    row_bounds = (np.clip(b, -UNBOUNDED, UNBOUNDED) for b in (problem.row_lower, problem.row_upper))
    nlp = ipyopt.Problem(
        problem.count, *bounds, problem.row_count, *row_bounds, problem.pattern, problem.hessian_pattern,
        calls.cost, calls.gradient, calls.rows, calls.jacobian, calls.hessian,
        intermediate_callback=calls.iteration, ipopt_options=options,
    )  # fmt: skip
    found = np.array(z, dtype=np.float64)
    mu = np.zeros(problem.row_count) if multipliers is None else multipliers.copy()
    of_bounds = {name: more.get(name, np.zeros(problem.count)).copy() for name in ("lower", "upper")}
    found, _, code = nlp.solve(
        found, mult_g=mu, mult_x_L=of_bounds["lower"], mult_x_U=of_bounds["upper"]
    )  # fmt: skip
    reason = "" if code in SOLVED else REASONS.get(code, "stuck")
    if calls.interrupted:
        reason = "interrupted"
    return Solution(found, mu, not reason, reason, np.array(calls.history), "Ipopt", of_bounds)
