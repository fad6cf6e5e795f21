"""Ctrl-C during a run: the first one asks it to end at the next chunk, the second one stops at once."""

from __future__ import annotations

# `signal` itself turns handlers into enumerations and back, which takes as long as a hundred steps
import _signal  # pyright: ignore[reportMissingImports]
import signal
import threading

_NUMBER = int(signal.SIGINT)


class Interruption:
    """While it is entered, the first Ctrl-C only sets `wanted`; a second one raises KeyboardInterrupt.

    A chunk of steps is therefore recorded whole or not at all. Only Python's own handler is replaced, and only in the
    main thread: where the user's program handles the signal itself, it goes on doing so.
    """

    def __init__(self) -> None:
        self.wanted = False
        self._replaced = False

    def __enter__(self) -> Interruption:
        own = threading.current_thread() is threading.main_thread()
        if own and _signal.getsignal(_NUMBER) is signal.default_int_handler:
            _signal.signal(_NUMBER, self._handle)
            self._replaced = True
        return self

    def __exit__(self, *exception) -> None:
        if self._replaced:
            _signal.signal(_NUMBER, signal.default_int_handler)

    def _handle(self, number, frame) -> None:
        if self.wanted:
            signal.default_int_handler(number, frame)
        self.wanted = True
