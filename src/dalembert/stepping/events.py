"""The record of what contacts did: impacts, closings, openings, changes between stick and slip."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

KINDS = ("impact", "closing", "opening", "stick", "slip")
#: In the arrays of a run, names of events begin with this.
EVENT_PREFIX = "event_"
#: Events shown in full by `repr`.
SHOWN = 12


class ContactEvent(NamedTuple):
    """One event of one contact. Velocities and impulse have the parts (normal,) or (normal, tangential)."""

    time: float
    contact: int
    kind: str
    before: np.ndarray
    after: np.ndarray
    impulse: np.ndarray


@dataclass(frozen=True, repr=False)
class Events:
    """All events of a run, as arrays in the order of time; `events[k]` and iteration give single ones.

    Attributes:
        time: (N,).
        contact: the number of the contact, (N,).
        kind: "impact" (the velocity jumps), "closing" (lasting contact begins), "opening" (it ends), "stick", "slip"
            (sliding ends, begins), (N,).
        before: relative velocity U before the event, (N, d).
        after: relative velocity after it.
        impulse: contact impulse of the event.
    """

    time: np.ndarray
    contact: np.ndarray
    kind: np.ndarray
    before: np.ndarray
    after: np.ndarray
    impulse: np.ndarray

    @classmethod
    def of(cls, events: list[ContactEvent], directions: int) -> Events:
        """The record of a list of events."""
        vectors = (np.array([event[k] for event in events]).reshape(-1, directions) for k in (3, 4, 5))
        return cls(
            np.array([event.time for event in events], dtype=np.float64),
            np.array([event.contact for event in events], dtype=np.int64),
            np.array([event.kind for event in events], dtype="<U8"),
            *vectors,
        )

    def arrays(self) -> dict[str, np.ndarray]:
        """As plain arrays of numbers; the kind as its place in `KINDS`."""
        columns = {name: getattr(self, name) for name in self.__dataclass_fields__}
        columns["kind"] = np.array([KINDS.index(kind) for kind in self.kind], dtype=np.int64)
        return {EVENT_PREFIX + name: values for name, values in columns.items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Events:
        """The record whose `arrays` are among these."""
        columns = {name: np.asarray(arrays[EVENT_PREFIX + name]) for name in cls.__dataclass_fields__}
        columns["kind"] = np.array(KINDS, dtype="<U8")[columns["kind"]]
        return cls(**columns)

    def only(self, kind: str) -> Events:
        """The events of one kind."""
        keep = self.kind == kind
        return Events(*(getattr(self, name)[keep] for name in self.__dataclass_fields__))

    def __len__(self) -> int:
        return len(self.time)

    def __getitem__(self, k: int) -> ContactEvent:
        return ContactEvent(
            float(self.time[k]), int(self.contact[k]), str(self.kind[k]), self.before[k], self.after[k],
            self.impulse[k],
        )  # fmt: skip

    def __iter__(self) -> Iterator[ContactEvent]:
        return (self[k] for k in range(len(self)))

    def __repr__(self) -> str:
        counts = ", ".join(f"{np.sum(self.kind == kind)} {kind}" for kind in KINDS if kind in self.kind)
        lines = [f"Events({len(self)}{': ' if counts else ''}{counts})"]
        shown = list(range(len(self)))
        if len(shown) > SHOWN:
            shown = [*shown[: SHOWN // 2], -1, *shown[-SHOWN // 2 :]]
        if shown:
            lines.append(f"{'time':>16}  contact  {'kind':<8}  before -> after (impulse)")
        for k in shown:
            if k < 0:
                lines.append("             ...")
                continue
            event = self[k]
            before, after, impulse = (_vector(x) for x in (event.before, event.after, event.impulse))
            lines.append(f"{event.time:>16.10g}  {event.contact:>7}  {event.kind:<8}  {before} -> {after} ({impulse})")
        return "\n".join(lines)


def _vector(values: np.ndarray) -> str:
    return ", ".join(f"{value:.6g}" for value in values)
