"""`linearise`: the linear equations of small motions on the constraint manifold.

The states (q, v) that satisfy g = 0, g_q v + g_t = 0 and k = 0 form a manifold; the columns of T are an orthonormal
basis of its tangent space at the point. With x' = f(x, u), the equations without
multipliers::

    x - x_0 = T z,        z' = A z + B (u - u_0),        A = T^T f_x T,   B = T^T f_u

At an equilibrium, f_x maps the tangent space into itself: A has the eigenvalues of the motion and no others. Where the
point is at rest, z holds positions first and velocities after them. With `method` and `h`, the linear map of one step::

    z_1 = A z_0 + B (u - u_0),       A = T_1^T (dx_1 / dx_0) T_0
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy.linalg import null_space

from ..arguments import floats, number, positive
from ..engine import Function, find_root
from ..errors import InputError, ModelError
from ..formulation import Acceleration
from ..method import Method
from ..problem import AbstractSystem, driven, holding, inputs_of, prepared, undriven
from ..stepping import Family, accelerations, checked, flat_parameters, for_family, independent_rows, layout_of
from .step_maps import step_maps
from .with_input import checked_input, mechanics_with

#: Real parts of eigenvalues below this part of the largest eigenvalue are zeros: a double one is known to the root of
#: the roundoff.
UNDECIDED = 1e-6
#: A state is on the constraints, and at rest, up to this.
DEFECT = 1e-6
#: Singular values of constraints below this part of the largest are zeros.
RANK = 1e-10


@dataclass(frozen=True)
class Linearisation:
    """The linear equations about a state, z' = A z + B (u - u_0), or z_1 = A z_0 + B (u - u_0) for steps of `h`.

    Attributes:
        A: (d, d), d the dimension of the constraint manifold of (q, v).
        B: (d, inputs).
        T: its tangent space, (2n, d), orthonormal columns: (q - q_0, v - v_0) = T z.
        q, v, u, t: the state, the inputs and the time.
        h: the step size, or None.
    """

    A: np.ndarray
    B: np.ndarray
    T: np.ndarray = field(repr=False)
    q: np.ndarray
    v: np.ndarray
    u: np.ndarray
    t: float
    h: float | None = None

    @property
    def eigenvalues(self) -> np.ndarray:
        """Those of A; the fastest growing first."""
        found = np.linalg.eigvals(self.A)
        growth = np.abs(found) if self.h else np.real(found)
        return found[np.lexsort((-np.imag(found), -np.round(growth, 12)))]

    @property
    def stability(self) -> str:
        """What the eigenvalues say: "asymptotically stable", "unstable", or "undecided" where the largest growth is
        zero up to roundoff."""
        values = self.eigenvalues
        if not len(values):
            return "undecided"
        growth = np.max(np.abs(values)) - 1.0 if self.h else np.max(np.real(values))
        scale = 1.0 if self.h else np.max(np.abs(values))
        if growth > UNDECIDED * scale:
            return "unstable"
        return "asymptotically stable" if growth < -UNDECIDED * scale else "undecided"

    def reduced(self, q, v) -> np.ndarray:
        """z of a state near this one."""
        return self.T.T @ np.concatenate([np.asarray(q) - self.q, np.asarray(v) - self.v])


@holding
def linearise(
    system: AbstractSystem, q, v=None, *, u=None, t: float = 0.0, method: Method | None = None, h: float | None = None,
    redundant: str = "refuse",
) -> Linearisation:  # fmt: skip
    """The linear equations of small motions about a state, on the constraint manifold.

    Args:
        system: without contacts.
        q: the position, on the constraints.
        v: the velocity, on the constraints; default zero.
        u: the inputs; default zero.
        t: the time.
        method, h: give both for the map of one step of the method instead of the rates.
        redundant: "refuse" dependent constraints or "allow" them.
    """
    system, t = undriven(prepared(system)), number("t", t)
    q = floats("q", q, finite=True)
    v = np.zeros_like(q) if v is None else floats("v", v, finite=True)
    if q.ndim != 1 or v.shape != q.shape:
        raise InputError(f"q and v must have the same shape (n,), got {q.shape} and {v.shape}.")
    if method is not None:
        checked(system, method)
    if (method is None) != (h is None):
        raise InputError("give method and h together, or none of them.")
    if system.provides("gap"):
        raise ModelError(f"{type(system).__name__} has contacts: it has no linear equations where a gap closes.")
    layout, inputs = layout_of(system, len(q)), inputs_of(system)
    rows = independent_rows(system, t, q, redundant) if layout.m else None
    control = checked_input(inputs, u)
    T = tangent_space(system, rows, t, q, v)
    if method is not None:
        step = positive("h", h)
        maps = step_maps(system, method, np.array([t]), q[None], v[None], control[None], step)
        after = tangent_space(system, rows, t + step, maps.q[0], maps.v[0], on_manifold=False)
        after = _aligned(after, T)
        return Linearisation(after.T @ maps.by_state[0] @ T, after.T @ maps.by_input[0], T, q, v, control, t, step)
    by_state, by_input = rates_by_state(system, rows, t, q, v, control)
    return Linearisation(T.T @ by_state @ T, T.T @ by_input, T, q, v, control, t)


def _aligned(basis: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The basis of the same space that is nearest to another one."""
    left, _, right = np.linalg.svd(basis.T @ other)
    return basis @ (left @ right)


