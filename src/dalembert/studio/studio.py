"""What an open studio holds: the exhibits that may be shown, the worker, and the latest runs for download."""

from __future__ import annotations

import itertools
import pathlib
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from ..errors import DalembertError, InputError
from ..gallery import SYSTEMS
from ..plots import animate
from .computing import Computed, compute
from .exhibit import Exhibit, gallery_exhibit
from .export import export_html
from .messages import PullRequest, RunRequest
from .pictures import invariants_message, picture_message
from .pulling import pull
from .script import script_of
from .worker import Superseded, Worker

#: Runs that can still be downloaded.
KEPT_RUNS = 16
#: What can be downloaded of a run.
FILE_TYPES = {
    "run.py": "text/x-python; charset=utf-8",
    "run.nc": "application/x-netcdf",
    "run.html": "text/html; charset=utf-8",
    "run.gif": "image/gif",
    "run.mp4": "video/mp4",
}

#: Hands a message to a page: text, or bytes with what newer ones of it replace.
Send = Callable[[str, Any], None]


class Studio:
    """The exhibits that were opened, and the gallery."""

    def __init__(self, opened: Iterable[Exhibit] = ()) -> None:
        self.opened = tuple(opened)
        self._exhibits = {exhibit.key: exhibit for exhibit in self.opened}
        self.worker = Worker()
        self._runs: OrderedDict[int, tuple[Exhibit, Computed]] = OrderedDict()
        self._numbers = itertools.count(1)

    def exhibit(self, key: str) -> Exhibit:
        """One that was opened, or a system of the gallery; nothing else can be reached from a page."""
        if key not in self._exhibits:
            if key not in SYSTEMS:
                raise InputError(f"nothing called {key[:80]!r} is open.")
            self._exhibits[key] = gallery_exhibit(key)
        return self._exhibits[key]

    def warm_up(self, exhibit: Exhibit) -> None:
        """Trace and compile the first run while the browser still starts."""
        request = RunRequest(0, {}, exhibit.method)

        def job(check: Callable[[float], None]) -> None:
            try:
                picture_message(exhibit, compute(exhibit, request, check))
            except DalembertError:  # the page asks again, and is told
                return

        self.worker.submit(("warm-up", exhibit.key), job)

    def answer(self, owner: Any, exhibit: Exhibit, request: RunRequest | PullRequest, send: Send) -> None:
        """Compute what a page asks for, and send it; replaces what the page has asked for before."""

        def job(check: Callable[[float], None]) -> None:
            try:
                if isinstance(request, PullRequest):
                    pull(exhibit, request, check, send)
                else:
                    self._run(exhibit, request, check, send)
            except Superseded:
                raise
            except DalembertError as reason:
                send("error", {"kind": "error", "identity": request.identity, "text": str(reason)})
            except Exception as reason:  # of a model file, for example: the studio goes on
                text = f"{type(reason).__name__}: {' '.join(str(reason).split())[:2000]}"
                send("error", {"kind": "error", "identity": request.identity, "text": text})

        self.worker.submit(owner, job)

    def _run(self, exhibit: Exhibit, request: RunRequest, check: Callable[[float], None], send: Send) -> None:
        computed = compute(exhibit, request, check)
        number = next(self._numbers)
        self._runs[number] = exhibit, computed
        while len(self._runs) > KEPT_RUNS:
            self._runs.popitem(last=False)
        send("run", picture_message(exhibit, computed, number))
        check(0.0)
        more = invariants_message(exhibit, computed)
        if more is not None:
            send("more", more)

    def file(self, number: int, name: str) -> bytes:
        """A run as a file."""
        if number not in self._runs or name not in FILE_TYPES:
            raise InputError("this run is not kept any more; change something to compute it again.")
        exhibit, computed = self._runs[number]
        if name == "run.html":
            return export_html(exhibit, computed).encode()
        if name == "run.py":
            if computed.call is None:
                raise InputError("a run from a file was not computed here, and has no script.")
            return script_of(computed.call).encode()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / name
            if name == "run.nc":
                computed.run.save(path)
            else:
                animate(computed.run, path)
            return path.read_bytes()
