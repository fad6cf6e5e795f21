"""Microseconds a step: the native engine, XLA, and C by hand; sizes before and after elimination."""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.engine import finish_compiling

from .c_program import compiler, disagreement, run_c
from .cases import Case, cases
from .tables import Table, microseconds

#: Steps after which both programs must agree, and how closely; later the chaotic ones part by roundoff.
SHORT_RUN, AGREEMENT = 200, 1e-9


@dataclass(frozen=True)
class EngineRow:
    """One case on every engine; None where there is no C version or no compiler."""

    name: str
    native: float
    xla: float | None
    c: float | None
    iterations: float
    c_iterations: float | None
    difference: float | None
    stats: dict


def measure(case: Case, repeats: int, share: float) -> EngineRow:
    """The best of several repeats of each; `share` shortens the runs."""
    native_steps, xla_steps = (max(10, int(share * n)) for n in (case.native_steps, case.xla_steps))
    native, run = _best(case, native_steps, repeats, "native")
    xla = _best(case, xla_steps, max(2, repeats - 2), "xla")[0] if case.xla_steps else None
    by_hand = run_c(case, native_steps, repeats)
    difference = disagreement(case, SHORT_RUN)
    if difference is not None and not difference < AGREEMENT:
        raise AssertionError(f"{case.name}: C and dalembert differ by {difference:.1e} after {SHORT_RUN} steps")
    return EngineRow(
        name=case.name,
        native=native,
        xla=xla,
        c=None if by_hand is None else by_hand.microseconds,
        iterations=run.stats["newton_iterations"] / run.stats["steps"],
        c_iterations=None if by_hand is None else by_hand.iterations,
        difference=difference,
        stats=run.stats,
    )


def _best(case: Case, steps: int, repeats: int, engine: str):
    """Microseconds a step; the first run compiles, the second has its code made fast, and they do not count."""
    for _ in range(2):
        case.simulate(steps, engine=engine)
    finish_compiling()
    runs = [case.simulate(steps, engine=engine) for _ in range(repeats)]
    return 1e6 * min(run.stats["wall_seconds"] for run in runs) / steps, runs[-1]


def engine_tables(repeats: int, share: float) -> dict[str, Table]:
    """The table of speeds and the table of sizes, from the same runs."""
    rows = [measure(case, repeats, share) for case in cases().values()]
    return {"engine": speeds(rows), "sizes": sizes(rows)}


def speeds(rows: list[EngineRow]) -> Table:
    """Times side by side."""
    header = ("microseconds a step", "native", "XLA", "C by hand", "native / C", "XLA / native", "iterations", "C")
    table = Table("One trajectory, one core", header)
    for row in rows:
        table.rows.append(
            (
                row.name,
                microseconds(row.native),
                microseconds(row.xla),
                microseconds(row.c),
                "-" if row.c is None else f"{row.native / row.c:.1f}",
                "-" if row.xla is None else f"{row.xla / row.native:.0f}",
                f"{row.iterations:.2f}",
                "-" if row.c_iterations is None else f"{row.c_iterations:.2f}",
            )
        )
    found = [row.difference for row in rows if row.difference is not None]
    if found:
        table.notes.append(
            f"C and dalembert agree in q to {max(found):.0e} after {SHORT_RUN} steps in every row with a C version. "
            "The last two columns are Newton iterations a step. The C program adds without compensation; "
            "dalembert compensates."
        )
    if compiler() is None:
        table.notes.append("No C compiler was found on this machine, so the column of C is empty.")
    return table


def sizes(rows: list[EngineRow]) -> Table:
    """Unknowns and operations before and after elimination."""
    header = ("", "unknowns of the method", "non-zeros", "left to Newton", "operations an iteration", "a step")
    table = Table("Before and after elimination", header)
    for row in rows:
        s = row.stats
        blocks = " + ".join(map(str, s["newton_unknowns"])) or "0"
        numbers = (s["unknowns"], s["nonzeros"], blocks, s["operations_per_iteration"], s["operations_per_step"])
        table.rows.append((row.name, *map(str, numbers)))
    return table
