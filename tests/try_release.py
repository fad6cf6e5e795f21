"""Wheel and sdist as a user gets them: `python tests/try_release.py FOLDER` installs each into an empty environment.

What is tried there: the base alone (size, a run, what a missing package says), then the extras for pictures and files,
the first example of the README with its picture, and the command line. Prints seconds and megabytes.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile
import time
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent
#: Megabytes of the base install, on Linux: jaxlib, llvmlite, scipy and numpy alone are 700.
MOST_MEGABYTES = 900

BASE = """
import importlib.resources, dalembert as da
assert (importlib.resources.files("dalembert") / "py.typed").is_file()
class Pendulum(da.System):
    def lagrangian(self, t, q, v): return 0.5 * v @ v - 9.81 * q[1]
    def holonomic(self, t, q): return 0.5 * (q @ q - 1)
run = da.simulate(Pendulum(), da.Rattle(), q0=[1, 0], v0=[0, 0], t=(0, 10), h=0.01)
assert run.stats["engine"] == "native" and run.constraint.max() < 1e-14
try:
    run.plot("run.png")
except da.MissingPackage as error:
    assert "pip install 'dalembert[plots]'" in str(error), error
else:
    raise AssertionError("a picture without matplotlib")
"""


def megabytes(folder: pathlib.Path) -> float:
    """What all files in a folder take."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file() and not file.is_symlink()) / 1e6


def try_one(artifact: pathlib.Path) -> None:
    """Install an artifact into an empty environment, and use it."""
    with tempfile.TemporaryDirectory(prefix="dalembert-release-") as name:
        folder, begun = pathlib.Path(name), time.perf_counter()
        venv.create(folder / "venv", with_pip=True)
        python = folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
        empty = megabytes(folder / "venv")
        environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}
        environment["DALEMBERT_CACHE_DIR"] = str(folder / "cache")

        def call(*words: str) -> str:
            done = subprocess.run(
                [str(python), *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
            )
            if done.returncode:
                sys.exit(f"{artifact.name}: {' '.join(words)[:80]} failed:\n{done.stdout}{done.stderr}")
            return done.stdout

        call("-m", "pip", "install", "--quiet", "--no-compile", str(artifact.resolve()))
        size = megabytes(folder / "venv") - empty
        print(f"{artifact.name}: base {size:.0f} MB in {time.perf_counter() - begun:.0f} s", flush=True)
        assert size < MOST_MEGABYTES, f"the base install takes {size:.0f} MB"
        call("-c", BASE)
        call("-m", "dalembert", "simulate", "pendulum", "--t-end", "1")
        call("-m", "pip", "install", "--quiet", f"{artifact.resolve()}[plots,files]")
        code = (ROOT / "README.md").read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
        call("-c", code)
        assert (folder / "pendulum.png").stat().st_size > 5000
        print(f"{artifact.name}: first picture after {time.perf_counter() - begun:.0f} s in all", flush=True)
        call("-m", "dalembert", "simulate", "pendulum", "--t-end", "1", "--out", "run.nc", "--plot", "run.png")
        assert "dalembert 0." in call("-m", "dalembert", "--version")


def main() -> None:
    artifacts = sorted(pathlib.Path(sys.argv[1]).glob("dalembert-*"))
    assert {artifact.suffix for artifact in artifacts} == {".whl", ".gz"}, artifacts
    for artifact in artifacts:
        try_one(artifact)


if __name__ == "__main__":
    main()
