"""Runs with given step sizes h_0, h_1, ...: t_{k+1} = t_k + h_k, each step with its own h.

The equations of a step do not know the one before, so every method takes them; what depends on the sizes being equal is
only where Newton starts: a step whose size differs from that of its predecessor starts from the method's own guess.
"""

from __future__ import annotations

import time

import numpy as np

from ..engine import OK, Interruption, TimeSteps, steps_of_sizes
from ..method import Method
from ..problem import AbstractSystem
from .options import Given, Options, check_room, checked_save_every, state_size
from .prologue import Prepared, begin
from .run import Run
from .step_sizes import GivenSteps


def run_given_steps(system: AbstractSystem, method: Method, given: Given, options: Options, grid: GivenSteps) -> Run:
    """Take steps of the given sizes."""
    count, t0 = len(grid.sizes), float(grid.times[0])
    save_every = checked_save_every(options.save_every, count)
    check_room(count // save_every + 1, state_size(given.q0))
    start = begin(system, method, given, options, t0)
    prepared = Prepared.of(system, method, start, options, t0, float(grid.sizes[0]), steps=count, sizes=True)
    runner, parameters = prepared.runner, prepared.parameters
    fresh = np.concatenate([[0], grid.sizes[1:] != grid.sizes[:-1]]).astype(np.int64)
    steps = TimeSteps(grid.times[:-1].copy(), grid.sizes, fresh)
    carry, saved = runner.first_carry(prepared.state), [prepared.state[None]]
    iterations, worst = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    status, residual, taken, begun = OK, np.nan, 0, time.perf_counter()
    # chunks end where a state is saved, so that no iteration is counted across their ends
    chunk_steps = save_every * max(1, runner.chunk_steps // save_every)
    with Interruption() as interruption, options.bar(count) as report:
        try:
            while taken < count and status == OK and not interruption.wanted:
                part = TimeSteps(*(column[taken : taken + chunk_steps] for column in steps))
                chunk = interruption.call(steps_of_sizes, runner, carry, part, save_every, parameters)
                carry, status, residual, taken = chunk.carry, chunk.status, chunk.residual, int(chunk.carry.step)
                saved.append(chunk.saved)
                iterations.append(chunk.iterations)
                worst.append(chunk.worst)
                report(taken)
        except KeyboardInterrupt:
            interruption.heard()
    wall_seconds = time.perf_counter() - begun
    now, h = float(grid.times[taken]), float(grid.sizes[min(taken, count - 1)])
    if not interruption.wanted:  # for that the engine may have given up a step
        status = prepared.meant(carry, now, h, status, residual)
    states, counts = np.concatenate(saved), np.concatenate(iterations)
    return prepared.run(
        t=grid.times[::save_every][: len(states)],
        states=states,
        iterations=counts,
        worst=np.concatenate(worst),
        status=prepared.status(status, carry, now, h, residual, interruption.wanted),
        h=grid.sizes.tolist(),
        counted=int(counts.sum()),
        wall_seconds=wall_seconds,
    )
