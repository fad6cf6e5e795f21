"""The studio: a local page in the browser on which systems are seen, turned and changed.

`dalembert studio` serves it (with the extra `studio`: starlette and uvicorn); `run.view()` and `da.view(system)` show
the same view in a notebook, without a server.

What is public here is loaded when it is first asked for: the server begins to answer while the rest is being loaded.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .exhibit import Exhibit, Launch, gallery_exhibit, run_exhibit, system_exhibit
    from .notebook import View, view, view_run

__all__ = [
    "Exhibit", "Launch", "View", "gallery_exhibit", "run_exhibit", "system_exhibit", "view", "view_run",
]  # fmt: skip
_IN_NOTEBOOKS = ("View", "view", "view_run")


def __getattr__(name: str):
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(".notebook" if name in _IN_NOTEBOOKS else ".exhibit", __name__), name)
