"""Code that is there soon and code that is fast: the same bits, and the second follows when it is worth while."""

import threading

import numpy as np
import pytest
from engine_runners import runner_and_start

import dalembert as da
from dalembert.engine.machine import effort as tiers
from dalembert.engine.runners import choice
from dalembert.engine.tuning import tuning

CASES = [
    ("pendulum", da.Rattle()),
    ("double-pendulum", da.Galerkin(3)),
    ("mclachlan-perlmutter-particles", da.gauss_spark(2)),
    ("heavy-top", da.Rattle()),
    ("polar-pendulum", da.Galerkin(4)),
    ("bouncing-ball", da.MoreauJean()),
    ("pendulum", da.Composition(da.Rattle(), "kahan-li6")),
    ("pendulum", da.Taylor(9)),
]


@pytest.fixture
def efforts(monkeypatch, tmp_path) -> list[int]:
    """How hard LLVM tried, each time it was asked; with an empty cache and no runners."""
    monkeypatch.setenv("DALEMBERT_CACHE_DIR", str(tmp_path))
    choice._native.cache_clear()
    choice._phased.cache_clear()
    found, compile_text = [], tiers.compile_text

    def recorded(text, effort, kind, *where):
        if kind is not None:  # not the scales of unknowns
            found.append(effort)
        return compile_text(text, effort, kind, *where)

    monkeypatch.setattr(tiers, "compile_text", recorded)
    return found


def run(name: str, method, steps: int = 200, **parameters):
    """One run; then the threads that it left are waited for."""
    system = da.gallery.system_named(name)(**parameters)
    start = system.start()
    found = da.simulate(system, method, start.q0, start.v0, t=(0.0, steps * 0.01), h=0.01)
    for thread in threading.enumerate():
        if thread.name == tiers.helper.THREAD:
            thread.join()
    return found


def bits(found) -> bytes:
    return b"".join(np.ascontiguousarray(part).tobytes() for part in (found.q, found.v, found.p, found.lam))


@pytest.mark.parametrize(("name", "method"), CASES)
def test_both_give_the_same_bits(efforts, name, method):
    first, second, third = (run(name, method) for _ in range(3))  # the third one with the better code throughout
    assert efforts[0] == 0
    assert efforts[-1] == 2
    assert bits(first) == bits(second) == bits(third)


def test_both_give_the_same_bits_in_loops(efforts):
    first, _, third = (run("chain", da.Rattle(), 40, links=80) for _ in range(3))
    assert first.stats["code"] == "rolled"
    assert (efforts[0], efforts[-1]) == (0, 2)
    assert bits(first) == bits(third)


def test_a_run_does_not_wait_for_the_better_code(efforts, monkeypatch):
    go_on, compile_text = threading.Event(), tiers.compile_text

    def slow(text, effort, kind, *where):
        assert kind is None or effort == 0 or go_on.wait(60)
        return compile_text(text, effort, kind, *where)

    monkeypatch.setattr(tiers, "compile_text", slow)
    system = da.gallery.system_named("pendulum")()
    start = system.start()
    runs = [da.simulate(system, da.Rattle(), start.q0, start.v0, t=(0.0, 1.0), h=0.01) for _ in range(3)]
    assert efforts == [0]
    go_on.set()
    assert bits(run("pendulum", da.Rattle(), 100)) == bits(runs[0]) == bits(runs[2])
    assert efforts == [0, 2]


def test_a_long_run_gets_the_fast_code_at_once(efforts):
    system = da.gallery.system_named("pendulum")()
    start = system.start()
    da.simulate(system, da.Rattle(), start.q0, start.v0, t=(0.0, tuning().short_run * 1e-4), h=1e-4, save_every=1000)
    assert efforts == [2]


def test_a_third_run_compiles_nothing(efforts):
    for _ in range(3):
        run("pendulum", da.Rattle())
    assert efforts == [0, 2]


def test_fast_code_in_the_cache_is_taken_at_once(efforts):
    run("pendulum", da.Rattle())
    run("pendulum", da.Rattle())
    choice._native.cache_clear()
    again = run("pendulum", da.Rattle())
    assert efforts == [0, 2, 2]
    assert again.stats["from_cache"]


def test_a_runner_of_its_own_is_fast(efforts):
    runner_and_start("pendulum", da.Rattle(), 0.01)
    assert efforts == [2]
