"""What a run of event capturing computes with: smooth steps by mode, and what holds at one instant.

Both are compiled by the engine, a mode when it first occurs. XLA serves (`event_kernels.py`) where contacts that are
held depend on each other, where a system does not translate, and where it is asked for.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from ..engine import NOT_FINITE, OK, Alternating, LoneSteps, NativeRun, StepFunctions, compiled_or_reason
from ..engine.contract import SINGULAR
from ..errors import DalembertError, InputError, SlowEngineWarning
from ..method import EventCapturing
from ..method.event_equations import Instant, Modes, free_modes
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


class Made(NamedTuple):
    """A compiled piece, and where its pivots were chosen."""

    what: str  # "mode", "bounces" or "instant"
    t: float
    y: np.ndarray
    modes: Modes
    runner: NativeRun


class Pieces:
    """The compiled pieces of one run."""

    def __init__(
        self, system: AbstractSystem, method: EventCapturing, layout: Layout, rows: tuple[int, ...] | None, h: float,
        steps: int, engine: str, width: float, fresh: bool = False,
    ) -> None:  # fmt: skip
        """`fresh`: with pivots that no other run has chosen. Many arguments: all of the run that its pieces need."""
        self._system, self._tableau, self._layout, self._rows = system, method.smooth_part, layout, rows
        self._parameters, self._h, self._steps = np.asarray(flat_parameters(system)), h, steps
        self.width, self._fresh = width, fresh
        self._made: list[Made] = []
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
        return np.concatenate([self._parameters, modes.direction, [self.width, float(guarded)]])

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
        runner = self._runner(functions, t, state, parameters, self._steps)
        if isinstance(runner, str):
            self._without(runner)
            return None
        self._made.append(Made("mode", t, y, modes, runner))
        looks = mode_of(self._tableau, self._layout, *key).looks
        return CompiledMode(runner, LoneSteps(runner, state, self._h, parameters), self._edges, looks, len(state))

    def bounces(self, t: float, y: np.ndarray, modes: Modes) -> Alternating | None:
        """Flights, together with steps in which there is one bounce; None where these are not compiled."""
        layout, flight = self._layout, self.mode(t, y, modes)
        if flight is None or np.any(modes.closed):
            return None
        if self._bounces is None:
            functions = bounce_steps(Family(self._system), self._tableau, layout)
            state = np.concatenate([y, np.zeros(functions.n_state - len(y))])
            runner = self._runner(functions, t, state, self.parameters(modes, guarded=True), self._steps)
            kept = bounce_state(self._tableau, layout).kept
            self._bounces = runner if isinstance(runner, str) else Alternating(flight.runner, runner, kept)
            if not isinstance(runner, str):
                self._made.append(Made("bounces", t, y, modes, runner))
        return None if isinstance(self._bounces, str) else self._bounces

    def _runner(self, functions: StepFunctions, t: float, state, parameters, steps: float = 0) -> NativeRun | str:
        return compiled_or_reason(functions, state, t, self._h, parameters, steps, fresh=self._fresh)

    # -- going on elsewhere --------------------------------------------------------------------------------------

    @property
    def condition(self) -> dict[str, Any]:
        """What was compiled, in its order, with all on which the bits of the next steps depend."""
        made = [
            {
                "what": piece.what, "t": piece.t, "y": piece.y, "modes": np.array(piece.modes[:3], dtype=np.float64),
                "steps": piece.runner.condition,
            }
            for piece in self._made
        ]  # fmt: skip
        return {"compiles": self._compiles, "made": made}

    def restore(self, condition: dict[str, Any]) -> None:
        """Compile the same, in the same order."""
        self._modes, self._instant, self._bounces, self._made = {}, None, None, []
        for piece in condition["made"]:
            closed, sticking, direction = piece["modes"]
            modes = Modes(closed.astype(bool), sticking.astype(bool), direction)
            {"mode": self.mode, "bounces": self.bounces}.get(piece["what"], lambda t, y, _: self.instant(t, y))(
                float(piece["t"]), piece["y"], modes
            )
            self._made[-1].runner.restore(piece["steps"], self._parameters)
        self._compiles = bool(condition["compiles"])

    def forget(self) -> None:
        """What single steps have learnt of the sizes of their unknowns."""
        for steps in (self._instant, *(mode.lone for mode in self._modes.values() if mode is not None)):
            if steps is not None:
                steps.forget()

    # -- what is computed ------------------------------------------------------------------------------------------

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
            runner = self._runner(functions, t, state, self._parameters)
            if isinstance(runner, str):
                self._without(runner)
            else:
                self._made.append(Made("instant", t, y, free_modes(self._layout.contacts), runner))
                self._instant = LoneSteps(runner, state, self._h, self._parameters)
        if self._instant is None:
            return self._kernels.instant(t, y, self._parameters)
        self._instant.take(t, 0.0, y)
        return Instant(*unpacked(self._instant.state[len(y) :].copy(), shapes))
