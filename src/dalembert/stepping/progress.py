"""How far a run has come."""

from __future__ import annotations

from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text


class ProgressBar:
    """A rich progress bar with steps a second and the time left; nothing at all if not asked for."""

    def __init__(self, wanted: bool, steps: int) -> None:
        self._bar = (
            Progress(
                TextColumn("simulate"), BarColumn(), TextColumn("{task.completed:,.0f}/{task.total:,.0f} steps"),
                _Speed(), TimeRemainingColumn(),
            )
            if wanted
            else None
        )  # fmt: skip
        self._steps = steps

    def __enter__(self):
        if self._bar is None:
            return lambda taken: None
        self._bar.__enter__()
        task = self._bar.add_task("simulate", total=self._steps)
        return lambda taken: self._bar.update(task, completed=taken)  # pyright: ignore[reportOptionalMemberAccess]

    def __exit__(self, *exception) -> None:
        if self._bar is not None:
            self._bar.__exit__(*exception)


class _Speed(ProgressColumn):
    def render(self, task):
        return Text(f"{task.speed:,.0f} steps/s" if task.speed else "")