def tangent_space(
    system: AbstractSystem, rows, t: float, q: np.ndarray, v: np.ndarray, on_manifold: bool = True
) -> np.ndarray:  # fmt: skip
    """An orthonormal basis of the tangent space of the constraint manifold of (q, v), (2n, d)."""
    n = len(q)
    value, jacobian = _constraints(Family(system), rows, n)(
        np.concatenate([q, v]), t, np.asarray(flat_parameters(system))
    )
    scale = 1.0 + np.max(np.abs(q)) ** 2 + np.max(np.abs(v)) ** 2
    if on_manifold and np.any(np.abs(value) > DEFECT * scale):
        worst = int(np.argmax(np.abs(value)))
        raise InputError(
            f"{type(system).__name__}: the state violates a constraint (row {worst} of g, g_q v + g_t, k: "
            f"{value[worst]:.3g}). Move it there with da.consistent(...)."
        )
    dense = jacobian.toarray()
    lengths = np.linalg.norm(dense, axis=1, keepdims=True)
    dense = dense / np.where(lengths > 0, lengths, 1.0)
    by_q, by_v = dense[:, :n], dense[:, n:]
    touches_q, touches_v = np.any(np.abs(by_q) > RANK, axis=1), np.any(np.abs(by_v) > RANK, axis=1)
    if np.any(touches_q & touches_v):
        return null_space(dense, rcond=RANK) if len(dense) else np.eye(2 * n)
    parts = [null_space(part[used], rcond=RANK) if used.any() else np.eye(n)
             for part, used in ((by_q, touches_q), (by_v, touches_v))]  # fmt: skip
    basis = np.zeros((2 * n, parts[0].shape[1] + parts[1].shape[1]))
    basis[:n, : parts[0].shape[1]], basis[n:, parts[0].shape[1] :] = parts
    return basis


@for_family(maxsize=64)
def _constraints(family: Family, rows, n: int) -> Function:
    def constraints(x, t, parameters):
        m, q, v = mechanics_with(family.at(parameters), _no_input(family), rows), x[:n], x[n:]
        return jnp.concatenate([m.constraint(t, q), m.hidden(t, q, v), m.velocity_constraint(t, q, v)])

    return Function(constraints)


def _no_input(family: Family) -> np.ndarray:
    return np.zeros(inputs_of(family.at(np.zeros(family.size))).size)


def rates_by_state(
    system: AbstractSystem, rows, t: float, q: np.ndarray, v: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """d(q', v') / d(q, v) and d(q', v') / du of the equations whose multipliers are eliminated.

    With y = (v', p', lam, psi), F(y; q, v, p, u) = 0 and legendre(q, v, p) = 0::

        dy = -F_y^-1 (F_q dq + F_v dv + F_p dp + F_u du),       dp = -legendre_p^-1 (legendre_q dq + legendre_v dv)
    """
    n, parameters = len(q), np.asarray(flat_parameters(system))
    momenta = _momentum(Family(system), n)
    p = -momenta(np.concatenate([np.zeros(n), q, v]), t, parameters)[0]
    if system.gives_velocity:
        p = _momentum_of(momenta, t, q, v, parameters)
    by_p = momenta(np.concatenate([p, q, v]), t, parameters)[1].toarray()
    p_by = -np.linalg.solve(by_p[:, :n], by_p[:, n:])
    moved = driven(system, values=u[None]) if u.size else system
    y = accelerations(moved, rows, *(np.asarray(part)[None] for part in (t, q, v, p)))[0]
    z = np.concatenate([y, q, v, p, u])
    jacobian = _accelerations(Family(system), rows, n, len(y))(z, t, parameters)[1].toarray()
    by_y, by_q, by_v, by_p, by_u = np.split(jacobian, np.cumsum([len(y), n, n, n]), axis=1)
    right = np.concatenate([by_q + by_p @ p_by[:, :n], by_v + by_p @ p_by[:, n:], by_u], axis=1)
    if not np.all(np.isfinite(jacobian)):
        raise ModelError(f"{type(system).__name__}: the derivatives of the equations are not finite at this state.")
    found = -np.linalg.solve(by_y, right)[:n]
    by_state = np.block([[np.zeros((n, n)), np.eye(n)], [found[:, : 2 * n]]])
    return by_state, np.concatenate([np.zeros((n, u.size)), found[:, 2 * n :]])


def _momentum_of(momenta: Function, t: float, q: np.ndarray, v: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    """p of a Hamiltonian, by Newton's method."""
    n = len(q)

    def residual(p, *rest):
        value, jacobian = momenta(np.concatenate([p, q, v]), *rest)
        return value, jacobian[:, :n]

    found = find_root(residual, np.zeros(n), t, parameters)
    if found is None:
        raise ModelError("the velocity has no momentum: H_p(t, q, p) = v has no solution near p = 0.")
    return found


@for_family(maxsize=64)
def _momentum(family: Family, n: int) -> Function:
    def legendre(z, t, parameters):
        m = mechanics_with(family.at(parameters), _no_input(family), None)
        return m.legendre(t, z[n : 2 * n], z[2 * n :], z[:n])

    return Function(legendre)


@for_family(maxsize=64)
def _accelerations(family: Family, rows, n: int, size: int) -> Function:
    def residual(z, t, parameters: Any):
        y, q, v, p, u = jnp.split(z, np.cumsum([size, n, n, n]))
        m = mechanics_with(family.at(parameters), u, rows)
        rows_of_lam = m.constraint(t, q).shape[0]
        unknown = Acceleration(y[:n], y[n : 2 * n], y[2 * n : 2 * n + rows_of_lam], y[2 * n + rows_of_lam :])
        parts = m.acceleration_residual(unknown, t, q, v, p)
        order = ("velocity", "momentum", "acceleration constraint", "nonholonomic acceleration")
        return jnp.concatenate([parts[name] for name in order])

    return Function(residual)
