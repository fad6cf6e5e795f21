"""Imported models against MuJoCo: kinematics, energies and mass matrices to 1e-12, motions to 1e-7.

Needs the package mujoco: `pip install mujoco`.
"""

import numpy as np
import pytest

import dalembert as da
from dalembert.multibody.mjcf import from_compiled
from dalembert.stepping import Family, flat_parameters, observe
from dalembert.trajectory.mechanism import _observed

mujoco = pytest.importorskip("mujoco")
pytestmark = pytest.mark.oracle

BODY = '<inertial pos="{0}" mass="{1}" diaginertia="{2}" {3}/>'


def chain(seed, kinds, *, branch=False, first="", compiler='<compiler angle="radian"/>'):
    """A chain (or a tree) of bodies with random frames, inertias and joints."""
    random = np.random.default_rng(seed)

    def numbers(scale=1.0, count=3):
        return " ".join(f"{x:.6f}" for x in scale * random.standard_normal(count))

    def inertia():
        e = random.uniform(0.1, 1.0, 3)
        return " ".join(f"{x:.6f}" for x in (e[1] + e[2], e[2] + e[0], e[0] + e[1]))

    def body(k):
        joints = "".join(
            f'<joint name="j{k}{i}" type="{kind}" pos="{numbers(0.2)}" axis="{numbers()}" armature="{0.1 * (k % 2)}" '
            f'ref="{0.3 * (k % 3)}" stiffness="{2.0 * (k % 2)}" springref="0.2"/>'
            for i, kind in enumerate(kinds[k].split())
        )
        mass = BODY.format(numbers(0.3), f"{random.uniform(0.5, 2):.6f}", inertia(), f'quat="{numbers(1, 4)}"')
        below = body(k + 1) if k + 1 < len(kinds) else ""
        inside, beside = ("", below) if branch and k % 2 else (below, "")
        return f'<body name="b{k}" pos="{numbers(0.5)}" quat="{numbers(1, 4)}">{joints}{mass}{inside}</body>{beside}'

    return f'<mujoco>{compiler}<option gravity="0.3 -0.2 -9.81"/><worldbody>{first}{body(0)}</worldbody></mujoco>'


MODELS = {
    "pendulum": chain(0, ["hinge"]),
    "cart and pole": chain(1, ["slide", "hinge"]),
    "arm of seven": chain(2, ["hinge"] * 7),
    "two joints in a body": chain(3, ["hinge hinge", "slide hinge", "hinge slide hinge"]),
    "tree": chain(4, ["hinge"] * 8, branch=True),
    "slides": chain(5, ["slide"] * 5),
    "mixed": chain(6, ["slide", "hinge hinge", "", "slide", "hinge"]),
    "welded parts": chain(7, ["hinge", "", "hinge", "", "slide"]),
    "planar base": chain(8, ["slide slide hinge", "hinge", "hinge", "hinge", "hinge"], branch=True),
    "degrees": chain(9, ["hinge", "slide", "hinge"], compiler='<compiler angle="degree" autolimits="true"/>'),
}  # fmt: skip


def by_joint(system, compiled):
    """For every coordinate of the system, its place in qpos and qvel, and what qpos0 is there."""
    places = []
    for placement in system.plan:
        joint = compiled.joint(system.joints[placement.joint].name)
        places.append((int(joint.qposadr[0]), int(joint.dofadr[0]), float(compiled.qpos0[joint.qposadr[0]])))
    return places


def observed(system, name, q, v):
    vectors = np.broadcast_to(flat_parameters(system), (len(q), Family(system).size))
    return _observed(Family(system), name)(np.zeros(len(q)), q, v, vectors)


