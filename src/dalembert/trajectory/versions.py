"""With what a run was computed."""

from __future__ import annotations

import datetime
import functools
import platform
from importlib.metadata import version
from typing import Any


@functools.cache
def _package_versions() -> dict[str, str]:
    return {name: version(name) for name in ("dalembert", "jax", "jaxlib", "numpy", "llvmlite")}


def versions() -> dict[str, Any]:
    """Versions of the packages that take part, the machine and the time."""
    return {
        "versions": _package_versions() | {"python": platform.python_version()},
        "machine": platform.machine(),
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }
