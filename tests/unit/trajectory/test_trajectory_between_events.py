"""Dense output of event capturing: the motion between saved states is computed again, through its impacts."""

import numpy as np
import pytest

import dalembert as da
from dalembert.gallery import BouncingBall, ImpactOscillator, PendulumAndWall, SlidingBlock


@pytest.mark.parametrize(
    ("system", "method", "h", "tolerance"),
    [
        (ImpactOscillator(), da.EventCapturing(da.lobatto_iiia(4)), 0.025, 2e-10),
        (ImpactOscillator(stop=0.2, restitution=0.5), da.EventCapturing(da.lobatto_iiia(4)), 0.025, 1e-9),
        (BouncingBall(), da.EventCapturing(da.half_explicit(4)), 0.05, 1e-9),
        pytest.param(
            SlidingBlock(),
            da.EventCapturing(da.half_explicit(2)),
            0.05,
            1e-9,
            marks=pytest.mark.long,
            id="SlidingBlock",
        ),
        pytest.param(
            PendulumAndWall(),
            da.EventCapturing(da.half_explicit(5)),
            0.0125,
            1e-8,
            marks=pytest.mark.long,
            id="PendulumAndWall",
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, da.System) else "",
)
def test_positions_between_states_are_those_of_the_exact_motion(system, method, h, tolerance):
    start = system.start()
    t = np.linspace(0.0, 1.9, 97)
    for every in (1, 2):
        run = da.simulate(system, method, start.q0, start.v0, t=(0.0, 1.9), h=h, save_every=every)
        between, exact = run.interpolate(t), system.exact(t)
        assert np.max(np.abs(between.q - exact.q)) < tolerance
        near = np.min(np.abs(t[:, None] - run.events.time), axis=1) > 1e-3 if len(run.events) else np.ones(len(t), bool)
        assert np.max(np.abs(between.v - exact.v)[near]) < 1e3 * tolerance
        saved = run.interpolate(run.t)
        assert saved.q == pytest.approx(run.q, abs=1e-13)
        assert saved.lam == pytest.approx(run.lam, rel=1e-8)


def test_velocities_jump_where_the_impact_is():
    run = da.simulate(
        ImpactOscillator(), da.EventCapturing(da.lobatto_iiia(4)), [1.0], [0.0], t=(0.0, 1.0), h=0.05, save_every=4
    )
    (hit,) = run.events
    before, after = run.interpolate([hit.time - 1e-7, hit.time + 1e-7]).v[:, 0]
    assert before == pytest.approx(hit.before[0], abs=1e-5)
    assert after == pytest.approx(hit.after[0], abs=1e-5)


def test_what_cannot_be_computed_again_is_refused(tmp_path):
    run = da.simulate(BouncingBall(), da.EventCapturing(), [1.0], [0.0], t=(0.0, 1.0), h=0.1)
    with pytest.raises(da.InputError, match=r"leave out own=True"):
        run.interpolate(0.55, own=True)
    with pytest.raises(da.InputError, match="needs the system and the method"):
        da.load(run.save(tmp_path / "run.nc")).interpolate(0.55)
