"""`python -m benchmarks.peers`: other programs on the same problems, in one session; writes docs/benchmarks.md.

python -m benchmarks.peers                                          all of it, at most 25 minutes
python -m benchmarks.peers --only pendulum,chain-2 --peers casadi,heyoka     a part; prints and writes nothing
python -m benchmarks.peers --limit 10                               less time a case; prints and writes nothing
python -m benchmarks.peers --again                                  the page once more, from the last whole run
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
    parser.add_argument("--again", action="store_true", help="write the page from the last whole run")
    arguments = parser.parse_args()
    if arguments.again:
        return write_again(parser, known)
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
        kept = {"machine": on_what, "results": [vars(r) for r in results]}
        CACHE.joinpath("results.json").write_text(json.dumps(kept, indent=1), encoding="utf-8")
        write_page(results, known, on_what)
        if spheres is not None:
            fill(PAGE, SPHERES, spheres.markdown())
        console.print("written to docs/benchmarks.md")


def write_again(parser: argparse.ArgumentParser, known) -> None:
    """The page from what the last whole run measured."""
    path = CACHE / "results.json"
    if not path.exists():
        parser.error("there was no whole run yet; run `python -m benchmarks.peers`")
    kept = json.loads(path.read_text(encoding="utf-8"))
    write_page([Result(**one) for one in kept["results"]], known, kept["machine"])


def progress_line(result: Result, seconds: float) -> str:
    """One line a case, while one waits."""
    if result.unable:
        return f"{result.problem:16s} {result.peer:14s} {result.unable}"
    times = " ".join("      -" if ms is None else f"{ms:7.4g}" for ms in map(result.milliseconds, (1e-4, 1e-6, 1e-8)))
    return f"{result.problem:16s} {result.peer:14s} {times} ms   |g| {result.violation:.1e}   ({seconds:.0f} s)"


if __name__ == "__main__":
    main()
