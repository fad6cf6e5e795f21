"""Sweeps: one store for all trajectories, the same bytes whoever computed them, and nothing computed twice."""

import json
import os
import signal
import threading
import time
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
import xarray

import dalembert as da
from dalembert.gallery import DoublePendulum, Pendulum

distributed = pytest.importorskip("distributed")
GRID = {"length2": np.linspace(0.5, 1.5, 10), "mass2": np.linspace(0.5, 2.0, 20)}
RUN = {"t": (0.0, 1.0), "h": 0.01, "save_every": 20, "piece": 16}


def contents(store: Path) -> dict[str, bytes]:
    """What is read of a store: a worker that was killed may have left a file which it had not finished."""
    files = [file for file in store.rglob("*") if file.is_file() and file.suffix != ".part"]
    return {str(file.relative_to(store)): file.read_bytes() for file in files}


def small(store, **more):
    call = {"grid": {"length": [0.8, 1.0, 1.2]}, "t": (0.0, 0.5), "h": 0.01, "save_every": 10, "executor": "here"}
    return da.sweep(**({"system": Pendulum(), "method": da.Rattle(), "store": store} | call | more))


# -- what comes out ------------------------------------------------------------------------------------------------


def test_every_trajectory_is_the_one_that_simulate_gives(tmp_path):
    result = small(tmp_path / "s.zarr", grid={"length": [0.8, 1.2], "gravity": [1.0, 9.81, 20.0]}, piece=4)
    assert (result.trajectories, result.pieces, result.computed, result.skipped, result.failed) == (6, 2, 2, 0, 0)
    data = result.dataset
    assert dict(data.sizes) == {"trajectory": 6, "time": 6, "coordinate": 2}
    assert data.length.values.tolist() == [0.8, 0.8, 0.8, 1.2, 1.2, 1.2]
    assert data.gravity.values.tolist() == [1.0, 9.81, 20.0] * 2
    assert {"length", "gravity", "time"} == set(data.coords)
    for k in range(6):
        system = Pendulum(length=float(data.length[k]), gravity=float(data.gravity[k]))
        run = da.simulate(system, da.Rattle(), *system.start()[:2], t=(0.0, 0.5), h=0.01, save_every=10)
        assert data.q[k].values == pytest.approx(run.q, abs=1e-13)
        assert data.energy[k].values == pytest.approx(run.energy, abs=1e-12)
    assert float(data.constraint.max()) < 1e-14
    assert not data.status.any()
    assert data.time.values == pytest.approx(np.linspace(0.0, 0.5, 6))


def test_values_side_by_side(tmp_path):
    grid = {"length": [1.0, 2.0], "q0": [[1.0, 0.0], [0.0, -2.0]]}
    data = small(tmp_path / "s.zarr", grid=grid, combine="zip", v0=[0.0, 0.0], variables=("q", "p")).dataset
    assert data.q[:, 0].values.tolist() == [[1.0, 0.0], [0.0, -2.0]]
    assert data.q0_number.values.tolist() == [0, 1]
    assert {"q", "p", "status"} == set(data.data_vars)


def test_a_function_gives_the_start(tmp_path):
    def start(angle, length):
        return length * np.array([np.sin(angle), -np.cos(angle)]), np.zeros(2)

    data = small(tmp_path / "s.zarr", grid={"angle": [0.1, 0.2], "length": [1.0, 2.0]}, start=start).dataset
    assert data.q[3, 0].values == pytest.approx(start(0.2, 2.0)[0])
    assert data.angle.values.tolist() == [0.1, 0.1, 0.2, 0.2]


class Slippery(da.System):
    """Steps fail where the square root leaves its domain."""

    slope: float = 1.0

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - self.slope * jnp.sum(jnp.sqrt(q))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_one_that_fails_does_not_stop_the_others(tmp_path):
    grid = {"slope": [-1.0, 5.0, -2.0]}
    result = da.sweep(
        Slippery(), da.Rattle(), grid, tmp_path / "s.zarr", q0=[1.0], v0=[0.0], t=(0.0, 1.0), h=0.1, executor="here"
    )
    assert result.failed == 1
    assert (result.dataset.status.values != 0).tolist() == [False, True, False]
    assert np.isfinite(result.dataset.q.values[[0, 2]]).all()


