"""One thread that computes for all pages: of each page the newest request wins, an older one is given up.

A request is given up between two chunks of steps, where `simulate` reports how far it is. What has been compiled by
then is kept, so that the next request begins where compiling has ended. What may wait is done when a page has asked for
nothing for a moment: while a slider moves, the next picture comes first.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

Job = Callable[[Callable[[float], None]], None]


class Superseded(Exception):
    """A newer request of the same page waits, or the page is gone."""


class Worker:
    """Jobs of pages, one after the other. A job is called with a function that raises `Superseded`."""

    def __init__(self) -> None:
        self._change = threading.Condition()
        self._waiting: dict[Any, Job] = {}
        self._later: dict[Any, tuple[float, Job]] = {}
        self._owner: Any = None
        self._gone = self._closed = False
        self._thread = threading.Thread(target=self._work, name="dalembert studio", daemon=True)
        self._thread.start()

    def submit(self, owner: Any, job: Job) -> None:
        """Compute this next for a page, instead of what it has asked for before."""
        with self._change:
            self._waiting[owner] = job
            self._later.pop(owner, None)
            self._change.notify_all()

    def submit_later(self, owner: Any, job: Job, seconds: float) -> None:
        """Compute this for a page that asks for nothing else within some seconds."""
        with self._change:
            if owner not in self._waiting and not self._gone:
                self._later[owner] = time.monotonic() + seconds, job
                self._change.notify_all()

    def forget(self, owner: Any) -> None:
        """Nobody waits for the jobs of a page any more."""
        with self._change:
            self._waiting.pop(owner, None)
            self._later.pop(owner, None)
            self._gone = self._gone or owner is self._owner

    def close(self) -> None:
        """End the thread after the job it is at."""
        with self._change:
            self._closed = self._gone = True
            self._waiting.clear()
            self._later.clear()
            self._change.notify_all()
        self._thread.join(timeout=10.0)

    def _work(self) -> None:
        while True:
            with self._change:
                while not self._waiting and not self._closed:
                    due = min((when for when, _ in self._later.values()), default=None)
                    if due is not None and due <= time.monotonic():
                        owner = min(self._later, key=lambda owner: self._later[owner][0])
                        self._waiting[owner] = self._later.pop(owner)[1]
                    else:
                        self._change.wait(None if due is None else due - time.monotonic())
                if self._closed:
                    return
                self._owner, self._gone = next(iter(self._waiting)), False
                job = self._waiting.pop(self._owner)
            try:
                job(self._check)
            except Superseded:
                pass
            finally:
                self._owner = None

    def _check(self, taken: float = 0.0) -> None:
        if self._gone or self._owner in self._waiting:
            raise Superseded
