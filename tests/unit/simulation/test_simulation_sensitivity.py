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


def test_the_gradient_of_a_run_is_that_of_the_closed_solution():
    run = da.simulate(Spring(), da.gauss_spark(3), **RUN, save_every=4)
    found = run.gradient(of=lambda run: run.q[-1, 0] ** 2, wrt=["stiffness", "q0", "v0"])
    q = np.cos(2.0) + 0.25 * np.sin(2.0)
    by_omega = -np.sin(2.0) + 0.5 * (np.cos(2.0) / 2 - np.sin(2.0) / 4)
    assert float(found["stiffness"]) == pytest.approx(2 * q * by_omega / 4, abs=1e-9)
    assert found["q0"] == pytest.approx([2 * q * np.cos(2.0)], abs=1e-9)
    assert found["v0"] == pytest.approx([2 * q * np.sin(2.0) / 2], abs=1e-9)
    by_momentum = run.gradient(of=lambda run: run.q[-1, 0] ** 2, wrt="p0")
    np.testing.assert_allclose(by_momentum["p0"], found["v0"], rtol=1e-12)  # the mass is one


def test_the_gradient_of_an_energy_at_the_end_is_that_of_the_energy_at_the_start():
    """E = (v^2 + k q^2) / 2 is kept by Gauss' methods."""
    run = da.simulate(Spring(), da.gauss_spark(3), **RUN)
    found = run.gradient(of=lambda run: run.energy[-1], wrt=["stiffness", "q0", "v0"])
    assert float(found["stiffness"]) == pytest.approx(0.5, abs=1e-12)
    assert (float(found["q0"][0]), float(found["v0"][0])) == pytest.approx((4.0, 0.5), abs=1e-12)


def test_what_has_no_gradient_is_refused(tmp_path):
    run = da.simulate(Spring(), da.Rattle(), **RUN)
    with pytest.raises(da.InputError, match=r"one number, not an array of shape \(21, 1\)"):
        run.gradient(of=lambda run: run.q, wrt="stiffness")
    with pytest.raises(da.InputError, match='"v0" and "p0"'):
        run.gradient(of=lambda run: run.q[-1, 0], wrt=["v0", "p0"])
    with pytest.raises(da.InputError, match="of must be a function of a run"):
        run.gradient(of="q", wrt="v0")
    run.save(tmp_path / "run.nc")
    with pytest.raises(da.InputError, match="loaded from a file"):
        da.load(tmp_path / "run.nc").gradient(of=lambda run: run.q[-1, 0], wrt="v0")


def test_the_map_along_a_run_is_symplectic_and_that_of_the_closed_solution(tmp_path):
    run = da.simulate(Spring(), da.gauss_spark(3), **RUN, save_every=4, tangent=True)
    c, s = np.cos(2 * run.t), np.sin(2 * run.t)
    np.testing.assert_allclose(run.tangent, np.array([[c, s / 2], [-2 * s, c]]).transpose(2, 0, 1), atol=1e-9)
    np.testing.assert_allclose(np.linalg.det(run.tangent), 1.0, atol=1e-14)
    np.testing.assert_array_equal(run.tangent[-1], da.monodromy(Spring(), da.gauss_spark(3), **RUN))
    run.save(tmp_path / "run.nc")
    np.testing.assert_array_equal(da.load(tmp_path / "run.nc").tangent, run.tangent)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"h": da.Adaptive(1e-6, 1e-6, 0.05, 0.1)}, "step sizes that differ"),
        ({"q0": np.ones((2, 1)), "v0": np.ones((2, 1))}, "follows one run"),
        ({"precision": "extended"}, "extended"),
    ],
)
def test_a_map_along_other_runs_is_refused(changed, said):
    with pytest.raises(da.InputError, match=said):
        da.simulate(Spring(), da.Rattle(), **RUN | changed, tangent=True)
    with pytest.raises(da.InputError, match="tangent=True"):
        _ = da.simulate(Spring(), da.Rattle(), **RUN).tangent


@pytest.mark.parametrize("wrt", ["mass", [], ["q0", "q0"], "p0", 3])
def test_what_cannot_be_differentiated_by_is_refused(wrt):
    with pytest.raises(da.InputError, match="wrt must be one or several, each once, of stiffness, q0, v0"):
        da.sensitivity(Spring(), da.Rattle(), **RUN, wrt=wrt)


def test_a_spectrum_is_divided_into_equal_parts():
    with pytest.raises(da.InputError, match="every = 7 does not divide the 20 steps"):
        da.lyapunov_spectrum(Spring(), da.Rattle(), **RUN, every=7)
