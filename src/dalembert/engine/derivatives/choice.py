"""Which way a traced run goes: compiled code with its own derivatives where there is some, XLA otherwise."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...errors import SlowEngineWarning, UnsupportedByEngine
from ..contract import StepFunctions
from ..program.array_program import ArrayProgram
from ..program.program import Program
from ..trace.tracing import trace
from ..tuning import tuning
from .programs import adjoint, all_unknowns, repeated, tangent


def reason_for_xla(functions: StepFunctions) -> str | None:
    """Why a traced run of this step cannot be taken by compiled code; None if it can."""
    if jax.default_backend() != "cpu":
        return f"the arrays of this program are on a {jax.default_backend()}, compiled steps run on the CPU"
    reason = _untranslated(functions)
    if reason is not None:
        warnings.warn(
            f"the compiled engine does not translate {reason}; under jit, vmap and grad the run takes the XLA engine, "
            'about a hundred times slower. Write that part of the model by other operations, or ask for engine="xla".',
            SlowEngineWarning,
            stacklevel=2,
        )
    return reason


class _Solvable:
    """Linear systems inside a traced function, where it is only asked whether they can be solved on operations."""

    def __init__(self) -> None:
        self.met = False

    def solution(self, forms: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Some operations."""
        self.met = True
        return right


def _whole(functions: StepFunctions, x, *rest):
    return jnp.concatenate([functions.guess(*rest), functions.residual(x, *rest), functions.finish(x, *rest)])


@functools.lru_cache(maxsize=256)
def _untranslated(functions: StepFunctions) -> str | None:
    """What the engine does not translate, of the step or of its derivative, if there is anything."""
    step, _ = repeated(functions)
    try:
        read_by(step, forwards=False)
        _traced(step, step)
    except UnsupportedByEngine as reason:
        return str(reason)
    return None


@functools.lru_cache(maxsize=256)
def read_by(step: StepFunctions, forwards: bool) -> tuple[int, ...]:
    """The unknowns on which the tangent (or else the adjoint) of a step depends. Where these are linear, as momenta and
    multipliers mostly are, there are few."""
    whole = all_unknowns(step)
    program, results, given = _traced((tangent if forwards else adjoint)(step, whole), step)
    if program.linear_systems.met:  # what was put in their place says nothing
        return whole
    places = np.asarray(given[step.n_state : step.n_state + step.size])
    read = np.isin(places, np.asarray(program.needed(results), dtype=np.int64))
    return tuple(np.flatnonzero(read).tolist())


def _traced(made: StepFunctions, step: StepFunctions) -> tuple[Any, np.ndarray, np.ndarray]:
    """A step, or a derivative of it, in operations: the program, all results, and the parameters."""
    large = step.size >= tuning().rolled_from
    program: Any = ArrayProgram(expected=40 * step.size) if large else Program()
    program.linear_systems = _Solvable()
    x, state, parameters = (
        program.inputs(name, size)
        for name, size in (("x", made.size), ("state", made.n_state), ("parameter", made.n_parameters))
    )
    rest = (program.inputs("t", 1)[0], program.inputs("h", 1)[0], state, parameters)
    return program, trace(program, functools.partial(_whole, made), x, *rest), parameters
