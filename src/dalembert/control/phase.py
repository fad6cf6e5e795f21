"""`Phase`: a part of a plan during which the same contacts are closed, and the system that moves in it.

A closed contact is a constraint: gap_i = 0, and where the contact has friction, the velocity along its friction
directions is zero (it sticks). Its forces push and stay in the cone of friction; the other contacts stay open::

    lam_N = -lam_i >= 0,      |psi_i| <= mu lam_N,      gap_j >= 0
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from ..arguments import count, shown
from ..errors import InputError
from ..formulation import mechanics_of
from ..formulation.contact_units import contact_friction
from ..problem import AbstractSystem, contact_data


@dataclass(frozen=True)
class Phase:
    """A part of a plan.

    Attributes:
        steps: into how many steps of one size it is cut.
        horizon: its length; or (least, greatest), and the length is found.
        closed: the numbers of the contacts that are closed during it. Those with friction stick.
        ignored: the numbers of open contacts that nobody looks at, as the foot of a stiff leg that swings through the
            ground.
    """

    steps: int
    horizon: Any
    closed: tuple[int, ...] = ()
    ignored: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        count("Phase: steps", self.steps)
        for name, numbers in (("closed", self.closed), ("ignored", self.ignored)):
            try:
                found = tuple(count(f"Phase: {name}", k, 0) for k in numbers)
            except TypeError:
                raise InputError(
                    f"Phase: {name} must be the numbers of contacts, such as (0,), got {shown(numbers)}."
                ) from None
            object.__setattr__(self, name, found)
        every = self.closed + self.ignored
        if len(set(every)) < len(every):
            raise InputError(
                f"Phase: closed and ignored must be different numbers, got {self.closed} and {self.ignored}."
            )


class Contacts(NamedTuple):
    """The contacts of a system in one phase.

    Attributes:
        closed: their numbers.
        stuck: those of them that have friction.
        open: all others that are looked at.
    """

    closed: tuple[int, ...]
    stuck: tuple[int, ...]
    open: tuple[int, ...]


def contacts_in(base: AbstractSystem, phase: Phase, n: int) -> Contacts:
    """Which contacts of the system are closed, stick and are open in a phase."""
    total = mechanics_of(base).contact.count(jnp.zeros(()), jnp.zeros(n))
    if max(phase.closed + phase.ignored, default=-1) >= total:
        raise InputError(
            f"Phase: closed={phase.closed}, ignored={phase.ignored}, but {type(base).__name__} has {total} contacts."
        )
    friction = np.asarray(contact_data(base, "friction", total))
    rough = base.provides("tangent")
    stuck = tuple(k for k in phase.closed if rough and friction[k] > 0)
    return Contacts(phase.closed, stuck, tuple(k for k in range(total) if k not in phase.closed + phase.ignored))


def in_phase(base: Any, contacts: Contacts) -> Any:
    """The system in a phase: its closed contacts are constraints, and it has no contacts."""
    if not base.provides("gap"):
        return base
    found = object.__new__(_phase_kind(type(base), contacts.closed, contacts.stuck))
    for name, value in vars(base).items():
        object.__setattr__(found, name, value)
    return found


@functools.cache
def _phase_kind(kind: Any, closed: tuple[int, ...], stuck: tuple[int, ...]) -> Any:
    def holonomic(self, t, q):
        own = jnp.atleast_1d(kind.holonomic(self, t, q)) if kind.provides("holonomic") else jnp.zeros(0)
        return jnp.concatenate([own, jnp.atleast_1d(kind.gap(self, t, q))[np.array(closed, dtype=int)]])

    def nonholonomic(self, t, q, v):
        own = jnp.atleast_1d(kind.nonholonomic(self, t, q, v)) if kind.provides("nonholonomic") else jnp.zeros(0)
        return jnp.concatenate([own, jnp.ravel(kind.tangent(self, t, q)[np.array(stuck, dtype=int)] @ v)])

    names: dict[str, Any] = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    names |= {"gap": AbstractSystem.gap, "tangent": AbstractSystem.tangent}
    names |= {"holonomic": holonomic} if closed else {}
    names |= {"nonholonomic": nonholonomic} if stuck else {}
    return type(kind)(kind.__name__, (kind,), names)


def forces_in(base: AbstractSystem, contacts: Contacts) -> Callable | None:
    """A function of (t, q, lam, psi), >= 0 where closed contacts push and stick; the multipliers of contacts are the
    last ones. None without closed contacts."""
    if not contacts.closed:
        return None
    place = [contacts.closed.index(k) for k in contacts.stuck]

    def forces(t, q, lam, psi):
        normal = -lam[len(lam) - len(contacts.closed) :]
        if not contacts.stuck:
            return normal
        along = psi[-_directions(base, t, q, contacts) :].reshape(len(contacts.stuck), -1)
        most = contact_friction(mechanics_of(base), t, q)[np.array(contacts.stuck)] * normal[np.array(place)]
        if along.shape[1] == 1:
            return jnp.concatenate([normal, most - along[:, 0], most + along[:, 0]])
        return jnp.concatenate([normal, most**2 - jnp.sum(along**2, axis=1)])

    return forces


def _directions(base: AbstractSystem, t, q, contacts: Contacts) -> int:
    """How many multipliers hold the contacts that stick."""
    return len(contacts.stuck) * mechanics_of(base).contact.tangents(t, q).shape[1]


def path_in(base: Any, contacts: Contacts, path: Callable | None) -> Callable | None:
    """The user's path and the gaps of open contacts, which come last."""
    if not contacts.open:
        return path
    rows = np.array(contacts.open)

    def with_gaps(t, q, v, u):
        own = jnp.zeros(0) if path is None else jnp.ravel(jnp.asarray(path(t, q, v, u)))
        return jnp.concatenate([own, jnp.atleast_1d(base.gap(t, q))[rows]])

    return with_gaps
