"""Systems whose steps read random numbers: `noise_values`, parameters that change from step to step while the compiled
equations stay."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

#: The field from which a method reads its random numbers.
NOISE = "noise_values"


def noisy(system: Any, shape: tuple[int, ...]) -> Any:
    """The system with random numbers of this shape as parameters, zero to begin with."""
    found = object.__new__(_noisy_kind(type(system)))
    for name, value in {**vars(system), NOISE: np.zeros(shape)}.items():
        object.__setattr__(found, name, value)
    return found


def quiet(system: Any) -> Any:
    """The system as it was before `noisy`."""
    base = getattr(type(system), "quiet_base", None)
    if base is None:
        return system
    found = object.__new__(base)
    for name, value in vars(system).items():
        if name != NOISE:
            object.__setattr__(found, name, value)
    return found


@functools.cache
def _noisy_kind(kind: type) -> type:
    names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__annotations__": {NOISE: Any}}
    made: Any = type(kind)(kind.__name__, (kind,), {**names, NOISE: None, "quiet_base": kind})
    return made
