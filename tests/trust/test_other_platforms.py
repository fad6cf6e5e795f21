"""What other systems do not have is taken away before the library is loaded, since no such machine is at hand.

Windows has no `fork`, no user numbers, no signals to a thread and no locks of files; an ARM processor has no 80-bit
floats. What this cannot show is how LLVM and JAX behave there.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

WITHOUT = """
import os, platform, signal, sys, platformdirs  # which goes by the name of the system
for module, names in ((os, ("fork", "register_at_fork", "getuid", "geteuid", "fchmod")),
                      (signal, ("pthread_kill", "pthread_sigmask", "SIGUSR1", "setitimer"))):
    for name in names:
        if hasattr(module, name):
            delattr(module, name)
sys.modules["fcntl"] = sys.modules["resource"] = None
platform.machine = lambda: "arm64"
"""
PROGRAM = """
import pathlib, numpy as np, dalembert as da
from dalembert.gallery import Pendulum

start = Pendulum().start()
q0, v0 = np.asarray(start.q0), np.asarray(start.v0)
run = da.simulate(Pendulum(), da.Rattle(), q0, v0, t=(0, 1), h=0.01)
assert run.stats["engine"] == "native"
assert float(np.max(run.constraint)) < 1e-14
batch = da.simulate(Pendulum(), da.Rattle(), np.stack([q0, q0]), np.stack([v0, v0]), t=(0, 1), h=0.01)
assert np.allclose(batch.q[1], run.q, atol=1e-13)
store = pathlib.Path("store")
half = da.simulate(Pendulum(), da.Rattle(), q0, v0, t=(0, 1), h=0.01, checkpoint=store)
again = da.load(store)
assert np.array_equal(again.q, half.q)
half.save("run.nc")
assert np.array_equal(da.load("run.nc").q, half.q)
try:
    da.simulate(Pendulum(), da.Rattle(), q0, v0, t=(0, 1), h=0.01, precision="extended")
except da.InputError as error:
    print(error)
"""


@pytest.mark.parametrize("cached", [True, False])
def test_without_what_other_systems_lack(tmp_path, monkeypatch, cached):
    monkeypatch.setenv("DALEMBERT_CACHE_DIR", str(tmp_path / "cache" if cached else "/dev/null/nowhere"))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", WITHOUT + PROGRAM],
        cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "80-bit" in done.stdout
    assert done.stderr == ""
