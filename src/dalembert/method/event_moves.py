"""A run of event capturing as a chain of moves: what its derivative is taken of.

A move leads from s = (y, I, t) to the next one: y on the constraints that hold, I the sum of all impulses up to the
time t. Which contacts are closed, which of them stick and what happens next are those of the run. With Phi_tau the
Runge-Kutta step of the length tau in a mode of the contacts::

    to a time T     y1 = Phi_{T - t}(y),                                             t1 = T
    to an event     e(Phi_tau(y)) = 0,         y1 = Phi_{tau - d}(y),                t1 = t + tau - d
    impact          U = U- + w U' + W P,       y1 = y + w y' + changes by P,         t1 = t + w
    projection      y1 on the constraints and the contacts that are held,            t1 = t

e is what tells the event: a gap, a force, a velocity. It is zero at the event whatever the parameters are, so that tau
moves with them: the saltation of a derivative at an event. An impact begins d = w / 2 before it.
Which laws hold in an impact (contacts that part, stick, slide) is its pattern; where a pattern changes the derivative
jumps, and this one is that of the side on which the run is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from ..formulation import Mechanics, contact_friction
from .event_equations import (
    Modes,
    Motion,
    free_modes,
    motion_equations,
    no_motion,
    parts_of,
    position_defect,
    velocity_defect,
)
from .event_mode import Sizes, SmoothMode
from .runge_kutta import RungeKutta

Marks = tuple[bool, ...]


@dataclass(frozen=True)
class Move:
    """The equations of a move. `groups` are its unknowns, `numbers` what it reads besides the parameters of the system:
    they are given to the functions one after the other."""

    sizes: Sizes
    #: So many of the unknowns are known from the run.
    known: ClassVar[int] = 0

    @property
    def groups(self) -> dict[str, int]:
        """The unknowns, by name and number."""
        raise NotImplementedError

    @property
    def numbers(self) -> int:
        """How many numbers the move reads."""
        raise NotImplementedError

    def guess(self, m: Mechanics, s, numbers) -> Any:
        """Where Newton begins."""
        return jnp.zeros(sum(self.groups.values()))

    def residual(self, x, m: Mechanics, s, numbers) -> Any:
        """Zero where x is what is to be found."""
        raise NotImplementedError

    def finish(self, x, m: Mechanics, s, numbers) -> Any:
        """The s that follows."""
        raise NotImplementedError

    def parts(self, s) -> tuple:
        """y, I as (contacts, d), t."""
        n, shape = 2 * self.sizes.n, (self.sizes.contacts, self.sizes.directions)
        return s[:n], s[n:-1].reshape(shape), s[-1]


def joined(y, impulse, t):
    """s of its parts."""
    return jnp.concatenate([y, jnp.ravel(impulse), jnp.reshape(t, (1,))])


# -- smooth motion ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class InMode(Move):
    """A move in one mode of the contacts; the first numbers are the ways in which they slide."""

    tableau: RungeKutta
    closed: Marks
    sticking: Marks

    def mode(self, watched: bool = False) -> SmoothMode:
        """The step in this mode; what holds constraints has to be watched."""
        holds = bool(self.sizes.m + self.sizes.k or any(self.closed))
        return SmoothMode(self.tableau, self.sizes, self.closed, self.sticking, watched=watched or holds)

    def step(self, x, m: Mechanics, t, h, y, direction) -> list:
        """The equations of a step of the length h."""
        return list(self.mode().residual(x, m, t, h, y, direction).values())


@dataclass(frozen=True)
class ToTime(InMode):
    """Smooth motion up to a time, the last number."""

    @property
    def groups(self) -> dict[str, int]:
        return self.mode().groups

    @property
    def numbers(self) -> int:
        return self.sizes.contacts + 1

    def guess(self, m: Mechanics, s, numbers):
        y, _, t = self.parts(s)
        return self.mode().guess(m, t, numbers[-1] - t, y)

    def residual(self, x, m: Mechanics, s, numbers):
        y, _, t = self.parts(s)
        return jnp.concatenate(self.step(x, m, t, numbers[-1] - t, y, numbers[:-1]))

    def finish(self, x, m: Mechanics, s, numbers):
        y, impulse, t = self.parts(s)
        end, push = self.mode().arrival(x, m, t, numbers[-1] - t, y)
        return joined(end, impulse + push, numbers[-1])


@dataclass(frozen=True)
class ToEvent(InMode):
    """Smooth motion up to an event of one contact, or to the time d before it. The last numbers are t + tau as the run
    found it, d, and the way in which the friction that no longer holds the contact works. The unknown is t + tau, whose
    roundoff is that of times."""

    kind: str
    contact: int
    known: ClassVar[int] = 1

    def search(self) -> SmoothMode:
        """The step that ends in the event."""
        return self.mode(watched=self.kind != "impact")

    @property
    def groups(self) -> dict[str, int]:
        both = (("search", self.search()), ("step", self.mode()))
        return {"time": 1} | {f"{name} {group}": size for name, mode in both for group, size in mode.groups.items()}

    @property
    def numbers(self) -> int:
        return self.sizes.contacts + 3

    def _unpacked(self, x, t) -> tuple:
        """tau, the unknowns of both steps."""
        last = 1 + sum(self.search().groups.values())
        return x[0] - t, x[1:last], x[last:]

    def guess(self, m: Mechanics, s, numbers):
        (y, _, t), time, d = self.parts(s), numbers[-3], numbers[-2]
        both = self.search().guess(m, t, time - t, y), self.mode().guess(m, t, time - t - d, y)
        return jnp.concatenate([time[None], *both])

    def residual(self, x, m: Mechanics, s, numbers):
        y, _, t = self.parts(s)
        (tau, search, step), way = self._unpacked(x, t), numbers[: self.sizes.contacts]
        found = [self._event(search, m, t, tau, y, numbers)[None]]
        found += self.search().residual(search, m, t, tau, y, way).values()
        return jnp.concatenate([*found, *self.step(step, m, t, tau - numbers[-2], y, way)])

    def _event(self, x, m: Mechanics, t, tau, y, numbers):
        """Zero at the event (`stepping/event_search.py` has the list)."""
        mode, c = self.search(), self.contact
        q, v, _ = parts_of(m, t + tau, mode.end(x, m, t, tau, y))
        if self.kind == "impact":
            return m.contact.gap(t + tau, q)[c]
        if self.kind == "stick":
            return m.contact.velocity(t + tau, q, v)[c, 1]
        force = mode.motion_at_the_end(x).force[c]
        return (
            force[0]
            if self.kind == "opening"
            else contact_friction(m, t + tau, q)[c] * force[0] - (numbers[-1] * force[1])
        )

    def finish(self, x, m: Mechanics, s, numbers):
        y, impulse, t = self.parts(s)
        tau, _, step = self._unpacked(x, t)
        h = tau - numbers[-2]
        end, push = self.mode().arrival(step, m, t, h, y)
        return joined(end, impulse + push, t + h)


@dataclass(frozen=True)
class WholeStep(InMode):
    """A step of the regular grid in one mode, and the multipliers at its end. Its state is (y, I, lam, psi, and the one
    of v and p that y leaves out), its numbers the ways of sliding; t and h are those of the engine."""

    @property
    def groups(self) -> dict[str, int]:
        return self.mode().groups | {f"end {name}": size for name, size in self._row().groups.items()}

    @property
    def numbers(self) -> int:
        return self.sizes.contacts

    @property
    def length(self) -> int:
        """The length of its state."""
        n, m, k, contacts, d = self.sizes
        return 3 * n + contacts * d + m + k

    def _row(self) -> Row:
        return Row(self.sizes, self.tableau, self.closed, self.sticking)

    def _unpacked(self, x) -> tuple:
        first = sum(self.mode().groups.values())
        return x[:first], x[first:]

    def _end(self, x, m: Mechanics, t, h, state):
        n, count = 2 * self.sizes.n, self.sizes.contacts * self.sizes.directions
        impulse = state[n : n + count].reshape(self.sizes.contacts, self.sizes.directions)
        end, push = self.mode().arrival(self._unpacked(x)[0], m, t, h, state[:n])
        return joined(end, impulse + push, t + h)

    def guess_at(self, m: Mechanics, t, h, state, numbers):
        """Where Newton begins."""
        row = self._row()
        return jnp.concatenate([
            self.mode().guess(m, t, h, state[: 2 * self.sizes.n]), jnp.zeros(sum(row.groups.values()))
        ])  # fmt: skip

    def residual_at(self, x, m: Mechanics, t, h, state, numbers):
        """Zero where x is what is to be found."""
        step, row = self._unpacked(x)
        equations = self.step(step, m, t, h, state[: 2 * self.sizes.n], numbers)
        return jnp.concatenate([*equations, self._row().residual(row, m, self._end(x, m, t, h, state), numbers)])

    def finish_at(self, x, m: Mechanics, t, h, state, numbers):
        """The state at the end."""
        s = self._end(x, m, t, h, state)
        return jnp.concatenate([s[:-1], self._row().finish(self._unpacked(x)[1], m, s, numbers)])


@dataclass(frozen=True)
class Row(InMode):
    """What is saved of s besides y and I: lam and psi of the mode, and the one of v and p that y leaves out."""

    @property
    def groups(self) -> dict[str, int]:
        n, m, k, contacts, d = self.sizes
        lengths = {"acceleration": n, "momentum rate": n, "lam": m, "psi": k, "force": contacts * d}
        return lengths if m + k else {"nothing": 1}

    @property
    def numbers(self) -> int:
        return self.sizes.contacts

    @property
    def length(self) -> int:
        """How many numbers are saved."""
        return self.sizes.n + self.sizes.m + self.sizes.k

    def residual(self, x, m: Mechanics, s, numbers):
        if not self.sizes.m + self.sizes.k:
            return x
        y, _, t = self.parts(s)
        q, v, p = parts_of(m, t, y)
        modes = Modes(np.array(self.closed), np.array(self.sticking), numbers)
        return motion_equations(m, _motion(m, t, q, v, x), t, q, v, p, modes)

    def finish(self, x, m: Mechanics, s, numbers):
        y, _, t = self.parts(s)
        q, v, p = parts_of(m, t, y)
        motion = _motion(m, t, q, v, x) if self.sizes.m + self.sizes.k else None
        held = () if motion is None else (motion.lam, motion.psi)
        return jnp.concatenate([*held, v if m.system.gives_velocity else p])


def _motion(m: Mechanics, t, q, v, x) -> Motion:
    return ravel_pytree(no_motion(m, t, q, v))[1](x)


# -- at one instant ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Impact(Move):
    """Moreau's step over the time w. Numbers: the ways in which contacts slide, of each whether it is thrown back (its
    restitution counts), and w."""

    pushing: Marks
    sticking: Marks
    sliding: Marks

    @property
    def groups(self) -> dict[str, int]:
        n, m, k, contacts, d = self.sizes
        return {"v": n, "p": n, "nu": m, "kappa": k, "impulse": contacts * d}

    @property
    def numbers(self) -> int:
        return 2 * self.sizes.contacts + 1

    def residual(self, x, m: Mechanics, s, numbers):
        """The changes x = (v, p, nu, kappa, P): A x = w b, the equations of motion over w, and the laws of impact."""
        (y, _, t), (contacts, d), w = self.parts(s), (self.sizes.contacts, self.sizes.directions), numbers[-1]
        way, thrown = numbers[:contacts], numbers[contacts:-1]
        q, v, p = parts_of(m, t, y)
        zero, unravel = ravel_pytree(no_motion(m, t, q, v))
        change, modes = unravel(x), free_modes(contacts)

        def equations(x):
            return motion_equations(m, unravel(x), t, q, v, p, modes)[: -contacts * d]

        smooth = equations(x) + (w - 1) * equations(zero)
        before, moved = jax.jvp(m.contact.velocity, (t, q, v), (w, w * v, change.v_rate))
        after, impulse = before + moved, change.force
        thrown_back = after[:, 0] + thrown * m.contact.restitution(contacts) * jnp.minimum(before[:, 0], 0.0)
        laws = [jnp.where(np.array(self.pushing), thrown_back, impulse[:, 0])]
        if d > 1:
            against = impulse[:, 1:] + (way * contact_friction(m, t, q) * impulse[:, 0])[:, None]
            slides, sticks = np.array(self.sliding)[:, None], np.array(self.sticking)[:, None]
            held = jnp.where(slides, against, impulse[:, 1:])
            laws.append(jnp.ravel(jnp.where(sticks, after[:, 1:], held)))
        return jnp.concatenate([smooth, *laws])

    def finish(self, x, m: Mechanics, s, numbers):
        (y, impulse, t), w, n = self.parts(s), numbers[-1], self.sizes.n
        q, v, _ = parts_of(m, t, y)
        change = _motion(m, t, q, v, x)
        second = y[n:] + (change.p_rate if m.system.gives_velocity else change.v_rate)
        end = jnp.concatenate([q + w * (v + change.v_rate / 2), second])
        return joined(end, impulse + change.force, t + w)


@dataclass(frozen=True)
class Projection(Move):
    """The state moves onto the constraints: positions of the contacts `position` are closed, the velocities of those
    `held` zero, of those `sticking` in all directions."""

    position: Marks
    held: Marks
    sticking: Marks

    @property
    def groups(self) -> dict[str, int]:
        n, m, k, contacts, d = self.sizes
        moves = m or any(self.position)
        lengths = {"position": n + m + contacts} if moves else {}
        return lengths | {"velocity": 2 * n + m + k + contacts * d}

    @property
    def numbers(self) -> int:
        return 0

    def guess(self, m: Mechanics, s, numbers):
        y, _, t = self.parts(s)
        q, v, p = parts_of(m, t, y)
        rest = {"position": [q], "velocity": [v, p]}
        return jnp.concatenate([
            jnp.concatenate([*rest[name], jnp.zeros(size - sum(map(len, rest[name])))])
            for name, size in self.groups.items()
        ])  # fmt: skip

    def _unpacked(self, x, y) -> tuple:
        """Both groups of unknowns, and y after the move of the position."""
        first, n = self.groups.get("position", 0), self.sizes.n
        return x[:first], x[first:], jnp.concatenate([x[:n], y[n:]]) if first else y

    def residual(self, x, m: Mechanics, s, numbers):
        y, _, t = self.parts(s)
        near, held, moved = self._unpacked(x, y)
        found, closed, sticking = [], np.array(self.held), np.array(self.sticking)
        if len(near):
            found.append(position_defect(m, near, t, *parts_of(m, t, y), np.array(self.position), 0.0))
        q, _, p = parts_of(m, t, moved)
        return jnp.concatenate([*found, velocity_defect(m, held, t, q, p, closed, sticking, 0.0)])

    def finish(self, x, m: Mechanics, s, numbers):
        y, impulse, t = self.parts(s)
        _, held, moved = self._unpacked(x, y)
        n = self.sizes.n
        second = held[n : 2 * n] if m.system.gives_velocity else held[:n]
        return joined(jnp.concatenate([moved[:n], second]), impulse, t)
