"""Models that are driven entirely: all motion is prescribed, and what is asked for are the forces that it needs."""

import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da


@pytest.mark.parametrize("coordinates", ["joints", "directors"])
def test_the_torque_of_a_driven_arm(coordinates):
    """M = J a'' + m g l sin a, by RATTLE's multipliers."""
    model = da.Multibody(name="Driven")
    arm = model.body("arm", mass=2.0, inertia=(0.3, 0.2, 0.1), com=(0, 0, -0.5))
    model.joint("shoulder", model.ground, arm, da.Revolute("y"), at=(0, 0, 1))
    model.prescribe("shoulder", lambda t: 0.4 * jnp.sin(3 * t))
    start = model.assemble(coordinates=coordinates)
    run = da.simulate(model.system(coordinates), da.Rattle(), start.q0, start.v0, t=(0, 0.5), h=0.01)
    angle, rate = 0.4 * np.sin(3 * run.t), 1.2 * np.cos(3 * run.t)
    np.testing.assert_allclose(run.joint("shoulder").angle, angle, atol=1e-12)
    np.testing.assert_allclose(run.joint("shoulder").rate, rate, atol=1e-12)
    torque = (0.2 + 2.0 * 0.25) * -9 * angle + 2.0 * 9.81 * 0.5 * np.sin(angle)
    np.testing.assert_allclose(run.joint("shoulder").reaction.torque[:, 1], torque, atol=1e-9)


def test_what_stands_still_is_refused():
    model = da.Multibody(name="Still")
    arm = model.body("arm", mass=2.0, inertia=(0.3, 0.2, 0.1))
    model.joint("foot", model.ground, arm, da.Fixed(), at=(0, 0, 1))
    start = model.assemble(coordinates="directors")
    with pytest.raises(da.ModelError, match="nothing is left to move"):
        da.simulate(model.system("directors"), da.Rattle(), start.q0, start.v0, t=(0, 1), h=0.1)


def test_a_start_in_other_coordinates_is_named():
    model = da.Multibody(name="Arm")
    arm = model.body("arm", mass=2.0, inertia=(0.3, 0.2, 0.1), com=(0, 0, -0.5))
    model.joint("shoulder", model.ground, arm, da.Revolute("y"), at=(0, 0, 1))
    start = model.assemble(coordinates="directors")
    message = r'q0 has 9 entries, but Arm in joints has 1; model\.assemble\(.*coordinates="joints"\)'
    with pytest.raises(da.InputError, match=message):
        da.simulate(model.system("joints"), da.Rattle(), start.q0, start.v0, t=(0, 1), h=0.1)


def test_a_bushing_between_points():
    """A body that hangs at an elastic point: it sinks by m g / k."""
    model = da.Multibody(name="Mount")
    block = model.body("block", mass=3.0, inertia=(0.1, 0.1, 0.1), at=(0, 0, 0.5))
    model.bushing(model.ground.point(0, 0, 0.3), block.point(0, 0, -0.2), (1e3,) * 6, damping=(100.0,) * 6)
    start = model.assemble()
    run = da.simulate(model.system(), da.Rattle(), start.q0, start.v0, t=(0, 4), h=0.01)
    assert run.body("block").position[-1] == pytest.approx((0, 0, 0.5 - 3.0 * 9.81 / 1e3), abs=1e-6)
