"""`python -m benchmarks.peers`: other programs on the same problems, in one session; writes docs/benchmarks.md.

python -m benchmarks.peers                                          all of it, at most 25 minutes
python -m benchmarks.peers --only pendulum,chain-2 --peers casadi,heyoka     a part; prints and writes nothing
python -m benchmarks.peers --limit 10                               less time a case; prints and writes nothing
"""

from __future__ import annotations

import argparse
import json
import os
import time

from rich.console import Console

from ..__main__ import machine
from ..pages import fill
from ..spheres import spheres_table
from .collect import Result, measured, problem_set
from .environments import CACHE, PEERS
from .page import PAGE, all_tables, write_page

LIMIT = 40.0
SPHERES = "spheres"  # a comparison with siconos of its own, beside the page's other contacts


def chosen(parser: argparse.ArgumentParser, text: str | None, known, what: str) -> list[str]:
    names = list(known) if text is None else [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            parser.error(f"unknown {what} {name!r}; expected some of: {', '.join(known)}")
    return names


def main() -> None:
    """Measure what is asked for."""
    known = problem_set.problems()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", metavar="A,B,...", help=f"problems: {', '.join([*known, SPHERES])}")
    parser.add_argument("--peers", metavar="A,B,...", help=f"programs: {', '.join(PEERS)}")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for one program on one problem")
    arguments = parser.parse_args()
    names = chosen(parser, arguments.only, [*known, SPHERES], "problem")
    peers = chosen(parser, arguments.peers, PEERS, "program")
    whole = arguments.only is None and arguments.peers is None and arguments.limit >= LIMIT
    console = Console(width=max(Console().width, 150))
    begun, load, on_what = time.perf_counter(), os.getloadavg()[0], machine()
    console.print(on_what, highlight=False)
    results: list[Result] = []
    for name in names:
        for peer in peers if name != SPHERES else ():
            started = time.perf_counter()
            result = measured(PEERS[peer], name, arguments.limit)
            results.append(result)
            console.print(progress_line(result, time.perf_counter() - started), highlight=False)
    minutes, after = (time.perf_counter() - begun) / 60, os.getloadavg()[0]
    on_what += f" Load {load:.1f} before and {after:.1f} after, {minutes:.0f} minutes in all."
    for table in all_tables(results, known):
        table.show(console)
    spheres = spheres_table() if SPHERES in names else None
    if spheres is not None:
        spheres.show(console)
    if whole:
        CACHE.joinpath("results.json").write_text(json.dumps([vars(r) for r in results], indent=1), encoding="utf-8")
        write_page(results, known, on_what)
        if spheres is not None:
            fill(PAGE, SPHERES, spheres.markdown())
        console.print("written to docs/benchmarks.md")


def progress_line(result: Result, seconds: float) -> str:
    """One line a case, while one waits."""
    if result.unable:
        return f"{result.problem:16s} {result.peer:14s} {result.unable}"
    times = " ".join("      -" if ms is None else f"{ms:7.4g}" for ms in map(result.milliseconds, (1e-4, 1e-6, 1e-8)))
    return f"{result.problem:16s} {result.peer:14s} {times} ms   |g| {result.violation:.1e}   ({seconds:.0f} s)"


if __name__ == "__main__":
    main()
