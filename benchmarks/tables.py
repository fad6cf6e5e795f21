"""A table as the terminal shows it and as a page holds it."""

from __future__ import annotations

from dataclasses import dataclass, field

from rich import box
from rich.console import Console
from rich.table import Table as RichTable


@dataclass
class Table:
    """Rows of text under a header, with notes below."""

    title: str
    header: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def show(self, console: Console) -> None:
        """Print it."""
        table = RichTable(title=self.title, box=box.SIMPLE, title_justify="left")
        for k, name in enumerate(self.header):
            table.add_column(name, justify="right" if k else "left")
        for row in self.rows:
            table.add_row(*row)
        console.print(table)
        for note in self.notes:
            console.print(f"  {note}", style="dim", highlight=False)
        console.print()

    def markdown(self, heading: str = "") -> str:
        """The same as text for a page."""
        rules = [":---", *["---:"] * (len(self.header) - 1)]
        lines = [_line(self.header), _line(rules), *(_line(row) for row in self.rows)]
        parts = [heading, "\n".join(lines), *self.notes]
        return "\n\n".join(part for part in parts if part)


def _line(cells) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def microseconds(value: float | None) -> str:
    """Three digits, or a dash."""
    if value is None:
        return "-"
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3f}" if value < 1 else f"{value:.3g}"
