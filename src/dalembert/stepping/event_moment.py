"""What the motion of a run of event capturing goes on from at a time, and in which modes it was at which times."""

from __future__ import annotations

import bisect
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..method.event_equations import Modes

#: In the arrays of a run, names of what modes were begin with this.
MODE_PREFIX = "mode_"


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
