"""`python -m benchmarks`: measure, print, and write the tables into README.md and the documentation.

python -m benchmarks                 all of it, several minutes
python -m benchmarks engine calls    only these sections
python -m benchmarks --quick         short runs, to see that everything works; writes nothing
"""

from __future__ import annotations

import argparse
import datetime
import os
import pathlib
import platform
import re
import tempfile
from collections.abc import Callable
from importlib.metadata import version

from rich.console import Console

from .call_cost import call_cost_table
from .contacts import contact_table
from .control import control_calls_table, plans_table
from .derivatives import derivatives_table
from .engine import engine_tables
from .ensemble import ensemble_table
from .first_result import first_result_table
from .heaps import heaps_table
from .large_systems import large_systems_table
from .longer_chains import longer_chains_table
from .mechanisms import mechanisms_table
from .pages import DOCS, ROOT, fill
from .plan_orders import plan_orders_table
from .roundoff import constraint_table, energy_table
from .spheres import spheres_table
from .tables import Table
from .work_precision import work_precision_table

PICTURE = DOCS / "pictures" / "compensated_summation.png"
PAGE, FRONT, SUMMATION = DOCS / "benchmarks.md", ROOT / "README.md", DOCS / "compensated_summation.md"
CHOICE, CONTROL = DOCS / "choose_a_method.md", DOCS / "control.md"


def sections(repeats: int, share: float, picture: pathlib.Path | None) -> dict[str, Callable[[], dict[str, Table]]]:
    """Each measures one or more tables, by the names of the blocks they are written to."""
    return {
        "engine": lambda: engine_tables(repeats, share),
        "longer": lambda: {"longer": longer_chains_table(repeats, share)},
        "large": lambda: {"large": large_systems_table(share)},
        "mechanisms": lambda: {"mechanisms": mechanisms_table(repeats, share)},
        "ensemble": lambda: {"ensemble": ensemble_table(repeats, share)},
        "contacts": lambda: {"contacts": contact_table(repeats, share)},
        "heaps": lambda: {"heaps": heaps_table(share)},
        "spheres": lambda: {"spheres": spheres_table(share)},
        "first": lambda: {"first": first_result_table(2 if share >= 1 else 1)},
        "calls": lambda: {"calls": call_cost_table(repeats)},
        "derivatives": lambda: derivatives_table(repeats, share),
        "constraints": lambda: {"constraints": constraint_table(share)},
        "compensated": lambda: {"compensated": energy_table(share, picture)},
        "work_precision": lambda: {"work_precision": work_precision_table(share)},
        "control_calls": lambda: {"control_calls": control_calls_table(repeats, share)},
        "plans": lambda: {"plans": plans_table(min(repeats, 3), share)},
        "plan_orders": lambda: {
            "plan_orders": plan_orders_table(share, picture and picture.with_name("plan_orders.png"))
        },
    }


def machine() -> str:
    """What the numbers belong to."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    packages = ", ".join(f"{name} {version(name)}" for name in ("dalembert", "jax", "llvmlite", "numpy"))
    date = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")
    return (
        f"{_processor()}, {os.cpu_count()} cores (load {load:.1f} at the start), {platform.system()}; "
        f"Python {platform.python_version()}, {packages}; {date}."
    )


def _processor() -> str:
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    found = re.search(r"model name\s*:\s*(.+)", text)
    return " ".join(found.group(1).split()) if found else platform.machine()


def write(name: str, table: Table, on_what: str) -> None:
    """Put a table where it belongs, and the machine beside it."""
    if name == "work_precision":
        table.notes.append(on_what)
        fill(CHOICE, name, table.markdown())
        return
    if name == "plan_orders":  # errors, which are those of any machine
        fill(CONTROL, name, table.markdown())
        return
    fill(PAGE, "machine", on_what)
    if name == "compensated":
        fill(SUMMATION, name, table.markdown())
        return
    fill(PAGE, name, table.markdown())
    if name == "engine":
        front = Table("", table.header[:6], [row[:6] for row in table.rows], [f"{on_what}"])
        fill(FRONT, "speed", front.markdown())


def main() -> None:
    """Measure the sections asked for."""
    known = sections(1, 1.0, None)
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"sections: {', '.join(known)}")
    parser.add_argument("--quick", action="store_true", help="short runs; writes nothing")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in known]
    if unknown:
        parser.error(f"unknown section {unknown[0]!r}; expected some of: {', '.join(known)}")
    chosen = arguments.names or list(known)
    quick = arguments.quick
    work = sections(2, 0.01, None) if quick else sections(5, 1.0, PICTURE)
    on_what = machine()
    console = Console(width=max(Console().width, 120))
    console.print(on_what, highlight=False)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["DALEMBERT_CACHE_DIR"] = cache  # so that no run finds code that an earlier one compiled
        for name in chosen:
            for block, table in work[name]().items():
                table.show(console)
                if not quick:
                    write(block, table, on_what)


if __name__ == "__main__":
    main()
