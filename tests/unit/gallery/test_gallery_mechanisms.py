"""The mechanisms of the gallery: degrees of freedom, consistent starts, and known answers."""

import numpy as np
import pytest

import dalembert as da
from dalembert.gallery import mechanism, mechanisms
from dalembert.gallery.mechanisms import bicycle

#: Degrees of freedom of positions, and redundant rows.
FREEDOMS = {
    "four-bar": (1, 0), "bricard": (1, 1), "stewart-platform": (6, 0), "delta-robot": (3, 0), "heavy-top": (3, 0),
    "gyroscope": (3, 0), "dzhanibekov": (6, 0), "tippe-top": (6, 0), "rolling-disc": (5, 0), "bicycle": (7, 0),
    "arm": (7, 0), "quadruped": (18, 0), "slider-crank-with-clearance": (3, 0), "governor": (4, 0),
    "suspension": (14, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(FREEDOMS))
def test_freedoms_and_starts(name):
    found = mechanism(name)
    report = found.model.check()
    assert (report.freedoms, len(report.redundant)) == FREEDOMS[name]
    start = found.model.assemble(**found.start)
    assert np.all(np.isfinite(start.q0))
    assert found.model.system().size == len(start.q0) == len(start.v0)


@pytest.mark.parametrize("name", sorted(FREEDOMS))
def test_every_part_is_drawn(name):
    """Outlines and rods reach as far as the mechanism, and no bar leads nowhere."""
    model = mechanism(name).model
    system = model.system(limits=False)
    drawn = {body for body, points in system.drawing if len(points) > 1}
    assert drawn >= {k for k, body in enumerate(system.bodies) if not body.name.endswith(("ball", "hip", "carrier"))}
    points = np.asarray(system.points(0.0, model.assemble().q0))
    bars = np.array(system.bars)
    lengths = np.linalg.norm(points[bars[:, 0]] - points[bars[:, 1]], axis=1)
    assert bars.max() < len(points)
    assert lengths.max() > 0.05 * np.ptp(points, axis=0).max()
    if name == "delta-robot":  # the pairs of rods between arms and platform
        np.testing.assert_allclose(lengths[-6:], lengths[-1])


def test_all_are_listed():
    assert set(mechanisms()) == set(FREEDOMS)
    with pytest.raises(da.InputError, match="unknown mechanism 'clock'"):
        mechanism("clock")


def test_governor():
    """The digits are those of an independent integration of the reduced equations."""
    found = mechanism("governor")
    start = found.model.assemble(**found.start)
    run = da.simulate(found.model.system(), da.gauss_spark(3), start.q0, start.v0, t=(0, 0.5), h=5e-4)
    for t, (height, angle, rate) in {
        0.1: (0.52383647557, 0.49617386908, 6.10371780883), 0.5: (0.74324942479, 0.25949138154, 5.10341542197),
    }.items():  # fmt: skip
        k = round(t / 5e-4)
        assert run.body("slider").position[k, 2] == pytest.approx(height, abs=2e-10)
        assert run.joint("right hinge").angle[k] + np.pi / 6 == pytest.approx(angle, abs=2e-10)
        assert run.joint("axle").rate[k] == pytest.approx(rate, abs=2e-9)


@pytest.mark.long
@pytest.mark.parametrize("coordinates", ["joints", "directors"])
@pytest.mark.parametrize(
    ("method", "h"),
    [
        (da.SymplecticEuler(), 2e-5),
        (da.Shake(), 5e-5),
        (da.Rattle(), 5e-5),
        (da.MoreauJean(), 5e-5),
        (da.Galerkin(1), 5e-5),
        (da.Galerkin(2), 2e-3),
        (da.gauss_spark(2), 2e-3),
        (da.gauss_spark(3), 1e-2 / 3),
    ],
    ids=repr,
)
def test_governor_with_every_method(method, h, coordinates):
    """Orders by the digits of the slider's height at t = 0.1, in both formulations; of the stiff springs' fast motion
    nothing is left then."""
    found = mechanism("governor")
    start = found.model.assemble(coordinates=coordinates, **found.start)
    system, errors = found.model.system(coordinates), []
    for step in (h, h / 2):
        run = da.simulate(system, method, start.q0, start.v0, t=(0, 0.1), h=step)
        errors.append(abs(run.body("slider").position[-1, 2] - 0.52383647557))
    claimed = 2 if isinstance(method, da.MoreauJean) else method.order  # without impacts
    assert np.log2(errors[0] / errors[1]) == pytest.approx(claimed, abs=0.3) or errors[1] < 3e-12


def test_what_rolls_starts_rolling():
    for name in ("rolling-disc", "bicycle"):
        found = mechanism(name)
        start = found.model.assemble(**found.start)
        run = da.simulate(found.model.system(), da.gauss_spark(1), start.q0, start.v0, t=(0, 0.01), h=0.01)
        assert np.max(run.hidden) < 1e-13
    with pytest.raises(da.ModelError, match=r"the velocity of body 'frame', .* contradict each other"):
        found.model.assemble(velocity={"frame": (5, 0, 0)}, **found.start)


@pytest.mark.long
def test_the_bicycle_steers_itself():
    """Meijaard et al.: at 5 m/s the weave mode decays as exp(-0.775 t) with the frequency 4.465; at 3 m/s it grows."""
    sizes = {}
    for speed in (3.0, 5.0):
        found = bicycle(speed)
        start = found.model.assemble(**found.start)
        run = da.simulate(found.model.system(), da.gauss_spark(2), start.q0, start.v0, t=(0, 3), h=0.01)
        roll = np.arctan2(run.body("frame").rotation[:, 2, 1], run.body("frame").rotation[:, 2, 2])
        sizes[speed] = np.max(np.abs(roll[:100])), np.max(np.abs(roll[-60:]))
        assert np.ptp(run.energy) < 1e-5 * abs(run.energy[0])
    assert sizes[5.0][1] < 0.35 * sizes[5.0][0]
    assert sizes[3.0][1] > sizes[3.0][0]
