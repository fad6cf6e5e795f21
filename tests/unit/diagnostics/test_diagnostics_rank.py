"""Dead points that a run passes are found after it, also between saved states."""

import numpy as np
import pytest

import dalembert as da


def linkage(ground: float, **options) -> da.Trajectory:
    """A parallelogram of rods for ground = 3: flat twice in a turn of the crank."""
    system = da.gallery.FourBar(crank=1.0, coupler=3.0, rocker=1.0, ground=ground, gravity=0.0)
    arguments = {"t": (0.0, 2.0), "h": 0.01, "project": True} | options
    start = system.start()
    return da.simulate(system, da.Rattle(), start.q0, 3.0 * start.v0, **arguments)


def test_a_flat_four_bar_passes_its_dead_points_with_status_ok():
    run = linkage(3.0)
    assert run.status
    found = da.constraint_rank(run)
    assert not found
    assert found.smallest < 0.05
    crank = np.unwrap(np.arctan2(run.q[:, 1], run.q[:, 0])) / np.pi
    turns = np.floor(crank).astype(int)
    crossings = run.t[np.flatnonzero(np.diff(turns))]
    assert len(crossings) >= 1
    np.testing.assert_allclose(found.lost, crossings + 0.005, atol=0.006)


def test_dead_points_are_not_seen_where_there_are_none():
    system = da.gallery.FourBar()
    start = system.start()
    found = da.constraint_rank(da.simulate(system, da.Rattle(), start.q0, start.v0, t=(0.0, 5.0), h=0.01))
    assert found
    assert found.lost == ()
    assert found.smallest > 0.3
    assert "never" in repr(found)


def test_what_cannot_be_examined(tmp_path):
    run = linkage(3.0, t=(0.0, 0.1))
    with pytest.raises(da.InputError, match="needs the system"):
        da.constraint_rank(da.load(run.save(tmp_path / "run.nc")))
    free = da.gallery.HarmonicOscillator()
    start = free.start()
    with pytest.raises(da.InputError, match="no holonomic constraints"):
        da.constraint_rank(da.simulate(free, da.Rattle(), start.q0, start.v0, t=(0.0, 0.1), h=0.1))
    with pytest.raises(da.InputError, match="expected a Trajectory"):
        da.constraint_rank(3)  # pyright: ignore[reportArgumentType]
