"""Runs of every kind, without a solver: a picture needs arrays only."""

import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.stepping import Status


class Chain(da.System):
    bars = "chain"

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - jnp.sum(q[1::2])

    def holonomic(self, t, q):
        steps = jnp.diff(q.reshape(-1, 2), axis=0, prepend=jnp.zeros((1, 2)))
        return 0.5 * (jnp.sum(steps**2, axis=1) - 1.0)

    def invariants(self, t, q, p):
        return {"energy_like": p @ p, "vector": p}


class Free(da.System):
    def lagrangian(self, t, q, v):
        return 0.5 * v @ v


class Drawn(Free):
    """A system that says where its points are: a fixed one and two more."""

    bars = ((0, 1), (1, 2))

    def points(self, t, q):
        return jnp.stack([jnp.array([2.0, 0.0, 0.0]), q[:3], jnp.stack([q[3], q[4], t])])


def made_run(system, q, *, v=None, m=None, ok=True, t_end=2.0) -> da.Trajectory:
    """A trajectory with these positions; momenta equal velocities."""
    q = np.asarray(q, dtype=float)
    states = len(q)
    t = np.linspace(0.0, t_end, states)  # one state: t = 0
    v = (np.gradient(q, t, axis=0) if states > 1 else np.zeros_like(q)) if v is None else v
    if m is None:
        m = q.shape[1] // 2 if isinstance(system, Chain) else 0
    rng = np.random.default_rng(0)
    arrays = {
        "t": t, "q": q, "v": v, "p": v.copy(), "psi": np.zeros((states, 0)), "raw_lam": np.ones((states, m)),
        "lam": np.cos(t)[:, None] * np.arange(1.0, m + 1), "iterations": np.full(max(states - 1, 0), 2),
        "constraint": np.where(rng.random(states) < 0.5, 0.0, 1e-16) if m else np.zeros(states),
        "hidden": rng.random(states) * 1e-15 if m else np.zeros(states),
    }  # fmt: skip
    info = {
        "method": "Rattle()", "multiplier": "recomputed", "rows": None, "h": t_end / max(states - 1, 1),
        "system": type(system).__name__, "stats": {"steps": states - 1, "engine": "none"},
    }  # fmt: skip
    status = Status(0, states - 1, t_end, "ok") if ok else Status(1, states - 1, t_end, "step failed")
    return da.Trajectory(arrays, system, info, status)


def circle(states: int, links: int = 1) -> np.ndarray:
    angle = np.linspace(0.0, 3.0, states)
    points = np.stack([np.sin(angle), -np.cos(angle)], axis=1)
    return np.concatenate([k * points for k in range(1, links + 1)], axis=1)


@pytest.fixture
def chain() -> da.Trajectory:
    return made_run(Chain(), circle(101, links=2))


@pytest.fixture
def make():
    return made_run


@pytest.fixture
def systems():
    return {"chain": Chain(), "free": Free(), "drawn": Drawn()}


@pytest.fixture
def circle_points():
    return circle
