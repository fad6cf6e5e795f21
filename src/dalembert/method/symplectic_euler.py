"""The symplectic Euler method for overdetermined DAEs (Jay), for constrained systems with non-ideal reactions.

In the letters of an `OverdeterminedDAE` (y = q, z = p, velocity v, force f, reaction r, constraint g; for a
mechanical system r = -g_q^T psi + N), with t1 = t0 + h::

    symplectic Euler                                 conjugate
    Z  = z0 + h f(y0, Z) + h a r(y0, z0, P0)         Z  = z0 + h a r(y0, z0, P0)
    y1 = y0 + h v(y0, Z)                             y1 = y0 + h v(y1, Z)
    0  = g(y1)                                       0  = g(y1)
    z1 = Z + R                                       z1 = Z + h f(y1, Z) + R
    0  = g_y(y1) v(y1, z1)                           0  = g_y(y1) v(y1, z1)

    true:      R = h r(y1, z1, P1) - h a r(y1, z1, P0)                (3.5), (3.8)
    natural:   R = h (1 - a) r(y1, z1, P1)                            (3.2), (3.7)

P1 approximates psi in the true method; P0 does not, in either. Where r is affine in psi the two agree, and for a
Hamiltonian system with holonomic constraints they are the symplectic Euler method (2.2) and its conjugate (3.6).
Where r is not affine the natural method is inconsistent: it follows another differential equation
(`dalembert.natural_limit`).

The adjoint of the true method is not the conjugate one but::

    Z  = z0 + h r(y0, z0, P1) - h a r(y0, z0, P0)    (conjugate: + h f(y0, Z))
    y1 = y0 + h v(y1, Z)                             (conjugate: v(y0, Z))
    0  = g(y1)
    z1 = Z + h f(y1, Z) + h a r(y1, z1, P0)          (conjugate: without f)
    0  = g_y(y1) v(y1, z1)

For a `DifferentialAlgebraicInequality` the true method takes the two equations of the constraint as complementarity
conditions, the second of them with Newton's law of impact where the first one holds with g = 0::

    0 <= g(y1)  _|_  P0 >= 0,        0 <= U1 + rho U0  _|_  P1 >= 0,        P1 = 0 where g(y1) > 0

U1 = g_y(y1) v1 and U0 = min(g_y(y1) v0, 0); in a step that starts with g(y0) > 0 the impulses act by `impact` of the
system instead of its reaction. The motion leaves the constraint where its multiplier vanishes, and lands
again.

The adjoint of the natural method with a is the natural conjugate with 1 - a, and the other way round.
"""

from __future__ import annotations

import abc
import warnings
from functools import partial
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from ..arguments import choice, flag, number
from ..errors import InconsistentMethodWarning, InputError
from .base import Claims, Method, Step
from .contact_laws import ROUNDOFF

_HANDLES = frozenset({"holonomic", "force", "reaction", "invariants", "overdetermined"})


class EulerUnknowns(NamedTuple):
    """The stage (V, Z), the end of the step, and both multipliers."""

    V: jax.Array
    Z: jax.Array
    y1: jax.Array
    P0: jax.Array
    z1: jax.Array
    v1: jax.Array
    P1: jax.Array


