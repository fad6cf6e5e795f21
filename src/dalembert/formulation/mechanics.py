"""The equations of motion in continuous time, one form for Lagrangians and Hamiltonians.

With p the momentum and v the velocity, both kinds of system are written as::

    0    = legendre(t, q, v, p)            p - L_v(t, q, v)           or   v - H_p(t, q, p)
    p'   = rate(t, q, v, p) - reactions    L_q(t, q, v) + F(t, q, v)  or  -H_q(t, q, p) + F(t, q, v)
    q'   = v
    0    = g(t, q),   0 = g_q v + g_t,   0 = k(t, q, v)

    reactions = g_q^T lam + k_v^T psi - N(t, q, v, psi)

N is the non-ideal part, `reaction` of the system. It depends on the multipliers of the nonholonomic constraints, or,
where the system has only holonomic ones, on lam.

To trace an operation takes JAX some tens of microseconds, to differentiate it as long again, and the checks of a start,
a step and what is recorded along a run all ask for the gradients of one Lagrangian, a step at several points. So the
equations are calls: JAX traces what is called when it first meets it, keeps that and its derivatives, and writes one
operation wherever it is called again.

A method keeps v and p as separate unknowns tied by `legendre`; the engine eliminates whichever is explicit.
"""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.core import Tracer
from jax.flatten_util import ravel_pytree

from ..arguments import check_double
from ..problem import (
    AbstractSystem,
    Dependencies,
    HamiltonianSystem,
    OverdeterminedDAE,
    System,
    is_parameter,
    reads_of_system,
)
from .constraints import Holonomic, Nonholonomic
from .contact import Contact

#: Newton steps for the multipliers of a non-ideal reaction, from the ideal ones.
NEWTON_STEPS = 10


class Acceleration(NamedTuple):
    """Rates of v and p and the multipliers of the continuous equations at one state."""

    v_rate: jax.Array
    p_rate: jax.Array
    lam: jax.Array
    psi: jax.Array


# -- traced once ----------------------------------------------------------------------------------------------------

Equation = TypeVar("Equation", bound=Callable)
#: Equations that are kept as they were traced.
MOST_KEPT = 512


def traced_once(equation: Equation) -> Equation:
    """A method `equation(self, *arrays)` of a `Mechanics`: as a call, while JAX traces. With plain numbers as
    parameters, and where it cannot be followed what the system reads, it is the method itself."""

    @functools.wraps(equation)
    def call(self, *arguments):
        leaves, definition = jax.tree.flatten(self.system)
        numbers = [leaf for leaf in leaves if is_parameter(leaf)]
        if self.reads.unclear is not None or not any(isinstance(x, Tracer) for x in numbers or arguments):
            return equation(self, *arguments)
        fixed = [None if is_parameter(leaf) else leaf for leaf in leaves]
        return _call(equation, _Equations(type(self), self.reads, self.holonomic.rows, definition, fixed))(
            numbers, *arguments
        )

    return call  # pyright: ignore[reportReturnType]


class _Equations:
    """The equations of a system, equal for all that differ only in the values of parameters."""

    def __init__(self, kind: type, reads: Dependencies, rows: tuple[int, ...] | None, definition, fixed: list) -> None:
        self.kind, self.reads, self.rows, self._definition, self._fixed = kind, reads, rows, definition, fixed

    def __hash__(self) -> int:
        return hash((self.kind, self.reads, self.rows))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Equations) and (self.kind, self.reads, self.rows) == (
            other.kind, other.reads, other.rows,
        )  # fmt: skip

    def at(self, numbers):
        """The equations of the system with these parameters."""
        given = iter(numbers)
        leaves = [next(given) if leaf is None else leaf for leaf in self._fixed]
        return self.kind.of(jax.tree.unflatten(self._definition, leaves), self.rows, self.reads)


@functools.lru_cache(maxsize=MOST_KEPT)
def _call(equation: Callable, equations: _Equations) -> Callable:
    def called(numbers, *arguments):
        return equation(equations.at(numbers), *arguments)

    called.__name__ = called.__qualname__ = equation.__name__
    return jax.jit(called)


# -- the equations --------------------------------------------------------------------------------------------------


