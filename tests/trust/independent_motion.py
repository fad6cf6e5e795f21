"""The motion of a system computed apart from the library: its equations at index 1, by JAX and numpy alone.

With M = L_vv, G = g_q, K = k_v and all other terms known at (t, q, v)::

    M a + G^T lam + K^T psi = L_q + F - L_vq v - L_vt
    G a                     = -(d/dt)(g_q v + g_t) at a = 0
    K a                     = -(d/dt) k            at a = 0

DOP853 integrates q' = v, v' = a over an interval so short that the constraints do not drift. An impact ends a flight:
v+ = v- + M^-1 G^T P with U_N+ = -rho U_N-, one contact at a time, without friction.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp

#: Evaluations after which a motion is given up as too stiff for the comparison.
MOST_EVALUATIONS = 20_000
#: Numbers beyond which it left the region where the model is tame.
FAR = 30.0


class TooHard(Exception):
    """The motion is not fit for a comparison: stiff, or it leaves the region where the model is tame."""


class Terms(NamedTuple):
    """Everything in the equations at one state, as numpy arrays."""

    mass: np.ndarray
    load: np.ndarray
    rows: np.ndarray  # G and K
    rates: np.ndarray  # the right sides of their equations
    energy: float


class Motion:
    """The equations of one system."""

    def __init__(self, system) -> None:
        self._system, self._evaluations, self._far = system, 0, FAR
        self._holonomic, self._nonholonomic, self._contacts = (
            system.provides(part) for part in ("holonomic", "nonholonomic", "gap")
        )
        self._terms = jax.jit(self._traced)
        self._gap = jax.jit(lambda t, q, v: jax.jvp(system.gap, (t, q), (jnp.ones_like(t), v)))
        self._normals = jax.jit(lambda t, q: jax.jacfwd(system.gap, 1)(t, q))

    def _traced(self, t, q, v):
        system, one = self._system, jnp.ones_like(t)
        momentum = jax.grad(system.lagrangian, 2)
        load = jax.grad(system.lagrangian, 1)(t, q, v)
        load = load - jax.jvp(lambda t, q: momentum(t, q, v), (t, q), (one, v))[1]
        if system.provides("force"):
            load = load + system.force(t, q, v)
        rows, rates = [jnp.zeros((0, q.size))], [jnp.zeros(0)]
        if self._holonomic:

            def hidden(t, q):
                return jax.jvp(system.holonomic, (t, q), (one, v))[1]

            rows.append(jax.jacfwd(system.holonomic, 1)(t, q))
            rates.append(-jax.jvp(hidden, (t, q), (one, v))[1])
        if self._nonholonomic:
            rows.append(jax.jacfwd(system.nonholonomic, 2)(t, q, v))
            rates.append(-jax.jvp(lambda t, q: system.nonholonomic(t, q, v), (t, q), (one, v))[1])
        energy = v @ momentum(t, q, v) - system.lagrangian(t, q, v)
        mass = jax.hessian(system.lagrangian, 2)(t, q, v)
        return mass, load, jnp.concatenate(rows), jnp.concatenate(rates), energy

    def terms(self, t: float, q: np.ndarray, v: np.ndarray) -> Terms:
        """Numbers."""
        self._evaluations += 1
        if self._evaluations > MOST_EVALUATIONS:
            raise TooHard("too many evaluations")
        terms = Terms(*(np.asarray(part) for part in self._terms(jnp.asarray(t), jnp.asarray(q), jnp.asarray(v))))
        if not all(np.all(np.isfinite(part)) for part in terms):
            raise TooHard("not finite")
        return terms

    def solution(self, t: float, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Acceleration, and all multipliers."""
        mass, load, rows, rates, _ = self.terms(t, q, v)
        sizes = np.linalg.norm(rows, axis=1)
        if np.any(sizes == 0):
            raise TooHard("a constraint has no gradient")
        rows, n = rows / sizes[:, None], len(q)
        matrix = np.block([[mass, rows.T], [rows, np.zeros((len(rows), len(rows)))]])
        x = np.linalg.solve(matrix, np.concatenate([load, rates / sizes]))
        return x[:n], x[n:] / sizes

    def condition(self, t: float, q: np.ndarray, v: np.ndarray) -> float:
        """Of the matrix of the equations, its rows of one size."""
        mass, _, rows, _, _ = self.terms(t, q, v)
        rows = rows / np.linalg.norm(rows, axis=1)[:, None]
        return float(np.linalg.cond(np.block([[mass, rows.T], [rows, np.zeros((len(rows), len(rows)))]])))

    def _rate(self, t: float, y: np.ndarray) -> np.ndarray:
        q, v = np.split(y, 2)
        if np.max(np.abs(y)) > self._far:
            raise TooHard("it flies away")
        return np.concatenate([v, self.solution(t, q, v)[0]])

    def flight(self, q, v, end: float, tolerance: float = 1e-12) -> np.ndarray:
        """(q, v) at `end`, from t = 0."""
        self._far = FAR + 3 * float(np.max(np.abs(q)))
        answer = solve_ivp(
            self._rate, (0.0, end), np.concatenate([q, v]), "DOP853", rtol=tolerance, atol=tolerance / 10
        )
        if not answer.success:
            raise TooHard(answer.message)
        return answer.y[:, -1]

    def bounces(self, q, v, end: float, restitution: float) -> tuple[np.ndarray, list[float]]:
        """(q, v) at `end` and the times of impacts, found by scipy's events; without friction."""
        now, y, times = 0.0, np.concatenate([q, v]), []
        contacts = len(np.asarray(self._gap(jnp.zeros(()), jnp.asarray(q), jnp.asarray(v))[0]))

        def distance(k: int):
            def event(t, y):
                return float(self._gap(jnp.asarray(t), *map(jnp.asarray, np.split(y, 2)))[0][k])

            event.terminal, event.direction = True, -1.0
            return event

        while now < end:
            events = [distance(k) for k in range(contacts)]
            answer = solve_ivp(self._rate, (now, end), y, "DOP853", rtol=1e-12, atol=1e-13, events=events)
            if not answer.success:
                raise TooHard(answer.message)
            now, y = float(answer.t[-1]), answer.y[:, -1]
            hit = [k for k in range(contacts) if len(answer.t_events[k])]
            if not hit:
                break
            times.append(now)
            if len(times) > 8 or len(hit) > 1:
                raise TooHard("impacts come together")
            q, v = np.split(y, 2)
            gap, speed = (np.asarray(part) for part in self._gap(jnp.asarray(now), jnp.asarray(q), jnp.asarray(v)))
            if np.partition(np.abs(gap), 0)[0] > 1e-9 or abs(speed[hit[0]]) < 0.05:
                raise TooHard("a grazing contact")
            if len(gap) > 1 and np.min(np.delete(gap, hit[0])) < 0.01:
                raise TooHard("impacts come together")
            normal = np.asarray(self._normals(jnp.asarray(now), jnp.asarray(q)))[hit[0]]
            push = np.linalg.solve(self.terms(now, q, v).mass, normal)
            v = v - push * (1 + restitution) * speed[hit[0]] / (normal @ push)
            y = np.concatenate([q, v])
        return y, times
