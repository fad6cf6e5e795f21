"""Taylor series of the motion, and a projection onto the constraints: explicit, of any order.

With s = (time - t0) / h the motion is q(s) = sum_k Q_k s^k, and likewise V_k, P_k, lam_k, psi_k. From the orders below,
order k = 1 ... K follows from one linear system, the same matrix for all k (M = L_vv, G = g_q, all at t0)::

    V_k = h/k A,   P_k = h/k B,   Q_(k+1) = h/(k+1) V_k

    B + G^T lam_(k-1) + k_v^T psi_(k-1) = (rate - reactions of the lower multipliers)_(k-1)
    d legendre (A, B)                   = -k/h         (legendre with V_k = P_k = 0)_k
    G A                                 = -k (k+1)/h^2 (g with Q_(k+1) = 0)_(k+1)
    k_v A                               = -k/h         (k with V_k = 0)_k

where (f)_k is the coefficient of order k of f along the motion. The sums q^ = sum_k Q_k, p^ = sum_k P_k leave the
constraints by O(h^(K+1)); they are brought back along the reactions, with t1 = t0 + h::

    q1 = q^ - w,   M w = G(t0, q0)^T mu,                 0 = g(t1, q1)
    p1 = p^ - G(t1, q1)^T nu - k_v(t1, q1, v1)^T kappa,  0 = legendre(t1, q1, v1, p1)
    0  = g_q v1 + g_t,   0 = k(t1, q1, v1)
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..errors import InputError
from ..formulation import Acceleration, Along, Arithmetic, late, solved
from .base import Claims, Method, Step

#: Beyond it the last coefficients are roundoff of the first.
HIGHEST_DEGREE = 30


class TaylorUnknowns(NamedTuple):
    """The projected position with its multiplier, the momentum and the velocity with theirs."""

    q1: jax.Array
    mu: jax.Array
    p1: jax.Array
    v1: jax.Array
    nu: jax.Array
    kappa: jax.Array


class Motion(NamedTuple):
    """Coefficients of the motion inside a step, lowest order first."""

    Q: list[jax.Array]
    V: list[jax.Array]
    P: list[jax.Array]
    lam: list[jax.Array]
    psi: list[jax.Array]


class Taylor(Method):
    """The Taylor series of the motion to order `degree`, projected onto the constraints; see the module.

    It keeps the constraints and nothing else: energy and momenta drift by the error of the series, which at a high
    degree is roundoff. It needs no iteration but the projection's, and for smooth, not stiff motions it is the quickest
    way to a given accuracy. Steps much longer than the fastest oscillation make it unstable, as any explicit method.
    """

    degree: int

    handles: ClassVar[frozenset[str]] = frozenset({"holonomic", "nonholonomic", "force", "invariants"})
    explicit: ClassVar[bool] = True
    dense_is_of_full_order: ClassVar[bool] = True

    def __check_init__(self) -> None:
        whole = isinstance(self.degree, int) and not isinstance(self.degree, bool)
        if not whole or not 1 <= self.degree <= HIGHEST_DEGREE:
            raise InputError(
                f"da.Taylor expects a degree from 1 to {HIGHEST_DEGREE}, got {self.degree!r}; "
                "8 to 14 suits errors of 1e-6 to 1e-12."
            )

    def __repr__(self) -> str:
        return f"Taylor({self.degree})"

    @property
    def claims(self) -> Claims:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Order `degree`, and the constraints."""
        return Claims(
            order=self.degree,
            constraints=("position", "velocity"),
            multiplier_order=self.degree,
            note="explicit; energy and momenta to the accuracy of the step",
        )

    def guess(self, step: Step) -> TaylorUnknowns:
        q, p, v, lam, psi, *_ = step.start
        zero = jnp.zeros_like
        return TaylorUnknowns(q1=q + step.h * v, mu=zero(lam), p1=p, v1=v, nu=zero(lam), kappa=zero(psi))

    def residual(self, x: TaylorUnknowns, step: Step) -> dict[str, jax.Array]:
        m, t0, t1, (q0, p0, v0, *_) = step.mechanics, step.t, step.t_end, step.start
        motion = motion_in(step, self.degree)
        away = q0 + _total(motion.Q[1:]) - x.q1
        return {
            "projection": m.mass_residual(away, m.constraint_force(t0, q0, x.mu), t0, q0, v0, p0),
            "position constraint": m.constraint(t1, x.q1),
            "momentum": x.p1 - p0 - self._impulse(x, step, motion),
            "velocity": m.legendre(t1, x.q1, x.v1, x.p1),
            "hidden constraint": m.hidden(t1, x.q1, x.v1),
            "nonholonomic constraint": m.velocity_constraint(t1, x.q1, x.v1),
        }

    def finish(self, x: TaylorUnknowns, step: Step):
        motion = motion_in(step, self.degree)
        dq, dp = _total(motion.Q[1:]) - _correction(x, step), self._impulse(x, step, motion)
        return step.end(dq=dq, dp=dp, v=x.v1, lam=_total(motion.lam), psi=_total(motion.psi))

    def dense(self, x: TaylorUnknowns, step: Step, theta):
        """The series, with the projection spread over the step."""
        motion = motion_in(step, self.degree)
        q, v = (sum(c * theta**k for k, c in enumerate(part)) for part in (motion.Q, motion.V))
        return q - theta**2 * (3 - 2 * theta) * _correction(x, step), v + theta * (x.v1 - _total(motion.V))

    def _impulse(self, x: TaylorUnknowns, step: Step, motion: Motion):
        """p1 - p0."""
        m, t1 = step.mechanics, step.t_end
        projected = m.constraint_force(t1, x.q1, x.nu) + m.nonholonomic.force(t1, x.q1, x.v1, x.kappa)
        return _total(motion.P[1:]) - projected


