"""The problems, in plain numpy: what every program solves, and how its answer is judged.

Masses and lengths are one and gravity is 9.81 unless it is said otherwise. `acceleration` is the equation of motion
after the constraints were differentiated twice and the multipliers eliminated by hand; the reference solution and the
programs for ordinary differential equations start from it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

GRAVITY = 9.81
MASSES = np.array([1.0, 3.0, 2.3, 1.7])  # of the four particles
SPRINGS, RODS = ((0, 2, 100.0), (1, 3, 1000.0)), ((0, 1), (2, 3))
PAIRS = 3  # of the McLachlan-Perlmutter particles


@dataclass(frozen=True)
class Problem:
    """One motion from (q0, v0) at t = 0 to `end`."""

    name: str
    title: str
    kind: str
    q0: np.ndarray
    v0: np.ndarray
    end: float
    acceleration: Callable = field(repr=False)
    violation: Callable = field(repr=False)  # (q, v) -> max |g|, or |k|
    energy: Callable = field(repr=False)

    @property
    def links(self) -> int:
        return len(self.q0) // 3


def _pendulum_acceleration(q, v):
    lam = (v @ v - GRAVITY * q[1]) / (q @ q)
    return -lam * q - np.array([0.0, GRAVITY])


def _links(q):
    r = q.reshape(-1, 3)
    return np.diff(r, axis=0, prepend=np.zeros((1, 3)))


def _chain_acceleration(q, v):
    from scipy.linalg import solve_banded

    d, rate = _links(q), _links(v)
    right = np.sum(rate**2, axis=1)
    right[0] -= GRAVITY * d[0, 2]
    squares = np.sum(d**2, axis=1)
    bands = np.zeros((3, len(d)))
    bands[1] = np.append(squares[0], 2 * squares[1:])
    bands[0, 1:] = bands[2, :-1] = -np.sum(d[1:] * d[:-1], axis=1)
    pull = solve_banded((1, 1), bands, right)[:, None] * d
    a = -pull
    a[:-1] += pull[1:]
    a[:, 2] -= GRAVITY
    return a.ravel()


def _four_acceleration(q, v):
    r, w, a = q.reshape(4, 3), v.reshape(4, 3), np.zeros((4, 3))
    for i, j, stiffness in SPRINGS:
        d = r[i] - r[j]
        pull = stiffness * (d @ d - 1.0) * d
        a[i] -= pull / MASSES[i]
        a[j] += pull / MASSES[j]
    for i, j in RODS:
        d, rate = r[i] - r[j], w[i] - w[j]
        lam = (d @ (a[i] - a[j]) + rate @ rate) / ((1 / MASSES[i] + 1 / MASSES[j]) * (d @ d))
        a[i] = a[i] - lam * d / MASSES[i]
        a[j] = a[j] + lam * d / MASSES[j]
    return a.ravel()


def _particles_acceleration(q, v):
    y, z = q[1 : PAIRS + 1], q[PAIRS + 1 :]
    f = -q.copy()
    f[1 : PAIRS + 1] -= y * z**2
    f[PAIRS + 1 :] -= z * y**2
    f[PAIRS + 1] -= z[0] * z[1] ** 2
    f[PAIRS + 2] -= z[1] * z[0] ** 2
    row = np.concatenate([[1.0], np.zeros(PAIRS), y])
    lam = (row @ f + v[1 : PAIRS + 1] @ v[PAIRS + 1 :]) / (row @ row)
    return f - lam * row


def _four_energy(q, v):
    r = q.reshape(4, 3)
    springs = sum(0.25 * k * (np.sum((r[i] - r[j]) ** 2) - 1.0) ** 2 for i, j, k in SPRINGS)
    return 0.5 * np.sum(np.repeat(MASSES, 3) * v**2) + springs


def _four_violation(q, v):
    r = q.reshape(4, 3)
    return max(abs(0.5 * (np.sum((r[i] - r[j]) ** 2) - 1.0)) for i, j in RODS)


def _particles_energy(q, v):
    y, z = q[1 : PAIRS + 1], q[PAIRS + 1 :]
    return 0.5 * (v @ v + q @ q + z[0] ** 2 * z[1] ** 2 + np.sum(y**2 * z**2))


def _particles_violation(q, v):
    return abs(v[0] + q[1 : PAIRS + 1] @ v[PAIRS + 1 :])


def _chain_violation(q, v):
    return np.max(np.abs(0.5 * (np.sum(_links(q) ** 2, axis=1) - 1.0)))


def _chain_energy(q, v):
    return 0.5 * (v @ v) + GRAVITY * np.sum(q[2::3])


def _chain(links: int) -> Problem:
    """Straight at 0.5 rad from the vertical, with a sideways velocity that grows along it; two links start apart."""
    reach, angle, end = np.arange(1, links + 1, dtype=float)[:, None], 0.5, 2.0
    q0 = (reach * np.array([np.sin(angle), 0.0, -np.cos(angle)])).ravel()
    v0 = (reach / links * np.array([0.0, 1.0, 0.0])).ravel()
    if links == 2:
        q0, v0, end = np.array([1.0, 0, 0, 1, 0.6, -0.8]), np.array([0.0, 1, 0, -1, 1, 0]), 10.0
    return Problem(
        f"chain-{links}", f"chain of {links} links, t = {end:g}", "chain", q0, v0, end, _chain_acceleration,
        _chain_violation, _chain_energy,
    )  # fmt: skip


def _four() -> Problem:
    q0 = np.array([0.0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0])
    v0 = np.zeros(12)
    v0[11] = 2.0 / 1.7
    return Problem(
        "four-particles", "Gonzalez' four particles, t = 10", "four", q0, v0, 10.0, _four_acceleration,
        _four_violation, _four_energy,
    )  # fmt: skip


def _particles() -> Problem:
    q0 = np.concatenate([[1.0], 0.2 * np.arange(PAIRS, 0, -1), np.ones(PAIRS)])
    return Problem(
        "particles", "McLachlan-Perlmutter particles, t = 10", "particles", q0, np.zeros_like(q0), 10.0,
        _particles_acceleration, _particles_violation, _particles_energy,
    )  # fmt: skip


def _pendulum() -> Problem:
    return Problem(
        "pendulum", "pendulum released level, t = 100", "pendulum", np.array([1.0, 0.0]), np.zeros(2), 100.0,
        _pendulum_acceleration, lambda q, v: abs(0.5 * (q @ q - 1.0)), lambda q, v: 0.5 * (v @ v) + GRAVITY * q[1],
    )  # fmt: skip


#: The ball falls from 1 under this gravity, and an impact leaves this part of its velocity. Impacts at 1, 2, 2.5,
#: 2.75, ...; it rests from 3 on. The error is taken in the fourth flight.
BALL_GRAVITY, BALL_RESTITUTION, BALL_END = 2.0, 0.5, 2.625


def _ball() -> Problem:
    return Problem(
        "bouncing-ball", f"bouncing ball, t = {BALL_END:g}", "ball", np.array([1.0]), np.zeros(1), BALL_END,
        lambda q, v: np.array([-BALL_GRAVITY]), lambda q, v: max(0.0, -q[0]),
        lambda q, v: 0.5 * v[0] ** 2 + BALL_GRAVITY * q[0],
    )  # fmt: skip


def problems() -> dict[str, Problem]:
    """All of them, by name."""
    found = [_pendulum(), *(_chain(n) for n in (2, 10, 100, 1000)), _four(), _particles(), _ball()]
    return {problem.name: problem for problem in found}


def reference(problem: Problem) -> np.ndarray:
    """q at the end: in closed form for the ball, else scipy's DOP853 at a tolerance near roundoff."""
    if problem.kind == "ball":
        since = problem.end - 2.5
        return np.array([0.25 * since - 0.5 * BALL_GRAVITY * since**2])
    from scipy.integrate import solve_ivp

    n = len(problem.q0)

    def right_side(t, y):
        return np.concatenate([y[n:], problem.acceleration(y[:n], y[n:])])

    start = np.concatenate([problem.q0, problem.v0])
    found = solve_ivp(right_side, (0.0, problem.end), start, method="DOP853", rtol=2.3e-14, atol=1e-14)
    if not found.success:
        raise RuntimeError(found.message)
    return found.y[:n, -1]
