"""`Plan`: the motion that `optimal_control` found, a trajectory with its costates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from ..simulation import InputNodes
from ..trajectory import Trajectory

if TYPE_CHECKING:
    from .newton_optimum import Solution
    from .transcription import Transcription


class Plan(Trajectory):
    """A run whose inputs were found. It is a minimum next to the guess; there may be others.

    It is a `Trajectory`, and has beside:

    Attributes:
        cost: what was minimised.
        horizon: the length of the plan.
        control: the inputs at the points of every step; `simulate(..., control=plan.control)` repeats the motion.
        history: cost, largest defect of the equations and gradient of the Lagrangian, one row an iteration.
    """

    cost: float
    horizon: float
    control: InputNodes
    history: np.ndarray
    _problem: Transcription
    _solution: Solution

    @property
    def costate(self) -> np.ndarray:
        """The derivative of the remaining cost by the state (q, v), (N, 2n), along the constraint manifold."""
        return self._arrays["costate"]


# what JAX makes of its leaves has no plan behind it any more
_without_plan: Any = Trajectory.tree_unflatten
jax.tree_util.register_pytree_node(Plan, Plan.tree_flatten, _without_plan)
