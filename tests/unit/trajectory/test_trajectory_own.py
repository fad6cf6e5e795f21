"""What a record says does not change with what the user holds, and names and masks are taken for what they are."""

import jax
import numpy as np
import pytest

import dalembert as da
from dalembert.gallery import HarmonicOscillator, Pendulum

RUN = {"t": (0.0, 0.1), "h": 0.01}


class Weighted(da.System):
    masses: np.ndarray
    places: np.ndarray

    def lagrangian(self, t, q, v):
        return 0.5 * (self.masses * v) @ v - self.masses[self.places] @ q


class Named(Pendulum):
    def invariants(self, t, q, p):
        return {"E/m": q[0], "100%": q, "a b": p[1], "a/b/c": p}


def test_parameters_and_starting_values_are_copied_and_records_read_only():
    masses, places, q0 = np.array([1.0, 2.0]), np.array([0, 1]), np.array([1.0, 1.0])
    run = da.simulate(Weighted(masses, places), da.Rattle(), q0, [0.0, 0.0], **RUN)
    other = da.simulate(Weighted(masses, places), da.Rattle(), q0, [0.0, 0.0], **RUN)
    expected = np.array(other.energy)
    masses[:], places[:], q0[:] = 7.0, 0, 9.0
    np.testing.assert_array_equal(run.energy, expected)
    assert run.system.masses.tolist() == [1.0, 2.0]
    np.testing.assert_array_equal(run.q[0], [1.0, 1.0])
    for values in (run.t, run.q, run.v, run.p, run.energy, run.constraint, run.iterations, run.system.masses):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 3.0


def test_records_of_batches_files_and_stores_are_read_only(tmp_path):
    batch = da.simulate(Pendulum(), da.Rattle(), [[1.0, 0.0]] * 2, [[0.0, 0.0]] * 2, **RUN)
    one = da.simulate(Pendulum(), da.Rattle(), [1.0, 0.0], [0.0, 0.0], **RUN, checkpoint=tmp_path / "run.zarr")
    loaded = da.load(one.save(tmp_path / "run.nc"))
    for values in (batch.q, batch.energy, batch.lam, batch.member(0).q, one.q, one.lam, loaded.q, loaded.energy):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 3.0


def test_members_of_a_batch_are_saved_and_loaded(tmp_path):
    batch = da.simulate(Pendulum(), da.Rattle(), [[1.0, 0.0]] * 2, [[0.0, 0.0], [0.0, 1.0]], **RUN)
    one = batch.member(1)
    again = da.load(one.save(tmp_path / "one.nc"))
    for name in ("t", "q", "v", "p", "lam", "energy"):
        np.testing.assert_array_equal(getattr(again, name), getattr(one, name))
    for run in (batch, one, again):
        with pytest.raises(da.InputError, match="does not count each member's Newton iterations"):
            _ = run.iterations


@pytest.mark.parametrize(
    "call",
    [
        lambda run: da.simulate(Pendulum(), da.Rattle(), [1.0, 0.0], [0.0, 0.0], **RUN),
        lambda run: da.consistent(Pendulum(), [1.0, 0.0], [0.0, 0.0]),
        lambda run: da.boundary_value(HarmonicOscillator(), da.Rattle(), [0.0], [1.0], **RUN),
        lambda run: da.symmetries(Pendulum(), [1.0, 0.0]),
        lambda run: da.symplectic_defect(Pendulum(), da.Rattle(), [1.0, 0.0], [0.0, 0.0], h=0.1),
        lambda run: da.Galerkin(3),
        lambda run: run.energy,
        lambda run: run.interpolate(0.05),
    ],
)
def test_single_precision_is_refused_wherever_something_is_computed(call):
    run = da.simulate(Pendulum(), da.Rattle(), [1.0, 0.0], [0.0, 0.0], **RUN)
    method = da.Rattle()
    jax.config.update("jax_enable_x64", False)
    try:
        with pytest.raises(da.InputError, match=r'jax.config.update\("jax_enable_x64", True\)'):
            call(run)
    finally:
        jax.config.update("jax_enable_x64", True)
    assert da.simulate(Pendulum(), method, [1.0, 0.0], [0.0, 0.0], **RUN).status


def test_invariants_of_any_name_are_saved(tmp_path):
    run = da.simulate(Named(), da.Rattle(), [1.0, 0.0], [0.0, 0.0], **RUN)
    loaded = da.load(run.save(tmp_path / "run.nc"))
    assert set(loaded.invariants) == set(run.invariants)
    for name, values in run.invariants.items():
        np.testing.assert_array_equal(loaded.invariants[name], values)


def test_masked_arrays_are_refused():
    masked, whole = np.ma.masked_array([1.0, 0.0], [False, True]), np.ma.masked_array([1.0, 0.0])
    for given in ({"q0": masked, "v0": [0.0, 0.0]}, {"q0": [1.0, 0.0], "v0": masked}, {"q0": whole, "p0": masked}):
        with pytest.raises(da.InputError, match="must have no masked entries"):
            da.simulate(Pendulum(), da.Rattle(), **given, **RUN)
    with pytest.raises(da.InputError, match="parameter masses must have no masked entries"):
        da.simulate(Weighted(masked, np.array([0, 1])), da.Rattle(), [1.0, 0.0], [0.0, 0.0], **RUN)
    places = np.ma.masked_array([0, 1], [False, True])
    with pytest.raises(da.InputError, match="parameter places must have no masked entries"):
        da.simulate(Weighted(np.ones(2), places), da.Rattle(), [1.0, 0.0], [0.0, 0.0], **RUN)
    assert da.simulate(Pendulum(), da.Rattle(), whole, [0.0, 0.0], **RUN).status


def test_what_a_batch_out_of_vmap_lacks_is_named():
    def simulated(angle):
        return da.simulate(
            Pendulum(), da.Rattle(), jax.numpy.array([jax.numpy.cos(angle), jax.numpy.sin(angle)]), [0.0, 0.0], **RUN
        )

    batch = jax.vmap(simulated)(np.array([0.1, 0.2]))
    for name in ("lam", "energy", "constraint"):
        with pytest.raises(da.InputError, match=rf"jax.vmap\(lambda run: run.{name}\)\(run\)"):
            getattr(batch, name)


def test_multipliers_of_a_batch_are_those_of_its_members():
    batch = da.simulate(Pendulum(length=np.array([1.0, 2.0])), da.Rattle(), [[1.0, 0.0], [2.0, 0.0]], [0.0, 0.0], **RUN)
    assert batch.lam.shape == (2, 11, 1)
    np.testing.assert_array_equal(batch.lam[1], batch.member(1).lam)


def test_a_required_field_behind_a_contact_number_is_refused_with_the_cure():
    with pytest.raises(da.ModelError, match="Put mass before restitution, or give it a default"):

        class Ball(da.System):
            restitution: object
            mass: float

    class Fine(da.System):
        mass: float
        restitution: object

    assert Fine(2.0).restitution == 0.0
