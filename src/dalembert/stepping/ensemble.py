"""An ensemble: the members of a batch side by side in vectors, or on a GPU, in one run."""

from __future__ import annotations

import dataclasses
import functools
import time
from typing import Any, NamedTuple

import numpy as np

from ..engine import (
    INTERRUPTED,
    NOT_CONVERGED,
    OK,
    CudaRun,
    EngineOptions,
    EnsembleRun,
    Interruption,
    StepFunctions,
    TooLarge,
    Unkeyed,
    choose_engine,
)
from ..errors import InputError, UnsupportedByEngine
from ..method import Method
from ..problem import AbstractSystem
from .members import Members, member
from .prologue import runner_for
from .redundant import RedundantRun, good_steps
from .step import Layout, assemble


@dataclasses.dataclass
class EnsembleResult:
    """States (members, saves, n_state), how each member ended, and statistics."""

    states: np.ndarray
    status: np.ndarray
    layout: Layout
    stats: dict
    rows: tuple[int, ...] | None = None  # of dependent constraints, those imposed on the first member


class Steps(NamedTuple):
    """The steps that a batch has to take, and how."""

    method: Method
    h: float
    count: int
    save_every: int
    compensated: bool = True
    on_gpu: bool = False


def integrate_ensemble(members: Members, steps: Steps) -> EnsembleResult:
    """Run all members; those that fail in the vector code are run again alone, with everything the engine has, and so
    are all members of a system too large for it.

    Of constraints that depend on each other all members impose the rows that suit the first; members that these do not
    keep on all constraints are run alone too.
    """
    if members.start.rows is not None:
        return _run_redundant(members, steps)
    states, begun = members.states, time.perf_counter()
    plan = _Plan(assemble(members.first, steps.method, members.layout, None), members.t0, members.parameters, steps)
    runner = plan.runner(states)
    if isinstance(runner, TooLarge):
        return _one_by_one(members, plan, runner)
    compiled = time.perf_counter()
    runner = runner.begin(states, members.parameters)
    with Interruption() as interruption:
        found = _together(runner, plan, states, interruption)
        failed = np.flatnonzero(runner.failed >= 0)
        status = np.full(members.count, OK if found.steps == steps.count else INTERRUPTED)
        status[failed] = INTERRUPTED if interruption.wanted else NOT_CONVERGED
        if not interruption.wanted:
            _alone(plan, states, failed, found.states, status, interruption)
    if interruption.wanted and not found.steps:
        raise KeyboardInterrupt
    return EnsembleResult(
        found.states, status, members.layout, _stats(runner, members, found, len(failed), begun, compiled)
    )