@pytest.mark.parametrize("name", MODELS)
def test_kinematics_energies_and_mass_matrices(name):
    compiled = mujoco.MjModel.from_xml_string(MODELS[name])
    compiled.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    system = from_compiled(compiled).system("joints", limits=False)
    data, random, places = mujoco.MjData(compiled), np.random.default_rng(1), by_joint(system, compiled)
    poses, n = 20, system.size
    assert n == compiled.nv
    q, v = random.uniform(-2, 2, (poses, n)), random.standard_normal((poses, n))
    ours = observed(system, "energies", q, v)
    centres = observed(system, "poses", q, v).reshape(poses, 2, -1, 4, 3)[:, 0]
    kinetic = len(system.bodies) + len(system.armature_joints)
    for k in range(poses):
        for i, (at, dof, start) in enumerate(places):
            data.qpos[at], data.qvel[dof] = q[k, i] + start, v[k, i]
        mujoco.mj_forward(compiled, data)
        mass = np.zeros((n, n))
        mujoco.mj_fullM(compiled, data, mass)
        size = max(1.0, abs(data.energy[1]))
        assert abs(np.sum(ours[k, :kinetic]) - data.energy[1]) < 1e-12 * size
        order = [dof for _, dof, _ in places]
        assert abs(0.5 * v[k] @ mass[np.ix_(order, order)] @ v[k] - np.sum(ours[k, :kinetic])) < 1e-12 * size
        assert abs(np.sum(ours[k, kinetic:]) - data.energy[0]) < 1e-12 * max(1.0, abs(data.energy[0]))
        for b, body in enumerate(system.bodies):
            if body.mass and not np.any(
                compiled.body_weldid[compiled.body(body.name).id + 1 :] == compiled.body(body.name).id
            ):
                np.testing.assert_allclose(centres[k, b, 0], data.xipos[compiled.body(body.name).id], atol=1e-12)


@pytest.mark.parametrize("name", ["arm of seven", "planar base", "cart and pole"])
def test_motions(name):
    """Against RK4 with a small step, over one second."""
    compiled = mujoco.MjModel.from_xml_string(MODELS[name])
    system = from_compiled(compiled).system("joints", limits=False)
    compiled.opt.integrator, compiled.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, 1e-4
    data, places, n = mujoco.MjData(compiled), by_joint(system, compiled), system.size
    v0 = 0.5 * np.cos(np.arange(n))
    for (_, dof, _), rate in zip(places, v0, strict=True):
        data.qvel[dof] = rate
    for _ in range(10_000):
        mujoco.mj_step(compiled, data)
    run = da.simulate(system, da.Galerkin(3), np.zeros(n), v0, t=(0, 1), h=2e-3)
    theirs = np.array([data.qpos[at] - start for at, _, start in places])
    np.testing.assert_allclose(run.q[-1], theirs, atol=1e-7)


EQUALITIES = """
<mujoco><compiler angle="radian" autolimits="true"/>
<worldbody>
  <body name="crank"><joint name="A" axis="0 1 0"/><inertial pos="0.5 0 0" mass="1" diaginertia="0.1 0.1 0.1"/>
    <body name="coupler" pos="1 0 0"><joint name="B" axis="0 1 0" damping="0.1" frictionloss="0.05"/>
      <inertial pos="1 0 0" mass="2" diaginertia="0.2 0.2 0.2"/></body></body>
  <body name="rocker" pos="2.5 0 0"><joint name="C" axis="0 1 0"/>
    <inertial pos="0 0 0.5" mass="1" diaginertia="0.1 0.1 0.1"/></body>
  <body name="wheel" pos="0 1 0"><joint name="W" axis="0 1 0" range="-1 1"/>
    <inertial pos="0 0 0" mass="1" diaginertia="0.1 0.1 0.1"/></body>
</worldbody>
<equality>
  <connect name="tie" body1="coupler" body2="rocker" anchor="1.5 0 1"/>
  <joint name="gear" joint1="W" joint2="A" polycoef="0.1 0.5 0 0 0"/>
</equality>
<actuator>
  <motor name="push" joint="A" gear="3" ctrlrange="-1 1"/>
  <position name="hold" joint="B" kp="20"/>
</actuator>
<sensor><jointpos joint="A"/></sensor>
</mujoco>"""


