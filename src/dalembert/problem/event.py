"""Events that a user asks for: where a function of the motion passes zero, and what is to happen there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..arguments import count, flag, shown, takes
from ..errors import InputError


@dataclass(frozen=True, eq=False)
class Event:
    """Where `function(t, q, v)` passes zero during a run; give it to `simulate` as `events=[...]`.

    >>> down = Event(lambda t, q, v: q[1], direction=-1, terminal=True, name="ground")
    >>> down.name
    'ground'

    Args:
        function: a function (t, q, v) -> number, written with `jax.numpy`.
        direction: +1 for zeros that it passes from negative to positive values, -1 for the others, 0 for all.
        terminal: end the run there; its last state is that of the event.
        action: a function (t, q, v) -> (q, v): the motion goes on from there.
        name: by which the record of the run calls it; without one, that of the function.
    """

    function: Callable[..., Any]
    direction: int = 0
    terminal: bool = False
    action: Callable[..., Any] | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        if not takes(self.function, 3):
            raise InputError(f"Event: function must be a function of (t, q, v), got {shown(self.function)}.")
        count("Event: direction", self.direction, -1, 1)
        flag("Event: terminal", self.terminal)
        if self.action is not None and not takes(self.action, 3):
            raise InputError(
                f"Event: action must be a function of (t, q, v) that gives (q, v), got {shown(self.action)}."
            )
        if self.terminal and self.action is not None:
            raise InputError("Event: a run that ends at an event does not go on from it: give terminal or action.")
        if self.name is not None and (not isinstance(self.name, str) or not self.name):
            raise InputError(f"Event: name must be a text, got {shown(self.name)}.")

    @property
    def interrupts(self) -> bool:
        """Whether the motion does not go on as it did."""
        return self.terminal or self.action is not None


def named_events(events: Any) -> tuple[Event, ...]:
    """The events of a run, each with a name of its own."""
    if isinstance(events, Event):
        events = (events,)
    if not isinstance(events, Sequence) or not all(isinstance(event, Event) for event in events):
        raise InputError(f"events must be a list of da.Event(...), got {shown(events)}.")
    found: list[Event] = []
    for place, event in enumerate(events):
        own = getattr(event.function, "__name__", "")
        name = event.name or (own if own.isidentifier() else f"event {place}")
        if any(name == other.name for other in found):
            raise InputError(f"events must have different names, got {name!r} twice: da.Event(..., name=...).")
        found.append(Event(event.function, event.direction, event.terminal, event.action, name))
    return tuple(found)