class Mechanics(eqx.Module):
    """The equations of one system. Methods of the library see a system only through this class."""

    system: eqx.AbstractVar[AbstractSystem]
    #: By this a compiled function of a `Mechanics` is recognised: the class of the system does not tell its equations.
    reads: eqx.AbstractVar[Dependencies]
    holonomic: eqx.AbstractVar[Holonomic]
    nonholonomic: eqx.AbstractVar[Nonholonomic]

    @classmethod
    def of(cls, system: AbstractSystem, rows: tuple[int, ...] | None, reads: Dependencies) -> Mechanics:
        """The equations of a system of which is known what it reads."""
        parts: Any = {"holonomic": Holonomic(system, rows), "nonholonomic": Nonholonomic(system)}
        return cls(system=system, reads=reads, **parts)

    @abc.abstractmethod
    def gradients(self, t, q, second) -> Any:
        """L_q and L_v at (t, q, v), or H_q and H_p at (t, q, p)."""

    @abc.abstractmethod
    def legendre(self, t, q, v, p) -> Any:
        """Zero where v and p belong together."""

    @abc.abstractmethod
    def rate(self, t, q, v, p) -> Any:
        """The rate of the momentum without constraint forces."""

    @abc.abstractmethod
    def energy(self, t, q, v, p) -> Any:
        """v . L_v - L, or H."""

    def external_force(self, t, q, v) -> Any:
        """F(t, q, v), zero if the system has none."""
        return self._force(t, q, v) if self.system.provides("force") else jnp.zeros_like(q)

    @traced_once
    def _force(self, t, q, v) -> Any:
        return self.system.force(t, q, v)

    @traced_once
    def constraint(self, t, q) -> Any:
        """g(t, q)."""
        return self.holonomic.value(t, q)

    @traced_once
    def hidden(self, t, q, v) -> Any:
        """g_q v + g_t."""
        return self.holonomic.hidden(t, q, v)

    @traced_once
    def constraint_force(self, t, q, lam) -> Any:
        """g_q^T lam."""
        return self.holonomic.force(t, q, lam)

    @property
    def rough_holonomic(self) -> bool:
        """Whether the reaction of the holonomic constraints has a part that is not ideal."""
        return self.system.provides("reaction") and not self.system.provides("nonholonomic")

    def holonomic_reaction(self, t, q, v, p, lam) -> Any:
        """g_q^T lam - N(t, q, v, lam): the reaction of the holonomic constraints with its non-ideal part."""
        ideal = self.constraint_force(t, q, lam)
        return ideal - self.system.reaction(t, q, v, lam) if self.rough_holonomic else ideal

    @traced_once
    def velocity_constraint(self, t, q, v) -> Any:
        """k(t, q, v)."""
        return self.nonholonomic.value(t, q, v)

    def velocity_constraint_force(self, t, q, v, psi) -> Any:
        """k_v^T psi - N(t, q, v, psi): the reaction of the nonholonomic constraints with its non-ideal part."""
        ideal = self.nonholonomic.force(t, q, v, psi)
        if self.system.provides("reaction") and self.system.provides("nonholonomic"):
            return ideal - self.system.reaction(t, q, v, psi)
        return ideal

    def reactions(self, t, q, v, p, lam, psi, *, ideal: bool = False) -> Any:
        """g_q^T lam + k_v^T psi - N, everything that is subtracted from the rate of the momentum; `ideal` drops N."""
        if ideal:
            return self.constraint_force(t, q, lam) + self.nonholonomic.force(t, q, v, psi)
        return self.holonomic_reaction(t, q, v, p, lam) + self.velocity_constraint_force(t, q, v, psi)

    def acceleration_residual(self, x: Acceleration, t, q, v, p, *, ideal: bool = False):
        """Zero at the accelerations and multipliers of the continuous equations; linear in x where the constraints
        are ideal::

        p' = rate - reactions,   d/dt legendre = 0,   d/dt (g_q v + g_t) = 0,   d/dt k = 0
        """
        one = jnp.ones_like(t)
        return {
            "momentum": x.p_rate - self.rate(t, q, v, p) + self.reactions(t, q, v, p, x.lam, x.psi, ideal=ideal),
            "velocity": jax.jvp(self.legendre, (t, q, v, p), (one, v, x.v_rate, x.p_rate))[1],
            "acceleration constraint": jax.jvp(self.hidden, (t, q, v), (one, v, x.v_rate))[1],
            "nonholonomic acceleration": jax.jvp(self.velocity_constraint, (t, q, v), (one, v, x.v_rate))[1],
        }

    def acceleration(self, t, q, v, p) -> Acceleration:
        """Accelerations and multipliers of the continuous equations at one state, as a JAX expression.

        A linear system; where a non-ideal reaction makes it nonlinear, Newton from the ideal solution.
        """
        rows, columns = self.constraint(t, q).shape[0], self.velocity_constraint(t, q, v).shape[0]
        zero = Acceleration(jnp.zeros_like(q), jnp.zeros_like(q), jnp.zeros(rows), jnp.zeros(columns))
        x, unravel = ravel_pytree(zero)

        def newton(x, ideal):
            def residual(x):
                return ravel_pytree(self.acceleration_residual(unravel(x), t, q, v, p, ideal=ideal))[0]

            return x - jnp.linalg.solve(jax.jacfwd(residual)(x), residual(x))

        x = newton(x, True)
        if self.system.provides("reaction"):
            x = jax.lax.scan(lambda x, _: (newton(x, False), None), x, length=NEWTON_STEPS)[0]
        return unravel(x)

    @property
    def contact(self) -> Contact:
        """The contacts of the system."""
        return Contact(self.system)

    def mass_residual(self, w, pi, t, q, v, p):
        """Zero where pi = M w with M = L_vv (or M^-1 = H_pp): the derivative of `legendre` along (w, pi)."""
        return jax.jvp(lambda v, p: self.legendre(t, q, v, p), (v, p), (w, pi))[1]


