"""Every example runs with a few steps and writes what it says."""

import re
import runpy
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[3] / "examples").glob("*.py"))
PHENOMENA = {
    "pendulum", "double_pendulum", "four_bar", "rolling_disc", "skate", "friction", "bouncing_ball", "energy_momentum",
    "fit_parameters", "own_method",
}  # fmt: skip
LONGEST = 40
#: A robot with contacts has more to say.
LONGER = {"hopper": 43, "walker": 52}
STEPS = "40"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, tmp_path, monkeypatch):
    plt.close("all")  # each begins with a figure of its own, as in a process of its own
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [path.name, STEPS])
    runpy.run_path(str(path), run_name="__main__")
    for name in re.findall(r"writes (\S+)(?: and (\S+))?", path.read_text(encoding="utf-8"))[:1]:
        for picture in filter(None, name):
            assert (tmp_path / picture).stat().st_size > 5000


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGER.get(path.stem, LONGEST)


def test_examples_are_found():
    assert {path.stem for path in EXAMPLES} >= PHENOMENA
