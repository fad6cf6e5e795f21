"""The hand-written C program: compiled and run in the same session, where a compiler is found."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import tempfile
from dataclasses import dataclass

import numpy as np

from .cases import Case

SOURCE = pathlib.Path(__file__).parent / "c" / "rattle.c"
OPTIONS = ("-O3", "-march=native", "-std=c11", "-D_POSIX_C_SOURCE=200809L")


@dataclass(frozen=True)
class CResult:
    """What the program printed."""

    microseconds: float
    iterations: float
    q: np.ndarray


def compiler() -> str | None:
    """A C compiler, or None."""
    return next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)


def run_c(case: Case, steps: int, repeats: int) -> CResult | None:
    """Compile the program for this problem and run it; None without a compiler or without a C version."""
    program = compiler()
    if program is None or case.c_problem is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        target = str(pathlib.Path(folder) / "rattle")
        command = [program, *OPTIONS, f"-DLINKS={case.links}", str(SOURCE), "-o", target, "-lm"]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        numbers = " ".join(repr(float(x)) for x in (*case.q0, *case.v0))
        arguments = [target, case.c_problem, str(steps), repr(case.h), str(repeats)]
        done = subprocess.run(arguments, input=numbers, capture_output=True, text=True, check=True, timeout=300)
    nanoseconds, iterations, *q = (float(x) for x in done.stdout.split())
    return CResult(nanoseconds / 1000, iterations, np.array(q))


def disagreement(case: Case, steps: int) -> float | None:
    """Largest difference between the last positions of both programs after a short run."""
    found = run_c(case, steps, 1)
    if found is None:
        return None
    return float(np.max(np.abs(found.q - np.asarray(case.simulate(steps).q[-1]))))
