"""A block that sticks and slides, a pendulum that hits a wall, a ball in a box; exact motions through every event."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import scipy

from ..problem import State, System
from .elliptic import pendulum_swing
from .ready import Ready, Start, exact_state, given_or_default


class SlidingBlock(Ready, System):
    """A block on an incline with friction, q = (way down the slope, height above it).

        L = m/2 |v|^2 + m g (q_1 sin a - q_2 cos a),      gap = q_2,      tangent = (1, 0)

    While it slides, q_1'' = g (sin a - mu sign(v_1) cos a); where it stops it stays if mu >= tan a, and slides down
    otherwise. It starts up the slope, with speed 1.
    """

    friction: float = 0.3
    angle: float = 0.5
    gravity: float = 9.81
    mass: float = 1.0
    faces = ((0, 1, 2, 3), (4, 5))

    def lagrangian(self, t, q, v):
        down = q[0] * jnp.sin(self.angle) - q[1] * jnp.cos(self.angle)
        return 0.5 * self.mass * (v @ v) + self.mass * self.gravity * down

    def gap(self, t, q):
        return q[1:]

    def tangent(self, t, q):
        return jnp.array([[1.0, 0.0]])

    def points(self, t, q):
        """The middle of the foot of the block."""
        return (q @ self._axes())[None]

    def outline(self, t, q):
        """The block and the slope."""
        block = q + jnp.array([[-0.2, 0.0], [0.2, 0.0], [0.2, 0.24], [-0.2, 0.24]])
        return jnp.concatenate([block, jnp.array([[-0.6, 0.0], [3.0, 0.0]])]) @ self._axes()

    def _axes(self):
        """Down the slope, and away from it, as rows."""
        cosine, sine = jnp.cos(self.angle), jnp.sin(self.angle)
        return jnp.array([[cosine, -sine], [sine, cosine]])

    def start(self) -> Start:
        return Start(jnp.zeros(2), jnp.array([-1.0, 0.0]), 2.0, 0.01)

    def exact(self, t, q0=None, v0=None) -> State:
        """From a start in contact."""
        (x, _), (speed, _) = (np.asarray(x) for x in given_or_default(self, q0, v0))
        g, mass, t = float(self.gravity), float(self.mass), np.asarray(t, dtype=np.float64)
        pull, grip = g * np.sin(float(self.angle)), float(self.friction) * g * np.cos(float(self.angle))
        first = pull - grip * np.sign(speed)
        stop = -speed / first if speed * first < 0 else (0.0 if speed == 0 else np.inf)
        second = np.sign(pull) * max(abs(pull) - grip, 0.0)
        before, after = np.minimum(t, stop), np.maximum(t - stop, 0.0)
        x = x + speed * before + first * before**2 / 2 + second * after**2 / 2
        v = np.where(t < stop, speed + first * before, second * after)
        q, v = (np.stack([part, np.zeros_like(t)], axis=1) for part in (x, v))
        return exact_state(q, mass * v, v)


class PendulumAndWall(Ready, System):
    """The pendulum in Cartesian coordinates, with a wall that it hits: a constraint and a contact.

        L = m/2 |v|^2 - m g y,      g = (|q|^2 - l^2) / 2,      gap = x + d,      v+ = -rho v-

    In the angle, q = l (sin theta, -cos theta), the rate is reversed and reduced by rho where sin theta = -d / l.
    """

    distance: float = 0.3
    restitution: float = 0.7
    length: float = 1.0
    gravity: float = 9.81
    mass: float = 1.0
    bars = ((None, 0),)
    faces = ((0, 1),)

    def lagrangian(self, t, q, v):
        return 0.5 * self.mass * (v @ v) - self.mass * self.gravity * q[1]

    def holonomic(self, t, q):
        return 0.5 * (q @ q - self.length**2)

    def gap(self, t, q):
        return q[:1] + self.distance

    def outline(self, t, q):
        """The wall."""
        return jnp.stack(
            [jnp.stack([-self.distance, -1.2 * self.length]), jnp.stack([-self.distance, 0 * self.length])]
        )

    def start(self) -> Start:
        q0 = self.length * jnp.array([jnp.sin(1.0), -jnp.cos(1.0)])
        return Start(q0, jnp.zeros(2), 3.0, 0.01)

    def exact(self, t, q0=None, v0=None) -> State:
        """q, p, v until impacts accumulate; lam is left out. At an impact the velocity after it."""
        q0, v0 = (np.asarray(x) for x in given_or_default(self, q0, v0))
        t, length, mass = np.asarray(t, dtype=np.float64), float(self.length), float(self.mass)
        theta = np.arctan2(q0[0], -q0[1])
        rate = (q0[0] * v0[1] - q0[1] * v0[0]) / length**2
        begin, w0 = 0.0, np.sqrt(float(self.gravity) / length)
        wall = -np.arcsin(float(self.distance) / length)
        angle, speed = np.empty_like(t), np.empty_like(t)
        while True:
            flight = self._flight_length(theta, rate, w0, wall, float(np.max(t)) - begin)
            here = (t >= begin) & (t < begin + flight)
            swing = pendulum_swing(t[here] - begin, theta, rate, w0)
            angle[here], speed[here] = np.arctan2(swing.sine, swing.cosine), swing.rate
            if not np.isfinite(flight):
                break
            end = pendulum_swing(np.array([flight]), theta, rate, w0)
            begin, theta, rate = begin + flight, wall, -float(self.restitution) * float(end.rate[0])
        q = length * np.stack([np.sin(angle), -np.cos(angle)], axis=1)
        v = length * speed[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        return exact_state(q, mass * v, v)

    @staticmethod
    def _flight_length(theta, rate, w0, wall, longest) -> float:
        """Until the angle falls to that of the wall; infinite if that is later than `longest`."""

        def above(tau):
            swing = pendulum_swing(np.array([tau]), theta, rate, w0)
            return float(np.arctan2(swing.sine, swing.cosine)[0]) - wall

        tau, step = 0.0, 0.01 / w0
        while tau < longest:
            tau += step
            if above(tau) < 0:
                return float(scipy.optimize.brentq(above, tau - step + 1e-3 * step, tau, xtol=1e-15, rtol=1e-15))  # pyright: ignore
        return np.inf


class BallInBox(Ready, System):
    """A ball without gravity between four walls: impacts in x and y that know nothing of each other.

        L = m/2 |v|^2,      gaps x, a - x, y, b - y

    Along each axis the ball crosses the box in the time width / speed, and loses the factor rho at each wall.
    """

    width: float = 1.0
    height: float = 0.7
    restitution: float = 0.9
    mass: float = 1.0
    faces = ((0, 1), (1, 2), (2, 3), (3, 0))

    def lagrangian(self, t, q, v):
        return 0.5 * self.mass * (v @ v)

    def gap(self, t, q):
        return jnp.array([q[0], self.width - q[0], q[1], self.height - q[1]])

    def outline(self, t, q):
        """The walls."""
        return jnp.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]) * jnp.stack([self.width, self.height])

    def start(self) -> Start:
        return Start(jnp.array([0.3, 0.2]), jnp.array([1.3, -0.9]), 5.0, 0.05)

    def exact(self, t, q0=None, v0=None) -> State:
        """At an impact the velocity after it."""
        q0, v0 = (np.asarray(x, dtype=np.float64) for x in given_or_default(self, q0, v0))
        t, mass = np.asarray(t, dtype=np.float64), float(self.mass)
        sides = (float(self.width), float(self.height))
        axes = [self._along(t, x, v, side) for x, v, side in zip(q0, v0, sides, strict=True)]
        q, v = (np.stack(parts, axis=1) for parts in zip(*axes, strict=True))
        return exact_state(q, mass * v, v)

    def _along(self, t, x: float, v: float, side: float):
        rho, begin = float(self.restitution), 0.0
        position, velocity = np.empty_like(t), np.empty_like(t)
        while True:
            flight = np.inf if v == 0 else ((side - x) / v if v > 0 else -x / v)
            here = (t >= begin) & (t < begin + flight)
            position[here], velocity[here] = x + v * (t[here] - begin), v
            if begin + flight > np.max(t, initial=0.0):
                return position, velocity
            begin, x, v = begin + flight, side if v > 0 else 0.0, -rho * v
