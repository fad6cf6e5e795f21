"""Machine code that is there soon, and fast a little later.

A first run, if it takes few steps, is over before LLVM had made its code as fast as it can. It gets code that gives the
same bits, takes up to twice the time and is there up to five times as soon; when a second run shows that there may be
more, the fast code is made in a process beside it (`helper.py`) and takes its place from then on.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence

from . import helper
from .compilation import NativeCode, compile_text, is_cached, takes_long


class TieredCode:
    """A function of a module."""

    def __init__(
        self, text: str, kind: str | None, arguments: Sequence, effort: int, soon: bool, name: str = "run"
    ) -> None:
        """`soon`: rather at once than fast, if there is no fast code in the cache; `improve` makes up for it."""
        self._kind, self._arguments, self._name = kind, arguments, name
        soon = soon and effort > 0 and not is_cached(text, effort, kind)
        self._better = (text, effort) if soon else None
        self._codes: list[NativeCode] = []  # all of them, since runs in other threads may be in the first
        self._compile(text, 0 if soon else effort)

    def _compile(self, text: str, effort: int, emit: Callable[..., bytes] | None = None) -> None:
        code, self.from_cache = compile_text(text, effort, self._kind, emit)
        self._codes.append(code)
        self.function = code.function(self._name, *self._arguments)

    def improve(self) -> None:
        """Begin to make the code as fast as it gets; it is taken as soon as it is there."""
        better, self._better = self._better, None
        if better is None:
            return
        if not helper.is_missing():
            try:
                helper.start_thread(self._improve, *better)
            except helper.HelperMissing:
                self._better = better
        elif not takes_long(*better):
            self._compile(*better)

    def _improve(self, text: str, effort: int) -> None:
        try:
            self._compile(text, effort, helper.in_background)
        except helper.HelperMissing:
            self._better = text, effort  # the next run compiles it, if that is soon done
        except helper.HelperFailed:
            pass  # LLVM did not survive it, and should not be asked again here

    def address(self) -> int:
        """Where the code lies."""
        return self._codes[-1].address(self._name)


def finish_compiling() -> None:
    """Wait until all code is as fast as it will get; for whoever measures."""
    for thread in threading.enumerate():
        if thread.name == helper.THREAD:
            thread.join()


def arguments(pointers: int) -> list:
    """The types of what `run` takes: pointers, the number of steps, and after how many to save."""
    return [*[ctypes.c_void_p] * pointers, ctypes.c_int64, ctypes.c_int64]
