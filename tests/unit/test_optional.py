"""What a package that is missing says, and who is told."""

import importlib
import importlib.util
import pathlib
import subprocess
import sys
import tomllib

import pytest

import dalembert as da
from dalembert import optional

CODE = """
import sys

class Without:
    def __init__(self, finder):
        self.finder = finder

    def __getattr__(self, name):
        return getattr(self.finder, name)

    def find_spec(self, name, path=None, target=None):
        return None if name in {"matplotlib", "xarray"} else self.finder.find_spec(name, path, target)

import dalembert as da
import jax
sys.meta_path[:] = [f if type(f).__name__ == "_Missing" else Without(f) for f in sys.meta_path]
system = da.gallery.Pendulum()
run = da.simulate(system, da.Rattle(), *system.start()[:2], t=(0, 1), h=0.1)
for use in (lambda: run.plot("run.png"), lambda: run.save("run.nc")):
    try:
        use()
    except da.MissingPackage as error:
        print(error)
"""


def test_the_message_names_the_extra(tmp_path):
    found = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert found.stdout.splitlines() == [
        "this needs the package matplotlib, which is not installed: pip install 'dalembert[plots]'",
        "this needs the package xarray, which is not installed: pip install 'dalembert[files]'",
    ]


def test_every_extra_is_declared():
    project = pathlib.Path(__file__).resolve().parents[2] / "pyproject.toml"
    extras = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert set(optional.EXTRA_OF.values()) <= set(extras)


def test_others_get_their_usual_answer(monkeypatch):
    monkeypatch.setitem(optional.EXTRA_OF, "no_such_package", "plots")
    assert importlib.util.find_spec("no_such_package") is None
    with pytest.raises(ModuleNotFoundError) as caught:
        importlib.import_module("no_such_package")
    assert not isinstance(caught.value, da.MissingPackage)
