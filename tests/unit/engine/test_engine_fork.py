"""Children that were forked after the parent had used JAX: what is compiled natively runs, and nothing hangs."""

import subprocess
import sys

import pytest

PROGRAM = """
import os, signal, sys
import numpy as np
import dalembert as da
from dalembert.gallery import Pendulum

angle = np.linspace(0.0, 1.0, 20)
starts = np.stack([np.cos(angle), np.sin(angle)], axis=1)

def single(engine="auto"):
    return da.simulate(Pendulum(), da.Rattle(), [1.0, 0.0], [0.0, 0.0], t=(0.0, 1.0), h=0.01, engine=engine).q

def batch():
    return da.simulate(Pendulum(), da.Rattle(), starts, 0 * starts, t=(0.0, 1.0), h=0.01).q

single("xla")
pid = os.fork()
if not pid:
    signal.alarm(20)
    try:
        print({})
    except da.ForkedProcess as error:
        print(error)
    sys.stdout.flush()
    os._exit(0)
os.waitpid(pid, 0)
"""


@pytest.mark.parametrize(
    ("what", "answer"),
    [
        ("single().shape", "(101, 2)"),
        ("batch().shape", "(20, 101, 2)"),
        ('single("xla").shape', 'multiprocessing.get_context("spawn")'),
        ("da.simulate(Pendulum(length=2.0), da.Galerkin(2), [2.0, 0.0], [0.0, 0.0], engine='xla')", '"spawn"'),
        ("__import__('jax').numpy.sin(np.ones(7))", '"spawn"'),
    ],
)
def test_first_runs_of_a_forked_child(what, answer, tmp_path):
    program = PROGRAM.replace("{}", what)
    found = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=100)
    assert answer in found.stdout, found.stderr[-2000:]