def _one_by_one(members: Members, plan: _Plan, reason: TooLarge) -> EnsembleResult:
    """All members for themselves, in turn."""
    begun, steps = time.perf_counter(), plan.steps
    runner = _single(plan, members.states[0], members.parameters[0])
    compiled = time.perf_counter()
    saved = np.repeat(members.states[:, None], steps.count // steps.save_every + 1, axis=1)
    status = np.full(members.count, INTERRUPTED)
    with Interruption() as interruption:
        _alone(plan, members.states, np.arange(members.count), saved, status, interruption, runner)
    stats = {
        "engine": f"{runner.name} (one by one)",
        "engine_reason": f"side by side, {reason}",
        "members": members.count,
        "steps": steps.count,
        "compile_seconds": compiled - begun,
        "wall_seconds": time.perf_counter() - compiled,
        "run_alone": members.count,
    }
    return EnsembleResult(saved, status, members.layout, stats)


def _stats(
    runner: EnsembleRun | CudaRun, members: Members, found: _Together, alone: int, begun: float, compiled: float
) -> dict[str, Any]:
    """What a run says of itself; `begun` and `compiled` are the times at which compiling began and ended."""
    return {
        "engine": runner.name,
        "members": members.count,
        "steps": found.steps,
        "compile_seconds": compiled - begun,
        "wall_seconds": time.perf_counter() - compiled,
        "vector_iterations": found.iterations,
        "run_alone": alone,
        **runner.report(),
    }


def prepare_batch(members: Members, method: Method, h: float) -> EnsembleRun:
    """A batch for steps of the size h from t0 on; how many there will be is open."""
    functions = assemble(members.first, method, members.layout, None)
    plan = _Plan(functions, members.t0, members.parameters, Steps(method, h, 0, 1))
    runner = plan.runner(members.states)
    if isinstance(runner, TooLarge):
        raise InputError(
            f"{type(members.first).__name__} is too large to step members side by side with this method: {runner}. "
            "Use one da.Stepper for each member, or a method with smaller steps, such as da.Rattle()."
        )
    assert isinstance(runner, EnsembleRun)
    return runner.begin(members.states, members.parameters)


class _Plan(NamedTuple):
    """What a batch has to do: steps of these functions from t0 on, each member with its parameters."""

    functions: StepFunctions
    t0: float
    parameters: np.ndarray
    steps: Steps

    def runner(self, states: np.ndarray) -> EnsembleRun | CudaRun | TooLarge:
        """What takes the steps of all members from these states on, or why there is nothing; pivots are chosen at the
        first of them."""
        _, h, _, _, compensated, on_gpu = self.steps
        return _ensemble(self.functions, compensated, on_gpu, Unkeyed((states[:1], self.t0, h, self.parameters[:1])))


class _Together(NamedTuple):
    """Saved states of all members, the steps they took, and the vector iterations spent."""

    states: np.ndarray
    steps: int
    iterations: int


def _together(runner: EnsembleRun | CudaRun, plan: _Plan, states: np.ndarray, interruption: Interruption) -> _Together:
    """All members side by side, as far as they come."""
    count, h, save_every = plan.steps.count, plan.steps.h, plan.steps.save_every
    saved, taken, iterations = [states[:, None]], 0, 0
    try:
        while taken < count and not interruption.wanted:
            saves = min(max(runner.chunk_steps // save_every, 1), runner.most_saves())
            begins = True
            for todo in runner.pieces(min(saves * save_every, count - taken)):
                rows, spent = interruption.call(runner.run, plan.t0, h, todo, save_every, begins)
                saved.append(rows)
                iterations, taken, begins = iterations + spent, taken + todo, False
                if interruption.wanted:
                    break
    except KeyboardInterrupt:
        interruption.heard()
    return _Together(np.concatenate(saved, axis=1), taken, iterations)


def _alone(
    plan: _Plan, states: np.ndarray, members: np.ndarray, result: np.ndarray, status: np.ndarray,
    interruption: Interruption, runner: Any = None,
) -> None:  # fmt: skip
    """These members one by one; what they reach, and how they end, replaces what stands there."""
    _, t0, parameters, (_, h, steps, save_every, _, _) = plan
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
            result[k, rows:] = result[k, rows - 1]
            if int(carry.step) == steps or not interruption.wanted:
                status[k] = OK if code == OK else NOT_CONVERGED
    except KeyboardInterrupt:
        interruption.heard()


def _single(plan: _Plan, state: np.ndarray, parameters: np.ndarray) -> Any:
    steps = plan.steps
    wanted = EngineOptions(compensated=steps.compensated, fresh=True)
    return choose_engine(plan.functions, state, plan.t0, steps.h, parameters, wanted)


def forget_ensembles() -> None:
    """The next batch chooses its pivots at its own first member, whatever ran before: then its bits depend on nothing
    else."""
    _ensemble.cache_clear()


@functools.lru_cache(maxsize=32)
def _ensemble(functions, compensated: bool, on_gpu: bool, start: Unkeyed) -> EnsembleRun | CudaRun | TooLarge:
    states, t0, h, parameters = start.value
    try:
        return (CudaRun if on_gpu else EnsembleRun)(functions, states, t0, h, parameters, compensated)
    except TooLarge as reason:
        return TooLarge(str(reason))
    except UnsupportedByEngine as reason:
        if on_gpu:
            raise InputError(f'this batch cannot run on a GPU: {reason}. Use engine="auto".') from reason
        raise InputError(f"this system cannot run as a native ensemble: {reason}. Use jax.vmap instead.") from reason


def _run_redundant(members: Members, steps: Steps) -> EnsembleResult:
    """A batch whose constraints depend on each other: all steps of all members are tested on all rows."""
    rows, begun = members.start.rows, time.perf_counter()
    assert rows is not None
    whole, _ = _alone_redundant(members, steps, 0)
    functions = assemble(members.first, steps.method, members.layout, rows)
    together = np.array([k for k in range(members.count) if members.starts[k].rows == rows])
    plan = _Plan(functions, members.t0, members.parameters[together], steps)
    states = np.stack([np.concatenate([np.ravel(part) for part in members.starts[k].state]) for k in together])
    runner = plan.runner(states)
    if isinstance(runner, TooLarge):
        raise InputError(
            f"{type(members.first).__name__} is too large for a batch with dependent constraints: {runner}. "
            "Run its members one by one."
        )
    compiled = time.perf_counter()
    runner = runner.begin(states, plan.parameters)
    systems = [member(members.system, int(k)) for k in together]
    saves = steps.count // steps.save_every + 1
    with Interruption() as interruption:
        found, lost = _together_redundant(runner, plan, states, whole, systems, interruption)
        single = [k for k in range(members.count) if k not in together] if not interruption.wanted else []
        single += [int(k) for k in together[lost | (runner.failed >= 0)]] if not interruption.wanted else []
        if interruption.wanted and (not found.steps or len(together) < members.count):
            raise KeyboardInterrupt  # nothing, or nothing of some members, is there
        rows_saved = found.states.shape[1] if interruption.wanted else saves
        result = np.zeros((members.count, rows_saved, whole.layout.n_state))
        status = np.full(members.count, INTERRUPTED if interruption.wanted else OK)
        result[together] = found.states
        for k in sorted(single):
            _one_redundant(members, steps, k, result, status, interruption)
    stats = _stats(runner, members, found, len(single), begun, compiled)
    return EnsembleResult(result, status, whole.layout, stats, rows)


def _one_redundant(
    members: Members, steps: Steps, k: int, result: np.ndarray, status: np.ndarray, interruption: Interruption
) -> None:
    """A member whose rows are others, or change on its way, by itself; its last state stays where it ends."""
    own, state = _alone_redundant(members, steps, k)
    carry, begins = own.first_carry(state), members.parameters[k]
    result[k] = np.asarray(carry.state)
    status[k] = INTERRUPTED
    try:
        if not interruption.wanted:
            saves = steps.count // steps.save_every
            chunk = interruption.call(own.run, carry, members.t0, steps.h, steps.count, steps.save_every, begins, saves)
            result[k, 1:] = chunk.saved[-1] if len(chunk.saved) else carry.state
            result[k, 1 : 1 + len(chunk.saved)] = chunk.saved
            status[k] = OK if chunk.status == OK else NOT_CONVERGED
    except KeyboardInterrupt:
        interruption.heard()


def _together_redundant(
    runner: EnsembleRun | CudaRun, plan: _Plan, states: np.ndarray, whole: RedundantRun,
    systems: list[AbstractSystem], interruption: Interruption,
) -> tuple[_Together, np.ndarray]:  # fmt: skip
    """Members that impose the same rows side by side, and which of them left the other rows on their way."""
    t0, (method, h, count, save_every, _, _) = plan.t0, plan.steps
    saved, lost, taken, iterations = [whole.full(states)[:, None]], np.zeros(len(states), bool), 0, 0
    try:
        while taken < count and not interruption.wanted:
            chunk, begins = min(max(runner.chunk_steps, 1), runner.most_saves(), count - taken), True
            for todo in runner.pieces(chunk):
                every, spent = interruption.call(runner.run, t0, h, todo, 1, begins)
                numbers = taken + 1 + np.arange(every.shape[1])
                every = whole.full(every)
                for j, system in enumerate(systems):
                    if not lost[j]:
                        good, _ = good_steps(system, method, whole.layout, t0 + h * numbers, every[j])
                        lost[j] = good < len(numbers)
                saved.append(every[:, numbers % save_every == 0])
                iterations, taken, begins = iterations + spent, taken + todo, False
                if interruption.wanted:
                    break
    except KeyboardInterrupt:
        interruption.heard()
    return _Together(np.concatenate(saved, axis=1), taken, iterations), lost


def _alone_redundant(members: Members, steps: Steps, k: int) -> tuple[RedundantRun, np.ndarray]:
    """One member of a batch with dependent constraints for itself, and its first state."""
    parameters = members.parameters[k]

    def build(functions, state, t):
        wanted = EngineOptions(compensated=steps.compensated, fresh=True)
        return choose_engine(functions, state, t, steps.h, parameters, wanted)

    system = member(members.system, k)
    runner, _, state = runner_for(system, steps.method, members.starts[k], members.t0, build)
    assert isinstance(runner, RedundantRun)  # since some of its rows depend on others
    return runner, state
