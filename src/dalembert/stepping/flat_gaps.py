"""Gaps whose gradient vanishes where the contact closes, such as the cube of a distance: no force can act there.

The start of a run is looked at by `contact_start.py`. Where a step failed, Newton's method for gap_i = 0 goes on from
the state for each contact within reach of the step, q <- q - g_i n_i / |n_i|^2 with n_i = grad g_i. A gap that grows
like the distance d is closed after a step or two, and n_i is still about what it was; for g_i = d^k the distance falls
by the factor 1 - 1/k in every iteration, and with it the length of n_i.
"""

from __future__ import annotations

import numpy as np

from ..problem import AbstractSystem, State
from .consistent import ConsistentStart
from .shared_equations import observe

#: Iterations, and the part of its length to which n_i has to fall by then.
ITERATIONS, VANISHED = 25, 1e-2
#: The contacts looked at, the nearest ones, and how many steps away they may be.
MOST, REACH = 8, 3.0
CAUSE = (
    "The gradient of gap[{contact}] vanishes where that contact closes (its length falls from {before:.3g} here to "
    "{after:.3g}), so that no force can act there: the likely cause. Give a gap that grows like the distance, such as "
    "the root of this one."
)


def cause_in_gaps(system: AbstractSystem, t: float, state: State | ConsistentStart, h: float) -> str:
    """What to say where a step failed in whose reach a gap closes without a gradient; "" where none does."""
    if not system.provides("gap"):
        return ""
    q0, v = np.asarray(state.q), np.asarray(state.v)
    rows = np.broadcast_to(q0, (1, q0.size))
    gap, normals = _gaps(system, t, rows)
    lengths = np.linalg.norm(normals[0], axis=1)
    with np.errstate(all="ignore"):
        away = np.abs(gap[0]) / lengths
    reach = REACH * abs(h) * float(np.linalg.norm(v))
    near = np.argsort(away)[:MOST]
    near = near[away[near] <= reach]
    if not len(near):
        return ""
    each, q = np.arange(len(near)), np.tile(q0, (len(near), 1))
    for _ in range(ITERATIONS):
        gap, normals = _gaps(system, t, q)
        g, n = gap[each, near], normals[each, near]
        squares = np.sum(n**2, axis=1)
        move = np.divide(g, squares, out=np.zeros_like(g), where=(squares > 0) & np.isfinite(squares) & np.isfinite(g))
        q = q - move[:, None] * n
    after = np.linalg.norm(_gaps(system, t, q)[1][each, near], axis=1)
    moved = np.linalg.norm(q - q0, axis=1)
    flat = np.flatnonzero((after <= VANISHED * lengths[near]) & (moved <= reach))
    if not len(flat):
        return ""
    contact = int(near[flat[0]])
    return CAUSE.format(contact=contact, before=lengths[contact], after=after[flat[0]])


def _gaps(system: AbstractSystem, t: float, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gaps (rows, contacts) and their gradients (rows, contacts, n)."""
    none, times = np.zeros_like(q), np.full(len(q), t)
    gap = observe(system, "gap", times, q, none, none)
    return gap, observe(system, "normals", times, q, none, none).reshape(*gap.shape, q.shape[1])
