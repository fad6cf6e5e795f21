"""What a run of event capturing computes with: smooth steps by mode, and what holds at one instant.

Both are compiled by the engine, a mode when it first occurs. XLA serves (`event_kernels.py`) where contacts that are
held depend on each other, where a system does not translate, and where it is asked for.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from ..engine import NOT_FINITE, OK, Alternating, LoneSteps, NativeRun, compiled_or_reason
from ..engine.contract import SINGULAR
from ..errors import DalembertError, InputError, SlowEngineWarning
from ..method import EventCapturing
from ..method.event_equations import Instant, Modes
from ..method.event_mode import PARTS
from ..problem import AbstractSystem
from .event_kernels import SmoothStep, Watched, kernels_of
from .event_smooth import bounce_state, bounce_steps, guarded_steps, instant_shapes, instants, mode_of, unpacked
from .shared_equations import Family, flat_parameters
from .step import Layout

#: Entries of the matrix of an instant up to which it is compiled: most of them are zeros.
MOST_ENTRIES = 40_000

Mode = tuple[tuple[bool, ...], tuple[bool, ...]]


class EventFailure(DalembertError):
    """A step could not be completed: code and message of the status."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class CompiledMode(NamedTuple):
    """The steps of one mode: those of chunks, and single ones."""

    runner: NativeRun
    lone: LoneSteps
    edges: list[int]  # of y, impulse, lam, psi, sizes, and what is seen inside
    looks: tuple[tuple[int, ...], ...]
    entries: int  # of the state of a step


class Pieces:
    """The compiled pieces of one run."""

    def __init__(
        self, system: AbstractSystem, method: EventCapturing, layout: Layout, rows: tuple[int, ...] | None, h: float,
        steps: int, engine: str, width: float,
    ) -> None:  # fmt: skip
        self._system, self._tableau, self._layout, self._rows = system, method.smooth_part, layout, rows
        self._parameters, self._h, self._steps = np.asarray(flat_parameters(system)), h, steps
        self._width = width
        self._bounces: Alternating | str | None = None
        self._engine, self._compiles = engine, engine != "xla"
        self._kernels = kernels_of(system, self._tableau, layout, rows)
        self._modes: dict[Mode, CompiledMode | None] = {}
        self._instant: LoneSteps | None = None
        contacts, d = layout.contacts, layout.directions
        self._none = np.zeros((PARTS + 1, contacts, d)), np.zeros((PARTS + 1, contacts))
        ends = [2 * layout.n, contacts * d, layout.m, layout.k, 2]
        self._edges = np.cumsum(ends).tolist()

    def parameters(self, modes: Modes, *, guarded: bool) -> np.ndarray:
        """The parameters of a step in a mode."""
        return np.concatenate([self._parameters, modes.direction, [self._width, float(guarded)]])

    def mode(self, t: float, y: np.ndarray, modes: Modes) -> CompiledMode | None:
        """The compiled steps of a mode; None where there are none."""
        if modes.dependent and self._engine == "native":
            raise EventFailure(
                SINGULAR,
                "contacts that are closed depend on each other here, which engine='native' excludes. "
                "Use engine='auto'.",
            )
        if not self._compiles or modes.dependent:
            return None
        key = tuple(modes.closed.tolist()), tuple(modes.sticking.tolist())
        if key not in self._modes:
            self._modes[key] = self._compiled(key, t, y, modes)
        return self._modes[key]

    def _compiled(self, key: Mode, t: float, y: np.ndarray, modes: Modes) -> CompiledMode | None:
        functions = guarded_steps(Family(self._system), self._tableau, self._layout, self._rows, *key)
        state = np.concatenate([y, np.zeros(functions.n_state - len(y))])
        parameters = self.parameters(modes, guarded=False)
        runner = compiled_or_reason(functions, state, t, self._h, parameters, self._steps)
        if isinstance(runner, str):
            self._without(runner)
            return None
        looks = mode_of(self._tableau, self._layout, *key).looks
        return CompiledMode(runner, LoneSteps(runner, state, self._h, parameters), self._edges, looks, len(state))

    def bounces(self, t: float, y: np.ndarray, modes: Modes) -> Alternating | None:
        """Flights, together with steps in which there is one bounce; None where these are not compiled."""
        layout, flight = self._layout, self.mode(t, y, modes)
        if flight is None or layout.m or layout.k or np.any(modes.closed):
            return None
        if self._bounces is None:
            functions = bounce_steps(Family(self._system), self._tableau, layout)
            state = np.concatenate([y, np.zeros(functions.n_state - len(y))])
            runner = compiled_or_reason(functions, state, t, self._h, self.parameters(modes, guarded=True), self._steps)
            kept = bounce_state(self._tableau, layout).kept
            self._bounces = runner if isinstance(runner, str) else Alternating(flight.runner, runner, kept)
        return None if isinstance(self._bounces, str) else self._bounces

    def _without(self, reason: str) -> None:
        """Go on by XLA, and say so."""
        if self._engine == "native":
            raise InputError(f"the native engine cannot run this system: {reason}. Use engine='auto' or engine='xla'.")
        warnings.warn(
            f"smooth steps between events are not compiled, since {reason}; they take about a hundred times longer. "
            "Write that part of the model by other operations.",
            SlowEngineWarning,
            stacklevel=2,
        )
        self._compiles = False

    def step(self, t: float, length: float, y: np.ndarray, modes: Modes) -> SmoothStep:
        """A smooth step of any length."""
        mode = self.mode(t, y, modes)
        if mode is None:
            return self._kernels.step(t, length, y, modes, self._parameters)
        lone = mode.lone
        lone.parameters[len(self._parameters) : -2] = modes.direction
        before = lone.iterations
        status = lone.take(t, length, y)
        state, (a, b, c, d, e) = lone.state.copy(), mode.edges
        if status == NOT_FINITE:
            state[:] = np.nan
        gap, velocity, acceleration, force, friction = unpacked(state[e : -len(modes.direction)], mode.looks)
        if not len(force):
            force, friction = self._none
        inside = Watched(gap, velocity, acceleration, force, friction, state[b:c][None], state[c:d][None])
        impulse = state[a:b].reshape(self._none[0].shape[1:])
        return SmoothStep(state[:a], impulse, inside, status == OK, lone.iterations - before, True)

    def instant(self, t: float, y: np.ndarray) -> Instant:
        """What responses and projections at a state follow from."""
        shapes = instant_shapes(self._layout)
        if self._instant is None and self._compiles and sum(map(np.prod, shapes[:1])) <= MOST_ENTRIES:
            functions = instants(Family(self._system), self._layout, self._rows)
            state = np.concatenate([y, np.zeros(functions.n_state - len(y))])
            runner = compiled_or_reason(functions, state, t, self._h, self._parameters)
            if isinstance(runner, str):
                self._without(runner)
            else:
                self._instant = LoneSteps(runner, state, self._h, self._parameters)
        if self._instant is None:
            return self._kernels.instant(t, y, self._parameters)
        self._instant.take(t, 0.0, y)
        return Instant(*unpacked(self._instant.state[len(y) :].copy(), shapes))
