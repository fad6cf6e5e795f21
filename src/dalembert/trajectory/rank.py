"""The rank of the holonomic constraints along the states of a run."""

from __future__ import annotations

import numpy as np

from ..problem import AbstractSystem
from ..stepping import observe

#: A singular value below this is zero, whatever happens around it.
NO_RANK = 1e-8


def smallest_singular_values(system: AbstractSystem, rows, t, q, v, p) -> np.ndarray:
    """The smallest singular value of g_q, with rows of length 1, at every state; of dependent constraints, of which
    `rows` are independent, the smallest of those that did not vanish at the start."""
    t, q, v, p = (np.asarray(part, dtype=np.float64) for part in (t, q, v, p))
    gradients = observe(system, "gradients", t, q, v, p).reshape(len(t), -1, q.shape[1])
    rank = gradients.shape[1] if rows is None else len(rows)
    lengths = np.linalg.norm(gradients, axis=2, keepdims=True)
    return np.linalg.svd(gradients / np.where(lengths > 0, lengths, 1.0), compute_uv=False)[:, rank - 1]


def times_of_zero(t: np.ndarray, values: np.ndarray) -> tuple[float, ...]:
    """The times at which the values reach zero, at a saved state or between two of them."""
    found = [float(time) for time in t[values <= NO_RANK]]
    for k in range(2, len(t) - 2):
        if values[k] <= NO_RANK or not (values[k - 1] >= values[k] < values[k + 1]):
            continue
        left = _where_zero(t[k - 2], values[k - 2], t[k - 1], values[k - 1])
        right = _where_zero(t[k + 2], values[k + 2], t[k + 1], values[k + 1])
        # both lines meet zero within the two steps around the minimum, and at about the same time
        step = t[k + 1] - t[k - 1]
        if t[k - 1] <= left <= t[k + 1] and t[k - 1] <= right <= t[k + 1] and abs(left - right) <= 0.25 * step:
            found.append(0.5 * (left + right))
    return tuple(sorted(found))


def _where_zero(t0: float, value0: float, t1: float, value1: float) -> float:
    """Where the line through two points meets zero; infinity if it does not fall towards the second."""
    return t1 + (t1 - t0) * value1 / (value0 - value1) if value0 > value1 else np.inf
