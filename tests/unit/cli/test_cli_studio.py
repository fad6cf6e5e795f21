"""What `dalembert studio` is told to open."""

import numpy as np
import pytest

import dalembert as da
from dalembert.cli.opening import opened_exhibit
from dalembert.studio.computing import call_of
from dalembert.studio.messages import RunRequest
from dalembert.studio.script import script_of

FILE = """
import dalembert as da

arm = da.Multibody(name="Arm")
link = arm.body("link", density=500, shape=da.Box((0.5, 0.1, 0.1), at=(0.25, 0, 0)))
arm.joint("shoulder", arm.ground, link, da.Revolute("y"), at=(0, 0, 0))


class Falling(da.System):
    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - q[0]
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    return path


def opened(target, **given):
    values = {"method": None, "h": None, "t_end": None, "q0": None, "v0": None, "param": []} | given
    return opened_exhibit(str(target), **values)


def test_a_model_of_bodies_in_a_python_file_is_shown_and_repeated_by_its_script(file):
    exhibit = opened(f"{file}:arm", h=0.02, t_end=1.0)
    assert exhibit.title == "Arm"
    call = call_of(exhibit, RunRequest(1, {}, exhibit.method))
    names: dict = {}
    exec(script_of(call).replace('run.save("run.nc")', ""), names)
    assert len(names["run"].t) == 51
    np.testing.assert_array_equal(names["q0"], exhibit.launch.q0)


def test_a_system_in_a_file_needs_a_start(file):
    assert opened(f"{file}:Falling", q0="1", v0="0").title == "Falling"
    with pytest.raises(da.InputError, match="brings no starting values"):
        opened(f"{file}:Falling")
    with pytest.raises(da.InputError, match="its systems: arm, Falling"):
        opened(f"{file}:Rising")
