"""Run one program on one problem in a process of its own, and put together what it printed."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

import numpy as np

from .environments import CACHE, HERE, Peer, python_of

sys.path.insert(0, str(HERE / "programs"))
import problems as problem_set

ERRORS = (1e-4, 1e-6, 1e-8)
#: One compilation of heyoka for a thousand links takes longer than any other case; it compiles for every tolerance, and
#: dalembert for every method of its set.
LONGER = {("heyoka", "chain-1000"): 300.0, ("heyoka", "chain-100"): 100.0, ("casadi", "chain-1000"): 80.0}
LONGER_FOR = {"dalembert": 60.0, "dalembert-symplectic": 60.0}
#: Seconds for the start of a program that is not counted.
LOADING = 3.0
#: Problems on which the energy is followed to t = 1000.
ENERGY = ("pendulum", "chain-2")


@dataclass
class Result:
    """What one program did on one problem."""

    peer: str
    problem: str
    points: list[dict] = field(default_factory=list)
    version: str = ""
    set_up: float = np.nan
    lines: int = 0
    memory: float = np.nan
    violation: float = np.nan
    energy: dict | None = None
    note: str = ""
    unable: str = ""
    failures: list[str] = field(default_factory=list)

    def at(self, error: float) -> dict | None:
        """The quickest point that meets an error and whose next finer one, if there is one, meets it too: a lucky
        crossing of zero does not count."""
        met = []
        for method in dict.fromkeys(p["method"] for p in self.points):
            ladder = [p for p in self.points if p["method"] == method]
            finer = [*ladder[1:], None]
            met += [
                p for p, q in zip(ladder, finer, strict=True)
                if p["error"] <= error and (q is None or q["error"] <= error)
            ]  # fmt: skip
        return min(met, key=lambda p: p["seconds"], default=None)

    def milliseconds(self, error: float) -> float | None:
        found = self.at(error)
        return None if found is None else 1e3 * found["seconds"]


def reference_of(name: str) -> np.ndarray:
    """q at the end of a problem, computed once and kept beside the environments."""
    CACHE.mkdir(exist_ok=True)
    problem = problem_set.problems()[name]
    start = [problem.end, *problem.q0.tolist(), *problem.v0.tolist()]
    path = CACHE / f"reference-{name}.json"
    if path.exists():
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept["start"] == start:
            return np.array(kept["q"])
    q = problem_set.reference(problem)
    path.write_text(json.dumps({"start": start, "q": q.tolist()}), encoding="utf-8")
    return q


def measured(peer: Peer, problem: str, limit: float) -> Result:
    """All that the program reports before the time limit."""
    result = Result(peer.name, problem)
    try:
        python = python_of(peer)
    except RuntimeError as reason:
        result.unable = str(reason)
        return result
    limit = max(limit, LONGER.get((peer.name, problem), 0.0), LONGER_FOR.get(peer.name, 0.0))
    asked = {
        "problem": problem,
        "reference": reference_of(problem).tolist(),
        "limit": limit,
        "energy": problem in ENERGY,
    }
    _load(peer)
    output, errors, stopped = _answer(peer, python, asked)
    if stopped:
        result.failures.append(f"stopped after {limit:.0f} s")
    for line in output.splitlines():
        if line.startswith("{"):
            absorb(result, json.loads(line))
    if not result.points and not result.unable:
        why = result.failures or errors.strip().splitlines()[-1:] or ["it printed nothing"]
        result.unable = why[0][:150]
    return result


@functools.cache
def _load(peer: Peer) -> None:
    """Start a program once for nothing, so that its libraries lie in memory: from a cold disk they took up to 24 s,
    which would count as its set-up."""
    asked = {"problem": "pendulum", "reference": reference_of("pendulum").tolist(), "limit": LOADING, "energy": False}
    _answer(peer, python_of(peer), asked)


def _answer(peer: Peer, python: str, asked: dict) -> tuple[str, str, bool]:
    """What a program prints, its errors, and whether it had to be stopped."""
    # one thread each: all programs but the ensembles of dalembert compute one trajectory on one core
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    with tempfile.TemporaryDirectory() as cache:  # so that no run finds code that an earlier one compiled
        environment = os.environ | one | {"DALEMBERT_CACHE_DIR": cache, "PYTHONWARNINGS": "ignore"}
        process = subprocess.Popen(
            [python, str(peer.script), json.dumps(asked)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=environment, cwd=cache,
        )  # fmt: skip
        try:
            return *process.communicate(timeout=asked["limit"] + 15), False
        except subprocess.TimeoutExpired:
            process.kill()
            return *process.communicate(), True


def absorb(result: Result, part: dict) -> None:
    """One line of what a program printed."""
    if "point" in part:
        if not result.points:  # the first call compiles
            result.set_up += part["first"]
        result.points.append(part["point"])
        return
    if "failure" in part:
        failure = part["failure"]
        if not result.points:  # a first run that fails has compiled all the same
            result.set_up += part.get("first", 0.0)
        result.failures.append(f"{failure['method']} {failure['setting']}: {failure['why']}".strip())
        return
    for name in ("version", "set_up", "lines", "memory", "violation", "energy", "note", "unable"):
        if name in part:
            setattr(result, name, part[name])
