"""What every system of the gallery has: starting values, and its exact motion where one is known."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from ..problem import AbstractSystem, State


class Start(NamedTuple):
    """Consistent starting values at t = 0, and an end time and step size that show the motion."""

    q0: jax.Array
    v0: jax.Array
    t_end: float
    h: float


class Ready(AbstractSystem):
    """A system that can be run as it is: `simulate(system, method, *system.start()[:2], ...)`."""

    def start(self) -> Start:
        """Default starting values, consistent with the constraints for all parameters in the stated range."""
        raise NotImplementedError

    def exact(self, t, q0=None, v0=None) -> State | None:
        """The exact q, p, v, lam, psi at the times t, time first, from (q0, v0) at t = 0; None if not known.

        Without q0 and v0 the motion is that of `start()`. Computed with scipy: not traceable by JAX.
        """
        return None


def given_or_default(system: Ready, q0, v0):
    """(q0, v0) as given, or those of `start()` where both are left out."""
    if q0 is None and v0 is None:
        start = system.start()
        return start.q0, start.v0
    return q0, v0


def exact_state(q, p, v, lam=None, psi=None) -> State:
    """The record of an exact motion, time first; multipliers that are left out belong to no constraint."""
    empty = jnp.zeros((*q.shape[:-1], 0))
    lam, psi = (empty if part is None else jnp.asarray(part) for part in (lam, psi))
    return State(jnp.asarray(q), jnp.asarray(p), jnp.asarray(v), lam, psi)
