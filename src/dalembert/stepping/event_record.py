"""What a run of event capturing saves: its rows, in blocks, with the impulses and iterations between saved states."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..engine import RowFunction
from ..formulation import mechanics_of
from ..method.event_equations import parts_of
from ..problem import AbstractSystem
from .shared_equations import Family, flat_parameters, for_family


class Rows(NamedTuple):
    """The ends of consecutive steps, one row each; `impulse` and `iterations` are those of the step."""

    t: np.ndarray
    y: np.ndarray
    lam: np.ndarray
    psi: np.ndarray
    impulse: np.ndarray
    iterations: np.ndarray


class EventRecord:
    """Every so manyth step of a run, the first state included."""

    def __init__(self, save_every: int) -> None:
        self._every, self._blocks, self._iterations = save_every, [], []
        self._impulse: np.ndarray | float = 0.0
        self._counted, self.steps = 0, 0

    def begin(self, first: Rows) -> None:
        """The state at the start."""
        self._blocks.append(first)

    def add(self, rows: Rows) -> None:
        """Rows that follow those before."""
        begun, self.steps = self.steps, self.steps + len(rows.t)
        if self._every == 1:
            self._blocks.append(rows)
            self._iterations.append(rows.iterations)
            return
        numbers = np.arange(begun + 1, self.steps + 1)
        kept = numbers % self._every == 0
        starts = np.flatnonzero(numbers % self._every == 1)
        starts = np.unique(np.concatenate([[0], starts]))
        impulses = np.add.reduceat(rows.impulse, starts, axis=0)
        counts = np.add.reduceat(rows.iterations, starts)
        impulses[0] += self._impulse
        counts[0] += self._counted
        whole = int(np.count_nonzero(kept))
        open_now = whole < len(starts)
        self._impulse, self._counted = (impulses[-1], int(counts[-1])) if open_now else (0.0, 0)
        if whole:
            t, y, lam, psi = (part[kept] for part in rows[:4])
            self._blocks.append(Rows(t, y, lam, psi, impulses[:whole], counts[:whole]))
            self._iterations.append(counts[:whole])

    @property
    def iterations(self) -> np.ndarray:
        """Newton's iterations between saved states."""
        return np.concatenate([*self._iterations, np.zeros(0, np.int64)])

    def states(self, system: AbstractSystem, rows: tuple[int, ...] | None) -> np.ndarray | None:
        """All saved rows as flat states q, p, v, lam, psi, impulse; None if there is none."""
        if not self._blocks:
            return None
        t, y, lam, psi, impulse = (np.concatenate(column) for column in list(zip(*self._blocks, strict=True))[:5])
        n = y.shape[1] // 2
        other = _others(Family(system), rows)(
            y, t, np.broadcast_to(flat_parameters(system), (len(t), Family(system).size))
        )
        q, second = y[:, :n], y[:, n:]
        p, v = (second, other) if system.gives_velocity else (other, second)
        return np.concatenate([q, p, v, lam, psi, impulse], axis=1)


@for_family(maxsize=64)
def _others(family: Family, rows: tuple[int, ...] | None) -> RowFunction:
    """What of v and p is left out of y."""

    def other(y, t, parameters):
        _, v, p = parts_of(mechanics_of(family.at(parameters), rows), t, y)
        return v if family.at(parameters).gives_velocity else p

    return RowFunction(other)
