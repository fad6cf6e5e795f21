"""Runs whose inputs are given: as numbers for every step, as a function of time, or by a controller between steps.

    array (steps, inputs)          constant in each step
    array (steps + 1, inputs)      values at the ends of the steps, a line in each of them
    InputNodes(points, values)     values at points of every step, a polynomial through them in each
    u(t)                           part of the compiled equations, like every force that depends on time
    u(t, q, v)                     asked before every step, constant in it
    Sampled(u, period, delay)      asked once a period, of whole steps; what it says is applied after the delay

All but the function of time are parameters that change from step to step; the equations are compiled once.
"""

from __future__ import annotations

import dataclasses
import inspect
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..arguments import floats, interval, positive, real, shown, takes
from ..engine import OK, Interruption, RowFunction, Stepwise, stepwise
from ..errors import InputError
from ..method import EventCapturing, Method
from ..problem import AbstractSystem, Inputs, driven, driven_by_law, lagrange_weights, require_inputs
from ..stepping import (
    Adaptive,
    EqualSteps,
    Options,
    Prepared,
    Run,
    checked,
    checked_save_every,
    equal_steps,
    integrate,
    is_traced,
    parameter_places,
    prepare_run,
    read_only,
)


@dataclass(frozen=True)
class InputNodes:
    """Inputs as `optimal_control` finds them: in every step the polynomial through values at the points of the step.

    Attributes:
        points: in units of the step size, (points,).
        values: (steps, points, inputs).
    """

    points: tuple[float, ...]
    values: np.ndarray

    def __post_init__(self) -> None:
        values, points = floats("values", self.values, finite=True), floats("points", self.points, finite=True)
        if points.ndim != 1 or values.ndim != 3 or values.shape[1] != len(points) or not len(points):
            raise InputError(
                f"InputNodes: values must have shape (steps, points, inputs), got {values.shape} for {points.shape} "
                "points."
            )
        if len(set(points.tolist())) < len(points):
            raise InputError(f"InputNodes: points must be different numbers, got {shown(self.points)}.")
        object.__setattr__(self, "points", tuple(points.tolist()))
        object.__setattr__(self, "values", read_only(values))


class Sampled:
    """A controller `u(t, q, v)` that is asked once a period, as one on a computer is; it may remember what it likes.

    Args:
        law: a function of t, q and v that gives the inputs.
        period: the time between two questions; it must be a multiple of the step size.
        delay: how long it takes until what it says is applied, also a multiple of the step size; zeros are applied
            before the first answer.
    """

    def __init__(self, law: Callable, period: float, delay: float = 0.0) -> None:
        if not takes(law, 3):
            raise InputError(f"Sampled: law must be a function of (t, q, v), got {shown(law)}.")
        found = real(delay)
        if found is None or not 0 <= found < np.inf:
            raise InputError(f"Sampled: delay must be a number >= 0, got {shown(delay)}.")
        self.law, self.period, self.delay = law, positive("Sampled: period", period), found

    def in_steps(self, h: float) -> tuple[int, int]:
        """Period and delay as numbers of steps."""
        counts = []
        for name, length in (("period", self.period), ("delay", self.delay)):
            steps = round(min(length / h, 1e18))  # a quotient that is no finite number is no multiple either
            if abs(steps * h - length) > 1e-9 * max(length, h) or (name == "period" and not steps):
                raise InputError(f"Sampled: {name} = {length:g} is not a multiple of the step size h = {h:g}.")
            counts.append(steps)
        return counts[0], counts[1]


def integrate_controlled(
    system: AbstractSystem, method: Method, given: tuple, options: Options, control: Any
) -> Run:  # fmt: skip
    """A run with `control`, in one of the forms of the module's docstring."""
    inputs, (q0, v0, p0) = require_inputs(system, "control"), given
    count: int | None = None
    law: Any = control
    if callable(control) and not isinstance(control, Sampled):
        count = 3 if takes(control, 3) and not takes(control, 1) else 1
        if count == 1 and not takes(control, 1):
            raise InputError(f"control must be a function of t or of (t, q, v), got {_signature(control)}.")
    if count == 1:
        run = integrate(driven_by_law(system, law), method, q0, v0, p0=p0, options=options)
        return run if np.ndim(run.t) != 1 or is_traced(run.states) else dataclasses.replace(run, inputs=_of(law, run))
    _check(method, given, options)
    interval(options.t)  # a controller knows what was, not what will be
    grid = equal_steps(options.t, options.h)
    if count == 3:
        control = Sampled(law, grid.h)
    if isinstance(control, Sampled):
        points = (0.0,)
    elif isinstance(control, InputNodes):
        points, control = control.points, _checked_nodes(inputs, control.values, grid.steps)
    else:
        control = _checked_rows(inputs, control, grid.steps)
        points = (0.0,) if len(control) == grid.steps else (0.0, 1.0)
    moved = driven(checked(system, method, options.engine), points)
    prepared = prepare_run(moved, method, q0, v0, p0, grid.t0, dataclasses.replace(options, h=grid.h))
    work = stepwise(
        prepared.runner, prepared.runner.first_carry(prepared.state), grid.t0, grid.h, prepared.parameters
    )  # fmt: skip
    if isinstance(control, Sampled):
        source = _Controller(control, inputs, prepared.layout.n, grid.h)
    else:
        source = _Rows(control if control.ndim == 3 else np.stack([control[k : k + grid.steps]
                       for k in range(len(points))], axis=1))  # fmt: skip
    save_every = checked_save_every(options.save_every, grid.steps)
    return _take_steps(prepared, work, source, points, grid, save_every)


