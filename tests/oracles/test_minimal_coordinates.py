"""Constrained runs against the same motions in minimal coordinates, by hand and integrated by scipy."""

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

import dalembert as da
from dalembert.diagnostics import end_errors, observed_order, reference_solution
from dalembert.gallery import DoublePendulum, DrivenPendulum, FourBar, SliderCrank, SphericalPendulum

METHODS = pytest.mark.parametrize("method", [da.Rattle(), da.Shake()], ids=["rattle", "shake"])


def integrate(right_side, y0, t_end: float):
    found = solve_ivp(right_side, (0.0, t_end), y0, method="DOP853", rtol=1e-13, atol=1e-13)
    assert found.success
    return found.y[:, -1]


def slope(system, method, start, t_end, steps, reference, quantity):
    hs = t_end / np.array(steps, dtype=float)
    found = end_errors(system, method, start.q0, start.v0, (0.0, t_end), hs, reference, quantities=(quantity,))
    return observed_order(hs, found.errors[quantity])


@METHODS
def test_driven_and_damped_pendulum(method):
    """m l theta'' = -m g sin(theta) - c l theta' + A cos(w t) cos(theta)."""
    system = DrivenPendulum(length=0.8, mass=1.5, damping=0.6, amplitude=4.0, frequency=2.5)
    start = system.start()

    def right_side(t, y):
        angle, rate = y
        push = 4.0 * np.cos(2.5 * t) * np.cos(angle) / 1.5
        return [rate, (-9.81 * np.sin(angle) + push) / 0.8 - 0.6 / 1.5 * rate]

    angle, rate = integrate(right_side, [1.0, 1.0 / 0.8], 3.0)
    q = 0.8 * np.array([np.sin(angle), -np.cos(angle)])
    p = 1.5 * 0.8 * rate * np.array([np.cos(angle), np.sin(angle)])
    for quantity, reference in (("q", q), ("p", p)):
        found = slope(system, method, start, 3.0, (150, 300, 600, 1200), reference, quantity)
        assert found.slope == pytest.approx(2.0, abs=0.1), quantity


@METHODS
def test_spherical_pendulum(method):
    """theta'' = sin(theta) cos(theta) phi'^2 - g/l sin(theta), with sin^2(theta) phi' constant."""
    system = SphericalPendulum()
    start = system.start()
    angular = np.sin(1.0) * 1.5

    def right_side(t, y):
        theta, _, rate = y
        turn = angular / np.sin(theta) ** 2
        return [rate, turn, np.sin(theta) * np.cos(theta) * turn**2 - 9.81 * np.sin(theta)]

    theta, phi, _ = integrate(right_side, [1.0, 0.0, 0.5], 2.0)
    q = np.array([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), -np.cos(theta)])
    found = slope(system, method, start, 2.0, (100, 200, 400, 800), q, "q")
    assert found.slope == pytest.approx(2.0, abs=0.1)


def test_double_pendulum_in_a_plane():
    """Started in a vertical plane, it stays there and moves as the angles of the textbook do."""
    l1, l2, m1, m2, g = 1.0, 0.7, 1.0, 0.5, 9.81

    def right_side(t, y):
        a, b, u, w = y
        M = np.array([[(m1 + m2) * l1**2, m2 * l1 * l2 * np.cos(a - b)], [m2 * l1 * l2 * np.cos(a - b), m2 * l2**2]])
        swirl = m2 * l1 * l2 * np.sin(a - b)
        f = [-swirl * w**2 - (m1 + m2) * g * l1 * np.sin(a), swirl * u**2 - m2 * g * l2 * np.sin(b)]
        return [u, w, *np.linalg.solve(M, f)]

    a, b, u, w = 1.2, -0.4, 0.5, 2.0
    across = np.array([0.6, 0.8])

    def spatial(a, b):
        first = l1 * np.array([*(np.sin(a) * across), -np.cos(a)])
        return np.concatenate([first, first + l2 * np.array([*(np.sin(b) * across), -np.cos(b)])])

    v1 = l1 * u * np.array([*(np.cos(a) * across), np.sin(a)])
    v0 = np.concatenate([v1, v1 + l2 * w * np.array([*(np.cos(b) * across), np.sin(b)])])
    system = DoublePendulum(l1, l2, m1, m2, g)
    end_a, end_b, *_ = integrate(right_side, [a, b, u, w], 1.5)
    hs = 1.5 / np.array([150.0, 300.0, 600.0, 1200.0])
    found = end_errors(system, da.Rattle(), spatial(a, b), v0, (0.0, 1.5), hs, spatial(end_a, end_b))
    assert observed_order(hs, found.errors["q"]).slope == pytest.approx(2.0, abs=0.1)
    run = da.simulate(system, da.Rattle(), spatial(a, b), v0, t=(0.0, 1.5), h=0.01)
    out_of_plane = run.q.reshape(-1, 2, 3)[:, :, :2] @ np.array([-0.8, 0.6])
    assert np.max(np.abs(out_of_plane)) <= 1e-13


