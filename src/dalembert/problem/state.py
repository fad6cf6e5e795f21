"""The state between two steps: position, velocity, momentum and the multipliers last found."""

from __future__ import annotations

from typing import NamedTuple

import jax


class State(NamedTuple):
    """q and p are advanced by increments (compensated summation); v, lam and psi are replaced at every step."""

    q: jax.Array
    p: jax.Array
    v: jax.Array
    lam: jax.Array
    psi: jax.Array
