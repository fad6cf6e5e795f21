"""Steps of any sizes h_0, h_1, ...: t_{k+1} = t_k + h_k, each step with its own h.

The equations of a step do not know the one before, so every method takes them; what depends on the sizes being equal is
only where Newton starts: a step whose size differs from that of its predecessor starts from the method's own guess.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from ..arguments import floats, interval
from ..arguments import number as checked_number
from ..engine import (
    LEFT_CONSTRAINTS,
    NOT_FINITE,
    OK,
    Carry,
    Chunk,
    Interruption,
    PhasedRun,
    TimeSteps,
    choose_engine,
    is_wanted,
)
from ..errors import InputError
from ..method import Method
from ..problem import AbstractSystem
from .consistent import is_traced, prepare_start
from .ensemble import batch_size
from .family import flat_parameters
from .flat_gaps import cause_in_gaps
from .progress import ProgressBar
from .redundant import runner_for
from .simulate import (
    Run,
    check_start,
    checked,
    checked_save_every,
    final_status,
    finding_of,
    reason_of_refusal,
)
from .step import assemble

#: The sizes may miss the length of the interval by so much of it.
SUM_TOLERANCE = 1e-9


class Grid(NamedTuple):
    """The sizes of the steps, (N,), and the times at their ends, (N + 1,)."""

    sizes: np.ndarray
    times: np.ndarray


def is_sequence(h) -> bool:
    """Whether h is a list or an array of step sizes, not one number."""
    return isinstance(h, list | tuple) or (not isinstance(h, str) and np.ndim(h) > 0)


def grid_of(t, h) -> Grid:
    """The times of steps of the sizes h over t = (t0, t1); t1 = None is t0 + sum of the sizes."""
    if is_traced(h):
        raise InputError("h must hold numbers, not traced values: the times of the steps follow from them.")
    sizes = floats("h as a sequence of step sizes", h)
    if sizes.ndim != 1 or not len(sizes):
        raise InputError(f"a sequence of step sizes must have shape (steps,), got {sizes.shape}.")
    bad = np.flatnonzero(~(np.isfinite(sizes) & (sizes > 0)))
    if len(bad):
        raise InputError(f"every step size must be positive and finite, got h[{bad[0]}] = {sizes[bad[0]]}.")
    if isinstance(t, tuple | list) and len(t) == 2 and t[1] is None:
        t0, t1 = checked_number("t0", t[0]), None
    else:
        t0, t1 = interval(t)
    # summed with more digits than are kept: a million steps end where their sum does
    times = np.concatenate([[t0], np.float64(t0) + np.cumsum(sizes, dtype=np.longdouble).astype(np.float64)])
    if t1 is None:
        return Grid(sizes, times)
    total = float(np.sum(sizes, dtype=np.longdouble))
    if abs(total - (t1 - t0)) > SUM_TOLERANCE * (t1 - t0):
        raise InputError(
            f"the {len(sizes)} step sizes add up to {total:.17g}, the interval [{t0:g}, {t1:g}] has length "
            f"{t1 - t0:.17g}. Scale them by {(t1 - t0) / total:.17g}, or pass t=({t0:g}, None) to end where they end."
        )
    times[-1] = t1
    return Grid(sizes, times)


def integrate_sizes(
    system: AbstractSystem,
    method: Method,
    q0,
    v0=None,
    *,
    p0=None,
    t=(0.0, 1.0),
    h,
    save_every: int = 1,
    progress: bool = False,
    project: bool = False,
    redundant: str = "refuse",
    compensated: bool = True,
    engine: str = "auto",
    precision: str = "double",
    any_velocity: bool = False,
) -> Run:
    """Take steps of the sizes h; see `dalembert.simulate` for the arguments."""
    system = checked(system, method, engine, precision)
    grid = grid_of(t, h)
    save_every = checked_save_every(save_every, len(grid.sizes))
    if is_traced(system, q0, v0, p0) or batch_size(system, q0, v0, p0) is not None:
        raise InputError(
            "steps of different sizes are for a single run with numbers; under jit, vmap and grad and for a batch give "
            "one number h."
        )
    t0 = float(grid.times[0])
    start = prepare_start(system, q0, v0, p0, t0, project=project, redundant=redundant, any_velocity=any_velocity)
    check_start(system, method, t0, start)
    functions = assemble(system, method, start.layout, start.rows)
    parameters = np.asarray(flat_parameters(system))
    begun = time.perf_counter()

    def build(functions, state, t):
        return choose_engine(
            functions, state, t, float(grid.sizes[0]), parameters, compensated=compensated, engine=engine,
            extended=precision == "extended", sizes=start.rows is None,
        )  # fmt: skip

    runner, layout, state = runner_for(system, method, start, t0, build)
    compiled = time.perf_counter()
    fresh = np.concatenate([[0], grid.sizes[1:] != grid.sizes[:-1]]).astype(np.int64)
    steps = TimeSteps(grid.times[:-1].copy(), grid.sizes, fresh)
    carry, saved = runner.first_carry(state), [state[None]]
    iterations, worst = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    status, taken = OK, 0
    chunk: Chunk | None = None
    # chunks end where a state is saved, so that no iteration is counted across their ends
    chunk_steps = save_every * max(1, runner.chunk_steps // save_every)
    with Interruption() as interruption, ProgressBar(progress, len(grid.sizes)) as report:
        try:
            while taken < len(grid.sizes) and status == OK and not interruption.wanted:
                part = TimeSteps(*(column[taken : taken + chunk_steps] for column in steps))
                if isinstance(runner, PhasedRun):
                    chunk = interruption.call(runner.run_sizes, carry, part, save_every, parameters)
                else:
                    chunk = interruption.call(_one_by_one, runner, carry, part, save_every, parameters)
                assert chunk is not None
                carry, status, taken = chunk.carry, chunk.status, int(chunk.carry.step)
                saved.append(chunk.saved)
                iterations.append(chunk.iterations)
                worst.append(chunk.worst)
                report(taken)
        except KeyboardInterrupt:
            interruption.heard()
    finished = time.perf_counter()
    if interruption.wanted:  # the engine may have given up a step for that
        status = OK
    now, size = float(grid.times[taken]), float(grid.sizes[min(taken, len(grid.sizes) - 1)])
    if status == NOT_FINITE and chunk is not None and np.isfinite(chunk.residual):
        status = reason_of_refusal(runner, functions, carry, now, size, parameters)
    states, counts = np.concatenate(saved), np.concatenate(iterations)
    finding = finding_of(runner)
    if status not in (OK, LEFT_CONSTRAINTS):
        finding = cause_in_gaps(system, now, layout.unflatten(carry.state), size)
    return Run(
        system=system,
        method=method,
        layout=layout,
        rows=start.rows,
        t=grid.times[::save_every][: len(states)],
        states=states,
        iterations=counts,
        worst_iterations=np.concatenate(worst),
        status=final_status(status, interruption.wanted, taken, now, size, chunk, finding=finding),
        h=grid.sizes.tolist(),
        stats={
            "engine": runner.name,
            "steps": taken,
            "compile_seconds": compiled - begun,
            "wall_seconds": finished - compiled,
            "newton_iterations": int(counts.sum()),
            **runner.report(),
        },
    )


def _one_by_one(runner, carry: Carry, grid: TimeSteps, save_every: int, parameters) -> Chunk:
    """The same for an engine that takes steps of one size only: one call a step, each with a clock of its own."""
    saved, iterations, worst, counted, most = [], [], [], 0, 0
    chunk, first = None, int(carry.step)
    for number, (t, h, fresh) in enumerate(zip(*grid, strict=True), start=first + 1):
        known = np.zeros_like(carry.known) if fresh else carry.known
        chunk = runner.run(carry._replace(step=np.array(0), known=known), float(t), float(h), 1, 1, parameters, 1)
        counted, most = counted + int(chunk.iterations.sum()), max(most, int(chunk.worst.max(initial=0)))
        carry = chunk.carry._replace(step=np.array(number if chunk.status == OK else number - 1))
        if chunk.status != OK or is_wanted():
            break
        if number % save_every == 0:
            saved.append(np.asarray(carry.state))
            iterations.append(counted)
            worst.append(most)
            counted, most = 0, 0
    assert chunk is not None
    states = np.stack(saved) if saved else np.asarray(carry.state)[None][:0]
    return Chunk(carry, states, np.array(iterations, np.int64), np.array(worst, np.int64), chunk.status, chunk.residual)
