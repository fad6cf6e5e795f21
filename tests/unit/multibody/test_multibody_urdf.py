"""Robots from URDF files: what they mean, what is refused, and that nothing is dropped silently."""

import pathlib
import random
import re

import numpy as np
import pytest
from robots import ARM

import dalembert as da
from dalembert.stepping import Family, flat_parameters
from dalembert.trajectory.mechanism import _observed


def load(tmp_path: pathlib.Path, text: str = ARM, **options) -> da.Multibody:
    file = tmp_path / "arm.urdf"
    file.write_text(text, encoding="utf-8")
    return da.load_model(file, **options)


def centres(model, q):
    """Where the centres of mass are at joint coordinates."""
    system = model.system("joints", limits=False)
    q = np.asarray(q, dtype=float)
    rows = _observed(Family(system), "poses")(np.zeros(1), q[None], 0 * q[None], flat_parameters(system)[None])
    return rows.reshape(2, -1, 4, 3)[0, :, 0]


def test_kinematics_and_inertia(tmp_path):
    model = load(tmp_path)
    assert [joint for joint in model.joints] == ["shoulder", "elbow", "wrist", "grip"]
    system = model.system(limits=False)
    assert system.coordinates == "joints"
    assert [body.name for body in system.bodies] == ["upper", "lower", "slider", "finger"]
    # the upper arm by hand: its joint is at (0, 0, 0.3), turned by 0.3 about y, and turns about (0, 2, 1) / sqrt 5
    axis, angle, c = np.array([0, 2, 1]) / np.sqrt(5), 0.7, np.array([0.01, -0.02, 0.2])
    turned = c * np.cos(angle) + np.cross(axis, c) * np.sin(angle) + axis * (axis @ c) * (1 - np.cos(angle))
    base = np.array([[np.cos(0.3), 0, np.sin(0.3)], [0, 1, 0], [-np.sin(0.3), 0, np.cos(0.3)]])
    np.testing.assert_allclose(centres(model, [angle, 0.2, 0.05, 0.2])[0], [0, 0, 0.3] + base @ turned, atol=1e-14)
    # the tensor of inertia given in axes turned by rpy; its trace and determinant do not see them
    upper = model.bodies["upper"].inertia
    given = np.array([[0.03, 0.001, -0.002], [0.001, 0.028, 0.0005], [-0.002, 0.0005, 0.006]])
    np.testing.assert_allclose(np.linalg.eigvalsh(upper), np.linalg.eigvalsh(given), rtol=1e-12)
    assert not np.allclose(upper, given)


def test_limits_friction_mimic_and_remarks(tmp_path):
    model = load(tmp_path)
    assert model.joints["shoulder"].limits == (-2.0, 2.2)
    assert model.joints["shoulder"].effort == 30.0
    assert model.joints["elbow"].limits is None
    system = model.system()
    assert [contact.name for contact in system.contacts] == [
        "shoulder: lower limit", "shoulder: upper limit", "wrist: lower limit", "wrist: upper limit",
        "grip: lower limit", "grip: upper limit",
    ]  # fmt: skip
    assert any("rated for the rate 3" in remark for remark in model.remarks)
    start = model.assemble(elbow=0.6)
    assert start.joints["grip"][0] == pytest.approx(0.5 * 0.6 + 0.1)
    run = da.simulate(model.system(limits=False), da.Rattle(), start.q0, start.v0, t=(0, 0.05), h=1e-3)
    np.testing.assert_allclose(run.joint("grip").angle, 0.5 * run.joint("elbow").angle + 0.1, atol=1e-12)
    # links that are welded keep their names
    offset = run.body("camera").position - run.body("lower").position
    np.testing.assert_allclose(np.linalg.norm(offset, axis=1), np.hypot(0.1, 0.1), atol=1e-12)


def test_a_floating_base(tmp_path):
    text = ARM.replace('<link name="base"/>', '<link name="base"><inertial><mass value="3"/>'
                       '<inertia ixx="1" iyy="1" izz="1"/></inertial></link>')  # fmt: skip
    assert load(tmp_path, text).check().freedoms == 3
    model = load(tmp_path, text, base="floating")
    report = model.check()
    assert report.freedoms == 9
    assert report.floating == (("base", "upper", "lower", "slider", "finger"),)


def test_export_and_back(tmp_path):
    model = load(tmp_path)
    again = da.load_model(model.save(tmp_path / "again.urdf"))
    q = [0.3, -0.4, 0.05, 0.2]
    np.testing.assert_allclose(centres(again, q), centres(model, q), atol=1e-14)
    for name in ("upper", "lower", "slider", "finger"):
        np.testing.assert_allclose(again.bodies[name].inertia, model.bodies[name].inertia, atol=1e-16)
    assert again.joints["shoulder"].limits == (-2.0, 2.2)
    system, other = model.system(limits=False), again.system(limits=False)
    assert [force.name for force in system.forces] == [force.name for force in other.forces]
    assert other.couplings[0].ratio == 0.5


def test_export_refuses_what_does_not_fit(tmp_path):
    model = load(tmp_path)
    model.close_loop("tie", model.bodies["finger"].point(0, 0, 0), model.ground.point(1, 0, 0), da.Distance())
    with pytest.raises(da.ModelError, match=r"does not fit into URDF \(Distance: tie\)"):
        model.save(tmp_path / "loop.urdf")
    assert "tie" not in model.save(tmp_path / "loop.urdf", ignore=["Distance"]).read_text(encoding="utf-8")


