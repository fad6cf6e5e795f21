"""`dalembert demo`: the whole gallery with every method that fits, and a page about it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from ..errors import DalembertError
from ..report import Demonstration, Measurement, demonstrate
from . import show


class ClaimsError(DalembertError):
    """Something that a method claims was not found."""


def demo_command(
    out: Annotated[Path, typer.Option("--out", help="The folder of the report; it is made if needed.")] = Path(
        "report"
    ),
    as_json: show.Json = False,
) -> None:
    """Simulate the whole gallery with every method that fits, and write a report with figures.

    Exit status 1 if a claim of a method does not hold.
    """
    console = show.console(quiet=as_json)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
    )
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
        task = progress.add_task("demo", total=1)

        def tell(name: str, done: int, total: int) -> None:
            progress.update(task, description=f"{name:32s}", completed=done, total=total)

        result = demonstrate(out, report=tell)
    if as_json:
        show.print_json({
            "measurements": [dict(zip(HEADER, _row(found), strict=True)) for found in result.measurements],
            "failures": list(result.failures), "report": result.index.resolve(),
        })  # fmt: skip
    console.print(results_table(result))
    console.print(f"\nreport   {result.index.resolve()}", soft_wrap=True)
    if result.failures:
        count = len(result.failures)
        raise ClaimsError(f"{count} claim{'s do' if count > 1 else ' does'} not hold: " + "; ".join(result.failures))
    console.print(f"All claims hold in {len(result.measurements)} runs.")


HEADER = ("system", "method", "order", "max |g|", "hidden", "energy", "steps/s", "claims")


def results_table(result: Demonstration):
    """The table that the page has on top."""
    return show.grid("Measured", HEADER, [_row(m) for m in result.measurements], range(2, 7), whole=(1, 7))


def _row(found: Measurement) -> list[str]:
    constrained = "lam" in found.orders
    order = found.orders["q"]
    return [
        found.system_name,
        found.method_name,
        "-" if order is None else f"{order:.2f}",
        show.small(found.max_constraint) if constrained else "",
        show.small(found.max_hidden) if constrained else "",
        show.small(found.energy_error) if found.conserves_energy else f"({show.small(found.energy_error)})",
        show.speed(found.steps_per_second),
        "hold" if not found.failures else "FAIL",
    ]
