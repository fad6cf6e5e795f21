"""How long JAX and this engine took to trace, translate and compile what was called in a while."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

import jax.monitoring

#: How the names of JAX's events begin that say how long tracing, translating or compiling took.
_COMPILING = "/jax/core/compile/"


class CompileTime:
    """What was measured so far."""

    def __init__(self) -> None:
        self._spans: list[tuple[float, float]] = []

    def add(self, begin: float, end: float) -> None:
        """A span that ended just now. Spans lie inside each other, since tracing a function traces those it calls:
        those inside this one are part of it."""
        while self._spans and self._spans[-1][0] >= begin:
            self._spans.pop()
        if self._spans:  # rounding
            begin = max(begin, self._spans[-1][1])
        self._spans.append((begin, end))

    @property
    def seconds(self) -> float:
        """The length of all spans together."""
        return sum(end - begin for begin, end in self._spans)


class _Measuring(threading.local):
    """What is measured in a thread, one inside the other."""

    def __init__(self) -> None:
        self.all: list[CompileTime] = []


_measuring = _Measuring()


@contextlib.contextmanager
def compiling() -> Iterator[None]:
    """A span in which this engine compiles: what JAX does meanwhile lies inside."""
    begun = time.perf_counter()
    try:
        yield
    finally:
        now = time.perf_counter()
        for found in _measuring.all:
            found.add(begun, now)


@contextlib.contextmanager
def compile_time() -> Iterator[CompileTime]:
    """Measure what is traced and compiled in this thread."""
    found, thread = CompileTime(), threading.get_ident()

    def listen(event: str, duration_secs: float, **details: str | int) -> None:
        if event.startswith(_COMPILING) and threading.get_ident() == thread:
            now = time.perf_counter()
            found.add(now - duration_secs, now)

    jax.monitoring.register_event_duration_secs_listener(listen)
    _measuring.all.append(found)
    try:
        yield found
    finally:
        _measuring.all.remove(found)
        jax.monitoring.unregister_event_duration_listener(listen)
