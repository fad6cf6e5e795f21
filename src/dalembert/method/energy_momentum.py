"""Energy-momentum integration with discrete derivatives (Gonzalez, Physica D 132 (1999) 165-174).

With a discrete derivative D (`formulation/discrete_derivative.py`), z the mean of both ends, t_m the middle::

    q1 - q0 = h (D_2 H + gam . D_2 g')
    p1 - p0 = -h (D_1 H + lam . D g + gam . D_1 g') + h F(t_m, q_z, v_z)
    0       = g(q1)
    0       = g'(q1, p1)                          g' = g_q H_p, the hidden constraint

The terms with gam belong to `velocity_level=True`; without it they are absent, and g' oscillates with an amplitude of
O(h^2). Directionality of D gives H(q1, p1) = H(q0, p0), since g and g' vanish at both ends; with a D that is
equivariant under a symmetry the momentum of that symmetry is kept too.

H is split as T(p) + V(q) where the system is a Lagrangian with a constant mass matrix: D_2 H = v_z with
legendre(q_z, v_z, p_z) = 0, exact since T is quadratic, and D_1 H = D V. Of a Hamiltonian that is no such sum both
partial derivatives are averaged over the other argument::

    D_1 H = (d_q H(., p0) + d_q H(., p1)) / 2,      D_2 H = (d_p H(q0, .) + d_p H(q1, .)) / 2

The gradient "phase-space" takes them as the two parts of one derivative in the 2n entries of x = (q, p), as Gonzalez
does; with the mean x_z, dx = x1 - x0::

    (D_1 H, D_2 H) = H'(x_z) + c dx,      c = (H(x1) - H(x0) - H'(x_z) dx) / |dx|^2

c = O(h^2) adds lengths and momenta to each other, so that the motion depends on their units.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..arguments import flag
from ..errors import InputError
from ..formulation import DISCRETE_DERIVATIVES, acts_entrywise, midpoint, through, weights_through
from ..problem import HamiltonianSystem
from .base import Claims, Method, Step

#: Gonzalez' derivative in all 2n entries of (q, p), and what g and g' use beside it, which are not functions of both.
PHASE_SPACE = "phase-space"
GRADIENTS = ("invariant", *DISCRETE_DERIVATIVES, PHASE_SPACE)
PARTIAL = DISCRETE_DERIVATIVES | {PHASE_SPACE: DISCRETE_DERIVATIVES["gonzalez"]}
#: What a system states through its invariants, and what that must be.
HAMILTONIAN, POTENTIAL, CONSTRAINT = (
    "hamiltonian_of(phase_invariants(q, p))", "potential_of(potential_invariants(q))",
    "constraint_of(constraint_invariants(q))",
)  # fmt: skip
STATED = {HAMILTONIAN: "the Hamiltonian", POTENTIAL: "the potential", CONSTRAINT: "holonomic(t, q)"}


#: how many coordinates and constraints there are, where all are coupled; derivatives above which that is too much
COUPLINGS, MOST_COUPLINGS = "couplings", 5e8
#: how many constraints and invariants there are, where constraints are no functions of one each; evaluations above
#: which that is too much (300 of 300 take 20 s to translate, 1000 of 1000 five minutes)
MIXED, MOST_MIXED = "mixed invariants", 1e5


class EnergyMomentumUnknowns(NamedTuple):
    """The displacement q1 - q0, the end of the step, u = gam . D_2 g', and the multipliers (gam times h)."""

    d: jax.Array
    p1: jax.Array
    v1: jax.Array
    u: jax.Array
    lam: jax.Array
    gam: jax.Array


