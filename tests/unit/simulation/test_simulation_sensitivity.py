"""Derivatives of a run for those who do not use JAX: sensitivities, the monodromy matrix, Lyapunov exponents."""

import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da


class Spring(da.System):
    stiffness: float = 4.0

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 0.5 * self.stiffness * q @ q


class Upright(da.System):
    """A pendulum that stands on its head: its neighbours leave it at the rate sqrt(9.81)."""

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 9.81 * jnp.cos(q[0])


RUN = {"q0": [1.0], "v0": [0.5], "t": (0.0, 1.0), "h": 0.05}


def test_sensitivities_are_those_of_the_closed_solution():
    found = da.sensitivity(Spring(), da.gauss_spark(3), **RUN, wrt=["stiffness", "q0", "v0"], save_every=4)
    t, omega = found.t, 2.0
    assert found.names == ("stiffness", "q0[0]", "v0[0]")
    by_omega = -t * np.sin(omega * t) + 0.5 * (t * np.cos(omega * t) / omega - np.sin(omega * t) / omega**2)
    expected = np.stack([by_omega / (2 * omega), np.cos(omega * t), np.sin(omega * t) / omega], axis=1)
    np.testing.assert_allclose(found.q[:, 0], expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.p, found.v, rtol=0, atol=1e-12)


def test_the_monodromy_matrix_of_an_oscillator_turns_once():
    period = np.pi
    matrix = da.monodromy(Spring(), da.gauss_spark(3), [1.0], [0.0], t=(0.0, period), h=period / 40)
    np.testing.assert_allclose(matrix, np.eye(2), rtol=0, atol=1e-7)
    assert np.linalg.det(matrix) == pytest.approx(1.0, abs=1e-13)


def test_exponents_of_a_saddle_are_its_rates():
    found = da.lyapunov_spectrum(Upright(), da.Rattle(), [0.0], [0.0], t=(0.0, 100.0), h=0.01)
    assert found == pytest.approx([np.sqrt(9.81), -np.sqrt(9.81)], abs=4e-3)  # an angle at the start, by 1 / T
    assert sum(found) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("wrt", ["mass", [], ["q0", "q0"], "p0", 3])
def test_what_cannot_be_differentiated_by_is_refused(wrt):
    with pytest.raises(da.InputError, match="wrt must be one or several, each once, of stiffness, q0, v0"):
        da.sensitivity(Spring(), da.Rattle(), **RUN, wrt=wrt)


def test_a_spectrum_is_divided_into_equal_parts():
    with pytest.raises(da.InputError, match="every = 7 does not divide the 20 steps"):
        da.lyapunov_spectrum(Spring(), da.Rattle(), **RUN, every=7)
