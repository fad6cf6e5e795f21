"""How large is an unknown? The scales in which Newton's updates are measured, found anew for every chunk of steps.

The scale of a group of unknowns is its size, or the change that would move a part of the new state (positions,
momenta) by that part's own size, whichever is larger: a multiplier that happens to be zero still has a scale.
"""

from __future__ import annotations

import numpy as np

from .array_step import ArrayStep
from .step_program import StepProgram

#: Multipliers of the elimination this many times larger than at the start of a chunk: the pivots no longer suit.
GROWTH_LIMIT = 1e6


class NewtonScaling:
    """1 / scale of every Newton unknown, and as the last row the growth that is too much; one column a trajectory."""

    def __init__(self, step: StepProgram | ArrayStep) -> None:
        self._step = step
        functions = step.functions
        self._guess = step.evaluator(step.guess)
        self._growth = step.evaluator(np.asarray(step.growth, dtype=np.int64))
        self._summed = step.evaluator(step.finish[: functions.n_summed])
        self._group_of = np.repeat(np.arange(len(functions.blocks)), functions.blocks)[step.unknowns]
        self._groups = np.unique(self._group_of)
        self._parts = np.split(np.arange(functions.n_summed), np.cumsum(functions.summed_blocks)[:-1])

    def __call__(self, state: np.ndarray, x: np.ndarray | None, t, h, parameters: np.ndarray) -> np.ndarray:
        """Rows: Newton unknowns and the growth limit. `x` holds the last solutions, None before the first step."""
        count = state.shape[1]
        state = np.asarray(state, dtype=np.float64)
        inputs: dict = {"t": np.array([t]), "h": np.array([h]), "state": state, "parameter": np.asarray(parameters)}
        x = self._table(self._guess(inputs), count) if x is None else np.asarray(x, dtype=np.float64)
        growth = self._table(self._growth(inputs | self._at(x)), count)
        growth = np.where(np.isfinite(growth), np.abs(growth), 0.0)
        limit = GROWTH_LIMIT * np.maximum(1.0, np.max(growth, axis=0, initial=0.0))
        if len(x) == 0:
            return limit[None]
        own = np.stack([np.max(np.abs(x[self._group_of == group]), axis=0) for group in self._groups])
        probes = np.where(own > 0, 1e-3 * own, 1e-3)
        here = self._table(self._summed(inputs | self._at(x)), count)
        reach = np.full(own.shape, np.inf)
        for row, group in enumerate(self._groups):
            moved = np.where((self._group_of == group)[:, None], x + probes[row], x)
            with np.errstate(invalid="ignore"):
                change = np.abs(self._table(self._summed(inputs | self._at(moved)), count) - here)
            for part in self._parts:
                size, move = np.max(np.abs(state[part]), axis=0), np.max(change[part], axis=0)
                with np.errstate(divide="ignore", invalid="ignore"):
                    candidate = probes[row] * size / move
                useful = (size > 0) & (move > 0) & np.isfinite(candidate)
                reach[row] = np.where(useful, np.minimum(reach[row], candidate), reach[row])
        scales = np.maximum(own, np.where(np.isfinite(reach), reach, 0.0))
        scales = np.where((scales > 0) & np.isfinite(scales), scales, 1.0)
        return np.concatenate([1.0 / scales[np.searchsorted(self._groups, self._group_of)], limit[None]])

    def _at(self, x: np.ndarray) -> dict:
        everything = np.zeros((self._step.functions.size, x.shape[1]))
        everything[self._step.unknowns] = x
        return {"x": everything}

    @staticmethod
    def _table(values: np.ndarray, count: int) -> np.ndarray:
        return np.broadcast_to(values[:, None] if values.ndim == 1 else values, (len(values), count))