def time_by_quadrature(inertia, potential, angle0: float, rate0: float, angle1: float) -> float:
    """One degree of freedom turning one way: t = integral of d(angle) / rate, rate^2 = 2 (E - V) / I."""
    energy = 0.5 * inertia(angle0) * rate0**2 + potential(angle0)
    value, error = quad(
        lambda angle: np.sqrt(inertia(angle) / (2 * (energy - potential(angle)))),
        angle0, angle1, epsabs=1e-13, epsrel=1e-13, limit=200,
    )  # fmt: skip
    assert error < 1e-11
    return value


def four_bar_joint(angle):
    """C from the angle of the diagonal BD and the law of cosines, and dC/d(angle) by a complex step."""
    B = np.array([np.cos(angle), np.sin(angle)])
    diagonal = np.array([3.5, 0.0]) - B
    length = np.sqrt(diagonal @ diagonal)
    cosine = (3.0**2 + length**2 - 2.5**2) / (2 * 3.0 * length)
    sine = np.sqrt(1 - cosine**2)
    along, across = diagonal / length, np.array([-diagonal[1], diagonal[0]]) / length
    return B, B + 3.0 * (cosine * along + sine * across)


def test_four_bar_turns_its_crank_in_the_time_of_the_quadrature():
    def inertia(angle):
        B, C = four_bar_joint(angle + 1e-30j)
        dB, dC = B.imag / 1e-30, C.imag / 1e-30
        rods = 1.0 * dB @ dB + 3.0 * (dB @ dB + dB @ dC + dC @ dC) + 2.5 * dC @ dC
        return rods / 3

    def potential(angle):
        B, C = four_bar_joint(angle)
        return 9.81 / 2 * (1.0 * B[1] + 3.0 * (B[1] + C[1]) + 2.5 * C[1])

    start = FourBar().start()
    end = reference_solution(FourBar(), start.q0, start.v0, (0.0, 1.0)).q
    turned = np.arctan2(end[1], end[0])
    turned += 2 * np.pi * np.ceil((np.pi / 3 - turned) / (2 * np.pi))
    assert time_by_quadrature(inertia, potential, np.pi / 3, 4.0, turned) == pytest.approx(1.0, abs=1e-9)


def test_slider_crank_turns_in_the_time_of_the_quadrature():
    def joints(angle):
        B = np.array([np.cos(angle), np.sin(angle)])
        return B, np.array([B[0] + np.sqrt(2.5**2 - B[1] ** 2), 0.0 * B[1]])

    def inertia(angle):
        B, S = joints(angle + 1e-30j)
        dB, dS = B.imag / 1e-30, S.imag / 1e-30
        return (1.0 * dB @ dB + 2.0 * (dB @ dB + dB @ dS + dS @ dS)) / 3 + 1.0 * dS @ dS

    def potential(angle):
        B, _ = joints(angle)
        return 9.81 / 2 * (1.0 * B[1] + 2.0 * B[1])

    start = SliderCrank().start()
    end = reference_solution(SliderCrank(), start.q0, start.v0, (0.0, 1.0)).q
    assert float(end[0]) > np.pi
    assert time_by_quadrature(inertia, potential, np.pi / 4, 5.0, float(end[0])) == pytest.approx(1.0, abs=1e-9)


@METHODS
def test_slider_crank_converges_with_a_mass_matrix_that_depends_on_position(method):
    system = SliderCrank()
    start = system.start()
    reference = reference_solution(system, start.q0, start.v0, (0.0, 1.0))
    for quantity in ("q", "p", "lam"):
        found = slope(system, method, start, 1.0, (100, 200, 400, 800), reference, quantity)
        assert found.slope == pytest.approx(2.0, abs=0.1), quantity
