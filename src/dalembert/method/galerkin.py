"""Galerkin variational integrators with holonomic constraints (Wenger, Ober-Bloebaum, Leyendecker 2017).

The motion on [t0, t1] is a polynomial of degree s, q_d(t0 + x h) = sum_nu l_nu(x) q^nu, through control points at the
s + 1 Lobatto nodes (q^0 = q0, q^s = q1). With the quadrature (b_i, c_i) of the Lagrangian and (e_i, ct_i) of the
constraints, Q_i = q_d(t0 + c_i h), V_i = q_d'(t0 + c_i h), Qt_i = q_d(t0 + ct_i h)::

    D_nu L_d  = sum_i b_i (h l_nu(c_i) f(T_i, Q_i, V_i) + l'_nu(c_i) P_i)         0 = legendre(T_i, Q_i, V_i, P_i)
    C_nu      = h sum_{inner i} e_i l_nu(ct_i) G(Qt_i)^T lam_i

    0  = p0 - G(q0)^T mu_0 + D_0 L_d - C_0
    0  = D_nu L_d - C_nu,                                  nu = 1..s-1
    0  = g(Qt_i), inner nodes                              0 = g(q1)
    p~ = D_s L_d - C_s

f = L_q + F holds the forces: F is integrated with the same quadrature (discrete Lagrange-d'Alembert). mu_0 is the
impulse of the constraints at t0: h (e_1 + e_{w+1}) lam_0 with raw momenta, which merges the multipliers of the last
node of one step and the first of the next; h e_1 lam_0 after a projection, which has taken the rest. Since it may be
any number, the positions do not depend on which representative of the momentum is carried, and the projection costs
no order::

    project=True      p1 = p~ - G(q1)^T nu,   0 = legendre(t1, q1, v1, p1),   0 = G(q1) v1 + g_t
    project=False     p1 = p~ - e_{w+1} / (e_1 + e_{w+1}) G(q1)^T mu_1

A reaction of the constraints that is not ideal, G^T lam - N(T, Q, V, lam), stands in the place of G^T lam with
V = q_d' at the nodes of the constraints, both ends among them: at the start with lam_0 = mu_0 / (h e_1), at the end
with lam_1 = nu / (h e_{w+1}). This needs project=True: raw momenta merge the multipliers of two steps.

The raw momentum of the second line needs mu_1 of the following step, which is solved along (look-ahead).
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..arguments import flag, shown
from ..errors import InputError
from .base import Claims, Method, Step
from .galerkin_coefficients import GalerkinCoefficients, constraint_rank, galerkin_coefficients
from .galerkin_tableau import GalerkinTableau, galerkin_tableau
from .polynomials import continuation, lagrange_basis
from .tableau import MOST_NODES, RULES, basis_slopes, exact_nodes, quadrature


class HalfUnknowns(NamedTuple):
    """One step up to the momentum before projection."""

    d: jax.Array  # displacements q^nu - q0, nu = 1..s
    P: jax.Array  # momenta at the nodes of the quadrature
    Lam: jax.Array  # h^2 lam at the inner nodes of the constraints
    mu: jax.Array  # h mu_0


class Stages(NamedTuple):
    """q_d at the nodes of the quadrature with the forces there, and at the inner nodes of the constraints with h^2
    times the reactions."""

    T: jax.Array
    Q: jax.Array
    V: jax.Array
    forces: jax.Array
    inner_times: jax.Array
    inner_places: jax.Array
    reactions: jax.Array


class ProjectedUnknowns(NamedTuple):
    """A step with the momentum on the constraint manifold."""

    step: HalfUnknowns
    p1: jax.Array
    v1: jax.Array
    nu: jax.Array


class RawUnknowns(NamedTuple):
    """A step and the one after it, which fixes the multiplier at the end of the first."""

    step: HalfUnknowns
    p1: jax.Array
    v1: jax.Array
    ahead: HalfUnknowns


class FreeUnknowns(NamedTuple):
    """A step whose constraints are not imposed at its end: the momentum is as it comes."""

    step: HalfUnknowns
    p1: jax.Array
    v1: jax.Array


class Galerkin(Method):
    """Variational integrator with q of degree `degree` and the multiplier of degree `multiplier_degree`.

    Args:
        degree: s >= 1.
        multiplier_degree: w, default s (with Gauss quadrature of the constraints s + 1).
        quadrature: "gauss" or "lobatto", of the Lagrangian.
        nodes: their number r; default s for Gauss, s + 1 for Lobatto.
        constraint_quadrature: "lobatto", "radau" (Radau IIA) or "gauss". Only the first two end on the constraints.
        project: bring the momentum onto the hidden constraints and recompute the multiplier, which restores the order
            of q in p and lam; False gives the raw momenta and multipliers of the variational principle.
    """

    degree: int = eqx.field(static=True)
    multiplier_degree: int = eqx.field(static=True)
    quadrature: str = eqx.field(static=True)
    nodes: int = eqx.field(static=True)
    constraint_quadrature: str = eqx.field(static=True)
    project: bool = eqx.field(static=True)

    handles: ClassVar[frozenset[str]] = frozenset({"holonomic", "force", "reaction", "invariants"})

    def __init__(
        self, degree: int, multiplier_degree: int | None = None, quadrature: str = "gauss", nodes: int | None = None,
        constraint_quadrature: str = "lobatto", project: bool = True,
    ) -> None:  # fmt: skip
        _check_choice("quadrature", quadrature, ("gauss", "lobatto"))
        _check_choice("constraint_quadrature", constraint_quadrature, RULES)
        self.degree = _count("degree", degree, 1)
        default = degree + 1 if constraint_quadrature == "gauss" else degree
        lowest = {"lobatto": 1, "radau": 1, "gauss": 2}[constraint_quadrature]
        self.multiplier_degree = _count(
            "multiplier_degree", default if multiplier_degree is None else multiplier_degree, lowest
        )
        default = degree if quadrature == "gauss" else degree + 1
        self.nodes = _count("nodes", default if nodes is None else nodes, 1 if quadrature == "gauss" else 2)
        self.quadrature, self.constraint_quadrature = quadrature, constraint_quadrature
        self.project = flag("Galerkin: project", project)
        if self.nodes < self.degree:
            raise InputError(
                f"Galerkin: nodes r = {self.nodes} < degree s = {self.degree}: the quadrature cannot tell apart all "
                "polynomials of degree s, so the step is not determined. Use nodes >= degree."
            )
        most = degree + 1 if constraint_quadrature == "gauss" else degree
        if self.multiplier_degree > most:
            count, rank = constraint_rank(self.degree, self.multiplier_degree, constraint_quadrature)
            raise InputError(
                f"Galerkin: multiplier_degree w = {self.multiplier_degree} with degree s = {self.degree}: "
                f"the constraints would be dependent, {count} equations of rank {rank}. With {constraint_quadrature} "
                f"quadrature of the constraints use multiplier_degree <= {most}."
            )

    def __repr__(self) -> str:
        standard = Galerkin(self.degree, quadrature=self.quadrature, constraint_quadrature=self.constraint_quadrature)
        plain = Galerkin(self.degree)
        extra = [
            f"{key}={getattr(self, key)!r}"
            for key in ("multiplier_degree", "quadrature", "nodes", "constraint_quadrature", "project")
            if getattr(self, key) != getattr(plain if key.endswith("quadrature") else standard, key)
        ]
        return f"Galerkin({', '.join([str(self.degree), *extra])})"

    def misfit(self, system) -> str | None:
        merged = not self.project or self.constraint_quadrature != "lobatto"
        if system.provides("reaction") and system.provides("holonomic") and merged:
            return (
                "a reaction that is not ideal needs the multipliers at both ends of a step: use project=True and "
                'constraint_quadrature="lobatto", the defaults.'
            )
        return None

    # -- claims ----------------------------------------------------------------------------------------------------

    @property
    def stiffly_accurate(self) -> bool:
        """Whether the constraints hold at the end of every step."""
        return self.constraint_quadrature != "gauss"

    @property
    def multiplier(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return "recomputed" if self.project else "discrete"

    @property
    def claims(self) -> Claims:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Orders of q as in the paper's tables; p and lam share them after the projection."""
        order, raw_p, raw_lam = self._orders()
        projected = self.project and self.stiffly_accurate
        symmetric = self.constraint_quadrature == "lobatto"
        notes = []
        if not self.stiffly_accurate:
            notes.append("Gauss quadrature of the constraints is not stiffly accurate: g = 0 drifts")
        elif not self.project:
            notes.append(f"raw momenta of order {raw_p}, raw multipliers of order {raw_lam}")
        levels = () if not self.stiffly_accurate else ("position", "velocity") if projected else ("position",)
        return Claims(
            order=order if projected or not self.stiffly_accurate else min(order, raw_p),
            symmetric=projected and symmetric,
            symmetric_positions=not projected and symmetric,
            symplectic=projected,
            momentum=self.stiffly_accurate,
            bounded_energy=self.stiffly_accurate,
            constraints=levels,
            multiplier_order=order if projected else (raw_lam or None),
            note="; ".join(notes),
        )

    def _orders(self) -> tuple[int, int, int]:
        """Orders of q, of the raw p and of the raw lam on holonomic systems (0: divergent)."""
        s, w = self.degree, self.multiplier_degree
        quadrature_order = 2 * self.nodes if self.quadrature == "gauss" else 2 * self.nodes - 2
        if self.constraint_quadrature == "radau":
            return min(quadrature_order, 2 * w - 1 if s <= w + 1 else 1), w, max(w - 1, 0)
        if self.constraint_quadrature == "gauss":
            return 1, 1, 0
        # each degree of q_d beyond w + 1 costs two orders
        excess = max(0, s - w - 1)
        order = max(2, min(quadrature_order, 2 * w) - 2 * excess) if w > 1 else 2
        raw = max(2, w + 2 - w % 2 - 2 * excess), max(0, w + w % 2 - 2 * excess)
        if quadrature_order < 2 * s and quadrature_order < 2 * w:
            raw = raw[0] - 2, raw[1] - 2
        return (order, *raw) if w > 1 else (2, 2, 2)

    # -- the discrete equations -----------------------------------------------------------------------------------

    #: L_d of one step: `galerkin_lagrangian.py`, which needs this class, puts it here.
    discrete_lagrangian: ClassVar[Any]

    @property
    def coefficients(self) -> GalerkinCoefficients:
        return galerkin_coefficients(
            self.degree, self.multiplier_degree, self.quadrature, self.nodes, self.constraint_quadrature
        )

    @property
    def tableau(self) -> GalerkinTableau:
        """The method as a modified constrained symplectic Runge-Kutta method; print it."""
        return galerkin_tableau(
            self.degree, self.multiplier_degree, self.quadrature, self.nodes, self.constraint_quadrature
        )

    def guess(self, step: Step) -> Any:
        h, (_, p, v, lam, *_) = step.h, step.start
        first = self._guess_step(step)
        if not self.stiffly_accurate:
            return FreeUnknowns(first, p1=p, v1=v)
        if self.project:
            return ProjectedUnknowns(first, p1=p, v1=v, nu=h * self.coefficients.last_weight * lam)
        return RawUnknowns(first, p1=p, v1=v, ahead=self._guess_step(step))

    def _guess_step(self, step: Step) -> HalfUnknowns:
        h, (_, p, v, lam, *_), co = step.h, step.start, self.coefficients
        control = quadrature("lobatto", self.degree + 1).nodes[1:]
        # a projected momentum has taken the share of the last step already
        share = co.first_weight if self.project else co.first_weight + co.last_weight
        return HalfUnknowns(
            d=h * control[:, None] * v,
            P=jnp.broadcast_to(p, (len(co.b), *p.shape)),
            Lam=jnp.broadcast_to(h**2 * lam, (len(co.inner_weights), *lam.shape)),
            mu=(h**2 * share * lam) if self.stiffly_accurate else jnp.zeros(0),
        )

    def residual(self, x: Any, step: Step) -> dict[str, jax.Array]:
        m, h, t1, (q0, p0, *_) = step.mechanics, step.h, step.t_end, step.start
        q1 = q0 + x.step.d[-1]
        stages = self._stages(m, step.t, h, q0, x.step)
        equations = self._half_step(m, step.t, h, q0, p0, x.step, stages, "")
        equations["end: velocity"] = m.legendre(t1, q1, x.v1, x.p1)
        increment = self._increment(m, step.t, h, q0, x.step, stages)
        if isinstance(x, ProjectedUnknowns):
            equations["end: momentum"] = x.p1 - p0 - increment + self._end_reaction(x, step)
            equations["end: hidden constraint"] = m.hidden(t1, q1, x.v1)
        elif isinstance(x, RawUnknowns):
            own = self._share * m.constraint_force(t1, q1, x.ahead.mu) / h
            equations["end: momentum"] = x.p1 - p0 - increment + own
            ahead = self._stages(m, t1, h, q1, x.ahead)  # from the representative p~ = p1 + share G^T mu
            equations |= self._half_step(m, t1, h, q1, x.p1 + own, x.ahead, ahead, "look-ahead, ")
        else:
            equations["end: momentum"] = x.p1 - p0 - increment
        return equations

    @property
    def _share(self) -> float:
        """The part of mu_1 that belongs to the step that ends at t1."""
        co = self.coefficients
        return co.last_weight / (co.first_weight + co.last_weight)

    def finish(self, x: Any, step: Step):
        m, h, t1, q0, co = step.mechanics, step.h, step.t_end, step.start.q, self.coefficients
        q1 = q0 + x.step.d[-1]
        increment = self._increment(m, step.t, h, q0, x.step, self._stages(m, step.t, h, q0, x.step))
        ends = co.first_weight + co.last_weight
        if isinstance(x, ProjectedUnknowns):
            dp = increment - self._end_reaction(x, step)
            return step.end(dq=x.step.d[-1], dp=dp, v=x.v1, lam=x.nu / (h * co.last_weight))
        if isinstance(x, RawUnknowns):
            dp = increment - self._share * m.constraint_force(t1, q1, x.ahead.mu) / h
            return step.end(dq=x.step.d[-1], dp=dp, v=x.v1, lam=x.ahead.mu / (h**2 * ends))
        return step.end(dq=x.step.d[-1], dp=increment, v=x.v1, lam=x.step.Lam[-1] / h**2)

    def dense(self, x: Any, step: Step, theta):
        """The polynomial q_d of the variational principle and its derivative by time."""
        control = exact_nodes("lobatto", self.degree + 1)
        basis = lagrange_basis(quadrature("lobatto", self.degree + 1).nodes, theta)
        slopes = basis @ basis_slopes(control, control)
        return step.start.q + basis[1:] @ x.step.d, slopes[1:] @ x.step.d / step.h

    def continued(self, x: Any, step: Step) -> Any:
        if isinstance(x, RawUnknowns):  # the next step was solved along
            return x._replace(step=x.ahead, ahead=self._continued_step(x.ahead, x.ahead.Lam))
        h, co = step.h, self.coefficients
        if not isinstance(x, ProjectedUnknowns):
            return x._replace(step=self._continued_step(x.step, x.step.Lam))
        # h^2 lam at the inner nodes and at the end
        multipliers = jnp.concatenate([x.step.Lam, h * x.nu[None] / co.last_weight])
        later = continuation(np.append(co.inner_nodes, 1.0)) @ multipliers
        moved = self._continued_step(x.step, later[:-1])._replace(mu=co.first_weight * multipliers[-1])
        return x._replace(step=moved, nu=co.last_weight * later[-1] / h)

    def _continued_step(self, x: HalfUnknowns, later_multipliers) -> HalfUnknowns:
        co, control = self.coefficients, quadrature("lobatto", self.degree + 1).nodes
        d = continuation(control)[1:, 1:] @ x.d - x.d[-1]
        return x._replace(d=d, P=continuation(co.c) @ x.P, Lam=later_multipliers)

    def inner_multipliers(self, x: Any, step: Step):
        return self.coefficients.inner_nodes, x.step.Lam / step.h**2

    def _stages(self, m, t0, h, q0, x: HalfUnknowns) -> Stages:
        co = self.coefficients
        T, Q, V = t0 + h * co.c, q0 + co.values[:, 1:] @ x.d, co.slopes[:, 1:] @ x.d / h
        inner_times, inner_places = t0 + h * co.inner_nodes, q0 + co.inner_values[:, 1:] @ x.d
        forces = jax.vmap(m.rate)(T, Q, V, x.P)
        reactions = jax.vmap(m.constraint_force)(inner_times, inner_places, x.Lam)
        if m.rough_holonomic:
            speeds, P = co.inner_slopes[:, 1:] @ x.d / h, jnp.zeros_like(inner_places)
            reactions = h**2 * jax.vmap(m.holonomic_reaction)(inner_times, inner_places, speeds, P, x.Lam / h**2)
        return Stages(T, Q, V, forces, inner_times, inner_places, reactions)

    def _half_step(self, m, t0, h, q0, p0, x: HalfUnknowns, at: Stages, label: str) -> dict[str, jax.Array]:
        """The equations from (q0, p0) to q1."""
        co = self.coefficients
        D = (co.b[:, None] * co.values).T @ (h * at.forces) + (co.b[:, None] * co.slopes).T @ x.P
        D = D - (co.inner_weights[:, None] * co.inner_values).T @ at.reactions / h
        first = p0 + D[0]
        if self.stiffly_accurate:
            first = first - self._start_reaction(m, t0, h, q0, x) / h
        equations = {
            f"{label}start: momentum": first,
            f"{label}inner: momentum": D[1:-1],
            f"{label}nodes: velocity": jax.vmap(m.legendre)(at.T, at.Q, at.V, x.P),
            f"{label}inner: position constraint": jax.vmap(m.constraint)(at.inner_times, at.inner_places),
        }
        if self.stiffly_accurate:
            equations[f"{label}end: position constraint"] = m.constraint(t0 + h, q0 + x.d[-1])
        return equations

    def _increment(self, m, t0, h, q0, x: HalfUnknowns, at: Stages):
        """p~ - p0: the sum over nu of all momentum equations, in which the P_i cancel (sum_nu l'_nu = 0)."""
        co = self.coefficients
        increment = h * (co.b @ at.forces) - co.inner_weights @ at.reactions / h
        if self.stiffly_accurate:
            increment = increment - self._start_reaction(m, t0, h, q0, x) / h
        return increment

    def _start_reaction(self, m, t0, h, q0, x: HalfUnknowns):
        """h times the impulse of the reaction at the first node."""
        co = self.coefficients
        if not m.rough_holonomic:
            return m.constraint_force(t0, q0, x.mu)
        weight, v = h**2 * co.first_weight, co.end_slopes[0, 1:] @ x.d / h
        return weight * m.holonomic_reaction(t0, q0, v, jnp.zeros_like(q0), x.mu / weight)

    def _end_reaction(self, x: ProjectedUnknowns, step: Step):
        """The impulse of the reaction at the last node."""
        m, h, co, q1 = step.mechanics, step.h, self.coefficients, step.start.q + x.step.d[-1]
        if not m.rough_holonomic:
            return m.constraint_force(step.t_end, q1, x.nu)
        weight, v = h * co.last_weight, co.end_slopes[1, 1:] @ x.step.d / h
        return weight * m.holonomic_reaction(step.t_end, q1, v, jnp.zeros_like(q1), x.nu / weight)


def _check_choice(name: str, value, choices: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"Galerkin: {name} must be one of {', '.join(map(repr, choices))}, got {value!r}.")


def _count(name: str, value, lowest: int) -> int:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < lowest:
        raise InputError(f"Galerkin: {name} must be an integer >= {lowest}, got {shown(value)}.")
    if value > MOST_NODES:
        raise InputError(f"Galerkin: {name} must be at most {MOST_NODES}, got {shown(value)}.")
    return int(value)
