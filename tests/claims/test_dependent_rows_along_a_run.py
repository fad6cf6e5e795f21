"""Constraints that depend on each other all along a motion: every row holds at every step, whichever are imposed."""

import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da

POINTS = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], float)
AXES = np.eye(3)[[1, 2, 0, 1, 2, 0]]
ENERGY = -29.43
TIP = np.array([0.5105014612, -1.6491675994, 0.1401231146])


class Bricard(da.System):
    """Bricard's mechanism (IFToMM benchmark A04): five bars, six hinges at right angles; one degree of freedom and 24
    constraints on 24 coordinates, of which 23 are independent."""

    gravity: float = 9.81
    size: float = 1.0

    def _all(self, x, points, axes):
        first, second = jnp.reshape(x[:12], (4, 3)), jnp.reshape(x[12:], (4, 3))
        return (
            jnp.concatenate([points[:1], first, points[5:]]),
            jnp.concatenate([axes[:1], second, axes[5:]]),
        )

    def lagrangian(self, t, q, v):
        p, _ = self._all(q, self.size * POINTS, AXES)
        w, turn = self._all(v, 0 * POINTS, 0 * AXES)
        along, across = 1 / 12, (0.1 * self.size) ** 2 / 12
        total = 0.0
        for k in range(5):
            centre, bar = (w[k] + w[k + 1]) / 2, w[k + 1] - w[k]
            total += (
                centre @ centre + along * bar @ bar + across * (turn[k] @ turn[k] + turn[k + 1] @ turn[k + 1])
            ) / 2
            total -= self.gravity * (p[k, 1] + p[k + 1, 1]) / 2
        return total

    def holonomic(self, t, q):
        p, u = self._all(q, self.size * POINTS, AXES)
        rows = []
        for k in range(5):
            bar = p[k + 1] - p[k]
            rows += [(bar @ bar - self.size**2) / 2, bar @ u[k], bar @ u[k + 1], u[k] @ u[k + 1]]
        return jnp.stack(rows + [(u[k] @ u[k] - 1) / 2 for k in range(1, 5)])


START = np.concatenate([POINTS[1:5].ravel(), AXES[1:5].ravel()])
REST = np.zeros(24)


@pytest.fixture(scope="module")
def long_run():
    return da.simulate(Bricard(), da.Rattle(), START, REST, t=(0.0, 4.0), h=0.01, redundant="allow")


def test_all_rows_hold_where_those_first_imposed_become_dependent(long_run):
    assert np.max(long_run.constraint) < 1e-12
    assert np.max(long_run.hidden) < 1e-9
    assert np.ptp(long_run.energy) < 1e-3
    assert long_run.energy[0] == pytest.approx(ENERGY, rel=1e-13)
    assert long_run.stats["row_changes"] >= 1
    assert long_run.stats["imposed_rows"] == 23


def test_multipliers_of_least_norm_go_on_through_the_change(long_run):
    assert long_run.lam.shape == (401, 24)
    assert np.max(np.abs(np.diff(long_run.lam, axis=0))) < 2.0  # they jump by tens where the imposed rows are dependent


def test_no_dead_point_is_reported(long_run):
    rank = da.constraint_rank(long_run)
    assert rank
    assert rank.smallest > 0.1


def test_inside_of_steps(long_run):
    inner = long_run.interpolate([0.505, 2.005])
    assert inner.lam.shape == (2, 24)
    assert np.max(np.abs(inner.q - (long_run.q[[50, 200]] + long_run.q[[51, 201]]) / 2)) < 1e-3


def test_composition_reaches_the_digits_of_the_reference():
    method = da.Composition(da.Rattle(), "kahan-li8")
    run = da.simulate(Bricard(), method, START, REST, t=(0.0, 1.0), h=0.05, redundant="allow")
    assert run.q[-1, 6:9] == pytest.approx(TIP, abs=1e-9)
    assert np.ptp(run.energy) < 1e-11


@pytest.mark.long
def test_batch():
    gravities = np.array([9.81, 8.0])
    batch = da.simulate(Bricard(gravity=gravities), da.Rattle(), START, REST, t=(0.0, 2.0), h=0.02, redundant="allow")
    assert np.max(batch.constraint) < 1e-12
    single = da.simulate(Bricard(gravity=8.0), da.Rattle(), START, REST, t=(0.0, 2.0), h=0.02, redundant="allow")
    assert np.max(np.abs(batch.member(1).q - single.q)) < 1e-9


