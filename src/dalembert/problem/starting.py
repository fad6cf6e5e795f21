"""Systems that bring starting values along."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class WithStart(Protocol):
    """A system with a method `start()` whose result begins with q0 and v0, as those of the gallery have."""

    def start(self) -> Any: ...
