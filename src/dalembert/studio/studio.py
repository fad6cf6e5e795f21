"""What an open studio holds: the exhibits that may be shown, the worker, and the latest runs for download."""

from __future__ import annotations

import itertools
import pathlib
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..errors import DalembertError, InputError
from ..gallery import SYSTEMS
from ..plots import animate
from ..plots.arrows import FORCES
from ..plots.forces import Wanted, forces_in
from .computing import Computed, compute, method_for
from .exhibit import Exhibit, gallery_exhibit
from .export import export_html
from .messages import PullRequest, RunRequest
from .pictures import invariants_message, live_message, picture_message, pose_message
from .pulling import Hand, LiveRun, Place
from .script import script_of
from .worker import Job, Superseded, Worker
from .working import work_message

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


Check = Callable[[float], None]
#: Seconds without a request after which it is found what takes longer than the picture.
REST = 0.15
#: Seconds between two words about how far a run is.
TELLING = 0.3


def _told(request: RunRequest | PullRequest, send: Send, job: Job) -> Job:
    """The job, whose failure the page is told."""

    def told(check: Check) -> None:
        try:
            job(check)
        except Superseded:
            raise
        except DalembertError as reason:
            send("error", {"kind": "error", "identity": request.identity, "text": str(reason)})
        except Exception as reason:  # of a model file, for example: the studio goes on
            text = f"{type(reason).__name__}: {' '.join(str(reason).split())[:2000]}"
            send("error", {"kind": "error", "identity": request.identity, "text": text})

    return told


def _telling(request: RunRequest, check: Check, send: Send) -> Check:
    """The check, which also tells the page now and then how many steps were taken."""
    told = time.monotonic()

    def checked(taken: float) -> None:
        nonlocal told
        check(taken)
        if time.monotonic() - told > TELLING:
            told = time.monotonic()
            send("progress", {"kind": "progress", "identity": request.identity, "taken": taken})

    return checked


class Studio:
    """The exhibits that were opened, and the gallery."""

    file_types = FILE_TYPES

    def __init__(self, opened: Iterable[Exhibit] = ()) -> None:
        self.opened = tuple(opened)
        self._exhibits = {exhibit.key: exhibit for exhibit in self.opened}
        self._opening = threading.Lock()
        self._poses: dict[str, bytes] = {}
        self.worker = Worker()
        self._runs: OrderedDict[int, tuple[Exhibit, Computed]] = OrderedDict()
        self._numbers = itertools.count(1)
        self._live: dict[Any, LiveRun] = {}  # of the pages on which something is pulled

    def exhibit(self, key: str) -> Exhibit:
        """One that was opened, or a system of the gallery; nothing else can be reached from a page."""
        with self._opening:  # requests come from several threads
            if key not in self._exhibits:
                if key not in SYSTEMS:
                    raise InputError(f"nothing called {key[:80]!r} is open.")
                self._exhibits[key] = gallery_exhibit(key)
            return self._exhibits[key]

    def warm_up(self, exhibit: Exhibit) -> None:
        """Trace and compile the first run while the browser still starts."""
        request = RunRequest(0, {}, exhibit.method, contacts=forces_in(exhibit.system).contacts)

        def job(check: Check) -> None:
            try:
                picture_message(exhibit, compute(exhibit, request, check))
            except DalembertError:  # the page asks again, and is told
                return

        self.worker.submit(("warm-up", exhibit.key), job)

    def pose(self, exhibit: Exhibit) -> bytes:
        """The scene at the start of an exhibit, for which nothing is compiled."""
        with self._opening:
            if exhibit.key not in self._poses:
                self._poses[exhibit.key] = pose_message(exhibit)
            return self._poses[exhibit.key]

    def answer(self, owner: Any, exhibit: Exhibit, request: RunRequest | PullRequest, send: Send) -> None:
        """Compute what a page asks for, and send it; replaces what the page has asked for before."""
        live = self._live.get(owner)
        if isinstance(request, PullRequest) and live is not None and not live.ended and request.number is None:
            return live.want(request)
        self._end(owner)
        if isinstance(request, PullRequest):
            if request.stop:
                return None
            live = self._live[owner] = self._live_run(request, send)

        def job(check: Check) -> None:
            if isinstance(request, PullRequest):
                assert live is not None
                return self._begin(live, request)
            computed = self._run(exhibit, request, check, send)
            later = _told(request, send, lambda check: self._more(exhibit, computed, check, send))
            return self.worker.submit_later(owner, later, 0.0 if request.work else REST)

        return self.worker.submit(owner, _told(request, send, job))

    def forget(self, owner: Any) -> None:
        """A page is gone: nobody waits for what it asked for."""
        self._end(owner)
        self.worker.forget(owner)

    def _end(self, owner: Any) -> None:
        live = self._live.pop(owner, None)
        if live is not None:
            live.end()

    def _live_run(self, request: PullRequest, send: Send) -> LiveRun:
        """A live run that is not moving yet."""

        def tell(reason: str) -> None:
            send("error", {"kind": "error", "identity": request.identity, "text": reason})

        return LiveRun(lambda picture: send("live", live_message(request.identity, picture)), tell, request.speed)

    def _begin(self, live: LiveRun, request: PullRequest) -> None:
        """Set a live run going where a run of the page is at the wanted time."""
        if request.number not in self._runs:
            raise InputError("this run is not kept any more; change something to compute it again.")
        _, computed = self._runs[request.number]
        call, run = computed.call, computed.run
        if call is None:
            raise InputError("a run from a file is shown as it was; only a system can be pulled.")
        row = int(np.clip(np.searchsorted(run.t, request.at, side="right") - 1, 0, len(run.t) - 1))
        place = Place(float(run.t[row]), np.array(run.q[row], float), np.array(run.v[row], float))
        hand = Hand(call.system, call.method, call.launch.h, place)
        live.want(request)
        live.begin(hand)

    def _run(self, exhibit: Exhibit, request: RunRequest, check: Check, send: Send) -> Computed:
        computed = compute(exhibit, request, _telling(request, check, send))
        number = next(self._numbers)
        self._runs[number] = exhibit, computed
        while len(self._runs) > KEPT_RUNS:
            self._runs.popitem(last=False)
        send("run", picture_message(exhibit, computed, number))
        return computed

    def _more(self, exhibit: Exhibit, computed: Computed, check: Check, send: Send) -> None:
        """What takes longer than the picture."""
        request = computed.request
        more = invariants_message(exhibit, computed)
        if more is not None:
            send("more", more)
        if request.work and computed.call is not None:
            check(0.0)
            names = dict.fromkeys([request.method, request.beside or request.method])
            send("work", work_message(computed, {name: method_for(computed.call.system, name) for name in names}))

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
                wanted = Wanted(computed.request.contacts, computed.request.reactions)
                animate(computed.run, path, forces=next(words for words, own in FORCES.items() if own == wanted))
            return path.read_bytes()
