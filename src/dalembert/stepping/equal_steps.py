"""Runs with one step size: chunk by chunk, in memory or into a store."""

from __future__ import annotations

import numpy as np

from ..engine import Carry
from ..engine.tuning import tuning
from ..method import Method
from ..problem import AbstractSystem
from ..problem.noise import quiet
from .loop import Origin, Plan, Record, take_steps
from .options import Given, Options, check_room, checked_save_every, state_size
from .prologue import Prepared, begin
from .run import Run
from .step_sizes import EqualSteps


def run_equal_steps(system: AbstractSystem, method: Method, given: Given, options: Options, grid: EqualSteps) -> Run:
    """Take steps of one size, in memory or into the store of a checkpoint."""
    t0, h, steps = grid
    save_every, checkpoint = checked_save_every(options.save_every, steps), options.checkpoint
    if checkpoint is None:
        check_room(steps // save_every + 1, state_size(given.q0))
    start = begin(system, method, given, options, t0)
    prepared = Prepared.of(system, method, start, options, t0, h, steps=steps)
    runner, plan = prepared.runner, _plan(prepared, grid, save_every)
    first = runner.first_carry(prepared.state)
    if checkpoint is None:
        record = Record(plan, first)
    else:
        about = Origin(quiet(system), method, prepared.functions, prepared.layout, start.rows, options.sums_compensated)
        record = checkpoint.record(plan, runner, first, about)
    try:
        with options.bar(steps) as report:
            interrupted = take_steps(runner, record, report)
    finally:
        record.close()
    stored, now = record.stored, t0 + record.step * h
    states = None if stored else np.concatenate(record.saved)
    return prepared.run(
        t=None if states is None else grid.times(save_every)[: len(states)],
        states=states,
        iterations=None if stored else record.iterations.array(),
        worst=None if stored else record.worst.array(),
        status=prepared.status(record.status, record.carry, now, h, record.residual, interrupted, record.halved),
        h=h,
        counted=record.iterations.total,
        wall_seconds=record.seconds,
        more={"halved_steps": record.halved} if record.halved else {},
        stored=stored,
    )


def _plan(prepared: Prepared, grid: EqualSteps, save_every: int) -> Plan:
    """The division into chunks. They end where a state is saved, so that no iteration is counted across their ends."""
    options, (t0, h, steps), most = prepared.options, grid, prepared.runner.chunk_steps
    limit = None if options.checkpoint is None else options.checkpoint.limit()
    most = most if limit is None else min(most, limit)
    stride = _stride(save_every, most)
    capacity = _capacity(prepared.layout.n_state, stride, most)
    chunk_steps = stride * max(1, min(most // stride, capacity))

    def meant(carry: Carry, status: int, residual: float) -> int:
        return prepared.meant(carry, t0 + int(carry.step) * h, h, status, residual)

    return Plan(
        t0, h, steps, save_every, stride, chunk_steps, capacity, prepared.parameters, options.retry, meant
    )  # fmt: skip


def _stride(save_every: int, chunk_steps: int) -> int:
    """The largest divisor of save_every that fits into a chunk."""
    return next(
        save_every // k for k in range(1, save_every + 1) if save_every % k == 0 and save_every // k <= chunk_steps
    )


def _capacity(n_state: int, save_every: int, chunk_steps: int) -> int:
    """Saved states in one chunk."""
    return int(max(1, min(-(-chunk_steps // save_every), tuning().run_numbers // n_state)))
