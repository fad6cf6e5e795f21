"""Dependent constraints, when allowed, leave the motion as it is and share the force with the least
multipliers."""

import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.gallery import DoublePendulum, Pendulum

METHODS = pytest.mark.parametrize("method", [da.Rattle(), da.Shake()], ids=["rattle", "shake"])


class Repeated(Pendulum):
    """The rod twice, the second time with the factor `scale`; lam_1 + scale lam_2 is the force of the one
    rod."""

    scale: float = 1.0

    def holonomic(self, t, q):
        g = super().holonomic(t, q)
        return jnp.array([g, self.scale * g])


class Braced(DoublePendulum):
    """The double pendulum, with the sum of its two constraints as a third one."""

    def holonomic(self, t, q):
        g = super().holonomic(t, q)
        return jnp.concatenate([g, g[:1] + g[1:]])


@pytest.fixture(scope="module")
def single():
    start = Pendulum().start()
    return {
        type(m): da.simulate(Pendulum(), m, start.q0, start.v0, t=(0.0, 5.0), h=0.01) for m in (da.Rattle(), da.Shake())
    }


@METHODS
@pytest.mark.parametrize("scale", [1.0, -3.0])
def test_repeated_rod(single, method, scale):
    plain, start = single[type(method)], Pendulum().start()
    run = da.simulate(Repeated(scale=scale), method, start.q0, start.v0, t=(0.0, 5.0), h=0.01, redundant="allow")
    assert np.max(np.abs(run.q - plain.q)) <= 1e-12
    assert np.max(np.abs(run.p - plain.p)) <= 1e-11
    assert run.lam.shape == (len(run), 2)
    least = plain.lam * np.array([1.0, scale]) / (1 + scale**2)
    assert np.max(np.abs(run.lam - least)) <= 1e-9 * np.max(np.abs(least))


def test_sum_of_two_rows():
    start = DoublePendulum().start()
    plain = da.simulate(DoublePendulum(), da.Rattle(), start.q0, start.v0, t=(0.0, 1.0), h=0.01)
    run = da.simulate(Braced(), da.Rattle(), start.q0, start.v0, t=(0.0, 1.0), h=0.01, redundant="allow")
    assert np.max(np.abs(run.q - plain.q)) <= 1e-12
    assert run.constraint.shape == (len(run),)
    share = np.linalg.pinv(np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]))
    assert np.max(np.abs(run.lam - plain.lam @ share.T)) <= 1e-9 * np.max(np.abs(plain.lam))


def test_dependent_rows_are_refused_by_name():
    start = DoublePendulum().start()
    with pytest.raises(da.RedundantConstraints, match=r"holonomic\[\d\] depends on holonomic\[\d\], holonomic"):
        da.simulate(Braced(), da.Rattle(), start.q0, start.v0, t=(0.0, 1.0), h=0.01)


def test_batch_of_repeated_rods(single):
    scales, start = np.array([1.0, -3.0, 0.5]), Pendulum().start()
    batch = da.simulate(
        Repeated(scale=scales), da.Rattle(), start.q0, start.v0, t=(0.0, 5.0), h=0.01, save_every=5, redundant="allow"
    )
    plain = single[da.Rattle]
    assert np.max(np.abs(batch.q - plain.q[::5])) <= 1e-12
    for k, scale in enumerate(scales):
        least = plain.lam[::5] * np.array([1.0, scale]) / (1 + scale**2)
        assert np.max(np.abs(batch.member(k).lam - least)) <= 1e-9 * np.max(np.abs(least))
