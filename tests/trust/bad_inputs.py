"""Calls of everything public with arguments of which one or two are bad, and what may come of it.

A call may be refused with an error of the library that says something, it may raise what a function of the user's
raised, or it may give a result: numbers without NaN, and a run with status ok only if it is right to the last state.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import random
import signal
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import jax
import matplotlib.pyplot as plt
import numpy as np
from bad_values import bad_value

import dalembert as da

#: Seconds after which a call counts as hanging; the slowest right ones compile for ten of them on a free machine.
PATIENCE = 120
#: The shortest message that can say what was expected and what came.
SHORTEST_MESSAGE = 20


class UsersOwn(Exception):
    """What a function of the user's raises: it may pass through unchanged."""


class Hangs(BaseException):
    """The alarm; not an Exception, so that nothing on the way catches it."""


@dataclass(frozen=True)
class Target:
    """A public callable, arguments with which it works, and what kind of thing each of them is."""

    name: str
    call: Callable[..., Any]
    good: Callable[[], dict[str, Any]]
    kinds: dict[str, str]


@dataclass
class Tally:
    """What came of the calls; `defects` are the ones that must not be."""

    outcomes: Counter[str] = field(default_factory=Counter)
    by_target: Counter[str] = field(default_factory=Counter)
    defects: list[str] = field(default_factory=list)

    @property
    def calls(self) -> int:
        return self.outcomes.total()

    def report(self, title: str) -> str:
        found = ", ".join(f"{count} {name}" for name, count in sorted(self.outcomes.items()))
        return f"{title}: {self.calls} calls of {len(self.by_target)} targets: {found}"


@contextlib.contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raise `Hangs` in the block after so many seconds."""

    def ring(*_):
        raise Hangs

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def spoiled(target: Target, chance: random.Random) -> dict[str, Any]:
    """The good arguments, of which one, or sometimes two, are replaced."""
    arguments = target.good()
    names = chance.sample(sorted(target.kinds), k=min(len(target.kinds), chance.choice([1, 1, 1, 2])))
    return arguments | {name: bad_value(target.kinds[name], chance) for name in names}


def try_call(tally: Tally, name: str, call: Callable[[], Any], description: str) -> None:
    """Make one call and enter what came of it."""
    tally.by_target[name] += 1
    try:
        with alarm(PATIENCE), warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            outcome = _judged(call())
    except da.DalembertError as error:
        outcome = "refused" if len(str(error)) >= SHORTEST_MESSAGE else f"says too little: {error}"
    except UsersOwn:
        outcome = "refused by the user's own function"
    except Hangs:
        outcome = f"hangs for {PATIENCE} s"
    except Exception as error:
        text = (str(error).splitlines() or [""])[0]
        outcome = f"untyped {type(error).__name__}: {text[:160]}"
    finally:
        plt.close("all")
    good = ("refused", "refused by the user's own function", "gives a result", "fails and says so")
    if outcome not in good:
        tally.defects.append(f"{name}: {outcome}\n    {description}")
        outcome = "defects"
    tally.outcomes[outcome] += 1


def _judged(result: Any) -> str:
    if isinstance(result, da.Trajectory):
        if np.ndim(result.status) == 0 and not result.status:
            return "fails and says so"
        numbers = [result.t, result.q, result.v, result.p]
        if np.ndim(result.status):
            numbers = [np.asarray(x)[np.asarray(result.status) == 0] for x in numbers]
    elif isinstance(result, ObservedOrder):  # it repeats the errors that were given, and masks those it cannot use
        numbers = [result.slope, result.intercept, result.residual]
    elif isinstance(result, da.Method | da.System | da.HamiltonianSystem):  # judged when they are used
        numbers = []
    else:
        numbers = list(_numbers(result))
    bad = [x for x in numbers if np.asarray(x).dtype.kind == "f" and not np.all(np.isfinite(x))]
    return f"silent NaN in {type(result).__name__}" if bad else "gives a result"


ObservedOrder = type(da.observed_order([0.1, 0.05, 0.025], [1e-2, 2.5e-3, 6.25e-4]))


def _numbers(result: Any) -> Iterator[Any]:
    if dataclasses.is_dataclass(result) and not isinstance(result, type):
        result = [getattr(result, entry.name) for entry in dataclasses.fields(result)]
    for leaf in jax.tree.leaves(result):
        if isinstance(leaf, float | int | np.ndarray | np.generic | jax.Array):
            yield leaf


def described(arguments: dict[str, Any], good: dict[str, Any]) -> str:
    """The arguments that differ from the good ones."""
    changed = {name: value for name, value in arguments.items() if repr(value) != repr(good.get(name, ...))}
    return ", ".join(f"{name}={value!r:.120}" for name, value in changed.items())


def random_calls(tally: Tally, targets: list[Target], count: int, seed: int) -> None:
    """Call each target about equally often, with other bad arguments every time."""
    chance = random.Random(seed)
    for number in range(count):
        target = targets[number % len(targets)]
        arguments = spoiled(target, chance)
        text = described(arguments, target.good())
        try_call(tally, target.name, lambda t=target, a=arguments: t.call(**a), text)