# -- going on ------------------------------------------------------------------------------------------------------


def test_finished_pieces_are_not_computed_again(tmp_path):
    store = tmp_path / "s.zarr"
    assert small(store, piece=1).computed == 3
    before, times = contents(store), {file: file.stat().st_mtime_ns for file in store.rglob("*")}
    again = small(store, piece=1)
    assert (again.computed, again.skipped) == (0, 3)
    assert {file: file.stat().st_mtime_ns for file in store.rglob("*")} == times
    (store / "finished" / "000001.json").unlink()
    damaged = store / "q" / "c.2.0.0"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"\x00")
    repaired = small(store, piece=1)
    assert (repaired.computed, repaired.skipped) == (2, 1)
    assert contents(store) == before


def test_what_a_process_ran_before_changes_nothing(tmp_path):
    """Pivots are chosen at the first trajectory of the sweep, not at the first batch of the process."""
    small(tmp_path / "one.zarr", piece=1)
    starts = np.array([[0.0, -1.0], [0.6, 0.8]])
    da.simulate(Pendulum(), da.Rattle(), starts, np.zeros((2, 2)), t=(0.0, 0.1), h=0.01)
    small(tmp_path / "two.zarr", grid={"gravity": [3.0]})
    small(tmp_path / "three.zarr", piece=1)
    assert contents(tmp_path / "one.zarr") == contents(tmp_path / "three.zarr")


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"method": da.Shake()}, "method: 'Rattle()' in the store, 'Shake()' now"),
        ({"grid": {"length": [0.8, 1.0, 1.3]}}, "grid length: '0.8 ... 1.2"),
        ({"system": Pendulum(mass=2.0)}, "parameter mass: '1.0' in the store, '2.0' now"),
        ({"h": 0.005}, "steps: 50 in the store, 100 now"),
        ({"piece": 2}, "piece: 256 in the store, 2 now"),
    ],
)
def test_a_store_of_another_sweep_is_refused(tmp_path, change, difference):
    store = tmp_path / "s.zarr"
    small(store)
    before = contents(store)
    with pytest.raises(da.InputError) as error:
        small(store, **change)
    assert "belongs to another sweep" in str(error.value)
    assert difference in str(error.value)
    assert contents(store) == before


def test_other_folders_are_left_alone(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(da.InputError, match="exists and is no sweep that can be continued"):
        small(tmp_path / "folder")
    with pytest.raises(da.InputError, match="is not a folder"):
        small(tmp_path / "no" / "s.zarr")
    store = tmp_path / "s.zarr"
    small(store)
    text = json.loads((store / "description.json").read_text())
    text["body"]["format"] = 9
    (store / "description.json").write_text(json.dumps(text))
    with pytest.raises(da.InputError, match="its checksum does not fit"):
        small(store)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"grid": {}}, "grid must be a dict of values by name"),
        (
            {"grid": {"lenght": [1.0]}},
            "grid names 'lenght', which is no float field of Pendulum (gravity, length, mass)",
        ),
        ({"grid": {"length": 1.0}}, "grid['length'] must have the shape (values,)"),
        ({"grid": {"q0": [1.0, 0.0]}}, "grid['q0'] must have the shape (values, n)"),
        ({"grid": {"length": [1.0, 2.0], "mass": [1.0]}, "combine": "zip"}, 'combine="zip" needs values of one length'),
        ({"combine": "all"}, 'combine must be "product" or "zip"'),
        ({"variables": ("q", "energies")}, "a name of variables must be"),
        ({"piece": 0}, "piece must be a positive integer"),
        ({"h": 0.3}, "h = 0.3 does not divide the interval"),
        ({"q0": [1.0, 0.0]}, "give exactly one of v0 (velocity) and p0 (momentum)"),
        ({"start": lambda length: 1.0}, "start(...) must return q0 and v0"),
        ({"executor": 3}, "executor must be None"),
        ({"system": 3}, "system must be a system"),
        ({"q0": [5.0, 0.0], "v0": [0.0, 0.0]}, "violates"),
    ],
)
def test_what_is_refused(tmp_path, change, message):
    with pytest.raises(da.InputError) as error:
        small(tmp_path / "s.zarr", **change)
    assert message in str(error.value)


