"""How large is an unknown? The scales in which Newton's updates are measured, found anew for every chunk of steps.

The scale of a group of unknowns is its size, or the change that would move a part of the new state (positions,
momenta) by that part's own size, whichever is larger: a multiplier that happens to be zero still has a scale.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ..program.array_program import CODE, ArrayProgram
from ..program.levels import WITH_UNKNOWNS
from ..step.array_step import ArrayStep
from ..step.step_program import StepProgram
from ..tuning import tuning

#: Unknowns are moved by this part of their size to see what they move.
PROBE = 1e-3


def scale_groups(step: StepProgram | ArrayStep) -> np.ndarray:
    """Of every Newton unknown, the number of the group that shares its scale."""
    functions = step.functions
    group_of = np.repeat(np.arange(len(functions.blocks)), functions.blocks)[step.unknowns]
    return np.unique(group_of, return_inverse=True)[1]


def parts_of_state(step: StepProgram | ArrayStep) -> list[tuple[int, int]]:
    """Where the parts of the state that are advanced by increments begin and end."""
    ends = np.cumsum([0, *step.functions.summed_blocks]).tolist()
    return [(a, b) for a, b in itertools.pairwise(ends) if b > a]


def moving_increments(step: StepProgram | ArrayStep) -> np.ndarray:
    """The increments of the state without what is added to them whatever the unknowns are: a change of unknowns changes
    both alike. (All of a Taylor series but its projection is left out.)"""
    nodes = np.array(step.finish[: step.functions.n_summed], dtype=np.int64)
    if isinstance(step, ArrayStep):
        return _moving_in_arrays(step.program, nodes)
    program = step.program
    moving = []
    for node in nodes.tolist():
        while program.op[node] in ("add", "sub"):
            late = [a for a in program.args[node] if program.late[a]]
            if len(late) != 1:
                break
            (node,) = late
        moving.append(node if program.late[node] else program.zero)
    return np.array(moving, dtype=np.int64)


def _moving_in_arrays(program: ArrayProgram, nodes: np.ndarray) -> np.ndarray:
    while True:
        sums = (program.code[nodes] == CODE["add"]) | (program.code[nodes] == CODE["sub"])
        first, second = (np.where(sums, column[nodes], nodes) for column in (program.first, program.second))
        late = [program.when[part] == WITH_UNKNOWNS for part in (first, second)]
        kept = np.where(sums & late[0] & ~late[1], first, np.where(sums & late[1] & ~late[0], second, nodes))
        if np.array_equal(kept, nodes):
            return np.where(program.when[nodes] == WITH_UNKNOWNS, nodes, program.zero)
        nodes = kept


class NewtonScaling:
    """1 / scale of every Newton unknown, and as the last row the growth that is too much; one column a trajectory."""

    def __init__(self, step: StepProgram | ArrayStep, arrays=np) -> None:
        """`arrays` is numpy, or what stands in for it on a GPU: then the columns are there, and so is the result."""
        self._step, self._arrays = step, arrays
        outputs = (step.guess, np.asarray(step.growth, dtype=np.int64), moving_increments(step))
        self._guess, self._growth, self._increments = (step.evaluator(nodes, arrays) for nodes in outputs)
        groups = scale_groups(step)
        self._unknowns, self._position = arrays.asarray(step.unknowns, dtype=np.int64), arrays.asarray(groups)
        self._members = [arrays.asarray(np.flatnonzero(groups == k)) for k in range(groups.max(initial=-1) + 1)]
        self._parts = [slice(*part) for part in parts_of_state(step)]

    def __call__(self, state, x, t, h, parameters) -> Any:
        """Rows: Newton unknowns and the growth limit. `x` holds the last solutions, None before the first step."""
        xp, count = self._arrays, state.shape[1]
        state = xp.asarray(state, dtype=np.float64)
        inputs: dict = {"t": np.array([t]), "h": np.array([h]), "state": state, "parameter": xp.asarray(parameters)}
        x = self._table(self._guess(inputs), count) if x is None else xp.asarray(x, dtype=np.float64)
        growth = self._table(self._growth(inputs | self._at(x)), count)
        growth = xp.where(xp.isfinite(growth), xp.abs(growth), 0.0)
        limit = tuning().growth_limit * xp.max(xp.concatenate([xp.ones((1, count)), growth]), axis=0)
        if len(x) == 0:
            return limit[None]
        own = xp.stack([xp.max(xp.abs(x[members]), axis=0) for members in self._members])
        probes = xp.where(own > 0, PROBE * own, PROBE)
        here = self._table(self._increments(inputs | self._at(x)), count)
        sizes = xp.stack([xp.max(xp.abs(state[part]), axis=0) for part in self._parts])
        reach = xp.empty(own.shape)
        with np.errstate(all="ignore"):
            for row, members in enumerate(self._members):
                moved = x.copy()
                moved[members] += probes[row]
                change = xp.abs(self._table(self._increments(inputs | self._at(moved)), count) - here)
                moves = xp.stack([xp.max(change[part], axis=0) for part in self._parts])
                candidates = probes[row] * sizes / moves
                useful = (sizes > 0) & (moves > 0) & xp.isfinite(candidates)
                reach[row] = xp.min(xp.where(useful, candidates, np.inf), axis=0)
        scales = xp.maximum(own, xp.where(xp.isfinite(reach), reach, 0.0))
        scales = xp.where((scales > 0) & xp.isfinite(scales), scales, 1.0)
        return xp.concatenate([1.0 / scales[self._position], limit[None]])

    def _at(self, x) -> dict:
        everything = self._arrays.zeros((self._step.functions.size, x.shape[1]))
        everything[self._unknowns] = x
        return {"x": everything}

    def _table(self, values, count: int) -> Any:
        return self._arrays.broadcast_to(values[:, None] if values.ndim == 1 else values, (len(values), count))
