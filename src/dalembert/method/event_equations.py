"""The equations of event capturing at one instant: motion in a mode, responses to impulses, distances to constraints.

Which contacts are closed, which of these stick and which way the others slide is the mode of the motion. As long as it
does not change, accelerations and forces follow from a linear system::

    p'   = rate - g_q^T lam - k_v^T psi + G^T lam_N + T^T lam_T
    0    = d/dt legendre(t, q, v, p)
    0    = d/dt (g_q v + g_t),        0 = d/dt k(t, q, v)
    0    = d/dt U_N    closed,        0 = lam_N                          open
    0    = d/dt U_T    sticking,      0 = lam_T + mu lam_N sign(U_T)     sliding or open

d/dt U_N = G v' + (dG/dt) v + ...: all derivatives along the motion are there, so that curved and moving contacts are
right too. The Runge-Kutta method integrates y = (q, v) of a Lagrangian, y = (q, p) of a Hamiltonian.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from ..formulation import Mechanics, contact_friction
from .contact_laws import compliance, softened


class Modes(NamedTuple):
    """The mode of each contact: closed or not, sticking or not, the sign of U_T where it slides; and whether those that
    are held depend on each other."""

    closed: Any  # (contacts,) bool
    sticking: Any  # (contacts,) bool
    direction: Any  # (contacts,) 1.0, -1.0 or 0.0
    dependent: Any = 0.0  # 1.0 or 0.0


class Motion(NamedTuple):
    """Accelerations and forces at one state."""

    v_rate: jax.Array
    p_rate: jax.Array
    lam: jax.Array
    psi: jax.Array
    force: jax.Array  # (contacts, d)


def free_modes(contacts: int) -> Modes:
    """All contacts open."""
    return Modes(np.zeros(contacts, bool), np.zeros(contacts, bool), np.zeros(contacts))


# -- the state of the Runge-Kutta method -----------------------------------------------------------------------


def state_vector(m: Mechanics, state):
    """y = (q, v) or (q, p), whichever determines the other without solving."""
    return jnp.concatenate([state.q, state.p if m.system.gives_velocity else state.v])


def parts_of(m: Mechanics, t, y):
    """q, v, p of y; the one that is left out of y is minus `legendre` at zero, which is linear in it."""
    n = y.shape[0] // 2
    q, second = y[:n], y[n:]
    if m.system.gives_velocity:
        return q, -m.legendre(t, q, jnp.zeros_like(q), second), second
    return q, second, -m.legendre(t, q, second, jnp.zeros_like(q))


# -- smooth motion ---------------------------------------------------------------------------------------------


def motion_equations(m: Mechanics, x: Motion, t, q, v, p, modes: Modes):
    """Zero at the accelerations and forces of a mode, linear in them: the system at the head of this file."""
    one, normal = jnp.ones_like(t), x.force[:, :1]
    friction = contact_friction(m, t, q)[:, None]
    closed, sticking = modes.closed[:, None], modes.sticking[:, None]
    sliding = x.force[:, 1:] + friction * jnp.where(closed, modes.direction[:, None], 0.0) * normal
    along = jax.jvp(m.contact.velocity, (t, q, v), (one, v, x.v_rate))[1]
    reactions = m.reactions(t, q, v, p, x.lam, x.psi, ideal=True) - m.contact.force(t, q, x.force)
    soft = modes.dependent * SOFTNESS * compliance(m, t, q, v, p)
    rows = (
        x.p_rate - m.rate(t, q, v, p) + reactions,
        jax.jvp(m.legendre, (t, q, v, p), (one, v, x.v_rate, x.p_rate))[1],
        jax.jvp(m.hidden, (t, q, v), (one, v, x.v_rate))[1],
        jax.jvp(m.velocity_constraint, (t, q, v), (one, v, x.v_rate))[1],
        jnp.where(closed, softened(along[:, :1], normal, soft[:, :1]), normal),
        jnp.where(closed & sticking, softened(along[:, 1:], x.force[:, 1:], soft[:, 1:]), sliding),
    )
    return jnp.concatenate([jnp.ravel(row) for row in rows])


def no_motion(m: Mechanics, t, q, v) -> Motion:
    """Zeros of the right shapes."""
    rows, columns = _rows(m, t, q, v)
    force = jnp.zeros(jax.eval_shape(m.contact.velocity, t, q, v).shape)
    return Motion(jnp.zeros_like(q), jnp.zeros_like(q), jnp.zeros(rows), jnp.zeros(columns), force)


def motion_of(m: Mechanics, t, q, v, p, modes: Modes) -> Motion:
    """Accelerations and forces in a mode.

    The derivative A + S that JAX sees holds the softness S of the contacts that are held. A x = -b follows by
    x_{k+1} = (A + S)^-1 (S x_k - b) from zero: its error falls by the factor of the softness each time, and where
    A is singular the limit is the solution with the least forces.
    """
    none = no_motion(m, t, q, v)
    zero, unravel = ravel_pytree(none)
    contacts, d = none.force.shape

    def equations(x):
        return motion_equations(m, unravel(x), t, q, v, p, modes)

    held, unit = _held(modes, d), jnp.eye(zero.shape[0])[:, zero.shape[0] - contacts * d :]
    answers = solve(jax.jacfwd(equations)(zero), jnp.concatenate([-equations(zero)[:, None], unit], axis=1))
    soft, x = jnp.where(held, modes.dependent * SOFTNESS * compliance(m, t, q, v, p), 0.0), zero
    for _ in range(REFINEMENTS):
        x = answers[:, 0] + answers[:, 1:] @ _as_rows(soft * unravel(x).force)
    return unravel(x)


def _held(modes: Modes, d: int):
    """Which relative velocities the modes hold, (contacts, d)."""
    closed = modes.closed[:, None]
    return jnp.concatenate([closed, jnp.broadcast_to(closed & modes.sticking[:, None], (*closed.shape[:1], d - 1))], 1)


def _as_rows(values):
    """Values of the contacts, (contacts, d), in the order of their equations: all normal ones, then the others."""
    return jnp.concatenate([values[:, 0], jnp.ravel(values[:, 1:])])


#: Where contacts that are held depend on each other, as the corners of one body do, they give way in the derivatives
#: by this part of what a free one would. So many solutions bring what this spoils below roundoff.
SOFTNESS, REFINEMENTS = 1e-7, 3


#: Up to this size elimination written out in XLA beats calls of LAPACK.
SMALL = 24


def solve(matrix, right):
    """A x = b; Gauss-Jordan elimination with the largest pivots for small matrices."""
    n = matrix.shape[0]
    if n > SMALL:
        return jnp.linalg.solve(matrix, right)
    both = jnp.concatenate([matrix, right.reshape(n, -1)], axis=1)
    rows = jnp.arange(n)

    def eliminate(k, both):
        pivot = jnp.argmax(jnp.where(rows >= k, jnp.abs(both[:, k]), -1.0))
        both = both.at[pivot].set(both[k]).at[k].set(both[pivot])
        row = both[k] / both[k, k]
        return (both - both[:, k][:, None] * row).at[k].set(row)

    return jax.lax.fori_loop(0, n, eliminate, both)[:, n:].reshape(right.shape)


def _rows(m: Mechanics, t, q, v) -> tuple[int, int]:
    return jax.eval_shape(m.constraint, t, q).shape[0], jax.eval_shape(m.velocity_constraint, t, q, v).shape[0]


def rate_of(m: Mechanics, t, y, modes: Modes):
    """y'."""
    q, v, p = parts_of(m, t, y)
    return slope_of(m, v, motion_of(m, t, q, v, p, modes))