class EnergyMomentum(Method):
    """Keeps the energy and the constraints exactly, and with `gradient="invariant"` the momenta of symmetries too.

    Args:
        gradient: "invariant" goes through the invariants that the system states (`potential_invariants` and
            `potential_of`, `constraint_invariants` and `constraint_of`; or `phase_invariants` and `hamiltonian_of`);
            "gonzalez", "mean-value", "itoh-abe" and "phase-space" need no statement, and keep the energy but not the
            momenta.
        velocity_level: keep the hidden constraint g_q v = 0 too.
        dissipative: allow forces; then H(t) - H(0) - work is kept instead of H.
    """

    gradient: str = eqx.field(static=True, default="invariant")
    velocity_level: bool = eqx.field(static=True, default=False)
    dissipative: bool = eqx.field(static=True, default=False)

    handles: ClassVar[frozenset[str]] = frozenset({"holonomic", "force", "invariants"})

    def __check_init__(self) -> None:
        flag("EnergyMomentum: velocity_level", self.velocity_level)
        flag("EnergyMomentum: dissipative", self.dissipative)
        if not isinstance(self.gradient, str) or self.gradient not in GRADIENTS:
            raise InputError(
                f"EnergyMomentum: gradient must be one of {', '.join(map(repr, GRADIENTS))}, got {self.gradient!r}."
            )

    @property
    def multiplier(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return "recomputed" if self.velocity_level else "discrete"

    @property
    def claims(self) -> Claims:  # pyright: ignore[reportIncompatibleVariableOverride]
        notes = [] if self.gradient == "invariant" else ["momenta of symmetries vary by O(h^2)"]
        if not self.velocity_level:
            notes.append("the hidden constraint varies by O(h^2); lam belongs to the middle of the step")
        return Claims(
            order=2,
            symmetric=True,
            energy=not self.dissipative,
            momentum=self.gradient == "invariant",
            bounded_energy=True,
            constraints=("position", "velocity") if self.velocity_level else ("position",),
            multiplier_order=2 if self.velocity_level else 1,
            note="; ".join(notes),
        )

    def misfit(self, system) -> str | None:
        if system.provides("force") and not self.dissipative:
            return (
                "it has a force, which does work. Pass dissipative=True to keep H(t) - H(0) - work instead of the "
                "energy."
            )
        if self.gradient != "invariant":
            return None
        if not (system.provides("potential_of") or system.provides("hamiltonian_of")):
            return (
                'gradient="invariant" needs potential_invariants(q) and potential_of(pi) (for a Hamiltonian that is '
                "not a sum T(p) + V(q): phase_invariants(q, p) and hamiltonian_of(pi)). "
                'Define them, or use gradient="gonzalez".'
            )
        if system.provides("holonomic") and not system.provides("constraint_of"):
            return (
                'gradient="invariant" needs constraint_invariants(q) and constraint_of(zeta). Define them, or use '
                'gradient="gonzalez".'
            )
        return None

    def facts(self, mechanics, t, q, v, p) -> dict[str, Any]:
        """The mass matrix at two places, times some vectors, the momentum at rest, how many numbers the derivatives of
        the equations hold, and what the system states about its invariants."""
        system, found, n = mechanics.system, {}, q.shape[0]
        if self.gradient in ("gonzalez", PHASE_SPACE) and system.provides("holonomic"):
            found[COUPLINGS] = jnp.asarray([n, mechanics.constraint(t, q).shape[0]], dtype=float)
        if not isinstance(system, HamiltonianSystem):
            other, rest = q + jnp.linspace(0.1, 0.3, n), jnp.zeros_like(v)
            vectors = jnp.cos(jnp.outer(jnp.arange(1.0, 4.0), jnp.arange(1.0, n + 1.0)))

            def mass(v, q):
                slope = jax.linearize(lambda v: -mechanics.legendre(t, q, v, p), v)[1]
                return jnp.stack([slope(vector) for vector in vectors])

            found |= {"mass": mass(v, q), "mass elsewhere": mass(2 * v + 1, other)}
            found["momentum at rest"] = mechanics.legendre(t, other, rest, jnp.zeros_like(p))
        if self.gradient != "invariant":
            return found
        if system.provides("hamiltonian_of"):
            found[HAMILTONIAN] = jnp.sum(system.hamiltonian_of(system.phase_invariants(q, p)))
            found["the Hamiltonian"] = mechanics.energy(t, q, v, p)
        else:
            zero = jnp.zeros_like(q)
            found[POTENTIAL] = jnp.sum(system.potential_of(system.potential_invariants(q)))
            found["the potential"] = mechanics.energy(t, q, zero, zero)
        if system.provides("holonomic"):
            found[CONSTRAINT] = system.constraint_of(system.constraint_invariants(q))
            found["holonomic(t, q)"] = jnp.atleast_1d(system.holonomic(t, q))
            zeta = system.constraint_invariants(q)
            if not acts_entrywise(system.constraint_of, zeta):
                found[MIXED] = jnp.asarray([found[CONSTRAINT].size, zeta.size], dtype=float)
        return found

    def misfit_at(self, facts: dict[str, np.ndarray]) -> str | None:
        """Lagrangians must be v^T M v / 2 - V(q); what the system states about its invariants must be true."""
        if COUPLINGS in facts:
            n, m = (int(number) for number in facts[COUPLINGS])
            if n * n * m > MOST_COUPLINGS:
                return (
                    f'gradient="{self.gradient}" corrects the gradient of every constraint along q1 - q0, so that '
                    f"each of {m} constraints couples all {n} coordinates with each other ({n * n * m:.0e} "
                    "derivatives). "
                    'Use gradient="mean-value", or "invariant" with the invariants of the system.'
                )
        if MIXED in facts and np.prod(facts[MIXED]) > MOST_MIXED:
            m, r = (int(number) for number in facts[MIXED])
            return (
                f"constraint_of gives {m} constraints that are not seen to be functions of one of the {r} "
                f"constraint_invariants each, so that the invariants are changed one after the other ({m * r:.0e} "
                "evaluations). Write it with operations that act on every entry alone, such as jnp.sqrt(zeta) - 1, or "
                'use gradient="mean-value".'
            )
        if "mass" in facts and not (
            np.allclose(facts["mass"], facts["mass elsewhere"]) and np.allclose(facts["momentum at rest"], 0.0)
        ):
            return (
                "its Lagrangian is not v^T M v / 2 - V(q) with a constant mass matrix. Write it as a "
                "da.HamiltonianSystem, whose hamiltonian(t, q, p) may be any function."
            )
        for name, what in STATED.items():
            if name in facts:
                stated, true = facts[name], facts[what]
                if stated.shape != true.shape or not np.allclose(stated, true, rtol=1e-9, atol=1e-9):
                    return f"{name} = {stated} is not {what}, which is {true} at the start. Correct one of them."
        return None

    # -- the discrete equations -----------------------------------------------------------------------------------

    def guess(self, step: Step) -> EnergyMomentumUnknowns:
        _, p, v, lam, *_ = step.start
        gam = jnp.zeros_like(lam) if self.velocity_level else jnp.zeros(0)
        u = jnp.zeros_like(v) if self.velocity_level else jnp.zeros(0)
        return EnergyMomentumUnknowns(d=step.h * v, p1=p, v1=v, u=u, lam=lam, gam=gam)

    def residual(self, x: EnergyMomentumUnknowns, step: Step) -> dict[str, jax.Array]:
        m, h, t1, (q0, p0, *_) = step.mechanics, step.h, step.t_end, step.start
        q1 = q0 + x.d
        by_q, by_p, push = self._derivatives(x, step)
        equations = {
            "position": self._velocity_equation(x, step, by_p),
            "momentum": x.p1 - p0 - h * self._momentum_rate(x, step, by_q),
            "end: velocity": m.legendre(t1, q1, x.v1, x.p1),
            "end: position constraint": m.constraint(t1, q1),
        }
        if self.velocity_level:
            equations["push"] = push
            equations["end: hidden constraint"] = m.hidden(t1, q1, x.v1)
        return equations

    def finish(self, x: EnergyMomentumUnknowns, step: Step):
        by_q = self._derivatives(x, step)[0]
        return step.end(dq=x.d, dp=step.h * self._momentum_rate(x, step, by_q), v=x.v1, lam=x.lam)

    def _derivatives(self, x: EnergyMomentumUnknowns, step: Step):
        """D_1 H + lam . D g + gam . D_1 g', D_2 H, and what is zero where u = gam . D_2 g'."""
        by_q, by_p = self._hamiltonian_derivatives(x, step)
        by_q = by_q + self._constraint_force(x, step)
        if not self.velocity_level:
            return by_q, by_p, None
        hidden_by_q, push = self._hidden_derivatives(x, step)
        return by_q + hidden_by_q, by_p, push

    def _mean_velocity(self, x: EnergyMomentumUnknowns, step: Step):
        """D_2 H = (q1 - q0) / h - u."""
        return x.d / step.h - x.u if self.velocity_level else x.d / step.h

    def _velocity_equation(self, x: EnergyMomentumUnknowns, step: Step, by_p):
        """Zero where q1 - q0 = h (D_2 H + u)."""
        m, (q0, p0, *_) = step.mechanics, step.start
        velocity = self._mean_velocity(x, step)
        if by_p is not None and isinstance(m.system, HamiltonianSystem):
            return velocity - by_p
        own = velocity if by_p is None else velocity - by_p
        return m.legendre(step.t + step.h / 2, q0 + x.d / 2, own, (p0 + x.p1) / 2)

    def _momentum_rate(self, x: EnergyMomentumUnknowns, step: Step, by_q):
        """(p1 - p0) / h."""
        t, qz = step.t + step.h / 2, step.start.q + x.d / 2
        return step.mechanics.external_force(t, qz, self._mean_velocity(x, step)) - by_q

    def _hamiltonian_derivatives(self, x: EnergyMomentumUnknowns, step: Step):
        """D_1 H and D_2 H; of a Lagrangian D_2 H without the velocity of the mean momentum, None if nothing is left."""
        m, t, (q0, p0, *_) = step.mechanics, step.t + step.h / 2, step.start
        system, q1 = m.system, q0 + x.d
        if self.gradient == "invariant":
            if not system.provides("hamiltonian_of"):
                return through(system.potential_invariants, system.potential_of, q0, q1), None
            n = q0.shape[0]
            D = through(
                lambda y: system.phase_invariants(y[:n], y[n:]), system.hamiltonian_of,
                jnp.concatenate([q0, p0]), jnp.concatenate([q1, x.p1]),
            )  # fmt: skip
            return D[:n], D[n:]
        zero = jnp.zeros_like(q0)
        if self.gradient == PHASE_SPACE:
            n, x0, x1 = q0.shape[0], jnp.concatenate([q0, p0]), jnp.concatenate([q1, x.p1])
            if isinstance(system, HamiltonianSystem):
                D = midpoint(lambda y: system.hamiltonian(t, y[:n], y[n:]), x0, x1)
            else:  # T is quadratic: its part of D_2 H is the velocity of the mean momentum
                D = midpoint(lambda y: m.energy(t, y[:n], zero, zero), x0, x1)
            return D[:n], D[n:]
        d = DISCRETE_DERIVATIVES[self.gradient]
        if not isinstance(system, HamiltonianSystem):
            return d(lambda q: m.energy(t, q, zero, zero), q0, q1), None
        by_q = sum(d(lambda q, p=p: m.energy(t, q, p, p), q0, q1) for p in (p0, x.p1)) / 2
        by_p = sum(d(lambda p, q=q: m.energy(t, q, p, p), p0, x.p1) for q in (q0, q1)) / 2
        return by_q, by_p

    def _constraint_force(self, x: EnergyMomentumUnknowns, step: Step):
        """lam . D g."""
        m, t, q0 = step.mechanics, step.t + step.h / 2, step.start.q
        if not m.system.provides("holonomic"):
            return jnp.zeros_like(q0)
        if self.gradient == "invariant":
            lam = _of_all_rows(m, q0, x.lam)
            return through(m.system.constraint_invariants, lambda z: lam * m.system.constraint_of(z), q0, q0 + x.d)
        return x.lam @ PARTIAL[self.gradient](lambda q: m.constraint(t, q), q0, q0 + x.d)

    def _hidden_derivatives(self, x: EnergyMomentumUnknowns, step: Step):
        """gam . D_1 g', and what is zero where u = gam . D_2 g'."""
        m, t, (q0, p0, v0, *_) = step.mechanics, step.t + step.h / 2, step.start
        gam, q1 = x.gam / step.h, q0 + x.d
        vz = (v0 + x.v1) / 2 if self.gradient == PHASE_SPACE else self._mean_velocity(x, step)
        if not m.system.provides("holonomic"):
            return jnp.zeros_like(q0), x.u
        if self.gradient == "invariant" and m.system.provides("hamiltonian_of"):
            by_q, by_p = _through_phase_invariants(m.system, _of_all_rows(m, q0, gam), q0, p0, q1, x.p1)
            return by_q, x.u - by_p
        if self.gradient == "invariant":
            by_q, push = _through_constraint_invariants(m.system, _of_all_rows(m, q0, gam), q0, v0, q1, vz)
        elif isinstance(m.system, HamiltonianSystem):
            d = PARTIAL[self.gradient]

            def hidden(q, p):
                return gam @ m.hidden(t, q, -m.legendre(t, q, jnp.zeros_like(p), p))

            by_q = sum(d(lambda q, p=p: hidden(q, p), q0, q1) for p in (p0, x.p1)) / 2
            return by_q, x.u - sum(d(lambda p, q=q: hidden(q, p), p0, x.p1) for q in (q0, q1)) / 2
        else:
            d, v1 = PARTIAL[self.gradient], 2 * vz - v0
            by_q = sum(d(lambda q, v=v: gam @ m.hidden(t, q, v), q0, q1) for v in (v0, v1)) / 2
            push = (m.constraint_force(t, q0, gam) + m.constraint_force(t, q1, gam)) / 2
        return by_q, m.mass_residual(x.u, push, t, (q0 + q1) / 2, vz, (p0 + x.p1) / 2)


def _of_all_rows(mechanics, q, multipliers):
    """The multipliers of the constraints that a system states: zero for dependent ones, which are left out."""
    rows = mechanics.holonomic.rows
    if rows is None:
        return multipliers
    zero, place = jnp.zeros(1), {row: k for k, row in enumerate(rows)}
    count = jax.eval_shape(mechanics.system.holonomic, 0.0, q).shape[0]
    return jnp.concatenate([multipliers[place[k] : place[k] + 1] if k in place else zero for k in range(count)])


def _through_constraint_invariants(system, gam, q0, v0, q1, vz):
    """gam . D_1 g' and M gam . D_2 g' where v = M^-1 p with a constant M, so that v1 = 2 v_z - v0.

    gam . g' = w . eta with the slope w(zeta) = d (gam . phi) / d zeta and eta = zeta_q v, which is quadratic in (q, p):
    the product rule of means::

        D (w . eta) = D (w . mean(eta)) + mean(w) . D eta,      D eta = its derivative at the mean
    """
    zeta, phi, qz = system.constraint_invariants, system.constraint_of, (q0 + q1) / 2

    def eta(q, v):
        return jax.jvp(zeta, (q,), (v,))[1]

    def slope(z):
        return jax.vjp(phi, z)[1](gam)[0]

    mean_eta = (eta(q0, v0) + eta(q1, 2 * vz - v0)) / 2
    mean_slope = (slope(zeta(q0)) + slope(zeta(q1))) / 2
    inner = weights_through(lambda z: slope(z) * mean_eta, zeta(q0), zeta(q1))
    pulled = jax.vjp(zeta, qz)[1]
    by_q = pulled(inner)[0] + jax.vjp(lambda q: eta(q, vz), qz)[1](mean_slope)[0]
    return by_q, pulled(mean_slope)[0]


def _through_phase_invariants(system, gam, q0, p0, q1, p1):
    """gam . D_1 g' and gam . D_2 g' of any H = phi(pi(q, p)).

    g'_i = sum_kj dc_i/dzeta_k dphi/dpi_j {zeta_k, pi_j}: a function of zeta, pi and the brackets, all at most
    quadratic.
    """
    n = q0.shape[0]

    def brackets(q, p):
        """zeta_q . d pi_j / dp for all j, (m, r)."""
        by_p = jax.jacfwd(lambda p: system.phase_invariants(q, p))(p)
        return jax.vmap(lambda w: jax.jvp(system.constraint_invariants, (q,), (w,))[1])(by_p).T

    def invariants(y):
        q, p = y[:n], y[n:]
        return jnp.concatenate([system.constraint_invariants(q), system.phase_invariants(q, p), brackets(q, p).ravel()])

    m = jax.eval_shape(system.constraint_invariants, q0).shape[0]
    r = jax.eval_shape(system.phase_invariants, q0, p0).shape[0]

    def hidden(a):
        zeta, pi, bracket = a[:m], a[m : m + r], a[m + r :].reshape(m, r)
        slope = jax.vjp(system.constraint_of, zeta)[1](gam)[0]
        return slope @ (bracket @ jax.grad(lambda pi: jnp.sum(system.hamiltonian_of(pi)))(pi))

    D = through(invariants, hidden, jnp.concatenate([q0, p0]), jnp.concatenate([q1, p1]))
    return D[:n], D[n:]
