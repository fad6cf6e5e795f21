"""How a run is computed: the options of `simulate`, and what can be refused before anything is."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..arguments import choice, count, real
from ..errors import InputError
from ..method import EventCapturing, Langevin, Method, RungeKutta, SparkTableau
from ..multibody import Spheres
from ..problem import AbstractSystem, DifferentialAlgebraicInequality, Event, prepared
from ..problem.contact import RANGES
from .consistent import is_traced
from .loop import Keeping
from .step import check_fit
from .step_sizes import Adaptive, is_sequence


class Given(NamedTuple):
    """The starting values as the user gives them: q0, and one of v0 and p0."""

    q0: Any
    v0: Any
    p0: Any


@dataclass(frozen=True)
class Options:
    """How a run is computed; see `dalembert.simulate` for those that it has too."""

    t: Any = (0.0, 1.0)
    h: float | Sequence[float] | np.ndarray | Adaptive = 0.01
    save_every: int = 1
    progress: bool | Callable[[float], None] = False
    project: bool = False
    redundant: str = "refuse"
    compensated: bool | None = None  # where nothing is said, as far as a method adds increments
    engine: str = "auto"
    precision: str = "double"
    retry: bool = False
    checkpoint: Keeping | None = None
    traced_check: bool = True  # of a traced run: whether a step that fails raises an error
    events: tuple[Event, ...] = ()
    penetration: float | None = None  # what contacts may penetrate at the start, relative to the size of a gap
    any_velocity: bool = False  # accept a velocity off the constraints, as states of methods that do not keep them have

    def bar(self, steps: int) -> AbstractContextManager[Callable[[float], None]]:
        """What is told how many steps were taken: the user's function, or a progress bar where one is asked for."""
        if callable(self.progress):
            return nullcontext(self.progress)
        if not self.progress:
            return nullcontext(lambda taken: None)
        from .progress import progress_bar  # loads rich, which most runs do not need

        return progress_bar(steps)

    @property
    def sums_compensated(self) -> bool:
        """Whether increments are added with compensated summation."""
        return self.compensated is not False

    @property
    def extended(self) -> bool:
        """Whether 80-bit floats are asked for."""
        return self.precision == "extended"


def checked(system: AbstractSystem, method: Method, engine: str = "auto", precision: str = "double") -> AbstractSystem:
    """The system ready to run, after what can be refused before anything is computed."""
    if not isinstance(method, Method):
        if isinstance(method, type) and issubclass(method, Method):
            raise InputError(
                f"expected a method, got the class {method.__name__}; create an instance: {method.__name__}()."
            )
        if isinstance(method, RungeKutta | SparkTableau):
            wrap = "da.Spark" if isinstance(method, SparkTableau) else "da.EventCapturing"
            raise InputError(
                f"expected a method such as da.Rattle(), got a tableau, {type(method).__name__}; make a method of it: "
                f"{wrap}(...)."
            )
        raise InputError(f"expected a method such as da.Rattle(), got {type(method).__name__}.")
    system = prepared(system)
    check_fit(system, method)
    choice("engine", engine, ("auto", "native", "xla", "cuda"))
    choice("precision", precision, ("double", "extended"))
    return system


class Kind(NamedTuple):
    """Which way a run goes: the numbers of a single start, one expression of JAX, or the members of a batch."""

    traced: bool
    members: int | None


def batch_size(system: AbstractSystem, *arrays) -> int | None:
    """The number of members if a starting value has a leading axis, or a scalar parameter is an array; else None."""
    sizes = {array_shape(a)[0] for a in arrays if a is not None and _dimensions(a) == 2}
    sizes |= {np.shape(getattr(system, name))[0] for name in batched_fields(system)}
    if len(sizes) > 1:
        raise InputError(f"the members of a batch must agree in number, got leading axes of {sorted(sizes)}.")
    return sizes.pop() if sizes else None


def _dimensions(value) -> int:
    try:
        return np.ndim(value)
    except (TypeError, ValueError):  # a ragged list: refused later, with its name
        return 0


def array_shape(value) -> tuple[int, ...]:
    """The shape of an array; empty for what is none (the checks of a single start say what is wrong with it)."""
    try:
        return np.shape(value)
    except (TypeError, ValueError):
        return ()


def batched_fields(system: AbstractSystem) -> list[str]:
    """Fields declared as `float` that hold one value a member. Those of contacts may hold one value a contact: of a
    batch they are (members, contacts), or (members, 1) for all contacts of a member."""
    if not isinstance(system, AbstractSystem):
        return []
    scalar = [field.name for field in dataclasses.fields(system) if field.type in (float, "float")]
    return [name for name in scalar if np.ndim(getattr(system, name)) == (2 if name in RANGES else 1)]


def kind_of(system: AbstractSystem, method: Method, given: Given, options: Options) -> Kind:
    """The kind of a run; options that have no meaning for it are refused, none is ignored."""
    traced = is_traced(system, *given)
    kind = Kind(traced, None if traced else batch_size(system, *given))
    single = not traced and kind.members is None
    one_size = not isinstance(options.h, Adaptive) and not is_sequence(options.h)
    _check_direction(system, method, options)
    if options.penetration is not None and not system.provides("gap"):
        raise InputError(f"{type(system).__name__} has no gap(t, q), so nothing penetrates: leave out penetration.")
    if options.events:
        _check_watched(options, method, single, one_size)
    if isinstance(system, Spheres) and not (single and one_size):
        raise InputError("da.Spheres are simulated in single runs with numbers and one step size h.")
    if isinstance(method, EventCapturing):
        _check_events(options, kind, one_size)
    elif isinstance(method, Langevin):
        _check_random(options, single, one_size)
    elif not one_size:
        _check_sizes(options, kind)
    elif not single:
        _check_together(options, kind)
    elif options.checkpoint and options.extended:
        raise InputError('a store holds float64; use precision="double" with checkpoint.')
    choice("redundant", options.redundant, ("refuse", "allow"))
    return kind


