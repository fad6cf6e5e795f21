"""Turns and stops: angles that poses know up to whole turns, bearings whose friction follows their load, and joints
between bodies without mass."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as da


def wheel(kind=None, **options):
    model = da.Multibody(gravity=(0, 0, 0), name="Wheel")
    body = model.body("wheel", 1.0, (0.3, 0.4, 0.5))
    model.joint("axle", model.ground, body, kind or da.Revolute("z"), **options)
    return model


def motion(model, coordinates, method, t, h, assembled=None, rates=None, **options):
    start = model.assemble(assembled, rates=rates, coordinates=coordinates)
    return da.simulate(model.system(coordinates), method, start.q0, start.v0, t=(0, t), h=h, **options)


@pytest.mark.parametrize("coordinates", ["directors", "joints"])
def test_turns_are_counted_between_states_that_are_turns_apart(coordinates):
    """Five radians between two saved states: the rates tell how many turns lie between."""
    run = motion(wheel(), coordinates, da.Rattle(), 1.0, 0.005, rates={"axle": 50.0}, save_every=20)
    faster = 1 + (50 * 0.005) ** 2 / 6 if coordinates == "directors" else 1.0  # RATTLE's own error
    assert run.joint("axle").angle[-1] == pytest.approx(50.0 * faster, rel=1e-3)
    run = motion(wheel(da.Screw("z", 0.3)), coordinates, da.Rattle(), 0.5, 0.005, rates={"axle": 50.0}, save_every=20)
    assert run.joint("axle").angle[-1] == pytest.approx(25.0 * faster, rel=5e-3)
    assert run.body("wheel").position[-1, 2] == pytest.approx(0.3 * run.joint("axle").angle[-1] / (2 * np.pi))


def test_stops_beyond_half_a_turn_stop():
    angles = []
    for coordinates in ("directors", "joints"):
        model = wheel(limits=(0.5, 5.5), limit_restitution=1.0)
        run = motion(model, coordinates, da.MoreauJean(), 0.8, 2e-3, {"axle": 3.0}, {"axle": 5.0})
        angles.append(run.joint("axle").angle)
        assert 5.49 < angles[-1].max() < 5.52
    np.testing.assert_allclose(angles[0], angles[1], atol=1e-3)


def test_stops_more_than_a_turn_apart_stop():
    """The angle is a coordinate of its own by directors, so that its turns are known."""
    angles = []
    for coordinates in ("directors", "joints"):
        model = wheel(limits=(-9.0, 9.0), limit_restitution=1.0)
        angles.append(motion(model, coordinates, da.MoreauJean(), 1.0, 2e-3, rates={"axle": 10.0}).joint("axle").angle)
        assert 8.98 < angles[-1].max() < 9.02
    np.testing.assert_allclose(angles[0], angles[1], atol=1e-3)


def servo_arm(armature=None):
    """Two links whose motors go beyond half a turn, with a spring that is wound up."""
    model = da.Multibody(name="Arm")
    upper = model.body("upper", 1.0, (0.1, 0.12, 0.05), com=(0.1, 0, -0.4), at=(0, 0, 0))
    lower = model.body("lower", 0.7, (0.03, 0.04, 0.02), com=(0, 0.05, -0.3), at=(0, 0, -0.8))
    model.joint("shoulder", model.ground, upper, da.Revolute("y"), armature=armature)
    model.joint("elbow", upper, lower, da.Revolute((1, 1, 0)), stiffness=0.2)
    model.position_servo("shoulder", lambda t: 9.0 * t, 60.0, 5.0)
    model.motor("elbow", lambda t, x: x.gain * (7.5 - x.angle) - 2 * x.rate, gain=9.0)
    return model


@pytest.mark.parametrize("armature", [None, 0.2])
def test_a_servo_follows_targets_beyond_half_a_turn(armature):
    ends = []
    for coordinates in ("directors", "joints"):
        model = wheel(armature=armature)
        model.position_servo("axle", lambda t: 9.0 * t, 60.0, 5.0)
        ends.append(motion(model, coordinates, da.Rattle(), 1.2, 1e-3, {"axle": 0.3}).joint("axle").angle[-1])
    assert ends[0] > 2 * np.pi
    assert ends[0] == pytest.approx(ends[1], abs=1e-4)


@pytest.mark.long
@pytest.mark.parametrize("armature", [None, 0.02])
@pytest.mark.parametrize("method", [da.Rattle(), da.gauss_spark(2), da.Galerkin(2), da.Taylor(6)], ids=repr)
def test_motors_and_springs_count_turns_by_directors(method, armature):
    """Servos follow targets beyond half a turn, and reactions take the torque at the counted angle."""
    ends = []
    for coordinates in ("directors", "joints"):
        model = servo_arm(armature)
        run = motion(model, coordinates, method, 1.2, 1e-3, {"elbow": 0.3}, {"shoulder": 1.0})
        elbow = run.joint("elbow")
        ends.append([*(run.joint(name).angle[-1] for name in model.joints), *elbow.reaction.torque[-1]])
        assert ends[-1][0] > 2 * np.pi
        assert ends[-1][1] > np.pi + 1
        assert np.max(run.constraint) < 1e-13
        angle, rate = elbow.angle[-1], elbow.rate[-1]
        assert elbow.effort[-1] == pytest.approx(9 * (7.5 - angle) - 2 * rate - 0.2 * angle)
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-2 if isinstance(method, da.Rattle) else 1e-6)


def test_a_motor_that_does_not_look_at_the_angle_needs_no_count():
    sizes = []
    for law in (lambda t, x: 0.1 * t - x.drag * x.rate, lambda t, x: -x.drag * x.angle):
        model = wheel()
        model.motor("axle", law, drag=0.3)
        sizes.append(model.system("directors").size)
    assert sizes == [12, 14]  # the angle and its companion


def test_a_spring_about_half_a_turn_does_not_jump():
    model = wheel(stiffness=3.0, rest=3.0)
    angles = [
        motion(model, coordinates, da.Rattle(), 2.0, 5e-3, {"axle": 2.5}).joint("axle").angle
        for coordinates in ("directors", "joints")
    ]
    assert angles[0].max() > np.pi
    np.testing.assert_allclose(angles[0], angles[1], atol=1e-4)


# -- friction of loaded bearings ---------------------------------------------------------------------------------------

MU, RADIUS, MASS, LENGTH, INERTIA, SMOOTHING = 0.3, 0.05, 2.0, 0.5, 0.2, 0.05


def loaded_pendulum():
    model = da.Multibody(name="Bar")
    bar = model.body("bar", mass=MASS, inertia=(INERTIA, 0.21, 0.02), com=(0, 0, -LENGTH))
    model.joint("hinge", model.ground, bar, da.Revolute("x"), at=(0, 0, 0))
    model.bearing_friction("hinge", MU, RADIUS, smoothing=SMOOTHING)
    return model


def independent(t):
    """(J + m l^2) w' = -m g l sin a - mu r |F| tanh(w / s) with |F| = m |(l w^2 + g cos a, l w' + g sin a)|."""

    def rate(t, y):
        a, w = y
        change = 0.0
        for _ in range(60):
            load = MASS * np.hypot(LENGTH * w**2 + 9.81 * np.cos(a), LENGTH * change + 9.81 * np.sin(a))
            torque = -MASS * 9.81 * LENGTH * np.sin(a) - MU * RADIUS * load * np.tanh(w / SMOOTHING)
            change = torque / (INERTIA + MASS * LENGTH**2)
        return [w, change]

    return solve_ivp(rate, (0, t), [1.2, 0.0], rtol=1e-9, atol=1e-11).y[:, -1]


def test_bearings_brake_by_their_load():
    model, exact = loaded_pendulum(), independent(0.8)
    errors = []
    for h in (4e-3, 2e-3):
        run = motion(model, "auto", da.SymplecticEuler(), 0.8, h, {"hinge": 1.2})
        errors.append(run.joint("hinge").angle[-1] - exact[0])
    assert abs(errors[1]) < 2e-3
    assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.1)  # of order 1

    def error(method, h):
        return motion(model, "auto", method, 0.8, h, {"hinge": 1.2}).joint("hinge").angle[-1] - exact[0]

    assert np.log2(error(da.Rattle(), 4e-3) / error(da.Rattle(), 2e-3)) == pytest.approx(2, abs=0.1)
    assert abs(error(da.gauss_spark(2), 2e-3)) < 1e-8  # of the reference's own accuracy
    first = run.joint("hinge").reaction.force[0]
    hanging = -LENGTH * MASS * 9.81 * LENGTH * np.sin(1.2) / (INERTIA + MASS * LENGTH**2) + 9.81 * np.sin(1.2)
    assert np.linalg.norm(first) == pytest.approx(MASS * np.hypot(9.81 * np.cos(1.2), hanging))


def test_bearing_friction_is_refused_where_no_load_is_known():
    model = loaded_pendulum()
    with pytest.raises(da.ModelError, match="bearing of hinge depends on the reaction of joint 'hinge', which is no"):
        model.system("joints")
    with pytest.raises(da.MethodDoesNotFit):
        motion(model, "auto", da.Taylor(4), 0.1, 0.01)
    model.knife_edge("blade", model.bodies["bar"].point(0, 0, -1), across="x")
    with pytest.raises(da.ModelError, match="'blade' constrains velocities: no method here treats both"):
        model.system()


# -- bodies without mass -----------------------------------------------------------------------------------------------


@pytest.mark.long
def test_bodies_without_mass_in_both_formulations():
    """A cross between two hinges has no mass: a universal joint made of two. It moves as the joint of that kind."""
    ends = []
    for coordinates in ("joints", "directors", "universal"):
        model = da.Multibody(name="Cardan")
        base = model.body("base", 2.0, (0.2, 0.3, 0.4), com=(0.1, 0, 0), at=(0, 0, 0))
        arm = model.body("arm", 1.0, (0.1, 0.12, 0.05), com=(0, 0, -0.4), at=(0.5, 0, 0))
        model.joint("turn", model.ground, base, da.Revolute("y"), at=(0, 0, 0))
        if coordinates == "universal":
            model.joint("knee", base, arm, da.Universal("x", "y"), at=(0.5, 0, 0))
        else:
            cross = model.body("cross", 0.0, at=(0.5, 0, 0))
            model.joint("knee", base, cross, da.Revolute("x"))
            model.joint("knee 2", cross, arm, da.Revolute("y"))
        rates = {"knee": (0.5, -1.0)} if coordinates == "universal" else {"knee": 0.5, "knee 2": -1.0}
        kind = "directors" if coordinates == "universal" else coordinates
        run = motion(model, kind, da.Rattle(), 0.1, 1e-3, rates=rates | {"turn": 0.3})
        ends.append(np.concatenate([run.body("arm").centre[-1], run.body("base").centre[-1]]))
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-6)
    np.testing.assert_allclose(ends[0], ends[2], atol=1e-6)
    with pytest.raises(da.ModelError, match="reaction of joint 'knee'"):
        _ = motion(model_with_cross(), "directors", da.Rattle(), 0.01, 0.01).joint("knee").reaction


def model_with_cross():
    model = da.Multibody(name="Cardan")
    base = model.body("base", 2.0, (0.2, 0.3, 0.4), at=(0, 0, 0))
    cross = model.body("cross", 0.0, at=(0.5, 0, 0))
    arm = model.body("arm", 1.0, (0.1, 0.12, 0.05), com=(0, 0, -0.4), at=(0.5, 0, 0))
    model.joint("knee", base, cross, da.Revolute("x"))
    model.joint("knee 2", cross, arm, da.Revolute("y"))
    return model


def test_a_body_without_mass_at_the_end_is_refused():
    model = da.Multibody()
    arm = model.body("arm", 1.0, (0.1, 0.12, 0.05), com=(0, 0, -0.4))
    model.joint("knee", model.ground, arm, da.Revolute("x"))
    model.joint("end", arm, model.body("tip", 0.0, at=(0, 0, -1)), da.Revolute("x"))
    for coordinates in ("joints", "directors"):
        with pytest.raises(da.ModelError, match=r"'tip'|no inertia"):
            motion(model, coordinates, da.Rattle(), 0.01, 0.01)
