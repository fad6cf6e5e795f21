"""Loops of a robot from a second file, and bodies of several shapes."""

import numpy as np
import pytest
from robots import ARM

import dalembert as da

LOOPS = """<loops>
  <joint name="strut" type="distance">
    <first link="lower" xyz="0 0 0.1"/>
    <second link="world" xyz="0.5 0.2 0.4"/>
  </joint>
  <joint name="guide" type="point on plane">
    <first link="base"/>
    <second link="slider" xyz="0.01 0 0"/>
    <axis xyz="1 0 0"/>
    <dynamics damping="0"/>
  </joint>
</loops>
"""


def load(folder, loops=LOOPS, **options):
    (folder / "arm.urdf").write_text(ARM, encoding="utf-8")
    (folder / "arm.loops.xml").write_text(loops, encoding="utf-8")
    return da.load_model(folder / "arm.urdf", loops=folder / "arm.loops.xml", **options)


def test_loops_come_from_a_second_file(tmp_path):
    loops = LOOPS.replace('<dynamics damping="0"/>', "")
    model = load(tmp_path, loops)
    report = model.check()
    assert (report.freedoms, report.redundant) == (1, {})
    run_start = model.assemble(elbow=0.2, coordinates="joints")
    system = model.system("joints", limits=False)
    run = da.simulate(system, da.Rattle(), run_start.q0, run_start.v0, t=(0, 0.02), h=2e-3)
    lower = run.body("lower")
    ends = lower.position + np.einsum("nij,j->ni", lower.rotation, (0, 0, 0.1))
    drawn = model.bodies["lower"].drawn(np.array([0, 0, 0.1]))
    length = np.linalg.norm(drawn - np.array([0.5, 0.2, 0.4]))
    np.testing.assert_allclose(np.linalg.norm(ends - np.array([0.5, 0.2, 0.4]), axis=1), length, atol=1e-10)


CHANGES = [
    ('type="distance"', 'type="rope"', "line 2: type of joint 'strut' must be one of fixed, spherical, distance"),
    ('link="lower"', 'link="forearm"', 'line 3: there is no link "forearm"'),
    ('<axis xyz="1 0 0"/>', "", 'line 6: <joint name="guide"> needs a <axis>'),
    ('<second link="world" xyz="0.5 0.2 0.4"/>', "", 'line 2: <joint name="strut"> needs a <second>'),
    ('name="strut"', 'name="elbow"', "line 2: the name 'elbow' is taken"),
    ('<second link="world"', '<spring/><second link="world"', "line 4: <joint name=\"strut\"> has a <spring>"),
    ("loops>", "robot>", "line 1: expected <loops>, got <'robot'>"),
    ('<dynamics damping="0"/>', '<dynamics damping="1"/>', "line 6: joint 'guide' .* has no coordinate for a damper"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), CHANGES)
def test_damage_is_named_with_its_line(tmp_path, old, new, message):
    with pytest.raises(da.ModelError, match=message):
        load(tmp_path, LOOPS.replace(old, new) if old == "loops>" else LOOPS.replace(old, new, 1))


def test_a_body_of_several_shapes():
    """A dumb-bell: mass and inertia of its parts, all of which are drawn."""
    balls = [da.Sphere(0.1, at=(0, 0, 0.3 * side)) for side in (-1, 1)]
    model = da.Multibody()
    bell = model.body("bell", density=1000, shape=[*balls, da.Cylinder(0.02, 0.6)])
    one = 1000 * 4 / 3 * np.pi * 0.1**3
    rod = 1000 * np.pi * 0.02**2 * 0.6
    assert bell.mass == pytest.approx(2 * one + rod)
    across = 2 * one * (0.4 * 0.01 + 0.09) + rod * (0.02**2 / 4 + 0.6**2 / 12)
    assert bell.inertia[0, 0] == pytest.approx(across)
    points = np.asarray(model.system().points(0.0, model.assemble().q0))
    assert len(points) == 2 * 36 + 24  # three circles of twelve points for each ball, two for the cylinder
    assert (points[:, 2].min(), points[:, 2].max()) == pytest.approx((-0.4, 0.4))
    with pytest.raises(da.InputError, match=r"contact 'contact 1': Several and Plane is no known pair"):
        model.contact(bell, model.plane())
    with pytest.raises(da.InputError, match="shape of body 'b' must be a shape"):
        model.body("b", density=1.0, shape=[da.Sphere(1.0), 3])