# -- a cluster -----------------------------------------------------------------------------------------------------


def killer(store: Path, victim: int, after: int, killed: list[int]) -> None:
    """Kill a worker as soon as so many pieces are finished."""
    while sum(1 for _ in (store / "finished").glob("*.json")) < after:
        time.sleep(0.002)
    os.kill(victim, signal.SIGKILL)
    killed.append(victim)


def swept_with_a_loss(store: Path, grid, **run) -> tuple[da.Sweep, list[int]]:
    pieces = int(np.ceil(np.prod([len(values) for values in grid.values()]) / run["piece"]))
    killed: list[int] = []
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50)
    with cluster, distributed.Client(cluster, set_as_default=False) as client:
        victim = next(iter(client.run(os.getpid).values()))
        watcher = threading.Thread(target=killer, args=(store, victim, pieces // 2, killed), daemon=True)
        watcher.start()
        result = da.sweep(DoublePendulum(), da.Rattle(), grid, store, executor=client, **run)
        watcher.join(timeout=10)
    return result, killed


@pytest.mark.filterwarnings("ignore")  # of the cluster, about the worker it lost
def test_a_lost_worker_changes_nothing(tmp_path):
    quiet = da.sweep(DoublePendulum(), da.Rattle(), GRID, tmp_path / "quiet.zarr", executor="here", **RUN)
    disturbed, killed = swept_with_a_loss(tmp_path / "disturbed.zarr", GRID, **RUN)
    assert killed
    assert disturbed.computed == quiet.computed == 13
    assert contents(disturbed.store) == contents(quiet.store)
    data = xarray.open_zarr(disturbed.store, chunks=None)
    assert np.isfinite(data.q.values).all()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_ten_thousand_double_pendulums_and_a_lost_worker(tmp_path):
    grid = {"length2": np.linspace(0.5, 1.5, 100), "mass2": np.linspace(0.5, 2.0, 100)}
    run = RUN | {"piece": 256, "t": (0.0, 10.0), "save_every": 100}
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as cluster:
        quiet = da.sweep(DoublePendulum(), da.Rattle(), grid, tmp_path / "quiet.zarr", executor=cluster, **run)
    disturbed, killed = swept_with_a_loss(tmp_path / "disturbed.zarr", grid, **run)
    assert killed
    assert disturbed.trajectories == 10_000
    assert contents(disturbed.store) == contents(quiet.store)


def test_processes_that_begin_or_write_the_same_sweep_do_not_meet(tmp_path, monkeypatch):
    from dalembert.storage import temporary_of
    from dalembert.storage.sweep_store import SweepStore

    assert temporary_of(tmp_path / "c.0") != temporary_of(tmp_path / "c.0")
    store = tmp_path / "sweep.zarr"
    call = {"grid": {"length": [1.0, 2.0]}, "q0": [1.0, 0.0], "v0": [0.0, 0.0], "t": (0.0, 0.1), "h": 0.01}
    call |= {"executor": "here", "project": True}
    begun = SweepStore.open_or_create.__func__

    def behind(cls, path, *arguments):
        """Another process creates the store between the look whether it is there and the end of writing it."""
        if not store.exists():
            exists = type(path).exists
            monkeypatch.setattr(type(path), "exists", lambda self: False if self == store else exists(self))
            begun(cls, path, *arguments)
        return begun(cls, path, *arguments)

    monkeypatch.setattr(SweepStore, "open_or_create", classmethod(behind))
    result = da.sweep(Pendulum(), da.Rattle(), store=store, **call)
    assert (result.computed, result.failed) == (2, 0) or result.trajectories == 2
    assert not list(tmp_path.glob(".sweep.zarr.*"))
