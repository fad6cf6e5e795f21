"""`simulate`: one call from a system and a method to a `Trajectory`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any

import numpy as np

from ..arguments import choice, flag, positive, takes
from ..engine import raising
from ..errors import InputError, StepFailure
from ..method import Method
from ..problem import AbstractSystem, Event, holding, named_events
from ..stepping import Adaptive, Options, Status, integrate, is_traced
from ..storage import request_of
from ..storage.stored_arrays import StoredArrays, call_of
from ..trajectory.record import Trajectory
from .controlled import integrate_controlled
from .tangent_map import refuse_tangent, with_tangent_map


@holding
@raising
def simulate(
    system: AbstractSystem,
    method: Method,
    q0=None,
    v0=None,
    p0=None,
    t: tuple[float, float | None] = (0.0, 1.0),
    h: float | Sequence[float] | np.ndarray | Adaptive = 0.01,
    *,
    save_every: int = 1,
    on_failure: str = "raise",
    progress: bool | Callable[[float], None] = False,
    project: bool = False,
    redundant: str = "refuse",
    compensated: bool | None = None,
    engine: str = "auto",
    precision: str = "double",
    checkpoint: str | PathLike | None = None,
    checkpoint_every: int | None = None,
    retry: bool = False,
    control: Any = None,
    events: Sequence[Event] = (),
    tangent: bool = False,
    penetration: float | None = None,
    y0=None,
    z0=None,
) -> Trajectory:
    """Simulate `system` with `method` from (q0, v0) or (q0, p0) over t = (t0, t1) with the step size h.

    Args:
        system: a `System` or `HamiltonianSystem`; its float fields are parameters.
        method: for example `Rattle()`.
        q0: the position at t0, shape (n,).
        v0: the velocity at t0; or give `p0`, the momentum.
        p0: the momentum at t0, instead of `v0`.
        t: the interval (t0, t1); with t1 < t0 a smooth motion runs back in time.
        h: the step size; it must divide the interval. Or a sequence of positive step sizes that add up to its length;
            then t may be (t0, None), and the run ends where they end. Or `Adaptive(...)`,
            sizes chosen by the error.
        save_every: keep every k-th state; memory does not grow with the others.
        on_failure: "raise" a `StepFailure` (which carries the trajectory up to there), or "return" that trajectory.
        progress: show a progress bar; or a function that is called with the number of steps taken after every chunk of
            them (of an adaptive run: of thousandths of the interval), and ends the run by raising an exception.
        project: move inconsistent starting values onto the constraints instead of refusing them.
        redundant: "refuse" dependent constraints, or "allow" them (multipliers of minimum norm).
        compensated: add increments with compensated summation, as methods that add increments do by default; event
            capturing adds none, and takes neither True nor False.
        engine: "native", "xla" or "auto"; for a batch also "cuda", on a GPU. `run.stats["engine"]` says which one ran.
        precision: "double", or "extended" for 80-bit floats (native engine on x86; arrays are numpy longdouble).
        checkpoint: a folder such as "run.zarr" to which the run is written while it is computed; the same call goes on
            with it after an interruption, bit for bit. The arrays of the trajectory are then read when asked for.
        checkpoint_every: steps between two checkpoints, rounded to whole chunks; by default some seconds of work.
        retry: take a step that fails in halves, up to 64 parts; `run.stats["halved_steps"]` counts such steps.
        control: the inputs of a system that declares some: an array (steps, inputs), constant in each step, or (steps +
            1, inputs), values at the ends of the steps; the `control` of a plan; a function u(t); a controller
            u(t, q, v), asked before each step; or `Sampled(u, period, delay)`. Without it they are zero. `run.u` says
            what they were.
        events: what to look for during the run, `[da.Event(...), ...]`: `run.events` says when and where it happened.
        tangent: propagate the linear map along the run too: `run.tangent` is d(q, p)(t_k) / d(q, p)(t_0), (N, 2n, 2n).
        penetration: how deep bodies may be in each other at the start, relative to the size of the gap: time stepping
            accepts 1e-6 where nothing is said, with a warning, and event capturing nothing.
        y0, z0: the starting values of an `OverdeterminedDAE`, instead of q0 and p0.

    Under `jax.jit`, `jax.vmap` and `jax.grad` the run becomes one differentiable JAX expression.
    """
    choice("on_failure", on_failure, ("raise", "return"))
    flags = (("project", project), ("retry", retry), ("tangent", tangent))
    project, retry, tangent = (flag(name, value) for name, value in flags)
    compensated = None if compensated is None else flag("compensated", compensated)
    progress = progress if takes(progress, 1) else flag("progress", progress)
    for name, other, value in (("q0", "y0", q0), ("p0", "z0", p0)):
        if value is not None and (y0 if other == "y0" else z0) is not None:
            raise InputError(f"give {name} or {other}, not both: they are two names of one thing.")
    q0, p0 = q0 if y0 is None else y0, p0 if z0 is None else z0
    if checkpoint is None and checkpoint_every is not None:
        raise InputError('checkpoint_every needs checkpoint="run.zarr", the folder to write to.')
    options = Options(
        t, h, save_every, progress, project, redundant, compensated, engine, precision, retry,
        traced_check=on_failure == "raise", events=() if events == () else named_events(events),
        penetration=None if penetration is None else positive("penetration", penetration),
    )  # fmt: skip
    if checkpoint is not None:
        call = call_of(system, method, q0, v0, {**vars(options), "p0": p0})
        options = dataclasses.replace(options, checkpoint=request_of(checkpoint, checkpoint_every, call))
    if tangent:
        refuse_tangent(method, options, control)
    if control is None:
        run = integrate(system, method, q0, v0, p0=p0, options=options)
    else:
        run = integrate_controlled(system, method, (q0, v0, p0), options, control)
    trajectory = Trajectory._from_run(with_tangent_map(run, options) if tangent else run)
    if isinstance(trajectory._arrays, StoredArrays):
        trajectory._arrays.note(trajectory.warnings)
    if on_failure == "raise":
        _raise_failures(run.status, trajectory)
    return trajectory


def _raise_failures(status: Any, trajectory: Trajectory) -> None:
    if np.ndim(status) == 1 and not is_traced(status) and np.any(status > 0):
        failed = np.flatnonzero(np.asarray(status) > 0)
        raise StepFailure(
            f"{len(failed)} of {len(status)} members of the batch failed, the first is member {failed[0]}: try a "
            'smaller h, or pass on_failure="return" and look at run.status; the others are complete.',
            trajectory,
        )
    if isinstance(status, Status) and status.code > 0:
        raise StepFailure(
            f"{status.message} Everything up to there is in the exception's .trajectory, "
            'or is returned with on_failure="return".',
            trajectory,
        )
