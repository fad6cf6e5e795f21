"""Ctrl-C during a run: within a second what was computed comes back, and nobody overlooks that it was pressed.

The first Ctrl-C only asks: engines look at `is_wanted()` between pieces of work, the loop over steps between chunks.
Where nobody has looked for a while, the work under way is abandoned: KeyboardInterrupt is raised inside
`Interruption.call`, and caught by the loop, which returns what it has recorded. A second Ctrl-C stops at once.

A program that runs one thing after the other would not see that one of its runs was cut short. So a run that begins
right after one that was interrupted raises KeyboardInterrupt.

Parts of the library are loaded whole (`loaded`): KeyboardInterrupt is raised afterwards. In the middle Python may drop
it, and modules that are loaded half fail in whatever is done next.
"""

from __future__ import annotations

# `signal` itself turns handlers into enumerations and back, which takes as long as a hundred steps
import _signal  # pyright: ignore[reportMissingImports]
import _thread
import functools
import importlib
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")
_NUMBER = int(signal.SIGINT)
_MAIN_THREAD = threading.main_thread().ident or 0
#: Seconds after which work is abandoned that has not ended by itself, and after which it is tried again.
GRACE, AGAIN = 0.4, 0.05
#: Seconds after an interrupted run in which another one does not begin: nobody types that fast, but a loop does.
SOON = 1.0
#: The file of Python's own function that loads modules.
_LOADING = "<frozen importlib._bootstrap>"


class Interruption:
    """While it is entered, a Ctrl-C is noted in `wanted`; `at_once`, where there is nothing to return, it is raised.

    What a loop records, it records whole or not at all: KeyboardInterrupt is raised only inside `call`. Only Python's
    own handler is replaced, and only in the main thread: where the user's program handles the signal itself, it goes on
    doing so.
    """

    def __init__(self, *, at_once: bool = False) -> None:
        self.wanted = False
        self._at_once, self._outer, self._before = at_once, None, None
        self._entered = self._signalled = self._calling = self._due = self._abandoned = False
        self._begun = 0.0

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():
            if time.monotonic() - _main.ended < SOON:
                _main.ended = -SOON
                raise KeyboardInterrupt("the run before this one was interrupted")
            self._outer, self._before = _main.current, _signal.getsignal(_NUMBER)
            if self._outer is not None or self._before is signal.default_int_handler:
                _main.current, self._entered, self._begun = self, True, time.monotonic()
                _signal.signal(_NUMBER, self._handle)
        return self

    def __exit__(self, *exception) -> None:
        if self._entered:
            self._entered, _main.current = False, self._outer
            _signal.signal(_NUMBER, self._before)
            if self._signalled and exception[0] is None:
                if self._at_once:
                    raise KeyboardInterrupt
                _main.ended = time.monotonic()
            elif self._outer is None and _main.ended >= self._begun:
                # an interrupted run was a part of this call, which gives back what it has reached only now: in the
                # first run of a process it may have taken long to load what makes a record of it
                _main.ended = time.monotonic()

    def call(self, function: Callable, *arguments) -> Any:
        """The result of a function that may be abandoned."""
        self._calling = True
        try:
            return function(*arguments)
        finally:
            self._calling = False

    def heard(self) -> None:
        """For a loop that has caught a KeyboardInterrupt: raise it again if it is the second."""
        if self.wanted and not self._abandoned:
            raise
        self.wanted = True

    def _handle(self, number, frame) -> None:
        if self._due:  # the thread below, not the user
            self._due = False
            if (self._calling or self._at_once) and not _is_lost_in(frame):
                self._abandoned = True
                raise KeyboardInterrupt
        elif self.wanted:
            self._abandoned = False
            signal.default_int_handler(number, frame)
        else:
            self.wanted = self._signalled = True
            # not by `threading`, whose locks the main thread may hold just now
            _thread.start_new_thread(self._abandon_later, ())
            if self._at_once and not _is_lost_in(frame):
                raise KeyboardInterrupt

    def _abandon_later(self) -> None:
        """Again and again, since it may be raised where it is lost."""
        wait = AGAIN if self._at_once else GRACE
        while True:
            time.sleep(wait)
            if not self._entered:
                return
            self._due, wait = True, AGAIN
            if sys.platform == "win32":
                _thread.interrupt_main()
            else:  # which also wakes the main thread where it waits
                signal.pthread_kill(_MAIN_THREAD, _NUMBER)


def _is_lost_in(frame: FrameType | None) -> bool:
    """Whether Python would drop what is raised here, in a callback of the garbage collector, of which JAX has one; or
    whether a module is being loaded, which would stay behind in parts. What called the library does not matter: a
    program may be a module that is being loaded."""
    while frame is not None and frame.f_code.co_filename != __file__:
        if frame.f_code.co_name in ("_xla_gc_callback", "__del__"):
            return True
        if frame.f_code.co_filename == _LOADING and frame.f_code.co_name == "_find_and_load":
            return True
        frame = frame.f_back
    return False


def loaded(name: str) -> ModuleType:
    """A module, loaded whole."""
    with Interruption(at_once=True):
        return importlib.import_module(name)


def raised_afterwards() -> None:
    """For a caller through which KeyboardInterrupt cannot pass (C++): raise it in the main thread once that has
    returned. It has a moment for it."""

    def later() -> None:
        time.sleep(AGAIN)
        if sys.platform == "win32":
            _thread.interrupt_main()
        else:
            signal.pthread_kill(_MAIN_THREAD, _NUMBER)

    threading.Thread(target=later).start()


def raising(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """The function, out of which Ctrl-C is raised for certain, unless a loop inside notes it."""

    @functools.wraps(function)
    def listening(*arguments: _P.args, **options: _P.kwargs) -> _R:
        with Interruption(at_once=True):
            return function(*arguments, **options)

    return listening


class _Main:
    """What concerns the main thread, which alone hears signals."""

    current: Interruption | None = None
    ended = -SOON  # when a run was interrupted last


_main = _Main()


def unless_abandoned(function: Callable, *arguments) -> Any:
    """The result of a function, None where Ctrl-C has put an end to it: for work after which a part would be lost."""
    try:
        return function(*arguments)
    except KeyboardInterrupt:
        if not is_wanted():
            raise
        return None


def is_wanted() -> bool:
    """Whether the run in this thread is to end as soon as it can."""
    current = _main.current
    return current is not None and current.wanted and threading.current_thread() is threading.main_thread()
