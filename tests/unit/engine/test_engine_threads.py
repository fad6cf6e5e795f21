"""Runs of one system side by side, in threads: each gives the bytes that it gives alone."""

import concurrent.futures

import numpy as np
import pytest

import dalembert as da
from dalembert.gallery import Chain, Pendulum

CASES = {
    "straight lines": (Pendulum(), da.Rattle(), 20_000, 0.01),
    "phases": (Pendulum(), da.Composition(da.Rattle(), "kahan-li6"), 2_000, 0.01),
    "loops": (Chain(links=20), da.Rattle(), 1_500, 0.001),
    "phases of loops": (Chain(links=20), da.Composition(da.Rattle(), "yoshida4"), 300, 0.001),
    "sparse": (Chain(links=12), da.Galerkin(4), 3, 0.001),
}


def start_of(system, number: int):
    start = system.start()
    return start.q0, np.asarray(start.v0) + 0.0 * number if number == 0 else number * tangent(system, start)


def tangent(system, start):
    """A velocity along the constraints, the same for every run but for a factor."""
    v = np.ones(len(start.q0))
    return np.asarray(da.consistent(system, start.q0, v).v)


@pytest.mark.parametrize("name", CASES)
def test_threads_do_not_disturb_each_other(name):
    system, method, steps, h = CASES[name]
    starts = [start_of(system, number) for number in range(4)]

    def run(start):
        return da.simulate(system, method, *start, t=(0.0, steps * h), h=h, save_every=steps).q.tobytes()

    alone = [run(start) for start in starts]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            assert list(pool.map(run, starts)) == alone


def test_batches_beside_each_other_do_not_disturb_each_other():
    system, method = Pendulum(), da.Rattle()
    angles = [np.linspace(0.1 * k, 1.0 + 0.1 * k, 40 + 9 * k) for k in range(4)]

    def run(angle):
        q0 = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        return da.simulate(system, method, q0, np.zeros_like(q0), t=(0.0, 20.0), h=0.01).q.tobytes()

    alone = [run(angle) for angle in angles]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            assert list(pool.map(run, angles)) == alone


def test_new_pivots_of_one_run_do_not_change_the_next():
    """The four-bar close to its dead points makes the engine choose again; another run starts from the first choice."""
    system = da.gallery.system_named("four-bar")()
    start = system.start()
    call = {"t": (0.0, 20.0), "h": 0.05, "on_failure": "return"}
    runs = [da.simulate(system, da.Rattle(), start.q0, start.v0, **call) for _ in range(3)]
    assert len({run.q.tobytes() for run in runs}) == 1
