"""Runs and batches of runs as datasets, tables and files of all kinds."""

import importlib.util
import zipfile

import numpy as np
import pandas as pd
import pytest

import dalembert as da


class Pendulum(da.System):
    names = ("x", "y")

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 9.81 * q[1]

    def holonomic(self, t, q):
        return 0.5 * (q @ q - 1)

    def constraint_name(self, kind, row):
        return "rod"


@pytest.fixture(scope="module")
def run() -> da.Trajectory:
    return da.simulate(Pendulum(), da.Rattle(), [1.0, 0.0], [0.0, 0.0], t=(0, 1), h=0.05)


@pytest.fixture(scope="module")
def batch() -> da.Trajectory:
    speeds = np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 2.0]])
    return da.simulate(Pendulum(), da.Rattle(), np.tile([1.0, 0.0], (3, 1)), speeds, t=(0, 1), h=0.05)


def test_a_dataset_is_indexed_by_time_and_names(run):
    data = run.to_xarray()
    assert float(data.q.sel(time=0.52, method="nearest").sel(coordinate="y")) == run.q[10, 1]
    assert float(data.lam.sel(constraint="rod")[3]) == run.lam[3, 0]


def test_a_table_has_a_row_for_each_state(run):
    table = run.to_pandas()
    assert table.index.name == "time"
    assert list(table)[:6] == ["q_x", "q_y", "v_x", "v_y", "p_x", "p_y"]
    assert {"lam_rod", "energy", "constraint_violation"} <= set(table)
    np.testing.assert_array_equal(table[["q_x", "q_y"]].to_numpy(), run.q)


def test_columns_have_numbers_where_the_system_has_no_names():
    system = da.gallery.HarmonicOscillator()
    start = system.start()
    run = da.simulate(system, da.Rattle(), start.q0, start.v0, t=(0, 0.1), h=0.05)
    assert next(iter(run.to_pandas())) == "q_0"


@pytest.mark.parametrize("suffix", [".nc", ".zarr", ".npz", ".NPZ"])
def test_what_holds_everything_comes_back(run, batch, tmp_path, suffix):
    for one in (run, batch):
        path = tmp_path / f"run{suffix}"
        assert one.save(path) == path
        again = da.load(one.save(path))  # over what is there
        for name in ("t", "q", "v", "p", "lam", "energy", "constraint"):
            assert getattr(again, name).tobytes() == np.asarray(getattr(one, name)).tobytes(), name
        np.testing.assert_array_equal(again.status, one.status)
        assert again.provenance == one.provenance
        assert repr(again) == repr(one)
    assert [path.name for path in tmp_path.iterdir()] == [f"run{suffix}"]


def test_csv_is_a_table_in_full_precision(run, tmp_path):
    table = pd.read_csv(run.save(tmp_path / "run.csv"), index_col="time")
    np.testing.assert_array_equal(table[["q_x", "q_y"]].to_numpy(), run.q)
    with pytest.raises(da.InputError, match="a table is for other programs and holds no run"):
        da.load(tmp_path / "run.csv")


def test_a_batch_is_a_table_of_members(batch):
    table = batch.to_pandas()
    assert table.index.names == ["member", "time"]
    np.testing.assert_array_equal(table.loc[2, "q_y"].to_numpy(), batch.q[2, :, 1])


@pytest.mark.skipif(importlib.util.find_spec("pyarrow") is not None, reason="pyarrow is there")
def test_parquet_says_what_it_needs(run, tmp_path):
    with pytest.raises(
        da.InputError, match=r"run.parquet: .parquet needs pyarrow; install it with pip install pyarrow"
    ):
        run.save(tmp_path / "run.parquet")


@pytest.mark.parametrize("name", ["run.txt", "run", "run.h5"])
def test_other_suffixes_are_refused(run, tmp_path, name):
    with pytest.raises(da.InputError, match=r"expected a name ending in .nc, .zarr, .npz, .csv, .parquet, got"):
        run.save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_changed_file_is_refused(run, tmp_path):
    path = run.save(tmp_path / "run.npz")
    with np.load(path) as archive:
        arrays = dict(archive)
    arrays["q"][3, 0] += 1e-9
    np.savez(path, **arrays)
    with pytest.raises(da.InputError, match="cut or changed"):
        da.load(path)
    path.write_bytes(b"PK no archive")
    with pytest.raises(da.InputError, match="not a trajectory saved by dalembert"):
        da.load(path)
    with zipfile.ZipFile(path, "w"):
        pass
    with pytest.raises(da.InputError, match="not a trajectory saved by dalembert"):
        da.load(path)
    (run.save(tmp_path / "run.zarr") / "q" / "c" / "0" / "0").unlink()
    with pytest.raises(da.InputError, match="cut or changed"):
        da.load(tmp_path / "run.zarr")


def test_a_folder_of_something_else_stays(run, tmp_path):
    (tmp_path / "run.zarr").mkdir()
    (tmp_path / "run.zarr" / "precious.txt").write_text("mine")
    with pytest.raises(da.InputError, match="it is a folder"):
        run.save(tmp_path / "run.zarr")
    assert (tmp_path / "run.zarr" / "precious.txt").read_text() == "mine"
