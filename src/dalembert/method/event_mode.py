"""The smooth steps of event capturing in one mode of the contacts: what is solved, and what events are told from.

Which contacts are closed and which of them stick is fixed, so that what does not occur in a mode is not in its code;
the way in which the others slide is an argument. The stages of a tableau (A, b, c) are::

    Q_i = q0 + h sum_j a_ij V_j,      V_i = v0 + h sum_j a_ij V'_j,      P_i = p0 + h sum_j a_ij P'_j

(of an explicit one Y_i = y0 + h sum_j a_ij Y'_j). The unknowns are V'_i, P'_i and the forces, in which the equations of
motion (`event_capturing.py`) are linear; the same at the times at which the step is looked at; and where anything is
held, the end of the step on the constraints.

Inside the step y is read off the cubic polynomial with the values and rates of both ends, at the times t + h k / PARTS.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..formulation import Mechanics, contact_friction
from .event_equations import (
    Modes,
    Motion,
    motion_equations,
    parts_of,
    position_defect,
    slope_of,
    velocity_defect,
)
from .runge_kutta import RungeKutta

#: A step is looked at in so many equal parts.
PARTS = 8
#: A minimum of a gap is searched if it could lie below zero were the fall to it larger by this part.
DIP_MARGIN = 0.5
EPS = float(np.finfo(np.float64).eps)


class Tolerances(NamedTuple):
    """What is roundoff of a gap, of a relative velocity, of a force."""

    gap: float
    velocity: float
    force: float


#: A gap, a velocity or a force below this, relative to the largest of its kind, is roundoff.
ROUNDOFF = Tolerances(gap=64 * EPS, velocity=1e-12, force=1e-11)


class Sizes(NamedTuple):
    """The dimensions of a system: coordinates, holonomic and nonholonomic constraints, contacts, directions of each."""

    n: int
    m: int
    k: int
    contacts: int
    directions: int


class Inside(NamedTuple):
    """What events are told from: along the first axis the times t + h k / PARTS, accelerations at both ends only."""

    gap: Any  # (PARTS + 1, contacts)
    velocity: Any  # (PARTS + 1, contacts, d)
    acceleration: Any  # (2, contacts, d)
    force: Any  # (PARTS + 1, contacts, d), or (0, contacts, d) where all contacts are open
    friction: Any  # coefficients in the units of the forces, (PARTS + 1, contacts), or (0, contacts)


class ModeEnd(NamedTuple):
    """What a step in one mode gives; multipliers are those at its beginning."""

    y: Any  # on the constraints that hold
    impulse: Any  # integral of the contact forces, (contacts, d)
    lam: Any
    psi: Any
    inside: Inside


class SmoothMode:
    """The equations of a step in one mode, in which no contacts that are held depend on each other."""

    def __init__(
        self, tableau: RungeKutta, sizes: Sizes, closed, sticking, *, watched: bool = True, projected: bool = True
    ) -> None:
        """`watched`: whether the step is looked at; else only its end matters. `projected`: whether that is moved onto
        the constraints."""
        self.tableau, self.dimensions, self.watched = tableau, sizes, watched
        self.closed, self.sticking = np.array(closed, bool), np.array(sticking, bool)
        self.parts = PARTS if np.any(self.closed) else 1  # the times at which forces are asked for
        self.projects = projected and bool(sizes.m + sizes.k or np.any(self.closed))
        self.points = tableau.stages + (self.parts + 1 if watched else 0)
        impulses = sizes.contacts * sizes.directions
        lengths = {
            "acceleration": sizes.n, "momentum rate": sizes.n, "lam": sizes.m, "psi": sizes.k, "force": impulses,
        }  # fmt: skip
        self.groups = {name: self.points * length for name, length in lengths.items()}
        if self.projects:
            self.groups["position"] = sizes.n + sizes.m + sizes.contacts
            self.groups["velocity"] = 2 * sizes.n + sizes.m + sizes.k + impulses

    # -- unknowns ------------------------------------------------------------------------------------------------

    def modes(self, direction) -> Modes:
        """The mode, with the ways in which contacts slide."""
        return Modes(self.closed, self.sticking, direction)

    def _unpacked(self, x) -> tuple[Motion, list]:
        """The motion at stages, both ends, and between; and the unknowns of the projection."""
        n, m, k, contacts, directions = self.dimensions
        pieces = [x[a:b] for a, b in itertools.pairwise(np.cumsum([0, *self.groups.values()]).tolist())]
        shapes = ((n,), (n,), (m,), (k,), (contacts, directions))
        parts = [piece.reshape(self.points, *shape) for piece, shape in zip(pieces[:5], shapes, strict=True)]
        return Motion(*parts), pieces[5:]

    def guess(self, m: Mechanics, t, h, y):
        """No motion; the end where v leads."""
        q, v, p = parts_of(m, t, y)
        zeros, n = {name: jnp.zeros(length) for name, length in self.groups.items()}, self.dimensions.n
        if self.projects:
            zeros["position"] = zeros["position"].at[:n].set(q + h * v)
            zeros["velocity"] = zeros["velocity"].at[: 2 * n].set(jnp.concatenate([v, p]))
        return jnp.concatenate(list(zeros.values()))

    # -- the step ------------------------------------------------------------------------------------------------

    def _stages(self, m: Mechanics, motion: Motion, t, h, y):
        """Times, q, v, p and rates of y at the stages."""
        tableau, count = self.tableau, self.tableau.stages
        stages = Motion(*(part[:count] for part in motion))
        times, matrix = t + h * jnp.array(tableau.nodes), np.array(tableau.matrix)
        if not tableau.explicit:
            q, v, p = parts_of(m, t, y)
            v_stages = v + h * matrix @ stages.v_rate
            states = q + h * matrix @ v_stages, v_stages, p + h * matrix @ stages.p_rate
            return times, states, slope_of(m, v_stages, stages)
        states, slopes = [], []
        for i in range(count):
            y_i = y + h * sum((matrix[i, j] * slopes[j] for j in range(i) if matrix[i, j]), jnp.zeros_like(y))
            states.append(parts_of(m, times[i], y_i))
            slopes.append(slope_of(m, states[i][1], Motion(*(part[i] for part in stages))))
        q, v, p = (jnp.stack(rows) for rows in zip(*states, strict=True))
        return times, (q, v, p), jnp.stack(slopes)

    def _end(self, slopes, h, y):
        return y + h * jnp.array(self.tableau.weights) @ slopes

    def _path(self, m: Mechanics, motion: Motion, t, h, y, end):
        """q, v, p at t + h k / PARTS, k = 0..PARTS."""
        first, last = (
            slope_of(m, parts_of(m, t + theta * h, at)[1], Motion(*(part[self.tableau.stages + k] for part in motion)))
            for k, (theta, at) in enumerate(((0.0, y), (1.0, end)))
        )
        thetas = [k / PARTS for k in range(1, PARTS)]
        states = [y, *(between(theta, h, y, end, first, last) for theta in thetas), end]
        times = [t, *(t + theta * h for theta in thetas), t + h]
        return times, [parts_of(m, time, state) for time, state in zip(times, states, strict=True)]

    def residual(self, x, m: Mechanics, t, h, y, direction) -> dict[str, jax.Array]:
        """Motion at the stages and where the step is looked at; the end on the constraints."""
        modes, (motion, projection) = self.modes(direction), self._unpacked(x)
        times, states, slopes = self._stages(m, motion, t, h, y)
        if not self.watched:
            return {"motion": self._motion(m, motion, times, states, modes)}
        end = self._end(slopes, h, y)
        along, path = self._path(m, motion, t, h, y, end)
        looked_at = [0, PARTS, *range(1, self.parts)]
        others = [jnp.stack(rows) for rows in zip(*(path[k] for k in looked_at), strict=True)]
        every = [jnp.concatenate(pair) for pair in zip(states, others, strict=True)]
        moments = jnp.concatenate([times, jnp.stack([jnp.asarray(along[k]) for k in looked_at])])
        rows = self._motion(m, motion, moments, every, modes)
        if not self.projects:
            return {"motion": rows}
        q, v, p = path[-1]
        near, held = projection
        n, after = self.dimensions.n, t + h
        position = position_defect(m, near, after, q, v, p, self.closed, 0.0)
        q, v, p = parts_of(m, after, jnp.concatenate([near[:n], end[n:]]))
        velocity = velocity_defect(m, held, after, q, p, self.closed, self.sticking, 0.0)
        return {"motion": rows, "position": position, "velocity": velocity}

    @staticmethod
    def _motion(m: Mechanics, motion: Motion, times, states, modes: Modes):
        """The equations of motion at many states."""
        rows = jax.vmap(lambda x, t, q, v, p: motion_equations(m, x, t, q, v, p, modes))(motion, times, *states)
        return jnp.ravel(rows)

    def end(self, x, m: Mechanics, t, h, y):
        """y at the end of the step, on no constraints yet."""
        return self._end(self._stages(m, self._unpacked(x)[0], t, h, y)[2], h, y)

    def motion_at_the_end(self, x) -> Motion:
        """Accelerations and forces there."""
        return Motion(*(part[self.tableau.stages + 1] for part in self._unpacked(x)[0]))

    def arrival(self, x, m: Mechanics, t, h, y) -> tuple:
        """y at the end of the step, on the constraints that hold, and the integral of the contact forces."""
        (motion, projection), n = self._unpacked(x), self.dimensions.n
        impulse = h * jnp.tensordot(jnp.array(self.tableau.weights), motion.force[: self.tableau.stages], axes=1)
        if not self.projects:
            return self.end(x, m, t, h, y), impulse
        near, held = projection
        return jnp.concatenate([near[:n], held[n : 2 * n] if m.system.gives_velocity else held[:n]]), impulse

    def finish(self, x, m: Mechanics, t, h, y) -> ModeEnd:
        """The end of the step, and what is seen inside it."""
        motion, count = self._unpacked(x)[0], self.tableau.stages
        inside = self._inside(m, motion, t, h, y, self.end(x, m, t, h, y))
        end, impulse = self.arrival(x, m, t, h, y)
        return ModeEnd(end, impulse, motion.lam[count], motion.psi[count], inside)

    # -- the look inside -----------------------------------------------------------------------------------------

    @property
    def looks(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of what is seen inside a step."""
        contacts, directions = self.dimensions.contacts, self.dimensions.directions
        forces = PARTS + 1 if self.parts > 1 else 0
        motion = (PARTS + 1, contacts), (PARTS + 1, contacts, directions), (2, contacts, directions)
        return *motion, (forces, contacts, directions), (forces, contacts)

    def _inside(self, m: Mechanics, motion: Motion, t, h, y, end) -> Inside:
        times, path = self._path(m, motion, t, h, y, end)
        contact, count = m.contact, self.tableau.stages
        gap = jnp.stack([contact.gap(t, q) for t, (q, _, _) in zip(times, path, strict=True)])
        velocity = jnp.stack([contact.velocity(t, q, v) for t, (q, v, _) in zip(times, path, strict=True)])
        acceleration = jnp.stack([
            jax.jvp(contact.velocity, (times[k], *path[k][:2]), (jnp.ones_like(t), path[k][1], motion.v_rate[place]))[1]
            for place, k in ((count, 0), (count + 1, PARTS))
        ])  # fmt: skip
        if self.parts == 1:
            return Inside(gap, velocity, acceleration, motion.force[:0], gap[:0])
        order = count + np.array([0, *range(2, PARTS + 1), 1])
        friction = jnp.stack([contact_friction(m, t, q) for t, (q, _, _) in zip(times, path, strict=True)])
        return Inside(gap, velocity, acceleration, motion.force[order], friction)

    def happens(self, inside: Inside, h, far, fast, direction):
        """Whether there is something to look at in a step; `far` and `fast` are the largest position and velocity."""
        found = [jnp.array(False)]
        free, closed = np.flatnonzero(~self.closed), np.flatnonzero(self.closed)
        if len(free):
            found += _closing(inside.gap[:, free], inside.velocity[:, free, 0], ROUNDOFF.gap * far, h)
        if len(closed):
            normal, friction = inside.force[..., 0], inside.friction
            level = ROUNDOFF.force * jnp.max(jnp.abs(inside.force))
            found.append(jnp.any(normal[1:, closed] < -level))
            held, slides = np.flatnonzero(self.sticking), np.flatnonzero(self.closed & ~self.sticking)
            if len(held):
                spare = (friction * normal - jnp.abs(inside.force[..., 1]))[1:, held]
                found.append(jnp.any(spare < -level))
            if len(slides) and self.dimensions.directions == 2:
                ahead = (direction * inside.velocity[..., 1])[1:, slides]
                found.append(jnp.any(ahead < -ROUNDOFF.velocity * fast))
        return jnp.any(jnp.stack(found))


