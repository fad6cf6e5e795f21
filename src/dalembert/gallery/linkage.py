"""Planar mechanisms with one degree of freedom: the four-bar linkage and the slider-crank."""

from __future__ import annotations

import jax.numpy as jnp

from ..problem import System
from .ready import Ready, Start


def _rod(mass, v1, v2):
    """The kinetic energy of a uniform rod whose ends move with v1 and v2."""
    return mass / 6 * (v1 @ v1 + v1 @ v2 + v2 @ v2)


class FourBar(Ready, System):
    """A closed chain of a crank, a coupler and a rocker on a fixed ground link, in the plane of gravity.

    Redundant coordinates: the two moving joints, q = (B, C); the fixed ones are A = (0, 0) and D = (d, 0).
    Uniform rods: one of mass m whose ends move with u and w has the kinetic energy m/6 (u.u + u.w + w.w).

        T = m_a/6 |B'|^2 + m_b/6 (|B'|^2 + B'.C' + |C'|^2) + m_c/6 |C'|^2
        V = g/2 (m_a B_y + m_b (B_y + C_y) + m_c C_y)
        g = (|B|^2 - a^2, |C - B|^2 - b^2, |C - D|^2 - c^2) / 2

    The default lengths satisfy Grashof's condition (shortest + longest < sum of the others), the crank being
    shortest: it turns round, the rocker swings. `start` puts the crank at 60 degrees, C on the upper branch.
    """

    crank: float = 1.0
    coupler: float = 3.0
    rocker: float = 2.5
    ground: float = 3.5
    crank_mass: float = 1.0
    coupler_mass: float = 3.0
    rocker_mass: float = 2.5
    gravity: float = 9.81
    bars = ((None, 0), (0, 1), (1, 2))

    def lagrangian(self, t, q, v):
        B, C, vB, vC = q[:2], q[2:], v[:2], v[2:]
        still = jnp.zeros(2)
        kinetic = _rod(self.crank_mass, still, vB) + _rod(self.coupler_mass, vB, vC) + _rod(self.rocker_mass, vC, still)
        heights = self.crank_mass * B[1] + self.coupler_mass * (B[1] + C[1]) + self.rocker_mass * C[1]
        return kinetic - 0.5 * self.gravity * heights

    def holonomic(self, t, q):
        B, C = q[:2], q[2:]
        bar, x = C - B, C[0] - self.ground
        return 0.5 * jnp.array(
            [
                B @ B - self.crank**2,
                bar @ bar - self.coupler**2,
                x**2 + C[1] ** 2 - self.rocker**2,
            ]
        )

    def points(self, t, q):
        """B, C and D."""
        return jnp.array([[q[0], q[1]], [q[2], q[3]], [self.ground, 0.0]])

    def configuration(self, angle):
        """(B, C) at a crank angle: the circles of the coupler about B and of the rocker about D meet in C."""
        B = self.crank * jnp.array([jnp.cos(angle), jnp.sin(angle)])
        D = jnp.array([self.ground, 0.0])
        axis = D - B
        distance = jnp.sqrt(axis @ axis)
        along = (self.coupler**2 - self.rocker**2 + distance**2) / (2 * distance)
        across = jnp.sqrt(self.coupler**2 - along**2)
        unit = axis / distance
        C = B + along * unit + across * jnp.array([-unit[1], unit[0]])
        return B, C

    def start(self) -> Start:
        """The crank at 60 degrees, turning at 4 rad/s; the velocity of C from the two rods that hold it.

        (C - B).C' = (C - B).B',   (C - D).C' = 0
        """
        B, C = self.configuration(jnp.pi / 3)
        vB = 4.0 * jnp.array([-B[1], B[0]])
        bar, arm = C - B, jnp.array([C[0] - self.ground, C[1]])
        vC = (bar @ vB) / (bar[0] * arm[1] - bar[1] * arm[0]) * jnp.array([arm[1], -arm[0]])
        return Start(jnp.concatenate([B, C]), jnp.concatenate([vB, vC]), 10.0, 0.005)


class SliderCrank(Ready, System):
    """Crank, rod and slider in the angles q = (alpha, beta) of crank and rod: the mass matrix depends on q.

    Joints B = a (cos alpha, sin alpha) and S = B + b (cos beta, sin beta); uniform rods, a point mass at S::

        T = m_a/6 |B'|^2 + m_b/6 (|B'|^2 + B'.S' + |S'|^2) + m_s/2 |S'|^2
        V = g/2 (m_a B_y + m_b (B_y + S_y))
        g = a sin(alpha) + b sin(beta)

    A standard test of multibody codes (IFToMM benchmark problems); here with gravity across the slide.
    """

    crank: float = 1.0
    rod: float = 2.5
    crank_mass: float = 1.0
    rod_mass: float = 2.0
    slider_mass: float = 1.0
    gravity: float = 9.81
    bars = "chain"
    nonzero = ("rod",)

    def lagrangian(self, t, q, v):
        sine, cosine = jnp.sin(q), jnp.cos(q)
        lengths = jnp.array([self.crank, self.rod])
        turn_x, turn_y = -lengths * sine * v, lengths * cosine * v
        vB = jnp.array([turn_x[0], turn_y[0]])
        vS = jnp.array([turn_x[0] + turn_x[1], turn_y[0] + turn_y[1]])
        kinetic = (
            _rod(self.crank_mass, jnp.zeros(2), vB) + _rod(self.rod_mass, vB, vS) + 0.5 * self.slider_mass * (vS @ vS)
        )
        height_B = self.crank * sine[0]
        height_S = height_B + self.rod * sine[1]
        return kinetic - 0.5 * self.gravity * (self.crank_mass * height_B + self.rod_mass * (height_B + height_S))

    def holonomic(self, t, q):
        return self.crank * jnp.sin(q[0]) + self.rod * jnp.sin(q[1])

    def points(self, t, q):
        """B and S."""
        x, y = self.crank * jnp.cos(q[0]), self.crank * jnp.sin(q[0])
        return jnp.array([[x, y], [x + self.rod * jnp.cos(q[1]), y + self.rod * jnp.sin(q[1])]])

    def start(self) -> Start:
        """The crank at 45 degrees, turning at 5 rad/s."""
        alpha, turn = jnp.pi / 4, 5.0
        beta = -jnp.arcsin(self.crank / self.rod * jnp.sin(alpha))
        rate = -self.crank * jnp.cos(alpha) / (self.rod * jnp.cos(beta)) * turn
        return Start(jnp.array([alpha, beta]), jnp.array([turn, rate]), 10.0, 0.005)