@eqx.filter_jit  # traced once for residual and end of a step
def motion_in(step: Step, degree: int) -> Motion:
    """The coefficients, as one operation (`late`)."""
    m, t, h, (q, p, v, lam, psi, *_) = step.mechanics, step.t, step.h, step.start
    matrix = _matrix(step)
    traced = [
        jax.make_jaxpr(lambda *a: m.rate(*a[:4]) - m.reactions(*a))(t, q, v, p, lam, psi),
        jax.make_jaxpr(m.legendre)(t, q, v, p),
        jax.make_jaxpr(m.constraint)(t, q),
        jax.make_jaxpr(m.velocity_constraint)(t, q, v),
        jax.make_jaxpr(matrix)(jax.ShapeDtypeStruct((2 * q.size + lam.size + psi.size,), q.dtype)),
    ]
    series = _Coefficients(degree, [closed.jaxpr for closed in traced], [len(closed.consts) for closed in traced])
    n, constrained = q.shape, (lam.shape, psi.shape)
    shapes = [*[n] * (3 * degree + 4), *(shape for shape in constrained for _ in range(degree))]
    consts = [value for closed in traced for value in closed.consts]
    found = iter(late(series, shapes, t, h, q, p, v, lam, psi, *consts))
    lengths = (degree + 2, degree + 1, degree + 1, degree, degree)
    return Motion(*([next(found) for _ in range(length)] for length in lengths))


class _Coefficients:
    """The coefficients of a motion, order by order; what is not known yet is left out and put in once it is."""

    def __init__(self, degree: int, functions: list, constants: list[int]) -> None:
        """From the jaxprs of force, legendre, constraints and matrix, and how many constants each has."""
        self._degree, self._functions, self._constants = degree, functions, constants

    def __call__(self, arithmetic: Arithmetic, t, h, q, p, v, lam, psi, *constants) -> list:
        degree, mul, div = self._degree, arithmetic.mul, arithmetic.div
        known = [list(itertools.islice(iterator, n)) for iterator in [iter(constants)] for n in self._constants]
        *walked, matrix = self._functions
        force, legendre, position, velocity = map(functools.partial(Along, arithmetic), walked, known)
        T = [t, h, *[None] * degree]
        Q, V, P, lams, psis = [q, mul(h, v)], [v], [p], [], []
        legendre.coefficient(0, t, q, v, p)
        velocity.coefficient(0, t, q, v)
        for k in (0, 1):
            position.coefficient(k, T[k], Q[k])

        def scaled(factor, coefficient, like):
            return np.zeros(np.shape(like)) if coefficient is None else mul(factor, coefficient)

        for k in range(1, degree + 1):
            below = (T[k - 1], Q[k - 1], V[k - 1], P[k - 1])
            nothing = (None, None) if k > 1 else (np.zeros(np.shape(lam)), np.zeros(np.shape(psi)))
            right = (
                scaled(1.0, force.coefficient(k - 1, *below, *nothing), p),
                scaled(div(-float(k), h), legendre.coefficient(k, T[k], Q[k], None, None), v),
                scaled(div(-float(k * (k + 1)), mul(h, h)), position.coefficient(k + 1, T[k + 1], None), lam),
                scaled(div(-float(k), h), velocity.coefficient(k, T[k], Q[k], None), psi),
            )
            x = arithmetic.solution(matrix, known[-1], arithmetic.concatenate(right))
            A, B, lam_below, psi_below = _parts(functools.partial(arithmetic.part, x), q, lam, psi)
            V.append(mul(div(h, float(k)), A))
            P.append(mul(div(h, float(k)), B))
            Q.append(mul(div(h, float(k + 1)), V[k]))
            lams.append(lam_below)
            psis.append(psi_below)
            force.coefficient(k - 1, *below, lam_below, psi_below)
            legendre.coefficient(k, T[k], Q[k], V[k], P[k])
            position.coefficient(k + 1, T[k + 1], Q[k + 1])
            velocity.coefficient(k, T[k], Q[k], V[k])
        return [*Q, *V, *P, *lams, *psis]


def _total(coefficients):
    """Their sum, the small ones first."""
    total = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        total = total + coefficient
    return total


def _correction(x: TaylorUnknowns, step: Step):
    """w with M w = G^T mu. (Taken from q1 it would hold the roundoff of q.)"""
    m, t, (q, p, v, *_) = step.mechanics, step.t, step.start
    push, zero = m.constraint_force(t, q, x.mu), jnp.zeros_like(q)

    def known(pi):
        return m.mass_residual(zero, pi, t, q, v, p)

    return solved(lambda w: m.mass_residual(w, zero, t, q, v, p), -known(push))


def _parts(part: Callable, q, lam, psi) -> list:
    """A, B, lam, psi, from parts first ... last of their vector."""
    ends = np.cumsum([0, *(np.shape(one)[0] for one in (q, q, lam, psi))]).tolist()
    return [part(first, last) for first, last in itertools.pairwise(ends)]


def _matrix(step: Step):
    """The left sides of the linear system in the module's docstring."""
    m, t, (q, p, v, lam, psi, *_) = step.mechanics, step.t, step.start

    def product(vector):
        x = Acceleration(*_parts(lambda first, last: vector[first:last], q, lam, psi))
        rows = (
            x.p_rate + m.reactions(t, q, v, p, x.lam, x.psi, ideal=True),
            m.mass_residual(x.v_rate, x.p_rate, t, q, v, p),
            jax.jvp(lambda q: m.constraint(t, q), (q,), (x.v_rate,))[1],
            jax.jvp(lambda v: m.velocity_constraint(t, q, v), (v,), (x.v_rate,))[1],
        )
        return jnp.concatenate(rows)

    return product
