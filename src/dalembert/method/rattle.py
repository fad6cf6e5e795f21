"""SHAKE and RATTLE in position-momentum form, for any regular Lagrangian or Hamiltonian.

Both begin with the same half step, the constrained 2-stage Lobatto IIIA-IIIB pair (Jay 1996,
doi:10.1137/0733019; Hairer, Lubich, Wanner, Geometric Numerical Integration, VII.1). With t1 = t0 + h,
f = L_q + F (or -H_q + F), and G = g_q::

    p~  = p0 + h/2 f(t0, q0, V0) - G(t0, q0)^T L0 / h        L0 = h^2/2 lam_0
    0   = legendre(t0, q0, V0, p~)
    q1  = q0 + h/2 (V0 + V1)
    0   = legendre(t1, q1, V1, p~)
    0   = g(t1, q1)

A reaction that is not ideal adds its part N: G(t0, q0)^T L0 - h^2/2 N(t0, q0, V0, lam_0), and so at t1 with V1. lam_0
and lam_1 are both multipliers of first order, so that the order 2 of the symmetric step stays.

The multiplier is carried as h^2/2 lam: in that scale its roundoff is that of q. For a constant mass matrix and a
potential V0 = V1 and this is the classical scheme (Ryckaert, Ciccotti, Berendsen 1977,
doi:10.1016/0021-9991(77)90098-5; Andersen 1983, doi:10.1016/0021-9991(83)90014-1).
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import jax

from ..formulation import Mechanics
from .base import Claims, Method, Step

_HANDLES = frozenset({"holonomic", "force", "reaction", "invariants"})


class RattleUnknowns(NamedTuple):
    """Velocities at both ends of the half-step momentum, the new position, the new momentum and velocity."""

    V0: jax.Array
    V1: jax.Array
    p_half: jax.Array
    q1: jax.Array
    L0: jax.Array
    p1: jax.Array
    v1: jax.Array
    L1: jax.Array


class ShakeUnknowns(NamedTuple):
    """As in RATTLE, and the look-ahead to q2 that determines the multiplier at q1."""

    V0: jax.Array
    V1: jax.Array
    p_half: jax.Array
    q1: jax.Array
    L0: jax.Array
    p1: jax.Array
    v1: jax.Array
    L1: jax.Array
    W0: jax.Array
    W1: jax.Array
    p_next: jax.Array
    q2: jax.Array


def _reaction(m: Mechanics, t, scale, q, v, p, L) -> Any:
    """scale (G^T lam - N(t, q, v, lam)) with L = scale lam."""
    if m.rough_holonomic:
        return scale * m.holonomic_reaction(t, q, v, p, L / scale)
    return m.constraint_force(t, q, L)


def _position_step(m: Mechanics, t0, h, q0, p0, V0, V1, p_half, q1, L0, label: str) -> dict[str, jax.Array]:
    """The five equations of the module's docstring, from (q0, p0) to q1.

    Many arguments: the letters of the equations; the look-ahead of SHAKE has others than its step.
    """
    t1, R0 = t0 + h, _reaction(m, t0, h**2 / 2, q0, V0, p_half, L0)
    return {
        f"{label}: momentum": p_half - p0 - h / 2 * m.rate(t0, q0, V0, p_half) + R0 / h,
        f"{label}: velocity at the start": m.legendre(t0, q0, V0, p_half),
        f"{label}: position": q1 - q0 - h / 2 * (V0 + V1),
        f"{label}: velocity at the end": m.legendre(t1, q1, V1, p_half),
        f"{label}: position constraint": m.constraint(t1, q1),
    }


class Rattle(Method):
    """RATTLE: the half step, then a momentum whose velocity satisfies the hidden constraint::

        p1  = p~ + h/2 f(t1, q1, V1) - G(t1, q1)^T L1          L1 = h/2 lam_1
        0   = legendre(t1, q1, v1, p1)
        0   = G(t1, q1) v1 + g_t(t1, q1)

    Second order, symmetric, symplectic on the constraint manifold.
    """

    claims: ClassVar[Claims] = Claims(
        order=2,
        symmetric=True,
        symplectic=True,
        momentum=True,
        bounded_energy=True,
        constraints=("position", "velocity"),
        multiplier_order=2,
    )
    handles: ClassVar[frozenset[str]] = _HANDLES | {"overdetermined"}

    def guess(self, step: Step) -> RattleUnknowns:
        h, (q, p, v, lam, *_) = step.h, step.start
        return RattleUnknowns(V0=v, V1=v, p_half=p, q1=q + h * v, L0=h**2 / 2 * lam, p1=p, v1=v, L1=h / 2 * lam)

    def residual(self, x: RattleUnknowns, step: Step) -> dict[str, jax.Array]:
        m, h, t1, start = step.mechanics, step.h, step.t_end, step.start
        return _position_step(m, step.t, h, start.q, start.p, x.V0, x.V1, x.p_half, x.q1, x.L0, "first half") | {
            "second half: momentum": (
                x.p1 - x.p_half - h / 2 * m.rate(t1, x.q1, x.V1, x.p_half) + self._last_reaction(x, step)
            ),
            "second half: velocity": m.legendre(t1, x.q1, x.v1, x.p1),
            "second half: hidden constraint": m.hidden(t1, x.q1, x.v1),
        }

    def finish(self, x: RattleUnknowns, step: Step):
        m, h, t0, t1, q0 = step.mechanics, step.h, step.t, step.t_end, step.start.q
        forces = m.rate(t0, q0, x.V0, x.p_half) + m.rate(t1, x.q1, x.V1, x.p_half)
        reactions = _reaction(m, t0, h**2 / 2, q0, x.V0, x.p_half, x.L0) / h + self._last_reaction(x, step)
        return step.end(dq=h / 2 * (x.V0 + x.V1), dp=h / 2 * forces - reactions, v=x.v1, lam=2 / h**2 * x.L0)

    @staticmethod
    def _last_reaction(x: RattleUnknowns, step: Step):
        """h/2 (G^T lam_1 - N_1)."""
        return _reaction(step.mechanics, step.t_end, step.h / 2, x.q1, x.V1, x.p_half, x.L1)


class Shake(Method):
    """SHAKE: the half step, and the momentum of the variational integrator, which keeps g but not g_q v + g_t::

        p1  = p~ + h/2 f(t1, q1, V1) - G(t1, q1)^T L1 / h      L1 = h^2/2 lam_1
        0   = legendre(t1, q1, v1, p1)

    where L1 is fixed by the position constraint of the following half step, (q1, p1) -> q2 with g(t1 + h, q2) = 0
    and L1 in the place of L0. (For a constant mass matrix v1 is the central difference (q2 - q0) / 2h.) The
    positions are those of RATTLE; a run reversed in q returns through the same positions, but its momentum does not
    return to a p0 that satisfies the hidden constraint.
    """

    claims: ClassVar[Claims] = Claims(
        order=2,
        symmetric_positions=True,
        bounded_energy=True,
        momentum=True,
        constraints=("position",),
        multiplier_order=2,
        note="reversible in q, not in p; the hidden constraint holds to O(h^2)",
    )
    multiplier: ClassVar[str] = "discrete"
    handles: ClassVar[frozenset[str]] = _HANDLES

    def guess(self, step: Step) -> ShakeUnknowns:
        h, (q, p, v, lam, *_) = step.h, step.start
        L = h**2 / 2 * lam
        return ShakeUnknowns(
            V0=v, V1=v, p_half=p, q1=q + h * v, L0=L, p1=p, v1=v, L1=L, W0=v, W1=v, p_next=p, q2=q + 2 * h * v
        )

    def residual(self, x: ShakeUnknowns, step: Step) -> dict[str, jax.Array]:
        m, h, t1, start = step.mechanics, step.h, step.t_end, step.start
        first = _position_step(m, step.t, h, start.q, start.p, x.V0, x.V1, x.p_half, x.q1, x.L0, "first half")
        second = {
            "second half: momentum": (
                x.p1
                - x.p_half
                - h / 2 * m.rate(t1, x.q1, x.V1, x.p_half)
                + _reaction(m, t1, h**2 / 2, x.q1, x.V1, x.p_half, x.L1) / h
            ),
            "second half: velocity": m.legendre(t1, x.q1, x.v1, x.p1),
        }
        ahead = _position_step(m, t1, h, x.q1, x.p1, x.W0, x.W1, x.p_next, x.q2, x.L1, "look-ahead")
        return first | second | ahead

    def finish(self, x: ShakeUnknowns, step: Step):
        m, h, t0, t1, q0 = step.mechanics, step.h, step.t, step.t_end, step.start.q
        forces = m.rate(t0, q0, x.V0, x.p_half) + m.rate(t1, x.q1, x.V1, x.p_half)
        reactions = _reaction(m, t0, h**2 / 2, q0, x.V0, x.p_half, x.L0)
        reactions += _reaction(m, t1, h**2 / 2, x.q1, x.V1, x.p_half, x.L1)
        return step.end(dq=h / 2 * (x.V0 + x.V1), dp=h / 2 * forces - reactions / h, v=x.v1, lam=2 / h**2 * x.L1)
