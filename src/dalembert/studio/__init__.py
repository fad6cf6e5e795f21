"""The studio: a local page in the browser on which systems are seen, turned and changed.

`dalembert studio` serves it (with the extra `studio`: starlette and uvicorn); `run.view()` and `da.view(system)` show
the same view in a notebook, without a server.
"""

from .exhibit import Exhibit, Launch, gallery_exhibit, run_exhibit, system_exhibit
from .notebook import View, view, view_run

__all__ = [
    "Exhibit", "Launch", "View", "gallery_exhibit", "run_exhibit", "system_exhibit", "view", "view_run",
]  # fmt: skip
