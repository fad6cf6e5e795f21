"""Do the constraints stay independent along a run? Linkages pass dead points, where their gradients do not.

At such a point the motion is not determined: several branches leave it, and a run takes one by chance, or fails.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from ..stepping import observe
from ..trajectory import Trajectory, check_single

#: A singular value below this is zero, whatever happens around it.
NO_RANK = 1e-8


@dataclass(frozen=True)
class ConstraintRank:
    """The smallest singular value of g_q, with rows of length 1, over the saved states; of dependent constraints, which
    `redundant="allow"` admits, the smallest of those that did not vanish at the start.

    Attributes:
        smallest: its least value; 1 for gradients at right angles, 0 where they depend on each other.
        time: when that was.
        lost: the times at which it vanishes, also between saved states.
        values: all of them, (N,).
    """

    smallest: float
    time: float
    lost: tuple[float, ...]
    values: np.ndarray

    def __bool__(self) -> bool:
        """True if the constraints stay independent."""
        return not self.lost

    def __repr__(self) -> str:
        lost = ", ".join(f"{time:.4g}" for time in self.lost) or "never"
        return f"ConstraintRank(smallest={self.smallest:.3g} at t={self.time:.4g}, lost at t={lost})"


def constraint_rank(run: Trajectory) -> ConstraintRank:
    """Whether a run passed through a configuration in which its holonomic constraints are dependent.

    Near such a point the smallest singular value falls and rises again like |t - t*|. A point between two saved states
    is found by following the slopes on both sides of a minimum down to zero: they meet zero next to it where the value
    vanishes, and far from it where the value has a rounded minimum. So enough states must be saved to see the slopes.
    """
    check_single(run, "examine")
    if run.system is None:
        raise InputError("constraint_rank needs the system, which a loaded file does not hold; repeat the run.")
    if not run.system.provides("holonomic"):
        raise InputError(f"constraint_rank: {type(run.system).__name__} has no holonomic constraints.")
    system = run._require_system("the gradients of its constraints")
    t, q = np.asarray(run.t), np.asarray(run.q, dtype=np.float64)
    flat = observe(system, "gradients", t, q, np.asarray(run.v), np.asarray(run.p))
    gradients = flat.reshape(len(t), -1, q.shape[1])
    rows = run._info["rows"]
    rank = gradients.shape[1] if rows is None else len(rows)
    lengths = np.linalg.norm(gradients, axis=2, keepdims=True)
    values = np.linalg.svd(gradients / np.where(lengths > 0, lengths, 1.0), compute_uv=False)[:, rank - 1]
    least = int(np.argmin(values))
    return ConstraintRank(float(values[least]), float(t[least]), _zeros(t, values), values)


def _zeros(t: np.ndarray, values: np.ndarray) -> tuple[float, ...]:
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
