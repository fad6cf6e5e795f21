"""One mass and one stop: the bouncing ball and the oscillator with an impact, with exact motions through every impact.

Free flight from q(0) = a, v(0) = b with m q'' + c q' + k q = 0, s = c / 2m, w^2 = k/m - s^2::

    q = e^{-s t} (a cos(w t) + ((b + s a) / w) sin(w t))

Impact times are zeros of q - stop, found with scipy; an accumulation ends where velocities have sunk into roundoff.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import scipy

from ..problem import State, System
from .ready import Ready, Start, exact_state, given_or_default

#: Impacts slower than this, relative to the first, are no longer told apart.
SLOWEST = 1e-15
#: A free flight is searched for its end in steps of this part of a period.
SEARCH_PARTS = 200


class BouncingBall(Ready, System):
    """A ball on a floor; with the default parameters it comes to rest at t = 3 after infinitely many impacts.

        L = m/2 v^2 - m g q,      gap = q >= 0,      v+ = -rho v-

    Between the impacts n and n + 1 of the default motion, with tau = t - (3 - 2^{1-n}): q = 2^-n tau - tau^2. In
    general each flight after an impact with v+ lasts 2 v+ / g (Acary 2012, equation (10)).
    """

    gravity: float = 2.0
    restitution: float = 0.5
    mass: float = 1.0
    faces = ((0, 1),)

    def lagrangian(self, t, q, v):
        return 0.5 * self.mass * (v @ v) - self.mass * self.gravity * q[0]

    def gap(self, t, q):
        return q

    def points(self, t, q):
        return jnp.stack([jnp.zeros_like(q), q], axis=1)

    def outline(self, t, q):
        """The floor."""
        return jnp.array([[-0.5, 0.0], [0.5, 0.0]])

    def start(self) -> Start:
        return Start(jnp.array([1.0]), jnp.array([0.0]), 5.0, 0.01)

    def exact(self, t, q0=None, v0=None) -> State:
        """At an impact the velocity after it."""
        q0, v0 = (float(np.asarray(x)[0]) for x in given_or_default(self, q0, v0))
        g, rho, mass = float(self.gravity), float(self.restitution), float(self.mass)
        speed = np.sqrt(v0**2 + 2 * g * q0)
        begins, heights, speeds = [0.0], [q0], [v0]
        time, up = (v0 + speed) / g, rho * speed
        t = np.asarray(t, dtype=np.float64)
        while up > SLOWEST * speed and time <= np.max(t, initial=0.0):
            begins.append(time)
            heights.append(0.0)
            speeds.append(up)
            time, up = time + 2 * up / g, rho * up
        if up <= SLOWEST * speed:
            begins.append(begins[-1] if len(begins) > 1 else time)
            heights.append(0.0)
            speeds.append(0.0)
        flight = np.searchsorted(np.array(begins), t, side="right") - 1
        tau = t - np.array(begins)[flight]
        falling = np.where((flight == len(begins) - 1) & (up <= SLOWEST * speed), 0.0, g)
        q = np.array(heights)[flight] + np.array(speeds)[flight] * tau - falling / 2 * tau**2
        v = np.array(speeds)[flight] - falling * tau
        return exact_state(q[:, None], mass * v[:, None], v[:, None])


class _Flight(NamedTuple):
    """From `begin` on, at rest at the stop or free with the given position and velocity."""

    begin: float
    position: float
    velocity: float
    resting: bool


class ImpactOscillator(Ready, System):
    """A damped oscillator with a stop at one side.

        L = m/2 v^2 - k/2 q^2,      F = -c v,      gap = q - stop >= 0,      v+ = -rho v-

    With the default stop there are five impacts until t = 5, the first at 0.427539429210; with stop = 0.2 and
    restitution = 0.5 they accumulate at 1.673463584127120, and contact lasts from there (Acary 2012, example 2).
    """

    stop: float = -0.3
    restitution: float = 0.8
    mass: float = 1.0
    damping: float = 0.2
    stiffness: float = 20.0
    faces = ((0, 1),)

    def lagrangian(self, t, q, v):
        return 0.5 * self.mass * (v @ v) - 0.5 * self.stiffness * (q @ q)

    def force(self, t, q, v):
        return -self.damping * v

    def gap(self, t, q):
        return q - self.stop

    def points(self, t, q):
        return jnp.stack([q, jnp.zeros_like(q)], axis=1)

    def outline(self, t, q):
        """The stop."""
        return jnp.stack([jnp.stack([self.stop, -0.2 + 0 * self.stop]), jnp.stack([self.stop, 0.2 + 0 * self.stop])])

    def start(self) -> Start:
        return Start(jnp.array([1.0]), jnp.array([0.0]), 5.0, 0.01)

    def exact(self, t, q0=None, v0=None) -> State:
        """At an impact the velocity after it."""
        q0, v0 = (float(np.asarray(x)[0]) for x in given_or_default(self, q0, v0))
        t = np.asarray(t, dtype=np.float64)
        flights = self.flights(q0, v0, float(np.max(t, initial=0.0)))
        which = np.searchsorted([flight.begin for flight in flights], t, side="right") - 1
        q, v = np.empty_like(t), np.empty_like(t)
        for number, flight in enumerate(flights):
            here = which == number
            if flight.resting:
                q[here], v[here] = float(self.stop), 0.0
            else:
                rise, v[here] = self._free(t[here] - flight.begin, flight.position, flight.velocity)
                q[here] = flight.position + rise
        return exact_state(q[:, None], float(self.mass) * v[:, None], v[:, None])

    def flights(self, q0: float, v0: float, end: float) -> list[_Flight]:
        """The motion up to the time `end`, flight by flight; all but the first begin with an impact."""
        stop, rho = float(self.stop), float(self.restitution)
        flights = [_Flight(0.0, q0, v0, False)]
        slowest = SLOWEST * np.sqrt(v0**2 + float(self.stiffness / self.mass) * q0**2)
        while flights[-1].begin <= end:
            last = flights[-1]
            length = self._length(last, end - last.begin)
            if length is None:
                break
            up = -rho * float(self._free(np.array(length), last.position, last.velocity)[1])
            resting = up <= slowest
            flights.append(_Flight(last.begin + length, stop, 0.0 if resting else up, resting))
            if resting:
                break
        return flights

    def _free(self, tau, position: float, velocity: float):
        """q - position and v after the time tau of free flight; the first without cancellation for small tau."""
        s = float(self.damping / (2 * self.mass))
        w = np.sqrt(float(self.stiffness / self.mass) - s**2)
        swing, decay = (velocity + s * position) / w, np.exp(-s * tau)
        fall = np.expm1(-s * tau) * np.cos(w * tau) - 2 * np.sin(w * tau / 2) ** 2
        rise = position * fall + swing * decay * np.sin(w * tau)
        v = decay * ((w * swing - s * position) * np.cos(w * tau) - (w * position + s * swing) * np.sin(w * tau))
        return rise, v

    def _length(self, flight: _Flight, longest: float) -> float | None:
        """How long a flight lasts; None if it outlasts `longest`."""
        stop, period = float(self.stop), 2 * np.pi * np.sqrt(float(self.mass / self.stiffness))
        free = self._free  # equinox builds a module each time that a method is looked up, which takes ten times as long

        def gap(tau):
            return float(free(tau, flight.position, flight.velocity)[0]) + (flight.position - stop)

        def gap_over_time(tau):
            return gap(tau) / tau

        step = period / SEARCH_PARTS
        push = float(self.stiffness) * stop / float(self.mass)
        if flight.position == stop and push > 0:  # short flights end near 2 v / push
            step = min(step, 0.5 * flight.velocity / push)
        tau = step
        while tau <= longest + step:
            if gap(tau) <= 0:
                low = tau - step if tau > step else 1e-3 * step
                return float(scipy.optimize.brentq(gap_over_time, low, tau, xtol=1e-300, rtol=1e-15))  # pyright: ignore
            tau += step
        return None
