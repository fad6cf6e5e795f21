"""How large is an unknown? The scales in which Newton's updates are measured, found anew for every chunk of steps.

The scale of a group of unknowns is its size, or the change that would move a part of the new state (positions,
momenta) by that part's own size, whichever is larger: a multiplier that happens to be zero still has a scale.
"""

from __future__ import annotations

import numpy as np

from .array_step import ArrayStep
from .llvm_evaluate import CompiledEvaluator
from .step_program import StepProgram

#: Multipliers of the elimination this many times larger than at the start of a chunk: the pivots no longer suit.
GROWTH_LIMIT = 1e6


class NewtonScaling:
    """1 / scale of every Newton unknown, and as the last row the growth that is too much; one column a trajectory."""

    def __init__(self, step: StepProgram | ArrayStep) -> None:
        self._step = step
        functions = step.functions
        outputs = (step.guess, np.asarray(step.growth, dtype=np.int64), step.finish[: functions.n_summed])
        self._guess, self._growth, self._summed = (_Evaluation(step, nodes) for nodes in outputs)
        group_of = np.repeat(np.arange(len(functions.blocks)), functions.blocks)[step.unknowns]
        # unknowns sorted by group, so that one call finds the largest of every group
        self._sorted = np.argsort(group_of, kind="stable")
        self._groups, self._starts, self._row_of = np.unique(
            group_of[self._sorted], return_index=True, return_inverse=True
        )
        self._row_of = self._row_of[np.argsort(self._sorted, kind="stable")]
        self._parts = np.cumsum([0, *functions.summed_blocks])[:-1]

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
        own = np.maximum.reduceat(np.abs(x)[self._sorted], self._starts, axis=0)
        probes = np.where(own > 0, 1e-3 * own, 1e-3)
        here = self._table(self._summed(inputs | self._at(x)), count)
        sizes = np.maximum.reduceat(np.abs(state[: len(here)]), self._parts, axis=0)
        reach = np.empty(own.shape)
        with np.errstate(divide="ignore", invalid="ignore"):
            for row in range(len(self._groups)):
                moved = np.where((self._row_of == row)[:, None], x + probes[row], x)
                change = np.abs(self._table(self._summed(inputs | self._at(moved)), count) - here)
                moves = np.maximum.reduceat(change, self._parts, axis=0)
                candidates = probes[row] * sizes / moves
                useful = (sizes > 0) & (moves > 0) & np.isfinite(candidates)
                reach[row] = np.min(np.where(useful, candidates, np.inf), axis=0)
        scales = np.maximum(own, np.where(np.isfinite(reach), reach, 0.0))
        scales = np.where((scales > 0) & np.isfinite(scales), scales, 1.0)
        return np.concatenate([1.0 / scales[self._row_of], limit[None]])

    def _at(self, x: np.ndarray) -> dict:
        everything = np.zeros((self._step.functions.size, x.shape[1]))
        everything[self._step.unknowns] = x
        return {"x": everything}

    @staticmethod
    def _table(values: np.ndarray, count: int) -> np.ndarray:
        return np.broadcast_to(values[:, None] if values.ndim == 1 else values, (len(values), count))


class _Evaluation:
    """Values of some operations: of one trajectory by compiled code, of many by numpy, whose overhead they share."""

    def __init__(self, step: StepProgram | ArrayStep, nodes: np.ndarray) -> None:
        self._one = None
        if isinstance(step, StepProgram):
            self._one = CompiledEvaluator(step.program, np.asarray(nodes, dtype=np.int64).tolist())
        self._many = step.evaluator(nodes)

    def __call__(self, inputs: dict) -> np.ndarray:
        if self._one is not None and inputs["state"].shape[1] == 1:
            return self._one(inputs)[:, None]
        return self._many(inputs)
