"""How far a run has come."""

from __future__ import annotations

from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from ..notebook import TextBar, needs_text_bar


def progress_bar(steps: int) -> ProgressBar | TextBar:
    """A bar for so many steps, as the terminal or the notebook can show it."""
    return TextBar("simulate", steps, "steps") if needs_text_bar() else ProgressBar(steps)


class ProgressBar:
    """A rich progress bar with steps per second and the time left."""

    def __init__(self, steps: int) -> None:
        self._bar = Progress(
            TextColumn("simulate"), BarColumn(), TextColumn("{task.completed:,.0f}/{task.total:,.0f} steps"),
            _Speed(), TimeRemainingColumn(),
        )  # fmt: skip
        self._steps = steps

    def __enter__(self):
        self._bar.__enter__()
        task = self._bar.add_task("simulate", total=self._steps)
        return lambda taken: self._bar.update(task, completed=taken)

    def __exit__(self, *exception) -> None:
        self._bar.__exit__(*exception)


class _Speed(ProgressColumn):
    def render(self, task):
        return Text(f"{task.speed:,.0f} steps/s" if task.speed else "")