def _check_direction(system: AbstractSystem, method: Method, options: Options) -> None:
    """Impacts lose what a way back would need, and the error of a step chooses the next one forward only."""
    contacts = system.provides("gap") or isinstance(method, EventCapturing)
    irreversible = isinstance(method, Langevin) or isinstance(system, DifferentialAlgebraicInequality)
    if contacts or irreversible or isinstance(options.h, Adaptive):
        times = options.t
        known = isinstance(times, tuple | list) and len(times) == 2 and all(real(x) is not None for x in times)
        if known and times[1] < times[0]:
            raise InputError(
                f"t must be a pair (t0, t1) with t0 < t1 for {'contacts' if contacts else 'such a run'}, got "
                f"({times[0]:g}, {times[1]:g}): smooth motions with given step sizes also run back in time."
            )


def _check_events(options: Options, kind: Kind, one_size: bool) -> None:
    if options.retry:
        raise InputError("retry is for runs with one step size h and a method without events.")
    if options.checkpoint and kind.members is not None:
        raise InputError("checkpoint is for a single run with numbers, not for a batch.")
    if options.engine == "cuda":
        raise InputError(
            'engine="cuda" takes batches in which all members do the same at the same time; with event capturing every '
            'member has its own events. Use engine="auto".'
        )
    if options.extended:
        raise InputError(
            "event capturing is computed in double precision, since the search for events and the laws of impact are: "
            'use precision="double".'
        )
    if options.compensated is not None:
        raise InputError(
            "event capturing does not add up increments, its states are moved onto the contacts that hold: compensated "
            "has no meaning for it. Leave compensated out."
        )
    if options.penetration is not None:
        raise InputError(
            "event capturing looks for the times at which gaps close, and takes no start at which they are negative: "
            "leave out penetration, and move q0 apart, or pass project=True."
        )
    if kind.traced and (options.engine == "xla" or options.progress or options.checkpoint):
        raise InputError(
            "under jit, vmap and grad event capturing runs in compiled code, without progress and checkpoint: use "
            'engine="auto", progress=False and no checkpoint.'
        )
    if kind.members is not None and options.progress:
        raise InputError("a batch is computed in one call, of which nothing can be shown: use progress=False.")
    if not one_size:
        raise InputError(f"event capturing takes one number as h, the largest step; got {options.h!r}.")


def _check_watched(options: Options, method: Method, single: bool, one_size: bool) -> None:
    if isinstance(method, EventCapturing):
        raise InputError("da.EventCapturing() finds the events of contacts: leave out events, and look at run.events.")
    if not single:
        raise InputError(
            "events are for a single run with numbers: when they happen depends on them. Simulate the members of a "
            "batch one by one, which compiles nothing anew, or use run.member(k).section(...)."
        )
    times = options.t
    if isinstance(times, tuple | list) and all(real(x) is not None for x in times) and times[-1] < times[0]:
        raise InputError(f"events are looked for forward in time: t must be a pair (t0, t1) with t0 < t1, got {times}.")
    if not one_size:
        raise InputError(f"events need one number as h, got {options.h!r}; run.section(...) takes other runs too.")
    if options.retry or options.checkpoint or options.extended:
        raise InputError(
            'checkpoint, retry and precision="extended" are for runs without events: leave them out, or use '
            "run.section(...)."
        )


def _check_random(options: Options, single: bool, one_size: bool) -> None:
    if not single:
        raise InputError(
            "da.Langevin draws random numbers for a single run with numbers: call da.simulate for every walker, each "
            "with a seed of its own; under jit, vmap and grad use da.step_function with jax.random."
        )
    if not one_size or options.retry or options.extended or options.events:
        raise InputError("da.Langevin takes steps of one size h in double precision, without retry and events.")


def _check_sizes(options: Options, kind: Kind) -> None:
    if options.retry or options.checkpoint:
        raise InputError("checkpoint and retry are for runs with one step size h and a method without events.")
    if isinstance(options.h, Adaptive) and (kind.traced or kind.members is not None):
        raise InputError(
            "da.Adaptive is for a single run with numbers, since it chooses how many steps there are; in a batch and "
            "under jit, vmap and grad give one number h, or the step sizes of such a run, run.h."
        )
    if kind.members is not None:
        raise InputError(
            "steps of different sizes are for a single run or under jax.vmap; for a batch give one number h."
        )
    if kind.traced:
        _check_together(options, kind)


def _check_together(options: Options, kind: Kind) -> None:
    """What a traced run and a batch do not take."""
    if options.retry or options.checkpoint:
        raise InputError("checkpoint and retry are for a single run with numbers, not for a batch, jit, vmap or grad.")
    if kind.traced and (options.engine == "cuda" or options.extended or options.progress):
        raise InputError(
            "under jit, vmap and grad a run is one expression of JAX in double precision, without progress: use "
            'engine="auto" or "xla", precision="double" and progress=False.'
        )
    if not kind.traced and options.progress:
        raise InputError("a batch is computed in one call, of which nothing can be shown: use progress=False.")
    if not kind.traced and (options.engine == "xla" or options.extended):
        raise InputError(
            'a batch runs on the native engine, or with engine="cuda" on a GPU, in double precision; use jax.vmap '
            "otherwise."
        )


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


def state_size(q0) -> int:
    """The numbers that a saved state has at least: q, v and p; a start that is none is refused later, with its name."""
    shape = array_shape(q0)
    return 3 * shape[-1] if shape else 3
