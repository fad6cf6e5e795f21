"""An ensemble: many starts, or many parameter values, of one system in one vectorised run."""

from __future__ import annotations

import dataclasses
import functools
import time
from typing import Any, NamedTuple

import jax
import numpy as np

from ..arguments import floats
from ..engine import (
    INTERRUPTED,
    NOT_CONVERGED,
    OK,
    CudaRun,
    EnsembleRun,
    Interruption,
    StepFunctions,
    Unkeyed,
    choose_engine,
)
from ..errors import InconsistentStart, InputError, UnsupportedByEngine
from ..problem import AbstractSystem
from .consistent import START_TOLERANCE, Start, prepare_start
from .family import equation_rows, flat_parameters, multipliers, observe
from .options import batched_fields
from .prologue import runner_for
from .redundant import RedundantRun, good_steps
from .scales import batch_scales, relative
from .step import Layout, assemble


def member(system: AbstractSystem, index: int) -> AbstractSystem:
    """One member of a batch of systems."""
    changes = {name: getattr(system, name)[index] for name in batched_fields(system)}
    return dataclasses.replace(system, **changes) if changes else system


def parameter_rows(system: AbstractSystem, members: int) -> np.ndarray:
    """The parameter vectors of all members, (members, parameters)."""
    first = np.asarray(flat_parameters(member(system, 0)))
    rows = np.broadcast_to(first, (members, len(first))).copy()
    if batched_fields(system):
        position = {}
        leaves = jax.tree_util.tree_leaves_with_path(member(system, 0))
        offset = 0
        for path, leaf in leaves:
            if isinstance(leaf, float | np.ndarray | np.generic | jax.Array):
                position[jax.tree_util.keystr(path).lstrip(".")] = offset
                offset += np.size(leaf)
        for name in batched_fields(system):
            rows[:, position[name]] = np.asarray(getattr(system, name))
    return rows


def observe_batch(system: AbstractSystem, name: str, t, q, v, p) -> np.ndarray:
    """One of the observables for every saved state of every member, (members, N, ...)."""
    members, count = q.shape[:2]
    t, q, v, p = (np.reshape(part, (members * count, *part.shape[2:])) for part in (t, q, v, p))
    parameters = np.repeat(parameter_rows(system, members), count, axis=0)
    found = observe(member(system, 0), name, t, q, v, p, parameters)
    return found.reshape(members, count, -1)


@dataclasses.dataclass
class EnsembleResult:
    """States (members, saves, n_state), how each member ended, and statistics."""

    states: np.ndarray
    status: np.ndarray
    layout: Layout
    stats: dict
    rows: tuple[int, ...] | None = None  # of dependent constraints, those imposed on the first member


def integrate_ensemble(
    system: AbstractSystem, method, q0, v0, p0, t0: float, h: float, steps: int, save_every: int, *, project: bool,
    compensated: bool, members: int, engine: str = "auto", redundant: str = "refuse",
) -> EnsembleResult:  # fmt: skip
    """Run all members; those that fail in the vector code are run again alone, with everything the engine has.

    Of constraints that depend on each other all members impose the rows that suit the first; members that these do not
    keep on all constraints are run alone too.
    """
    parameters = parameter_rows(system, members)
    first = member(system, 0)
    q, second, name = _rows_of(q0, v0, p0, members)
    start = prepare_start(
        first, q[0], second[0] if name == "v0" else None, second[0] if name == "p0" else None, t0, project=project,
        redundant=redundant,
    )  # fmt: skip
    if start.rows is not None:
        return run_redundant(
            system, method, start, _members(system, q, second, name, t0, project, redundant), parameters, t0, h, steps,
            save_every, compensated, engine,
        )  # fmt: skip
    layout = start.layout
    states = _starts(system, first, layout, q, second, name, t0, parameters, project, redundant)
    functions = assemble(first, method, layout, None)
    begun = time.perf_counter()
    runner = _ensemble(functions, compensated, engine == "cuda", Unkeyed((states[:1], t0, h, parameters[:1])))
    compiled = time.perf_counter()
    runner, plan = runner.begin(states, parameters), _Plan(functions, compensated, parameters, t0, h, steps, save_every)
    with Interruption() as interruption:
        found = _together(runner, plan, states, interruption)
        failed = np.flatnonzero(runner.failed >= 0)
        status = np.full(members, OK if found.steps == steps else INTERRUPTED)
        status[failed] = INTERRUPTED if interruption.wanted else NOT_CONVERGED
        if not interruption.wanted:
            _alone(plan, states, failed, found.states, status, interruption)
    if interruption.wanted and not found.steps:
        raise KeyboardInterrupt
    stats = {
        "engine": runner.name,
        "members": members,
        "steps": found.steps,
        "compile_seconds": compiled - begun,
        "wall_seconds": time.perf_counter() - compiled,
        "vector_iterations": found.iterations,
        "run_alone": len(failed),
        **runner.report(),
    }
    return EnsembleResult(found.states, status, layout, stats)


