"""Packages that not everybody needs: what to install where one of them is missing."""

from __future__ import annotations

import sys

#: The packages that this library imports where they are needed, and the extras that bring them.
EXTRA_OF = {
    "matplotlib": "plots",
    "PIL": "plots",
    "xarray": "files",
    "pandas": "files",
    "netCDF4": "files",
    "zarr": "files",
    "numba": "contact",
    "starlette": "studio",
    "uvicorn": "studio",
    "websockets": "studio",
    "dask": "sweep",
    "distributed": "sweep",
}


def explain(name: str) -> None:
    """Say which extra has a package that was not found, where a module of this library wanted it."""
    if _asked_from_here():
        from .errors import MissingPackage

        raise MissingPackage(
            f"this needs the package {name}, which is not installed: pip install 'dalembert[{EXTRA_OF[name]}]'",
            name=name,
        )


def _asked_from_here() -> bool:
    """Whether the import stands in a module of this library. Others, who look whether there is a package, get their
    usual answer."""
    frame = sys._getframe(3)  # behind this function, `explain` and the finder
    while frame is not None and "importlib" in frame.f_code.co_filename:
        frame = frame.f_back
    asking = "" if frame is None else str(frame.f_globals.get("__name__", ""))
    return asking.partition(".")[0] == __name__.partition(".")[0]
