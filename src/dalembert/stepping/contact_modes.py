"""Which contacts push, stick and slide: impacts at velocity level, modes at acceleration level.

Both are complementarity problems with the same matrix W, for the contacts that touch.

Impact, with U_f = U- + h U' the velocity without impulses (Newton's law, Coulomb friction)::

    U = U_f + W P,      0 <= U_N + rho min(U_N-, 0)  _|_  P_N >= 0,      |P_T| <= mu P_N, P_T against U_T

Modes, for the contacts that also have U_N = 0: with lam_T = -mu sign(U_T) lam_N where a contact slides::

    U' = U'_f + W lam,      0 <= U'_N  _|_  lam_N >= 0,      where U_T = 0:  |lam_T| <= mu lam_N, lam_T against U'_T

In the plane the law at U_T = 0 is linear with lam_R = mu lam_N + lam_T, lam_L = mu lam_N - lam_T and the parts of
U'_T = a_R - a_L: 0 <= lam_R _|_ a_R >= 0, 0 <= lam_L _|_ a_L >= 0. Pivoting returns a vertex of the solutions: where
contacts depend on each other, those that are not needed carry no force and stay out of the equations of motion.

The corners of one body that come to stick depend on each other too, and at a vertex one of them would be held at the
bound of its friction where nothing pulls. All that rest in the solution therefore stick together, with the forces of
least norm (lam_i weighted with the root of W_ii, as the equations of motion have them), if these are admissible.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..method.event_equations import Modes
from ..nonlinear.complementarity import solve_lcp
from ..nonlinear.friction_cone import solve_friction

#: A force or impulse below this part of the largest is none.
NO_FORCE = 1e-12
#: Complementarity to so much is a solution.
TOLERANCE = 1e-9
#: An eigenvalue of the Delassus matrix below this part of the largest says that contacts depend on each other.
DEPENDENT = 1e-6


class Impulses(NamedTuple):
    """Impulses of all contacts, (contacts, d); `solved` is false where the laws have no solution."""

    impulse: np.ndarray
    solved: bool


def impact(delassus, free, before, restitution, friction, touching) -> Impulses:
    """Impulses of the contacts `touching` that turn the velocities `free` into admissible ones; arrays (contacts, d),
    `delassus` (c d, c d)."""
    impulse = np.zeros_like(free)
    chosen, d = np.flatnonzero(touching), free.shape[1]
    wanted = free[chosen].copy()
    wanted[:, 0] += restitution[chosen] * np.minimum(before[chosen, 0], 0.0)
    if d == 1 or not np.any(friction[chosen] > 0):
        found = solve_lcp(delassus[np.ix_(d * chosen, d * chosen)], wanted[:, 0])
        impulse[chosen, 0] = found.z
        return Impulses(impulse, found.residual <= TOLERANCE)
    rows = (d * chosen[:, None] + np.arange(d)).ravel()
    problem = (delassus[np.ix_(rows, rows)], wanted.ravel(), friction[chosen], d)
    found = solve_friction(*problem)
    if found.residual > TOLERANCE and d == 2:
        found = solve_friction(*problem, method="lemke")
    impulse[chosen] = found.r.reshape(-1, d)
    return Impulses(impulse, found.residual <= TOLERANCE)


class Chosen(NamedTuple):
    """The modes that follow; `solved` is false where no forces satisfy the laws (paradoxes of Painleve)."""

    modes: Modes
    solved: bool


def choose_modes(delassus, free_rate, velocity, friction, touching, resting) -> Chosen:
    """Modes of the contacts `touching` (g = 0, U_N = 0); `resting` are those with U_T = 0; the others are open."""
    contacts, d = velocity.shape
    closed, sticking, direction = np.zeros(contacts, bool), np.zeros(contacts, bool), np.zeros(contacts)
    chosen = np.flatnonzero(touching)
    if not len(chosen):
        return Chosen(Modes(closed, sticking, direction), True)
    rough = (friction[chosen] > 0) & (d > 1)
    undecided = np.flatnonzero(rough & resting[chosen])
    slope = np.zeros(len(chosen))  # lam_T = -slope lam_N where a contact slides
    normal, mu = d * chosen, friction[chosen]
    if d > 1:
        direction[chosen] = np.where(rough & ~resting[chosen], np.sign(velocity[chosen, 1]), 0.0)
        slope = mu * direction[chosen]
    count, extra = len(chosen), len(undecided)
    by_normal = delassus[:, normal] - (delassus[:, normal + 1] * slope if d > 1 else 0.0)
    if extra:
        tangent = normal[undecided] + 1
        by_tangent = delassus[:, tangent]
        by_normal[:, undecided] -= by_tangent * mu[undecided]  # lam_T = lam_R - mu lam_N
        pick = np.eye(count)[undecided]
        matrix = np.block([
            [by_normal[normal], by_tangent[normal], np.zeros((count, extra))],
            [by_normal[tangent], by_tangent[tangent], np.eye(extra)],
            [2 * mu[undecided, None] * pick, -np.eye(extra), np.zeros((extra, extra))],
        ])  # fmt: skip
        right = np.concatenate([free_rate[normal], free_rate[tangent], np.zeros(extra)])
    else:
        matrix, right = by_normal[normal], free_rate[normal]
    found = solve_lcp(matrix, right)
    forces, size = found.z[:count], NO_FORCE * np.max(found.z[:count], initial=0.0)
    closed[chosen] = forces > size
    for k, number in enumerate(undecided):
        contact, right_force = chosen[number], found.z[count + k]
        left_force = 2 * mu[number] * forces[number] - right_force
        sticking[contact] = closed[contact] and min(left_force, right_force) > size
        direction[contact] = 1.0 if right_force <= left_force else -1.0
    vertex = Modes(closed, sticking, np.where(closed & ~sticking, direction, 0.0))
    together = sticking.copy()
    together[chosen[undecided]] = closed[chosen[undecided]]
    shared = Modes(closed, together, np.where(closed & ~together, direction, 0.0))
    admissible = np.any(together & ~sticking) and _admissible(shared, delassus, free_rate, friction)
    modes = shared if admissible else vertex
    modes = modes._replace(dependent=1.0 if _dependent(modes, delassus, d) else 0.0)
    return Chosen(modes, found.residual <= TOLERANCE)


def _rows_held(modes: Modes, d: int) -> np.ndarray:
    """The rows of the relative velocities that the modes hold."""
    return np.concatenate([d * np.flatnonzero(modes.closed), d * np.flatnonzero(modes.sticking) + 1])


def _dependent(modes: Modes, delassus, d: int) -> bool:
    """Whether the velocities that are held depend on each other, nearly or fully."""
    rows = _rows_held(modes, d)
    scale = np.sqrt(np.maximum(np.diagonal(delassus)[rows], 1e-300))
    values = np.linalg.eigvalsh(delassus[np.ix_(rows, rows)] / np.outer(scale, scale)) if len(rows) > 1 else np.ones(1)
    return bool(values[0] <= DEPENDENT * values[-1])


def _admissible(modes: Modes, delassus, free_rate, friction) -> bool:
    """Whether the least forces that these modes need exist and are within the cones."""
    closed, sticking = np.flatnonzero(modes.closed), np.flatnonzero(modes.sticking)
    d = len(free_rate) // len(friction)
    rows = _rows_held(modes, d)
    scale = np.sqrt(np.maximum(np.diagonal(delassus)[rows], 1e-300))
    columns = delassus[np.ix_(rows, rows)]
    columns[:, : len(closed)] -= delassus[np.ix_(rows, d * closed + 1)] * (friction * modes.direction)[closed]
    matrix, right = columns / np.outer(scale, scale), -free_rate[rows] / scale
    forces = np.linalg.lstsq(matrix, right, rcond=NO_FORCE)[0]
    kept = np.max(np.abs(matrix @ forces - right), initial=0.0) <= TOLERANCE * np.max(np.abs(right), initial=0.0)
    forces = forces / scale
    normal = np.zeros(len(friction))
    normal[closed] = forces[: len(closed)]
    within = np.abs(forces[len(closed) :]) <= (friction * normal)[sticking]
    return bool(kept and np.all(normal[closed] > 0) and np.all(within))
