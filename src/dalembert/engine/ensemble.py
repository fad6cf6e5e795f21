"""Many trajectories of one system: vectors of float64 lanes, all cores, a mask for members that have converged.

Members may differ in starting values and parameters. A member that fails keeps its last good state and is reported;
the others go on.
"""

from __future__ import annotations

import concurrent.futures
import os

import numpy as np

from .contract import FIRST_CONTRACTION, HISTORY, OK, StepFunctions, extrapolation_weights
from .llvm_arithmetic import Arithmetic
from .llvm_compile import lanes
from .native import CHUNK_OPERATIONS, Compiled
from .scaling import NewtonScaling
from .step_program import build_step_program


class EnsembleRun:
    """Vector code for one step program; keeps the state of all members between chunks."""

    name = "native (ensemble)"

    def __init__(
        self,
        functions: StepFunctions,
        states: np.ndarray,
        t0: float,
        h: float,
        parameters: np.ndarray,
        compensated: bool,
    ) -> None:
        self.functions = functions
        self.width = lanes()
        self.step = build_step_program(functions, states[0], t0, h, parameters[0])
        self._compiled = Compiled(self.step, Arithmetic(width=self.width), compensated)
        self._scaling = NewtonScaling(self.step)

    def report(self) -> dict:
        return {**self.step.statistics, "from_cache": self._compiled.from_cache, "lanes": self.width}

    @property
    def chunk_steps(self) -> int:
        """Steps a chunk takes before it returns to Python."""
        return max(1, CHUNK_OPERATIONS // max(1, self._compiled.operations))

    def begin(self, states: np.ndarray, parameters: np.ndarray) -> None:
        """Lay out the members, (members, n), in groups of lanes, (groups, n, width); the last group is filled up."""
        self._members = len(states)
        self._groups = -(-self._members // self.width)
        self._state, self._parameters = self._in_lanes(states), self._in_lanes(parameters)
        unknowns, blocks = len(self.step.unknowns), len(self.step.reduced.blocks)
        self._compensation = np.zeros((self._groups, self.functions.n_summed, self.width))
        self._history = np.zeros((self._groups, HISTORY * unknowns, self.width))
        self._contraction = np.full((self._groups, blocks, self.width), FIRST_CONTRACTION)
        self._last = np.zeros((self._groups, 4, self.width))
        self._counters = np.zeros((self._groups, 4), dtype=np.int64)
        self._table = np.repeat(extrapolation_weights().reshape(-1, 1), self.width, axis=1)

    def _in_lanes(self, rows: np.ndarray) -> np.ndarray:
        filled = np.concatenate([rows, np.repeat(rows[-1:], self._groups * self.width - self._members, axis=0)])
        return np.ascontiguousarray(filled.reshape(self._groups, self.width, -1).transpose(0, 2, 1))

    def _members_first(self, lanes_last: np.ndarray) -> np.ndarray:
        """(groups, ..., width) -> (members, ...)."""
        moved = np.moveaxis(lanes_last, -1, 1)
        return moved.reshape(self._groups * self.width, *moved.shape[2:])[: self._members]

    def run(self, t0: float, h: float, steps: int, save_every: int) -> tuple[np.ndarray, int]:
        """Saved states (members, saves, n_state) and the Newton iterations spent (vector iterations)."""
        columns = self._groups * self.width
        flat_state = self._state.transpose(1, 0, 2).reshape(-1, columns)
        flat_parameters = self._parameters.transpose(1, 0, 2).reshape(-1, columns)
        started = int(self._counters[0, 0]) > 0
        newest = self._history[:, : len(self.step.unknowns)].transpose(1, 0, 2).reshape(-1, columns)
        t = t0 + float(self._counters[0, 1]) * h
        weights = self._scaling(flat_state, newest if started else None, t, h, flat_parameters)
        weights = np.ascontiguousarray(weights.reshape(-1, self._groups, self.width).transpose(1, 0, 2))
        n_saves = steps // save_every + 2
        saved = np.empty((self._groups, n_saves, self.functions.n_state, self.width))
        iterations = np.zeros((self._groups, 2, n_saves), dtype=np.int64)
        time = np.repeat(np.array([[t0], [h]]), self.width, axis=1)
        self._counters[:, 2:] = (0, OK)

        def one(g: int) -> None:
            arrays = (
                time, self._state[g], self._compensation[g], self._history[g], self._contraction[g],
                self._parameters[g], weights[g], self._table, saved[g], self._last[g], self._counters[g],
                iterations[g, 0], iterations[g, 1],
            )  # fmt: skip
            self._compiled.function(*[array.ctypes.data for array in arrays], steps, save_every)

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(one, range(self._groups)))
        count = int(self._counters[0, 2])
        return self._members_first(saved[:, :count]), int(iterations[:, 0].sum())

    @property
    def failed(self) -> np.ndarray:
        """For each member the steps it took before it failed, -1 if it did not."""
        last = self._members_first(self._last)
        return np.where(last[:, 2] > 0, last[:, 3], -1).astype(np.int64)