CHANGES = [
    ('<axis xyz="0 2 1"/>', '<axis xyz="0 0 0"/>', "line 33: the axis of joint 'shoulder' must not be zero"),
    ('<axis xyz="0 2 1"/>', '<axis xyz="0 2"/>', "line 33: xyz of <axis> must be 3 finite numbers, got '0 2'"),
    ('<mass value="2.5"/>', '<mass value="nan"/>', "line 8: value of <mass> must be a finite number"),
    ('<mass value="2.5"/>', '<mass value="-2"/>', "line 8: the mass of link 'upper' must not be negative"),
    ('<mass value="2.5"/>', "", "line 6: <inertial> needs a <mass>"),
    ('izz="0.006"', 'izz="0.6"', 'line 9: .*link \'upper\'.* nearest one .*inertia="nearest"'),
    ('<child link="upper"/>', '<child link="arm"/>', 'line 31: there is no link "arm"'),
    ('<link name="slider">', '<link name="upper">', 'line 22: a second link is called "upper"; the first is in line 5'),
    ('<child link="camera"/>', '<child link="upper"/>', 'line 55: link "upper" is the child of two joints'),
    ('type="prismatic"', 'type="slide"', "line 42: type of joint 'wrist' must be one of fixed, revolute"),
    ('lower="-2" upper="2.2"', 'lower="2" upper="-2"', "line 34: the lower limit 2 of joint 'shoulder' is above"),
    ('<mimic joint="elbow"', '<mimic joint="knee"', "line 53: joint 'knee', which takes part in a mimic"),
    ("<robot", "<!DOCTYPE robot [<!ENTITY a 'b'>]><robot", "line 2: a document type is not allowed"),
    ("</robot>", "", "not well-formed XML"),
    ("</robot>", "<gazebo/></robot>", r'line 59: <robot name="arm"> has a <gazebo>.*ignore=\["gazebo"\]'),
    ("<robot", "<model", "not well-formed XML"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), CHANGES)
def test_damage_is_named_with_its_line(tmp_path, old, new, message):
    with pytest.raises(da.ModelError, match=rf"arm\.urdf, {message}" if message.startswith("line") else message):
        load(tmp_path, ARM.replace(old, new, 1))


def test_what_is_ignored_is_named(tmp_path):
    text = ARM.replace("</robot>", "<gazebo/><transmission/></robot>")
    assert load(tmp_path, text, ignore=["gazebo", "transmission"]).joints
    with pytest.raises(da.ModelError, match="transmission"):
        load(tmp_path, text, ignore="gazebo")


def test_entities_do_not_expand(tmp_path):
    bomb = "<!DOCTYPE r [<!ENTITY a 'xxxxxxxxxx'><!ENTITY b '&a;&a;&a;&a;'>]><robot name='&b;'/>"
    with pytest.raises(da.ModelError, match="document type is not allowed"):
        load(tmp_path, bomb)


def test_two_hundred_damaged_files(tmp_path):
    """Every damaged file loads or is refused with a typed error that names the file; nothing else comes out."""
    chance, messages = random.Random(0), {}
    words = [match.span() for match in re.finditer(r'"[^"]*"|<[^>]*>|[a-z]+', ARM)]
    for k in range(200):
        text = ARM
        for _ in range(chance.randint(1, 3)):
            begin, end = chance.choice(words)
            piece = text[begin:end]
            worse = ["", piece * 2, piece[: len(piece) // 2], piece.replace("0", "x"), '"inf"', "\0", "é", '"1e400"']
            text = text[:begin] + chance.choice(worse) + text[end:]
        data = text.encode("utf-8")
        if k % 5 == 0:
            data = data[: chance.randint(0, len(data))]
        file = tmp_path / f"{k}.urdf"
        file.write_bytes(data)
        try:
            assert da.load_model(file).bodies
        except da.ModelError as error:
            messages[k] = str(error)
    assert len(messages) > 120
    assert [message for k, message in messages.items() if f"{k}.urdf, line " not in message] == []


def test_files_that_are_no_models(tmp_path):
    with pytest.raises(da.ModelError, match="cannot be read"):
        da.load_model(tmp_path / "nothing.urdf")
    with pytest.raises(da.ModelError, match=r"expected <robot> \(URDF\) or <mujoco> \(MJCF\), got '?<?.*sdf"):
        load(tmp_path, "<sdf/>")
    with pytest.raises(da.InputError, match='base must be "fixed" or "floating"'):
        load(tmp_path, base="free")


def test_meshes_are_drawn_by_their_extents(tmp_path):
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 3]], dtype="<f4")
    triangle = np.concatenate([np.zeros(3, "<f4"), corners.ravel()]).tobytes() + b"\0\0"
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "upper.stl").write_bytes(b"\0" * 80 + np.array([1], "<u4").tobytes() + triangle)
    text = ARM.replace(
        '<visual><origin xyz="0 0 0.2"/><geometry><cylinder radius="0.04" length="0.4"/></geometry></visual>', ""
    )
    shape = load(tmp_path, text, packages={"arm": tmp_path / "meshes"}).bodies["upper"].shape
    assert shape.size == pytest.approx((1, 2, 3))
    assert any("upper.stl was not found" in remark for remark in load(tmp_path, text).remarks)


def test_all_visual_shapes_of_a_link_are_drawn_and_written(tmp_path):
    box, ball = '<geometry><box size="1 2 3"/></geometry>', '<geometry><sphere radius="0.2"/></geometry>'
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    visuals = f'<visual>{box}</visual><visual><origin xyz="0 0 1"/>{ball}</visual><collision>{ball}</collision>'
    (tmp_path / "two.urdf").write_text(f'<robot name="r"><link name="a">{inertial}{visuals}</link></robot>')
    model = da.load_model(tmp_path / "two.urdf")
    for found in (model, da.load_model(model.save(tmp_path / "again.urdf"))):
        assert [type(part) for part in found.bodies["a"].shape.parts] == [da.Box, da.Sphere]
