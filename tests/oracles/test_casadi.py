"""Plans against CasADi and Ipopt: the same optimum, from Hermite-Simpson equations of the explicit ODE."""

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da

ca: Any = pytest.importorskip("casadi")
pytest.importorskip("ipyopt")

pytestmark = pytest.mark.oracle


def hermite_simpson(rate, cost, start, end, T, guess, inputs, steps):
    """The least cost of x' = rate(x, u) with u at nodes and midpoints; `guess` are states (steps + 1, ...)."""
    problem = ca.Opti()
    x, u = problem.variable(len(start), steps + 1), problem.variable(inputs, steps + 1)
    middle, h, total = problem.variable(inputs, steps), T / steps, 0
    for k in range(steps):
        begin, after = rate(x[:, k], u[:, k]), rate(x[:, k + 1], u[:, k + 1])
        inside = (x[:, k] + x[:, k + 1]) / 2 + h / 8 * (begin - after)
        problem.subject_to(x[:, k + 1] == x[:, k] + h / 6 * (begin + 4 * rate(inside, middle[:, k]) + after))
        total += h / 6 * (cost(u[:, k]) + 4 * cost(middle[:, k]) + cost(u[:, k + 1]))
    problem.minimize(total)
    problem.subject_to(x[:, 0] == ca.DM(start))
    problem.subject_to(x[:, steps] == ca.DM(end))
    problem.set_initial(x, np.asarray(guess).T)
    problem.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes", "tol": 1e-11})
    return problem.solve().value(total)


def extrapolated(coarse, fine):
    """The limit of order 4."""
    return fine + (fine - coarse) / 15


class CartPole(da.System):
    """A cart of 1 kg and a bob of 0.3 kg on a rod of 0.5 m, in redundant coordinates."""

    inputs: ClassVar = {"push": da.Input(lower=-20.0, upper=20.0)}

    def lagrangian(self, t, q, v):
        return 0.5 * v[0] ** 2 + 0.15 * (v[1] ** 2 + v[2] ** 2) - 9.81 * 0.3 * q[2]

    def holonomic(self, t, q):
        return 0.5 * ((q[1] - q[0]) ** 2 + q[2] ** 2 - 0.25)

    def force(self, t, q, v, u):
        return jnp.array([u[0], 0.0, 0.0])


def test_swing_up():
    def rate(x, u):
        s, c = ca.sin(x[1]), ca.cos(x[1])
        mass = ca.vertcat(ca.horzcat(1.3, 0.15 * c), ca.horzcat(0.15 * c, 0.075))
        return ca.vertcat(x[2:], ca.solve(mass, ca.vertcat(u + 0.15 * s * x[3] ** 2, -0.15 * 9.81 * s)))

    def path(steps):
        s = np.linspace(0.0, 1.0, steps + 1)
        return s, np.pi * s**2 - 0.5 * np.sin(np.pi * s)

    found = []
    for steps in (100, 200):
        s, angle = path(steps)
        guess = np.stack([s, angle, 0 * s, 0 * s], axis=1)
        found.append(hermite_simpson(rate, lambda u: u**2, np.zeros(4), [1.0, np.pi, 0.0, 0.0], 2.0, guess, 1, steps))
    s, angle = path(50)
    near = np.stack([s, s + 0.5 * np.sin(angle), -0.5 * np.cos(angle)], axis=1)
    ends = ([0.0, 0.0, -0.5], np.zeros(3)), ([1.0, 1.0, 0.5], np.zeros(3))
    for method, steps in ((da.Rattle(), 50), (da.Galerkin(2), 100), (da.Galerkin(3), 100)):
        near = da.optimal_control(
            CartPole(), method, *ends, horizon=2.0, steps=steps, cost=lambda t, q, v, u: u @ u, guess=near
        )
    assert near.cost == pytest.approx(extrapolated(*found), rel=1e-8)
    assert np.max(near.constraint) < 1e-14


def test_orbit_transfer():
    """Between two circular orbits in the plane, with the least integral of |u|^2."""

    class Satellite(da.System):
        inputs: ClassVar = {"thrust": da.Input(size=2)}

        def lagrangian(self, t, q, v):
            return 0.5 * v @ v + 1.0 / jnp.sqrt(q @ q)

        def force(self, t, q, v, u):
            return u

    def rate(x, u):
        return ca.vertcat(x[2:], u - x[:2] / ca.norm_2(x[:2]) ** 3)

    T, turn, radius = 5.0, 3.5, 1.5
    goal = radius * np.array([np.cos(turn), np.sin(turn)])
    speed = np.array([-np.sin(turn), np.cos(turn)]) / np.sqrt(radius)

    def path(steps):
        s = np.linspace(0.0, 1.0, steps + 1)[:, None]
        return (1 + (radius - 1) * s) * np.concatenate([np.cos(turn * s), np.sin(turn * s)], axis=1)

    found = [
        hermite_simpson(
            rate, lambda u: ca.dot(u, u), [1.0, 0.0, 0.0, 1.0], [*goal, *speed], T,
            np.concatenate([path(steps), np.gradient(path(steps), T / steps, axis=0)], axis=1), 2, steps,
        )
        for steps in (100, 200)
    ]  # fmt: skip
    plan = da.optimal_control(
        Satellite(), da.Galerkin(3), ([1.0, 0.0], [0.0, 1.0]), (goal, speed), horizon=T, steps=60,
        cost=lambda t, q, v, u: u @ u, guess=path(60),
    )  # fmt: skip
    assert plan.cost == pytest.approx(extrapolated(*found), rel=1e-8)


def test_oscillator():
    class Oscillator(da.System):
        inputs: ClassVar = ("push",)

        def lagrangian(self, t, q, v):
            return 0.5 * v @ v - 0.5 * q @ q - 0.25 * q[0] ** 4

        def force(self, t, q, v, u):
            return u

    def rate(x, u):
        return ca.vertcat(x[1], u - x[0] - x[0] ** 3)

    found = [
        hermite_simpson(
            rate, lambda u: u**2, [0.0, 0.0], [1.5, 0.0], 2.0,
            np.stack([np.linspace(0.0, 1.5, n + 1), np.zeros(n + 1)], 1), 1, n,
        )
        for n in (50, 100)
    ]  # fmt: skip
    plan = da.optimal_control(
        Oscillator(), da.Galerkin(3), ([0.0], [0.0]), ([1.5], [0.0]), horizon=2.0, steps=40,
        cost=lambda t, q, v, u: u @ u,
    )  # fmt: skip
    assert plan.cost == pytest.approx(extrapolated(*found), rel=1e-8)
