"""Symplecticity and reversibility, measured on the method's own one-step map."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..arguments import instance, interval, number, positive
from ..errors import InputError, StepFailure
from ..formulation import Mechanics, mechanics_of
from ..method import Method
from ..problem import AbstractSystem, HamiltonianSystem, System, prepared
from ..simulation import simulate
from ..stepping import consistent, integrate


def symplectic_defect(
    system: AbstractSystem, method: Method, q0, v0=None, t0: float = 0.0, h: float = 0.01, *, p0=None
) -> float:
    """How far one step is from symplectic: max |w(DF a, DF b) - w(a, b)| over unit tangent vectors a, b.

    F is the step (q0, p0) -> (q1, p1), DF its exact Jacobian, w = dq ^ dp, and the tangent vectors are those
    of the constraint manifold {g = 0, g_q v + g_t = 0} at the start. The maximum is the spectral norm of T^T
    (DF^T J DF - J) T, with the columns of T an orthonormal basis of the tangent space.
    """
    instance("method", method, Method, "a method such as da.Rattle()")
    t0, h = number("t0", t0), positive("h", h)
    start = consistent(system, q0, v0, t0, p0=p0)
    n = start.q.shape[0]
    system = prepared(system)
    try:
        derivative, status = _derivative_of_step(
            mechanics_of(system), method, jnp.concatenate([start.q, start.p]), t0, h
        )
    except eqx.EquinoxRuntimeError as error:  # numbers that leave their range on the way
        raise InputError(f"the step from t0 = {t0:g} with h = {h:g} cannot be computed; use a smaller h.") from error
    if int(status) != 0 or not np.all(np.isfinite(derivative)):
        raise InputError(f"the step from t0 = {t0:g} with h = {h:g} failed; use a smaller h.")
    J = np.block([[np.zeros((n, n)), np.eye(n)], [-np.eye(n), np.zeros((n, n))]])
    T = tangent_basis(system, t0, start.q, start.v, start.p)
    DF = np.asarray(derivative) @ T
    return float(np.linalg.norm(DF.T @ J @ DF - T.T @ J @ T, ord=2))


@eqx.filter_jit
def _derivative_of_step(mechanics: Mechanics, method: Method, z, t0: float, h: float):
    """d(q1, p1) / d(q0, p0) and the status of the step; compiled once for all states and parameters."""
    n, system = z.shape[0] // 2, mechanics.system

    def one_step(z):
        run = simulate(system, method, z[:n], p0=z[n:], t=(t0, t0 + h), h=h, on_failure="return", compensated=False)
        return jnp.concatenate([run.q[-1], run.p[-1]]), run.status

    return jax.jacfwd(one_step, has_aux=True)(z)


def tangent_basis(system: AbstractSystem, t, q, v, p) -> np.ndarray:
    """Orthonormal columns spanning {(a, b): g_q a = 0, d(g_q v + g_t) = 0}; v(q, p) is that of `legendre`."""
    normals = np.asarray(_normals(mechanics_of(system), jnp.asarray(t, jnp.float64), *map(jnp.asarray, (q, v, p))))
    _, singular, directions = np.linalg.svd(normals)
    rank = int(np.sum(singular > 1e-10 * max(1.0, singular[0]))) if len(singular) else 0
    return directions[rank:].T


@eqx.filter_jit
def _normals(mechanics: Mechanics, t, q, v, p):
    """The gradients of all constraints by (q, p), one row each."""
    by_q, by_v, by_p = jax.jacfwd(mechanics.legendre, argnums=(1, 2, 3))(t, q, v, p)
    v_q, v_p = -jnp.linalg.solve(by_v, by_q), -jnp.linalg.solve(by_v, by_p)
    hidden_q, hidden_v = jax.jacfwd(mechanics.hidden, argnums=(1, 2))(t, q, v)
    g_q = jax.jacfwd(mechanics.constraint, argnums=1)(t, q)
    return jnp.block([[g_q, jnp.zeros(g_q.shape)], [hidden_q + hidden_v @ v_q, hidden_v @ v_p]])


@dataclass(frozen=True)
class ReversibilityDefect:
    """Distance from the start after going forward and back (maximum norm), in position and in momentum."""

    q: float
    p: float


def reversibility_defect(
    system: AbstractSystem, method: Method, q0, v0=None, t=(0.0, 1.0), h: float = 0.01, *, p0=None
) -> ReversibilityDefect:
    """Forward over t = (t0, t1), the velocity and the clock reversed, and as many steps back.

    The way back is a run of the reversed system L(t0 + t1 - t, q, -v), which is the same system if L is even
    in v and does not depend on t. A symmetric method returns to the start up to roundoff. Momenta that
    violate the hidden constraint are projected before the way back where the method is symmetric in the positions
    only (SHAKE), which leaves these unchanged; a method that is symmetric in both goes back from where it is.
    """
    system, (t0, t1) = prepared(system), interval(t)
    instance("method", method, Method, "a method such as da.Rattle()")
    if system.provides("gap"):
        raise InputError("reversibility_defect expects a smooth system; impacts are not reversible.")
    start = consistent(system, q0, v0, t0, p0=p0)
    forward = simulate(system, method, start.q, p0=start.p, t=(t0, t1), h=h)
    way_back = integrate(
        reversed_system(system, t0 + t1),
        method,
        forward.q[-1],
        p0=-forward.p[-1],
        t=(t0, t1),
        h=h,
        project=not method.claims.symmetric,
        any_velocity=method.claims.symmetric,
    )
    if not way_back.status:
        raise StepFailure(f"the way back failed: {way_back.status}")
    back = way_back.layout.unflatten(way_back.states[-1])
    return ReversibilityDefect(
        q=float(np.max(np.abs(back.q - np.asarray(start.q)))),
        p=float(np.max(np.abs(back.p + np.asarray(start.p)))),
    )


def reversed_system(system: AbstractSystem, clock: float) -> AbstractSystem:
    """The system whose motions are those of `system` backwards: q(clock - t), with momentum -p."""
    is_hamiltonian = isinstance(system, HamiltonianSystem)
    parts = tuple(part for part in _BACKWARD if part not in ("lagrangian", "hamiltonian") and system.provides(part))
    return _reversed_class(is_hamiltonian, parts)(system, float(clock))


_BACKWARD = {
    "lagrangian": lambda self, t, q, v: self.forward.lagrangian(self.clock - t, q, -v),
    "hamiltonian": lambda self, t, q, p: self.forward.hamiltonian(self.clock - t, q, -p),
    "holonomic": lambda self, t, q: self.forward.holonomic(self.clock - t, q),
    "nonholonomic": lambda self, t, q, v: self.forward.nonholonomic(self.clock - t, q, -v),
    "force": lambda self, t, q, v: self.forward.force(self.clock - t, q, -v),
    "reaction": lambda self, t, q, v, psi: self.forward.reaction(
        self.clock - t, q, -v, -psi if self.forward.provides("nonholonomic") else psi
    ),
    "potential_invariants": lambda self, q: self.forward.potential_invariants(q),
    "potential_of": lambda self, pi: self.forward.potential_of(pi),
    "constraint_invariants": lambda self, q: self.forward.constraint_invariants(q),
    "constraint_of": lambda self, zeta: self.forward.constraint_of(zeta),
    "phase_invariants": lambda self, q, p: self.forward.phase_invariants(q, -p),
    "hamiltonian_of": lambda self, pi: self.forward.hamiltonian_of(pi),
}


@functools.cache
def _reversed_class(is_hamiltonian: bool, parts: tuple[str, ...]) -> Any:
    base: Any = HamiltonianSystem if is_hamiltonian else System
    main = "hamiltonian" if is_hamiltonian else "lagrangian"
    namespace = {part: _BACKWARD[part] for part in (main, *parts)}
    annotations = {"forward": AbstractSystem, "clock": float}
    return type(base)("ReversedSystem", (base,), namespace | {"__annotations__": annotations})