def slope_of(m: Mechanics, v, motion: Motion):
    """y' of one motion, or of many along the first axis."""
    return jnp.concatenate([v, motion.p_rate if m.system.gives_velocity else motion.v_rate], axis=-1)


# -- at one instant --------------------------------------------------------------------------------------------


class Instant(NamedTuple):
    """What responses and projections at one state follow from, with all contacts open: the linear equations of motion
    A x = b in which 0 = lam_N and 0 = lam_T come last, and distances."""

    matrix: Any  # A
    right: Any  # b
    v: Any
    gap: Any  # (contacts,)
    velocity: Any  # U, (contacts, d)
    friction: Any  # coefficients in the units of the forces, (contacts,)
    directions: Any  # D = (G, T), (c d, n)
    bias: Any  # U' - D v', (c d,)
    constraint: Any  # g
    hidden: Any  # g_q v + g_t, and k


def instant(m: Mechanics, t, y) -> Instant:
    """At one state."""
    q, v, p = parts_of(m, t, y)
    zero, unravel = ravel_pytree(no_motion(m, t, q, v))
    velocity = m.contact.velocity(t, q, v)
    modes = free_modes(velocity.shape[0])

    def equations(x):
        return motion_equations(m, unravel(x), t, q, v, p, modes)

    bias = jax.jvp(m.contact.velocity, (t, q, v), (jnp.ones_like(t), v, jnp.zeros_like(v)))[1]
    hidden = jnp.concatenate([m.hidden(t, q, v), m.velocity_constraint(t, q, v)])
    return Instant(
        jax.jacfwd(equations)(zero), -equations(zero), v, m.contact.gap(t, q), velocity, contact_friction(m, t, q),
        m.contact.directions(t, q).reshape(-1, q.shape[0]), jnp.ravel(bias), m.constraint(t, q), hidden,
    )  # fmt: skip


