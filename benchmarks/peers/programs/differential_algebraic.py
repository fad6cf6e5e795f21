"""The stabilised index-2 form (Gear, Gupta, Leimkuhler 1985) in numpy, for solvers of F(t, y, y') = 0.

    q' = v - G^T mu,    m v' = f - G^T lam,    0 = g(q),    0 = G v          (nonholonomic: q' = v, 0 = k(q, v))

y = (q, v, integrals of lam and mu): the multipliers are y', so that the errors a solver controls do not contain them.
"""

from __future__ import annotations

import numpy as np
from problems import GRAVITY, MASSES, PAIRS, RODS, SPRINGS, Problem


def pendulum():
    return {
        "masses": np.ones(2),
        "force": lambda q: np.array([0.0, -GRAVITY]),
        "constraint": lambda q: np.array([0.5 * (q @ q - 1.0)]),
        "hidden": lambda q, v: np.array([q @ v]),
        "reaction": lambda q, lam: lam[0] * q,
    }


def chain(links: int):
    gravity = np.tile([0.0, 0.0, -GRAVITY], links)

    def differences(q):
        r = q.reshape(-1, 3)
        d = r.copy()
        d[1:] -= r[:-1]
        return d

    def reaction(q, lam):
        pull = lam[:, None] * differences(q)
        pull[:-1] -= pull[1:]
        return pull.ravel()

    return {
        "masses": np.ones(3 * links),
        "force": lambda q: gravity,
        "constraint": lambda q: 0.5 * (np.einsum("ij,ij->i", differences(q), differences(q)) - 1.0),
        "hidden": lambda q, v: np.einsum("ij,ij->i", differences(q), differences(v)),
        "reaction": reaction,
    }


def four():
    def force(q):
        r, f = q.reshape(4, 3), np.zeros((4, 3))
        for i, j, stiffness in SPRINGS:
            d = r[i] - r[j]
            f[i] -= stiffness * (d @ d - 1.0) * d
            f[j] += stiffness * (d @ d - 1.0) * d
        return f.ravel()

    def bars(q):
        r = q.reshape(4, 3)
        return np.array([r[i] - r[j] for i, j in RODS])

    def reaction(q, lam):
        pull = lam[:, None] * bars(q)
        return np.concatenate([pull[0], -pull[0], pull[1], -pull[1]])

    return {
        "masses": np.repeat(MASSES, 3),
        "force": force,
        "constraint": lambda q: 0.5 * (np.sum(bars(q) ** 2, axis=1) - 1.0),
        "hidden": lambda q, v: np.sum(bars(q) * bars(v), axis=1),
        "reaction": reaction,
    }


def particles():
    def force(q):
        y, z = q[1 : PAIRS + 1], q[PAIRS + 1 :]
        f = -q.copy()
        f[1 : PAIRS + 1] -= y * z**2
        f[PAIRS + 1 :] -= z * y**2
        f[PAIRS + 1] -= z[0] * z[1] ** 2
        f[PAIRS + 2] -= z[1] * z[0] ** 2
        return f

    return {
        "masses": np.ones(1 + 2 * PAIRS),
        "force": force,
        "constraint": None,
        "hidden": lambda q, v: np.array([v[0] + q[1 : PAIRS + 1] @ v[PAIRS + 1 :]]),
        "reaction": lambda q, lam: lam[0] * np.concatenate([[1.0], np.zeros(PAIRS), q[1 : PAIRS + 1]]),
    }


MODELS = {"pendulum": pendulum, "chain": chain, "four": four, "particles": particles}


def model_of(problem: Problem) -> dict:
    return chain(problem.links) if problem.kind == "chain" else MODELS[problem.kind]()


def stabilised(problem: Problem):
    """The residual F(t, y, y'), and consistent y and y' at the start."""
    model, n = model_of(problem), len(problem.q0)
    masses, force, g, hidden, reaction = (model[k] for k in ("masses", "force", "constraint", "hidden", "reaction"))
    m = len(hidden(problem.q0, problem.v0))

    def residual(t, y, rate):
        q, v = y[:n], y[n : 2 * n]
        lam, mu = rate[2 * n : 2 * n + m], rate[2 * n + m :]
        slide = reaction(q, mu) if g is not None else 0.0
        parts = [rate[:n] - v + slide, masses * rate[n : 2 * n] - force(q) + reaction(q, lam), hidden(q, v)]
        if g is not None:
            parts.append(g(q))
        return np.concatenate(parts)

    a = problem.acceleration(problem.q0, problem.v0)
    rows = np.stack([reaction(problem.q0, row) for row in np.eye(m)]) if m < 200 else None
    needed = force(problem.q0) - masses * a
    lam = np.linalg.lstsq(rows.T, needed, rcond=None)[0] if rows is not None else _tensions(problem, needed)
    extra = np.concatenate([lam, np.zeros(m if g is not None else 0)])
    y0 = np.concatenate([problem.q0, problem.v0, np.zeros_like(extra)])
    return residual, y0, np.concatenate([problem.v0, a, extra])


def _tensions(problem: Problem, needed: np.ndarray) -> np.ndarray:
    """Of a long chain: from its free end."""
    total = np.cumsum(needed.reshape(-1, 3)[::-1], axis=0)[::-1]
    r = problem.q0.reshape(-1, 3)
    d = np.diff(r, axis=0, prepend=np.zeros((1, 3)))
    return np.sum(total * d, axis=1) / np.sum(d**2, axis=1)
