"""One program on one problem: the ladder of settings, the clock, and what is reported.

A program of this folder calls `main(make)`, where `make(problem)` builds a `Solver`. It gets one JSON object as its
argument and prints one JSON object a line, so that what was measured before a time limit is not lost.
"""

from __future__ import annotations

import inspect
import json
import pathlib
import re
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from problems import Problem, problems

ERRORS = (1e-4, 1e-6, 1e-8)
#: A setting is run so often, and short ones until this much time has gone by.
REPEATS, MOST_REPEATS, ENOUGH_SECONDS = 3, 200, 0.25
#: A run longer than this is not repeated: what disturbs it is small beside it.
LONG_RUN = 4.0
#: A first run shorter than this is taken again before anything counts.
WARM_UP = 8.0
#: Parts of the time limit for the ladder, and the end of the long run for the energy.
LADDER_SHARE, LONG_END, LONG_SAMPLES = 0.6, 1000.0, 2001
SAMPLES = 201


class NotApplicable(Exception):
    """The program has no form for this problem; the message says why."""


class Solver:
    """What a program provides. `settings` maps names of methods to settings from coarse to fine."""

    settings: dict[str, list]
    #: what a user would have to write for this problem
    written_by_user: tuple[Callable, ...] = ()
    note = ""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def prepare(self, method: str, setting) -> Callable[[], Any]:
        """A function that integrates to the end; what it does is what the clock measures. It returns q at the end, or
        a pair of seconds and q where the program has a clock of its own that leaves out what is not integration."""
        raise NotImplementedError

    def settle(self) -> None:
        """Wait for what the program does beside its first runs, to be quicker later on."""

    def states(self, method: str, setting, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """q and v at the times."""
        raise NotImplementedError


def lines_of(functions) -> int:
    """Lines of code without blank ones, comments and docstrings."""
    count = 0
    for function in functions:
        inside = False
        for line in inspect.getsource(function).splitlines():
            text = line.strip()
            if inside or text.startswith('"""'):
                marks = text.count('"""')
                inside = not inside if marks == 1 else inside
                continue
            count += bool(text) and not text.startswith("#")
    return count


def peak_memory() -> float:
    """MiB. (`getrusage` would count what the process was before it became this program.)"""
    found = re.search(r"VmHWM:\s*(\d+) kB", pathlib.Path("/proc/self/status").read_text(encoding="utf-8"))
    return int(found.group(1)) / 1024 if found else float("nan")


def report(**content) -> None:
    print(json.dumps(content), flush=True)


def _timed(run) -> tuple[float, np.ndarray]:
    """Wall time. (Processor time leaves out what other programs take, but in a virtual machine it runs unevenly: single
    runs seem to take a sixth of their time, and the best of many is then such a one.)"""
    begun = time.perf_counter()
    found = run()
    seconds = time.perf_counter() - begun
    if isinstance(found, tuple):
        seconds, found = found
    return seconds, np.asarray(found, dtype=float)


def _ladder(solver: Solver, method: str, wanted: np.ndarray, until: float) -> list[dict]:
    """Points from coarse to fine, until the last error is met twice, or errors fall no more, or time is over."""
    points: list[dict] = []
    for setting in solver.settings[method]:
        now = time.perf_counter()
        if now > until or (points and now + 2.5 * points[-1]["seconds"] > until):
            break
        begun = time.perf_counter()
        try:
            run = solver.prepare(method, setting)
            seconds, q = _timed(run)
            if not points and seconds < WARM_UP:  # the first call may compile inside
                seconds, q = _timed(run)
        except NotApplicable:
            raise
        except Exception as error:
            why = f"{type(error).__name__}: {error}"[:200]
            report(failure={"method": method, "setting": setting, "why": why}, first=time.perf_counter() - begun)
            continue
        first = time.perf_counter() - begun
        solver.settle()
        spent, count = seconds, 1
        while count < REPEATS or (spent < ENOUGH_SECONDS and count < MOST_REPEATS):
            if seconds > LONG_RUN or time.perf_counter() + seconds > until:
                break
            again, q = _timed(run)
            seconds, spent, count = min(seconds, again), spent + again, count + 1
        error = float(np.max(np.abs(q - wanted))) if np.all(np.isfinite(q)) else float("inf")
        point = {"method": method, "setting": setting, "seconds": seconds, "error": min(error, 1e300)}
        points.append(point)
        report(point=point, first=first - seconds)
        errors = [p["error"] for p in points]
        if len(points) > 1 and max(errors[-2:]) < ERRORS[-1]:
            break
        if len(points) > 4 and errors[-1] < 1e-5 and min(errors[-4:]) > 0.9 * min(errors[:-4]):
            break
    return points


def _best(points: list[dict]) -> dict | None:
    """The quickest point at the middle error, or else the most accurate one."""
    met = [p for p in points if p["error"] <= ERRORS[1]]
    if met:
        return min(met, key=lambda p: p["seconds"])
    return min(points, key=lambda p: p["error"], default=None)


def _energy(solver: Solver, point: dict, until: float) -> dict | None:
    """The largest energy error over a long run, and over its first and last tenths."""
    problem, end = solver.problem, LONG_END
    while end > problem.end and point["seconds"] * end / problem.end * 1.5 > until - time.perf_counter():
        end /= 10
    if end <= problem.end:
        return None
    solver.problem = replace(problem, end=end)
    times = np.linspace(0.0, end, LONG_SAMPLES)
    q, v = solver.states(point["method"], point["setting"], times)
    solver.problem = problem
    energies = np.array([problem.energy(a, b) for a, b in zip(q, v, strict=True)])
    errors = np.abs(energies - energies[0])
    tenth = len(times) // 10
    return {"end": end, "largest": errors.max(), "first": errors[:tenth].max(), "last": errors[-tenth:].max()}


def main(make: Callable[[Problem], Solver], version: str) -> None:
    """Measure what the argument asks for."""
    begun = time.perf_counter()
    asked = json.loads(sys.argv[1])
    until, limit = begun + asked["limit"], asked["limit"]
    problem = problems()[asked["problem"]]
    wanted = np.asarray(asked["reference"])
    try:
        before = time.perf_counter()
        solver = make(problem)
        report(version=version, set_up=time.perf_counter() - before, lines=lines_of(solver.written_by_user))
        points: list[dict] = []
        methods = list(solver.settings)
        for k, method in enumerate(methods):
            share = LADDER_SHARE * limit * (k + 1) / len(methods)
            points += _ladder(solver, method, wanted, max(begun + share, time.perf_counter() + 1.0))
        best = _best(points)
        if best is None:
            report(unable="no run succeeded")
            return
        report(memory=peak_memory(), note=solver.note)
        if best["seconds"] * 3 < until - time.perf_counter():
            q, v = solver.states(best["method"], best["setting"], np.linspace(0.0, problem.end, SAMPLES))
            worst = max(float(problem.violation(a, b)) for a, b in zip(q, v, strict=True))
            report(violation=worst, violation_of=best)
        if asked["energy"] and best["error"] <= ERRORS[1]:
            report(energy=_energy(solver, best, until))
    except NotApplicable as reason:
        report(unable=str(reason))
    except Exception as error:  # a program of others may raise anything; what was measured before stays
        report(failure={"method": "", "setting": "", "why": f"{type(error).__name__}: {error}"[:200]})
