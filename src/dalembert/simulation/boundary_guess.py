"""Where the Newton iteration of a boundary-value problem starts: a path on the constraints and its velocities.

The path is the straight line from q_start to q_end, walked in a few steps each of which returns to the constraints::

    q - q~ + g_q(t, q)^T mu = 0,      g(t, q) = 0

then refined to all times and projected once more. Velocities are its difference quotients, momenta belong to them;
multipliers begin at zero, because those of velocities that are not those of the motion lead astray.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from ..engine import RowNewton
from ..errors import InputError
from ..formulation import mechanics_of
from ..problem import AbstractSystem
from ..stepping.consistent import is_traced
from ..stepping.shared_equations import Family, flat_parameters, for_family
from ..stepping.step import Layout

#: Steps in which the straight line is walked.
COARSE_STEPS = 32


@for_family(maxsize=64)
def _nearest(family: Family, n: int) -> RowNewton:
    def nearest(x, t, target, parameters):
        m = mechanics_of(family.at(parameters))
        q, mu = x[:n], x[n:]
        return jnp.concatenate([q - target + m.constraint_force(t, q, mu), m.constraint(t, q)])

    return RowNewton(nearest)


@for_family(maxsize=64)
def _momenta(family: Family) -> RowNewton:
    return RowNewton(lambda p, t, q, v, parameters: mechanics_of(family.at(parameters)).legendre(t, q, v, p))


def path_between(system: AbstractSystem, layout: Layout, t: np.ndarray, q_start, q_end) -> np.ndarray:
    """Positions at the times t from q_start to q_end, on the constraints."""
    steps = len(t) - 1
    if not layout.m:
        return q_start + np.linspace(0.0, 1.0, steps + 1)[:, None] * (q_end - q_start)
    coarse = min(steps, COARSE_STEPS)
    times = np.linspace(t[0], t[-1], coarse + 1)
    path = [q_start]
    for k in range(1, coarse):
        onward = path[-1] + (q_end - path[-1]) / (coarse + 1 - k)
        path.append(_projected(system, layout, times[k : k + 1], onward[None])[0])
    path = np.stack([*path, q_end])
    fine = np.stack([np.interp(t, times, column) for column in path.T], axis=1)
    fine[1:-1] = _projected(system, layout, t[1:-1], fine[1:-1])
    fine[0], fine[-1] = q_start, q_end
    return fine


def _projected(system: AbstractSystem, layout: Layout, t: np.ndarray, q: np.ndarray) -> np.ndarray:
    guess = np.concatenate([q, np.zeros((len(q), layout.m))], axis=1)
    roots = _nearest(Family(system), layout.n)(guess, t, q, _many(system, len(q)))
    if not np.all(roots.found):
        bad = float(t[np.flatnonzero(~roots.found)[0]])
        raise InputError(
            f"{type(system).__name__}: the straight line from q_start to q_end cannot be brought onto the constraints "
            f"(at t = {bad:.6g}), so it is no guess to start from. Pass guess=..., positions of shape "
            "(steps + 1, n) along a path near the motion that is sought."
        )
    return roots.x[:, : layout.n]


def given_path(guess, steps: int, n: int) -> np.ndarray:
    """The user's guess, checked."""
    if is_traced(guess):
        raise InputError("guess must be an array of numbers, not a traced value.")
    try:
        path = np.array(guess, dtype=np.float64)
    except Exception as error:
        raise InputError(f"guess must be an array of shape ({steps + 1}, {n}), got {type(guess).__name__}.") from error
    if path.shape != (steps + 1, n):
        raise InputError(
            f"guess must hold a position for each of the {steps + 1} times t0, t0 + h, ..., t1: expected the shape "
            f"({steps + 1}, {n}), got {path.shape}."
        )
    if not np.all(np.isfinite(path)):
        raise InputError(f"guess must be finite; row {int(np.flatnonzero(~np.isfinite(path).all(axis=1))[0])} is not.")
    return path


def states_along(system: AbstractSystem, layout: Layout, t: np.ndarray, path: np.ndarray):
    """States (steps + 1, n_state) on a path, and the velocities (steps, n) of its pieces."""
    h = (t[-1] - t[0]) / (len(t) - 1)
    secants = np.diff(path, axis=0) / h
    v = np.gradient(path, h, axis=0, edge_order=2) if len(path) > 2 else np.repeat(secants, 2, axis=0)
    p = momenta_of(system, t, path, v)
    return np.concatenate([path, p, v, np.zeros((len(t), layout.m + layout.k))], axis=1), secants


def momenta_of(system: AbstractSystem, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The momenta of velocities, row by row; zero where there are none."""
    roots = _momenta(Family(system))(np.zeros_like(v), t, q, v, _many(system, len(t)))
    return np.where(roots.found[:, None], roots.x, 0.0)


def _many(system: AbstractSystem, count: int) -> np.ndarray:
    vector = np.asarray(flat_parameters(system))
    return np.broadcast_to(vector, (count, len(vector)))
