"""From results to tables, pictures, the ratios that are aimed at, and the page."""

from __future__ import annotations

import math

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from ..pages import DOCS, fill
from ..tables import Table
from .collect import ENERGY, ERRORS, Result
from .environments import PEERS

PAGE = DOCS / "benchmarks.md"
PICTURES = DOCS / "pictures"
#: Programs of our own: the quicker one counts.
OWN = ("dalembert", "dalembert-symplectic")
#: dalembert should be faster by these factors at an error of 1e-6: (other program, problems, factor).
AIMS = (
    ("casadi", ("pendulum", "chain-2"), 50.0),
    ("casadi", ("chain-10",), 20.0),
    ("casadi", ("chain-100",), 4.0),
    ("casadi", ("chain-1000",), 8.0),
    ("casadi", ("four-particles", "particles"), 10.0),
    *(
        (peer, ("pendulum", "chain-2", "chain-10", "chain-100", "four-particles", "particles"), 100.0)
        for peer in ("scipy-dae", "scikit-sundae", "exudyn")
    ),
    ("heyoka", ("pendulum", "chain-2", "four-particles", "chain-100", "chain-1000"), 1.0),
)


def number(value: float | None, digits: int = 3) -> str:
    if value is None or not math.isfinite(value):
        return "-"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.{digits}g}"


def small(value: float | None) -> str:
    return "-" if value is None or not math.isfinite(value) else f"{value:.0e}".replace("e-0", "e-")


def problem_table(results: list[Result], title: str) -> Table:
    """A row a program on one problem."""
    header = (
        "program", "ms to 1e-4", "1e-6", "1e-8", "max \\|g\\|", "set-up, s", "memory, MiB", "lines", "best at 1e-6",
    )  # fmt: skip
    table = Table(title, tuple(h.replace("\\", "") for h in header))
    for result in results:
        if result.unable:
            table.rows.append((result.peer, *["-"] * 7, result.unable))
            continue
        best = result.at(1e-6)
        where = "not reached" if best is None else f"{best['method']}, {setting(best['setting'])}"
        table.rows.append(
            (
                result.peer,
                *(number(result.milliseconds(error)) for error in ERRORS),
                small(result.violation),
                number(result.set_up, 2),
                number(result.memory),
                str(result.lines) if result.lines else "-",
                "; ".join(part for part in (where, result.note) if part),
            )
        )
    return table


def setting(value) -> str:
    return f"tol {value:.1g}" if isinstance(value, float) else f"{value}"


def ratio_table(results: list[Result]) -> Table:
    """What was aimed at, and what was measured."""
    table = Table("Ratios at an error of 1e-6", ("against", "problem", "aimed at", "measured", ""))
    times = {(r.peer, r.problem): r.milliseconds(1e-6) for r in results if not r.unable}
    # a ladder that ends before the error is met still bounds the time from below: finer runs take longer
    longest = {(r.peer, r.problem): max((1e3 * p["seconds"] for p in r.points), default=0.0) for r in results}
    for peer, names, factor in AIMS:
        for name in names:
            if (peer, name) not in times or not any((own, name) in times for own in OWN):
                continue
            own_times = [times.get((own, name)) for own in OWN]
            ours = min((ms for ms in own_times if ms is not None), default=None)
            theirs = times[peer, name]
            if ours is None:
                found, verdict = "-", "dalembert does not reach it"
            elif theirs is None and longest[peer, name] >= factor * ours:
                found, verdict = f"> {longest[peer, name] / ours:.3g}x", "met"
            elif theirs is None:
                found, verdict = "-", f"{peer} does not reach it"
            else:
                found = f"{theirs / ours:.3g}x"
                verdict = "met" if theirs / ours >= factor else "missed"
            table.rows.append((peer, name, f">= {factor:g}x", found, verdict))
    return table


def winners_table(results: list[Result]) -> Table:
    """Who is quickest, problem by problem."""
    table = Table(
        "Quickest at an error of 1e-6", ("problem", "quickest", "ms", "its max |g|", "dalembert, ms", "its max |g|")
    )
    for name in dict.fromkeys(r.problem for r in results):
        met = [(r.milliseconds(1e-6), r) for r in results if r.problem == name]
        met = [(ms, r) for ms, r in met if ms is not None]
        if not met:
            continue
        ms, best = min(met, key=lambda pair: pair[0])
        own, kept = min(((m, r.violation) for m, r in met if r.peer in OWN), default=(None, None))
        table.rows.append((name, best.peer, number(ms), small(best.violation), number(own), small(kept)))
    return table


