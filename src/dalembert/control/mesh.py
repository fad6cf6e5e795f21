"""The steps of a plan made smaller where its motion needs it.

A step of order p from s_k ends with an error of about C h^(p + 1). Two steps of half its size, with the same inputs,
end with 2^-p of it, so that the difference of both tells it::

    e_k = |end(h) - end(h / 2, h / 2)| / (1 - 2^-p)

The errors of positions and velocities are relative to the largest ones of the plan. Where sum_k e_k exceeds what is
asked for, step k is cut into m_k = ceil((e_k N / asked)^(1/p)) steps, which leaves each of the N steps the same share.
"""

from __future__ import annotations

import numpy as np

from ..errors import StepFailure
from ..problem import lagrange_weights
from ..stepping import Family
from .step_maps import step_parts
from .transcription import Transcription

#: A step is cut into so many at once, at most; a plan is made anew so often, and has so many steps in the end.
MOST_PIECES, MOST_MESHES, MOST_STEPS = 4, 8, 10_000
#: The least error that can be aimed at: below lies roundoff.
LEAST_AIM = 1e-12


def step_errors(problem: Transcription, z: np.ndarray) -> np.ndarray:
    """e_k of all steps, (steps,)."""
    asked, size = problem.question, problem.sizes.state
    n, order = asked.layout.n, asked.method.order
    states, U, h = problem.states(z), problem.inputs(z), z[-1] * asked.shares
    parts = step_parts(Family(asked.system), asked.method, asked.layout, asked.points)
    many = np.broadcast_to(problem.parameters, (asked.steps, len(problem.parameters)))
    now = np.concatenate([states[:-1], np.zeros((asked.steps, asked.layout.n_state - size))], axis=1)
    for half in (0, 1):
        t, theta = z[-2] + z[-1] * asked.begins[:-1] + half * h / 2, (half + np.array(asked.points)) / 2
        u = np.einsum("ij,kil->kjl", lagrange_weights(asked.points, theta), U).reshape(asked.steps, -1)
        found = parts.solve(parts.guess(t, h / 2, now, u, many), t, h / 2, now, u, many)
        if not np.all(found.found):
            k = int(np.argmin(found.found))
            raise StepFailure(f"half of step {k + 1} of the plan has no solution next to its guess; use more steps.")
        now = parts.block(np.concatenate([found.x, now, u], axis=1), t, h / 2, many).values[:, parts.size :]
    apart = np.abs(now[:, :size] - states[1:]) / (1.0 - 0.5**order)
    errors = np.zeros(asked.steps)
    for place in (slice(0, n), slice(2 * n, 3 * n)):
        scale = max(float(np.max(np.abs(states[:, place]))), np.finfo(np.float64).tiny)
        errors = np.maximum(errors, np.max(apart[:, place], axis=1) / scale)
    return errors


def refined(shares: np.ndarray, errors: np.ndarray, asked: float, order: int) -> np.ndarray:
    """The shares of the steps of the next mesh."""
    pieces = np.ceil((errors * len(errors) / asked) ** (1.0 / order)).astype(int)
    pieces = np.clip(pieces, 1, MOST_PIECES)
    found = np.repeat(shares / pieces, pieces)
    return found / np.sum(found)
