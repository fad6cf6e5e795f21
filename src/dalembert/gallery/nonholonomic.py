"""Point masses with one constraint on their velocity: linear and not integrable, and quadratic."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from ..problem import State, System
from .ready import Ready, Start, exact_state, given_or_default


class NonholonomicParticle(Ready, System):
    """A particle in space, drawn to the vertical axis, whose climb is tied to its way along x: q = (x, y, z).

        L = m/2 |v|^2 - c/2 (x^2 + y^2),      k = z' - y x'

    The constraint is linear in the velocity and not integrable (Rosenberg; the example of Bates and Sniatycki 1993
    and of Cortes and Martinez, Nonlinearity 14 (2001) 1365). Its y is a harmonic oscillator:
    invariant: the energy of that part, p_y^2 / 2m + c/2 y^2.
    """

    mass: float = 1.0
    stiffness: float = 2.0

    def lagrangian(self, t, q, v):
        return 0.5 * self.mass * (v @ v) - 0.5 * self.stiffness * (q[0] ** 2 + q[1] ** 2)

    def nonholonomic(self, t, q, v):
        return v[2] - q[1] * v[0]

    def invariants(self, t, q, p):
        return {"energy_of_y": 0.5 * p[1] ** 2 / self.mass + 0.5 * self.stiffness * q[1] ** 2}

    def start(self) -> Start:
        return Start(jnp.array([1.0, 0.0, 0.0]), jnp.array([0.0, 1.0, 0.0]), 20.0, 0.02)


class AppellHamel(Ready, System):
    """A particle whose climb and whose horizontal speed are in a fixed ratio: q = (x, y, z).

        L = m/2 |v|^2 - m g z - c/2 (x^2 + y^2),      k = (rho^2 (x'^2 + y'^2) - z'^2) / 2

    Appell's machine of 1911 in Hamel's form, with a spring to the vertical axis: the constraint is quadratic in the
    velocity, its force -k_v psi follows Chetaev's rule. It degenerates at rest; the start goes down, where gravity
    keeps it moving. Without the spring (c = 0) it moves along a straight line with constant acceleration::

        u = sqrt(x'^2 + y'^2),   u' = -sigma rho g / (1 + rho^2),   z' = sigma rho u,   sigma = +-1
        psi = sigma m g / (rho (1 + rho^2) u)
    """

    ratio: float = 1.0
    stiffness: float = 2.0
    gravity: float = 1.0
    mass: float = 1.0

    def lagrangian(self, t, q, v):
        potential = self.mass * self.gravity * q[2] + 0.5 * self.stiffness * (q[0] ** 2 + q[1] ** 2)
        return 0.5 * self.mass * (v @ v) - potential

    def nonholonomic(self, t, q, v):
        return 0.5 * (self.ratio**2 * (v[0] ** 2 + v[1] ** 2) - v[2] ** 2)

    def start(self) -> Start:
        return Start(jnp.array([0.5, 0.0, 0.0]), jnp.array([0.0, 1.0, -self.ratio]), 10.0, 0.01)

    def exact(self, t, q0=None, v0=None) -> State | None:
        """Known without the spring, up to the moment at which a climbing particle stops."""
        if float(self.stiffness) != 0.0:
            return None
        q0, v0 = (np.asarray(x) for x in given_or_default(self, q0, v0))
        rho, gravity, mass = float(self.ratio), float(self.gravity), float(self.mass)
        t = np.asarray(t, dtype=np.float64)[..., None]
        speed, sign = np.hypot(v0[0], v0[1]), np.sign(v0[2])
        rate = -sign * rho * gravity / (1 + rho**2)
        along = v0 / speed  # the velocity at u = 1
        u = speed + rate * t
        q, v = q0 + (speed * t + 0.5 * rate * t**2) * along, u * along
        return exact_state(q, mass * v, v, psi=sign * mass * gravity / (rho * (1 + rho**2) * u))
