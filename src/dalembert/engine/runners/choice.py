"""Which engine runs a step: native code where everything translates, XLA otherwise; the reason is reported."""

from __future__ import annotations

import functools
import platform
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from ...errors import InputError, MethodDoesNotFit, SlowEngineWarning, UnsupportedByEngine
from ..contract import StepFunctions, Unkeyed
from ..tuning import tuning
from .compile_time import compiling
from .native import NativeRun, TooLarge
from .phases import PhasedRun
from .sparse import SparseRun
from .xla import KEPT, XlaRun

Runner = TypeVar("Runner", NativeRun, PhasedRun)


@dataclass(frozen=True)
class EngineOptions:
    """What a run asks of its engine.

    `sizes` asks for a runner that takes steps of different sizes in one call, where there is one; `fresh` for one whose
    pivots were chosen at this very start, so that the run does not depend on those before it, to the last bit. `steps`
    is how many the run will take, if that is known: a short one need not wait for the fastest code.
    """

    compensated: bool = True
    engine: str = "auto"
    extended: bool = False
    sizes: bool = False
    fresh: bool = False
    steps: float = np.inf


#: What a run asks for that asks for nothing special.
USUAL = EngineOptions()


def choose_engine(
    functions: StepFunctions,
    state: np.ndarray,
    t0: float,
    h: float,
    parameters: np.ndarray,
    wanted: EngineOptions = USUAL,
) -> NativeRun | PhasedRun | SparseRun | XlaRun:
    """A runner for these step functions; compiled code is kept and serves the next call with the same functions."""
    engine, compensated = wanted.engine, wanted.compensated
    if engine == "cuda":
        raise InputError(
            'engine="cuda" is for batches with one step size: give q0 the shape (members, n), '
            "or a parameter as an array."
        )
    if wanted.extended:
        _check_extended(engine)
    if engine == "xla":
        return _xla(functions, compensated).begin("asked for")
    try:
        runner = _compiled(functions, (state, t0, h, parameters), wanted)
        return runner.begin() if not isinstance(runner, TooLarge) else _instead(functions, runner, wanted)
    except UnsupportedByEngine as reason:
        if engine == "native" or wanted.extended:
            cure = 'Use precision="double".' if wanted.extended else 'Use engine="auto" or engine="xla".'
            raise InputError(f"the native engine cannot run this system: {reason}. {cure}") from reason
        warnings.warn(
            f"the compiled engine does not translate {reason}; the run takes the XLA engine, about a thousand times "
            'slower. Write that part of the model by other operations, or ask for engine="xla" if it has to be so.',
            SlowEngineWarning,
            stacklevel=2,
        )
        return _xla(functions, compensated).begin(str(reason))


def _compiled(functions: StepFunctions, begins: tuple, wanted: EngineOptions) -> NativeRun | PhasedRun | TooLarge:
    start, soon = Unkeyed(begins), Unkeyed(wanted.steps < tuning().short_run)
    phased = bool(functions.phases or wanted.sizes) and not wanted.extended
    make, settings = (_phased, (wanted.compensated,)) if phased else (_native, (wanted.compensated, wanted.extended))
    runner, began = make(functions, *settings, start, soon)
    if wanted.fresh and not _same(begins, began):
        runner, _ = make.__wrapped__(functions, *settings, start, soon)
    return runner


def _instead(functions: StepFunctions, reason: TooLarge, wanted: EngineOptions) -> SparseRun:
    """The sparse engine for what cannot be compiled, unless compiled code was asked for or is needed."""
    if wanted.engine == "native":
        raise InputError(
            f"the native engine cannot compile this system: {reason} ({functions.size} unknowns). "
            'Use engine="auto", which takes the sparse engine here, or engine="xla".'
        )
    if functions.explicit:  # the sparse engine solves, it does not eliminate
        raise MethodDoesNotFit(
            f"this method has to be compiled, and this system cannot be: {reason} ({functions.size} unknowns). "
            'Use an implicit method, such as da.Rattle() or da.Composition(da.Rattle(), "kahan-li8").'
        )
    return _sparse(functions, wanted.compensated, Unkeyed(reason.traced)).begin(str(reason))


def compiled_or_reason(
    functions: StepFunctions, state: np.ndarray, t0: float, h: float, parameters: np.ndarray, steps: float = 0,
    *, fresh: bool = False,
) -> NativeRun | str:  # fmt: skip
    """A native runner for these step functions, or why there is none: for callers that have another way. `steps` is
    how many will be taken at least, if that is known; `fresh` asks for pivots chosen at this very state."""
    try:
        with compiling():
            soon = Unkeyed(steps < tuning().short_run)
            begins = state, t0, h, parameters
            runner, began = _native(functions, False, False, Unkeyed(begins), soon)
            if fresh and not _same(begins, began):
                runner, _ = _native.__wrapped__(functions, False, False, Unkeyed(begins), soon)
    except UnsupportedByEngine as reason:
        return str(reason)
    return str(runner) if isinstance(runner, TooLarge) else runner.begin()


def _check_extended(engine: str) -> None:
    if engine == "xla":
        raise InputError('precision="extended" needs the native engine; use engine="auto" or engine="native".')
    if platform.machine().lower() not in ("x86_64", "amd64") or np.finfo(np.longdouble).nmant != 63:
        raise InputError('precision="extended" needs the 80-bit floats of an x86 processor; use precision="double".')


def _same(start: tuple, other: tuple) -> bool:
    """Whether two starts are the same to the last bit."""
    return all(np.asarray(a).tobytes() == np.asarray(b).tobytes() for a, b in zip(start, other, strict=True))


@functools.lru_cache(maxsize=128)
def _native(
    functions: StepFunctions, compensated: bool, extended: bool, start: Unkeyed, soon: Unkeyed
) -> tuple[NativeRun | TooLarge, tuple]:
    """A runner, or why there is none, which takes as long to find out; and the start at which pivots were chosen."""
    return _made(NativeRun, functions, *start.value, compensated, extended, soon.value), start.value


@functools.lru_cache(maxsize=64)
def _phased(
    functions: StepFunctions, compensated: bool, start: Unkeyed, soon: Unkeyed
) -> tuple[PhasedRun | TooLarge, tuple]:
    return _made(PhasedRun, functions, *start.value, compensated, soon.value), start.value


def _made(kind: Callable[..., Runner], *arguments) -> Runner | TooLarge:
    """A runner, or why there is none; not the exception as it was raised, which holds the whole translation."""
    try:
        return kind(*arguments)
    except TooLarge as reason:
        return TooLarge(str(reason), reason.traced)


@functools.lru_cache(maxsize=64)
def _sparse(functions: StepFunctions, compensated: bool, traced: Unkeyed) -> SparseRun:
    return SparseRun(functions, compensated, traced.value)


@functools.lru_cache(KEPT)
def _xla(functions: StepFunctions, compensated: bool) -> XlaRun:
    return XlaRun(functions, compensated)