def _of(law: Callable, run: Run) -> np.ndarray:
    """A function of time at the saved states."""
    return RowFunction(lambda t: jnp.ravel(jnp.asarray(law(t), jnp.float64)))(run.t)


def _signature(function: Callable) -> str:
    try:
        return str(inspect.signature(function))
    except (TypeError, ValueError):
        return shown(function)


def _check(method: Method, given: tuple, options: Options) -> None:
    """Options that have no meaning where steps are taken one by one are refused."""
    if isinstance(method, EventCapturing) or isinstance(options.h, Adaptive) or np.ndim(options.h):
        raise InputError("control step by step needs steps of one size h: give a number, and a method without events.")
    if np.ndim(given[0]) == 2:
        raise InputError("control step by step is for a single run; for a batch use da.Stepper or a control u(t).")
    for name, wrong in (
        ("checkpoint", options.checkpoint is not None), ("retry", options.retry), ("progress", options.progress),
        ("events", bool(options.events)),
        ('redundant="allow"', options.redundant != "refuse"), ('precision="extended"', options.extended),
    ):  # fmt: skip
        if wrong:
            raise InputError(f"{name} is for runs without control, or with a control u(t).")


def _checked_rows(inputs: Inputs, control: Any, steps: int) -> np.ndarray:
    rows = floats("control", control)
    if rows.ndim == 1 and inputs.size == 1:
        rows = rows[:, None]
    if rows.ndim != 2 or rows.shape[1] != inputs.size or rows.shape[0] not in (steps, steps + 1):
        raise InputError(
            f"control must have shape ({steps}, {inputs.size}), constant in every step, or ({steps + 1}, "
            f"{inputs.size}), the values at their ends, for the inputs {', '.join(inputs.names)}; got {rows.shape}."
        )
    inputs.check_bounds(rows)
    return rows


def _checked_nodes(inputs: Inputs, values: np.ndarray, steps: int) -> np.ndarray:
    if values.shape[0] != steps or values.shape[2] != inputs.size:
        raise InputError(
            f"control must have values for {steps} steps and the inputs {', '.join(inputs.names)}, got those of "
            f"{values.shape[0]} steps and {values.shape[2]} inputs."
        )
    inputs.check_bounds(values)
    return values


class _Rows:
    """Numbers that are known for every step, (steps, points, inputs)."""

    def __init__(self, values: np.ndarray) -> None:
        self._values = values

    def __call__(self, k: int, t: float, state: np.ndarray) -> np.ndarray:
        return self._values[k]


class _Controller:
    """What a sampled controller said last, after its delay."""

    def __init__(self, control: Sampled, inputs: Inputs, n: int, h: float) -> None:
        self._law, self._inputs, self._n = control.law, inputs, n
        self._period, self._delay = control.in_steps(h)
        self._waiting: deque[tuple[int, np.ndarray]] = deque()
        self._now = np.zeros((1, inputs.size))

    def __call__(self, k: int, t: float, state: np.ndarray) -> np.ndarray:
        if k % self._period == 0:
            self._waiting.append((k + self._delay, self._ask(t, state)))
        while self._waiting and self._waiting[0][0] <= k:
            self._now = self._waiting.popleft()[1]
        return self._now

    def _ask(self, t: float, state: np.ndarray) -> np.ndarray:
        n, inputs = self._n, self._inputs
        answer = floats("what the controller gives", self._law(t, state[:n].copy(), state[2 * n : 3 * n].copy()))
        if answer.size != inputs.size or answer.ndim > 1:
            raise InputError(
                f"the controller must give {inputs.size} numbers for {', '.join(inputs.names)}, got shape "
                f"{answer.shape} at t = {t:.6g}."
            )
        inputs.check_bounds(answer, f" at t = {t:.6g}")
        return answer.reshape(1, -1)


def _take_steps(
    prepared: Prepared, work: Stepwise, source: Any, points: tuple[float, ...], grid: EqualSteps, save_every: int
) -> Run:  # fmt: skip
    """Step by step, with the input that the source gives; saved are the states and the input at the end of the step
    before, that of the first state is the one with which the motion begins."""
    begin, end = (np.asarray(lagrange_weights(points, jnp.asarray(theta))) for theta in (0.0, 1.0))
    places, (t0, h, steps) = parameter_places(prepared.system), grid
    states, used, spent, code, begun = [work.state.copy()], [], [0], OK, time.perf_counter()
    with Interruption() as interruption:
        for k in range(steps):
            t = t0 + k * h
            values = source(k, t, work.state)
            work.parameters[places["input_values"]] = values.ravel()
            work.parameters[places["input_span"]] = t, h
            if not k:
                used.append(begin @ values)
            code = work.advance()
            if code != OK or interruption.wanted:
                break
            if (k + 1) % save_every == 0:
                states.append(work.state.copy())
                used.append(end @ values)
                spent.append(work.iterations)
    now, carry = t0 + work.taken * h, work.carry
    code = prepared.meant(carry, now, h, code, work.residual)
    status = prepared.status(code, carry, now, h, work.residual, interruption.wanted)
    times, counts = grid.times(save_every)[: len(states)], np.diff(spent)
    run = prepared.run(
        t=times, states=np.array(states), iterations=counts, worst=None, status=status,
        h=h, counted=work.iterations, wall_seconds=time.perf_counter() - begun,
    )  # fmt: skip
    return dataclasses.replace(run, inputs=np.array(used))