class Batch(NamedTuple):
    """A batch that is ready to take its first step."""

    runner: EnsembleRun
    layout: Layout
    first: AbstractSystem  # the first member


def prepare_batch(
    system: AbstractSystem, method, q0, v0, p0, t0: float, h: float, members: int, project: bool
) -> Batch:  # fmt: skip
    """A batch for steps of the size h from t0 on; how many there will be is open."""
    first, parameters = member(system, 0), parameter_rows(system, members)
    layout, states = batch_states(system, q0, v0, p0, t0, members, project)
    functions = assemble(first, method, layout, None)
    runner = _ensemble(functions, True, False, Unkeyed((states[:1], t0, h, parameters[:1])))
    assert isinstance(runner, EnsembleRun)
    return Batch(runner.begin(states, parameters), layout, first)


def batch_states(system: AbstractSystem, q0, v0, p0, t0: float, members: int, project: bool) -> tuple[Layout, Any]:
    """The layout of states, and the consistent starting states of all members."""
    first, parameters = member(system, 0), parameter_rows(system, members)
    q, second, name = _rows_of(q0, v0, p0, members)
    given = (second[0], None) if name == "v0" else (None, second[0])
    start = prepare_start(first, q[0], *given, t0, project=project, redundant="refuse")
    return start.layout, _starts(system, first, start.layout, q, second, name, t0, parameters, project, "refuse")


class _Plan(NamedTuple):
    """What a batch has to do."""

    functions: StepFunctions
    compensated: bool
    parameters: np.ndarray
    t0: float
    h: float
    steps: int
    save_every: int


class _Together(NamedTuple):
    """Saved states of all members, the steps they took, and the vector iterations spent."""

    states: np.ndarray
    steps: int
    iterations: int