def test_equalities_become_hard_and_actuators_have_controls():
    model = from_compiled(mujoco.MjModel.from_xml_string(EQUALITIES))
    assert sorted(model.joints) == ["A", "B", "C", "W", "tie"]
    assert any("'tie' is a hard constraint" in remark for remark in model.remarks)
    assert any("sensors" in remark for remark in model.remarks)
    assert model.joints["W"].limits == (-1.0, 1.0)
    start = model.assemble(coordinates="joints")
    assert start.joints["W"][0] == pytest.approx(0.5 * start.joints["A"][0] + 0.1)
    runs = {}
    for control in (None, lambda t: 0.2 + 5 * t):
        if control is not None:
            model.controls["push"] = control
        run = da.simulate(
            model.system("joints", limits=False), da.Rattle(), start.q0, start.v0, t=(0, 0.5), h=1e-3, redundant="allow"
        )
        runs[control is None] = run
        np.testing.assert_allclose(run.joint("W").angle, 0.5 * run.joint("A").angle + 0.1, atol=1e-12)
    # the actuator's own limit of control: 3 * min(0.2 + 5 t, 1)
    difference = runs[False].joint("A").effort - 3 * np.minimum(0.2 + 5 * runs[False].t, 1.0)
    np.testing.assert_allclose(difference, 0.0, atol=1e-12)
    model.controls["nothing"] = lambda t: t
    with pytest.raises(da.InputError, match="there is no actuator 'nothing'"):
        model.system()


CONTACTS = """<mujoco><option density="{density}"/><worldbody>
  <geom name="floor" type="plane" size="1 1 1" pos="0 0 0.1" friction="0.4"/>
  <body name="ball" pos="0 0 1"><freejoint/><geom name="g" size="0.1" friction="0.6"/></body>
  <body name="crate" pos="0 0 2"><freejoint/><geom name="c" type="box" size="0.1 0.2 0.3" priority="1" friction="0.2"/>
    <body name="lid" pos="0 0 0.4"><joint name="hinge"/><geom name="l" type="capsule" size="0.05 0.1"/></body></body>
  <body name="block" pos="1 0 2"><freejoint/>
    <geom name="b" type="{kind}" size="0.1 0.1 0.1" conaffinity="0" contype="{meets}" condim="1"/></body>
</worldbody></mujoco>"""


def contacts(density=0.0, kind="sphere", meets=1):
    return mujoco.MjModel.from_xml_string(CONTACTS.format(density=density, kind=kind, meets=meets))


def test_contacts_are_those_that_mujoco_looks_at():
    """All pairs but parent and child; friction of the higher priority, or the larger one."""
    with pytest.raises(
        da.ModelError, match=r"contact of Box and Box \(c and b\); contact of Box and Capsule \(l and b"
    ):
        from_compiled(contacts(kind="box"))
    with pytest.raises(da.ModelError, match="fluid"):
        from_compiled(contacts(density=1.2))
    model = from_compiled(contacts(), restitution=0.3)
    assert {record.name: (record.friction, record.restitution) for record in model.contacts} == {
        "g on floor": (0.6, 0.3), "c on floor": (0.2, 0.3), "l on floor": (1.0, 0.3), "b on floor": (1.0, 0.3),
        "g on c": (0.2, 0.3), "g on l": (1.0, 0.3), "g on b": (1.0, 0.3), "c on b": (0.2, 0.3), "l on b": (1.0, 0.3),
    }  # fmt: skip
    assert any("contacts are rigid here, with the restitution 0.3" in remark for remark in model.remarks)
    floor_only = from_compiled(contacts(), ignore=["contact between bodies"])
    assert {record.name for record in floor_only.contacts} == {"g on floor", "c on floor", "l on floor", "b on floor"}
    none = from_compiled(contacts(density=1.2), ignore=("fluid", "contact"))
    assert none.contacts == []
    assert none.check().freedoms == 19
    # where bodies are far apart, distances are MuJoCo's
    compiled = contacts()
    data = mujoco.MjData(compiled)
    mujoco.mj_forward(compiled, data)
    system = floor_only.system("directors", limits=False)
    gaps = observe(system, "gap", np.zeros(1), *(np.asarray(x)[None] for x in state_of(floor_only)))[0]
    for geom in "gl":
        theirs = mujoco.mj_geomDistance(compiled, data, compiled.geom("floor").id, compiled.geom(geom).id, 10.0, None)
        ours = [
            gap for contact, gap in zip(system.contacts, gaps, strict=True) if contact.name.startswith(f"{geom} on")
        ]
        assert min(ours) == pytest.approx(theirs, abs=1e-12)


