"""Moreau's time stepping with the theta method, and the scheme of Schatzman and Paoli.

Moreau-Jean (Acary 2012, equations (16) and (19), doi:10.1016/j.apnum.2012.06.026), with x_th = (1 - th) x_0 + th x_1::

    M(q_th) (v1 - v0) = h F(t_th, q_th, v_th) + G^T P - g_q^T lam - k_v^T psi          (at t_th, q_th)
    q1 = q0 + h v_th + w,     w = 0
    P = proj(P - r (U_N+ + rho U_N-, U_T+))   where   g_N(t0, q0) + gamma h U_N(t0, q0, v0) <= 0,  P = 0 elsewhere

U- and U+ are the relative velocities of v0 and v1 in one geometry, that of (t_th, q_th): only then does an impact with
0 <= rho <= 1 never create energy. F holds everything but the reactions, gyroscopic terms of a mass matrix M(q) too:
(16) is written here through the derivative of the Legendre transformation,

    d/dt legendre(t, q, v, p) = 0   along   (h, h v_th, v1 - v0, dp),     dp = h rate + G^T P - reactions,

which is M (v1 - v0) = dp - h (L_vq v + L_vt) for a Lagrangian.

Holonomic constraints hold at position and at velocity level: w = -M^-1 g_q^T mu with g(t1, q1) = 0, beside
g_q(q1) v1 + g_t = 0; nonholonomic ones at velocity level, k(t1, q1, v1) = 0. With `position_correction` contacts that
penetrate are moved apart in the same way, w = M^-1 G_N^T tau with 0 <= g_N(t1, q1) _|_ tau >= 0, in the metric of the
kinetic energy where (19) takes the plain one.

Schatzman-Paoli, from q_-1 = q0 - h v0 and q0, with q1 = q0 + h v1::

    M(q_th) (v1 - v0) = h F(t_th, q_th, v_th) + G^T P - g_q^T lam     (q_th = q0 + th h v1, v_th = (1 - th) v0 + th v1)
    0 = g(t1, q1),     0 <= g_N(t1, (q1 + rho q_-1) / (1 + rho))  _|_  P_N >= 0
    |P_T| <= mu P_N,   P_T = -mu P_N U_T+ / |U_T+| where it slides,   U_T+ at (t_th, q_th) with v1

theta = 0 is the scheme of 1993, explicit in the forces. Bilateral constraints hold as in SHAKE, in the positions;
friction is Coulomb's law for the velocities of the step.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from ..arguments import flag, number
from ..errors import InputError
from ..formulation import contact_friction
from .base import Claims, Method, Step
from .contact_laws import ROUNDOFF, ContactLaw, NewtonCoulomb, compliance, softened

#: In the Jacobian alone, this part of a contact's own compliance is added: dependent contacts (a box on four corners)
#: leave it singular otherwise. The equations that are solved do not contain it.
COMPLIANCE = 1e-5


class MoreauJeanUnknowns(NamedTuple):
    """One step; the corrections of the position are empty where there are none."""

    v1: jax.Array
    p_mid: jax.Array
    p1: jax.Array
    w: jax.Array  # correction of the position
    lam: jax.Array  # h times the multipliers: impulses
    psi: jax.Array
    mu: jax.Array
    impulse: jax.Array  # (contacts, d)
    tau: jax.Array


class MoreauJean(Method):
    """Event-capturing time stepping at velocity level; order 1 through any number of impacts.

    Args:
        theta: 1/2 keeps the energy of linear forces in free flight, 1 damps.
        gamma: the forecast of the gap that decides which contacts are closed, g + gamma h U.
        position_correction: also keep gap >= 0 at every step.
        law: `NewtonCoulomb()`, or `Frictionless()` to leave the friction of a system out.
        compliance: of contacts in Newton's Jacobian, not in the equations; 0 where derivatives are wanted.
    """

    theta: float = eqx.field(
        static=True, default=0.5, converter=partial(number, "theta of MoreauJean", least=0, most=1)
    )
    gamma: float = eqx.field(
        static=True, default=0.5, converter=partial(number, "gamma of MoreauJean", least=0, most=1)
    )
    position_correction: bool = eqx.field(static=True, default=False)
    law: ContactLaw = eqx.field(default=NewtonCoulomb())
    compliance: float = eqx.field(
        static=True, default=COMPLIANCE, repr=False, converter=partial(number, "compliance of MoreauJean", least=0)
    )

    handles: ClassVar[frozenset[str]] = frozenset(
        {"holonomic", "nonholonomic", "force", "gap", "tangent", "spheres", "invariants"}
    )
    claims: ClassVar[Claims] = Claims(order=1, constraints=("position", "velocity"))  # pyright: ignore

    def __check_init__(self) -> None:
        flag("position_correction of MoreauJean", self.position_correction)
        if not isinstance(self.law, ContactLaw):
            raise InputError(f"law must be a contact law such as da.NewtonCoulomb(), got {self.law!r}.")

    @property
    def smooth(self) -> bool:
        return False

    def exact(self) -> MoreauJean:
        return dataclasses.replace(self, compliance=0.0)

    def guess(self, step: Step) -> MoreauJeanUnknowns:
        start, h, c = step.start, step.h, step.mechanics.contact
        shape = jax.eval_shape(c.velocity, step.t, start.q, start.v).shape
        moved = self._corrected(step)
        return MoreauJeanUnknowns(
            v1=start.v,
            p_mid=start.p,
            p1=start.p,
            w=jnp.zeros_like(start.q) if moved else jnp.zeros(0),
            lam=h * start.lam,
            psi=h * start.psi,
            mu=jnp.zeros_like(start.lam),
            impulse=jnp.reshape(start.impulse, shape),
            tau=jnp.zeros(shape[0] if self.position_correction else 0),
        )

    def residual(self, x: MoreauJeanUnknowns, step: Step) -> dict[str, jax.Array]:
        m, h, t0, t1, (q0, _, v0, *_) = step.mechanics, step.h, step.t, step.t_end, step.start
        c, th = m.contact, self.theta
        tm, vm = t0 + th * h, (1 - th) * v0 + th * x.v1
        q1 = q0 + self._displacement(x, step)
        qm = (1 - th) * q0 + th * q1
        dp = h * m.rate(tm, qm, vm, x.p_mid) + c.force(tm, qm, x.impulse)
        dp = dp - m.constraint_force(tm, qm, x.lam) - m.velocity_constraint_force(tm, qm, vm, x.psi)
        equations = {
            "middle: velocity": m.legendre(tm, qm, vm, x.p_mid),
            "momentum": jax.jvp(m.legendre, (tm, qm, vm, x.p_mid), (h, h * vm, x.v1 - v0, dp))[1],
            "end: velocity": m.legendre(t1, q1, x.v1, x.p1),
            "end: position constraint": m.constraint(t1, q1),
            "end: hidden constraint": m.hidden(t1, q1, x.v1),
            "end: nonholonomic constraint": m.velocity_constraint(t1, q1, x.v1),
        }
        if self._corrected(step):
            push = m.constraint_force(t1, q1, x.mu)
            if self.position_correction:
                push = push - _normal_force(m, t1, q1, x.tau)
            equations["correction"] = m.mass_residual(x.w, -push, tm, qm, vm, x.p_mid)
        velocity, scale = self.contact_velocity(x, step), compliance(m, tm, qm, vm, x.p_mid)
        equations["contact"] = self._complementarity(x.impulse, velocity, scale, self.friction(x, step), step)
        if self.position_correction:
            gap = self.gap_after(x, step)
            equations["gap"] = x.tau - jnp.maximum(
                x.tau - softened(gap, x.tau, self.compliance * scale[:, 0]) / scale[:, 0], 0.0
            )
        return equations

    def finish(self, x: MoreauJeanUnknowns, step: Step):
        return step.end(
            dq=self._displacement(x, step), dp=x.p1 - step.start.p, v=x.v1, lam=x.lam / step.h, psi=x.psi / step.h,
            impulse=x.impulse,
        )  # fmt: skip

    def closed(self, step: Step):
        """Which contacts are forecast to be closed, (contacts,)."""
        c, (q, _, v, *_) = step.mechanics.contact, step.start
        forecast = c.gap(step.t, q) + self.gamma * step.h * c.velocity(step.t, q, v)[:, 0]
        return forecast <= ROUNDOFF * (jnp.max(jnp.abs(q)) + step.h * jnp.max(jnp.abs(v)))

    def gap_after(self, x: MoreauJeanUnknowns, step: Step):
        """Distances at the end of the step, (contacts,)."""
        return step.mechanics.contact.gap(step.t_end, step.start.q + self._displacement(x, step))

    def contact_velocity(self, x: MoreauJeanUnknowns, step: Step):
        """w of the law, (contacts, d): U+ + rho U- in the normal, U+ in the tangential directions."""
        c, (q0, _, v0, *_) = step.mechanics.contact, step.start
        tm, qm = step.t + self.theta * step.h, q0 + self.theta * self._displacement(x, step)
        before, after = c.velocity(tm, qm, v0), c.velocity(tm, qm, x.v1)
        return self.law.target(before, after, c.restitution(before.shape[0]))

    def friction(self, x: MoreauJeanUnknowns, step: Step):
        """Coefficients of friction in the units of the rows at (t_th, q_th), (contacts,)."""
        tm, qm = step.t + self.theta * step.h, step.start.q + self.theta * self._displacement(x, step)
        return self.law.friction_used(contact_friction(step.mechanics, tm, qm))

    def _complementarity(self, impulse, velocity, scale, friction, step: Step):
        wanted = self.law.projected(impulse - softened(velocity, impulse, self.compliance * scale) / scale, friction)
        return jnp.where(self.closed(step)[:, None], impulse - wanted, impulse)

    def _corrected(self, step: Step) -> bool:
        return self.position_correction or step.start.lam.shape[0] > 0

    def _displacement(self, x: MoreauJeanUnknowns, step: Step):
        moved = step.h * ((1 - self.theta) * step.start.v + self.theta * x.v1)
        return moved + x.w if self._corrected(step) else moved


def _normal_force(m, t, q, tau):
    (force,) = jax.vjp(lambda q: m.contact.gap(t, q), q)[1](tau)
    return force


class SchatzmanPaoliUnknowns(NamedTuple):
    """One step."""

    v1: jax.Array
    p_mid: jax.Array
    p1: jax.Array
    lam: jax.Array  # h times the multipliers
    impulse: jax.Array  # (contacts, d)


class SchatzmanPaoli(Method):
    """Event-capturing time stepping at position level, order 1.

    Args:
        theta: where forces are taken; 0 is explicit, 1/2 and 1 are implicit.
        law: `NewtonCoulomb()`, or `Frictionless()` to leave the friction of a system out.
    """

    theta: float = eqx.field(
        static=True, default=0.0, converter=partial(number, "theta of SchatzmanPaoli", least=0, most=1)
    )
    law: ContactLaw = eqx.field(default=NewtonCoulomb())

    handles: ClassVar[frozenset[str]] = frozenset({"holonomic", "force", "gap", "tangent", "invariants"})
    claims: ClassVar[Claims] = Claims(order=1, constraints=("position",))  # pyright: ignore

    def __check_init__(self) -> None:
        if not isinstance(self.law, ContactLaw):
            raise InputError(f"law must be a contact law such as da.NewtonCoulomb(), got {self.law!r}.")

    @property
    def smooth(self) -> bool:
        return False

    def guess(self, step: Step) -> SchatzmanPaoliUnknowns:
        start, c = step.start, step.mechanics.contact
        shape = jax.eval_shape(c.velocity, step.t, start.q, start.v).shape
        return SchatzmanPaoliUnknowns(
            start.v, start.p, start.p, step.h * start.lam, jnp.reshape(start.impulse, shape)
        )  # fmt: skip

    def residual(self, x: SchatzmanPaoliUnknowns, step: Step) -> dict[str, jax.Array]:
        m, h, t0, t1, (q0, _, v0, *_) = step.mechanics, step.h, step.t, step.t_end, step.start
        c, th, q1 = m.contact, self.theta, q0 + h * x.v1
        tm, qm, vm = t0 + th * h, q0 + th * h * x.v1, (1 - th) * v0 + th * x.v1
        dp = h * m.rate(tm, qm, vm, x.p_mid) + c.force(tm, qm, x.impulse) - m.constraint_force(tm, qm, x.lam)
        scale = compliance(m, tm, qm, vm, x.p_mid)
        pressed = x.impulse - softened(self._complement(x, step), x.impulse, COMPLIANCE * scale) / scale
        return {
            "middle: velocity": m.legendre(tm, qm, vm, x.p_mid),
            "momentum": jax.jvp(m.legendre, (tm, qm, vm, x.p_mid), (h, h * vm, x.v1 - v0, dp))[1],
            "end: velocity": m.legendre(t1, q1, x.v1, x.p1),
            "end: position constraint": m.constraint(t1, q1),
            "contact": x.impulse - self.law.projected(pressed, self.law.friction_used(contact_friction(m, tm, qm))),
        }

    def _complement(self, x: SchatzmanPaoliUnknowns, step: Step):
        """What complements the impulses, (contacts, d): the gap over h, and U_T+."""
        h, c, (q0, _, v0, *_) = step.h, step.mechanics.contact, step.start
        rho, q1, before = c.restitution(x.impulse.shape[0]), q0 + h * x.v1, q0 - h * v0
        # each contact has its own restitution, so each takes its gap at a place of its own
        gap = jnp.diagonal(jax.vmap(lambda e: c.gap(step.t_end, (q1 + e * before) / (1 + e)))(rho)) / h
        after = c.velocity(step.t + self.theta * h, q0 + self.theta * h * x.v1, x.v1)
        return jnp.concatenate([gap[:, None], after[:, 1:]], axis=1)

    def finish(self, x: SchatzmanPaoliUnknowns, step: Step):
        return step.end(
            dq=step.h * x.v1, dp=x.p1 - step.start.p, v=x.v1, lam=x.lam / step.h, impulse=x.impulse
        )  # fmt: skip
