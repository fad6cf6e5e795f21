"""The table of the audit: every method, every claim, every system of the gallery that fits: `make audit`.

Measures and settings are those of the tests of the claims. What does not hold stands in
the table with its number. Results are kept while it runs, so that a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import math
import multiprocessing
import pathlib
import sys
import time
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "claims")]

import claim_cases as claims  # noqa: E402
from benchmarks.pages import fill  # noqa: E402

import dalembert as da  # noqa: E402
from dalembert import diagnostics  # noqa: E402
from dalembert.gallery import GALLERY  # noqa: E402
from dalembert.gallery.settings import case_of  # noqa: E402
from dalembert.method.catalogue import FAMILY_CATALOGUE  # noqa: E402

#: The methods of the claims, and those of the families that fit systems of the gallery.
METHODS = claims.METHODS | {
    "energy-momentum, Gonzalez": da.EnergyMomentum("gonzalez"),
    **{name: FAMILY_CATALOGUE[name].method for name in (
        "rattle-yoshida4", "rattle-kahan-li6", "rattle-kahan-li8", "symplectic-euler")},
}  # fmt: skip
#: To differentiate a compiled step takes ten seconds and more: here it is done on four systems (a mass matrix that
#: depends on q, a constraint that depends on t, a Hamiltonian, several constraints), by the long tests on all.
SYMPLECTIC_ON = ("polar-pendulum", "hamiltonian-spherical-pendulum", "bead-on-rotating-hoop", "double-pendulum")
#: The columns, and the claims in each of them.
COLUMNS = {
    "order of q": ("order of q",), "of p": ("order of p",), "of λ, ψ": ("order of lam", "order of psi"),
    "g": ("constraint at position level",), "g_q v + g_t, k": ("constraint at velocity level",),
    "symplectic": ("symplectic",), "reversible": ("symmetric", "symmetric positions"), "momentum": ("momentum",),
    "energy": ("energy", "bounded energy"),
}  # fmt: skip


def all_cases() -> list[tuple[str, str]]:
    return claims.pairs(METHODS)


def measured(method: str, system: str) -> dict[str, dict[str, Any]]:
    """What was found for every claim of a case, by the claim."""
    case = case_of(system, GALLERY[system](), METHODS[method])
    try:
        found = diagnostics.measured(case, symplectic=system in SYMPLECTIC_ON)
    except da.MethodDoesNotFit:  # as it turns out at the start of the motion
        return {}
    return {
        claim: {"value": None if math.isnan(value) else value, "wanted": wanted, "holds": holds}
        for claim, (value, wanted, holds) in found.found.items()
    }


def measure_numbered(number: int) -> tuple[str, dict[str, Any]]:
    """For a process of its own: the case of this number."""
    case = all_cases()[number]
    return "-".join(case), measured(*case)


def results(kept: pathlib.Path, jobs: int) -> dict[str, dict[str, Any]]:
    """All cases; those in the file `kept` are not measured again."""
    found = json.loads(kept.read_text()) if kept.is_file() else {}
    todo = [k for k, case in enumerate(all_cases()) if "-".join(case) not in found]
    begun, processes = time.perf_counter(), multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(jobs, mp_context=processes) as pool:
        for done, (case, entry) in enumerate(pool.map(measure_numbered, todo), start=1):
            found[case] = entry
            kept.write_text(json.dumps(found))
            print(f"{done} of {len(todo)} after {time.perf_counter() - begun:.0f} s: {case}", flush=True)
    return found


def cell(entry: dict[str, Any]) -> str:
    value = entry["value"]
    if value is None:
        return "**fails**: a step failed" if "failed:" in entry["wanted"] else f"**fails**: {entry['wanted']}"
    text = f"{value:.2f}" if "+-" in entry["wanted"] or "part" in entry["wanted"] else f"{value:.0e}"
    text = f"{value:.2g}" if "oscillation" in entry["wanted"] else text
    return text if entry["holds"] else f"**fails** {text}"


def table(found: dict[str, dict[str, Any]]) -> str:
    """One row for each method on each system; what is not claimed or does not apply is a dash."""
    count = [entry["holds"] for case in found.values() for entry in case.values()]
    missing = [case for case in all_cases() if "-".join(case) not in found]
    incomplete = ", ".join(dict.fromkeys(method for method, _ in missing))
    lines = [
        f"{len(count)} measurements of {len(METHODS)} methods on {len(GALLERY)} systems; "
        f"{sum(count)} hold, {len(count) - sum(count)} fail."
        + (f" **{len(missing)} of {len(all_cases())} rows are not measured yet**, of {incomplete}." if missing else ""),
        "",
        "| method | system | " + " | ".join(COLUMNS) + " |",
        "| --- " * (2 + len(COLUMNS)) + "|",
    ]
    for method, system in all_cases():
        entries = found.get(f"{method}-{system}")
        if not entries:
            continue
        cells = [
            " / ".join(cell(entries[name]) for name in names if name in entries) or "-" for names in COLUMNS.values()
        ]
        lines.append(f"| {method} | {system} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure, and write the table into docs/audit.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2, help="how many processes")
    parser.add_argument("--kept", type=pathlib.Path, default=ROOT / "build" / "audit.json", help="results up to now")
    parser.add_argument("--as-it-is", action="store_true", help="write the results up to now, and measure nothing")
    options = parser.parse_args()
    options.kept.parent.mkdir(exist_ok=True)
    if options.as_it_is:
        fill(ROOT / "docs" / "audit.md", "audit", table(json.loads(options.kept.read_text())))
        return
    found = results(options.kept, options.jobs)
    fill(ROOT / "docs" / "audit.md", "audit", table(found))
    options.kept.unlink()  # the next run measures anew


if __name__ == "__main__":
    main()
