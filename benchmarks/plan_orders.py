"""The orders with which plans of `da.optimal_control` converge, on three problems whose optimum is known.

Oscillator: from rest to rest over the distance 1, at the least integral of u^2 / 2 (linear and quadratic). With the
state x and the costate lambda, u = -lambda_v, and (x, lambda)' = W (x, lambda) with a constant matrix W.

Orbit: from a circle of radius 1 about an attracting centre to one of radius 1.5, at the least integral of |u|^2. The
optimum satisfies q'' = -q / |q|^3 + u, u = -lambda_v / 2 and lambda' = -H_x, solved by shooting with an error of 1e-12.

Brachistochrone: a bead under gravity g = 1 is bent out of its way by a force u J v, which does no work, so that it
reaches a given place soonest. The optimum is a cycloid, q = (t - sin t, 1 - cos t), with u = 1. The equations are
linear in u (a singular arc): u does not enter the cost but through the motion. The costate of q is constant, -v / |v|^2
at the end b, and as complex numbers lambda_v = i lambda_q (1 - exp(-i (t - b))).
"""

from __future__ import annotations

import functools
import pathlib
from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.optimize import root

import dalembert as da
from dalembert.method import Method

from .tables import Table

#: The methods, by name, with the numbers of steps that show their order before roundoff.
METHODS: dict[str, tuple[Method, tuple[int, ...]]] = {
    "Rattle()": (da.Rattle(), (20, 40, 80)),
    "Galerkin(2)": (da.Galerkin(2), (10, 20, 40)),
    'lobatto_spark(3, "AB")': (da.lobatto_spark(3, "AB"), (10, 20, 40)),
    "Galerkin(3)": (da.Galerkin(3), (8, 12, 16)),
}
QUANTITIES = ("q", "costate", "u", "cost")


class Known(NamedTuple):
    """A problem with a known optimum.

    Attributes:
        plan: of a method and a number of steps.
        optimum: at times, the positions, costates of (q, v) and inputs, a row each.
        cost: of the optimum.
    """

    plan: Callable[[Method, int], da.Plan]
    optimum: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]
    cost: float


class Oscillator(da.System):
    """x'' = u - x."""

    inputs = ("push",)

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 0.5 * q @ q

    def force(self, t, q, v, u):
        return u


def oscillator() -> Known:
    """From rest to rest in the time 2."""
    T, A, B = 2.0, np.array([[0.0, 1.0], [-1.0, 0.0]]), np.array([[0.0], [1.0]])
    W = np.block([[A, -B @ B.T], [np.zeros((2, 2)), -A.T]])
    costate = np.linalg.solve(expm(T * W)[:2, 2:], [1.0, 0.0])
    start = np.concatenate([np.zeros(2), costate])

    def optimum(t):
        x = np.array([expm(time * W) @ start for time in t])
        return x[:, :1], x[:, 2:], -x[:, 3:]

    def plan(method, steps):
        return da.optimal_control(
            Oscillator(), method, ([0.0], [0.0]), ([1.0], [0.0]), horizon=T, steps=steps,
            cost=lambda t, q, v, u: 0.5 * u @ u,
        )  # fmt: skip

    # (lambda . x)' = -u^2
    return Known(plan, optimum, float(-0.5 * (expm(T * W) @ start)[2]))


class Satellite(da.System):
    """A point that is attracted by the origin, with thrust in the plane."""

    inputs = {"thrust": da.Input(size=2)}  # noqa: RUF012

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v + 1.0 / jnp.sqrt(q @ q)

    def force(self, t, q, v, u):
        return u


@functools.cache
def orbit() -> Known:
    """From circle to circle in the time 5, by 3.5 radians."""
    T, turn, radius = 5.0, 3.5, 1.5
    goal = radius * np.array([np.cos(turn), np.sin(turn)])
    speed = np.array([-np.sin(turn), np.cos(turn)]) / np.sqrt(radius)
    begin, end = np.array([1.0, 0.0, 0.0, 1.0]), np.concatenate([goal, speed])

    def rate(t, y):
        q, v, of_q, of_v, r = y[:2], y[2:4], y[4:6], y[6:8], np.linalg.norm(y[:2])
        u = -of_v / 2
        return np.concatenate([
            v, u - q / r**3, of_v / r**3 - 3 * q * (q @ of_v) / r**5, -of_q, [u @ u],
        ])  # fmt: skip

    def motion(costate):
        y = np.concatenate([begin, costate, [0.0]])
        return solve_ivp(rate, (0.0, T), y, "DOP853", rtol=1e-13, atol=1e-14, dense_output=True)

    s = np.linspace(0.0, 1.0, 41)[:, None]
    guess = (1 + (radius - 1) * s) * np.concatenate([np.cos(turn * s), np.sin(turn * s)], axis=1)

    def plan(method, steps):
        path = np.stack([np.interp(np.linspace(0, 1, steps + 1), s[:, 0], column) for column in guess.T], axis=1)
        return da.optimal_control(
            Satellite(), method, np.split(begin, 2), (goal, speed), horizon=T, steps=steps,
            cost=lambda t, q, v, u: u @ u, guess=path,
        )  # fmt: skip

    near = np.array([-0.3, -0.1, -0.2, -0.3])  # roughly those of a plan; the equations decide
    found = root(lambda costate: motion(costate).y[:4, -1] - end, near, tol=1e-13)
    assert np.max(np.abs(found.fun)) < 1e-11, found.message
    exact = motion(found.x)

    def optimum(t):
        y = exact.sol(t).T
        return y[:, :2], y[:, 4:8], -y[:, 6:8] / 2

    return Known(plan, optimum, float(exact.y[8, -1]))


