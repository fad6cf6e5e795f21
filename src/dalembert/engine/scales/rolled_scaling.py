"""The scales of Newton's unknowns for rolled code, found by that code itself.

A step that is taken with its updates left out computes the increments of the state for given unknowns, and the
multipliers of the elimination; with unknowns moved a little it shows how far they move the state. The rules are those
of `NewtonScaling`, which walks through the operations one by one: three times as long for 100 links.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..code.step_memory import room_for
from ..contract import HISTORY, LOOK_ONLY, rounded
from ..step.array_step import ArrayStep
from ..tuning import tuning
from .scaling import PROBE, parts_of_state, scale_groups

#: Updates of the size of roundoff count as this; the code takes what is that small, and shrinks no more, for solved.
ROUNDOFF = 1e-14


class Code(NamedTuple):
    """Rolled code of a step: its function (without the memory), its memory, and what lies where in that."""

    function: Callable
    memory: Callable[[], contextlib.AbstractContextManager[list[np.ndarray]]]
    unknowns: int
    updates: int
    increments: int


class RolledScaling:
    """1 / scale of every Newton unknown, and as the last number the growth that is too much."""

    def __init__(self, step: ArrayStep, code: Code, dtype) -> None:
        functions = step.functions
        self._code, self._dtype, self._functions = code, dtype, functions
        self._groups, self._parts = scale_groups(step), [slice(*part) for part in parts_of_state(step)]
        # with exchanges of rows, that updates are rough is due to the equations; else it may be due to bad pivots
        self._exchanges = step.reduced.exchanges_rows
        count = len(step.unknowns)
        sizes = (count, len(step.remembered), len(step.reduced.blocks))
        self._room = room_for(
            (sizes,), (0,), functions.n_state, functions.n_summed, functions.n_parameters, np.dtype(dtype).itemsize
        )
        self._table = np.zeros((HISTORY + 1, HISTORY), dtype)
        self._table[:, 0] = 1.0  # unknowns are those of the last step, as given

    def __call__(self, state, x, t: float, h: float, parameters) -> np.ndarray:
        """`x` holds the last solution, None before the first step."""
        x, updates, here, growth = self._look(state, x, t, h, parameters)
        limit = tuning().growth_limit * max(1.0, growth)
        if not len(x):
            return np.array([limit])
        own = np.zeros(int(self._groups.max()) + 1)
        np.maximum.at(own, self._groups, np.abs(x))
        sizes = np.array([np.max(np.abs(state[part])) for part in self._parts])
        scales = own.copy()
        with np.errstate(all="ignore"):
            for group, size in enumerate(own.tolist()):
                probe = PROBE * size if size > 0 else PROBE
                moved = np.where(self._groups == group, x + probe, x)
                change = np.abs(self._look(state, moved, t, h, parameters)[2] - here)
                moves = np.array([np.max(change[part]) for part in self._parts])
                reach = probe * sizes / moves
                useful = (sizes > 0) & (moves > 0) & np.isfinite(reach)
                scales[group] = max(size, np.min(reach[useful], initial=np.inf) if useful.any() else 0.0)
            if self._exchanges:
                scales = np.fmax(scales, self._roundoff(state, x, updates, t, h, parameters) / ROUNDOFF)
        scales = np.where((scales > 0) & np.isfinite(scales), scales, 1.0)
        return np.concatenate([1.0 / scales[self._groups], [limit]])

    def _roundoff(self, state, x, updates: np.ndarray, t: float, h: float, parameters) -> np.ndarray:
        """By how much updates differ, in every group, if unknowns and state are rounded otherwise. (With coordinates of
        size 1000 and h = 0.001 it is a millionth of a multiplier.)"""
        random, epsilon = np.random.default_rng(0), float(np.finfo(self._dtype).eps)
        x, state = (rounded(part, random, epsilon) for part in (x, state))
        found = np.zeros(int(self._groups.max()) + 1)
        np.maximum.at(found, self._groups, np.abs(self._look(state, x, t, h, parameters)[1] - updates))
        return found

    def _look(self, state, x, t: float, h: float, parameters) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """The unknowns, the updates they would get, the increments of the state, and the largest multiplier."""
        room, held = self._room, self._room.sections
        numbers, integers = np.zeros(room.numbers, self._dtype), np.zeros(room.integers, np.int64)
        numbers[held["time"]] = t, h
        numbers[held["state"]], numbers[held["parameters"]] = state, parameters
        if x is not None:
            numbers[held["history"]][: len(x)] = x
        numbers[held["weights"]][-1] = np.inf  # any growth will do; with the others zero, an iteration is the last
        integers[0], integers[3] = 0 if x is None else HISTORY, LOOK_ONLY
        pointers = room.pointers_of_one(numbers, integers, self._table)
        code, n_summed = self._code, self._functions.n_summed
        with code.memory() as memory:
            work = memory[0]
            code.function(*pointers, *[part.ctypes.data for part in memory], 1, 1)
            unknowns, updates, increments = (
                np.array(work[place : place + count], dtype=np.float64)
                for place, count in (
                    (code.unknowns, len(self._groups)),
                    (code.updates, len(self._groups)),
                    (code.increments, n_summed),
                )
            )
        growth = float(numbers[held["last"]][1])
        return unknowns, updates, increments, growth if np.isfinite(growth) else 0.0
