"""Smooth steps of event capturing as step functions of the engine, one set for each mode of the contacts.

Which contacts are closed and which of them stick is fixed, so that what does not occur in a mode is not in its code;
the way in which the others slide is a parameter. Unknowns are the accelerations and forces at the stages and at the
times at which the step is looked at (both ends, and where contacts are closed all parts between them), in which the
equations of motion are linear; where anything is held, also the end of the step on the constraints. The equations are
those of `event_kernels.py`.

The guard of a step is what the search for events (`event_search.py`) calls a suspect: if there is one, the step is not
taken, and the loop looks closer. State: y (or what it is moved to), impulse of the contacts, multipliers at the
beginning of the step, and the largest position and velocity up to now.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import StepFunctions
from ..formulation import Mechanics, contact_friction, mechanics_of
from ..method.event_capturing import (
    Modes,
    Motion,
    motion_equations,
    parts_of,
    position_defect,
    slope_of,
    velocity_defect,
)
from ..method.runge_kutta import RungeKutta
from .event_kernels import PARTS, between
from .event_search import DIP_MARGIN, ROUNDOFF
from .family import Family, for_family
from .step import Layout


class Inside(NamedTuple):
    """What the guard is read from: along the first axis the times t + h k / PARTS, accelerations at both ends only."""

    gap: jax.Array
    velocity: jax.Array
    acceleration: jax.Array
    force: jax.Array | None  # None where all contacts are open
    friction: jax.Array | None


@for_family(maxsize=128)
def guarded_steps(
    family: Family, tableau: RungeKutta, layout: Layout, closed: tuple[bool, ...], sticking: tuple[bool, ...]
) -> StepFunctions:
    """The steps of a mode in which no contacts that are held depend on each other."""
    return _SmoothSteps(family, tableau, layout, np.array(closed, bool), np.array(sticking, bool)).functions()


class _SmoothSteps:
    """Steps in one mode."""

    def __init__(self, family: Family, tableau: RungeKutta, layout: Layout, closed: np.ndarray, sticking: np.ndarray):
        self.family, self.tableau, self.layout, self.closed, self.sticking = family, tableau, layout, closed, sticking
        self.parts = PARTS if np.any(closed) else 1  # the times at which forces are asked for
        self.projects = bool(layout.m + layout.k or np.any(closed))
        n, points, impulses = layout.n, tableau.stages + self.parts + 1, layout.contacts * layout.directions
        self.sizes = [points * size for size in (n, n, layout.m, layout.k, impulses)]
        if self.projects:
            self.sizes += [n + layout.m + layout.contacts, 2 * n + layout.m + layout.k + impulses]

    def functions(self) -> StepFunctions:
        layout, size = self.layout, sum(self.sizes)
        kinds = ("acceleration", "momentum rate", "lam", "psi", "force", "position", "velocity")
        names = tuple(
            f"{kind}[{k}]" for kind, count in zip(kinds, self.sizes, strict=False) for k in range(count)
        )  # fmt: skip
        values = layout.contacts * layout.directions + layout.m + layout.k + 2
        return StepFunctions(
            guess=self.guess,
            residual=self.residual,
            finish=self.finish,
            unknowns=names,
            equations=tuple(f"equation of {name}" for name in names[:size]),
            blocks=tuple(self.sizes),
            n_state=2 * layout.n + values,
            summed_blocks=(),
            n_parameters=self.family.size + layout.contacts,
            guard=self.guard,
        )

    # -- unknowns ------------------------------------------------------------------------------------------------

    def _problem(self, state, parameters) -> tuple[Mechanics, jax.Array, Modes]:
        m = mechanics_of(self.family.at(parameters[: self.family.size]), None)
        modes = Modes(self.closed, self.sticking, parameters[self.family.size :])
        return m, state[: 2 * self.layout.n], modes

    def _unpacked(self, x) -> tuple[Motion, list[jax.Array]]:
        """The motion at stages, both ends, and between; and the unknowns of the projection."""
        ends = np.cumsum([0, *self.sizes]).tolist()
        pieces = [x[a:b] for a, b in itertools.pairwise(ends)]
        shapes = ((-1,), (-1,), (self.layout.m,), (self.layout.k,), (self.layout.contacts, self.layout.directions))
        points = self.tableau.stages + self.parts + 1
        parts = [piece.reshape(points, *_known(shape, self.layout.n)) for piece, shape in zip(pieces, shapes)]  # noqa: B905
        return Motion(*parts), pieces[5:]

    def guess(self, t, h, state, parameters):
        m, y, _ = self._problem(state, parameters)
        q, v, p = parts_of(m, t, y)
        zeros = [jnp.zeros(size) for size in self.sizes]
        if self.projects:
            n = self.layout.n
            zeros[5] = zeros[5].at[:n].set(q + h * v)
            zeros[6] = zeros[6].at[: 2 * n].set(jnp.concatenate([v, p]))
        return jnp.concatenate(zeros)

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

    def residual(self, x, t, h, state, parameters):
        m, y, modes = self._problem(state, parameters)
        motion, projection = self._unpacked(x)
        times, states, slopes = self._stages(m, motion, t, h, y)
        end = self._end(slopes, h, y)
        along, path = self._path(m, motion, t, h, y, end)
        looked_at = [0, PARTS, *range(1, self.parts)]
        others = [jnp.stack(rows) for rows in zip(*(path[k] for k in looked_at), strict=True)]
        every = [jnp.concatenate(pair) for pair in zip(states, others, strict=True)]
        moments = jnp.concatenate([times, jnp.stack([jnp.asarray(along[k]) for k in looked_at])])
        rows = jax.vmap(lambda x, t, q, v, p: motion_equations(m, x, t, q, v, p, modes))(motion, moments, *every)
        if not self.projects:
            return jnp.ravel(rows)
        q, v, p = path[-1]
        near, held = projection
        n, after = self.layout.n, t + h
        position = position_defect(m, near, after, q, v, p, self.closed, 0.0)
        q, v, p = parts_of(m, after, jnp.concatenate([near[:n], end[n:]]))
        velocity = velocity_defect(m, held, after, q, p, self.closed, self.sticking, 0.0)
        return jnp.concatenate([jnp.ravel(rows), position, velocity])

    def finish(self, x, t, h, state, parameters):
        m, y, _ = self._problem(state, parameters)
        motion, projection = self._unpacked(x)
        slopes = self._stages(m, motion, t, h, y)[2]
        end, count, n = self._end(slopes, h, y), self.tableau.stages, self.layout.n
        inside = self._inside(m, motion, t, h, y, end)
        impulse = h * jnp.tensordot(jnp.array(self.tableau.weights), motion.force[:count], axes=1)
        if self.projects:
            near, held = projection
            end = jnp.concatenate([near[:n], held[n : 2 * n] if m.system.gives_velocity else held[:n]])
        sizes = jnp.stack(self._sizes(inside, h, state))
        return jnp.concatenate([end, jnp.ravel(impulse), motion.lam[count], motion.psi[count], sizes])

    # -- the look inside -----------------------------------------------------------------------------------------

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
            return Inside(gap, velocity, acceleration, None, None)
        order = count + np.array([0, *range(2, PARTS + 1), 1])
        friction = jnp.stack([contact_friction(m, t, q) for t, (q, _, _) in zip(times, path, strict=True)])
        return Inside(gap, velocity, acceleration, motion.force[order], friction)

    def _sizes(self, inside: Inside, h, state):
        """The largest position and velocity up to now: `EventLoop._sizes`."""
        far, fast = state[-2], state[-1]
        fast = jnp.maximum(fast, jnp.max(jnp.abs(inside.velocity)))
        fast = jnp.maximum(fast, h * jnp.max(jnp.abs(inside.acceleration)))
        far = jnp.maximum(far, jnp.max(jnp.abs(state[: self.layout.n])))
        far = jnp.maximum(far, jnp.max(jnp.abs(inside.gap)))
        return jnp.maximum(far, h * fast), fast

    def guard(self, x, t, h, state, parameters):
        """Whether the search for events has something to look at in this step."""
        m, y, modes = self._problem(state, parameters)
        motion, _ = self._unpacked(x)
        end = self._end(self._stages(m, motion, t, h, y)[2], h, y)
        inside = self._inside(m, motion, t, h, y, end)
        far, fast = self._sizes(inside, h, state)
        found = [jnp.array(False)]
        free, closed = np.flatnonzero(~self.closed), np.flatnonzero(self.closed)
        if len(free):
            found += self._closing(inside.gap[:, free], inside.velocity[:, free, 0], ROUNDOFF.gap * far, h)
        if len(closed):
            assert inside.force is not None
            assert inside.friction is not None
            normal, friction = inside.force[..., 0], inside.friction
            level = ROUNDOFF.force * jnp.max(jnp.abs(inside.force))
            found.append(jnp.any(normal[1:, closed] < -level))
            held, slides = np.flatnonzero(self.sticking), np.flatnonzero(self.closed & ~self.sticking)
            if len(held):
                spare = (friction * normal - jnp.abs(inside.force[..., 1]))[1:, held]
                found.append(jnp.any(spare < -level))
            if len(slides) and self.layout.directions == 2:
                ahead = (modes.direction * inside.velocity[..., 1])[1:, slides]
                found.append(jnp.any(ahead < -ROUNDOFF.velocity * fast))
        return jnp.any(jnp.stack(found))

    def _closing(self, gap, speed, level, h) -> list[jax.Array]:
        """Contacts that are open close, or may have closed and opened within a part: `_suspects` and `_Search._dip`."""
        through = (gap[1:] < -level) & (speed[1:] < 0)
        before, after, u, w = gap[:-1], gap[1:], speed[:-1], speed[1:]
        turning = (u < 0) & (w > 0) & (before > level) & (after > 0)
        change = jnp.where(turning, w - u, 1.0)
        fall = (1 + DIP_MARGIN) * (h / PARTS) / (2 * change)
        low = (before <= fall * u**2) | (after <= fall * w**2)
        return [jnp.any(through), jnp.any(turning & low)]


def _known(shape: tuple[int, ...], n: int) -> tuple[int, ...]:
    return tuple(n if size == -1 else size for size in shape)