def _closing(gap, speed, level, h) -> list[jax.Array]:
    """Contacts that are open close, or may have closed and opened within a part."""
    through = (gap[1:] < -level) & (speed[1:] < 0)
    before, after, u, w = gap[:-1], gap[1:], speed[:-1], speed[1:]
    turning = (u < 0) & (w > 0) & (before > level) & (after > 0)
    change = jnp.where(turning, w - u, 1.0)
    fall = (1 + DIP_MARGIN) * (h / PARTS) / (2 * change)
    low = (before <= fall * u**2) | (after <= fall * w**2)
    return [jnp.any(through), jnp.any(turning & low)]


def between(theta, h, y, end, first, last):
    """y at t + theta h: the cubic polynomial with the values and rates of both ends."""
    d = end - y
    return y + theta * (h * first + theta * (3 * d - h * (2 * first + last) + theta * (h * (first + last) - 2 * d)))


def larger(inside: Inside, h, q, far, fast):
    """The largest position and relative velocity up to now, in the units of the system."""
    fast = jnp.maximum(fast, jnp.max(jnp.abs(inside.velocity)))
    fast = jnp.maximum(fast, h * jnp.max(jnp.abs(inside.acceleration)))
    far = jnp.maximum(far, jnp.max(jnp.abs(q)))
    far = jnp.maximum(far, jnp.max(jnp.abs(inside.gap)))
    return jnp.maximum(far, h * fast), fast
