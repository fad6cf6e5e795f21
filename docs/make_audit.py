"""The table of the audit: every method, every claim, every system of the gallery that fits: `make audit`.

Measures come from `tests/claims/claim_cases.py`, which the tests of the claims use too. What does not hold stands in
the table with its number. Results are kept while it runs, so that a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
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
from dalembert.gallery import GALLERY  # noqa: E402
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


#: What a fit of an order says when too few errors are larger than roundoff.
BELOW_ROUNDOFF = "points above roundoff"


def all_cases() -> list[claims.Case]:
    return [
        claims.Case(method_name, method, name)
        for method_name, method in METHODS.items()
        for name in GALLERY
        if claims.fits(method, GALLERY[name]())
    ]


def measured(case: claims.Case) -> dict[str, dict[str, Any]]:
    """What was found for every claim of a case, by the claim."""
    measures = dict(claims.claims_of(case))
    if case.claims.symplectic and case.system_name in SYMPLECTIC_ON:
        measures["symplectic"] = lambda: claims.measure_symplectic(case)
    found = {}
    for claim, measure in measures.items():
        try:
            number = measure()
            found[claim] = {"value": number.value, "wanted": number.wanted, "holds": number.holds}
        except da.MethodDoesNotFit:  # as it turns out at the start of the motion
            return {}
        except (AssertionError, da.DalembertError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            if BELOW_ROUNDOFF in reason:  # nothing to measure: the errors are roundoff already
                continue
            found[claim] = {"value": None, "wanted": reason, "holds": False}
    claims.errors_at_end.cache_clear()
    claims.long_run.cache_clear()
    return found


def measure_numbered(number: int) -> tuple[str, dict[str, Any]]:
    """For a process of its own: the case of this number."""
    case = all_cases()[number]
    return str(case), measured(case)


def results(kept: pathlib.Path, jobs: int) -> dict[str, dict[str, Any]]:
    """All cases; those in the file `kept` are not measured again."""
    found = json.loads(kept.read_text()) if kept.is_file() else {}
    todo = [k for k, case in enumerate(all_cases()) if str(case) not in found]
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
    missing = [case for case in all_cases() if str(case) not in found]
    incomplete = ", ".join(dict.fromkeys(case.method_name for case in missing))
    lines = [
        f"{len(count)} measurements of {len(METHODS)} methods on {len(GALLERY)} systems; "
        f"{sum(count)} hold, {len(count) - sum(count)} fail."
        + (f" **{len(missing)} of {len(all_cases())} rows are not measured yet**, of {incomplete}." if missing else ""),
        "",
        "| method | system | " + " | ".join(COLUMNS) + " |",
        "| --- " * (2 + len(COLUMNS)) + "|",
    ]
    for case in all_cases():
        entries = found.get(str(case))
        if not entries:
            continue
        cells = [
            " / ".join(cell(entries[name]) for name in names if name in entries) or "-" for names in COLUMNS.values()
        ]
        lines.append(f"| {case.method_name} | {case.system_name} | " + " | ".join(cells) + " |")
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