def _together(runner: EnsembleRun | CudaRun, plan: _Plan, states: np.ndarray, interruption: Interruption) -> _Together:
    """All members side by side, as far as they come."""
    saved, taken, iterations = [states[:, None]], 0, 0
    try:
        while taken < plan.steps and not interruption.wanted:
            saves = min(max(runner.chunk_steps // plan.save_every, 1), runner.most_saves())
            begins = True
            for todo in runner.pieces(min(saves * plan.save_every, plan.steps - taken)):
                rows, spent = interruption.call(runner.run, plan.t0, plan.h, todo, plan.save_every, begins)
                saved.append(rows)
                iterations, taken, begins = iterations + spent, taken + todo, False
                if interruption.wanted:
                    break
    except KeyboardInterrupt:
        interruption.heard()
    return _Together(np.concatenate(saved, axis=1), taken, iterations)


def _alone(
    plan: _Plan, states: np.ndarray, members: np.ndarray, result: np.ndarray, status: np.ndarray,
    interruption: Interruption,
) -> None:  # fmt: skip
    """These members one by one; what they reach, and how they end, replaces what stands there."""
    _, _, parameters, t0, h, steps, save_every = plan
    runner: Any = None
    try:
        for k in members:
            status[k] = INTERRUPTED
            if interruption.wanted:
                continue
            if runner is None:  # one of its own, so that a batch does not depend on those before it
                runner = interruption.call(_single, plan, states[k], parameters[k])
            carry, rows, code = runner.first_carry(states[k]), 1, OK
            while int(carry.step) < steps and code == OK and not interruption.wanted:
                todo = min(runner.chunk_steps, steps - int(carry.step))
                chunk = interruption.call(runner.run, carry, t0, h, todo, save_every, parameters[k], todo)
                result[k, rows : rows + len(chunk.saved)] = chunk.saved
                carry, code, rows = chunk.carry, chunk.status, rows + len(chunk.saved)
            if int(carry.step) == steps or not interruption.wanted:
                status[k] = OK if code == OK else NOT_CONVERGED
    except KeyboardInterrupt:
        interruption.heard()


def _single(plan: _Plan, state: np.ndarray, parameters: np.ndarray) -> Any:
    return choose_engine(plan.functions, state, plan.t0, plan.h, parameters, compensated=plan.compensated, fresh=True)


def forget_ensembles() -> None:
    """The next batch chooses its pivots at its own first member, whatever ran before: then its bits depend on nothing
    else."""
    _ensemble.cache_clear()


@functools.lru_cache(maxsize=32)
def _ensemble(functions, compensated: bool, on_gpu: bool, start: Unkeyed) -> EnsembleRun | CudaRun:
    states, t0, h, parameters = start.value
    try:
        return (CudaRun if on_gpu else EnsembleRun)(functions, states, t0, h, parameters, compensated)
    except UnsupportedByEngine as reason:
        if on_gpu:
            raise InputError(f'this batch cannot run on a GPU: {reason}. Use engine="auto".') from reason
        raise InputError(f"this system cannot run as a native ensemble: {reason}. Use jax.vmap instead.") from reason


def _rows_of(q0, v0, p0, members: int):
    if (v0 is None) == (p0 is None):
        raise InputError("give exactly one of v0 (velocity) and p0 (momentum).")
    name, second = ("v0", v0) if v0 is not None else ("p0", p0)
    rows = []
    for label, value in (("q0", q0), (name, second)):
        array = floats(label, value, finite=True)
        if array.ndim not in (1, 2) or not array.size:
            raise InputError(f"{label} must have shape (n,) or (members, n), got shape {array.shape}.")
        rows.append(np.broadcast_to(array, (members, array.shape[-1])))
    if rows[0].shape != rows[1].shape:
        raise InputError(f"{name} must have the shape of q0, {rows[0].shape}, got {rows[1].shape}.")
    return rows[0], rows[1], name


def _members(system, q, second, name, t0, project, redundant) -> list[Start]:
    """The starts, member by member."""
    given = ((row, None) if name == "v0" else (None, row) for row in second)
    return [
        prepare_start(member(system, k), q[k], v0, p0, t0, project=project, redundant=redundant)
        for k, (v0, p0) in enumerate(given)
    ]


def run_redundant(
    system, method, start: Start, starts: list[Start], parameters, t0, h, steps, save_every, compensated, engine
) -> EnsembleResult:
    """A batch whose constraints depend on each other: all steps of all members are tested on all rows."""
    first, rows, members = member(system, 0), start.rows, len(starts)
    assert rows is not None
    functions = assemble(first, method, start.layout, rows)

    def alone(k: int) -> tuple[RedundantRun, np.ndarray]:
        def build(functions, state, t):
            return choose_engine(functions, state, t, h, parameters[k], compensated=compensated, fresh=True)

        runner, _, state = runner_for(member(system, k), method, starts[k], t0, build)
        assert isinstance(runner, RedundantRun)  # since some of its rows depend on others
        return runner, state

    begun, (whole, _) = time.perf_counter(), alone(0)
    together = np.array([k for k in range(members) if starts[k].rows == rows])
    states = np.stack([np.concatenate([np.ravel(part) for part in starts[k].state]) for k in together])
    runner = _ensemble(functions, compensated, engine == "cuda", Unkeyed((states[:1], t0, h, parameters[together[:1]])))
    compiled = time.perf_counter()
    runner = runner.begin(states, parameters[together])
    saved = [whole.full(states)[:, None]]
    lost, taken, iterations = np.zeros(len(together), bool), 0, 0
    while taken < steps:
        todo = min(max(runner.chunk_steps, 1), runner.most_saves(), steps - taken)
        every, spent = runner.run(t0, h, todo, 1, True)
        numbers = taken + 1 + np.arange(every.shape[1])
        every = whole.full(every)
        for j, k in enumerate(together):
            if not lost[j]:
                good, _ = good_steps(member(system, int(k)), method, whole.layout, t0 + h * numbers, every[j])
                lost[j] = good < len(numbers)
        saved.append(every[:, numbers % save_every == 0])
        iterations, taken = iterations + spent, taken + todo
    result = np.zeros((members, steps // save_every + 1, whole.layout.n_state))
    failed = np.zeros(members, np.int64)
    result[together], failed[together] = np.concatenate(saved, axis=1), np.where(lost, 0, runner.failed)
    single = [k for k in range(members) if k not in together or failed[k] >= 0]
    for k in single:
        own, state = alone(k)
        carry = own.first_carry(state)
        chunk = own.run(carry, t0, h, steps, save_every, parameters[k], steps // save_every)
        result[k, 0] = np.asarray(carry.state)
        result[k, 1:] = chunk.saved[-1] if len(chunk.saved) else carry.state
        result[k, 1 : 1 + len(chunk.saved)] = chunk.saved
        failed[k] = -1 if chunk.status == 0 else int(chunk.carry.step)
    stats = {
        "engine": runner.name, "members": members, "steps": steps, "compile_seconds": compiled - begun,
        "wall_seconds": time.perf_counter() - compiled, "vector_iterations": iterations, "run_alone": len(single),
        **runner.report(),
    }  # fmt: skip
    return EnsembleResult(result, np.where(failed < 0, OK, NOT_CONVERGED), whole.layout, stats, rows)


def _starts(system, first, layout: Layout, q, second, name, t0, parameters, project, redundant) -> np.ndarray:
    """State vectors of all members. Explicit p = L_v(v) at once; what needs a solve, member by member."""
    members = len(q)
    explicit = (name == "v0") != first.gives_velocity
    if project or not explicit:
        starts = _members(system, q, second, name, t0, project, redundant)
        return np.stack([np.asarray(layout.flatten(start.state)) for start in starts])
    t = np.full(members, t0)
    which = "legendre by p" if name == "v0" else "legendre by v"
    other = -equation_rows(first, which, np.zeros_like(q), t, q, second, parameters=parameters)
    v, p = (second, other) if name == "v0" else (other, second)
    size, speed = (np.max(np.abs(part), axis=1, initial=0.0) for part in (q, v))
    for level, terms in batch_scales(first, t0, q[0], v[0], np.where(size > 0, size, 1.0), speed):
        defects = np.abs(observe(first, level, t, q, v, p, parameters))
        defect, parts = np.max(defects, axis=1, initial=0.0), np.max(relative(defects, terms), axis=1, initial=0.0)
        worst = int(np.argmax(parts))
        if parts[worst] > START_TOLERANCE:
            kind = "position" if level == "all constraints" else "velocity"
            which = "constraint" if kind == "velocity" and first.provides("nonholonomic") else "holonomic constraint"
            raise InconsistentStart(
                f"{type(first).__name__}: member {worst} of the batch violates a {which} at {kind} level "
                f"by {defect[worst]:.6g}, expected 0. Correct q0 or {name}, or pass project=True."
            )
    impulses = np.zeros((members, layout.contacts * layout.directions))
    return np.concatenate([q, p, v, multipliers(first, None, t, q, v, p, parameters), impulses], axis=1)
