"""Lagrange-d'Alembert SPARK methods for nonholonomic, holonomic and mixed constraints.

With T_i = t0 + c_i h, t1 = t0 + h, f = L_q + F, r = k_v^T psi - N (reaction of the nonholonomic constraints) and
G = g_q, one step from (q0, p0) is::

    Q_i  = q0 + h sum_j a_ij V_j                                     positions of the stages,        i = 1..s
    Qt_i = q0 + h sum_j Abar_ij V_j                                  nodes of g, Qt_0 = q0, Qt_r = q1
    P_i  = p0 + h sum_j a^_ij f(T_j, Q_j, V_j) - h sum_j a~_ij r(T_j, Q_j, V_j, Psi_j)
              - h sum_j Atil_ij G(Qt_j)^T Lam_j
    0    = legendre(T_i, Q_i, V_i, P_i)
    q1   = q0 + h sum_j b_j V_j
    p1   = p0 + h sum_j b^_j f_j - h sum_j b~_j r_j - h sum_j bt_j G(Qt_j)^T Lam_j
    0    = legendre(t1, q1, v1, p1)
    0    = g(Qt_i), i = 1..r          0 = G(q1) v1 + g_t
    0    = sum_j omega_ij k(T_j, Q_j, V_j), i = 1..s-1          0 = k(t1, q1, v1)

A reaction of holonomic constraints that is not ideal, G^T Lam_j - N(Tt_j, Qt_j, Vt_j, Lam_j), is taken with the
velocity Vt_j = sum_k l_k(ct_j) V_k of the polynomial through the V_k; of an overdetermined DAE -r(Qt_j, Zt_j, Lam_j),
likewise with the P_k. It may be nonlinear in Lam_j where the multipliers are those of the motion to first order at
least (`SparkTableau.consistent_multipliers`); those of the symplectic Euler methods are not.

There are r + 1 multipliers Lam_j and as many equations for g, s multipliers Psi_j and as many equations for k. Without
holonomic constraints this is Jay's method (6.1); without nonholonomic ones it is the symplectic SPARK method for
holonomic constraints, with Gauss coefficients the (s, s)-Gauss-Lobatto method. With both, positions and velocities
satisfy all constraints at every step.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import mpmath
import numpy as np

from ..errors import InputError
from .base import Claims, Method, Step
from .polynomials import continuation, lagrange_basis
from .spark_tableau import SparkTableau, euler_tableau, gauss_tableau, lobatto_tableau
from .tableau import basis_integrals, exact_nodes, quadrature


class SparkUnknowns(NamedTuple):
    """Velocities, momenta and multipliers of the stages, and the end of the step."""

    V: jax.Array
    P: jax.Array
    Psi: jax.Array
    Lam: jax.Array
    p1: jax.Array
    v1: jax.Array


class Spark(Method):
    """The SPARK method of a tableau; see `gauss_spark`, `lobatto_spark` and `euler_spark` for ready-made ones."""

    tableau: SparkTableau = eqx.field(static=True)

    handles: ClassVar[frozenset[str]] = frozenset(
        {"holonomic", "nonholonomic", "force", "reaction", "invariants", "overdetermined"}
    )

    def __check_init__(self) -> None:
        if not isinstance(self.tableau, SparkTableau):
            raise InputError(f"da.Spark expects a da.SparkTableau, got {type(self.tableau).__name__}.")

    def __repr__(self) -> str:
        return self.tableau.name or f"Spark({self.tableau!r})"

    @property
    def claims(self) -> Claims:  # pyright: ignore[reportIncompatibleVariableOverride]
        """What follows from the checks of the tableau."""
        tableau = self.tableau
        notes = [] if tableau.variational else ["no discrete Lagrange-d'Alembert principle"]
        if not tableau.ends_on_constraint:
            notes.append("nonholonomic constraints hold at the stages only")
        variational_pair = tableau.variational and len(tableau.holonomic.nodes.array) > 0
        return Claims(
            order=tableau.order,
            symmetric=tableau.symmetric,
            symplectic=variational_pair,
            momentum=variational_pair,
            bounded_energy=tableau.symmetric or variational_pair,
            constraints=("position", "velocity") if tableau.ends_on_constraint else ("position",),
            multiplier_order=tableau.order,
            unequal_order=tableau.unequal_order if tableau.unequal_order < tableau.order else None,
            note="; ".join(notes),
        )

    def misfit(self, system) -> str | None:
        if system.provides("holonomic") and not len(self.tableau.holonomic.nodes.array):
            return "its tableau has no nodes for holonomic constraints; give SparkTableau(..., holonomic=...)."
        rough = system.provides("reaction") and not system.provides("nonholonomic")
        if rough and not self.tableau.consistent_multipliers:
            return (
                "its multipliers of holonomic constraints are not those of the motion, so that a reaction nonlinear in "
                "them would be another one; use da.gauss_spark, da.lobatto_spark, or da.SymplecticEuler, whose true "
                "extension is made for it."
            )
        return None

    def adjoint(self) -> Spark | None:
        """The tableau with its stages in reverse; not for methods that leave the constraint."""
        return Spark(self.tableau.reversed()) if self.tableau.ends_on_constraint else None

    def guess(self, step: Step) -> SparkUnknowns:
        s, (_, p, v, lam, psi, *_) = self.tableau.stages, step.start

        def repeated(x, count):
            return jnp.broadcast_to(x, (count, *x.shape))

        return SparkUnknowns(
            V=repeated(v, s),
            P=repeated(p, s),
            Psi=repeated(psi, s),
            Lam=repeated(step.h**2 * lam, len(self.tableau.holonomic.nodes.array)),
            p1=p,
            v1=v,
        )

    def residual(self, x: SparkUnknowns, step: Step) -> dict[str, jax.Array]:
        m, h, t1, p0 = step.mechanics, step.h, step.t_end, step.start.p
        tab = self.tableau
        T, Q, q1 = self._positions(x, step)
        f, r, Rt = self._forces(x, step)
        k = jax.vmap(m.velocity_constraint)(T, Q, x.V)
        momenta = p0 + h * (tab.A_hat.array @ f - tab.A_tilde.array @ r) - tab.holonomic.momenta.array @ Rt / h
        times, places = self._nodes_of_g(x, step)
        equations = {
            "stages: momentum": x.P - momenta,
            "stages: velocity": jax.vmap(m.legendre)(T, Q, x.V, x.P),
            "stages: nonholonomic constraint": tab.omega.array @ k,
            "end: momentum": x.p1 - p0 - self._momentum_increment(step, f, r, Rt),
            "end: velocity": m.legendre(t1, q1, x.v1, x.p1),
            "nodes: position constraint": jax.vmap(m.constraint)(times[1:], places[1:]),
            "end: hidden constraint": m.hidden(t1, q1, x.v1),
        }
        if tab.ends_on_constraint:
            equations["end: nonholonomic constraint"] = m.velocity_constraint(t1, q1, x.v1)
        return equations

    def finish(self, x: SparkUnknowns, step: Step):
        h = step.h
        dq = h * (self.tableau.b.array @ x.V)
        dp = self._momentum_increment(step, *self._forces(x, step))
        lam = x.Lam[-1] / h**2 if len(x.Lam) else None
        return step.end(dq=dq, dp=dp, v=x.v1, lam=lam, psi=x.Psi[-1])

    def dense(self, x: SparkUnknowns, step: Step, theta):
        """q0 + h sum_j (int_0^theta l_j) V_j, with the Lagrange basis of the nodes c; the default where nodes coincide
        or the weights b are not those of the nodes, because it would not end in q1."""
        c = self.tableau.c.array
        if len(set(c.tolist())) < len(c):
            return super().dense(x, step, theta)
        nodes = exact_nodes("lobatto", len(c) + 1)
        integrals = basis_integrals(tuple(mpmath.mpf(float(node)) for node in c), nodes)
        if np.max(np.abs(integrals[-1] - self.tableau.b.array)) > 1e-12:
            return super().dense(x, step, theta)
        weights = lagrange_basis(quadrature("lobatto", len(c) + 1).nodes, theta) @ integrals
        return step.start.q + step.h * (weights @ x.V), lagrange_basis(c, theta) @ x.V

    def continued(self, x: SparkUnknowns, step: Step) -> SparkUnknowns:
        stages, nodes = continuation(self.tableau.c.array), self.tableau.holonomic.nodes.array
        later = continuation(nodes) @ x.Lam if len(nodes) else x.Lam
        return x._replace(V=stages @ x.V, P=stages @ x.P, Psi=stages @ x.Psi, Lam=later)

    def _positions(self, x: SparkUnknowns, step: Step):
        h, q0, tab = step.h, step.start.q, self.tableau
        return step.t + h * tab.c.array, q0 + h * (tab.A.array @ x.V), q0 + h * (tab.b.array @ x.V)

    def _nodes_of_g(self, x: SparkUnknowns, step: Step):
        part = self.tableau.holonomic
        return step.t + step.h * part.nodes.array, step.start.q + step.h * (part.positions.array @ x.V)

    def _forces(self, x: SparkUnknowns, step: Step):
        """f and r at the stages, and h^2 G^T Lam at the nodes of g: that scale is the one of positions."""
        m = step.mechanics
        T, Q, _ = self._positions(x, step)
        f, r = jax.vmap(m.rate)(T, Q, x.V, x.P), jax.vmap(m.velocity_constraint_force)(T, Q, x.V, x.Psi)
        times, places = self._nodes_of_g(x, step)
        if m.rough_holonomic:
            to_nodes, h = self.tableau.to_holonomic_nodes, step.h
            V, P = to_nodes @ x.V, to_nodes @ x.P
            return f, r, h**2 * jax.vmap(m.holonomic_reaction)(times, places, V, P, x.Lam / h**2)
        return f, r, jax.vmap(m.constraint_force)(times, places, x.Lam)

    def _momentum_increment(self, step: Step, f, r, Rt):
        tab, h = self.tableau, step.h
        return h * (tab.b_hat.array @ f - tab.b_tilde.array @ r) - tab.holonomic.weights.array @ Rt / h


def gauss_spark(s: int) -> Spark:
    """The Gauss SPARK method with s stages, order 2s."""
    return Spark(gauss_tableau(s))


def lobatto_spark(s: int, families: str = "AB") -> Spark:
    """The Lobatto SPARK method with s stages, order 2s - 2.

    `families` names the coefficients of velocities, forces and reactions: "AB" is IIIA-IIIB-IIIB, "ABD" IIIA-IIIB-IIID,
    "D" IIID for all.
    """
    return Spark(lobatto_tableau(s, families))


def euler_spark(kind: str = "I") -> Spark:
    """The symplectic Euler SPARK methods "I" and "II", order 1."""
    return Spark(euler_tableau(kind))


def standard_gauss(s: int) -> Spark:
    """A counter-example: Gauss coefficients with k = 0 at the stages instead of the end of the step.

    It leaves the constraint and loses order (2 for s = 1 and 2, instead of 2s). For odd s that order needs equal steps:
    the error of the momentum changes its sign from step to step, and cancels only then (else 1 for s = 1, 3 for s = 3).
    """
    return Spark(gauss_tableau(s, standard=True))
