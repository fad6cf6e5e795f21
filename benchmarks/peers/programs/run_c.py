"""C by hand: plain RATTLE of order 2, multipliers only, a tridiagonal solve for the chain; the native limit."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import tempfile

import numpy as np
from measure import NotApplicable, Solver, main
from problems import Problem

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "c" / "rattle.c"
OPTIONS = ("-O3", "-march=native", "-std=c11", "-D_POSIX_C_SOURCE=200809L")
FIRST = {"pendulum": 20_000, "chain-2": 4000, "chain-10": 250, "chain-100": 250, "chain-1000": 500}


class CProgram(Solver):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.settings = {"RATTLE": [FIRST[problem.name] * 2**k for k in range(14)]}
        self.note = "plain RATTLE, order 2"
        compiler = next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)
        if compiler is None:
            raise NotApplicable("no C compiler")
        self.folder = tempfile.TemporaryDirectory()
        self.target = str(pathlib.Path(self.folder.name) / "rattle")
        links = max(1, problem.links)
        command = [compiler, *OPTIONS, f"-DLINKS={links}", str(SOURCE), "-o", self.target, "-lm"]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        self.numbers = " ".join(repr(float(x)) for x in (*problem.q0, *problem.v0))

    def call(self, steps: int, h: float) -> tuple[float, np.ndarray]:
        arguments = [self.target, self.problem.kind, str(steps), repr(h), "1"]
        done = subprocess.run(arguments, input=self.numbers, capture_output=True, text=True, check=True, timeout=60)
        nanoseconds, _, *q = (float(x) for x in done.stdout.split())
        return 1e-9 * nanoseconds * steps, np.array(q)

    def prepare(self, method, setting):
        return lambda: self.call(setting, self.problem.end / setting)

    def states(self, method, setting, times):
        """Positions only: it prints no velocities."""
        h = self.problem.end / setting
        rows = [self.problem.q0]
        for t in times[1 :: max(1, len(times) // 5)]:
            rows.append(self.call(max(1, round(t / h)), h)[1])
        return np.array(rows), np.full((len(rows), len(self.problem.q0)), np.nan)


def make(problem: Problem) -> Solver:
    if problem.name not in FIRST:
        raise NotApplicable("not written")
    return CProgram(problem)


if __name__ == "__main__":
    main(make, "")
