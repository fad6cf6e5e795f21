"""Runs with given step sizes h_0, h_1, ...: t_{k+1} = t_k + h_k, each step with its own h.

The equations of a step do not know the one before, so every method takes them; what depends on the sizes being equal is
only where Newton starts: a step whose size differs from that of its predecessor starts from the method's own guess.
"""

from __future__ import annotations

import time

import numpy as np

from ..engine import OK, Carry, Chunk, Interruption, PhasedRun, TimeSteps, is_wanted
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
                if isinstance(runner, PhasedRun):
                    chunk = interruption.call(runner.run_sizes, carry, part, save_every, parameters)
                else:
                    chunk = interruption.call(_one_by_one, runner, carry, part, save_every, parameters)
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
