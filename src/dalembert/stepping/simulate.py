"""Time: the only loop over steps.

`integrate` checks the input, finds consistent starting values, chooses an engine and has `loop.py` take the steps in
chunks of a fixed length; progress and Ctrl-C live between chunks. Its result is a plain `Run`; `trajectory.py` gives
it names.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ..arguments import choice, count, interval, positive
from ..engine import (
    INTERRUPTED,
    LEFT_CONSTRAINTS,
    NOT_CONVERGED,
    NOT_FINITE,
    OK,
    STATUS,
    choose_engine,
    run_traced,
)
from ..errors import InputError, MethodDoesNotFit
from ..method import Method
from ..problem import AbstractSystem, prepared
from .backwards import cause_in_substeps
from .consistent import Start, is_traced, prepare_start
from .contact_run import ContactRun, has_many_contacts
from .ensemble import array_shape, batch_size, integrate_ensemble
from .family import facts_at, flat_parameters
from .flat_gaps import cause_in_gaps
from .loop import Keeping, Origin, Plan, Record, take_steps
from .progress import ProgressBar
from .redundant import RedundantRun, runner_for
from .step import Layout, assemble, check_fit

#: Numbers of saved states a chunk may hold, so that a chunk of a large system stays small in memory.
CHUNK_NUMBERS = 4_000_000
#: The steps of a run are counted exactly up to here.
MOST_STEPS = 2**53


@dataclass(frozen=True)
class Status:
    """How a run ended; true in a condition if all steps were taken.

    `step`, `time` tell where it stopped, `message` why and what to do.
    """

    code: int
    step: int
    time: float
    message: str

    @property
    def ok(self) -> bool:
        return self.code == OK

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        return self.message


@dataclass
class Run:
    """Raw result of `integrate`: saved states along the first axis, and how they came about."""

    system: AbstractSystem
    method: Method
    layout: Layout
    rows: tuple[int, ...] | None
    t: Any
    states: Any
    iterations: Any
    worst_iterations: Any
    status: Any  # a `Status`, or a traced code
    h: float
    stats: dict[str, Any] = field(default_factory=dict)
    events: Any = None  # an `Events`, where the method finds them
    stored: Any = None  # where t, states and iterations are, if they are not here


def integrate(
    system: AbstractSystem,
    method: Method,
    q0,
    v0=None,
    *,
    p0=None,
    t: tuple[float, float] = (0.0, 1.0),
    h: float = 0.01,
    save_every: int = 1,
    progress: bool = False,
    project: bool = False,
    redundant: str = "refuse",
    compensated: bool = True,
    engine: str = "auto",
    precision: str = "double",
    traced_check: bool = True,
    any_velocity: bool = False,
    retry: bool = False,
    checkpoint: Keeping | None = None,
) -> Run:
    """Take the steps; see `dalembert.simulate` for the arguments.

    `any_velocity` accepts a velocity off the constraints: states of a method that does not keep them go on from there.
    """
    system = checked(system, method, engine, precision)
    t0, t1 = interval(t)
    steps, h = _steps(t0, t1, h)
    save_every = checked_save_every(save_every, steps)
    extended = precision == "extended"
    traced = is_traced(system, q0, v0, p0)
    members = None if traced else batch_size(system, q0, v0, p0)
    if (retry or checkpoint) and (traced or members is not None):
        raise InputError("checkpoint and retry are for a single run with numbers, not for a batch, jit, vmap or grad.")
    if traced and (engine in ("native", "cuda") or extended or progress):
        raise InputError(
            "under jit, vmap and grad a run is one expression of JAX in double precision, without progress: use "
            'engine="auto" or "xla", precision="double" and progress=False.'
        )
    if members is not None and progress:
        raise InputError("a batch is computed in one call, of which nothing can be shown: use progress=False.")
    if checkpoint and extended:
        raise InputError('a store holds float64; use precision="double" with checkpoint.')
    if checkpoint is None and not traced:
        check_room((members or 1) * (steps // save_every + 1), _state_size(q0))
    choice("redundant", redundant, ("refuse", "allow"))
    if members is not None:
        if engine == "xla" or extended:
            raise InputError(
                'a batch runs on the native engine, or with engine="cuda" on a GPU, in double precision; use jax.vmap '
                "otherwise."
            )
        ensemble = integrate_ensemble(
            system, method, q0, v0, p0, t0, h, steps, save_every, project=project, compensated=compensated,
            members=members, engine=engine, redundant=redundant,
        )  # fmt: skip
        times = np.broadcast_to(t0 + h * (save_every * np.arange(ensemble.states.shape[1])), ensemble.states.shape[:2])
        return Run(
            system, method, ensemble.layout, ensemble.rows, times, ensemble.states, None, None,
            ensemble.status, h, ensemble.stats,
        )  # fmt: skip
    start = prepare_start(system, q0, v0, p0, t0, project=project, redundant=redundant, any_velocity=any_velocity)
    if not is_traced(start.state, system):
        check_start(system, method, t0, start)
    functions = assemble(system, method, start.layout, start.rows)
    times = None if checkpoint else t0 + h * (save_every * np.arange(steps // save_every + 1))
    if is_traced(start.state, system):
        result = run_traced(
            functions, start.layout.flatten(start.state), jnp.asarray(t0), jnp.asarray(h), steps // save_every,
            save_every, flat_parameters(system), compensated,
        )  # fmt: skip
        states = result.saved
        if traced_check:
            states = eqx.error_if(
                states, result.status != OK, "a step failed (Newton did not converge); use a smaller h."
            )
        return Run(
            system, method, start.layout, start.rows, jnp.asarray(times), states, result.iterations, None,
            result.status, h, {"engine": "xla (traced)"},
        )  # fmt: skip
    return _run_eagerly(
        system,
        method,
        start,
        functions,
        t0,
        h,
        steps,
        save_every,
        progress,
        compensated,
        engine,
        extended,
        times,
        retry,
        checkpoint,
    )


def checked(system: AbstractSystem, method: Method, engine: str, precision: str) -> AbstractSystem:
    """The system ready to run, after what can be refused before anything is computed."""
    if not isinstance(method, Method):
        if isinstance(method, type) and issubclass(method, Method):
            raise InputError(
                f"expected a method, got the class {method.__name__}; create an instance: {method.__name__}()."
            )
        raise InputError(f"expected a method such as da.Rattle(), got {type(method).__name__}.")
    system = prepared(system)
    check_fit(system, method)
    choice("engine", engine, ("auto", "native", "xla", "cuda"))
    choice("precision", precision, ("double", "extended"))
    return system


def check_start(system: AbstractSystem, method: Method, t0: float, start: Start) -> None:
    """Refuse what the method finds unfit at the actual start."""
    if type(method).misfit_at is Method.misfit_at:
        return
    state = start.state
    reason = method.misfit_at(facts_at(system, method, start.rows, t0, state.q, state.v, state.p))
    if reason is not None:
        raise MethodDoesNotFit(f"{type(method).__name__} does not fit {type(system).__name__}: {reason}")


def _steps(t0: float, t1: float, h) -> tuple[int, float]:
    """The number of steps, and h so that they fill the interval exactly."""
    if is_traced(h):
        raise InputError("h must be a number, not a traced value: the number of steps follows from it.")
    h, span = positive("h", h), t1 - t0
    if span / h > MOST_STEPS:
        raise InputError(f"h = {h:g} takes {span / h:.3g} steps over the interval [{t0:g}, {t1:g}]; use a larger h.")
    steps = round(span / h)
    if steps < 1 or abs(steps * h - span) > 1e-9 * span:
        few = max(1, int(span / h))
        raise InputError(
            f"h = {h:g} does not divide the interval [{t0:g}, {t1:g}]: {span / h:.6g} steps. "
            f"Use h = {span / (few + 1):.17g} ({few + 1} steps) or h = {span / few:.17g} "
            f"({few} step{'s' if few > 1 else ''}), or move t1."
        )
    return steps, span / steps


def checked_save_every(save_every, steps: int) -> int:
    """`save_every`, if the end of the run is among the states that it keeps."""
    save_every = count("save_every", save_every)
    if steps % save_every:
        divisors = [d for d in range(1, min(steps, 10_000) + 1) if steps % d == 0]
        nearest = min(divisors, key=lambda d: abs(d - save_every))
        raise InputError(
            f"save_every = {save_every} does not divide the {steps} steps, so the end would not be saved; "
            f"{nearest} would."
        )
    return save_every


def check_room(states: float, numbers: int) -> None:
    """Refuse a run whose saved states, of so many numbers each, cannot lie in the memory of this machine."""
    needed, there = 8.0 * states * numbers, memory_bytes()
    if needed > there:
        raise InputError(
            f"the run would keep {states:.3g} states, at least {needed / 1e9:.3g} GB, and this machine has "
            f"{there / 1e9:.3g} GB of memory: use a larger h or save_every, or write them to a folder with checkpoint."
        )


def memory_bytes() -> float:
    """The memory of this machine; without bound where the system does not tell."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return np.inf


