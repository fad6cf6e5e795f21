"""What every system of the gallery has: starting values, and its exact motion where one is known."""

from __future__ import annotations

import dataclasses
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from ..arguments import count, flag, shown
from ..errors import InputError
from ..problem import PLAIN_ATTRIBUTES, AbstractSystem, State, check_parameters

#: Links, beads, boxes: a system of more was hardly meant.
MOST_PARTS = 100_000
#: Squares and products of parameters up to here are finite.
LARGEST_PARAMETER = 1e100


class Start(NamedTuple):
    """Consistent starting values at t = 0, and an end time and step size that show the motion."""

    q0: jax.Array
    v0: jax.Array
    t_end: float
    h: float


class Ready(AbstractSystem):
    """A system that can be run as it is: `simulate(system, method, *system.start()[:2], ...)`."""

    #: Parameters by which the starting values are divided.
    nonzero: ClassVar[tuple[str, ...]] = ()

    def __check_init__(self) -> None:
        check_parameters(self)
        for field in dataclasses.fields(self):
            value, name = getattr(self, field.name), f"parameter {field.name} of {type(self).__name__}"
            if field.type in (int, "int"):
                count(name, value, 1, MOST_PARTS)
            elif field.type in (bool, "bool"):
                flag(name, value)
            elif isinstance(value, Tracer) or field.name in PLAIN_ATTRIBUTES:
                continue
            elif np.ndim(value) > 1:
                raise InputError(f"{name} must be a number, or one for each member of a batch, got {shown(value)}.")
            elif np.any(np.abs(value) > LARGEST_PARAMETER):
                raise InputError(f"{name} must be at most {LARGEST_PARAMETER:g} in size, got {shown(value)}.")
            elif field.name in self.nonzero and np.any(np.equal(value, 0)):
                raise InputError(f"{name} must not be 0: {type(self).__name__} has no start then.")

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
