"""A bead on a wire that is moved: time-dependent holonomic constraints with exact solutions."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from ..problem import State, System
from .elliptic import pendulum_swing
from .outlines import CIRCLE, RING
from .ready import Ready, Start, exact_state, given_or_default


class BeadOnMovingWire(Ready, System):
    """A bead on a straight wire that turns about the origin with the rate w in a vertical plane, q = (x, y).

        L = m/2 |v|^2 - m g y,      g(t, q) = n(t) . q,   n = (-sin wt, cos wt)

    With q = s e, e = (cos wt, sin wt)::

        s'' = w^2 s - g sin wt,     s = a cosh wt + b sinh wt + g / (2 w^2) sin wt
        a = s(0),  b = s'(0) / w - g / (2 w^2),     lam = -m (2 w s' + g cos wt)

    (The particular solution: with s = c sin wt, -c w^2 = c w^2 - g. The multiplier: n . q'' = 2 w s'.)
    """

    rate: float = 1.0
    gravity: float = 9.81
    mass: float = 1.0
    bars = ((None, 0),)
    nonzero = ("rate",)

    def lagrangian(self, t, q, v):
        return 0.5 * self.mass * (v @ v) - self.mass * self.gravity * q[1]

    def holonomic(self, t, q):
        return jnp.cos(self.rate * t) * q[1] - jnp.sin(self.rate * t) * q[0]

    def start(self) -> Start:
        """s = 1 and s' = g / 2w - w, so that b = -a: the bead is drawn in to g / (2 w^2) sin wt."""
        along = 0.5 * self.gravity / self.rate - self.rate
        return Start(jnp.array([1.0, 0.0]), jnp.array([along, self.rate]), 3.0, 0.01)

    def exact(self, t, q0=None, v0=None) -> State:
        q0, v0 = (np.asarray(x) for x in given_or_default(self, q0, v0))
        w, gravity, mass = float(self.rate), float(self.gravity), float(self.mass)
        t = np.asarray(t, dtype=np.float64)
        sine, cosine = np.sin(w * t), np.cos(w * t)
        swing = gravity / (2 * w**2)
        a, b = q0[0], v0[0] / w - swing
        s = a * np.cosh(w * t) + b * np.sinh(w * t) + swing * sine
        ds = w * (a * np.sinh(w * t) + b * np.cosh(w * t) + swing * cosine)
        along, across = np.stack([cosine, sine], axis=-1), np.stack([-sine, cosine], axis=-1)
        v = ds[..., None] * along + w * s[..., None] * across
        lam = -mass * (2 * w * ds + gravity * cosine)
        return exact_state(s[..., None] * along, mass * v, v, lam[..., None])


class BeadOnRotatingHoop(Ready, System):
    """A bead on a level circular wire that turns with the rate w about one of its own points, q = (x, y).

        L = m/2 |v|^2,      g(t, q) = (|q - c(t)|^2 - a^2) / 2,   c = a (cos wt, sin wt)

    With q = c + a (cos(wt + phi), sin(wt + phi)) it swings about the far end like a pendulum::

        phi'' = -w^2 sin(phi),      lam = m (w^2 cos(phi) + (w + phi')^2)

    (From T = m a^2/2 (w^2 + (w + phi')^2 + 2 w (w + phi') cos(phi)); the multiplier from q''.(q - c).)
    Nonlinear, rheonomic, and solved by Jacobi elliptic functions.
    Invariant: the Jacobi integral |p|^2 / 2m - w (x p_y - y p_x), the energy in the turning frame.
    """

    radius: float = 1.0
    rate: float = 2.0
    mass: float = 1.0
    faces = RING
    bars = ((None, 1), (1, 0))

    def lagrangian(self, t, q, v):
        return 0.5 * self.mass * (v @ v)

    def holonomic(self, t, q):
        x = q[0] - self.radius * jnp.cos(self.rate * t)
        y = q[1] - self.radius * jnp.sin(self.rate * t)
        return 0.5 * (x**2 + y**2 - self.radius**2)

    def points(self, t, q):
        """The bead, and the centre of the hoop."""
        turned = self.rate * t
        return jnp.array([[q[0], q[1]], [self.radius * jnp.cos(turned), self.radius * jnp.sin(turned)]])

    def invariants(self, t, q, p):
        return {"jacobi_integral": 0.5 * (p @ p) / self.mass - self.rate * (q[0] * p[1] - q[1] * p[0])}

    def outline(self, t, q):
        """The hoop."""
        middle = self.radius * jnp.stack([jnp.cos(self.rate * t), jnp.sin(self.rate * t)])
        return middle + self.radius * jnp.array(CIRCLE)

    def start(self) -> Start:
        """phi = 1, phi' = 0.5."""
        a, w = self.radius, self.rate
        sine, cosine = jnp.sin(1.0), jnp.cos(1.0)
        q0 = a * jnp.array([1.0 + cosine, sine])
        v0 = a * jnp.array([-(w + 0.5) * sine, w + (w + 0.5) * cosine])
        return Start(q0, v0, 10.0, 0.01)

    def exact(self, t, q0=None, v0=None) -> State:
        q0, v0 = (np.asarray(x) for x in given_or_default(self, q0, v0))
        a, w, mass = float(self.radius), float(self.rate), float(self.mass)
        t = np.asarray(t, dtype=np.float64)
        x, y, vx, vy = q0[0] - a, q0[1], v0[0], v0[1] - a * w
        swing = pendulum_swing(t, np.arctan2(y, x), (x * vy - y * vx) / a**2 - w, w)
        sine, cosine = np.sin(w * t), np.cos(w * t)
        centre, ahead = np.stack([cosine, sine], axis=-1), np.stack([-sine, cosine], axis=-1)
        outward = swing.cosine[..., None] * centre + swing.sine[..., None] * ahead
        across = swing.cosine[..., None] * ahead - swing.sine[..., None] * centre
        v = a * (w * ahead + (w + swing.rate)[..., None] * across)
        lam = mass * (w**2 * swing.cosine + (w + swing.rate) ** 2)
        return exact_state(a * (centre + outward), mass * v, v, lam[..., None])