def _state_size(q0) -> int:
    """The numbers that a saved state has at least: q, v and p; a start that is none is refused later, with its name."""
    shape = array_shape(q0)
    return 3 * shape[-1] if shape else 3


def _run_eagerly(
    system,
    method,
    start: Start,
    functions,
    t0,
    h,
    steps,
    save_every,
    progress,
    compensated,
    engine,
    extended,
    times,
    retry,
    checkpoint: Keeping | None,
) -> Run:
    parameters = np.asarray(flat_parameters(system))
    begun = time.perf_counter()

    def build(functions, state, t):
        if engine == "auto" and not extended and has_many_contacts(functions, start.layout):
            return ContactRun(functions, compensated)
        return choose_engine(
            functions, state, t, h, parameters, compensated=compensated, engine=engine, extended=extended,
            fresh=checkpoint is not None, steps=steps,
        )  # fmt: skip

    runner, layout, state = runner_for(system, method, start, t0, build)
    compiled = time.perf_counter()

    def reason(carry, status: int, residual: float) -> int:
        doubtful = status == NOT_FINITE and np.isfinite(residual)
        return (
            reason_of_refusal(runner, functions, carry, t0 + int(carry.step) * h, h, parameters) if doubtful else status
        )

    most = None if checkpoint is None else checkpoint.limit()
    chunk_steps = runner.chunk_steps if most is None else min(runner.chunk_steps, most)
    plan = _plan(layout.n_state, chunk_steps, t0, h, steps, save_every, parameters, retry, reason)
    first = runner.first_carry(state)
    if checkpoint is None:
        record = Record(plan, first)
    else:
        about = Origin(system, method, functions, layout, start.rows, compensated)
        record = checkpoint.record(plan, runner, first, about)
    try:
        with ProgressBar(progress, steps) as report:
            interrupted = take_steps(runner, record, report)
    finally:
        record.close()
    taken, stored = record.step, record.stored
    states = None if stored else np.concatenate(record.saved)
    now, finding = t0 + taken * h, finding_of(runner)
    if record.status not in (OK, LEFT_CONSTRAINTS):
        reached = layout.unflatten(record.carry.state)
        finding = cause_in_substeps(system, method, now, reached, h) or cause_in_gaps(system, now, reached, h)
    stats = {
        "engine": runner.name,
        "steps": taken,
        "compile_seconds": compiled - begun,
        "wall_seconds": record.seconds,
        "newton_iterations": record.iterations.total,
        **runner.report(),
        **({"halved_steps": record.halved} if record.halved else {}),
    }
    return Run(
        system=system,
        method=method,
        layout=layout,
        rows=start.rows,
        t=None if states is None else times[: len(states)],
        states=states,
        iterations=None if stored else record.iterations.array(),
        worst_iterations=None if stored else record.worst.array(),
        status=final_status(record.status, interrupted, taken, now, h, record, record.halved, finding),
        h=h,
        stats=stats,
        stored=stored,
    )


