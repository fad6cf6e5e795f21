"""Energy-momentum with its default derivative on models some of whose constraints follow from others."""

import numpy as np
import pytest

import dalembert as da

LEVELS = pytest.mark.parametrize("velocity_level", [False, pytest.param(True, marks=pytest.mark.long)])


@LEVELS
def test_a_door_on_two_hinges_keeps_its_energy(velocity_level):
    """Five of its ten constraints follow from the others; the axis is not upright."""
    model = da.Multibody(gravity=(1.0, 2.0, -9.0), name="Door")
    door = model.body("door", density=600, shape=da.Box((0.9, 0.04, 2.0), at=(0.45, 0, 1.0)), at=(0, 0, 0))
    for name, z in (("lower", 0.3), ("upper", 1.7)):
        model.joint(name, model.ground, door, da.Revolute("z"), at=(0, 0, z))
    assert len(model.check().redundant) == 5
    start = model.assemble(rates={"lower": 2.0})
    method = da.EnergyMomentum(velocity_level=velocity_level)
    run = da.simulate(
        model.system("directors"), method, start.q0, start.v0, t=(0, 2), h=0.01, redundant="allow"
    )  # fmt: skip
    assert np.ptp(run.joint("lower").angle) > 1.0
    assert np.ptp(run.energy) < 1e-13 * np.max(np.abs(run.energy))
    assert np.max(run.constraint) < 1e-13
    if velocity_level:
        assert np.max(run.hidden) < 1e-13


def four_bar(doubled):
    ready = da.gallery.mechanism("four-bar")
    bodies = ready.model.bodies
    if doubled:
        ends = bodies["coupler"].point(3, 0, 0), bodies["rocker"].point(2.5, 0, 0)
        ready.model.joint("C2", *ends, da.PointOnPlane("z"))
    start = ready.model.assemble(**ready.start)
    return ready.model.system("directors"), start


@pytest.mark.long
@LEVELS
@pytest.mark.parametrize("doubled", [False, True])
def test_a_four_bar_keeps_its_energy(doubled, velocity_level):
    system, start = four_bar(doubled)
    method = da.EnergyMomentum(velocity_level=velocity_level)
    run = da.simulate(system, method, start.q0, start.v0, t=(0, 10), h=0.005, redundant="allow")
    assert np.ptp(run.energy) < 1e-12 * np.max(np.abs(run.energy))


@pytest.mark.long
def test_bricard_keeps_its_energy_and_comes_to_the_reference_with_order_two():
    """The place of P3 at t = 1 (IFToMM benchmark A04, recomputed)."""
    ready = da.gallery.mechanism("bricard")
    start = ready.model.assemble(coordinates="directors")
    system, errors = ready.model.system("directors"), []
    for h in (0.01, 0.005):
        run = da.simulate(system, da.EnergyMomentum(), start.q0, start.v0, t=(0, 1), h=h, redundant="allow")
        bar = run.body("bar 3")
        place = bar.position[-1] + bar.rotation[-1] @ np.array([0, 0, 0.5])
        errors.append(np.max(np.abs(place - (0.5105014612, -1.6491675994, 0.1401231146))))
        assert np.ptp(run.energy) < 1e-12
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)
