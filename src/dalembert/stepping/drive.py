"""From a system, a method and a start to the saved states: the place where it is decided which way a run goes.

    traced start          one expression of JAX                                      (here)
    several members       side by side in vectors, or on a GPU                       (`ensemble.py`)
    random numbers        parameters that are drawn before every step               (`noisy_run.py`)
    event capturing       smooth steps up to the next event, and across it           (`event_run.py`)
      of several members  one after the other, each with its own events              (`event_members.py`)
    many spheres          neighbours by cells, impulses by sweeps                    (`sphere_run.py`)
    events asked for      the same as without, and zeros between the rows            (`crossing_run.py`)
    one step size         chunk by chunk, in memory or into a store                  (`equal_steps.py`)
    given step sizes      the same with a size for each step                         (`variable_steps.py`)
    chosen step sizes     one step against two halves                                (`adaptive.py`)

The last five are runs of a single trajectory: `prologue.py` has what they begin and end with, `options.py` what is
refused beforehand. The result is a plain `Run`; `trajectory/` gives it names.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ..engine import OK, Grid, Sizes, StepFunctions, Task, native_run, reason_for_xla, run_traced
from ..errors import InputError
from ..method import EventCapturing, Langevin, Method, MoreauJean
from ..multibody import Spheres
from ..problem import AbstractSystem
from ..problem.noise import noisy
from .adaptive import run_adaptive_steps
from .contact_run import has_many_contacts
from .crossing_run import run_with_events
from .ensemble import Steps, integrate_ensemble
from .equal_steps import run_equal_steps
from .event_derivatives import EventTask
from .event_members import run_event_members
from .event_run import run_events
from .members import Members
from .options import Given, Options, check_room, checked, checked_save_every, kind_of, state_size
from .prologue import begin
from .run import Run
from .shared_equations import Family, flat_parameters
from .sphere_run import run_spheres
from .step import Layout, assemble
from .step_sizes import Adaptive, EqualSteps, GivenSteps, equal_steps, given_steps, is_sequence
from .variable_steps import run_given_steps


def integrate(
    system: AbstractSystem, method: Method, q0, v0=None, *, p0=None, options: Options | None = None, **changes
) -> Run:
    """Take the steps; `changes` are fields of `Options`, those of which nothing is said have their defaults."""
    options = Options(**changes) if options is None else options
    system, given = checked(system, method, options.engine, options.precision), Given(q0, v0, p0)
    kind = kind_of(system, method, given, options)
    if isinstance(method, EventCapturing) and kind.traced:
        return _run_traced_events(system, method, given, options, equal_steps(options.t, options.h))
    if isinstance(method, EventCapturing):
        grid = equal_steps(options.t, options.h)
        if kind.members is not None:
            return run_event_members(system, method, given, options, grid, kind.members)
        return run_events(system, method, given, options, grid)
    if isinstance(system, Spheres) and isinstance(method, MoreauJean):
        return run_spheres(system, method, given, options, equal_steps(options.t, options.h))
    if isinstance(options.h, Adaptive):
        return run_adaptive_steps(system, method, given, options, options.h)
    if is_sequence(options.h):
        sizes = given_steps(options.t, options.h)
        run = _run_traced if kind.traced else run_given_steps
        return run(system, method, given, options, sizes)
    grid = equal_steps(options.t, options.h)
    if isinstance(method, Langevin):
        moved = noisy(system, (method.draws, np.shape(q0)[-1]))
        return dataclasses.replace(run_equal_steps(moved, method, given, options, grid), system=system)
    if kind.traced:
        return _run_traced(system, method, given, options, grid)
    if kind.members is not None:
        return _run_batch(system, method, given, options, grid, kind.members)
    if options.events:
        return run_with_events(system, method, given, options, grid)
    return run_equal_steps(system, method, given, options, grid)


def _run_traced(
    system: AbstractSystem, method: Method, given: Given, options: Options, grid: EqualSteps | GivenSteps
) -> Run:
    """A run as one expression of JAX: an operation in compiled code with derivatives of its own (`engine/derivatives`),
    or written out for XLA. A start with numbers is found with numbers, also where a field is traced."""
    clock = _clock(grid, options.save_every)
    start = begin(system, method, given, options, clock.t0)
    functions, state = assemble(system, method, start.layout, start.rows), start.layout.flatten(start.state)
    reason = "asked for" if options.engine == "xla" else _reason_for_xla(functions, start.layout)
    if reason is not None and options.engine == "native":
        raise InputError(f'compiled code cannot take this run under jit, vmap and grad: {reason}. Use engine="auto".')
    if reason is not None and clock.grid.sizes is not None:
        raise InputError(f"XLA takes steps of one size h only, and compiled code does not take this run: {reason}.")
    parameters = flat_parameters(system)
    if reason is None:
        task = Task(functions, options.sums_compensated, clock.grid, options.traced_check)
        states, iterations, status, _ = native_run(task, state, clock.t0, clock.unit, parameters)
        stats = {"engine": "native (traced)"}
    else:
        t0, h, (steps, save_every, _) = jnp.asarray(clock.t0), jnp.asarray(clock.unit), clock.grid
        result = run_traced(
            functions, state, t0, h, steps // save_every, save_every, parameters, options.sums_compensated
        )
        states, iterations, status = result.saved, result.iterations, result.status
        stats = {"engine": "xla (traced)", "engine_reason": reason}
        if options.traced_check:
            states = eqx.error_if(states, status != OK, "a step failed (Newton did not converge); use a smaller h.")
    return Run(
        system, method, start.layout, start.rows, jnp.asarray(clock.times), states, iterations, None, status, clock.h,
        stats,
    )  # fmt: skip


class _Clock(NamedTuple):
    """When steps are taken: their grid in units of `unit`, the times of the saved states, and h as a run has it."""

    t0: float
    unit: float
    grid: Grid
    times: np.ndarray
    h: Any


def _clock(steps: EqualSteps | GivenSteps, save_every: int) -> _Clock:
    if isinstance(steps, EqualSteps):
        save_every = checked_save_every(save_every, steps.steps)
        return _Clock(steps.t0, steps.h, Grid(steps.steps, save_every), steps.times(save_every), steps.h)
    save_every, t0 = checked_save_every(save_every, len(steps.sizes)), float(steps.times[0])
    grid = Grid(len(steps.sizes), save_every, Sizes(steps.times[:-1] - t0, steps.sizes))
    return _Clock(t0, 1.0, grid, steps.times[::save_every], steps.sizes.tolist())


def _run_traced_events(
    system: AbstractSystem, method: EventCapturing, given: Given, options: Options, grid: EqualSteps
) -> Run:
    """A run of event capturing under jit, vmap and grad: it is taken as outside, and its derivative goes from move to
    move (`event_derivatives.py`)."""
    save_every = checked_save_every(options.save_every, grid.steps)
    start = begin(system, method, given, options, grid.t0)
    momentum, kept = system.gives_velocity, Grid(grid.steps, save_every)
    task = EventTask(Family(system), method, start.layout, grid, kept, options.traced_check, momentum)
    state = start.layout.flatten(start.state)
    states, iterations, status, _ = native_run(task, state, grid.t0, grid.h, flat_parameters(system))
    times, stats = jnp.asarray(grid.times(save_every)), {"engine": "native (events, traced)"}
    return Run(system, method, start.layout, start.rows, times, states, iterations, None, status, grid.h, stats)


def _reason_for_xla(functions: StepFunctions, layout: Layout) -> str | None:
    if has_many_contacts(functions, layout):
        return f"a step with {layout.contacts} contacts is not compiled"
    return reason_for_xla(functions)


def _run_batch(
    system: AbstractSystem, method: Method, given: Given, options: Options, grid: EqualSteps, members: int
) -> Run:
    """All members of a batch."""
    save_every = checked_save_every(options.save_every, grid.steps)
    check_room(members * (grid.steps // save_every + 1), state_size(given.q0))
    found = integrate_ensemble(
        Members(
            system, given, grid.t0, members, options.project, options.redundant, grid.h, penetration=options.penetration
        ),
        Steps(method, grid.h, grid.steps, save_every, options.sums_compensated, options.engine == "cuda"),
    )
    times = np.broadcast_to(grid.times(save_every)[: found.states.shape[1]], found.states.shape[:2])
    return Run(
        system, method, found.layout, found.rows, times, found.states, None, None, found.status, grid.h, found.stats
    )  # fmt: skip
