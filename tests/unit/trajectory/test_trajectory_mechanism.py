"""A run of a model in the user's words, in both formulations."""

import numpy as np
import pytest

import dalembert as da


def pendulum(coordinates, method=None, damping=0.3):
    """A bar on a hinge along y, swinging in the x-z plane, from `angle` 0.5 with the rate 2."""
    model = da.Multibody(name="Bar")
    bar = model.body("bar", mass=2.0, inertia=(0.2, 0.21, 0.02), com=(0, 0, -0.5))
    model.joint("hinge", model.ground, bar, da.Revolute("y"), at=(1, 0, 2), damping=damping)
    start = model.assemble(hinge=0.5, rates={"hinge": 2.0}, coordinates=coordinates)
    return da.simulate(model.system(coordinates), method or da.Rattle(), start.q0, start.v0, t=(0, 0.4), h=1e-3)


@pytest.mark.parametrize("coordinates", ["directors", "joints"])
def test_reaction_of_a_pendulum_is_newtons_law(coordinates):
    run = pendulum(coordinates)
    bar, hinge = run.body("bar"), run.joint("hinge")
    centre = np.gradient(np.gradient(bar.centre, 1e-3, axis=0), 1e-3, axis=0)
    force = 2.0 * (centre - np.array([0, 0, -9.81]))
    np.testing.assert_allclose(hinge.reaction.force[5:-5], force[5:-5], atol=2e-3)
    np.testing.assert_allclose(hinge.reaction.torque[:, 1], 0.0, atol=1e-9)  # free about its axis
    np.testing.assert_allclose(hinge.effort, -0.3 * hinge.rate, atol=1e-9)
    np.testing.assert_allclose(hinge.power, -0.3 * hinge.rate**2, atol=1e-9)
    np.testing.assert_allclose(np.gradient(hinge.angle, 1e-3)[5:-5], hinge.rate[5:-5], atol=1e-4)
    table = run.motions()
    np.testing.assert_array_equal(table["hinge: angle"], hinge.angle)
    np.testing.assert_array_equal(table["bar: position"].sel(axis="z"), bar.position[:, 2])
    assert set(run.momenta) <= {"angular momentum about y"}  # angles are no places: they have no momentum along x
    energies = run.energies()
    np.testing.assert_allclose(sum(energies.values()), run.energy, atol=1e-10)
    assert set(energies) == {"kinetic energy of bar", "weight of bar", "damper of hinge"}


def test_turns_beyond_half_a_turn_are_counted():
    model = da.Multibody(gravity=(0, 0, 0))
    wheel = model.body("wheel", 1.0, (0.3, 0.4, 0.5))
    model.joint("axle", model.ground, wheel, da.Revolute("z"))
    start = model.assemble(rates={"axle": 5.0}, coordinates="directors")
    run = da.simulate(model.system("directors"), da.Rattle(), start.q0, start.v0, t=(0, 4), h=0.01)
    assert run.joint("axle").angle[-1] == pytest.approx(20.0, rel=5e-4)  # RATTLE turns faster by (rate h)^2 / 6
    assert np.all(np.diff(run.joint("axle").angle) > 0)


def test_what_is_not_there_is_named():
    run = pendulum("joints")
    with pytest.raises(da.InputError, match="there is no joint 'knee'; the joints are 'hinge'"):
        run.joint("knee")
    with pytest.raises(da.InputError, match="there is no body 'foot'"):
        run.body("foot")
    with pytest.raises(da.InputError, match="joint 'hinge' has no position; its coordinates are: angle"):
        _ = run.joint("hinge").position
    with pytest.raises(da.InputError, match="there is no contact 0"):
        run.contact(0)
    ready = da.gallery.Pendulum()
    plain = da.simulate(ready, da.Rattle(), *ready.start()[:2], t=(0, 0.1), h=0.1)
    with pytest.raises(da.InputError, match="this run has Pendulum"):
        plain.joint("hinge")
