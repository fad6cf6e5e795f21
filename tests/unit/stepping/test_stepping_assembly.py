"""Assembly: nearest consistent poses, branches, what resists, and what constraints leave free."""

import numpy as np
import pytest

import dalembert as da


def linkage(last=None) -> da.Multibody:
    """A parallelogram of rods of length 1 in the plane z = 0, drawn upright."""
    model = da.Multibody(gravity=(0, -9.81, 0), name="Linkage")
    slab = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}
    left = model.body("left", **slab, at=(0, 0, 0))
    top = model.body("top", **slab, at=(0, 1, 0))
    right = model.body("right", **slab, at=(2, 0, 0))
    model.joint("A", model.ground, left, da.Revolute("z"))
    model.joint("B", left, top, da.Revolute("z"))
    model.joint("D", model.ground, right, da.Revolute("z"))
    model.joint("C", top.point(2, 0, 0), right.point(0, 1, 0), last or da.PointOnLine("z"))
    return model


def test_a_pose_is_reached_on_its_branch():
    start = linkage().assemble(A=1.2, rates={"A": 2.0})
    # a parallelogram stays one, it does not turn into an antiparallelogram
    assert start.joints["D"][0] == pytest.approx(1.2)
    assert start.joints["B"][0] == pytest.approx(-1.2)
    assert start.rates["D"][0] == pytest.approx(2.0)
    assert start.moved > 0.1


def test_turns_are_counted():
    model = da.Multibody()
    wheel = model.body("wheel", 1.0, (1.0, 1.0, 1.0))
    model.joint("axle", model.ground, wheel, da.Revolute("z"))
    start = model.assemble(axle=7.5)
    assert start.joints["axle"][0] == pytest.approx(7.5)
    assert start.q0 == pytest.approx([7.5])


def test_what_resists_is_named():
    model = linkage()
    model.joint("E", model.ground, model.bodies["right"].point(0, 1, 0), da.Spherical(), at=(2, 1, 0))
    with pytest.raises(da.ModelError, match=r"cannot be brought with joint 'A' to 2 \(reached .*joint 'A' as wanted"):
        model.assemble(A=2.0)
    with pytest.raises(da.ModelError, match=r"cannot move with the wanted rates: the rate of joint 'A', the rate of"):
        linkage().assemble(A=1.2, rates={"A": 2.0, "D": 1.0})
    with pytest.raises(da.InputError, match="there is no joint 'X'"):
        linkage().assemble(X=1.0)
    with pytest.raises(da.InputError, match="joint 'A' has 1 coordinates"):
        linkage().assemble(A=(1.0, 2.0))


def test_check_counts_and_names():
    report = linkage().check()
    assert (report.bodies, report.constraints, report.freedoms) == (3, 17, 1)
    assert report.redundant == {}
    assert not report.singular
    report = linkage(da.Spherical()).check()
    assert report.freedoms == 1
    assert len(report.redundant) == 1
    assert "redundant" in str(report)
    (others,) = report.redundant.values()
    assert all(": " in row for row in others)


def test_check_finds_singular_poses_and_floating_parts():
    model = linkage()
    model.joints["A"].first.model.body("stone", 1.0, (1, 1, 1), at=(5, 0, 0))
    assert model.check().floating == (("stone",),)
    flat = da.Multibody(gravity=(0, 0, 0))  # the parallelogram folded flat: all joints on one line
    slab = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}
    left, top, right = (
        flat.body(name, **slab, at=at) for name, at in (("l", (0, 0, 0)), ("t", (1, 0, 0)), ("r", (2, 0, 0)))
    )
    flat.joint("A", flat.ground, left, da.Revolute("z"))
    flat.joint("B", left, top, da.Revolute("z"))
    flat.joint("D", flat.ground, right, da.Revolute("z"))
    flat.joint("C", top.point(2, 0, 0), right.point(1, 0, 0), da.PointOnLine("z"))
    report = flat.check()
    assert report.singular
    assert report.freedoms == 2


def test_bodies_get_spin_and_velocity():
    model = da.Multibody()
    body = model.body("body", 2.0, (1.0, 1.2, 1.5), com=(0.1, 0.2, 0.3), at=(1, 2, 3), rotation=(0.3, 0.2, 0.1))
    spin, velocity = np.array([1.0, -2.0, 0.5]), np.array([0.1, 0.2, 0.3])
    start = model.assemble(spin={"body": spin}, velocity={"body": velocity})
    run = da.simulate(model.system(), da.Rattle(), start.q0, start.v0, t=(0, 0.01), h=0.01)
    motion = run.body("body")
    np.testing.assert_allclose(motion.angular_velocity[0], spin, atol=1e-12)
    np.testing.assert_allclose(motion.velocity[0], velocity, atol=1e-12)
    np.testing.assert_allclose(motion.position[0], (1, 2, 3), atol=1e-12)
    np.testing.assert_allclose(motion.rotation[0], body.turn, atol=1e-12)
    np.testing.assert_allclose(motion.momentum[0], 2.0 * (velocity + np.cross(spin, body.turn @ body.com)), atol=1e-12)
