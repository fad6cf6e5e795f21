"""Milliseconds to reach an accuracy: compositions of RATTLE beside collocation in time, on four problems.

Every method runs with steps that are halved from run to run; the time at an error is read off between two of them,
where both logarithms are taken to be linear. Compilation is not counted.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

import dalembert as da
from dalembert.diagnostics import reference_solution
from dalembert.engine import finish_compiling
from dalembert.gallery import Chain, DoublePendulum, Pendulum
from dalembert.gallery.springs_and_bars import FourParticles

from .cases import hanging_chain
from .tables import Table

ERRORS = (1e-4, 1e-6, 1e-8)
#: A ladder ends below the last error, or where a run takes longer than this, or where small errors no longer fall.
LONGEST_SECONDS = 1.5
METHODS = {
    "RATTLE": da.Rattle(),
    "RATTLE, suzuki4": da.Composition(da.Rattle(), "suzuki4"),
    "RATTLE, kahan-li6": da.Composition(da.Rattle(), "kahan-li6"),
    "RATTLE, sofroniou-spaletta6": da.Composition(da.Rattle(), "sofroniou-spaletta6"),
    "RATTLE, kahan-li8": da.Composition(da.Rattle(), "kahan-li8"),
    "RATTLE, sofroniou-spaletta10": da.Composition(da.Rattle(), "sofroniou-spaletta10"),
    "Galerkin(2), order 4": da.Galerkin(2),
    "Galerkin(3), order 6": da.Galerkin(3),
    "Galerkin(4), order 8": da.Galerkin(4),
}


@dataclass(frozen=True)
class Problem:
    """A system with its start and its end; `coarsest` is the number of steps with which ladders begin."""

    name: str
    system: Any
    q0: np.ndarray
    v0: np.ndarray
    end: float
    coarsest: int
    leave_out: tuple[str, ...] = ()

    def reference(self) -> np.ndarray:
        """q at the end: exact where known, else of order 8 at a tolerance near roundoff."""
        exact = self.system.exact(np.array([self.end])) if isinstance(self.system, Pendulum) else None
        if exact is not None:
            return np.asarray(exact.q[-1])
        return np.asarray(reference_solution(self.system, self.q0, self.v0, (0.0, self.end)).q)


def problems() -> list[Problem]:
    """From one link to ten, and stiff springs between bars."""
    pendulum, double, four = Pendulum().start(), DoublePendulum().start(), FourParticles().start()
    return [
        Problem("pendulum, t = 100", Pendulum(), np.asarray(pendulum.q0), np.asarray(pendulum.v0), 100.0, 800),
        Problem("two links, t = 10", DoublePendulum(), np.asarray(double.q0), np.asarray(double.v0), 10.0, 150),
        Problem("four particles, t = 10", FourParticles(), np.asarray(four.q0), np.asarray(four.v0), 10.0, 200),
        # the program of order 8 takes half a minute to compile here
        Problem("ten links, t = 2", Chain(links=10), *hanging_chain(10), 2.0, 50, ("Galerkin(4), order 8",)),
    ]


def times_at_errors(problem: Problem, method, reference: np.ndarray, longest: float) -> list[float | None]:
    """Milliseconds at each of `ERRORS`; None where the ladder does not reach it."""
    steps, found = problem.coarsest, []
    while True:
        arguments = (problem.system, method, problem.q0, problem.v0, None, (0.0, problem.end), problem.end / steps)
        runs = []
        for _ in range(4):  # the first compiles, the second has its code made fast
            runs.append(da.simulate(*arguments, save_every=steps, on_failure="return"))
            finish_compiling()
        seconds = min(run.stats["wall_seconds"] for run in runs)
        error = float(np.max(np.abs(runs[0].q[-1] - reference))) if runs[0].status else np.inf
        if error < 1.0:
            found.append((error, 1e3 * seconds))
        falling = len(found) < 2 or found[-1][0] < 0.7 * found[-2][0] or found[-1][0] > ERRORS[0]
        if error < ERRORS[-1] or seconds > longest or not falling:
            break
        steps *= 2
    return [_between(found, wanted) for wanted in ERRORS]


def _between(ladder: list[tuple[float, float]], wanted: float) -> float | None:
    for (coarse, cheap), (fine, dear) in itertools.pairwise(ladder):
        if fine <= wanted <= coarse:
            part = np.log(coarse / wanted) / np.log(coarse / fine)
            return float(np.exp((1 - part) * np.log(cheap) + part * np.log(dear)))
    if ladder and ladder[0][0] <= wanted:  # the coarsest run is already better
        return ladder[0][1]
    return None


def work_precision_table(share: float) -> Table:
    """A row a problem and method, a column an error."""
    header = ("milliseconds to an error of", *(f"{error:.0e}".replace("e-0", "e-") for error in ERRORS))
    table = Table("Work and precision", header)
    longest = LONGEST_SECONDS if share >= 1 else 0.02
    for problem in problems() if share >= 1 else problems()[:1]:
        reference = problem.reference()
        for name, method in METHODS.items():
            if name in problem.leave_out:
                continue
            times = times_at_errors(problem, method, reference, longest)
            table.rows.append((f"{problem.name}: {name}", *(_shown(time) for time in times)))
    table.notes.append("Largest error of q at the end; the coarsest steps counted where they are already better.")
    return table


def _shown(milliseconds: float | None) -> str:
    return "-" if milliseconds is None else f"{milliseconds:.3g}"
