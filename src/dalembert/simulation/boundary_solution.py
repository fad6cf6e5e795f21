"""Two-point boundary-value problems: the discrete motion of a method between two positions, all steps at once.

Damped Newton on the equations of `boundary_equations.py`, with a sparse LU factorisation of the Jacobian J. A step of
length lambda along the update d = -J^-1 F is accepted if the next update, with the same J, is shorter (Deuflhard's
natural test, which does not depend on the scales of the equations)::

    |J^-1 F(z + lambda d)| <= (1 - lambda / 4) |d|

Where J is singular, at conjugate points, its null directions are left out of the update: of many solutions one near the
guess is found, and reported as one of many. A problem of many steps is solved with few, larger steps first; its motion
is the guess for all of them.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass

import numpy as np
import scipy
import scipy.sparse.linalg as sparse_linalg

from ..arguments import count, interval
from ..engine import OK, raising
from ..errors import InconsistentStart, InputError, MethodDoesNotFit, StepFailure
from ..method import Method
from ..problem import AbstractSystem, prepared
from ..stepping.consistent import START_TOLERANCE, _check_freedom, _vector, is_traced, prepare_start
from ..stepping.model_check import independent_rows, layout_of
from ..stepping.options import check_room
from ..stepping.run import Run, Status
from ..stepping.scales import constraints_at, relative
from ..stepping.step import check_fit
from ..stepping.step_sizes import equal_steps
from .boundary_equations import BoundaryEquations
from .boundary_guess import given_path, path_between, states_along

#: An update below this is the last but one: what follows lies in the roundoff.
LAST_UPDATE = 1e-9
#: Where the iteration stagnates below this, roundoff in an ill-conditioned problem stops it, not the problem.
ROUNDOFF_UPDATE = 1e-5
#: An update of this size raises the question whether the Jacobian is singular.
SUSPICIOUS_UPDATE = 10.0
#: Below this isolation directions are left out of the update: no digit of it is right there.
SINGULAR = 1e-11
#: How far q_N may end from q_end, relative to the largest position.
END_TOLERANCE = 1e-8
#: Below this isolation a solution counts as one of many.
NOT_ISOLATED = 1e-7
SHORTEST = 2.0**-14
#: Steps of the coarse problem that is solved first.
FEW_STEPS = 64


@dataclass(frozen=True)
class _Solved:
    z: np.ndarray
    iterations: int
    update: float
    isolation: float


@raising
def solve_boundary_value(
    system: AbstractSystem, method: Method, q_start, q_end, *, t=(0.0, 1.0), h: float = 0.01, guess=None,
    max_iterations: int = 50,
) -> Run:  # fmt: skip
    """See `dalembert.boundary_value`.

    Long: what is asked for is checked first, then solved with few steps, then with all, then reported.
    """
    begun = time.perf_counter()
    if not isinstance(method, Method):
        raise InputError(f"expected a method such as da.Galerkin(2), got {type(method).__name__}.")
    if is_traced(system, q_start, q_end):
        raise InputError("boundary_value works with numbers; call it outside jit, vmap and grad.")
    max_iterations = count("max_iterations", max_iterations)
    system = prepared(system)
    check_fit(system, method)
    (t0, t1), (_, h, steps) = interval(t), equal_steps(t, h)
    start, end = np.asarray(_vector("q_start", q_start)), np.asarray(_vector("q_end", q_end))
    if start.shape != end.shape:
        raise InputError(f"q_end must have the shape of q_start, {start.shape}, got {end.shape}.")
    layout = layout_of(system, len(start))
    check_room(steps + 1, layout.n_state)
    if layout.k:
        raise MethodDoesNotFit(
            f"boundary_value treats holonomic constraints; {type(system).__name__} has {layout.k} nonholonomic ones, "
            "which leave fewer starting velocities than end positions, so that q_end is out of reach in general."
        )
    _check_freedom(system, layout)
    for name, at, q in (("q_start", t0, start), ("q_end", t1, end)):
        _check_on_constraints(system, name, at, q)
    times = t0 + h * np.arange(steps + 1)
    path = path_between(system, layout, times, start, end) if guess is None else given_path(guess, steps, layout.n)

    def solve(number: int, path: np.ndarray) -> tuple[BoundaryEquations, _Solved]:
        equations = BoundaryEquations(system, method, layout, t0, (t1 - t0) / number, number, start, end)
        z = equations.pack(*states_along(system, layout, equations.t, path))
        return equations, _newton(equations, z, max_iterations)

    coarse_iterations = 0
    if steps >= 2 * FEW_STEPS:
        few = np.linspace(t0, t1, FEW_STEPS + 1)
        try:
            equations, solved = solve(FEW_STEPS, np.stack([np.interp(few, times, x) for x in path.T], axis=1))
            coarse, coarse_iterations = equations.states(solved.z), solved.iterations
            path = scipy.interpolate.CubicHermiteSpline(
                few, coarse[:, : layout.n], coarse[:, 2 * layout.n : 3 * layout.n]
            )(times)
        except StepFailure:  # large steps may have no solution where small ones have
            pass
    equations, solved = solve(steps, path)
    states = equations.states(solved.z)
    n = layout.n
    # the multipliers of the first state take no part in the equations
    first = prepare_start(system, start, states[0, 2 * n : 3 * n], None, t0, project=True, redundant="refuse").state
    states[0, 3 * n :] = np.concatenate([first.lam, first.psi])
    warning = None
    if solved.isolation < NOT_ISOLATED:
        warning = (
            f"the solution is not isolated (isolation {solved.isolation:.1e}): q_start and q_end are conjugate points, "
            "or nearly; other motions join them too, and digits of this one depend on roundoff. "
            "Change the interval or q_end for a unique one."
        )
    stats = {
        "engine": "numpy and SuperLU, all steps at once",
        "steps": steps,
        "newton_iterations": solved.iterations,
        "coarse_iterations": coarse_iterations,
        "last_update": solved.update,
        "isolation": solved.isolation,
        "warning": warning,
        "unknowns": equations.count,
        "compile_seconds": 0.0,
        "wall_seconds": time.perf_counter() - begun,
    }
    counts = np.full(steps, solved.iterations)
    status = Status(OK, steps, t1, f"ok: {steps} steps" + (f"; {warning}" if warning else ""))
    return Run(system, method, layout, None, equations.t, states, counts, counts, status, h, stats)


def _check_on_constraints(system: AbstractSystem, name: str, t: float, q: np.ndarray) -> None:
    if not system.provides("holonomic"):
        return
    independent_rows(system, t, q, "refuse")
    found = constraints_at(system, t, q)
    value, parts = found.value, relative(found.value, found.scales)
    worst = int(np.argmax(parts))
    if not parts[worst] <= START_TOLERANCE:
        time_name = "t0" if name == "q_start" else "t1"
        raise InconsistentStart(
            f"{type(system).__name__}: {name} violates holonomic[{worst}]: g({time_name}, {name}) = "
            f"{value[worst]:.6g}, expected 0. Correct {name}, or move it onto the constraints with da.consistent(...)."
        )


def _newton(equations: BoundaryEquations, z: np.ndarray, max_iterations: int) -> _Solved:
    value, jacobian = equations(z)
    length, size, isolation = 1.0, np.inf, np.inf
    for iteration in range(1, max_iterations + 1):
        if not np.all(np.isfinite(value)) or not np.all(np.isfinite(jacobian.data)):
            raise StepFailure(
                "boundary_value: the equations are not finite along the guess (a square root, a logarithm, a division "
                "by zero). Pass guess=..., positions that keep away from there."
            )
        factors = _factorised(jacobian)
        if factors is None:
            raise StepFailure(_message(iteration, size, 0.0))
        solve, isolation = factors.solve, np.inf
        step = None
        if equations.size_of(solve(value), z) < SUSPICIOUS_UPDATE:
            step = _damped(equations, z, value, solve, length)
        if step is None:  # is it the Jacobian? Without its null directions, try again
            solve, isolation = equations.without_null_directions(factors, SINGULAR)
            step = _damped(equations, z, value, solve, length)
        size = equations.size_of(solve(value), z)
        if size <= LAST_UPDATE or (step is None and size <= ROUNDOFF_UPDATE):
            z = z - solve(value)
            z = z - solve(equations(z)[0])
            isolation = min(isolation, equations.without_null_directions(factors, 0.0)[1])
            if equations.misses_end(equations(z)[0], z) > END_TOLERANCE:  # what is left points along a null direction
                raise StepFailure(_message(iteration, size, isolation))
            return _Solved(z, iteration, size, isolation)
        if step is None:
            raise StepFailure(_message(iteration, size, isolation))
        length, z, value, jacobian = step
    raise StepFailure(_message(max_iterations, size, isolation))


def _damped(equations: BoundaryEquations, z, value, solve, length):
    """The first of the lengths 4 length, 2 length, ... (at most 1) that passes the natural test, and the equations
    there; None if none does."""
    update = -solve(value)
    size = equations.size_of(update, z)
    length = min(1.0, 4 * length)
    while length >= SHORTEST and np.isfinite(size) and size > LAST_UPDATE:
        trial = z + length * update
        new_value, new_jacobian = equations(trial)
        if np.all(np.isfinite(new_value)) and equations.size_of(solve(new_value), z) <= (1 - length / 4) * size:
            return length, trial, new_value, new_jacobian
        length /= 2
    return None


def _factorised(jacobian):
    """The factorised Jacobian; None where it is exactly singular."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sparse_linalg.MatrixRankWarning)
        try:
            return sparse_linalg.splu(jacobian)
        except RuntimeError:  # exactly singular
            return None


def _message(iterations: int, size: float, isolation: float) -> str:
    if isolation < NOT_ISOLATED:
        return (
            f"boundary_value: the Jacobian became singular after {iterations} Newton iterations (isolation "
            f"{isolation:.1e}): q_start and q_end are conjugate points near the last iterate, where the motion between "
            "them is not unique or does not exist. Change the interval t or q_end, or pass a guess=... away from there."
        )
    return (
        f"boundary_value: Newton did not converge (it stopped after {iterations} iterations, last relative update "
        f"{size:.1e}). There may be no motion between these positions in this time, or the guess is too far from it. "
        "Pass guess=... (positions of shape (steps + 1, n)), try a shorter interval and extend it, or a smaller h."
    )
