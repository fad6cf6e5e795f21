"""`dalembert reproduce`: the figures and tables of the papers, computed again and judged."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from ..errors import DalembertError
from ..report import Reproduction, reproduce, verdict_words
from . import show


class ReproductionError(DalembertError):
    """A measurement contradicts what should hold, or an experiment failed."""


def reproduce_command(
    names: Annotated[
        list[str] | None, typer.Argument(help="Experiments such as jay-fig-8.1; all of them if none is named.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick/--full", help="Minutes, or all that the papers show and longer.")
    ] = True,
    output: Annotated[
        Path, typer.Option("--out", "--output", help="The folder of the report; it is made if needed.")
    ] = Path("report"),
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, help="How many run at a time; default: one a processor core.")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Repeat what is finished, too.")] = False,
    as_json: show.Json = False,
) -> None:
    """Compute the figures and tables of the papers again, and compare them with what the papers say.

    Finished experiments are kept and not repeated. Exit status 1 if one fails or contradicts what should hold.
    """
    console = show.console(quiet=as_json)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        tasks = {}

        def tell(name: str, event: str) -> None:
            if event == "start":
                tasks[name] = progress.add_task(f"{name:18s}", total=None)
            elif name in tasks:
                progress.remove_task(tasks.pop(name))
            if event != "start":
                progress.console.print(f"{event:6s}  {name}")

        result = reproduce(names or (), output, quick=quick, jobs=jobs, again=again, tell=tell)
    if as_json:
        claims = [
            {"figure": record.name, "verdict": verdict_words(claim)[0], "claim": claim.statement}
            for record in result.records.values()
            for claim in record.claims
        ]
        show.print_json({"claims": claims, "failures": list(result.failures), "report": result.index.resolve()})
    console.print()
    console.print(claims_table(result))
    console.print(f"\nreport   {result.index.resolve()}", soft_wrap=True)
    if result.failures:
        count = len(result.failures)
        raise ReproductionError(f"{count} failure{'s' if count > 1 else ''}: " + "; ".join(result.failures))
    count = sum(len(record.claims) for record in result.records.values())
    console.print(f"{count} claim{'s' if count != 1 else ''}, all as expected.")


def claims_table(result: Reproduction):
    """The table that the page has on top."""
    rows = []
    for record in result.records.values():
        if record.error:
            rows.append((record.name, "FAILED", record.error))
        rows += [(record.name, verdict_words(claim)[0], claim.statement) for claim in record.claims]
    return show.grid("Claims", ("figure or table", "verdict", "claim"), rows)
