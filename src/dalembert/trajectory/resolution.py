"""The step size against the fastest oscillation and the fastest decay of a system near some states of a run.

At a state the motion nearby obeys, to first order, w' = u, u' = A w + D u with A = dv'/dq and D = dv'/dv on the
directions that the constraints allow. The eigenvalues -omega^2 < 0 of A belong to oscillations, and the real
parts -r of the eigenvalues of D to decays. A and D are differences of accelerations: the same program that gives the
multipliers of a run, for all states at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..problem import AbstractSystem
from ..stepping import accelerations, observe, rows_along

#: h omega beyond which explicit methods are unstable
LIMIT = 2.0
#: states of a run that are examined, spread over it
STATES = 12
#: Differences are taken over this part of the size of q and of v: the third root of roundoff.
DIFFERENCE = 6e-6


@dataclass(frozen=True)
class StepResolution:
    """By how much the fastest oscillation turns in a step, at the worst of some states of a run.

    Attributes:
        turn: h omega there; below 2 the step is within the stability limit, well below 1 it resolves the motion.
        omega: the largest frequency, without damping.
        time: when that was.
        h: the step size of the run.
        decay: the largest rate r at which forces bring a velocity to rest, like exp(-r t), at any of these states.
        unsettled: by how much the velocities that decay with h r >= 2 would change in a step at their acceleration
            there, as a part of the largest speed: small where they are in balance with what is slow.
    """

    turn: float
    omega: float
    time: float
    h: float
    decay: float = 0.0
    unsettled: float = 0.0

    def __bool__(self) -> bool:
        """True if the step is within the limit."""
        return bool(self.turn < LIMIT)

    @property
    def largest_step(self) -> float:
        """The step size at the limit."""
        return LIMIT / self.omega if self.omega > 0 else np.inf


def resolution_of(system: AbstractSystem, rows, t, q, v, p, h: float, states: int = STATES) -> StepResolution:
    """The worst of `states` of the states given; `rows` are the independent constraints."""
    chosen = np.unique(np.linspace(0, len(t) - 1, states).astype(int))
    t, q, v, p = (np.asarray(part, dtype=np.float64)[chosen] for part in (t, q, v, p))
    pieces = [(slice(None), None)] if rows is None else rows_along(system, rows, t, q)
    found = []
    for piece, kept in pieces:
        part = tuple(x[piece] for x in (t, q, v, p))
        rates = accelerations(system, kept, *part)[:, : q.shape[1]]
        terms = (*_differences(system, kept, *part), rates, _normals(system, *part))
        found += [_fastest(*state, LIMIT / h) for state in zip(*terms, strict=True)]
    omegas, decays, changes = np.array(found).T
    worst, speed = int(np.argmax(omegas)), float(np.max(np.linalg.norm(v, axis=1)))
    unsettled = h * float(np.max(changes)) / speed if speed > 0 else 0.0
    return StepResolution(
        h * float(omegas[worst]), float(omegas[worst]), float(t[worst]), h, float(np.max(decays)), unsettled
    )


def _differences(system: AbstractSystem, rows, t, q, v, p) -> tuple[np.ndarray, np.ndarray]:
    """dv'/dq and dv'/dv, (states, n, n) each, by central differences; p is kept."""
    count, n = q.shape
    sizes = [DIFFERENCE * max(1e-3, float(np.max(np.abs(part)))) for part in (q, v)]
    moves = np.concatenate([sign * np.eye(n) for sign in (1.0, -1.0)])
    still = np.zeros((2 * n, n))
    dq, dv = (np.concatenate(pair)[None] for pair in ((sizes[0] * moves, still), (still, sizes[1] * moves)))
    everything = [
        np.repeat(t, 4 * n), (q[:, None] + dq).reshape(-1, n), (v[:, None] + dv).reshape(-1, n),
        np.repeat(p, 4 * n, axis=0),
    ]  # fmt: skip
    rates = accelerations(system, rows, *everything)[:, :n].reshape(count, 2, 2, n, n)
    slopes = (rates[:, :, 0] - rates[:, :, 1]) / (2 * np.array(sizes)[None, :, None, None])
    A, D = np.swapaxes(slopes, 2, 3)[:, 0], np.swapaxes(slopes, 2, 3)[:, 1]
    return A, D


def _normals(system: AbstractSystem, t, q, v, p) -> np.ndarray:
    """The gradients of all constraints on the velocity, (states, rows, n)."""
    return observe(system, "velocity gradients", t, q, v, p).reshape(len(t), -1, q.shape[1])


def _fastest(A, D, acceleration, normals, limit: float) -> tuple[float, float, float]:
    """The largest omega, the largest rate of decay, and the acceleration of the velocities that decay faster than
    `limit`, on the directions at right angles to the normals."""
    if not all(np.all(np.isfinite(part)) for part in (A, D, acceleration, normals)):
        return 0.0, 0.0, 0.0
    _, singular, directions = np.linalg.svd(normals)
    rank = int(np.sum(singular > 1e-10 * max(1.0, np.max(singular, initial=0.0))))
    T = directions[rank:].T
    if not T.shape[1]:
        return 0.0, 0.0, 0.0
    omega = np.sqrt(max(0.0, -np.min(np.real(np.linalg.eigvals(T.T @ A @ T)))))
    decays, modes = np.linalg.eig(T.T @ D @ T)
    parts = modes * np.linalg.lstsq(modes, (T.T @ acceleration).astype(complex), rcond=None)[0]
    rates = np.real(decays)
    fast = np.linalg.norm(np.sum(parts[:, rates <= -limit], axis=1))
    return float(omega), float(max(0.0, -np.min(rates))), float(fast)
