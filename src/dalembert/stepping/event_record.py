"""What a run of event capturing saves: its rows, with the impulses and iterations between saved states; in which modes
it was at which times; and what it goes on from.
"""

from __future__ import annotations

import bisect
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..engine import RowFunction
from ..formulation import mechanics_of
from ..method.event_equations import Modes, parts_of
from ..problem import AbstractSystem
from .shared_equations import Family, flat_parameters, for_family

#: In the arrays of a run, names of what modes were begin with this.
MODE_PREFIX = "mode_"


class Rows(NamedTuple):
    """The ends of consecutive steps, one row each; `impulse` and `iterations` are those of the step."""

    t: np.ndarray
    y: np.ndarray
    lam: np.ndarray
    psi: np.ndarray
    impulse: np.ndarray
    iterations: np.ndarray

    @classmethod
    def none(cls, y: int, lam: int, psi: int, impulse: int) -> Rows:
        """No row, of these lengths."""
        y_, lam_, psi_, impulse_ = (np.zeros((0, length)) for length in (y, lam, psi, impulse))
        return cls(np.zeros(0), y_, lam_, psi_, impulse_, np.zeros(0, np.int64))


def joined(rows: list[Rows]) -> Rows:
    """Rows that follow each other."""
    return Rows(*(np.concatenate(column) for column in zip(*rows, strict=True)))


class OpenInterval:
    """Impulses and iterations between saved states, which are every so manyth of the run."""

    def __init__(self, every: int) -> None:
        self._every = every
        self.impulse: np.ndarray | float = 0.0  # since the last saved state
        self.iterations = 0

    def closed_by(self, rows: Rows, begun: int) -> Rows:
        """Of rows that follow so many steps those to be saved, with what came between them summed up."""
        every = self._every
        if every == 1:
            return rows
        numbers = begun + 1 + np.arange(len(rows.t))
        kept = numbers % every == 0
        starts = np.unique(np.concatenate([[0], np.flatnonzero(numbers % every == 1)]))
        impulses = np.add.reduceat(rows.impulse, starts, axis=0)
        counts = np.add.reduceat(rows.iterations, starts)
        impulses[0] += self.impulse
        counts[0] += self.iterations
        whole = int(np.count_nonzero(kept))
        is_open = whole < len(starts)
        self.impulse, self.iterations = (impulses[-1], int(counts[-1])) if is_open else (0.0, 0)
        t, y, lam, psi = (part[kept] for part in rows[:4])
        return Rows(t, y, lam, psi, impulses[:whole], counts[:whole])


def flat_states(system: AbstractSystem, imposed: tuple[int, ...] | None, rows: Rows) -> np.ndarray:
    """Rows as flat states q, p, v, lam, psi, impulse; of dependent constraints those `imposed` tell v from p."""
    t, y, lam, psi, impulse, _ = rows
    n, family = y.shape[1] // 2, Family(system)
    parameters = np.broadcast_to(flat_parameters(system), (len(t), family.size))
    other = _others(family, imposed)(y, t, parameters) if len(t) else y[:, :n]
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


class Moment(NamedTuple):
    """All on which the motion from a time on depends."""

    t: float
    y: np.ndarray
    modes: Modes
    fastest: np.ndarray  # the largest speed of an impact of each contact
    far: float = 0.0  # the largest position and relative velocity up to now; found again where they are not known
    fast: float = 0.0


class ModeHistory:
    """The modes at the ends of steps, and since when each of them lasted."""

    def __init__(self, times: list[float] | None = None, modes: list[Modes] | None = None) -> None:
        self._times, self._modes = times or [], modes or []

    def note(self, t: float, modes: Modes) -> None:
        """The modes at the end of a step."""
        last = self._modes[-1] if self._modes else None
        if last is None or any(not np.array_equal(a, b) for a, b in zip(last, modes, strict=True)):
            self._times.append(t)
            self._modes.append(modes)

    def at(self, t: float) -> Modes:
        """The modes at the end of the last step up to the time t."""
        return self._modes[max(0, bisect.bisect_right(self._times, t) - 1)]

    def arrays(self) -> dict[str, np.ndarray]:
        """As plain arrays of numbers, a row for every change."""
        columns = [np.array(column, dtype=np.float64) for column in zip(*self._modes, strict=True)]
        return {
            MODE_PREFIX + name: values
            for name, values in zip(("time", *Modes._fields), [np.array(self._times), *columns], strict=True)
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> ModeHistory:
        """The history whose `arrays` are among these."""
        times, closed, sticking, direction, dependent = (
            np.asarray(arrays[MODE_PREFIX + name]) for name in ("time", *Modes._fields)
        )
        rows = zip(closed.astype(bool), sticking.astype(bool), direction, dependent.tolist(), strict=True)
        return cls(times.tolist(), [Modes(*row) for row in rows])
