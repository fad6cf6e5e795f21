"""Every method by name, for the command line, the documentation's table and the tests of the claims."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import InputError
from .base import Method
from .rattle import Rattle, Shake


@dataclass(frozen=True)
class Entry:
    """One method of the catalogue, with one line about it and its source."""

    method: Method
    summary: str
    reference: str


CATALOGUE: dict[str, Entry] = {
    "rattle": Entry(
        Rattle(),
        "holonomic constraints at position and velocity level, symplectic",
        "Andersen 1983; Jay 1996",
    ),
    "shake": Entry(
        Shake(),
        "holonomic constraints at position level, reversible in q",
        "Ryckaert, Ciccotti, Berendsen 1977",
    ),
}


def method_named(name: str) -> Method:
    """The method of the catalogue called `name`."""
    try:
        return CATALOGUE[name.lower()].method
    except KeyError:
        raise InputError(f"unknown method {name!r}; expected one of: {', '.join(sorted(CATALOGUE))}.") from None
