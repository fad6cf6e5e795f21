"""The same call gives the same bytes, in one process and in two; what only agrees to roundoff does."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import run_digest
from run_digest import digest

import dalembert as da

#: Systems, methods and options of short runs, as another process can be told them.
CASES = {
    "native": ("double-pendulum", "rattle", {"h": 0.01, "t": (0.0, 5.0)}),
    "native, order 4": ("pendulum", "galerkin-2", {"h": 0.05, "t": (0.0, 5.0)}),
    "nonholonomic": ("skate", "gauss-spark-2", {"h": 0.05, "t": (0.0, 5.0)}),
    "XLA": ("pendulum", "rattle", {"h": 0.05, "t": (0.0, 1.0), "engine": "xla"}),
    "contact": ("ball-in-box", "moreau-jean", {"h": 0.01, "t": (0.0, 3.0)}),
    "events": ("bouncing-ball", "event-capturing-radau-3", {"h": 0.05, "t": (0.0, 2.0)}),
}


def in_another_process(cases, folder, seed: str) -> list[str]:
    """The digests of some cases, computed by a new process with its own cache of compiled code."""
    environment = {**os.environ, "DALEMBERT_CACHE_DIR": str(folder), "PYTHONHASHSEED": seed}
    command = [sys.executable, run_digest.__file__, json.dumps(cases)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=300)
    return done.stdout.split()


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_two_calls_give_the_same_bytes(case):
    assert digest(*case) == digest(*case)


def test_two_processes_give_the_same_bytes(tmp_path):
    cases = [CASES["native"], CASES["contact"]]
    first, second = (in_another_process(cases, tmp_path / seed, seed) for seed in ("1", "2"))
    assert first == second


@pytest.mark.long
def test_processes_give_the_same_bytes_with_and_without_a_cache(tmp_path):
    cases = list(CASES.values())
    first = in_another_process(cases, tmp_path / "one", "1")
    again = in_another_process(cases, tmp_path / "one", "2")  # with the code that the first has compiled
    other = in_another_process(cases, tmp_path / "two", "3")
    assert first == again == other
    assert len(set(first)) == len(cases)


def test_what_is_saved_does_not_change_what_is_computed():
    system = da.gallery.system_named("double-pendulum")()
    start = system.start()
    every, some = (
        da.simulate(system, da.Rattle(), start.q0, start.v0, t=(0.0, 5.0), h=0.01, save_every=k) for k in (1, 50)
    )
    np.testing.assert_array_equal(every.q[::50], some.q)
    careful = da.simulate(system, da.Rattle(), start.q0, start.v0, t=(0.0, 5.0), h=0.01, retry=True)
    np.testing.assert_array_equal(every.q, careful.q)


def test_a_batch_agrees_with_single_runs_to_roundoff():
    system = da.gallery.system_named("double-pendulum")()
    start = system.start()
    v0 = np.stack([(0.5 + 0.1 * k) * np.asarray(start.v0) for k in range(5)])
    batch = da.simulate(system, da.Rattle(), np.stack([start.q0] * 5), v0, t=(0.0, 1.0), h=0.01)
    again = da.simulate(system, da.Rattle(), np.stack([start.q0] * 5), v0, t=(0.0, 1.0), h=0.01)
    np.testing.assert_array_equal(batch.q, again.q)
    for k in range(5):
        alone = da.simulate(system, da.Rattle(), start.q0, v0[k], t=(0.0, 1.0), h=0.01)
        np.testing.assert_allclose(batch.q[k], alone.q, rtol=0, atol=1e-12)
        np.testing.assert_allclose(batch.p[k], alone.p, rtol=0, atol=1e-11)
