"""`boundary_value`: the motion between two positions."""

from __future__ import annotations

from ..method import Method
from ..problem import AbstractSystem, holding
from ..trajectory.record import Trajectory
from .boundary_solution import solve_boundary_value


@holding
def boundary_value(
    system: AbstractSystem,
    method: Method,
    q_start,
    q_end,
    t: tuple[float, float] = (0.0, 1.0),
    h: float = 0.01,
    *,
    guess=None,
    max_iterations: int = 50,
) -> Trajectory:
    """The motion of `method` from q_start at t0 to q_end at t1, with all steps solved at once.

    The starting velocity is not given but found. The result is a run like that of `simulate` from that velocity: it
    satisfies the discrete equations of the method in every step.

    Args:
        system: holonomic constraints and forces may depend on time; nonholonomic constraints are refused.
        method: any method that treats the system, for example `Galerkin(2)` or `Rattle()`.
        q_start: the position at t0, shape (n,), on the constraints.
        q_end: the position at t1, shape (n,), on the constraints.
        t: the interval (t0, t1).
        h: the step size; it must divide the interval.
        guess: positions near the motion, shape (steps + 1, n); default: the straight line,
            brought onto the constraints.
        max_iterations: of Newton's method.

    `run.stats` holds `newton_iterations`, the `last_update` and the `isolation` 1 / (T |dv_0/dq_end|): 1 for free
    motion, small where many motions nearly join the two positions (conjugate points); `warning` then says so. Newton
    finds one of the motions between the positions, the one that its guess leads to. Where it finds none, `StepFailure`
    says what to try.
    """
    return Trajectory._from_run(
        solve_boundary_value(system, method, q_start, q_end, t=t, h=h, guess=guess, max_iterations=max_iterations)
    )
