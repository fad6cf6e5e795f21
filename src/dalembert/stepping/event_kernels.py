"""Compiled pieces of event capturing: a smooth step with a look inside it, projections, the response to impulses.

Nothing is compiled again when the mode of a contact or the length of a step changes: both are arguments.

The stages of an implicit tableau satisfy the equations of motion at::

    Q_i = q0 + h sum_j a_ij V_j,      V_i = v0 + h sum_j a_ij V'_j,      P_i = p0 + h sum_j a_ij P'_j

Unknowns of Newton's method are V'_i, P'_i and the forces, in which the equations are linear but for the arguments.

Inside the step y is read off the cubic polynomial with the values and rates of both ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from ..formulation import Mechanics, contact_friction, mechanics_of
from ..method.event_equations import (
    Modes,
    instant,
    motion_equations,
    motion_of,
    no_motion,
    parts_of,
    slope_of,
    solve,
)
from ..method.event_mode import PARTS, between
from ..method.runge_kutta import RungeKutta
from ..problem import AbstractSystem
from .shared_equations import Family, for_family
from .step import Layout

NEWTON_STEPS = 30
#: Newton's update, relative to the size of the state, that counts as none; and one that is forgiven if it shrinks no
#: further.
SMALLEST_UPDATE, SMALL_UPDATE = 4e-16, 1e-11
#: Numbers far below this are nothing beside it: a body at rest in the origin has no size to compare with.
SMALL_SIZE = 1e-6


class Watched(NamedTuple):
    """What events are read from, at one time or at several along the first axis."""

    gap: Any  # (contacts,)
    velocity: Any  # (contacts, d)
    acceleration: Any  # (contacts, d)
    force: Any  # (contacts, d)
    friction: Any  # coefficients in the units of the forces, (contacts,)
    lam: Any
    psi: Any


class SmoothStep(NamedTuple):
    """One step in a fixed mode; `inside` at the times t + h k / PARTS, k = 0..PARTS."""

    y: Any
    impulse: Any  # integral of the contact forces, (contacts, d)
    inside: Watched
    converged: Any
    iterations: Any
    projected: bool = False  # whether y is on the constraints that hold


class Kernels(NamedTuple):
    """Functions of numbers; the last argument of each is the vector of parameters."""

    step: Callable  # (t, h, y, modes, parameters) -> SmoothStep
    instant: Callable  # (t, y, parameters) -> Instant


def kernels_of(system: AbstractSystem, tableau: RungeKutta, layout: Layout, rows: tuple[int, ...] | None) -> Kernels:
    """Compiled once for all systems that differ only in parameter values."""
    family = Family(system)
    return Kernels(_step(family, tableau, layout, rows), _instant(family, layout, rows))


@for_family(maxsize=64)
def _step(family: Family, tableau: RungeKutta, layout: Layout, rows) -> Callable:
    return _Packed(lambda t, h, y, modes, p: smooth_step(mechanics_of(family.at(p), rows), tableau, t, h, y, modes))


@for_family(maxsize=64)
def _instant(family: Family, layout: Layout, rows) -> Callable:
    return _Packed(lambda t, y, p: instant(mechanics_of(family.at(p), rows), t, y))


class _Packed:
    """A compiled function of trees of numbers. They travel as one vector there and one back: handing over every array
    by itself takes longer than the computation."""

    def __init__(self, function: Callable) -> None:
        self._function = function
        self._compiled: Callable | None = None
        self._shapes: list[tuple[int, ...]] = []
        self._tree: Any = None

    def __call__(self, *arguments):
        leaves, tree = jax.tree.flatten(arguments)
        if self._compiled is None:
            self._compiled = self._compile(leaves, tree)
        flat = np.asarray(self._compiled(np.concatenate([np.ravel(leaf) for leaf in leaves])))
        found, first = [], 0
        for shape in self._shapes:
            last = first + math.prod(shape)
            found.append(flat[first:last].reshape(shape))
            first = last
        return jax.tree.unflatten(self._tree, found)

    def _compile(self, leaves: list, tree) -> Callable:
        arrays = [np.asarray(leaf) for leaf in leaves]
        edges = np.cumsum([array.size for array in arrays])[:-1]

        def run(flat):
            pieces = [
                piece.reshape(array.shape).astype(array.dtype)
                for piece, array in zip(jnp.split(flat, edges), arrays, strict=True)
            ]
            found, self._tree = jax.tree.flatten(self._function(*jax.tree.unflatten(tree, pieces)))
            self._shapes = [jnp.shape(leaf) for leaf in found]
            return jnp.concatenate([jnp.ravel(leaf).astype(jnp.float64) for leaf in found])

        return jax.jit(run)


# -- the smooth step -------------------------------------------------------------------------------------------


def smooth_step(m: Mechanics, tableau: RungeKutta, t, h, y, modes: Modes) -> SmoothStep:
    """One step of the tableau in a fixed mode."""
    weights = jnp.array(tableau.weights)
    if tableau.explicit:
        return _explicit_step(m, tableau, t, h, y, modes)
    slopes, forces, converged, iterations = _implicit_stages(m, tableau, t, h, y, modes)
    end = y + h * weights @ slopes
    inside = _look_inside(m, t, h, y, end, modes)
    return SmoothStep(end, h * jnp.tensordot(weights, forces, axes=1), inside, converged, iterations)


def _explicit_step(m: Mechanics, tableau: RungeKutta, t, h, y, modes: Modes) -> SmoothStep:
    """Stages, end and the parts between in one loop, so that the equations of motion are compiled once."""
    count, weights = tableau.stages, jnp.array(tableau.weights)
    rows = jnp.pad(jnp.array([*tableau.matrix, tableau.weights]), ((0, 0), (0, 1)))
    nodes = jnp.array([*tableau.nodes, 1.0])

    def look(slopes, k):
        """Stage k, the end for k = count, then the parts; slopes[0] and slopes[count] are the rates of both ends."""
        stage, theta = jnp.minimum(k, count), (k - count) / PARTS
        inner = between(theta, h, y, y + h * rows[count] @ slopes, slopes[0], slopes[count])
        state = jnp.where(k <= count, y + h * rows[stage] @ slopes, inner)
        watched, rate = watch(m, t + h * jnp.where(k <= count, nodes[stage], theta), state, modes)
        return slopes.at[stage].set(jnp.where(k <= count, rate, slopes[stage])), watched

    slopes, found = jax.lax.scan(look, jnp.zeros((count + 1, *y.shape)), jnp.arange(count + PARTS))
    parts = np.array([0, *range(count + 1, count + PARTS), count])
    impulse = h * jnp.tensordot(weights, found.force[:count], axes=1)
    inside = jax.tree.map(lambda values: values[parts], found)
    return SmoothStep(y + h * rows[count] @ slopes, impulse, inside, jnp.array(True), jnp.array(0))


def _look_inside(m: Mechanics, t, h, y, end, modes: Modes) -> Watched:
    """At the parts of a step; both ends come first, since their rates fix the polynomial between them."""
    order = jnp.array([0, PARTS, *range(1, PARTS)])

    def look(rates, k):
        theta = k / PARTS
        inner = between(theta, h, y, end, *rates)
        state = jnp.where(k == 0, y, jnp.where(k == PARTS, end, inner))
        watched, rate = watch(m, t + h * theta, state, modes)
        first, last = rates
        return (jnp.where(k == 0, rate, first), jnp.where(k == PARTS, rate, last)), watched

    found = jax.lax.scan(look, (jnp.zeros_like(y), jnp.zeros_like(y)), order)[1]
    return jax.tree.map(lambda values: jnp.zeros_like(values).at[order].set(values), found)


def _implicit_stages(m: Mechanics, tableau: RungeKutta, t, h, y, modes: Modes):
    matrix, times = jnp.array(tableau.matrix), t + h * jnp.array(tableau.nodes)
    count, (q, v, p) = tableau.stages, parts_of(m, t, y)
    first, unravel = ravel_pytree(no_motion(m, t, q, v))
    n, size = q.shape[0], first.shape[0]
    square = matrix @ matrix

    def states(x):
        v_stages = v + h * matrix @ x[:, :n]
        return q + h * matrix @ v_stages, v_stages, p + h * matrix @ x[:, n : 2 * n]

    def equations(x, t, q, v, p):
        return motion_equations(m, unravel(x), t, q, v, p, modes)

    def blocks(coefficients, derivatives):
        return coefficients[:, None, :, None] * derivatives[:, :, None, :]

    def update(x):
        arguments = (x, times, *states(x))
        by_x, by_q, by_v, by_p = jax.vmap(jax.jacfwd(equations, argnums=(0, 2, 3, 4)))(*arguments)
        by_v_rate = blocks(h**2 * square, by_q) + blocks(h * matrix, by_v)
        rest = jnp.zeros((count, size, count, size - 2 * n))
        coupled = jnp.concatenate([by_v_rate, blocks(h * matrix, by_p), rest], axis=3)
        jacobian = (blocks(jnp.eye(count), by_x) + coupled).reshape(count * size, count * size)
        change = -solve(jacobian, jnp.ravel(jax.vmap(equations)(*arguments))).reshape(x.shape)
        extent = jnp.max(jnp.abs(y)) + h * jnp.max(jnp.abs(x[:, : 2 * n])) + SMALL_SIZE
        return change, h * jnp.max(jnp.abs(change[:, : 2 * n])) / extent

    x, converged, iterations = _newton(update, jnp.broadcast_to(first, (count, size)))
    motion, (_, v_stages, _) = jax.vmap(unravel)(x), states(x)
    return slope_of(m, v_stages, motion), motion.force, converged, iterations


def _newton(update, x):
    """Newton with `update(x)` -> change and its relative size, until that is roundoff, or stops shrinking near it;
    x, whether it converged, iterations."""

    def step(carry):
        x, before, _, _, done = carry
        change, size = update(x)
        stalled = (size >= before / 2) & (size <= SMALL_UPDATE)
        near, lost = (size <= SMALLEST_UPDATE) | stalled, ~jnp.isfinite(size)
        return x + change, size, near, near | lost, done + 1

    def unfinished(carry):
        return ~carry[3] & (carry[4] < NEWTON_STEPS)

    start = (x, jnp.array(jnp.inf), jnp.array(False), jnp.array(False), jnp.array(0))
    x, _, converged, _, iterations = jax.lax.while_loop(unfinished, step, start)
    return x, converged, iterations


def watch(m: Mechanics, t, y, modes: Modes):
    """What events are read from, and the rate of y."""
    q, v, p = parts_of(m, t, y)
    motion = motion_of(m, t, q, v, p, modes)
    c = m.contact
    acceleration = jax.jvp(c.velocity, (t, q, v), (jnp.ones_like(t), v, motion.v_rate))[1]
    watched = Watched(
        c.gap(t, q), c.velocity(t, q, v), acceleration, motion.force, contact_friction(m, t, q), motion.lam, motion.psi
    )
    return watched, slope_of(m, v, motion)
