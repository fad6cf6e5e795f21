"""What every run of a single trajectory begins with, and what it gives back, whatever the sizes of its steps are."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from ..engine import (
    LEFT_CONSTRAINTS,
    NOT_CONVERGED,
    NOT_FINITE,
    OK,
    Carry,
    EngineOptions,
    Runner,
    StepFunctions,
    choose_engine,
)
from ..errors import InputError, MethodDoesNotFit
from ..method import Langevin, Method
from ..problem import AbstractSystem
from .backwards import cause_in_substeps
from .consistent import Start, is_traced, prepare_start
from .contact_run import ContactRun, has_many_contacts
from .contact_start import Judged
from .flat_gaps import cause_in_gaps
from .noisy_run import NoisyRun
from .options import Given, Options
from .redundant import RedundantRun
from .run import Run, Status, ended, interrupted_after
from .shared_equations import facts_at, flat_parameters
from .step import Layout, assemble
from .step_sizes import usual_size


def begin(
    system: AbstractSystem, method: Method, given: Given, options: Options, t0: float, *, strict: bool = False
) -> Start:
    """Consistent starting values that suit the method; `strict` refuses small penetrations too."""
    start = prepare_start(
        system, *given, t0, project=options.project, redundant=options.redundant, any_velocity=options.any_velocity,
        judged=Judged(strict, usual_size(options.h), options.penetration),
    )  # fmt: skip
    check_suits(system, method, start, t0)
    return start


def check_suits(system: AbstractSystem, method: Method, start: Start, t0: float) -> None:
    """Refuse a start that does not suit the method; one that JAX traces has no numbers to judge."""
    state = start.state
    if type(method).misfit_at is not Method.misfit_at and not is_traced(system, state):
        reason = method.misfit_at(facts_at(system, method, start.rows, t0, state.q, state.v, state.p))
        if reason is not None:
            raise MethodDoesNotFit(f"{type(method).__name__} does not fit {type(system).__name__}: {reason}")


def prepare_run(system: AbstractSystem, method: Method, q0, v0, p0, t0: float, options: Options) -> Prepared:
    """A run of steps of one size, `options.h`, that is ready to take its first step; how many there will be is open."""
    if is_traced(system, q0, v0, p0):
        raise InputError("single steps are taken with numbers, not under jit, vmap or grad: use da.simulate there.")
    start = begin(system, method, Given(q0, v0, p0), options, t0)
    return Prepared.of(system, method, start, options, t0, float(options.h))  # pyright: ignore[reportArgumentType]


def runner_for(
    system: AbstractSystem, method: Method, start: Start, t0: float,
    build: Callable[[StepFunctions, np.ndarray, float], Runner],
) -> tuple[Runner, Layout, np.ndarray]:  # fmt: skip
    """What takes the steps, the layout of the states that it takes and gives, and the first of them."""
    state = np.concatenate([np.ravel(part) for part in start.state])
    if start.rows is None:
        return build(assemble(system, method, start.layout, None), state, t0), start.layout, state
    runner = RedundantRun(system, method, start.layout, start.rows, t0, state, build)
    return runner, runner.layout, runner.full(state)


@dataclass
class Prepared:
    """A run that is ready to take its first step."""

    system: AbstractSystem
    method: Method
    options: Options
    start: Start
    functions: StepFunctions
    parameters: np.ndarray
    runner: Runner
    layout: Layout
    state: np.ndarray  # the first one
    compile_seconds: float

    @classmethod
    def of(
        cls, system: AbstractSystem, method: Method, start: Start, options: Options, t0: float, h: float, *,
        steps: float = np.inf, sizes: bool = False,
    ) -> Prepared:  # fmt: skip
        """The runner for steps of about the size h from t0 on: the only place that chooses it. `steps` is how many
        there will be at least; `sizes` asks for a runner that takes steps of different sizes in one call.

        Many arguments: this is where they become one record.
        """
        parameters, begun = np.asarray(flat_parameters(system)), time.perf_counter()

        def build(functions: StepFunctions, state: np.ndarray, t: float):
            compiled = options.engine != "auto" or options.extended
            if start.layout.contacts and not compiled and has_many_contacts(functions, start.layout):
                return ContactRun(functions, options.sums_compensated)
            wanted = EngineOptions(
                compensated=options.sums_compensated, engine=options.engine, extended=options.extended,
                sizes=sizes and start.rows is None, fresh=options.checkpoint is not None, steps=steps,
            )  # fmt: skip
            return choose_engine(functions, state, t, h, parameters, wanted)

        runner, layout, state = runner_for(system, method, start, t0, build)
        if isinstance(method, Langevin):
            runner = NoisyRun(runner, system, method, start, t0, h)
        functions = assemble(system, method, start.layout, start.rows)
        compiled = time.perf_counter() - begun
        return cls(system, method, options, start, functions, parameters, runner, layout, state, compiled)

    def meant(self, carry: Carry, t: float, h: float, status: int, residual: float) -> int:
        """The status that is meant where a step from t on ended with `status`: Newton may have come to a solution that
        is not the one meant, which is written as NaN, or left the domain of the equations. They are finite at the
        method's own guess in the first case."""
        if status != NOT_FINITE or not np.isfinite(residual):
            return status
        functions = self.functions
        if isinstance(self.runner, RedundantRun):
            functions, carry = self.runner.functions, carry._replace(state=self.runner.reduced(carry.state, t))
        arguments = tuple(jnp.asarray(part) for part in (t, h, carry.state, self.parameters))
        residuals = functions.residual(functions.guess(*arguments), *arguments)
        return NOT_CONVERGED if bool(jnp.all(jnp.isfinite(residuals))) else NOT_FINITE

    def status(
        self, code: int, carry: Carry, now: float, h: float, residual: float, interrupted: bool, halved: int = 0
    ) -> Status:
        """How the run ended that reached the time `now`; h is the size of the step that follows there."""
        taken = int(carry.step)
        if interrupted:
            return interrupted_after(taken, now)
        finding = self.runner.finding if isinstance(self.runner, RedundantRun) else ""
        if code not in (OK, LEFT_CONSTRAINTS):
            reached = self.layout.unflatten(carry.state)
            system, method = self.system, self.method
            finding = cause_in_substeps(system, method, now, reached, h) or cause_in_gaps(system, now, reached, h)
        return ended(code, taken, now, h, residual, halved, finding)

    def run(
        self, *, t, states, iterations, worst, status: Status, h, counted: int, wall_seconds: float, more=None,
        stored=None,
    ) -> Run:  # fmt: skip
        """The record of the run, whose steps took `counted` iterations and `wall_seconds`.

        Many arguments: what each kind of run has measured in its own way.
        """
        stats = {
            "engine": self.runner.name,
            "steps": status.step,
            "compile_seconds": self.compile_seconds,
            "wall_seconds": wall_seconds,
            "newton_iterations": counted,
            **self.runner.report(),
            **(more or {}),
        }
        return Run(
            self.system, self.method, self.layout, self.start.rows, t, states, iterations, worst, status, h, stats,
            stored=stored,
        )  # fmt: skip