def energy_table(results: list[Result]) -> Table:
    """Over long runs, with the setting that is best at 1e-6."""
    header = ("program", "problem", "to t =", "largest energy error", "in the first tenth", "in the last tenth", "")
    table = Table("Energy over long runs", header)
    for result in results:
        if result.problem not in ENERGY or result.unable:
            continue
        energy = result.energy
        if energy is None or not math.isfinite(energy["largest"]):
            table.rows.append((result.peer, result.problem, *["-"] * 4, "no velocities" if energy else "no time left"))
            continue
        drifts = energy["last"] > 2.5 * energy["first"] and energy["last"] > 1e-12
        table.rows.append(
            (
                result.peer,
                result.problem,
                number(energy["end"]),
                *(small(energy[k]) for k in ("largest", "first", "last")),
                "drifts" if drifts else "bounded",
            )
        )
    return table


def programs_table(results: list[Result]) -> Table:
    """What every program was given, and what it does not keep."""
    table = Table("Programs", ("program", "version", "is given", "keeps"))
    for name, peer in PEERS.items():
        own = [r for r in results if r.peer == name]
        if own:
            version = next((r.version for r in own if r.version), "-")
            table.rows.append((name, version, peer.what, peer.keeps))
    return table


def all_tables(results: list[Result], known) -> list[Table]:
    """In the order of the page."""
    names = list(dict.fromkeys(r.problem for r in results))
    tables = [winners_table(results), ratio_table(results), programs_table(results)]
    tables += [problem_table([r for r in results if r.problem == name], known[name].title) for name in names]
    return [table for table in [*tables, energy_table(results)] if table.rows]


MARKERS = "osD^vP*X<>h"
OWN_COLOURS = {"dalembert": "black", "dalembert-symplectic": "dimgrey"}


def frontier(points: list[dict]) -> tuple[list[float], list[float]]:
    """Errors, falling, and the milliseconds of the quickest run that is at least as accurate: methods and settings that
    take longer for a larger error are left out, as is what roundoff adds to steps that are too small."""
    errors, times, quickest = [], [], math.inf
    for point in sorted(points, key=lambda p: p["error"]):
        if point["seconds"] < quickest:
            quickest = point["seconds"]
            errors.append(point["error"])
            times.append(1e3 * quickest)
    return errors[::-1], times[::-1]


def picture(results: list[Result], title: str, name: str) -> str:
    """Work against precision, one line a program; the file's name."""
    figure, axes = plt.subplots(figsize=(7.6, 4.2), constrained_layout=True)
    colours = plt.get_cmap("tab10").colors  # pyright: ignore[reportAttributeAccessIssue]
    for k, peer in enumerate(PEERS):
        points = [p for r in results if r.peer == peer for p in r.points if 1e-13 < p["error"] < 1.0]
        if not points:
            continue
        own = peer in OWN
        axes.loglog(
            *frontier(points), marker=MARKERS[k % len(MARKERS)], markersize=5 if own else 4,
            color=OWN_COLOURS[peer] if own else colours[k % len(colours)], linewidth=2.0 if own else 1.1, label=peer,
            zorder=3 if own else 2,
        )  # fmt: skip
    axes.invert_xaxis()
    axes.set(title=title, xlabel="largest error of q at the end", ylabel="milliseconds")
    axes.grid(True, which="major", alpha=0.3)
    figure.legend(fontsize=8, loc="outside right upper")
    file = f"peers_{name.replace('-', '_')}.png"
    figure.savefig(PICTURES / file, dpi=110)
    plt.close(figure)
    return file


def write_page(results: list[Result], known, on_what: str) -> None:
    """Fill the part of the page that this command measures."""
    names = list(dict.fromkeys(r.problem for r in results))
    parts = [on_what, verdict_line(results)]
    parts += [winners_table(results).markdown("### Quickest at an error of 1e-6")]
    parts += [ratio_table(results).markdown("### What was aimed at")]
    parts += [programs_table(results).markdown("### The programs")]
    for name in names:
        own = [r for r in results if r.problem == name]
        parts.append(problem_table(own, "").markdown(f"### {known[name].title[0].upper()}{known[name].title[1:]}"))
        parts.append(
            f"![Work against precision: {known[name].title}](pictures/{picture(own, known[name].title, name)})"
        )
    parts += [energy_table(results).markdown("### Energy over long runs")]
    ours: dict[str, list[str]] = {}
    for r in results:
        if r.peer in OWN:
            ours.setdefault(r.problem, []).extend(dict.fromkeys(p["method"] for p in r.points))
    parts.append(
        "The methods of dalembert that were tried: "
        + "; ".join(f"{name}: {', '.join(methods)}" for name, methods in ours.items())
        + ". The quickest one counts, as the quickest tolerance does for the others."
    )
    fill(PAGE, "peers", "\n\n".join(parts))


def verdict_line(results: list[Result]) -> str:
    """How many of the aims were met."""
    rows = [row for row in ratio_table(results).rows if row[-1] in ("met", "missed")]
    missed = [f"{row[0]} on {row[1]}" for row in rows if row[-1] == "missed"]
    text = f"{len(rows) - len(missed)} of {len(rows)} ratios that were aimed at are met"
    return text + (f"; missed: {', '.join(missed)}." if missed else ".")
