"""The discrete Lagrange-d'Alembert principle of a SPARK method, as numbers for one step (Jay 2009, Theorem 6.1).

The equations of a step are read as a boundary value problem: (t0, q0) and (t1, q1) are given, and p0, V_i, Psi_i, p1
are functions of them. But only ends that a step can join satisfy them, so that derivatives by q0 and by q1 alone do not
exist. They do when the constraints may take a common value c at the start, at the end and in the sums over stages::

    k(t0, q0, v0) = c,     sum_j omega_ij (k(T_j, Q_j, V_j) - c) = 0,     k(t1, q1, v1) = c

Then every pair (q0, q1) near a step is admitted and determines c(t0, q0, t1, q1); the steps of the method are those
with c = 0. With f the external force and r = k_v^T Psi - N the reaction at the stages::

    L_d   = h sum_i b_i L(T_i, Q_i, V_i)
    f_d^- =  h sum_i b_i (h sum_j (a~_ij r_j - a^_ij f_j))^T dV_i/dq0
    f_d^+ = -h sum_i b_i (h sum_j ((b~_j - a~_ij) r_j - (b^_j - a^_ij) f_j))^T dV_i/dq1

Where b^ = b and b_i a_ij + b_j a^_ji = b_i b_j, differentiation of L_d gives p0 = -D_q0 L_d - f_d^- and
p1 = D_q1 L_d + f_d^+, so that two steps in a row satisfy the discrete equations (4.5)::

    D_q1 L_d(q0, q1) + D_q0 L_d(q1, q2) + f_d^+(q0, q1) + f_d^-(q1, q2) = 0,     c(q0, q1) = c(q1, q2)

with c = 0 along a run.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from ..arguments import floats, number
from ..errors import InputError, MethodDoesNotFit, StepFailure
from ..formulation import Mechanics, mechanics_of
from ..method import Spark, Step, gauss_spark
from ..problem import State, System, prepared
from ..stepping import check_fit, layout_of

#: Newton stops when its update no longer shrinks, at the latest after so many iterations.
MAX_ITERATIONS = 30
#: Stages of the Gauss methods that stand for the exact motion over one step, and how far both may differ, relative to
#: the size of a result.
EXACT_STAGES, EXACT_TOLERANCE = (8, 10), 1e-11


class DiscretePrinciple(NamedTuple):
    """One step from (t0, q0) to (t1, q1): the discrete Lagrangian, its derivatives, and the discrete forces."""

    q1: Any
    Ld: Any  # a scalar
    D1: Any  # dL_d / dq0
    D2: Any  # dL_d / dq1
    f_minus: Any
    f_plus: Any
    c: Any  # the common value of the constraints
    p0: Any
    p1: Any


def discrete_principle(
    system: System, method: Spark, q0, v0, h: float, *, t0: float = 0.0, q1=None
) -> DiscretePrinciple:
    """L_d, f_d^- and f_d^+ of a SPARK method for the step of size h from (q0, v0), with the derivatives of L_d.

    With `q1` the ends q0 and q1 are given instead, and v0 is only where Newton starts; h may then be negative, which is
    the step backwards.

    Args:
        system: a `System` with nonholonomic constraints, forces, or neither.
        method: a `Spark` whose tableau satisfies (6.2).
        q0, v0: the start of the step, shape (n,).
        h: the step size.
        t0: the time at q0.
        q1: the position at t0 + h, if the ends are given.
    """
    if not isinstance(method, Spark):
        raise InputError(f"discrete_principle expects a da.Spark method, got {type(method).__name__}.")
    if not method.tableau.variational or not method.tableau.ends_on_constraint:
        raise MethodDoesNotFit(f"{method.name} has no discrete Lagrange-d'Alembert principle: (6.2) does not hold.")
    if not isinstance(system, System) or system.provides("holonomic"):
        raise MethodDoesNotFit(
            "the discrete principle is that of a da.System with constraints on the velocity only; for holonomic "
            "constraints see da.discrete_lagrangian."
        )
    ready: Any = prepared(system)
    check_fit(ready, method)
    h, t0 = number("h", h), number("t0", t0)
    if h == 0:
        raise InputError("h must be a number other than 0; a negative one is the step backwards.")
    given = {"q0": q0, "v0": v0} | ({} if q1 is None else {"q1": q1})
    vectors = {name: jnp.asarray(floats(name, value, finite=True)) for name, value in given.items()}
    q0, v0 = vectors["q0"], vectors["v0"]
    for name, value in vectors.items():
        if value.ndim != 1 or value.shape != q0.shape:
            raise InputError(f"{name} must have shape (n,), that of q0, {q0.shape}; got {value.shape}.")
    layout_of(ready, len(q0))  # refuses functions that do not fit n coordinates
    end = q0 + h * v0 if q1 is None else vectors["q1"]
    times = jnp.asarray(t0, jnp.float64), jnp.asarray(h, jnp.float64)
    known = np.bool_(q1 is not None)
    m = mechanics_of(ready)
    x = np.asarray(_guess(m, method, *times, q0, v0))
    before = size = np.inf
    for _ in range(MAX_ITERATIONS):
        residual, jacobian = _linearised(m, method, known, jnp.asarray(x), *times, q0, v0, end)
        update = np.linalg.solve(np.asarray(jacobian), np.asarray(residual))
        x, size = x - update, float(np.max(np.abs(update)))
        if not np.isfinite(size) or size <= 1e-15 or (size < 1e-10 and size >= 0.5 * before):
            break
        before = size
    if not size <= 1e-8 * max(1.0, float(np.max(np.abs(x)))):
        raise StepFailure(f"the step from t = {t0:g} with h = {h:g} was not found (Newton did not converge).")
    found = _principle(m, method, jnp.asarray(x), *times, q0)._asdict()
    if not all(np.all(np.isfinite(part)) for part in found.values()):
        raise StepFailure(f"the step from t = {t0:g} with h = {h:g} has no finite discrete Lagrangian.")
    return DiscretePrinciple(**{name: np.asarray(part) for name, part in found.items()})


def exact_principle(system: System, q0, v0, h: float, *, t0: float = 0.0, q1=None) -> DiscretePrinciple:
    """The exact discrete Lagrangian and the exact discrete forces of one step (Jay 2009, section 5).

    With q(t) the motion from q0 at t0 to q1 at t0 + h, f the external force and r the reaction along it::

        L_d^E   = int L(t, q(t), v(t)) dt
        f_d^E-  =  int (int_t0^s (r - f) dt)^T dv(s)/dq0 ds
        f_d^E+  = -int (int_s^t1 (r - f) dt)^T dv(s)/dq1 ds

    computed by Gauss SPARK methods of order 16 and 20, which must agree to 1e-11. With the same q0 and q1 the L_d of
    a method of order p differs from it by O(h^(p+1)), its momenta and forces by O(h^p): a measure that needs no run.

    The arguments are those of `discrete_principle`.
    """
    coarse, fine = (discrete_principle(system, gauss_spark(s), q0, v0, h, t0=t0, q1=q1) for s in EXACT_STAGES)
    for name, one, other in zip(fine._fields, coarse, fine, strict=True):
        apart, size = np.max(np.abs(one - other), initial=0.0), np.max(np.abs(other), initial=0.0)
        if apart > EXACT_TOLERANCE * max(1.0, size):
            raise StepFailure(
                f"the exact discrete principle of a step of {abs(float(h)):g} is not found: Gauss methods of order 16 "
                f"and 20 differ by {apart:.1e} in {name}. Take a smaller h."
            )
    return fine


def _step(mechanics: Mechanics, t0, h, q0, p0, v0) -> Step:
    psi = jnp.zeros_like(mechanics.velocity_constraint(t0, q0, v0))
    start = jax.tree.map(lambda _: jnp.zeros(0), State(*[0.0] * len(State._fields)))
    return Step(mechanics, t0, h, start._replace(q=q0, p=p0, v=v0, psi=psi))


class _Unknowns(NamedTuple):
    p0: Any
    v0: Any
    c: Any
    inner: Any  # those of the method


@eqx.filter_jit
def _guess(mechanics, method, t0, h, q0, v0):
    p0 = jax.grad(mechanics.system.lagrangian, argnums=2)(t0, q0, v0)
    step = _step(mechanics, t0, h, q0, p0, v0)
    return ravel_pytree(_Unknowns(p0, v0, step.start.psi, method.guess(step)))[0]


def _unravelled(mechanics, method, x, t0, h, q0) -> _Unknowns:
    step = _step(mechanics, t0, h, q0, q0, q0)
    return ravel_pytree(_Unknowns(q0, q0, step.start.psi, method.guess(step)))[1](x)


def _equations(mechanics, method, known, x, t0, h, q0, v0, q1):
    """The equations of the step with p0, v0, c among the unknowns; closed by q1, or by v0 where q1 is not `known`.

    Many arguments: the letters of the equations, which JAX traces one by one.
    """
    u = _unravelled(mechanics, method, x, t0, h, q0)
    step = _step(mechanics, t0, h, q0, u.p0, u.v0)
    reached = q0 + h * (method.tableau.b.array @ u.inner.V)
    closing = jnp.where(known, reached - q1, u.v0 - v0)
    legendre = step.mechanics.legendre(t0, q0, u.v0, u.p0)
    first = step.mechanics.velocity_constraint(t0, q0, u.v0) - u.c
    inside = method.residual(u.inner, step)
    inside["stages: nonholonomic constraint"] -= jnp.sum(method.tableau.omega.array, axis=1)[:, None] * u.c
    inside["end: nonholonomic constraint"] -= u.c
    return ravel_pytree((inside, legendre, first, closing))[0]


@eqx.filter_jit
def _linearised(mechanics, method, known, x, *rest):
    def equations(x):
        return _equations(mechanics, method, known, x, *rest)

    return equations(x), jax.jacfwd(equations)(x)


@eqx.filter_jit
def _principle(mechanics, method, x, t0, h, q0) -> DiscretePrinciple:
    tab, lagrangian = method.tableau, mechanics.system.lagrangian
    b, A_hat, A_tilde = tab.b.array, tab.A_hat.array, tab.A_tilde.array
    u = _unravelled(mechanics, method, x, t0, h, q0)
    V, Psi = u.inner.V, u.inner.Psi
    q1, T = q0 + h * (b @ V), t0 + h * tab.c.array

    def equations(x, q0, q1):
        return _equations(mechanics, method, True, x, t0, h, q0, u.v0, q1)

    by_x, by_start, by_end = jax.jacfwd(equations, argnums=(0, 1, 2))(x, q0, q1)
    slopes = -jnp.linalg.solve(by_x, jnp.concatenate([by_start, by_end], axis=1))
    n = q0.shape[0]

    def stage_velocities(x):
        return _unravelled(mechanics, method, x, t0, h, q0).inner.V

    V_slopes = jax.jacfwd(stage_velocities)(x) @ slopes  # (s, n, 2n)
    V_start, V_end = V_slopes[..., :n], V_slopes[..., n:]

    def action(q0, V):
        return h * jnp.sum(b * jax.vmap(lagrangian)(T, q0 + h * (tab.A.array @ V), V))

    by_q, by_V = jax.grad(action, argnums=(0, 1))(q0, V)
    Q = q0 + h * (tab.A.array @ V)
    reaction = jax.vmap(mechanics.velocity_constraint_force)(T, Q, V, Psi)
    force = jax.vmap(mechanics.external_force)(T, Q, V)
    early = A_tilde @ reaction - A_hat @ force
    late = tab.b_tilde.array @ reaction - tab.b_hat.array @ force - early
    return DiscretePrinciple(
        q1=q1,
        Ld=action(q0, V),
        D1=by_q + jnp.einsum("in,inm->m", by_V, V_start),
        D2=jnp.einsum("in,inm->m", by_V, V_end),
        f_minus=h**2 * jnp.einsum("i,in,inm->m", b, early, V_start),
        f_plus=-(h**2) * jnp.einsum("i,in,inm->m", b, late, V_end),
        c=u.c,
        p0=u.p0,
        p1=u.inner.p1,
    )