class Bead(da.System):
    """A bead under gravity (y points down), bent out of its way by a force across it."""

    inputs = ("bend",)

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v + q[1]

    def force(self, t, q, v, u):
        return u[0] * jnp.array([v[1], -v[0]])


def brachistochrone() -> Known:
    """Along a cycloid from t = 0.5, where the bead moves already, to t = 2.5."""
    a, b = 0.5, 2.5

    def cycloid(t):
        return np.stack([t - np.sin(t), 1 - np.cos(t)], axis=-1), np.stack([1 - np.cos(t), np.sin(t)], axis=-1)

    (q0, v0), (goal, v1) = cycloid(a), cycloid(b)

    def optimum(t):
        of_q = -v1 / (v1 @ v1)
        of_v = 1j * (of_q[0] + 1j * of_q[1]) * (1 - np.exp(-1j * (t + a - b)))
        whole = np.stack([np.full_like(t, of_q[0]), np.full_like(t, of_q[1]), of_v.real, of_v.imag], axis=1)
        return cycloid(t + a)[0], whole, np.ones((len(t), 1))

    def plan(method, steps):
        near = da.simulate(Bead(), method, q0, v0, t=(0.0, b - a), h=(b - a) / steps, control=np.full((steps, 1), 1.0))
        return da.optimal_control(
            Bead(), method, (q0, v0), (goal, None), horizon=(0.5, 10.0), steps=steps, final=lambda t, q, v: t,
            guess=near, points=(0.5,),
        )  # fmt: skip

    return Known(plan, optimum, b - a)


KNOWN: dict[str, Callable[[], Known]] = {
    "oscillator": oscillator, "orbit": orbit, "brachistochrone": brachistochrone,
}  # fmt: skip


def plan_errors(known: Known, method: Method, steps: tuple[int, ...]) -> np.ndarray:
    """The largest errors of positions, costates and inputs, and the error of the cost: (steps, quantities)."""
    found = []
    for count in steps:
        plan = known.plan(method, count)
        # a constant input is that of the middle of its step
        points = np.array(plan.control.points if len(plan.control.points) > 1 else (0.5,))
        q, costate, _ = known.optimum(plan.t)
        u = known.optimum((plan.t[:-1, None] + plan.h * points).ravel())[2]
        found.append([
            np.max(np.abs(plan.q - q)), np.max(np.abs(plan.costate - costate)),
            np.max(np.abs(plan.control.values.reshape(u.shape) - u)), abs(plan.cost - known.cost),
        ])  # fmt: skip
    return np.array(found)


def slopes(errors: np.ndarray, steps: tuple[int, ...]) -> np.ndarray:
    """The fitted orders of all quantities."""
    return -np.polyfit(np.log(steps), np.log(errors), 1)[0]


def plan_orders_table(share: float, picture: pathlib.Path | None) -> Table:
    """Fitted orders, a row for each problem and method, and a picture of the errors."""
    table = Table("Orders of plans", ("problem, method", "order", *QUANTITIES, "steps", "error of q"))
    names = list(KNOWN) if share >= 0.01 else ["oscillator"]
    found = {}
    for name in names:
        known = KNOWN[name]()
        for label, (method, steps) in METHODS.items():
            errors = plan_errors(known, method, steps)
            found[name, label] = steps, errors
            fitted = [f"{slope:.1f}".replace("-0.0", "0.0") for slope in slopes(errors, steps)]
            row = (f"{name}, `{label}`", str(method.order), *fitted, str(steps[-1]), f"{errors[-1, 0]:.0e}")
            table.rows.append(row)
    if picture is not None:
        draw(found, picture)
    return table


def draw(found: dict[tuple[str, str], tuple[tuple[int, ...], np.ndarray]], picture: pathlib.Path) -> None:
    """Errors of positions (full) and costates (dashed) against the number of steps, a frame for each problem."""
    from dalembert.plots.style import PALETTE, new_figure, save_figure, style

    names = list(dict.fromkeys(name for name, _ in found))
    with style():
        figure = new_figure(12.0, 4.4, picture)
        frames = np.atleast_1d(figure.subplots(1, len(names)))
        for axes, name in zip(frames, names, strict=True):
            for color, label in zip(PALETTE, METHODS, strict=False):
                steps, errors = found[name, label]
                axes.loglog(steps, errors[:, 0], "o-", color=color, label=label)
                axes.loglog(steps, errors[:, 1], "s--", color=color, markerfacecolor="none")
            axes.set_title(name)
            axes.set_xlabel("steps")
            axes.set_xticks([10, 20, 40, 80], ["10", "20", "40", "80"])
            axes.xaxis.set_minor_formatter("")
        frames[0].set_ylabel("largest error")
        frames[-1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        save_figure(figure, picture)
