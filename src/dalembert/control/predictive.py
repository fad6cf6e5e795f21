"""`PredictiveControl`: a plan from where the system is, again and again, of which the first input is applied (model
predictive control)."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ..arguments import floats, number
from ..errors import InputError, StepFailure
from ..method import Method
from ..problem import AbstractSystem, held, lagrange_weights, require_inputs, undriven
from ..stepping.consistent import prepare_start
from .optimal import optimal_control, plan_of, solve, solver_for
from .plan import Plan


class PredictiveControl:
    """A control for `simulate` and `Sampled` that solves a problem of optimal control whenever it is asked.

    Each plan begins where the system is and ends `horizon` later. It is sought from the one before, moved on by the
    time that has passed, with its multipliers: a few iterations. Where no plan is found, the one before is followed.

    Args:
        system: with inputs.
        method: with which the plans are made.
        horizon: their length.
        steps: into how many steps they are cut.
        options: those of `optimal_control`: cost, final, end, path, bounds, points, solver, guess (of the first plan),
            max_iterations.

    Attributes:
        plan: the last one.
        iterations: of every solution.
        failures: the times at which none was found, and why.
    """

    def __init__(self, system: AbstractSystem, method: Method, *, horizon: float, steps: int, **options: Any) -> None:
        self._inputs = require_inputs(system, "PredictiveControl")
        allowed = {"cost", "final", "end", "path", "bounds", "points", "solver", "guess", "max_iterations"}
        if set(options) - allowed:
            raise InputError(f"PredictiveControl takes {', '.join(sorted(allowed))} beside horizon and steps, got "
                             f"{', '.join(sorted(set(options) - allowed))}.")  # fmt: skip
        self._system, self._method, self._options = system, method, options
        self._asked = {"horizon": number("horizon", horizon, least=0.0), "steps": steps}
        self.plan: Plan | None = None
        self.iterations: list[int] = []
        self.failures: list[tuple[float, str]] = []

    def __call__(self, t: float, q, v) -> np.ndarray:
        """The inputs at a state."""
        t, q, v = float(t), floats("q", q, finite=True), floats("v", v, finite=True)
        with held():
            try:
                self.plan = self._first(t, q, v) if self.plan is None else self._next(self.plan, t, q, v)
                self.iterations.append(self.plan.stats["iterations"])
            except StepFailure as failure:
                if self.plan is None or t >= self.plan.t[-1]:
                    raise
                self.failures.append((t, str(failure)))
        u = self._at(self.plan, t)
        return np.clip(u, self._inputs.lower, self._inputs.upper)

    def _first(self, t: float, q: np.ndarray, v: np.ndarray) -> Plan:
        return optimal_control(self._system, self._method, (q, v), t0=t, **self._asked, **self._options)

    def _next(self, plan: Plan, t: float, q: np.ndarray, v: np.ndarray) -> Plan:
        """The plan from a state, sought from the one before: the problem is the same but for the numbers of its
        start."""
        problem, before = plan._problem, plan._solution
        asked, n = problem.question, len(q)
        state = prepare_start(undriven(asked.system), q, v, None, t, project=True, redundant="refuse").state
        given = asked.given.copy()
        given[: 2 * n] = np.concatenate([np.asarray(state.q), np.asarray(state.v)])
        passed = min(max(round((t - asked.t0) / plan.h), 0), asked.steps)
        problem = problem.beginning(dataclasses.replace(asked, t0=t, given=given, p_given=np.asarray(state.p)))
        z, multipliers = problem.moved_on(before.z, before.multipliers, passed)
        chosen = solver_for([asked], self._options.get("solver", "auto"))
        limit = self._options.get("max_iterations", 500)
        solution = solve(problem, z, multipliers, before.more, chosen, limit, lambda *_: None)
        return plan_of(problem, solution, 0.0)

    def _at(self, plan: Plan | None, t: float) -> np.ndarray:
        """The input of a plan at a time, of the step that begins there."""
        assert plan is not None
        place = (t - plan.t[0]) / plan.h
        k = min(max(int(place + 1e-9), 0), len(plan.t) - 2)
        theta = np.asarray(min(max(place - k, 0.0), 1.0))
        return np.asarray(lagrange_weights(plan.control.points, theta)) @ plan.control.values[k]
