"""The record of events of smooth runs: when a function of the motion passed zero, and the state there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..problem import Event
from .step import Layout

#: Events shown in full by `repr`.
SHOWN = 12
#: The arrays of a run in which they are, and the entry of its description that says the rest.
ARRAYS, INFO = ("event_time", "event_which", "event_before", "event_after"), "user_events"


class Crossing(NamedTuple):
    """One event: its time, the name, position, velocity and momentum there; position and velocity from which the motion
    goes on, which are others where the event has an action."""

    time: float
    name: str
    q: np.ndarray
    v: np.ndarray
    p: np.ndarray
    q_after: np.ndarray
    v_after: np.ndarray


@dataclass(frozen=True, repr=False)
class Crossings:
    """All events of a run, in the order of time; `events[k]` and iteration give single ones.

    Attributes:
        time: (N,).
        name: the names of the events, (N,).
        q: positions at the events, (N, n).
        v: velocities, (N, n); before the action where there is one.
        p: momenta, (N, n).
        q_after: positions from which the motion goes on, (N, n).
        v_after: velocities from which it goes on, (N, n).
    """

    time: np.ndarray
    name: np.ndarray
    q: np.ndarray
    v: np.ndarray
    p: np.ndarray
    q_after: np.ndarray
    v_after: np.ndarray

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any], names: list[str]) -> Crossings:
        """The record whose arrays (`Found.arrays`) are among these."""
        time, which, before, after = (np.asarray(arrays[name]) for name in ARRAYS)
        n = np.shape(arrays["q"])[-1]
        ends = (before[:, place : place + n] for place in (0, 2 * n, n))
        after_ends = (after[:, place : place + n] for place in (0, 2 * n))
        return cls(time, np.array(names, dtype=np.str_)[which.astype(np.int64)], *ends, *after_ends)

    def only(self, name: str) -> Crossings:
        """The events of one name."""
        keep = self.name == name
        return Crossings(*(getattr(self, field)[keep] for field in self.__dataclass_fields__))

    def __len__(self) -> int:
        return len(self.time)

    def __getitem__(self, k: int) -> Crossing:
        return Crossing(
            float(self.time[k]), str(self.name[k]), self.q[k], self.v[k], self.p[k], self.q_after[k], self.v_after[k]
        )  # fmt: skip

    def __iter__(self) -> Iterator[Crossing]:
        return (self[k] for k in range(len(self)))

    def __repr__(self) -> str:
        counts = ", ".join(f"{np.sum(self.name == name)} {name}" for name in dict.fromkeys(self.name.tolist()))
        lines = [f"Crossings({len(self)}{': ' if counts else ''}{counts})"]
        shown = list(range(len(self)))
        if len(shown) > SHOWN:
            shown = [*shown[: SHOWN // 2], -1, *shown[-SHOWN // 2 :]]
        for k in shown:
            lines.append("             ..." if k < 0 else f"{self.time[k]:>18.12g}  {self.name[k]}")
        return "\n".join(lines)


class Found:
    """Events as they are found: the states before and after, whole, as a run needs them to be interpolated."""

    def __init__(self, events: tuple[Event, ...], layout: Layout) -> None:
        self.events, self._size = events, layout.n_state
        self._times: list[float] = []
        self._which: list[int] = []
        self._before: list[np.ndarray] = []
        self._after: list[np.ndarray] = []

    def add(self, time: float, which: int, before: np.ndarray, after: np.ndarray) -> None:
        """One event; after it the motion goes on from the state `after`."""
        self._times.append(time)
        self._which.append(which)
        self._before.append(before)
        self._after.append(after)

    def __len__(self) -> int:
        return len(self._times)

    def arrays(self) -> dict[str, np.ndarray]:
        """As plain arrays of numbers."""
        states = (np.array(part, dtype=np.float64).reshape(-1, self._size) for part in (self._before, self._after))
        return dict(zip(ARRAYS, (np.array(self._times), np.array(self._which, np.int64), *states), strict=True))

    def about(self) -> dict[str, Any]:
        """What the numbers mean: the names, and which events change the motion."""
        return {INFO: {"names": [event.name for event in self.events],
                       "interrupts": [event.interrupts for event in self.events]}}  # fmt: skip