class Response(NamedTuple):
    """Rates without contact forces, and changes by unit impulses of the contacts (one after the other, the normal one
    first), which keep the constraints of the system; and by what brings the rate of a constraint to one."""

    v_rate: np.ndarray
    second_rate: np.ndarray  # of the second half of y
    contact_rate: np.ndarray  # U', (c d,)
    delassus: np.ndarray  # change of U, (c d, c d)
    v_by_impulse: np.ndarray  # (n, c d)
    second_by_impulse: np.ndarray
    v_by_constraint: np.ndarray  # (n, m + k)
    second_by_constraint: np.ndarray


def response(at: Instant, momentum: bool) -> Response:
    """W = D (M^-1 restricted to the motions that the constraints allow) D^T and its parts; `momentum` says whether y
    holds p.

    A unit impulse changes v as a unit force changes v': both come from the equations of motion with all contacts open,
    in which 0 = lam_N and 0 = lam_T are replaced by one.
    """
    n, size, (contacts, d) = len(at.v), len(at.right), at.velocity.shape
    last = size - contacts * d
    right = np.zeros((size, 1 + size - 2 * n))
    right[:, 0] = at.right
    right[2 * n :, 1:] = np.eye(size - 2 * n)
    answers = np.linalg.solve(at.matrix, right)
    second = answers[n : 2 * n] if momentum else answers[:n]
    # as the equations come: first all normal ones
    places = np.arange(contacts * d) if d == 1 else contacts_first(contacts, d)
    columns = 1 + last - 2 * n + places
    rate, by_impulse = answers[:n, 0], answers[:n, columns]
    return Response(
        rate, second[:, 0], at.directions @ rate + at.bias, at.directions @ by_impulse, by_impulse, second[:, columns],
        answers[:n, 1 : 1 + last - 2 * n], second[:, 1 : 1 + last - 2 * n],
    )  # fmt: skip


def contacts_first(contacts: int, d: int) -> np.ndarray:
    """Where the equations of (contact, direction) are, contact by contact, among those of the contacts."""
    places = np.empty((contacts, d), np.int64)
    places[:, 0] = np.arange(contacts)
    places[:, 1:] = contacts + np.arange(contacts * (d - 1)).reshape(contacts, d - 1)
    return places.ravel()


def position_defect(m: Mechanics, x, t, q0, v, p, held, softness=SOFTNESS):
    """Zero where x = (q, mu, tau) has g = 0 and the gaps `held` closed, q - q0 along the constraint forces."""
    n, rows = q0.shape[0], jax.eval_shape(m.constraint, t, q0).shape[0]
    q, mu, tau = x[:n], x[n : n + rows], x[n + rows :]
    (push,) = jax.vjp(lambda q: m.contact.gap(t, q), q0)[1](tau)
    moved = m.mass_residual(q - q0, push - m.constraint_force(t, q0, mu), t, q0, v, p)
    gap = softened(m.contact.gap(t, q), tau, softness * compliance(m, t, q0, v, p)[:, 0])
    return jnp.concatenate([moved, m.constraint(t, q), jnp.where(held, gap, tau)])


def velocity_defect(m: Mechanics, x, t, q, p0, held, sticking, softness=SOFTNESS):
    """Zero where x = (v, p, nu, kappa, P) satisfies the constraints on the velocity, U_N = 0 where `held` and U_T = 0
    where `sticking`, with p - p0 along the constraint impulses."""
    n, (rows, columns) = q.shape[0], _rows(m, t, q, x[: q.shape[0]])
    v, p = x[:n], x[n : 2 * n]
    nu, kappa, impulse = jnp.split(x[2 * n :], (rows, rows + columns))
    velocity = m.contact.velocity(t, q, v)
    impulse = impulse.reshape(velocity.shape)
    kept = jnp.concatenate([held[:, None], jnp.broadcast_to(sticking[:, None], velocity[:, 1:].shape)], axis=1)
    soft = softness * compliance(m, t, q, v, p)
    reactions = m.constraint_force(t, q, nu) + m.nonholonomic.force(t, q, v, kappa)
    return jnp.concatenate([
        m.legendre(t, q, v, p),
        p - p0 + reactions - m.contact.force(t, q, impulse),
        m.hidden(t, q, v),
        m.velocity_constraint(t, q, v),
        jnp.ravel(jnp.where(kept, softened(velocity, impulse, soft), impulse)),
    ])  # fmt: skip
