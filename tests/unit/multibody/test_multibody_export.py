"""Models as MJCF files: what fits is written, what does not is refused by name. tests/oracles reads them by MuJoCo."""

from xml.etree import ElementTree

import numpy as np
import pytest

import dalembert as da


def pendulum(**options):
    model = da.Multibody(name="Clock")
    rod = model.body("rod", density=1000, shape=da.Box((0.1, 0.1, 1.0), at=(0, 0, -0.5)), rotation=(0, 0, 0.3))
    model.joint("pivot", rod, model.ground, da.Revolute("y"), at=(0, 0, 0), limits=(-1, 1), **options)
    return model


def test_a_joint_towards_the_ground_turns_about_the_opposite_axis(tmp_path):
    root = ElementTree.parse(pendulum(damping=0.1).save(tmp_path / "clock.xml")).getroot()
    joint, inertial = root.find(".//joint"), root.find(".//inertial")
    assert joint is not None
    assert inertial is not None
    axis = np.array([float(x) for x in joint.attrib["axis"].split()])
    np.testing.assert_allclose(axis, [-np.sin(0.3), -np.cos(0.3), 0], atol=1e-15)  # in the turned body
    assert (joint.attrib["type"], joint.attrib["range"], joint.attrib["damping"]) == (
        "hinge",
        "-1 1",
        "0.10000000000000001",
    )
    assert float(inertial.attrib["mass"]) == pytest.approx(10.0)


def test_what_does_not_fit_is_refused_by_name_or_left_out(tmp_path):
    model = pendulum()
    model.drag(model.bodies["rod"], 0.1, name="air")
    with pytest.raises(da.ModelError, match=r"does not fit into MJCF \(force: air\)"):
        model.save(tmp_path / "clock.xml")
    assert "air" not in model.save(tmp_path / "clock.xml", ignore="force").read_text(encoding="utf-8")
    with pytest.raises(da.InputError, match=r"must end with .urdf or .xml"):
        model.save(tmp_path / "clock.mjcf")


def test_thin_bodies_and_joints_that_are_drawn_apart_are_refused(tmp_path):
    model = da.Multibody()
    model.joint("pin", model.ground, model.rod("stick", 1.0, 1.0), da.Revolute("y"))
    with pytest.raises(da.ModelError, match="body 'stick' is thin"):
        model.save(tmp_path / "a.xml")
    model = pendulum()
    other = model.body("other", 1.0, (1, 1, 1), at=(1, 0, 0))
    model.joint("gap", model.bodies["rod"].point(0, 0, -1), other.point(0, 0, 0), da.Revolute("y"))
    with pytest.raises(da.ModelError, match="joint 'gap' do not meet as drawn"):
        model.save(tmp_path / "b.xml")