class _Euler(Method):
    """What the methods of this file share: the stage at one end, reactions at both."""

    handles: ClassVar[frozenset[str]] = _HANDLES

    def guess(self, step: Step) -> EulerUnknowns:
        q, p, v, lam, _, impulse = step.start
        psi = impulse / step.h if step.mechanics.contact.present else lam
        return EulerUnknowns(V=v, Z=p, y1=q + step.h * v, P0=psi, z1=p, v1=v, P1=psi)

    @property
    @abc.abstractmethod
    def _at_end(self) -> bool:
        """Whether force and velocity of the stage are taken at the end of the step."""

    @abc.abstractmethod
    def _first_reaction(self, r0, x: EulerUnknowns) -> Any:
        """What Z takes of the reactions at the start of the step; `r0(psi)` evaluates there."""

    @abc.abstractmethod
    def _last_reaction(self, r1, x: EulerUnknowns) -> Any:
        """What z1 takes of the reactions at the end of the step."""

    def residual(self, x: EulerUnknowns, step: Step) -> dict[str, jax.Array]:
        m, h, t0, t1, (q0, p0, *_) = step.mechanics, step.h, step.t, step.t_end, step.start
        first, last = self._increments(x, step)
        t, q = (t1, x.y1) if self._at_end else (t0, q0)
        on_position, on_velocity = self._constraints(x, step)
        return {
            "stage: momentum": x.Z - p0 - first,
            "stage: velocity": m.legendre(t, q, x.V, x.Z),
            "end: position": x.y1 - q0 - h * x.V,
            "end: position constraint": on_position,
            "end: momentum": x.z1 - x.Z - last,
            "end: velocity": m.legendre(t1, x.y1, x.v1, x.z1),
            "end: hidden constraint": on_velocity,
        }

    def _constraints(self, x: EulerUnknowns, step: Step):
        """g and its derivative at the end, or what complements them."""
        m, h, t1 = step.mechanics, step.h, step.t_end
        if not m.contact.present:
            return m.constraint(t1, x.y1), m.hidden(t1, x.y1, x.v1)
        c, v0 = m.contact, step.start.v
        scale = self._effect_of_multiplier(step)
        pressed = x.P0 - c.gap(t1, x.y1) / (h**2 * scale)
        before = jnp.minimum(c.velocity(t1, x.y1, v0)[:, 0], 0.0)
        after = c.velocity(t1, x.y1, x.v1)[:, 0] + c.restitution(x.P1.shape[0]) * before
        wanted = jnp.where(pressed > 0, jnp.maximum(x.P1 - after / (h * scale), 0.0), 0.0)
        return x.P0 - jnp.maximum(pressed, 0.0), x.P1 - wanted

    def _effect_of_multiplier(self, step: Step):
        """|g_y v_z r_psi| of each constraint at psi = 1, where friction laws are smooth."""
        m, t, (q0, p0, v0, *_) = step.mechanics, step.t, step.start

        def approach(psi):
            change = -m.reactions(t, q0, v0, p0, psi, psi)
            rate = jax.jvp(lambda p: -m.legendre(t, q0, v0, p), (p0,), (change,))[1]
            return m.contact.velocity(t, q0, rate)[:, 0]

        one = jnp.ones_like(step.start.impulse)
        return jnp.abs(jnp.diagonal(jax.jacfwd(approach)(one)))

    def finish(self, x: EulerUnknowns, step: Step):
        first, last = self._increments(x, step)
        if step.mechanics.contact.present:
            return step.end(dq=step.h * x.V, dp=first + last, v=x.v1, impulse=step.h * x.P1)
        return step.end(dq=step.h * x.V, dp=first + last, v=x.v1, lam=x.P1)

    def _increments(self, x: EulerUnknowns, step: Step):
        """Z - z0 and z1 - Z."""
        m, h, t0, t1, (q0, p0, v0, _, psi, *_) = step.mechanics, step.h, step.t, step.t_end, step.start
        at_stage = m.rate(*((t1, x.y1) if self._at_end else (t0, q0)), x.V, x.Z)
        force = h * at_stage
        if m.contact.present:
            flying = m.contact.gap(t0, q0) > ROUNDOFF * jnp.max(jnp.abs(q0))

            system: Any = m.system  # an inequality, whose functions differ from those of a mechanical system

            def reaction(y, z, P):
                pushed = system.reaction(y, z, jnp.where(flying, 0.0, P))
                return pushed + system.impact(y, z, jnp.where(flying, h * P, 0.0)) / h

            first = h * self._first_reaction(lambda P: reaction(q0, p0, P), x)
            last = h * self._last_reaction(lambda P: reaction(x.y1, x.z1, P), x)
        else:
            first = h * self._first_reaction(lambda P: -m.reactions(t0, q0, v0, p0, P, psi), x)
            last = h * self._last_reaction(lambda P: -m.reactions(t1, x.y1, x.v1, x.z1, P, psi), x)
        return (first, force + last) if self._at_end else (force + first, last)


