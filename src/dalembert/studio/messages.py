"""What a page may ask for: a message from outside becomes a checked record, or an `InputError` that says what is wrong.

Messages are JSON objects. A page names exhibits, methods and parameters that the studio has shown it; numbers are
finite and within bounds, lists are short. Nothing in a message names a file or is executed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..arguments import shown
from ..errors import InputError

#: Characters of a message: the start of a chain of thousands of links fits.
LONGEST_MESSAGE = 1_000_000
MOST_COORDINATES = 20_000
MOST_STEPS = 2_000_000
MOST_NEIGHBOURS = 32


@dataclass(frozen=True)
class Drag:
    """Move the start so that one of the drawn points comes as near to a place as the constraints allow."""

    point: int
    to: tuple[float, ...]


@dataclass(frozen=True)
class Neighbours:
    """Runs from starts beside the start, to see how they part."""

    count: int
    distance: float


@dataclass(frozen=True)
class RunRequest:
    """A run that a page asks for; `None` leaves the choice to the exhibit."""

    identity: int
    parameters: dict[str, float]
    method: str
    h: float | None = None
    t_end: float | None = None
    q0: tuple[float, ...] | None = None
    v0: tuple[float, ...] | None = None
    beside: str | None = None
    drag: Drag | None = None
    neighbours: Neighbours | None = None
    work: bool = False  # whether the errors of both methods are measured too
    contacts: bool = False  # whether the forces of contacts are found too
    reactions: bool = False  # whether those of constraints are


@dataclass(frozen=True)
class PullRequest:
    """Run in real time while a point is drawn towards a place; `point` None lets go, `stop` ends it. The first one says
    where it begins: at a time `at` of the run with this number, so many times as fast as the clock."""

    identity: int
    point: int | None = None
    to: tuple[float, ...] = ()
    stop: bool = False
    number: int | None = None
    at: float = 0.0
    speed: float = 1.0


Request = RunRequest | PullRequest


def parsed(text: Any) -> Request:
    """The request that a message holds."""
    if not isinstance(text, str):
        raise InputError(f"expected a text message, got {type(text).__name__}.")
    if len(text) > LONGEST_MESSAGE:
        raise InputError(f"the message has {len(text):,} characters, at most {LONGEST_MESSAGE:,} are read.")
    try:
        content = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the message is not JSON: {error}") from None
    if not isinstance(content, dict):
        raise InputError(f"expected a JSON object, got {shown(content, 80)}.")
    match content.get("kind"):
        case "run":
            return _run(content)
        case "pull":
            return _pull(content)
        case kind:
            raise InputError(f'kind must be "run" or "pull", got {shown(kind, 80)}.')


def _run(content: Mapping[str, Any]) -> RunRequest:
    _refuse_others(content, set(RunRequest.__dataclass_fields__) | {"kind"})
    parameters = content.get("parameters", {})
    if not isinstance(parameters, dict):
        raise InputError(f"parameters must be an object of numbers by name, got {shown(parameters, 80)}.")
    beside = content.get("beside")
    q0, v0 = (_optional(content, name, lambda x, n=name: _vector(n, x)) for name in ("q0", "v0"))
    if (q0 is None) != (v0 is None):
        raise InputError("give q0 and v0, or neither of them.")
    return RunRequest(
        identity=_whole("identity", content.get("identity"), 0, 2**53),
        parameters={str(name): _number(f"parameter {name}", value) for name, value in parameters.items()},
        method=_word("method", content.get("method")),
        h=_optional(content, "h", lambda x: _number("h", x, positive=True)),
        t_end=_optional(content, "t_end", lambda x: _number("t_end", x)),
        q0=q0,
        v0=v0,
        beside=None if beside is None else _word("beside", beside),
        drag=_optional(content, "drag", _drag),
        neighbours=_optional(content, "neighbours", _neighbours),
        work=_truth("work", content.get("work", False)),
        contacts=_truth("contacts", content.get("contacts", False)),
        reactions=_truth("reactions", content.get("reactions", False)),
    )


def _pull(content: Mapping[str, Any]) -> PullRequest:
    _refuse_others(content, set(PullRequest.__dataclass_fields__) | {"kind"})
    stop = _truth("stop", content.get("stop", False))
    point = _optional(content, "point", lambda x: _whole("point", x, 0, MOST_COORDINATES))
    to = _place("to", content["to"]) if point is not None and "to" in content else ()
    if point is not None and not to:
        raise InputError("a pull needs the place to which the point is drawn.")
    return PullRequest(
        _whole("identity", content.get("identity"), 0, 2**53),
        point,
        to,
        stop,
        _optional(content, "number", lambda x: _whole("number", x, 0, 2**53)),
        _number("at", content.get("at", 0.0)),
        _number("speed", content.get("speed", 1.0), positive=True),
    )


def _drag(value: Any) -> Drag:
    if not isinstance(value, dict) or set(value) != {"point", "to"}:
        raise InputError(f'drag must be an object with "point" and "to", got {shown(value, 80)}.')
    return Drag(_whole("point", value["point"], 0, MOST_COORDINATES), _place("to", value["to"]))


def _neighbours(value: Any) -> Neighbours:
    if not isinstance(value, dict) or set(value) != {"count", "distance"}:
        raise InputError(f'neighbours must be an object with "count" and "distance", got {shown(value, 80)}.')
    distance = _number("distance", value["distance"], positive=True)
    return Neighbours(_whole("count", value["count"], 1, MOST_NEIGHBOURS), distance)


# -- plain values --------------------------------------------------------------------------------------------------


def _refuse_others(content: Mapping[str, Any], known: set[str]) -> None:
    unknown = sorted(set(content) - known)
    if unknown:
        raise InputError(f"the message has no entry {shown(unknown[0], 80)}; it has: {', '.join(sorted(known))}.")


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number in JSON")


def _optional(content: Mapping[str, Any], name: str, read):
    value = content.get(name)
    return None if value is None else read(value)


def _number(name: str, value: Any, *, positive: bool = False) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e300 or not math.isfinite(value):
        raise InputError(f"{name} must be a finite number, got {shown(value, 80)}.")
    if positive and value <= 0:
        raise InputError(f"{name} must be greater than 0, got {shown(value, 80)}.")
    return float(value)


def _whole(name: str, value: Any, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InputError(f"{name} must be a whole number from {least} to {most}, got {shown(value, 80)}.")
    return value


def _truth(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"{name} must be true or false, got {shown(value, 80)}.")
    return value


def _word(name: str, value: Any) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= 80:
        raise InputError(f"{name} must be a name, got {shown(value, 80)}.")
    return value


def _vector(name: str, value: Any) -> tuple[float, ...]:
    if not isinstance(value, list) or not 0 < len(value) <= MOST_COORDINATES:
        raise InputError(f"{name} must be a list of 1 to {MOST_COORDINATES:,} numbers, got {shown(value, 80)}.")
    return tuple(_number(f"{name}[{k}]", x) for k, x in enumerate(value))


def _place(name: str, value: Any) -> tuple[float, ...]:
    place = _vector(name, value)
    if len(place) not in (2, 3):
        raise InputError(f"{name} must have 2 or 3 coordinates, got {len(place)}.")
    return place
