"""The state between two steps: position, velocity, momentum and the multipliers last found."""

from __future__ import annotations

from typing import Any, NamedTuple


class State(NamedTuple):
    """q and p are advanced by increments (compensated summation); v, lam and psi are replaced at every step."""

    q: Any
    p: Any
    v: Any
    lam: Any
    psi: Any
