"""What the commands print: plain tables, numbers with few digits; names are never read as markup."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

Row = tuple[str, str]
#: The option of every command whose answer a program may want to read.
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, and nothing else, on standard output.")]


def console(quiet: bool = False) -> Console:
    """Standard output, or nothing; brackets in names are not markup."""
    return Console(markup=False, highlight=False, soft_wrap=False, quiet=quiet)


def print_json(content: dict[str, Any]) -> None:
    """One object; numbers that JSON does not have are null."""
    print(json.dumps(_plain(content), indent=2, ensure_ascii=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    if isinstance(value, np.integer):
        return int(value)
    return value if value is None or isinstance(value, str | int | bool) else str(value)


def small(value: float) -> str:
    """A residual or a drift: two digits and a power of ten, or 0."""
    value = float(value)
    return "0" if value == 0 else f"{value:.1e}"


def number(value: float) -> str:
    """Any other number, five digits."""
    return f"{float(value):.5g}"


def facts(title: str, rows: Iterable[Row]) -> Group:
    """Two columns: what, and its value."""
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(Text(name), Text(value))
    return Group(Text(title, style="bold"), table)


def speed(steps_per_second: float) -> str:
    """1.2M, 34k, 56."""
    if steps_per_second >= 1e6:
        return f"{steps_per_second / 1e6:.1f}M"
    return f"{steps_per_second / 1e3:.0f}k" if steps_per_second >= 1e3 else f"{steps_per_second:.0f}"


def grid(
    title: str,
    header: Sequence[str],
    rows: Iterable[Sequence[Any]],
    right: Sequence[int] = (),
    whole: Sequence[int] = (0,),
) -> Group:
    """A table with a header; columns in `right` are aligned to the right; they and `whole` never wrap."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for k, name in enumerate(header):
        justify = "right" if k in right else "left"
        table.add_column(Text(name), justify=justify, overflow="fold", no_wrap=k in right or k in whole)
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    return Group(Text(title, style="bold"), table)


def vector(values) -> str:
    """An array in a line, shortened in the middle."""
    values = np.asarray(values).ravel()
    shown = [number(x) for x in values]
    return "(" + ", ".join(shown if len(shown) <= 8 else [*shown[:4], "...", *shown[-3:]]) + ")"
