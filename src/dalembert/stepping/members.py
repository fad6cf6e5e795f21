"""The members of a batch: many starts, or many parameter values, of one system."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import jax
import numpy as np

from ..arguments import floats
from ..errors import InconsistentStart, InputError
from ..problem import AbstractSystem
from .consistent import START_TOLERANCE, Start, prepare_start
from .contact_start import Judged
from .options import Given, batched_fields
from .scales import batch_scales, relative
from .shared_equations import equation_rows, flat_parameters, multipliers, observe
from .step import Layout


def member(system: AbstractSystem, index: int) -> AbstractSystem:
    """One member of a batch of systems."""
    changes = {name: _value(getattr(system, name)[index]) for name in batched_fields(system)}
    return dataclasses.replace(system, **changes) if changes else system


def _value(row) -> Any:
    """What a member has of a batched field: a number, or the numbers of its contacts."""
    return row[0] if np.shape(row) == (1,) else row


def parameter_rows(system: AbstractSystem, members: int) -> np.ndarray:
    """The parameter vectors of all members, (members, parameters)."""
    first = np.asarray(flat_parameters(member(system, 0)))
    rows = np.broadcast_to(first, (members, len(first))).copy()
    if batched_fields(system):
        position = {}
        leaves = jax.tree_util.tree_leaves_with_path(member(system, 0))
        offset = 0
        for path, leaf in leaves:
            if isinstance(leaf, float | np.ndarray | np.generic | jax.Array):
                position[jax.tree_util.keystr(path).lstrip(".")] = slice(offset, offset + np.size(leaf))
                offset += np.size(leaf)
        for name in batched_fields(system):
            rows[:, position[name]] = np.asarray(getattr(system, name)).reshape(members, -1)
    return rows


def observe_batch(system: AbstractSystem, name: str, t, q, v, p) -> np.ndarray:
    """One of the observables for every saved state of every member, (members, N, ...)."""
    members, count = q.shape[:2]
    t, q, v, p = (np.reshape(part, (members * count, *part.shape[2:])) for part in (t, q, v, p))
    parameters = np.repeat(parameter_rows(system, members), count, axis=0)
    found = observe(member(system, 0), name, t, q, v, p, parameters)
    return found.reshape(members, count, -1)


class Rows(NamedTuple):
    """Starting values with a row for each member: positions, and velocities or momenta, whichever `name` says."""

    q: np.ndarray
    second: np.ndarray
    name: str

    @classmethod
    def of(cls, given: Given, members: int) -> Rows:
        """The rows of what the user gave: one start for all members, or one for each of them."""
        q0, v0, p0 = given
        if (v0 is None) == (p0 is None):
            raise InputError("give exactly one of v0 (velocity) and p0 (momentum).")
        name, second = ("v0", v0) if v0 is not None else ("p0", p0)
        rows = []
        for label, value in (("q0", q0), (name, second)):
            array = floats(label, value, finite=True)
            if array.ndim not in (1, 2) or not array.size:
                raise InputError(f"{label} must have shape (n,) or (members, n), got shape {array.shape}.")
            rows.append(np.broadcast_to(array, (members, array.shape[-1])))
        if rows[0].shape != rows[1].shape:
            raise InputError(f"{name} must have the shape of q0, {rows[0].shape}, got {rows[1].shape}.")
        return cls(rows[0], rows[1], name)


@dataclass(frozen=True)
class Members:
    """So many members of a batch, started from `given` at t0; what needs a member's own system asks for it."""

    system: AbstractSystem
    given: Given
    t0: float
    count: int
    project: bool = False
    redundant: str = "refuse"
    h: float = 0.0
    strict: bool = False  # whether small penetrations are refused too
    penetration: float | None = None  # what is accepted, where something was said

    @cached_property
    def first(self) -> AbstractSystem:
        """The first member, which stands for all in what does not depend on numbers."""
        return member(self.system, 0)

    @cached_property
    def parameters(self) -> np.ndarray:
        """The parameter vectors, (members, parameters)."""
        return parameter_rows(self.system, self.count)

    @cached_property
    def rows(self) -> Rows:
        """The starting values, a row for each member."""
        return Rows.of(self.given, self.count)

    @cached_property
    def start(self) -> Start:
        """The consistent start of the first member."""
        return self.start_of(0)

    @cached_property
    def starts(self) -> list[Start]:
        """The consistent starts, member by member."""
        return [self.start, *(self.start_of(k) for k in range(1, self.count))]

    def start_of(self, k: int) -> Start:
        """The consistent start of one member."""
        q, second, name = self.rows
        v0, p0 = (second[k], None) if name == "v0" else (None, second[k])
        return prepare_start(
            member(self.system, k), q[k], v0, p0, self.t0, project=self.project, redundant=self.redundant,
            judged=Judged(self.strict, self.h, self.penetration),
        )  # fmt: skip

    @cached_property
    def states(self) -> np.ndarray:
        """The first states of all members. Explicit p = L_v(v) at once; what needs a solve, member by member."""
        layout, (q, second, name) = self.start.layout, self.rows
        explicit = (name == "v0") != self.first.gives_velocity
        if self.project or not explicit:
            return np.stack([np.asarray(layout.flatten(start.state)) for start in self.starts])
        t = np.full(self.count, self.t0)
        which = "legendre by p" if name == "v0" else "legendre by v"
        other = -equation_rows(self.first, which, np.zeros_like(q), t, q, second, parameters=self.parameters)
        v, p = (second, other) if name == "v0" else (other, second)
        self._check(t, q, v, p)
        self._check_gaps(t, q, v, p)
        impulses = np.zeros((self.count, layout.contacts * layout.directions))
        lam = multipliers(self.first, None, t, q, v, p, self.parameters)
        return np.concatenate([q, p, v, lam, impulses], axis=1)

    def _check(self, t: np.ndarray, q: np.ndarray, v: np.ndarray, p: np.ndarray) -> None:
        """Refuse a batch of which a member violates its constraints; the worst one is named."""
        first = self.first
        size, speed = (np.max(np.abs(part), axis=1, initial=0.0) for part in (q, v))
        for level, terms in batch_scales(first, self.t0, q[0], v[0], np.where(size > 0, size, 1.0), speed):
            defects = np.abs(observe(first, level, t, q, v, p, self.parameters))
            defect, parts = np.max(defects, axis=1, initial=0.0), np.max(relative(defects, terms), axis=1, initial=0.0)
            worst = int(np.argmax(parts))
            if parts[worst] > START_TOLERANCE:
                kind = "position" if level == "all constraints" else "velocity"
                which = (
                    "constraint" if kind == "velocity" and first.provides("nonholonomic") else "holonomic constraint"
                )
                raise InconsistentStart(
                    f"{type(first).__name__}: member {worst} of the batch violates a {which} at {kind} level "
                    f"by {defect[worst]:.6g}, expected 0. Correct q0 or {self.rows.name}, or pass project=True."
                )

    def _check_gaps(self, t: np.ndarray, q: np.ndarray, v: np.ndarray, p: np.ndarray) -> None:
        """Refuse a batch of which a member penetrates; members with a negative gap are judged like single starts."""
        if not self.first.provides("gap"):
            return
        gaps = observe(self.first, "gap", t, q, v, p, self.parameters)
        for k in np.flatnonzero(np.any(gaps < 0, axis=1) | ~np.all(np.isfinite(gaps), axis=1)):
            try:
                self.start_of(int(k))
            except InconsistentStart as reason:
                raise InconsistentStart(f"member {k} of the batch: {reason}") from reason

    @property
    def layout(self) -> Layout:
        """The layout of the states."""
        return self.start.layout