@pytest.mark.long
def test_run_that_goes_on_from_a_checkpoint_is_the_same(tmp_path, monkeypatch):
    arguments = {"t": (0.0, 2.0), "h": 0.01, "redundant": "allow"}
    whole = da.simulate(Bricard(), da.Rattle(), START, REST, **arguments, checkpoint=tmp_path / "a.zarr")

    from dalembert.stepping.redundant import RedundantRun

    plain, calls = RedundantRun.run, []

    def interrupted(self, carry, *rest):
        calls.append(int(carry.step))
        if len(calls) == 4:
            raise MemoryError
        return plain(self, carry, *rest)

    monkeypatch.setattr(RedundantRun, "run", interrupted)
    monkeypatch.setattr("dalembert.stepping.redundant.RedundantRun.chunk_steps", 40, raising=False)
    with pytest.raises(MemoryError):
        da.simulate(
            Bricard(), da.Rattle(), START, REST, **arguments, checkpoint=tmp_path / "b.zarr", checkpoint_every=40
        )
    assert 0 < calls[-1] < 200
    monkeypatch.setattr(RedundantRun, "run", plain)
    resumed = da.simulate(
        Bricard(), da.Rattle(), START, REST, **arguments, checkpoint=tmp_path / "b.zarr", checkpoint_every=40
    )
    assert np.max(np.abs(resumed.q - np.asarray(whole.q))) < 1e-9


def test_rank_is_taken_on_the_constraints():
    off = START + 1e-2 * np.random.default_rng(1).standard_normal(24)
    with pytest.raises(da.RedundantConstraints, match=r"rank 23 .*holonomic\[\d+\] depends on holonomic\[\d+\.\.\d+\]"):
        da.consistent(Bricard(), off, REST)
    start = da.consistent(Bricard(), off, REST, redundant="allow")
    assert start.lam.shape == (24,)
    assert np.max(np.abs(Bricard().holonomic(0.0, start.q))) < 1e-14


class Touching(da.System):
    """Two surfaces that touch at the start: one independent constraint there, two everywhere else."""

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 9.81 * q[2]

    def holonomic(self, t, q):
        return jnp.stack([q[2] - q[0] ** 2, q[2] + q[0] ** 3 - 2 * q[1] ** 2])


@pytest.mark.parametrize("method", [da.Rattle(), da.Composition(da.Rattle(), "triple-jump"), da.Galerkin(1)], ids=repr)
def test_run_that_leaves_its_constraints_fails(method):
    run = da.simulate(
        Touching(), method, np.zeros(3), [1.0, 0.3, 0.0], t=(0, 1), h=0.01, redundant="allow", on_failure="return"
    )
    assert not run.status
    assert len(run) == 1
    assert "holonomic[" in run.status.message
    assert "leaves the constraints" in run.status.message


def test_flat_linkage_holds_its_constraints_or_fails():
    system = da.gallery.FourBar(crank=1.0, coupler=3.0, rocker=1.0, ground=3.0, gravity=0.0)
    flat = np.array([1.0, 0.0, 4.0, 0.0])
    for rate in (1.0, -2.0, 0.5):
        run = da.simulate(
            system, da.Rattle(), flat, [0.0, 1.0, 0.0, rate], t=(0, 1), h=0.01, redundant="allow", on_failure="return"
        )
        assert np.max(run.constraint) < 1e-7
        assert run.status or "leaves the constraints" in run.status.message


def test_events():
    class Stopped(da.System):
        restitution: float = 0.5

        def lagrangian(self, t, q, v):
            return 0.5 * v @ v - 9.81 * q[1]

        def holonomic(self, t, q):
            g = 0.5 * (q @ q - 1.0)
            return jnp.stack([g, 2.0 * g])

        def gap(self, t, q):
            return q[:1] + 0.5

    for method in (da.EventCapturing(), da.MoreauJean()):
        run = da.simulate(Stopped(), method, [1.0, 0.0], [0.0, 0.0], t=(0, 1), h=0.02, redundant="allow")
        assert run.lam.shape == (51, 2)
        assert np.max(run.constraint) < 1e-12
        np.testing.assert_allclose(run.lam[:, 1], 2 * run.lam[:, 0], atol=1e-9)
