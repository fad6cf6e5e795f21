"""From nothing to the first result: a fresh process with an empty cache, and one with a warm cache.

As a program, `python -m benchmarks.first_result CASE ENGINE` prints the times of one process as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time

from .pages import ROOT
from .tables import Table

STEPS = 100


def one_process(case: str, engine: str, cache: str) -> dict:
    """Times of a fresh process, in seconds; `process` is the whole of it, interpreter included."""
    environment = os.environ | {"DALEMBERT_CACHE_DIR": cache}
    begun = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.first_result", case, engine],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    return json.loads(done.stdout) | {"process": time.perf_counter() - begun}


def first_result_table(repeats: int) -> Table:
    """Best of several fresh processes each."""
    header = ("seconds", "import", "first call", "of it translating and compiling", "whole process")
    table = Table(f"First result, {STEPS} steps", header)
    for label, case, engine in (
        ("pendulum, native", "pendulum", "native"),
        ("ten-link chain, native", "ten-links", "native"),
        ("pendulum, XLA", "pendulum", "xla"),
    ):
        fresh, warm = [], []
        for _ in range(repeats):
            with tempfile.TemporaryDirectory() as cache:
                fresh.append(one_process(case, engine, cache))
                if engine == "native":
                    warm.append(one_process(case, engine, cache))
        for times, suffix in ((fresh, ""), (warm, ", code cached")):
            if times:
                best = min(times, key=lambda found: found["first_call"])
                table.rows.append(
                    (
                        label + suffix,
                        f"{best['import']:.2f}",
                        f"{best['first_call']:.2f}",
                        f"{best['compile']:.2f}" if engine == "native" else "-",
                        f"{best['process']:.2f}",
                    )
                )
    table.notes.append("XLA compiles inside its first run; its share is not counted apart.")
    return table


def main(case: str, engine: str) -> None:
    """Time this process: import, then the first call."""
    begun = time.perf_counter()
    from dalembert import Rattle, System, simulate  # noqa: F401, since the package loads its parts when they are named

    imported = time.perf_counter()
    from .cases import cases

    chosen = cases()[case]
    ready = time.perf_counter()
    run = chosen.simulate(STEPS, engine=engine)
    finished = time.perf_counter()
    print(
        json.dumps(
            {
                "import": imported - begun,
                "first_call": finished - ready,
                "compile": run.stats["compile_seconds"],
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
