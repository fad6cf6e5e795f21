"""The state between two steps: position, velocity, momentum, the multipliers and contact impulses last found."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class State(NamedTuple):
    """q and p are advanced by increments (compensated summation); the others are replaced at every step.

    `impulse` holds the impulses of all contacts during the last step, one after the other, the normal one first.
    """

    q: Any
    p: Any
    v: Any
    lam: Any
    psi: Any
    impulse: Any = np.zeros(0)

    def row(self, index) -> State:
        """One of many states in arrays with time first; impulses may be absent."""
        parts = (self.q, self.p, self.v, self.lam, self.psi)
        return State(
            *(part[index] for part in parts), impulse=self.impulse[index] if self.impulse.size else np.zeros(0)
        )
