"""A method from a discrete Lagrangian that the user writes (Marsden, West 2001, doi:10.1017/S096249290100006X).

L_d(system, t, h, q0, q1) approximates the action of the motion from q0 at t0 to q1 at t1 = t0 + h. With the discrete
forces f^-, f^+ (by default h/2 F at both ends, with the velocity (q1 - q0) / h) one step from (q0, p0) is::

    p0 = -D_q0 L_d - f^- + G(q0)^T mu                        g(t1, q1) = 0
    p1 =  D_q1 L_d + f^+ - G(q1)^T nu,      0 = legendre(t1, q1, v1, p1),      0 = G(q1) v1 + g_t

Along a run D_q1 L_d(q_{k-1}, q_k) + D_q0 L_d(q_k, q_{k+1}) vanishes up to forces and reactions. The step is symplectic
whatever L_d is, and conserves the momentum of every symmetry that L_d, F and g share.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from ..arguments import count, flag, shown, takes
from ..errors import InputError
from .base import Claims, Method, Step


class DiscreteLagrangianUnknowns(NamedTuple):
    """The displacement q1 - q0, the multipliers h mu and nu, and the end of the step."""

    d: jax.Array
    mu: jax.Array
    p1: jax.Array
    v1: jax.Array
    nu: jax.Array


class DiscreteLagrangian(Method):
    """The method of a discrete Lagrangian; see `dalembert.discrete_lagrangian`, which creates it."""

    function: Callable = eqx.field(static=True)
    accuracy: int = eqx.field(static=True)
    symmetric: bool = eqx.field(static=True)
    force: Callable | None = eqx.field(static=True, default=None)
    backwards: bool = eqx.field(static=True, default=False)

    handles: ClassVar[frozenset[str]] = frozenset({"holonomic", "force", "invariants"})

    def __repr__(self) -> str:
        name = f"discrete_lagrangian({getattr(self.function, '__name__', 'L_d')}, order={self.accuracy})"
        return f"Adjoint({name})" if self.backwards else name

    @property
    def claims(self) -> Claims:  # pyright: ignore[reportIncompatibleVariableOverride]
        return Claims(
            order=self.accuracy,
            symmetric=self.symmetric,
            symplectic=True,
            momentum=True,
            bounded_energy=True,
            constraints=("position", "velocity"),
            multiplier_order=self.accuracy,
            note="order and symmetry as the user states them; momenta of the symmetries that L_d has",
        )

    def adjoint(self) -> Method:
        """-L_d(t + h, -h, q1, q0): the step backwards from the other end."""
        if self.symmetric:
            return self
        return DiscreteLagrangian(self.function, self.accuracy, False, self.force, not self.backwards)

    # -- the discrete equations --------------------------------------------------------------------------------

    def value(self, system, t, h, q0, q1) -> Any:
        """L_d(q0, q1), checked to be a scalar."""
        start, size, ends, sign = (t + h, -h, (q1, q0), -1.0) if self.backwards else (t, h, (q0, q1), 1.0)
        value = self.function(system, start, size, *ends)
        if jnp.shape(value) != ():
            raise InputError(
                f"a discrete Lagrangian L_d(system, t, h, q0, q1) must return a scalar, got shape {jnp.shape(value)}. "
                "Sum over the nodes of the quadrature."
            )
        return sign * value

    def forces(self, system, t, h, q0, q1) -> tuple[Any, Any]:
        """f^- and f^+, which enter the momenta at the start and at the end of the step."""
        if not system.provides("force"):
            return jnp.zeros_like(q0), jnp.zeros_like(q0)
        if self.force is None:
            v = (q1 - q0) / h
            return h / 2 * system.force(t, q0, v), h / 2 * system.force(t + h, q1, v)
        if not self.backwards:
            found = self.force(system, t, h, q0, q1)
        else:
            found = self.force(system, t + h, -h, q1, q0)
        if not isinstance(found, tuple | list) or [jnp.shape(part) for part in found] != [q0.shape, q0.shape]:
            shapes = [jnp.shape(part) for part in found] if isinstance(found, tuple | list) else jnp.shape(found)
            raise InputError(
                "a discrete force f_d(system, t, h, q0, q1) must return two arrays of the shape of q, the parts "
                f"(f-, f+) at the start and the end of the step, {q0.shape} each, got {shapes}."
            )
        return (-found[1], -found[0]) if self.backwards else (found[0], found[1])

    def guess(self, step: Step) -> DiscreteLagrangianUnknowns:
        h, (_, p, v, lam, *_) = step.h, step.start
        return DiscreteLagrangianUnknowns(d=h * v, mu=h**2 / 2 * lam, p1=p, v1=v, nu=h / 2 * lam)

    def residual(self, x: DiscreteLagrangianUnknowns, step: Step) -> dict[str, jax.Array]:
        m, t0, t1, h, (q0, p0, *_) = step.mechanics, step.t, step.t_end, step.h, step.start
        q1, system = q0 + x.d, m.system
        slope = jax.grad(lambda q: self.value(system, t0, h, q, q1))(q0)
        early, _ = self.forces(system, t0, h, q0, q1)
        return {
            "start: momentum": p0 + slope + early - m.constraint_force(t0, q0, x.mu) / h,
            "end: position constraint": m.constraint(t1, q1),
            "end: momentum": x.p1 - p0 - self._increment(x, step),
            "end: velocity": m.legendre(t1, q1, x.v1, x.p1),
            "end: hidden constraint": m.hidden(t1, q1, x.v1),
        }

    def finish(self, x: DiscreteLagrangianUnknowns, step: Step):
        return step.end(dq=x.d, dp=self._increment(x, step), v=x.v1, lam=2 * x.mu / step.h**2)

    def _increment(self, x: DiscreteLagrangianUnknowns, step: Step):
        """p1 - p0. D_q0 L_d + D_q1 L_d is the derivative along a common shift of both ends, taken forwards so that
        the velocity, which a shift does not change, drops out without roundoff."""
        m, t0, t1, h, q0 = step.mechanics, step.t, step.t_end, step.h, step.start.q
        q1, system = q0 + x.d, m.system
        shifted = jax.jacfwd(lambda a: self.value(system, t0, h, q0 + a, q1 + a))(jnp.zeros_like(q0))
        early, late = self.forces(system, t0, h, q0, q1)
        reactions = m.constraint_force(t0, q0, x.mu) / h + m.constraint_force(t1, q1, x.nu)
        return shifted + early + late - reactions


def discrete_lagrangian(
    function: Callable, *, order: int, symmetric: bool = False, force: Callable | None = None
) -> DiscreteLagrangian:
    """A variational integrator from a discrete Lagrangian `function(system, t, h, q0, q1)`.

    >>> def midpoint(system, t, h, q0, q1):
    ...     return h * system.lagrangian(t + h / 2, (q0 + q1) / 2, (q1 - q0) / h)
    >>> method = discrete_lagrangian(midpoint, order=2, symmetric=True)

    Args:
        function: L_d, a scalar written with jax.numpy; `system` is the system, with its parameters as fields.
        order: the order of the method, as the user knows it; `da.observed_order` measures it.
        symmetric: whether L_d(t, h, q0, q1) = -L_d(t + h, -h, q1, q0).
        force: f_d(system, t, h, q0, q1) -> (f-, f+), the virtual work of the forces; default: the trapezoidal rule.
    """
    if not takes(function, 5):
        raise InputError(f"discrete_lagrangian expects a function L_d(system, t, h, q0, q1), got {shown(function)}.")
    if force is not None and not takes(force, 5):
        raise InputError(
            f"discrete_lagrangian expects force=f_d(system, t, h, q0, q1) -> (f-, f+), got {shown(force)}."
        )
    order, symmetric = count("discrete_lagrangian: order", order), flag("discrete_lagrangian: symmetric", symmetric)
    return DiscreteLagrangian(function, order, symmetric, force)
