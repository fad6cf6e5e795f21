"""Particles joined by springs and rigid bars, written through squared distances for energy-momentum methods."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ..formulation import dot_products, squared_distances
from ..problem import System
from .outlines import CIRCLE, DISC, ROUND
from .ready import Ready, Start


class FourParticles(Ready, System):
    """Four particles in space, two rigid bars 0-1 and 2-3, two springs 0-2 and 1-3 (Gonzalez 1999)::

        V = K1/4 (|q0 - q2|^2 - 1)^2 + K2/4 (|q1 - q3|^2 - 1)^2,      |q0 - q1| = |q2 - q3| = 1

    Energy, linear and angular momentum are kept by the motion.
    """

    first_stiffness: float = 100.0
    second_stiffness: float = 1000.0
    masses: ClassVar[np.ndarray] = np.array([1.0, 3.0, 2.3, 1.7])
    springs: ClassVar = ((0, 2), (1, 3))
    rods: ClassVar = ((0, 1), (2, 3))
    bars = rods

    def lagrangian(self, t, q, v):
        weights = np.repeat(self.masses, 3)
        return 0.5 * (v @ (weights * v)) - jnp.sum(self.potential_of(self.potential_invariants(q)))

    def holonomic(self, t, q):
        return self.constraint_of(self.constraint_invariants(q))

    def potential_invariants(self, q):
        return squared_distances(q, self.springs)

    def potential_of(self, pi):
        return 0.25 * jnp.stack([self.first_stiffness, self.second_stiffness]) * (pi - 1.0) ** 2

    def constraint_invariants(self, q):
        return squared_distances(q, self.rods)

    def constraint_of(self, zeta):
        return jnp.sqrt(zeta) - 1.0

    def invariants(self, t, q, p):
        return momenta(q, p)

    def points(self, t, q):
        return q.reshape(-1, 3)

    def start(self) -> Start:
        q = jnp.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0])
        return Start(q, jnp.zeros(12).at[11].set(2.0 / 1.7), 10.0, 0.01)


def momenta(q, p):
    """Linear and angular momentum of particles in space."""
    q, p = q.reshape(-1, 3), p.reshape(-1, 3)
    return {"linear momentum": jnp.sum(p, axis=0), "angular momentum": jnp.sum(jnp.cross(q, p), axis=0)}


class Lattice(Ready, System):
    """A ladder of `cells` square cells in space: rungs are rigid bars, all other edges and the diagonals are springs.

    2 (cells + 1) particles of unit mass; it starts flat, with a wave of velocities across its plane.
    """

    cells: int = eqx.field(static=True, default=4)
    stiffness: float = 50.0

    def _edges(self):
        rungs = [(2 * k, 2 * k + 1) for k in range(self.cells + 1)]
        rails = [(k, k + 2) for k in range(2 * self.cells)]
        diagonals = [(2 * k, 2 * k + 3) for k in range(self.cells)]
        return rungs, rails + diagonals

    @property
    def bars(self):  # pyright: ignore[reportIncompatibleVariableOverride]
        return tuple(self._edges()[0])

    def lagrangian(self, t, q, v):
        return 0.5 * (v @ v) - jnp.sum(self.potential_of(self.potential_invariants(q)))

    def holonomic(self, t, q):
        return self.constraint_of(self.constraint_invariants(q))

    def potential_invariants(self, q):
        return squared_distances(q, self._edges()[1])

    def potential_of(self, pi):
        rails = 2 * self.cells
        rest = np.where(np.arange(len(self._edges()[1])) < rails, 1.0, 2.0)
        return 0.25 * self.stiffness * (pi - rest) ** 2

    def constraint_invariants(self, q):
        return squared_distances(q, self._edges()[0])

    def constraint_of(self, zeta):
        return jnp.sqrt(zeta) - 1.0

    def invariants(self, t, q, p):
        return momenta(q, p)

    def points(self, t, q):
        return q.reshape(-1, 3)

    def start(self) -> Start:
        columns = np.arange(self.cells + 1)
        x = np.stack([np.repeat(columns, 2), np.tile([0.0, 1.0], self.cells + 1), np.zeros(2 * self.cells + 2)], axis=1)
        v = np.zeros_like(x)
        v[:, 2] = 0.5 * np.sin(2 * np.pi * np.repeat(columns, 2) / max(self.cells, 4))
        return Start(jnp.asarray(x.ravel()), jnp.asarray(v.ravel()), 5.0, 0.01)


class HeavyTop(Ready, System):
    """A symmetric top under gravity with its tip fixed, in redundant coordinates: three directors d1, d2, d3.

        L = 1/2 sum_k E_k |d_k'|^2 - m g l e_3 . d_3,      d_i . d_j = delta_ij

    E = (I3/2, I3/2, I1 - I3/2) are the Euler inertias. Angular momentum about the vertical and about the top's own
    axis are kept; the first is the momentum of a symmetry of the invariants used here.
    """

    transverse: float = 1.0
    axial: float = 0.6
    weight: float = 2.0

    def _euler(self):
        half = self.axial / 2
        return jnp.stack([half, half, self.transverse - half])

    def lagrangian(self, t, q, v):
        rates = jnp.sum(v.reshape(3, 3) ** 2, axis=1)
        return 0.5 * (self._euler() @ rates) - self.weight * q[8]

    def holonomic(self, t, q):
        return self.constraint_of(self.constraint_invariants(q))

    def potential_invariants(self, q):
        return q[8:9]

    def potential_of(self, pi):
        return self.weight * pi

    def constraint_invariants(self, q):
        return dot_products(q, ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))

    def constraint_of(self, zeta):
        return 0.5 * (zeta - np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0]))

    def invariants(self, t, q, p):
        q, p = q.reshape(3, 3), p.reshape(3, 3)
        return {
            "vertical angular momentum": jnp.sum(jnp.cross(q, p), axis=0)[2],
            "axial angular momentum": q[0] @ p[1] - q[1] @ p[0],
        }

    def points(self, t, q):
        return q[6:9][None]

    bars = ((None, 0),)
    faces = (*DISC, *((k, ROUND) for k in range(0, ROUND, 4)))

    def outline(self, t, q):
        """A disc on the axis, and lines from its rim to the tip."""
        first, second, axis = q.reshape(3, 3)
        rim = 0.75 * axis + 0.45 * jnp.array(CIRCLE) @ jnp.stack([first, second])
        return jnp.concatenate([rim, jnp.zeros((1, 3))])

    def start(self) -> Start:
        tilt = 0.4
        directors = jnp.array(
            [[jnp.cos(tilt), 0.0, -jnp.sin(tilt)], [0.0, 1.0, 0.0], [jnp.sin(tilt), 0.0, jnp.cos(tilt)]]
        )
        spin = 6.0 * directors[2] + jnp.array([0.0, 0.0, 0.5])
        return Start(directors.ravel(), jnp.cross(spin[None], directors).ravel(), 10.0, 0.01)
