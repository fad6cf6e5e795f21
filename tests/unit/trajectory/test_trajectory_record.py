"""The record of a run: names, shapes, files without loss, provenance, life under jit and vmap."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.stepping import Status

ARRAYS = ("t", "q", "v", "p", "lam", "psi", "energy", "constraint", "hidden", "iterations")


class Spherical(da.System):
    length: float = 1.5
    gravity: float = 9.81
    label: str = "a rod"

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - self.gravity * q[2]

    def holonomic(self, t, q):
        return 0.5 * (q @ q - self.length**2)

    def invariants(self, t, q, p):
        return {"angular_momentum_z": q[0] * p[1] - q[1] * p[0], "momentum": p}


START = {"q0": [1.5, 0.0, 0.0], "v0": [0.0, 1.0, 0.3], "t": (0.0, 2.0), "h": 0.02}


@pytest.fixture(scope="module")
def run() -> da.Trajectory:
    return da.simulate(Spherical(), da.Rattle(), **START)


@pytest.fixture(scope="module")
def loaded(run, tmp_path_factory) -> da.Trajectory:
    return da.load(run.save(tmp_path_factory.mktemp("runs") / "run.nc"))


def test_shapes(run):
    assert run.t.shape == (101,)
    assert run.q.shape == run.v.shape == run.p.shape == (101, 3)
    assert run.lam.shape == (101, 1)
    assert run.psi.shape == (101, 0)
    assert run.impulse.shape == (101, 0)
    assert run.energy.shape == run.constraint.shape == run.hidden.shape == (101,)
    assert run.iterations.shape == (100,)
    assert run.invariants["angular_momentum_z"].shape == (101,)
    assert run.invariants["momentum"].shape == (101, 3)
    assert len(run) == 101


def test_derived_quantities_are_those_of_the_definitions(run):
    q, v, t = np.asarray(run.q), np.asarray(run.v), np.asarray(run.t)
    np.testing.assert_allclose(t, np.linspace(0.0, 2.0, 101), rtol=0, atol=1e-14)
    np.testing.assert_allclose(run.energy, 0.5 * np.sum(v**2, axis=1) + 9.81 * q[:, 2], rtol=1e-14)
    np.testing.assert_allclose(run.constraint, np.abs(0.5 * (np.sum(q**2, axis=1) - 1.5**2)), atol=2e-15)
    np.testing.assert_allclose(run.hidden, np.abs(np.sum(q * v, axis=1)), atol=2e-15)
    multiplier = (np.sum(v**2, axis=1) - 9.81 * q[:, 2]) / 1.5**2
    np.testing.assert_allclose(run.lam[:, 0], multiplier, rtol=1e-11)


def test_file_holds_every_array_bit_for_bit(run, loaded):
    for name in ARRAYS:
        before, after = np.asarray(getattr(run, name)), np.asarray(getattr(loaded, name))
        assert before.dtype == after.dtype, name
        assert before.shape == after.shape, name
        assert before.tobytes() == after.tobytes(), name
    assert set(loaded.invariants) == {"angular_momentum_z", "momentum"}
    for name, values in run.invariants.items():
        assert np.asarray(values).tobytes() == np.asarray(loaded.invariants[name]).tobytes()


def test_file_holds_status_statistics_and_provenance(run, loaded):
    assert loaded.status == run.status
    assert loaded.stats == run.stats
    assert loaded.provenance == run.provenance
    assert repr(loaded) == repr(run)


def test_loaded_run_can_be_saved_again(loaded, tmp_path):
    again = da.load(loaded.save(tmp_path / "again.nc"))
    assert again.q.tobytes() == loaded.q.tobytes()
    assert again.provenance == loaded.provenance
    assert again.status == loaded.status


def test_saving_leaves_nothing_behind_and_replaces(run, tmp_path):
    path = tmp_path / "run.nc"
    path.write_text("something older")
    assert run.save(path) == path
    assert [file.name for file in tmp_path.iterdir()] == ["run.nc"]
    assert len(da.load(str(path))) == 101


def test_xarray_has_named_dimensions(run):
    data = run.to_xarray()
    assert dict(data.sizes) == {
        "time": 101, "coordinate": 3, "constraint": 1, "nonholonomic_constraint": 0, "discrete_constraint": 1,
        "interval": 100, "momentum_0": 3,
    }  # fmt: skip
    assert data["q"].dims == ("time", "coordinate")
    assert data["lam"].dims == ("time", "constraint")
    assert data["energy"].dims == ("time",)
    assert data["invariant_momentum"].dims == ("time", "momentum_0")
    np.testing.assert_array_equal(data["t"], run.t)
    assert json.loads(data.attrs["dalembert"])["system"] == "Spherical"


def test_provenance_is_enough_to_repeat_the_run(run):
    made = run.provenance
    assert made["system"] == "Spherical"
    assert made["parameters"] == {"length": 1.5, "gravity": 9.81, "label": "a rod"}
    assert made["method"] == "Rattle()"
    assert made["h"] == 0.02
    assert made["steps"] == 100
    assert made["engine"]
    assert set(made["versions"]) == {"dalembert", "jax", "jaxlib", "numpy", "llvmlite", "python"}
    assert made["wall_seconds"] >= 0
    assert made["compile_seconds"] >= 0
    assert made["newton_iterations"] > 0
    assert made["created"].endswith("+00:00")
    assert made["machine"]
    json.dumps(made)


def test_newton_statistics_count_every_step(run):
    assert int(np.sum(run.iterations)) == run.stats["newton_iterations"]
    assert np.all(run.iterations >= 1)


def test_loaded_run_without_a_stored_quantity_says_so(loaded):
    arrays = {name: values for name, values in loaded._arrays.items() if name != "energy"}
    bare = da.Trajectory(arrays, None, loaded._info, loaded.status)
    with pytest.raises(da.InputError, match="need the system, which a loaded file does not hold"):
        _ = bare.energy


def test_repr_is_one_line(run):
    assert repr(run) == "Trajectory(Spherical, Rattle(), 101 states of 3 coordinates, ok: 100 steps)"


# -- under transformations -----------------------------------------------------------------------------------


def short(length):
    start = {
        "q0": jnp.stack([length, 0.0 * length, 0.0 * length]),
        "v0": jnp.zeros(3),
        "t": (0.0, 0.1),
        "h": 0.02,
    }
    return da.simulate(Spherical(length=length), da.Rattle(), **start)


@pytest.fixture(scope="module")
def batch() -> da.Trajectory:
    return jax.jit(jax.vmap(short))(jnp.array([1.0, 2.0]))


def test_run_out_of_vmap_is_a_batch_and_says_so(batch):
    assert batch.q.shape == (2, 6, 3)
    np.testing.assert_array_equal(batch.status, [0, 0])
    assert repr(batch) == "Trajectory(Spherical, Rattle(), 2 runs of 6 states of 3 coordinates, 2 of them ok)"
    with pytest.raises(da.InputError, match=r"use jax.vmap\(lambda run: run.energy\)\(run\)"):
        _ = batch.energy
    energies = jax.vmap(lambda one: one.energy)(batch)
    assert energies.shape == (2, 6)


def test_one_run_of_a_batch_is_a_run(batch, tmp_path):
    one = jax.tree.map(lambda leaf: leaf[1], batch)
    assert one.status == Status(0, 5, 0.1, "ok: 5 steps")
    assert one.energy.shape == (6,)
    assert float(one.system.length) == 2.0
    again = da.load(one.save(tmp_path / "one.nc"))
    np.testing.assert_array_equal(again.q, one.q)
    assert again.status


def test_traced_run_has_no_numbers(tmp_path):
    def save(length):
        return short(length).save(tmp_path / "never.nc")

    with pytest.raises(da.InputError, match="a traced trajectory has no numbers yet; save or convert it outside jit"):
        jax.jit(save)(1.0)


def test_failure_under_jit_is_told_by_the_status():
    def wild(speed):
        return da.simulate(
            Spherical(), da.Rattle(), q0=[1.5, 0.0, 0.0], v0=jnp.stack([0.0 * speed, speed, 0.0 * speed]),
            t=(0.0, 20.0), h=2.0, on_failure="return",
        )  # fmt: skip

    run = jax.jit(wild)(20.0)
    assert not run.status
    assert "a step failed" in run.status.message
    assert np.all(np.isfinite(run.q))