class LagrangianMechanics(Mechanics):
    """`Mechanics` of a Lagrangian."""

    system: System
    holonomic: Holonomic
    nonholonomic: Nonholonomic
    reads: Dependencies = eqx.field(static=True)

    @traced_once
    def gradients(self, t, q, second) -> Any:
        return jax.grad(self.system.lagrangian, argnums=(1, 2))(t, q, second)

    def legendre(self, t, q, v, p) -> Any:
        return p - self.gradients(t, q, v)[1]

    def rate(self, t, q, v, p) -> Any:
        return self.gradients(t, q, v)[0] + self.external_force(t, q, v)

    @traced_once
    def energy(self, t, q, v, p) -> Any:
        value, momentum = jax.value_and_grad(self.system.lagrangian, argnums=2)(t, q, v)
        return v @ momentum - value


class HamiltonianMechanics(Mechanics):
    """`Mechanics` of a Hamiltonian."""

    system: HamiltonianSystem
    holonomic: Holonomic
    nonholonomic: Nonholonomic
    reads: Dependencies = eqx.field(static=True)

    @traced_once
    def gradients(self, t, q, second) -> Any:
        return jax.grad(self.system.hamiltonian, argnums=(1, 2))(t, q, second)

    def legendre(self, t, q, v, p) -> Any:
        return v - self.gradients(t, q, p)[1]

    def rate(self, t, q, v, p) -> Any:
        return -self.gradients(t, q, p)[0] + self.external_force(t, q, v)

    @traced_once
    def energy(self, t, q, v, p) -> Any:
        return self.system.hamiltonian(t, q, p)


class OverdeterminedMechanics(Mechanics):
    """`Mechanics` of an overdetermined DAE: q = y, p = z, v = velocity(y, z), lam = psi, reactions = -reaction."""

    system: OverdeterminedDAE
    holonomic: Holonomic
    nonholonomic: Nonholonomic
    reads: Dependencies = eqx.field(static=True)

    def gradients(self, t, q, second) -> Any:
        """What stands in the place of H_q and H_p: -force and velocity."""
        return -self.system.force(q, second), self.system.velocity(q, second)

    def legendre(self, t, q, v, p) -> Any:
        return v - self.system.velocity(q, p)

    def rate(self, t, q, v, p) -> Any:
        return self.system.force(q, p)

    def energy(self, t, q, v, p) -> Any:
        return jnp.zeros(())

    def holonomic_reaction(self, t, q, v, p, lam) -> Any:
        return self.reactions(t, q, v, p, lam, jnp.zeros(0))

    def reactions(self, t, q, v, p, lam, psi, *, ideal: bool = False) -> Any:
        """-reaction(y, z, psi); `ideal`: its linearisation at psi = 1, where friction laws are smooth."""
        if not self.system.provides("reaction") or lam.shape[0] == 0:
            return jnp.zeros_like(p)
        if ideal:
            one = jnp.ones_like(lam)
            value, change = jax.jvp(lambda psi: self.system.reaction(q, p, psi), (one,), (lam - one,))
            return -(value + change)
        return -self.system.reaction(q, p, lam)


def mechanics_of(system: AbstractSystem, rows: tuple[int, ...] | None = None) -> Mechanics:
    """The equations of a system; `rows` restricts the holonomic constraints to an independent set."""
    check_double()
    kind = LagrangianMechanics
    if isinstance(system, HamiltonianSystem):
        kind = HamiltonianMechanics
    elif isinstance(system, OverdeterminedDAE):
        kind = OverdeterminedMechanics
    return kind.of(system, rows, reads_of_system(system))
