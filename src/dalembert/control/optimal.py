"""`optimal_control`: the inputs of least cost, with the equations of any method as constraints (discrete mechanics and
optimal control; Ober-Bloebaum, Junge, Marsden 2011, doi:10.1051/cocv/2010012; with multipliers Leyendecker,
Ober-Bloebaum, Marsden, Ortiz 2010, doi:10.1002/oca.912)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..arguments import choice, count, flag, number, shown, takes
from ..engine import OK, Interruption
from ..errors import InputError, StepFailure
from ..method import Method
from ..problem import AbstractSystem, holding, lagrange_weights, undriven
from ..simulation import InputNodes
from ..stepping import Run, Status
from ..stepping.consistent import prepare_start
from .infeasible import obstacle
from .ipopt import ipopt_optimum
from .linearise import tangent_space
from .mesh import LEAST_AIM, MOST_MESHES, MOST_STEPS, refined, step_errors
from .newton_optimum import Solution, newton_optimum
from .optimal_guess import coordinates_of, guess_of, packed
from .phased import Problem
from .phased_plan import guesses_of, joined, phased_plan_of, schedule_of
from .plan import Plan
from .question import Asked, Question, question_of
from .step_maps import momenta_by_state
from .transcription import Transcription

#: How far the ends may stay from what was asked for, relative to the positions.
AT_ENDS = 1e-6


@holding
def optimal_control(
    system: AbstractSystem, method: Method, start=None, end=None, *, horizon=None, steps: int | None = None,
    cost=None, final=None, path=None, bounds=None, periodic=None, points=None, guess=None, phases=None,
    refine: float | None = None, transcription: str = "direct", solver: str = "auto", t0: float = 0.0,
    max_iterations: int = 500, progress: bool | Callable = False,
) -> Plan:  # fmt: skip
    """The motion of least cost from a start to an end, with the inputs that bring it about.

    All steps of `method` are constraints of one problem of optimisation (direct transcription): what comes out
    satisfies its discrete equations like a run of `simulate`, constraints and all.

    Args:
        system: with inputs, whose bounds it declares; without contacts, or with phases.
        method: any method but those of events, for example `Rattle()` or `Galerkin(2)`.
        start: (q0, v0), where None leaves a part free; or a function of (t, q, v) that is zero there.
        end: (q1, v1) or a function, likewise; None leaves the end free.
        horizon: the length of the plan; or (least, greatest), and the length is found.
        steps: into how many steps of one size it is cut.
        cost: a function of (t, q, v, u), which is integrated over the plan by the quadrature of the method.
        final: a function of (t, q, v) at the end, which is added to it: `lambda t, q, v: t` for the shortest time.
            Without cost and final, the plan nearest to the guess in its start, inputs and length is found.
        path: a function of (t, q, v, u), a number or a vector that must be >= 0 at the ends of all steps.
        bounds: {"q": (lower, upper), "v": (lower, upper)} of all states but a given start.
        periodic: True, or the numbers of the coordinates that return at the end; all velocities do then. With phases
            also a function of (q, v) at the end, which gives (q, v) at the start (two legs that change places).
        points: where in a step the inputs have values, in units of the step: the inputs are polynomials through them.
            By default the nodes of the method's quadrature, and one constant a step for methods up to order 2.
        guess: a run near the plan, such as another plan (with multipliers, if it has as many steps), or positions of
            shape (steps + 1, n). By default the straight line, brought onto the constraints.
        phases: a list of `da.Phase(steps, horizon, closed)`, in the place of horizon and steps: which contacts are
            closed, one phase after the other. Where a contact closes, an impact takes its velocity. A guess is then
            also a list with a guess for each phase.
        refine: the error of the motion that is aimed at, relative to its size, between 1e-12 and 1. Where steps have
            larger errors, as halving them tells, they are cut, and the plan is made anew from the one before.
        transcription: "direct": the unknowns of all steps are found together with the plan; "shooting" (multiple
            shooting, a step an interval): Newton's method finds them step by step, so that fewer unknowns remain.
        solver: "newton" for problems without inequalities, "ipopt" (in the extra `control`), or "auto".
        t0: the time at which the plan begins.
        max_iterations: of the solver.
        progress: print cost and largest defect of every iteration; or a function of (iteration, cost, defect).

    The plan is a minimum next to the guess; with other guesses there may be better ones. Where there is none,
    `StepFailure` says which condition cannot be satisfied.
    """
    begun = time.perf_counter()
    choice("solver", solver, ("auto", "newton", "ipopt"))
    choice("transcription", transcription, ("direct", "shooting"))
    asked = Asked(start, end, horizon, steps, cost, final, path, bounds, periodic, points, t0)
    asked = asked._replace(shoots=transcription == "shooting")
    limit, tell = count("max_iterations", max_iterations), _teller(progress)

    def found(problem, z, multipliers, more, questions) -> Solution:
        with Interruption() as interruption:
            solution = solve(problem, z, multipliers, more, solver_for(questions, solver), limit, tell)
        if interruption.wanted:
            raise KeyboardInterrupt
        return solution

    aim = None if refine is None else number("refine", refine, LEAST_AIM, 1.0)
    if phases is None:
        question = question_of(system, method, asked, coordinates_of(guess))
        return _on_meshes(question, guess, aim, found, begun)
    if aim is not None:
        raise InputError("refine is for plans without phases: give the steps of each da.Phase.")
    schedule = schedule_of(system, method, asked, phases, guess)
    guesses = guesses_of(schedule, guess, asked)
    parts = [begin(question, one)[:2] for question, one in zip(schedule.questions, guesses, strict=True)]
    for part, z in parts:
        _check_finite(part, z)
    whole = joined(schedule, parts, guess)
    return phased_plan_of(schedule, whole.problem, found(*whole, schedule.questions), plan_of, begun)


def _on_meshes(question: Question, guess: Any, aim: float | None, found: Callable, begun: float) -> Plan:
    """The plan; with an aim on meshes that are refined until the errors of all steps sum up to less."""
    meshes, notes = [], {}
    while True:
        problem, z, multipliers, more = begin(question, guess)
        _check_finite(problem, z)
        solution = found(problem, z, multipliers, more, [question])
        meshes.append(question.steps)
        if aim is not None:
            errors = step_errors(problem, solution.z)
            notes = {"error": float(np.sum(errors)), "meshes": tuple(meshes)}
            shares = refined(question.shares, errors, aim, question.method.order)
            if notes["error"] > aim and len(meshes) < MOST_MESHES and len(shares) <= MOST_STEPS:
                guess = plan_of(problem, solution, 0.0)
                question = replace(question, steps=len(shares), shares=shares)
                continue
            if notes["error"] > aim:
                notes["warning"] = f"with {meshes[-1]} steps the error of the motion is still {notes['error']:.1e}"
        plan = plan_of(problem, solution, time.perf_counter() - begun)
        plan.stats.update(notes)
        return plan


def begin(question: Question, guess: Any) -> tuple[Transcription, np.ndarray, np.ndarray | None, dict]:
    """The problem and where its solution begins, with multipliers where the guess has them."""
    first = guess_of(question, guess)
    v = np.gradient(first.q, question.begins, axis=0) / first.T if first.v is None else first.v
    n, given, wishes = question.layout.n, question.given, question.wishes
    parts = [first.q[0], v[0], first.q[-1], v[-1]]
    for k, (names, name) in enumerate(((wishes.start, "q"), (wishes.start, "v"), (wishes.end, "q"), (wishes.end, "v"))):
        if isinstance(names, tuple) and name in names:
            parts[k] = given[k * n : (k + 1) * n]
    problem = Transcription(question, np.concatenate(parts))
    z = packed(problem, first)
    problem.anchor(z)
    if isinstance(guess, Plan):
        before, found = guess._problem, guess._solution
        if before.count == problem.count and before.row_count == problem.row_count:
            z = np.clip(found.z, problem.lower, problem.upper)
            return problem, z, found.multipliers, found.more
    return problem, z, None, {}


def _teller(progress: Any) -> Callable[[int, float, float], Any]:
    if callable(progress):
        if not takes(progress, 3):
            raise InputError(f"progress must be a function of (iteration, cost, defect), got {shown(progress)}.")
        return progress
    if flag("progress", progress):
        return lambda number, cost, defect: print(f"{number:5d}   cost {cost:.9g}   defect {defect:.2e}")
    return lambda number, cost, defect: None


def solver_for(questions: Sequence[Question], solver: str) -> str:
    """The solver that the questions of all phases need, or the one that is wanted."""
    needs = any(one.has_inequalities or (one.is_free and np.isfinite(one.horizon[1])) for one in questions)
    if solver == "newton" and needs:
        raise InputError(
            'solver="newton" is for problems without inequalities: this one has bounds of inputs or states, path=... '
            'or a bounded free horizon. Use "ipopt", or leave them out (a free horizon may be (least, np.inf)).'
        )
    return ("ipopt" if needs else "newton") if solver == "auto" else solver


def solve(
    problem: Problem, z: np.ndarray, multipliers: np.ndarray | None, more: dict, solver: str, limit: int, tell
) -> Solution:  # fmt: skip
    """The solution by one of the solvers, or why there is none."""
    if solver == "ipopt":
        solution = ipopt_optimum(problem, z, multipliers, more, limit, tell)
    else:
        zero = np.zeros(problem.row_count)
        solution = newton_optimum(problem, z, zero if multipliers is None else multipliers, limit, tell)
    if solution.reason == "interrupted":
        return solution
    slacks = float(np.max(np.abs(problem.slacks(solution.z)), initial=0.0))
    size = 1.0 + problem.size(solution.z)
    if solution.reason or slacks > AT_ENDS * size:
        raise StepFailure(_why_not(problem, solution, slacks))
    return solution


def _why_not(problem: Problem, solution: Solution, slacks: float) -> str:
    reason = solution.reason or "infeasible"
    iterations = max(len(solution.history) - 1, 0)
    begin = f"optimal_control ({solution.solver}, {iterations} iterations): "
    if reason == "unbounded":
        return begin + "the cost falls without bound; give bounds, or a cost that grows with the inputs."
    if reason == "not finite":
        return begin + ("cost or equations are not finite near the last iterate (a square root, a logarithm, a "
                        "division by zero); give bounds or a guess=... that keep away from there.")  # fmt: skip
    rows = problem.evaluate(solution.z)[1]
    outside = np.max(np.maximum(problem.row_lower - rows, rows - problem.row_upper))
    if reason == "infeasible" or max(outside, slacks) > AT_ENDS:
        what, missed = obstacle(problem, solution.z)
        if not what:
            return begin + 'the solver lost its way. Pass a better guess=..., or use solver="ipopt".'
        return begin + (f"no plan satisfies all conditions next to the guess. What stands in the way is {what}: it is "
                        f"missed by {missed:.3g}. Change the conditions, the bounds or the horizon, or pass another "
                        "guess=....")  # fmt: skip
    what = "max_iterations is reached" if reason == "iterations" else "no step lowers the cost any further"
    return begin + (f"{what}, gradient of the Lagrangian {solution.history[-1][2]:.2e}. Pass a better guess=..., more "
                    "steps, or a cost that is smooth and strictly convex in the inputs.")  # fmt: skip


def _check_finite(problem: Transcription, z: np.ndarray) -> None:
    """A cost or path that is no number along the guess is refused."""
    values = problem.functions.local.values(*problem._arguments(z))
    sizes = problem.sizes
    first_path = 1 + sizes.unknowns + sizes.state
    for name, part in (("cost", values[:, :1]), ("path", values[:, first_path : first_path + sizes.path])):
        bad = ~np.isfinite(part).all(axis=1)
        if bad.any():
            k, asked = int(np.argmax(bad)), problem.question
            t = z[-2] + z[-1] * asked.begins[k]
            raise InputError(
                f"{name}(t, q, v, u) is not finite along the guess: {part[k, 0]} in the step from t = {t:.6g}. Check "
                "it there, or pass a guess=... that keeps away from there."
            )
    if not np.all(np.isfinite(values)):
        k = int(np.argmax(~np.isfinite(values).all(axis=1)))
        raise InputError(
            f"the equations of the motion are not finite along the guess, in step {k + 1}; pass another guess=...."
        )
    last = problem.ends.local.values(*problem._end_arguments(z))[0]
    if not np.all(np.isfinite(last)):
        raise InputError("final, start, end or path is not finite at the ends of the guess; check them there.")


def plan_of(problem: Transcription, solution: Solution, seconds: float, beyond: np.ndarray | None = None) -> Plan:
    """The record of a solution; `beyond` is what later phases add to the costate at the end."""
    asked, z = problem.question, solution.z
    n, t0, T = asked.layout.n, float(z[-2]), float(z[-1])
    times, states = t0 + T * asked.begins, problem.states(z)
    if asked.wishes.starts_in_state:  # without the last rounding of the solver
        states[0] = np.concatenate([asked.given[:n], asked.p_given, asked.given[n : 2 * n]])
    base = undriven(asked.system)
    q0, _, v0 = np.split(states[0], 3)
    first = prepare_start(base, q0, v0, None, t0, project=True, redundant="refuse")
    held = problem.functions.multipliers(*problem._arguments(z))
    begin = np.concatenate([first.state.lam, first.state.psi])
    full = np.concatenate([states, np.concatenate([begin[None], held])], axis=1)
    cost, rows = problem.evaluate(z)
    iterations = max(len(solution.history) - 1, 0)
    stats = {
        "engine": "numpy, all steps at once", "solver": solution.solver, "steps": asked.steps, "cost": cost,
        "iterations": iterations, "unknowns": problem.count, "equations": problem.row_count,
        "defect": float(np.max(np.maximum(problem.row_lower - rows, rows - problem.row_upper))),
        "compile_seconds": 0.0, "wall_seconds": seconds, "warning": None,
    }  # fmt: skip
    counts = np.full(asked.steps, iterations)
    status = Status(OK, asked.steps, float(times[-1]), f"ok: {asked.steps} steps, cost {cost:.6g}")
    U, used = problem.inputs(z), None
    if asked.inputs.size:
        ends = [lagrange_weights(asked.points, np.asarray(theta)) for theta in (0.0, 1.0)]
        used = np.concatenate([(ends[0] @ U[0])[None], np.einsum("i,kij->kj", ends[1], U)])
    run = Run(asked.system, asked.method, asked.layout, None, times, full, counts, counts, status,
              T / asked.steps if asked.is_equal else T * asked.shares, stats, inputs=used)  # fmt: skip
    plan: Any = Plan._from_run(run)
    plan._arrays["costate"] = reduced_costate(problem, solution, times, states, beyond)
    plan.cost, plan.horizon, plan.history = cost, T, solution.history
    plan.control = InputNodes(asked.points, U)
    plan._problem, plan._solution = problem, solution
    return plan


def reduced_costate(problem: Transcription, solution: Solution, times, states, beyond=None) -> np.ndarray:
    """The derivative of the remaining cost by (q, v) along the manifold: with p = p(q, v)::

    T T^T (a_q + p_q^T a_p,  a_v + p_v^T a_p)
    """
    n, asked = problem.question.layout.n, problem.question
    whole = problem.costate(solution.z, solution.multipliers)
    if beyond is not None:
        whole[-1] += beyond
    by_q, by_p, by_v = np.split(whole, 3, axis=1)
    q, v = states[:, :n], states[:, 2 * n :]
    slopes = momenta_by_state(asked.system, times, q, v)[1]
    whole = np.concatenate([by_q, by_v], axis=1) + np.einsum("kij,ki->kj", slopes, by_p)
    base, found = undriven(asked.system), np.zeros_like(whole)
    for k, t in enumerate(times):
        basis = tangent_space(base, None, float(t), q[k], v[k], on_manifold=False)
        found[k] = basis @ (basis.T @ whole[k])
    return found
