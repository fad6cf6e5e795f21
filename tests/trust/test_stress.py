"""Runs of many kinds at the same time in threads, in forked children and under Ctrl-C.

They give the numbers of a run alone, or an error of a kind that is known. DALEMBERT_STRESS_SECONDS says for how long
(30 for each test by default).
"""

import concurrent.futures
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import dalembert as da
from dalembert import gallery

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]
SECONDS = float(os.environ.get("DALEMBERT_STRESS_SECONDS", "30"))


def of_gallery(name: str, method, h: float, end: float, **options) -> np.ndarray:
    system = gallery.system_named(name)()
    start = system.start()
    return da.simulate(system, method, start.q0, start.v0, t=(0.0, end), h=h, **options).q


def batch(method, members: int, **options) -> np.ndarray:
    angle = np.linspace(0.1, 1.0, members)
    q0 = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return da.simulate(gallery.Pendulum(), method, q0, 0 * q0, t=(0.0, 1.0), h=0.01, **options).q


def by_parameter(members: int) -> np.ndarray:
    system = gallery.Pendulum(gravity=np.linspace(1.0, 9.0, members))
    q0 = np.tile([1.0, 0.0], (members, 1))
    return da.simulate(system, da.Rattle(), q0, 0 * q0, t=(0.0, 1.0), h=0.01).q


RUNS = {
    "pendulum": lambda: of_gallery("pendulum", da.Rattle(), 0.01, 2.0),
    "the same with another step": lambda: of_gallery("pendulum", da.Rattle(), 0.02, 2.0),
    "two links": lambda: of_gallery("double-pendulum", da.Galerkin(2), 0.01, 1.0),
    "composition": lambda: of_gallery("four-bar", da.Composition(da.Rattle(), "yoshida4"), 0.01, 0.5),
    "rolling": lambda: of_gallery("skate", da.gauss_spark(2), 0.01, 1.0),
    "contact": lambda: of_gallery("bouncing-ball", da.MoreauJean(), 0.001, 1.0),
    "events": lambda: of_gallery("bouncing-ball", da.EventCapturing(), 0.01, 1.0),
    "XLA": lambda: of_gallery("pendulum", da.Rattle(), 0.01, 0.5, engine="xla"),
    "a few members": lambda: batch(da.Rattle(), 5),
    "many members": lambda: batch(da.Rattle(), 300, save_every=10),
    "other members": lambda: batch(da.gauss_spark(1), 33),
    "parameters": lambda: by_parameter(17),
}


def test_threads_get_the_numbers_of_a_run_alone():
    alone, end = {name: run() for name, run in RUNS.items()}, time.monotonic() + SECONDS

    def many(seed: int) -> list[str]:
        chance, wrong = random.Random(seed), []
        while time.monotonic() < end:
            name = chance.choice(list(RUNS))
            off = float(np.max(np.abs(RUNS[name]() - alone[name])))
            if not off <= 1e-12:
                wrong.append(f"{name}: {off:.1e}")
        return wrong

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        assert not [wrong for found in pool.map(many, range(6)) for wrong in found]


def run_here(name: str, seconds: float = 0.0) -> None:
    """In a process of its own: once, or again and again for some seconds."""
    end = time.monotonic() + seconds
    while True:
        found = RUNS[name]()
        if time.monotonic() >= end:
            print(repr(float(np.sum(found))))
            return


PROGRAM = f"""
import sys
sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
from test_stress import *
"""


def program(text: str, **options) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", PROGRAM + text],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options,
    )  # fmt: skip


FORKING = """
chance, end = random.Random(0), time.monotonic() + {seconds}
alone = {{name: RUNS[name]() for name in RUNS}}
while time.monotonic() < end:
    name = chance.choice(list(RUNS))
    pid = os.fork()
    if not pid:
        signal.alarm(60)  # a child that hangs ends by it
        code = 1
        try:
            code = 0 if float(np.max(np.abs(RUNS[name]() - alone[name]))) <= 1e-12 else 2
        except da.ForkedProcess:
            code = 0
        finally:
            os._exit(code)
    status = os.waitpid(pid, 0)[1]
    if status:
        print(name, status)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forked_children_run_or_say_why_not():
    child = program(FORKING.format(seconds=SECONDS))
    out, error = child.communicate(timeout=SECONDS + 300)
    assert (child.returncode, out) == (0, ""), error[-2000:]


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals to a process")
def test_ctrl_c_at_any_moment_ends_a_program_soon():
    """One or two at random moments: the program ends within seconds, by KeyboardInterrupt or with its result."""
    chance, end, wrong = random.Random(1), time.monotonic() + SECONDS, []
    while time.monotonic() < end:
        name, wait = chance.choice(list(RUNS)), chance.uniform(0.0, 6.0)
        child = program(f"print('begun', flush=True)\nrun_here({name!r}, 20.0)")
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(wait)
        pressed = time.monotonic()
        for _ in range(chance.choice((1, 2))):
            child.send_signal(signal.SIGINT)
            time.sleep(0.1)
        try:
            _, error = child.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            child.kill()
            wrong.append(f"{name} after {wait:.1f} s: goes on")
            continue
        if child.returncode not in (0, -signal.SIGINT, 1, 130) or (child.returncode == 1 and "Interrupt" not in error):
            wrong.append(f"{name} after {wait:.1f} s: {child.returncode}\n{error[-1500:]}")
        if child.returncode == 0 and time.monotonic() - pressed < 10:
            wrong.append(f"{name} after {wait:.1f} s: swallowed")
    assert not wrong, "\n".join(wrong)
