"""Constrained Langevin dynamics: averages against exact ones, the same bits again, runs that go on."""

import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.gallery import BouncingBall, Pendulum, PolarPendulum

SCHEMES = ["baoab", "obabo"]


class Torus(da.System):
    """A particle of mass 1 on a torus, without forces: positions are uniform on the surface."""

    large: float = 2.0
    small: float = 1.0

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v

    def holonomic(self, t, q):
        return 0.5 * ((jnp.sqrt(q[0] ** 2 + q[1] ** 2) - self.large) ** 2 + q[2] ** 2 - self.small**2)


class Sphere(da.System):
    """A heavy particle on the unit sphere: the height has the density exp(-m g z / T) on [-1, 1]."""

    mass: float = 2.0

    def lagrangian(self, t, q, v):
        return 0.5 * self.mass * v @ v - self.mass * q[2]

    def holonomic(self, t, q):
        return 0.5 * (q @ q - 1)


def torus_run(method, t=(0.0, 40.0), q0=(3.0, 0.0, 0.0), v0=(0.0, 1.0, 0.0), **options):
    return da.simulate(Torus(), method, q0, v0, t=t, h=0.1, **options)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_averages_on_a_torus(scheme):
    """The mean of the cosine of the small angle is r / (2 R); the mean square of the speed is 2 T."""
    run = torus_run(da.Langevin(1.5, 1.0, seed=1, scheme=scheme), (0.0, 10_000.0), save_every=10)
    cosine, speed = np.hypot(run.q[:, 0], run.q[:, 1]) - 2.0, np.sum(run.v**2, axis=1)
    # the spread of the mean over 100 pieces of the run, four times
    for values, exact in ((cosine, 0.25), (speed, 3.0)):
        pieces = values[1:].reshape(100, -1).mean(axis=1)
        assert abs(pieces.mean() - exact) < 4 * pieces.std() / 10
    assert 4 * cosine[1:].reshape(100, -1).mean(axis=1).std() / 10 < 0.1
    assert np.max(run.constraint) < 1e-13
    assert np.max(run.hidden) < 1e-13


@pytest.mark.parametrize("scheme", SCHEMES)
def test_averages_under_gravity(scheme):
    """The mean height is 1 / a - coth(a) with a = m g / T."""
    run = da.simulate(
        Sphere(), da.Langevin(1.0, 2.0, seed=2, scheme=scheme), [0.0, 0.0, -1.0], [0.0, 0.0, 0.0],
        t=(0.0, 5_000.0), h=0.1, save_every=5,
    )  # fmt: skip
    pieces = run.q[1:, 2].reshape(100, -1).mean(axis=1)
    assert abs(pieces.mean() - (1 / 2.0 - 1 / np.tanh(2.0))) < 4 * pieces.std() / 10


def test_friction_alone_and_no_friction_to_speak_of():
    cold = torus_run(da.Langevin(0.0, 1.0))
    assert np.all(np.diff(cold.energy) < 0)
    weak, free = torus_run(da.Langevin(1.0, 1e-14), (0.0, 10.0)), torus_run(da.Rattle(), (0.0, 10.0))
    assert np.max(np.abs(weak.energy - weak.energy[0])) < 1e-2
    obabo = torus_run(da.Langevin(1.0, 1e-30, scheme="obabo"), (0.0, 10.0))
    np.testing.assert_allclose(obabo.q, free.q, rtol=0, atol=1e-10)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_same_seed_gives_the_same_bits(scheme):
    first, again, other = (torus_run(da.Langevin(1.0, 1.0, seed=seed, scheme=scheme)) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.q, again.q)
    assert np.max(np.abs(first.q - other.q)) > 0.1


def test_a_run_that_goes_on_draws_other_numbers():
    method = da.Langevin(1.0, 1.0, seed=3)
    whole = torus_run(method, (0.0, 20.0))
    later = torus_run(method, (10.0, 20.0), whole.q[100], whole.v[100])
    np.testing.assert_allclose(later.q, whole.q[100:], rtol=0, atol=1e-8)


