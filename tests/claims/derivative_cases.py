"""Motions that depend on one number, for derivatives: systems of every kind, and methods that treat them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

import dalembert as da
from dalembert.gallery import AppellHamel, Kepler, NonholonomicParticle


class DampedPendulum(da.System):
    """A pendulum in the plane with viscous damping and a pivot that moves up and down."""

    gravity: float = 9.81
    damping: float = 0.3
    shaking: float = 0.0

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - self.gravity * q[1]

    def holonomic(self, t, q):
        lifted = q - self.shaking * jnp.array([0.0, 1.0]) * (1 - jnp.cos(3.0 * t))
        return 0.5 * (lifted @ lifted - 1.0)

    def force(self, t, q, v):
        return -self.damping * v


class TwoLinks(da.System):
    """Two rigid links in space with unlike masses."""

    gravity: float = 9.81
    ratio: float = 2.0

    def lagrangian(self, t, q, v):
        mass = jnp.array([1.0, 1.0, 1.0, self.ratio, self.ratio, self.ratio])
        return 0.5 * mass @ v**2 - self.gravity * (q[2] + self.ratio * q[5])

    def holonomic(self, t, q):
        first, second = q[:3], q[3:] - q[:3]
        return 0.5 * jnp.array([first @ first - 1.0, second @ second - 1.0])


@dataclass(frozen=True)
class Motion:
    """`at(z)` gives a system, q0 and v0; consistent for every z near z = 1."""

    at: Callable
    h: float = 0.02
    steps: int = 40

    def run(self, method: da.Method, z, **options) -> da.Trajectory:
        system, q0, v0 = self.at(z)
        return da.simulate(system, method, q0, v0, t=(0.0, self.steps * self.h), h=self.h, save_every=4, **options)

    def value(self, method: da.Method, z, **options):
        """One number of everything that the run computes."""
        run = self.run(method, z, **options)
        parts = [run.q, run.v, run.p]
        return sum(jnp.sum(jnp.cos(jnp.arange(part.size)).reshape(part.shape) * part) for part in parts)


def _vector(*numbers):
    return jnp.array(numbers)


MOTIONS = {
    "free": Motion(lambda z: (Kepler(), _vector(0.6, 0.0), _vector(0.1 * z, 1.6 * z))),
    "holonomic": Motion(lambda z: (TwoLinks(ratio=1.5 * z), _vector(1.0, 0, 0, 1, 1, 0), _vector(0, z, 0, 0, z, 0.3))),
    "damped": Motion(lambda z: (DampedPendulum(damping=0.4 * z, gravity=9.0 * z), _vector(1.0, 0), _vector(0, 0.5))),
    "time-dependent": Motion(lambda z: (DampedPendulum(shaking=0.2 * z), _vector(1.0, 0.0), _vector(0.0, 0.5))),
    "nonholonomic": Motion(lambda z: (NonholonomicParticle(stiffness=2 * z), _vector(1.0, 0, 0), _vector(0, z, 0))),
    "nonlinear nonholonomic": Motion(
        lambda z: (AppellHamel(stiffness=0.5 * z), _vector(0.3, 0.1, 0.0), _vector(0.6 * z, 0.8 * z, -z))
    ),
}

#: methods, by what they are differentiated on
ANYWHERE = {
    "gauss-spark": da.gauss_spark(2),
    "lobatto-spark": da.lobatto_spark(3),
    "euler-spark": da.euler_spark("II"),
    "modified-lobatto": da.ModifiedLobatto(),
    "mclachlan-perlmutter": da.McLachlanPerlmutter(),
    "taylor": da.Taylor(6),
}
HOLONOMIC = {
    "rattle": da.Rattle(),
    "galerkin": da.Galerkin(2),
    "composition": da.Composition(da.Rattle(), "yoshida4"),
    "pair": da.Composition(da.SymplecticEuler(), "adjoint"),
    "shake": da.Shake(),
    "symplectic-euler": da.SymplecticEuler(),
}
CONSERVATIVE = {"energy-momentum": da.EnergyMomentum(gradient="mean-value")}


def methods_for(motion: str) -> dict[str, da.Method]:
    """The methods that take the motion of this name."""
    if "nonholonomic" in motion:
        return ANYWHERE
    return ANYWHERE | HOLONOMIC | (CONSERVATIVE if motion in ("free", "holonomic") else {})


def central_difference(function: Callable, x: float, step: float = 2.0**-8) -> float:
    """f'(x) with an error of step^8 f^(9) / 630."""
    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    return sum(float(w * (function(x + k * step) - function(x - k * step))) for k, w in weights.items()) / step


def relative(found, expected) -> float:
    """The difference, relative to the larger numbers of what is expected."""
    found, expected = np.asarray(found), np.asarray(expected)
    return float(np.max(np.abs(found - expected)) / np.max(np.abs(expected)))