class SymplecticEuler(_Euler):
    """The symplectic Euler method of order 1, "true" or "natural" extension, or its conjugate.

    Args:
        extension: "true" (consistent for every reaction) or "natural" (only for reactions affine in psi).
        conjugate: take the force and the velocity at the end of the step instead of its start.
        alpha: the share of the first reaction; not 0, and for the natural extension not 1.
    """

    handles: ClassVar[frozenset[str]] = _HANDLES | {"inequality"}

    extension: str = eqx.field(static=True, default="true")
    conjugate: bool = eqx.field(static=True, default=False)
    alpha: float = eqx.field(static=True, default=0.5, converter=partial(number, "SymplecticEuler: alpha"))

    def __check_init__(self) -> None:
        choice("SymplecticEuler: extension", self.extension, ("true", "natural"))
        flag("SymplecticEuler: conjugate", self.conjugate)
        if self.alpha == 0 or (self.alpha == 1 and self.extension == "natural"):
            allowed = "not 0" if self.extension == "true" else "neither 0 nor 1"
            raise InputError(
                f"SymplecticEuler: alpha = {self.alpha:g} leaves a multiplier undetermined; with the {self.extension} "
                f"extension it must be {allowed} (0.5 is the usual choice)."
            )

    @property
    def claims(self) -> Claims:  # pyright: ignore[reportIncompatibleVariableOverride]
        note = "" if self.extension == "true" else "inconsistent where the reaction is not affine in psi"
        return Claims(
            order=1, symplectic=True, momentum=True, bounded_energy=True, constraints=("position", "velocity"),
            multiplier_order=1, note=note,
        )  # fmt: skip

    def adjoint(self) -> Method:
        if self.extension == "natural":
            return SymplecticEuler("natural", not self.conjugate, 1 - self.alpha)
        return AdjointSymplecticEuler(not self.conjugate, self.alpha)

    def misfit(self, system) -> str | None:
        if self.extension == "natural" and "inequality" in system.parts:
            return 'only the extension "true" treats inequalities.'
        if self.extension == "natural" and system.provides("reaction"):
            warnings.warn(
                "the natural extension is inconsistent where the reaction is not affine in psi: it converges to the "
                'motion of da.natural_limit(system, alpha). Use SymplecticEuler(extension="true").',
                InconsistentMethodWarning,
                stacklevel=2,
            )
        return None

    @property
    def _at_end(self) -> bool:
        return self.conjugate

    def _first_reaction(self, r0, x: EulerUnknowns):
        return self.alpha * r0(x.P0)

    def _last_reaction(self, r1, x: EulerUnknowns):
        if self.extension == "natural":
            return (1 - self.alpha) * r1(x.P1)
        return r1(x.P1) - self.alpha * r1(x.P0)


class AdjointSymplecticEuler(_Euler):
    """The adjoint of the true symplectic Euler method, in closed form.

    `conjugate` says where the force is taken, as in `SymplecticEuler`: the adjoint of the method that takes it at the
    start takes it at the end.
    """

    conjugate: bool = eqx.field(static=True, default=True)
    alpha: float = eqx.field(static=True, default=0.5)

    @property
    def claims(self) -> Claims:  # pyright: ignore[reportIncompatibleVariableOverride]
        return SymplecticEuler(conjugate=self.conjugate, alpha=self.alpha).claims

    def adjoint(self) -> Method:
        return SymplecticEuler("true", not self.conjugate, self.alpha)

    @property
    def _at_end(self) -> bool:
        return self.conjugate

    def _first_reaction(self, r0, x: EulerUnknowns):
        return r0(x.P1) - self.alpha * r0(x.P0)

    def _last_reaction(self, r1, x: EulerUnknowns):
        return self.alpha * r1(x.P0)
