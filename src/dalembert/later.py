"""Methods of a class that are written in a room further on, and loaded when they are first asked for.

Data flows downward: a trajectory does not know pictures. So its class says only that there is a method `plot`; where
that method is found, the package says (`PROVIDERS`), which knows all rooms.
"""

from __future__ import annotations

from typing import Any

#: "Class.method" -> "module:function". The package fills it before any of its rooms is loaded.
PROVIDERS: dict[str, str] = {}


class Later:
    """A method that is loaded at its first use and then stands in the class like any other."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner, self._name = owner, name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        from .interruption import loaded  # not before: `import dalembert` loads next to nothing

        module, _, function = PROVIDERS[f"{self._owner.__name__}.{self._name}"].partition(":")
        setattr(self._owner, self._name, getattr(loaded(module), function))
        return getattr(owner if instance is None else instance, self._name)
