"""What a gradient costs: chains of rigid links in space, RATTLE, the last height by gravity; diffrax beside it."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import dalembert as da
from dalembert.engine import finish_compiling
from dalembert.engine.derivatives.recorded import Grid, differentiable
from dalembert.gallery import Chain
from dalembert.stepping import Given, Options, assemble, flat_parameters
from dalembert.stepping.prologue import begin

from .cases import hanging_chain
from .pages import ROOT
from .peers.environments import CACHE, HERE, PEERS, python_of
from .tables import Table

LINKS = (1, 2, 5, 10, 100, 1000)
STEPS, STEP = 200, 0.005
#: seconds for all that diffrax is asked
LIMIT = 900


def derivatives_table(repeats: int, share: float) -> dict[str, Table]:
    """A row for each number of links."""
    links = LINKS if share >= 1 else LINKS[:2]
    inside = Table(
        "Derivatives, in the loop",
        ("links", "run, ms", "run with record, ms", "backward sweep, ms", "gradient / run", "tangent / run"),
    )
    whole = Table(
        "Derivatives, whole calls",
        (
            "links", "run, ms", "gradient under jit, ms", "without jit, ms", "first run, s", "first gradient, s",
            "diffrax: run, ms", "gradient, ms", "first gradient, s", "diffrax / dalembert",
        ),
    )  # fmt: skip
    theirs = of_diffrax(links, 6 * repeats)
    for count, other in zip(links, theirs, strict=True):
        ours = calls(count, repeats)
        inside.rows.append((str(count), *(f"{number:.3g}" for number in loops(count, repeats))))
        beside = ["-"] * 4
        if other:
            numbers = 1e3 * other["run"], 1e3 * other["gradient"], other["first"]
            beside = [*(f"{number:.3g}" for number in numbers), f"{1e3 * other['gradient'] / ours[1]:.3g}"]
        whole.rows.append((str(count), *(f"{number:.3g}" for number in ours), *beside))
    inside.notes.append(
        f"RATTLE, {STEPS} steps of {STEP}; the gradient is by all parameters and starting values, the tangent along "
        "one direction."
    )
    whole.notes.append(
        "The value and its derivative by gravity; the least of several calls, with starting values, checks and "
        "callbacks. diffrax: Dopri8 at 1e-8 on the equations reduced by hand, `jit(value_and_grad)`."
    )
    return {"derivatives": inside, "derivative_calls": whole}


def least(function: Callable[[], Any], repeats: int) -> float:
    """Milliseconds of the quickest call, after two to warm up."""
    seconds = []
    for _ in range(repeats + 2):
        begun = time.perf_counter()
        jax.block_until_ready(function())
        seconds.append(time.perf_counter() - begun)
    return 1e3 * min(seconds[2:])


def first_seconds(function: Callable[[], Any]) -> float:
    """Seconds of the first call."""
    begun = time.perf_counter()
    jax.block_until_ready(function())
    return time.perf_counter() - begun


def calls(links: int, repeats: int) -> tuple[float, ...]:
    """A run, its value and gradient under jit and without, in milliseconds; the first of the first two, in seconds."""
    run, gradient, without = functions_of(links)
    for one in (run, gradient, without):
        one()
    finish_compiling()
    return *(least(one, 6 * repeats) for one in (run, gradient, without)), *first_of(links)


def functions_of(links: int) -> tuple[Callable, Callable, Callable]:
    """A run of a chain, its value and gradient under jit and without."""
    q0, v0 = hanging_chain(links)

    def last_height(gravity):
        run = da.simulate(
            Chain(links=links, gravity=gravity), da.Rattle(), q0, v0, t=(0.0, STEPS * STEP), h=STEP, save_every=STEPS
        )
        return run.q[-1, -1]

    both = jax.value_and_grad(last_height)
    return tuple(functools.partial(one, 9.81) for one in (last_height, jax.jit(both), both))


def first_of(links: int) -> list[float]:
    """Seconds of the first run and of the first gradient after it, in a process of their own with an empty cache."""
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.derivatives", str(links)],
            cwd=ROOT, env=os.environ | {"DALEMBERT_CACHE_DIR": cache}, capture_output=True, text=True, check=True,
        )  # fmt: skip
    return json.loads(done.stdout)


def loops(links: int, repeats: int) -> tuple[float, ...]:
    """The run, the run with its record and the backward sweep, in milliseconds; gradient and tangent in runs."""
    system, grid = Chain(links=links), Grid(STEPS, STEPS)
    start = begin(system, da.Rattle(), Given(*hanging_chain(links), None), Options(), 0.0)
    state = np.concatenate([np.ravel(part) for part in start.state])
    parameters = np.asarray(flat_parameters(system))
    step = differentiable(assemble(system, da.Rattle(), start.layout, start.rows), True)
    given = 0.0, STEP, parameters
    run, record = (functools.partial(step.run, state, *given, grid, record=kept) for kept in (False, True))
    recorded, bars = record().record, np.zeros((2, len(state)))
    bars[1, 0] = 1.0
    backwards = functools.partial(step.adjoints, recorded, *given, bars, grid)
    along = jnp.zeros(len(state)), 0.0, 0.0, np.ones(len(parameters))
    tangent = functools.partial(step.tangents, recorded, *given, along, grid)
    for function in (run, record, backwards, tangent) * 2:
        function()
    finish_compiling()
    times = [least(function, 4 * repeats) for function in (run, record, backwards, tangent)]
    return times[0], times[1], times[2], (times[1] + times[2]) / times[0], (times[1] + times[3]) / times[0]


def of_diffrax(links: tuple[int, ...], repeats: int) -> list[dict | None]:
    """What diffrax takes, where `python -m benchmarks.peers` has installed it."""
    if not (CACHE / "diffrax").exists():
        return [None] * len(links)
    starts = [hanging_chain(count) for count in links]
    cases = [{"q0": q0.tolist(), "v0": v0.tolist()} for q0, v0 in starts]
    asked = json.dumps({"cases": cases, "end": STEPS * STEP, "repeats": repeats})
    program = HERE / "programs" / "gradients_diffrax.py"
    with subprocess.Popen(
        [python_of(PEERS["diffrax"]), str(program), asked], stdout=subprocess.PIPE, text=True, env=os.environ
    ) as process:
        try:
            output, _ = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
    found = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return [*found, *[None] * (len(links) - len(found))]


if __name__ == "__main__":
    begun, derived, _ = functions_of(int(sys.argv[1]))
    da.simulate(da.gallery.Kepler(), da.Rattle(), [1.0, 0.0], [0.0, 1.0], t=(0.0, 0.1))  # what is loaded once
    print(json.dumps([first_seconds(begun), first_seconds(derived)]))
