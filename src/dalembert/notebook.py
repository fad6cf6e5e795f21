"""Whether this program runs in a notebook, and a progress bar in plain text: that of rich needs ipywidgets there."""

from __future__ import annotations

import importlib.util
import sys
import time
from typing import Any

WIDTH = 30
#: Seconds between two lines: every one of them is a message to the page.
PAUSE = 0.2


def in_notebook() -> bool:
    """Whether cells of a notebook are being run, by a kernel."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


def display(data: dict[str, Any]) -> None:
    """Show something below the cell, given by its types: "image/png" and others."""
    sys.modules["IPython"].display.display(data, raw=True)  # pyright: ignore[reportAttributeAccessIssue]


def needs_text_bar() -> bool:
    """Whether a progress bar has to be written as text: in a notebook without ipywidgets."""
    return in_notebook() and importlib.util.find_spec("ipywidgets") is None


class TextBar:
    """A progress bar in one line that is written over again and again."""

    def __init__(self, label: str, total: int, unit: str) -> None:
        self._label, self._total, self._unit = label, total, unit
        self._begun = self._written = 0.0

    def __enter__(self) -> TextBar:
        self._begun = time.monotonic()
        self(0)
        return self

    def __call__(self, taken: float) -> None:
        """So many of them are done."""
        now = time.monotonic()
        if 0 < taken < self._total and now - self._written < PAUSE:
            return
        self._written = now
        full = round(WIDTH * taken / max(self._total, 1))
        seconds = now - self._begun
        left = f", {seconds * (self._total - taken) / taken:.0f} s left" if 0 < taken < self._total else ""
        print(
            f"\r{self._label} {'#' * full}{'.' * (WIDTH - full)} {taken:,.0f}/{self._total:,} {self._unit}, "
            f"{seconds:.1f} s{left}      ",
            end="",
            flush=True,
        )

    def __exit__(self, *_: object) -> None:
        print(flush=True)
