"""With what a run was computed."""

from __future__ import annotations

import datetime
import functools
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any


@functools.cache
def _package_versions() -> dict[str, str]:
    return {name: _version(name) for name in ("dalembert", "jax", "jaxlib", "numpy", "llvmlite")}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # a source tree on the path
        return "not installed"


def versions() -> dict[str, Any]:
    """Versions of the packages that take part, the machine and the time."""
    return {
        "versions": _package_versions() | {"python": platform.python_version()},
        "machine": platform.machine(),
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }
