"""Differential-algebraic inequalities: masses on rough surfaces that they may leave."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from ..problem import DifferentialAlgebraicInequality


class MassOverCubic(DifferentialAlgebraicInequality):
    """`MassOnCubic` that may take off: y2 >= b y1^3, with friction c |normal force|^r while it slides::

        m z' = (0, -m g) + (-3 b y1^2, 1) psi - c |N|^r z / |z|,      |N|^2 = (1 + 9 b^2 y1^4) psi^2
        0 <= y2 - b y1^3  _|_  psi >= 0

    It slides while g + 6 b y1 z1^2 > 0. Impacts are frictionless: an impulse over a vanishing time has a friction
    impulse h c (I / h)^r that vanishes with h for r < 1.
    """

    mass: float = 1.0
    gravity: float = 9.81
    cubic: float = 0.01
    friction_coefficient: float = 0.1
    friction_exponent: float = 0.85

    def velocity(self, y, z):
        return z

    def force(self, y, z):
        return jnp.array([0.0, -self.gravity])

    def _normal(self, y):
        return jnp.array([-3 * self.cubic * y[0] ** 2, 1.0])

    def reaction(self, y, z, psi):
        normal, pressed = self._normal(y), psi[0] > 0
        square = jnp.where(pressed, (normal @ normal) * psi[0] ** 2, 1.0)
        friction = jnp.where(pressed, self.friction_coefficient * square ** (self.friction_exponent / 2), 0.0)
        return (normal * psi[0] - friction * z / jnp.sqrt(z @ z)) / self.mass

    def impact(self, y, z, impulse):
        return self._normal(y) * impulse[0] / self.mass

    def constraint(self, y):
        return y[1] - self.cubic * y[0] ** 3

    def start_values(self, y1: float = -5.0, speed: float = 6.5) -> tuple[np.ndarray, np.ndarray]:
        """y0 on the surface and z0 along it; by default it takes off at once and lands at t = 0.52."""
        b = float(self.cubic)
        return np.array([y1, b * y1**3]), np.array([speed, 3 * b * y1**2 * speed])
