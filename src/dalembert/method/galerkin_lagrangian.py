"""The discrete Lagrangian of a Galerkin variational integrator, as functions that JAX differentiates.

With the control points q^0 .. q^s, q_d(t0 + x h) = sum_nu l_nu(x) q^nu, the quadrature (b_i, c_i) of the Lagrangian and
(e_i, ct_i) of the constraints::

    L_d(q^0 .. q^s)            = h sum_i b_i L(t0 + c_i h, q_d(t0 + c_i h), q_d'(t0 + c_i h))
    L_d^aug(q^0 .. q^s, lam)   = L_d - h sum_i e_i g(t0 + ct_i h, q_d(t0 + ct_i h)) . lam_i
    F^- L_d = -D_0 L_d                              F^+ L_d = D_s L_d
    L_d(q0, q1)                = ext L_d over the inner control points, subject to g = 0 at the inner nodes

Forces are no part of it. Discrete Euler-Lagrange equations: F^+ of a step meets F^- of the next one.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from ..arguments import instance, number
from ..errors import InputError, ModelError
from ..formulation import Mechanics, mechanics_of
from ..problem import AbstractSystem, System, prepared, reads_of_system
from .galerkin import Galerkin
from .galerkin_coefficients import constraint_node_count
from .tableau import Quadrature, basis_values, exact_nodes, quadrature

#: Newton steps for the inner control points.
MAX_ITERATIONS = 30
#: An update below this is the last but those that follow for the derivatives.
LAST_UPDATE = 1e-9
#: Steps x - J^-1 F(x, ends) with J fixed at the solution, through which derivatives go: k of them carry those of x up
#: to order k exactly.
DIFFERENTIATED_STEPS = 2


class Extremal(NamedTuple):
    """The control points (s + 1, n) and inner multipliers (inner nodes, m) of a step between two positions."""

    nodes: Any
    lam: Any


def _compiled(function):
    """The function compiled once for all calls with the same shapes; refused where the equations have changed since."""
    jitted = eqx.filter_jit(function)

    @functools.wraps(function)
    def call(self, *arguments):
        mechanics = self.mechanics
        if not any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(mechanics)):
            now = reads_of_system(mechanics.system)
            if not mechanics.reads.agrees(now):
                raise ModelError(
                    f"the equations of {type(mechanics.system).__name__} are others by now "
                    f"({mechanics.reads.difference(now)}); make a new discrete Lagrangian."
                )
        return jitted(self, *arguments)

    return call


class GalerkinLagrangian(eqx.Module):
    """L_d of a `Galerkin` method on a system for one step from t to t + h; see the module for the equations."""

    mechanics: Mechanics
    t: Any
    h: Any
    method: Galerkin = eqx.field(static=True)

    def __init__(self, method: Galerkin, system: AbstractSystem, h, t=0.0) -> None:
        instance("method", method, Galerkin, "a da.Galerkin method")
        system = prepared(system)
        if not isinstance(system, System):
            raise InputError(
                f"a discrete Lagrangian needs a Lagrangian; {type(system).__name__} is a {_kind(system)}. "
                "Write it as a da.System with lagrangian(t, q, v)."
            )
        if system.provides("nonholonomic"):
            raise InputError(
                f"a discrete Lagrangian treats holonomic constraints; {type(system).__name__} has nonholonomic ones, "
                "which do not follow from a variational principle. Use a da.Spark method for them."
            )
        self.mechanics, self.method = mechanics_of(system), method
        # tracers may stand for both: the functions below can be differentiated
        t = t if isinstance(t, Tracer) else number("t", t)
        h = h if isinstance(h, Tracer) else number("h", h)
        self.t, self.h = jnp.asarray(t, jnp.float64), jnp.asarray(h, jnp.float64)

    # -- the functions -----------------------------------------------------------------------------------------

    def value(self, nodes) -> Any:
        """L_d of the control points, shape (s + 1, n)."""
        nodes, co = self._nodes(nodes), self.method.coefficients
        system: Any = self.mechanics.system
        T, Q, V = self.t + self.h * co.c, co.values @ nodes, co.slopes @ nodes / self.h
        return self.h * (co.b @ jax.vmap(system.lagrangian)(T, Q, V))

    def augmented(self, nodes, lam) -> Any:
        """L_d with the constraints; lam holds a row for each of `constraint_nodes`, ends included."""
        nodes = self._nodes(nodes)
        rule = self._constraint_rule()
        lam = jnp.asarray(lam, jnp.float64)
        g = jax.vmap(self.mechanics.constraint)(self.t + self.h * rule.nodes, self._basis_of_g() @ nodes)
        if lam.shape != g.shape:
            raise InputError(
                f"lam must hold the {g.shape[1]} multipliers of each of the {g.shape[0]} nodes of the constraints: "
                f"expected the shape {g.shape}, got {lam.shape}."
            )
        return self.value(nodes) - self.h * jnp.sum(rule.weights[:, None] * g * lam)

    @_compiled
    def derivatives(self, nodes, lam=None) -> Any:
        """D_nu L_d (or of the augmented one), shape (s + 1, n)."""
        nodes = self._nodes(nodes)
        return jax.grad(self.value)(nodes) if lam is None else jax.grad(self.augmented)(nodes, lam)

    def left_momentum(self, nodes, lam=None) -> Any:
        """The discrete Legendre transform F^-: -D_0 L_d."""
        return -self.derivatives(nodes, lam)[0]

    def right_momentum(self, nodes, lam=None) -> Any:
        """The discrete Legendre transform F^+: D_s L_d."""
        return self.derivatives(nodes, lam)[-1]

    @_compiled
    def extremised(self, q0, q1) -> Any:
        """L_d(q0, q1): the value at `extremal(q0, q1)`, differentiable twice by q0, q1 and parameters."""
        return self.value(self.extremal(q0, q1).nodes)

    @_compiled
    def extremal(self, q0, q1) -> Extremal:
        """Inner control points and multipliers from D_nu L_d^aug = 0, nu = 1..s-1, and g = 0 at the inner nodes."""
        q0, q1 = jnp.asarray(q0, jnp.float64), jnp.asarray(q1, jnp.float64)
        if q0.ndim != 1 or q0.shape != q1.shape:
            raise InputError(f"q0 and q1 must both have the shape (n,), got {q0.shape} and {q1.shape}.")
        s, co = self.method.degree, self.method.coefficients
        m = jax.eval_shape(self.mechanics.constraint, self.t, q0).shape[0]
        inner = len(co.inner_weights) if m else 0
        control = quadrature("lobatto", s + 1).nodes[1:-1, None]
        guess = jnp.concatenate([jnp.ravel(q0 + control * (q1 - q0)), jnp.zeros(inner * m)])

        ends = jnp.stack([q0, q1])
        if guess.shape[0] == 0:
            return Extremal(ends, jnp.zeros((0, m)))
        nodes, lam = self._unpacked(self._root(guess, ends, inner), ends, inner)
        return Extremal(nodes, lam.reshape(inner, m) / self.h**2)

    @property
    def constraint_nodes(self) -> np.ndarray:
        """The nodes ct_i of the constraints in [0, 1], ends included."""
        return self._constraint_rule().nodes

    # -- parts -------------------------------------------------------------------------------------------------

    def _root(self, guess, ends, inner: int):
        arrays, rest = eqx.partition(self, eqx.is_array)
        frozen = eqx.combine(jax.lax.stop_gradient(arrays), rest)
        fixed = jax.lax.stop_gradient(ends)

        def newton(carry):
            x, _, count = carry
            slope = jax.jacfwd(lambda x: frozen._stationary(x, fixed, inner))(x)
            update = jnp.linalg.solve(slope, frozen._stationary(x, fixed, inner))
            return x - update, jnp.max(jnp.abs(update)), count + 1

        def goes_on(carry):
            x, update, count = carry
            return (update > LAST_UPDATE * (1 + jnp.max(jnp.abs(x)))) & (count < MAX_ITERATIONS)

        first = jax.lax.stop_gradient(guess), jnp.array(jnp.inf), jnp.array(0)
        x, update, _ = jax.lax.stop_gradient(jax.lax.while_loop(goes_on, newton, first))
        failed = ~(update <= LAST_UPDATE * (1 + jnp.max(jnp.abs(x))))
        x = eqx.error_if(
            x, failed,
            "the discrete Lagrangian has no extremal between q0 and q1 that Newton finds from the straight line; "
            "take a smaller h, or positions that are closer to each other.",
        )  # fmt: skip
        slope = jax.lax.stop_gradient(jax.jacfwd(lambda x: frozen._stationary(x, fixed, inner))(x))
        for _ in range(DIFFERENTIATED_STEPS):
            x = x - jnp.linalg.solve(slope, self._stationary(x, ends, inner))
        return x

    def _stationary(self, x, ends, inner: int):
        """h D_nu L_d^aug at the inner control points, and g at the inner nodes; x holds both, with h^2 lam."""
        co = self.method.coefficients
        nodes, lam = self._unpacked(x, ends, inner)

        def constraints(nodes):
            times = self.t + self.h * co.inner_nodes[:inner]
            return jax.vmap(self.mechanics.constraint)(times, co.inner_values[:inner] @ nodes)

        def action(nodes):
            value = self.value(nodes)
            if not inner:
                return value
            return value - jnp.sum(co.inner_weights[:, None] * constraints(nodes) * lam) / self.h

        slopes = self.h * jnp.ravel(jax.grad(action)(nodes)[1:-1])
        return jnp.concatenate([slopes, jnp.ravel(constraints(nodes))]) if inner else slopes

    def _unpacked(self, x, ends, inner: int):
        count, n = self.method.degree - 1, ends.shape[1]
        points = x[: count * n].reshape(count, n)
        return jnp.concatenate([ends[:1], points, ends[1:]]), x[count * n :].reshape(inner, -1 if inner else 0)

    def _nodes(self, nodes):
        nodes = jnp.asarray(nodes, jnp.float64)
        if nodes.ndim != 2 or nodes.shape[0] != self.method.degree + 1:
            raise InputError(
                f"nodes must hold the {self.method.degree + 1} control points of degree {self.method.degree}: expected "
                f"the shape ({self.method.degree + 1}, n), got {nodes.shape}."
            )
        return nodes

    def _count(self) -> int:
        return constraint_node_count(self.method.constraint_quadrature, self.method.multiplier_degree)

    def _constraint_rule(self) -> Quadrature:
        return quadrature(self.method.constraint_quadrature, self._count())

    def _basis_of_g(self) -> np.ndarray:
        points = exact_nodes(self.method.constraint_quadrature, self._count())
        return basis_values(exact_nodes("lobatto", self.method.degree + 1), points)


def _kind(system) -> str:
    return "HamiltonianSystem" if system.gives_velocity else type(system).__bases__[0].__name__


def _discrete_lagrangian(self: Galerkin, system, h, t=0.0) -> GalerkinLagrangian:
    """L_d of one step from t to t + h: its value, derivatives, momenta, and L_d(q0, q1)."""
    return GalerkinLagrangian(self, system, h, t)


Galerkin.discrete_lagrangian = _discrete_lagrangian
