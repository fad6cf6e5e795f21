"""Do the constraints stay independent along a run? Linkages pass dead points, where their gradients do not.

At such a point the motion is not determined: several branches leave it, and a run takes one by chance, or fails.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from ..trajectory import Trajectory, check_single, smallest_singular_values, times_of_zero


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
    t, values = np.asarray(run.t), smallest_singular_values(system, run._info["rows"], run.t, run.q, run.v, run.p)
    least = int(np.argmin(values))
    return ConstraintRank(float(values[least]), float(t[least]), times_of_zero(t, values), values)