def reason_of_refusal(runner, functions, carry, t: float, h: float, parameters) -> int:
    """Where Newton ended but the step did not: at a solution that is not the one meant, or beyond the domain of the
    equations. They are finite at the method's own guess in the first case."""
    if isinstance(runner, RedundantRun):
        functions, carry = runner.functions, carry._replace(state=runner.reduced(carry.state, t))
    arguments = tuple(jnp.asarray(part) for part in (t, h, carry.state, parameters))
    residual = functions.residual(functions.guess(*arguments), *arguments)
    return NOT_CONVERGED if bool(jnp.all(jnp.isfinite(residual))) else NOT_FINITE


def _plan(
    n_state: int, engine_chunk: int, t0: float, h: float, steps: int, save_every: int, parameters, retry: bool, reason
) -> Plan:
    """The division into chunks. They end where a state is saved, so that no iteration is counted across their ends."""
    stride = _stride(save_every, engine_chunk)
    capacity = _capacity(n_state, stride, engine_chunk)
    chunk_steps = stride * max(1, min(engine_chunk // stride, capacity))
    return Plan(t0, h, steps, save_every, stride, chunk_steps, capacity, parameters, retry, reason)


def _stride(save_every: int, chunk_steps: int) -> int:
    """The largest divisor of save_every that fits into a chunk."""
    return next(
        save_every // k for k in range(1, save_every + 1) if save_every % k == 0 and save_every // k <= chunk_steps
    )


def _capacity(n_state: int, save_every: int, chunk_steps: int) -> int:
    """Saved states in one chunk."""
    return int(max(1, min(-(-chunk_steps // save_every), CHUNK_NUMBERS // n_state)))


def final_status(
    code: int, interrupted: bool, taken: int, time_reached: float, h: float, last, halved: int = 0, finding: str = ""
) -> Status:
    """How a run ended that reached `time_reached`; h is the size of the step that follows there, `last` the chunk or
    the record that holds the last residual, `finding` what the runner says about the step that failed."""
    if interrupted:
        return interrupted_after(taken, time_reached)
    if code == OK:
        return Status(OK, taken, time_reached, f"ok: {taken} steps" + (f", {halved} of them halved" if halved else ""))
    cures = {
        1: "h is too large for this motion, or it runs into a singular configuration; try a smaller h.",
        2: "the equations leave their domain (a square root, a logarithm, a division by zero); try a smaller h, "
        "or check the model near this state.",
        3: "constraints become dependent there, or the mass matrix singular; try a smaller h or other coordinates.",
        4: "The constraints become independent beside a singular configuration, or contradict each other there: start "
        "beside it, or try a smaller h.",
        5: "h is too large for this motion; try a smaller h.",
    }
    if code == LEFT_CONSTRAINTS:
        residual = f": {finding}" if finding else ""
    else:
        residual = f", last residual {last.residual:.2e}" if last is not None and np.isfinite(last.residual) else ""
    return Status(
        code,
        taken,
        time_reached,
        f"step {taken + 1} (from t = {time_reached:.6g}, h = {h:g}) failed: {STATUS[code]}{residual}. {cures[code]}"
        + (f" {finding}" if finding and code != LEFT_CONSTRAINTS else ""),
    )


def finding_of(runner) -> str:
    """What a runner says about the step at which it ended."""
    return runner.finding if isinstance(runner, RedundantRun) else ""


def interrupted_after(steps: int, time: float) -> Status:
    """The status of a run that Ctrl-C ended; where there is nothing to return, KeyboardInterrupt."""
    if not steps:
        raise KeyboardInterrupt
    return _interrupted(steps, time)


def _interrupted(steps: int, time: float) -> Status:
    return Status(INTERRUPTED, steps, time, f"interrupted by the user after {steps} steps (t = {time:.6g})")


def status_of_code(code: int, steps: int, time: float) -> Status:
    """The status of a run that was traced, or of a member of a batch, of which only the code comes out."""
    if code == OK:
        return Status(OK, steps, time, f"ok: {steps} steps")
    if code == INTERRUPTED:
        return _interrupted(steps, time)
    return Status(
        code, steps, time,
        f"a step failed: {STATUS[code]}; the states after it repeat the last good one. Try a smaller h, or run "
        "it outside jit, vmap and grad for the step and its cause.",
    )  # fmt: skip