def test_a_run_that_was_interrupted_goes_on_bit_for_bit(tmp_path):
    method = da.Langevin(1.0, 1.0, seed=3)
    whole = torus_run(method, (0.0, 300.0))

    def stop(taken):
        if taken >= 2000:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        torus_run(method, (0.0, 300.0), checkpoint=tmp_path / "run.zarr", checkpoint_every=1000, progress=stop)
    assert len(da.load(tmp_path / "run.zarr")) < 3001
    resumed = torus_run(method, (0.0, 300.0), checkpoint=tmp_path / "run.zarr", checkpoint_every=1000)
    np.testing.assert_array_equal(resumed.q, whole.q)


def test_records_say_nothing_of_random_numbers(tmp_path):
    run = torus_run(da.Langevin(1.0, 1.0, seed=3))
    assert run.provenance["parameters"] == {"large": 2.0, "small": 1.0}
    assert type(run.system) is Torus
    assert run.warnings == ()
    again = da.load(run.save(tmp_path / "run.nc"))
    np.testing.assert_array_equal(again.interpolate(1.234).q, run.interpolate(1.234).q)


def test_what_does_not_fit_is_refused():
    method, ball, polar = da.Langevin(1.0, 1.0), BouncingBall(), PolarPendulum()
    with pytest.raises(da.MethodDoesNotFit, match="the mass matrix depends on the position"):
        da.simulate(_Elastic(), method, [0.0, 0.0], [0.0, 0.0], t=(0.0, 1.0), h=0.1)
    with pytest.raises(da.MethodDoesNotFit, match="Langevin does not treat gap"):
        da.simulate(ball, method, *ball.start()[:2], t=(0.0, 1.0), h=0.1)
    with pytest.raises(da.MethodDoesNotFit, match="draws random numbers"):
        da.Stepper(polar, method, 0.1, [0.0], [0.0])
    with pytest.raises(da.MethodDoesNotFit, match="draws random numbers"):
        da.step_function(polar, method)
    for options in ({"q0": [[3.0, 0.0, 0.0]] * 2, "v0": [[0.0, 1.0, 0.0]] * 2}, {"t": (1.0, 0.0)}, {"retry": True}):
        with pytest.raises(da.InputError):
            torus_run(method, **options)
    for wrong in ({"temperature": -1.0}, {"friction": 0.0}, {"seed": -1}, {"scheme": "euler"}):
        with pytest.raises(da.InputError, match=next(iter(wrong))):
            da.Langevin(**({"temperature": 1.0, "friction": 1.0} | wrong))


class _Elastic(da.System):
    def lagrangian(self, t, q, v):
        return 0.5 * v @ v + 0.5 * q[0] ** 2 * v[1] ** 2 + 0.5 * v[1] ** 2


@pytest.mark.long
def test_step_function_is_the_step_of_a_run():
    """And back; what fails is NaN."""
    system = Pendulum(mass=2.0)
    q0, v0, *_ = (np.asarray(part) for part in system.start())
    run = da.simulate(system, da.Rattle(), q0, v0, t=(0.0, 0.5), h=0.05)
    move = da.step_function(system, da.Rattle(), h=0.05, steps=10)
    q, p = move(q0, run.p[0])
    np.testing.assert_allclose(q, run.q[-1], rtol=0, atol=1e-13)
    np.testing.assert_allclose(p, run.p[-1], rtol=0, atol=1e-13)
    back = move(q, -p)
    np.testing.assert_allclose(back[0], q0, rtol=0, atol=1e-12)
    far = da.step_function(system, da.Rattle(), h=3.0, steps=10)(q0, 20.0 * run.p[0])
    assert np.all(np.isnan(far[0]))
    assert np.all(np.isnan(far[1]))
