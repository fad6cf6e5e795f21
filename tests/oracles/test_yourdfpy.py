"""The reader of URDF files against yourdfpy: where the links are. Needs the package: `pip install yourdfpy`."""

import io
import pathlib
import sys

import numpy as np
import pytest

import dalembert as da
from dalembert.stepping import Family, flat_parameters
from dalembert.trajectory.mechanism import _observed

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "unit" / "multibody"))
from robots import ARM

yourdfpy = pytest.importorskip("yourdfpy")
pytestmark = pytest.mark.oracle


def test_links_are_where_yourdfpy_puts_them(tmp_path):
    (tmp_path / "arm.urdf").write_text(ARM, encoding="utf-8")
    model = da.load_model(tmp_path / "arm.urdf")
    robot = yourdfpy.URDF.load(io.StringIO(ARM), load_meshes=False, build_scene_graph=True)
    system, random = model.system("joints", limits=False), np.random.default_rng(0)
    for _ in range(20):
        angles = {name: float(random.uniform(-1, 1)) for name in ("shoulder", "elbow", "wrist")}
        values = angles | {"grip": 0.5 * angles["elbow"] + 0.1}
        robot.update_cfg(angles)
        q = np.array([[values[system.joints[p.joint].name] for p in system.plan]])
        rows = _observed(Family(system), "poses")(np.zeros(1), q, 0 * q, flat_parameters(system)[None])
        for frame in system.frames:
            if frame.body < 0:
                continue
            pose = rows.reshape(2, -1, 4, 3)[0, frame.body]
            place = pose[0] + frame.frame.position.array() @ pose[1:]
            np.testing.assert_allclose(place, robot.get_transform(frame.name, "base")[:3, 3], atol=1e-12)
