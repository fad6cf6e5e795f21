"""The differential equation that the natural symplectic Euler method follows where the reaction is not affine in psi.

With the letters of an `OverdeterminedDAE`::

    y' = v(y, z)
    z' = f(y, z) + a r(y, z, Psi0) + (1 - a) r(y, z, Psi1)
    0  = g_y v_z (f + a r(y, z, Psi0)) + g_yy(v, v) / 2
    0  = g_yy(v, v) / 2 + g_y v_y v + (1 - a) g_y v_z r(y, z, Psi1)

The sum of the two last lines is the condition that psi satisfies; where r is affine the two reactions add up to r(psi)
and this is the motion of the system itself.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from ..arguments import number
from ..errors import InputError
from ..problem import AbstractSystem, OverdeterminedDAE
from .mechanics import mechanics_of

#: Newton steps for Psi0 and Psi1 from psi, and for v from p.
NEWTON_STEPS = 12


class NaturalLimit(OverdeterminedDAE):
    """An ordinary differential equation in (y, z), to be integrated like any `OverdeterminedDAE`."""

    original: AbstractSystem
    alpha: float

    def velocity(self, y, z) -> Any:
        mechanics, t = mechanics_of(self.original), jnp.zeros(())
        if self.original.gives_velocity:
            return -mechanics.legendre(t, y, jnp.zeros_like(z), z)
        return _newton(lambda v: mechanics.legendre(t, y, v, z), z)

    def force(self, y, z) -> Any:
        m, t, a = mechanics_of(self.original), jnp.zeros(()), self.alpha
        v = self.velocity(y, z)
        f, psi = m.rate(t, y, v, z), m.acceleration(t, y, v, z).lam

        def reaction(psi):
            return -m.reactions(t, y, v, z, psi, jnp.zeros(0))

        def pushed(w):
            """g_y v_z w."""
            return jax.jvp(lambda z: m.hidden(t, y, self.velocity(y, z)), (z,), (w,))[1]

        curvature = jax.jvp(lambda y: m.hidden(t, y, v), (y,), (v,))[1]  # g_yy(v, v)
        along = jax.jvp(lambda y: m.hidden(t, y, self.velocity(y, z)), (y,), (v,))[1]  # g_yy(v, v) + g_y v_y v
        first = _newton(lambda psi: pushed(f + a * reaction(psi)) + curvature / 2, psi)
        second = _newton(lambda psi: along - curvature / 2 + (1 - a) * pushed(reaction(psi)), psi)
        return f + a * reaction(first) + (1 - a) * reaction(second)


def _newton(function, x):
    def step(x, _):
        return x - jnp.linalg.solve(jax.jacfwd(function)(x), function(x)), None

    return jax.lax.scan(step, x, length=NEWTON_STEPS)[0]


def natural_limit(system: AbstractSystem, alpha: float = 0.5) -> NaturalLimit:
    """The system to whose motion `SymplecticEuler(extension="natural", alpha=alpha)` converges."""
    if not isinstance(system, AbstractSystem) or not system.provides("holonomic") or system.provides("nonholonomic"):
        raise InputError("natural_limit expects a system with holonomic constraints, or an OverdeterminedDAE with one.")
    alpha = number("alpha", alpha)
    if alpha in (0.0, 1.0):
        raise InputError(f"alpha must be neither 0 nor 1, got {alpha:g}: half of the reaction would have no weight.")
    return NaturalLimit(system, alpha)