def state_of(model):
    """q, v and p of a model as drawn, at rest."""
    start = model.assemble(coordinates="directors")
    return start.q0, start.v0, 0 * start.v0


KINDS = {
    "a": da.Planar((0.1, 0.2, 1.0)), "b": da.Universal("x", "y"), "c": da.Cylindrical((1.0, 0.3, 0.0)),
    "d": da.Revolute((0.3, -1.0, 0.2)), "e": da.Prismatic("y"),
}  # fmt: skip


def written_model():
    """A tree with a branch of joints of many kinds, drawn at random, one of them from child to parent."""
    random = np.random.default_rng(11)
    model = da.Multibody(gravity=(0.3, -0.2, -9.81), name="Written")
    bodies = {"": model.ground}
    for name in KINDS:
        moments = random.uniform(0.1, 1.0, 3)
        bodies[name] = model.body(
            name, random.uniform(0.5, 2), (moments[1] + moments[2], moments[2] + moments[0], moments[0] + moments[1]),
            random.uniform(-0.3, 0.3, 3), at=random.uniform(-1, 1, 3), rotation=random.uniform(-1, 1, 3),
            shape=da.Capsule(0.1, 0.3),
        )  # fmt: skip
    for first, second in (("", "a"), ("a", "b"), ("b", "c"), ("d", "b"), ("c", "e")):
        kind = KINDS[second if first != "d" else "d"]
        place = random.uniform(-1, 1, 3)
        model.joint(f"to {second}" if first != "d" else "to d", bodies[first], bodies[second], kind, at=place,
                    stiffness=random.uniform(0.5, 2), rest=0.3, armature=0.2, damping=0.1)  # fmt: skip
    return model


def test_what_was_written_is_the_same_model(tmp_path):
    model = written_model()
    compiled = mujoco.MjModel.from_xml_path(str(model.save(tmp_path / "model.xml")))
    compiled.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    system, data, random = model.system("joints"), mujoco.MjData(compiled), np.random.default_rng(2)
    addresses = []
    for placement in system.plan:
        joint = system.joints[placement.joint]
        coordinates = joint.kind.coordinates
        names = [joint.name] if len(coordinates) == 1 else [f"{joint.name} {which}" for which in coordinates]
        addresses += [int(compiled.joint(name).qposadr[0]) for name in names]
    n = system.size
    assert sorted(addresses) == list(range(n))
    assert compiled.nv == n
    q, v = random.uniform(-1, 1, (20, n)), random.standard_normal((20, n))
    ours = observed(system, "energies", q, v)
    kinetic = len(system.bodies) + len(system.armature_joints)
    for k in range(20):
        data.qpos[addresses], data.qvel[addresses] = q[k], v[k]
        mujoco.mj_forward(compiled, data)
        assert np.sum(ours[k, :kinetic]) == pytest.approx(data.energy[1], rel=1e-12)
        assert np.sum(ours[k, kinetic:]) == pytest.approx(data.energy[0], abs=1e-11)


def test_loops_gears_servos_and_contacts_are_written(tmp_path):
    model = written_model()
    corner = model.bodies["c"].own(np.zeros(3))
    model.close_loop("tie", model.ground.point(0, 0, 0), model.bodies["c"].point(*corner), da.Spherical())
    model.gear("cogs", "to d", "to e", -0.5, 0.2)
    model.position_servo("to d", 0.4, kp=3.0, kd=0.2, effort=5.0)
    model.contact(model.bodies["e"], model.plane(at=(0, 0, -1)), friction=0.4)
    compiled = mujoco.MjModel.from_xml_path(str(model.save(tmp_path / "model.xml")))
    again = da.load_model(tmp_path / "model.xml", ignore=["actuator with a gain or bias of its own"])
    assert [record.friction for record in again.contacts] == [0.4]
    assert compiled.npair == 1
    assert compiled.nu == 1
    assert compiled.neq == 2
    assert compiled.pair_friction[0, 0] == 0.4
    np.testing.assert_allclose(compiled.key_ctrl, [[0.4]])
    assert set(again.joints) >= {"to d", "to e", "tie"}
