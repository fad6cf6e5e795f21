"""A point in the plane, drawn to a centre: motions without constraints."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from ..errors import InputError
from ..problem import State, System
from .ready import Ready, Start, exact_state, given_or_default


def _angular_momentum(q, p):
    return q[0] * p[1] - q[1] * p[0]


class HarmonicOscillator(Ready, System):
    """A mass on a spring in the plane.

        L = m/2 |v|^2 - k/2 |q|^2,      q = q0 cos wt + v0/w sin wt,   w^2 = k/m

    Invariant: the angular momentum.
    """

    mass: float = 1.0
    stiffness: float = 4.0

    def lagrangian(self, t, q, v):
        return 0.5 * self.mass * (v @ v) - 0.5 * self.stiffness * (q @ q)

    def invariants(self, t, q, p):
        return {"angular_momentum": _angular_momentum(q, p)}

    def start(self) -> Start:
        return Start(jnp.asarray([1.0, 0.3]), jnp.asarray([0.0, 1.0]), 10.0, 0.01)

    def exact(self, t, q0=None, v0=None) -> State:
        q0, v0 = (np.asarray(x) for x in given_or_default(self, q0, v0))
        w = np.sqrt(float(self.stiffness) / float(self.mass))
        angle = w * np.asarray(t, dtype=np.float64)[..., None]
        q = q0 * np.cos(angle) + v0 / w * np.sin(angle)
        v = v0 * np.cos(angle) - w * q0 * np.sin(angle)
        return exact_state(q, float(self.mass) * v, v)


class Kepler(Ready, System):
    """A planet in the plane, the sun fixed at the origin.

        L = m/2 |v|^2 + m k / |q|

    In the axes of the ellipse q = a (cos E - e, sqrt(1 - e^2) sin E), with E - e sin E = n (t - t_p).
    Invariants: the angular momentum, and the Runge-Lenz vector (|v|^2/k - 1/|q|) q - (q.v)/k v, which points
    to the perihelion and has the length e.
    """

    strength: float = 1.0
    mass: float = 1.0

    def lagrangian(self, t, q, v):
        return self.mass * (0.5 * (v @ v) + self.strength / jnp.sqrt(q @ q))

    def invariants(self, t, q, p):
        v = p / self.mass
        vector = ((v @ v) / self.strength - 1 / jnp.sqrt(q @ q)) * q - (q @ v) / self.strength * v
        return {"angular_momentum": _angular_momentum(q, p), "runge_lenz": vector}

    def start(self) -> Start:
        """The perihelion of an ellipse with semi-major axis 1 and eccentricity 0.5."""
        return Start(jnp.asarray([0.5, 0.0]), jnp.array([0.0, jnp.sqrt(3.0 * self.strength)]), 20.0, 0.01)

    def exact(self, t, q0=None, v0=None) -> State:
        q0, v0 = (np.asarray(x) for x in given_or_default(self, q0, v0))
        k, t = float(self.strength), np.asarray(t, dtype=np.float64)
        axis = 1 / (2 / np.hypot(*q0) - v0 @ v0 / k)
        if not axis > 0:
            raise InputError(f"Kepler.exact expects an elliptic orbit, got 1 / a = {1 / axis:.6g} <= 0.")
        toward = (v0 @ v0 / k - 1 / np.hypot(*q0)) * q0 - (q0 @ v0) / k * v0
        e = np.hypot(*toward)
        first = toward / e if e > 1e-14 else q0 / np.hypot(*q0)
        turn = np.sign(q0[0] * v0[1] - q0[1] * v0[0])
        second = turn * np.array([-first[1], first[0]])
        short, mean_motion = axis * np.sqrt(1 - e**2), np.sqrt(k / axis**3)
        E0 = np.arctan2(q0 @ second / short, q0 @ first / axis + e)
        E = _kepler_equation(mean_motion * t + E0 - e * np.sin(E0), e)[..., None]
        rate = mean_motion / (1 - e * np.cos(E))
        q = axis * (np.cos(E) - e) * first + short * np.sin(E) * second
        v = rate * (-axis * np.sin(E) * first + short * np.cos(E) * second)
        return exact_state(q, float(self.mass) * v, v)


def _kepler_equation(mean, e: float):
    """E with E - e sin E = mean, by Newton from a start beyond the root, where it converges monotonically."""
    turns = 2 * np.pi * np.round(mean / (2 * np.pi))
    mean = mean - turns
    E = mean + e * np.sign(mean)
    for _ in range(60):
        step = (E - e * np.sin(E) - mean) / (1 - e * np.cos(E))
        E = E - step
        if np.max(np.abs(step), initial=0.0) < 1e-15:
            break
    return E + turns
