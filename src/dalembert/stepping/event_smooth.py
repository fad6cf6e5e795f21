"""The smooth steps of event capturing as step functions of the engine, one set for each mode of the contacts; and what
impacts and projections at one instant follow from.

State of a step: y (on the constraints that hold), impulse of the contacts, multipliers at the beginning of the step,
the largest position and velocity up to now; and, of which nothing is saved, what is seen inside the step, or what
happened in a step with a bounce, and the largest speed of an impact of each contact. Parameters: those of the system,
the ways in which contacts slide, the width of the interval of an event, and whether the guard is asked: what the search
for events calls a suspect (`event_search.py`) ends a chunk of steps, while a step in which the search looks is taken in
any case.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from ..engine import StepFunctions
from ..formulation import Mechanics, mechanics_of
from ..method.event_bounce import Extent, OneBounce
from ..method.event_equations import Instant, instant
from ..method.event_mode import Inside, Sizes, SmoothMode, larger
from ..method.runge_kutta import RungeKutta
from .shared_equations import Family, for_family
from .step import Layout


def sizes_of(layout: Layout) -> Sizes:
    """The dimensions of a system as the equations of event capturing have them."""
    return Sizes(layout.n, layout.m, layout.k, layout.contacts, layout.directions)


def named(groups: dict[str, int]) -> dict[str, Any]:
    """What step functions are told of unknowns that come in groups of these lengths."""
    names = tuple(f"{name}[{k}]" for name, length in groups.items() for k in range(length))
    return {
        "unknowns": names,
        "equations": tuple(f"equation of {name}" for name in names),
        "blocks": tuple(groups.values()),
    }


def mode_of(tableau: RungeKutta, layout: Layout, closed, sticking) -> SmoothMode:
    """The equations of a mode."""
    return SmoothMode(tableau, sizes_of(layout), closed, sticking)


@for_family(maxsize=128)
def guarded_steps(
    family: Family, tableau: RungeKutta, layout: Layout, rows: tuple[int, ...] | None, closed: tuple[bool, ...],
    sticking: tuple[bool, ...],
) -> StepFunctions:  # fmt: skip
    """The steps of a mode in which no contacts that are held depend on each other."""
    mode, n = mode_of(tableau, layout, closed, sticking), 2 * layout.n
    saved = n + layout.contacts * layout.directions + layout.m + layout.k + 2

    def mechanics(parameters) -> Mechanics:
        return mechanics_of(family.at(parameters[: family.size]), rows)

    def guess(t, h, state, parameters):
        return mode.guess(mechanics(parameters), t, h, state[:n])

    def residual(x, t, h, state, parameters):
        direction = parameters[family.size : -2]
        equations = mode.residual(x, mechanics(parameters), t, h, state[:n], direction)
        return jnp.concatenate(list(equations.values()))

    def finish(x, t, h, state, parameters):
        end = mode.finish(x, mechanics(parameters), t, h, state[:n])
        sizes = jnp.stack(larger(end.inside, h, state[: layout.n], state[saved - 2], state[saved - 1]))
        parts = end.y, jnp.ravel(end.impulse), end.lam, end.psi, sizes, *map(jnp.ravel, end.inside)
        return jnp.concatenate([*parts, state[-layout.contacts :]])

    def guard(end, t, h, state, parameters):
        inside, far, fast = Inside(*unpacked(end[saved : -layout.contacts], mode.looks)), end[saved - 2], end[saved - 1]
        return (parameters[-1] > 0) & mode.happens(inside, h, far, fast, parameters[family.size : -2])

    return StepFunctions(
        guess=guess,
        residual=residual,
        finish=finish,
        **named(mode.groups),
        n_state=saved + sum(map(math.prod, mode.looks)) + layout.contacts,
        summed_blocks=(),
        n_parameters=family.size + layout.contacts + 2,
        guard=guard,
        n_saved=saved,
    )


def unpacked(vector, shapes) -> list:
    """The arrays of these shapes that lie one after the other in a vector."""
    parts, first = [], 0
    for shape in shapes:
        last = first + math.prod(shape)
        parts.append(vector[first:last].reshape(shape))
        first = last
    return parts


class BounceState(NamedTuple):
    """Where entries of the state of a step with a bounce are."""

    saved: int
    kept: slice  # time, contact (a vector of zeros and a one), velocities before and after, impulse
    n_state: int


def bounce_state(tableau: RungeKutta, layout: Layout) -> BounceState:
    """The same sizes as those of a flight, so that both work on one state."""
    contacts, d = layout.contacts, layout.directions
    none = np.zeros(contacts, bool)
    saved = 2 * layout.n + contacts * d + layout.m + layout.k + 2
    looks = sum(map(math.prod, mode_of(tableau, layout, none, none).looks))
    return BounceState(saved, slice(saved, saved + 1 + contacts + 3 * d), saved + looks + contacts)


@for_family(maxsize=64)
def bounce_steps(family: Family, tableau: RungeKutta, layout: Layout) -> StepFunctions:
    """Steps with one bounce."""
    step, places, n = OneBounce(tableau, sizes_of(layout)), bounce_state(tableau, layout), 2 * layout.n
    contacts, last = layout.contacts, places.kept.stop

    def system(state, t, h, parameters):
        return mechanics_of(family.at(parameters[: family.size]), None), t, h, state[:n]

    def finish(x, t, h, state, parameters):
        extent = Extent(state[places.saved - 2], state[places.saved - 1], state[-contacts:])
        end = step.finish(x, *system(state, t, h, parameters), parameters[-2], extent)
        bounce = end.bounce
        impulse = jnp.ravel(bounce.chosen[:, None] * bounce.impulse)
        found = jnp.concatenate([bounce.time[None], *bounce[1:]])
        sizes, unusual = jnp.stack(end.extent[:2]), jnp.where(end.unusual, 1.0, 0.0)[None]
        rest = jnp.zeros(places.n_state - contacts - last - 1)
        return jnp.concatenate([
            end.y, impulse, end.lam, end.psi, sizes, found, unusual, rest, end.extent.impacts,
        ])  # fmt: skip

    return StepFunctions(
        guess=lambda t, h, state, parameters: step.guess(*system(state, t, h, parameters)),
        residual=lambda x, t, h, state, parameters: step.residual(x, *system(state, t, h, parameters), parameters[-2]),
        finish=finish,
        **named(step.groups),
        n_state=places.n_state,
        summed_blocks=(),
        n_parameters=family.size + contacts + 2,
        guard=lambda end, t, h, state, parameters: end[last] > 0.5,
        n_saved=places.saved,
    )


def instant_shapes(layout: Layout) -> tuple[tuple[int, ...], ...]:
    """The shapes of what `instants` gives."""
    n, m, k, contacts, d = layout.n, layout.m, layout.k, layout.contacts, layout.directions
    size = 2 * n + m + k + contacts * d
    contact = (contacts,), (contacts, d), (contacts,), (contacts * d, n), (contacts * d,)
    return (size, size), (size,), (n,), *contact, (m,), (m + k,)


@for_family(maxsize=64)
def instants(family: Family, layout: Layout, rows: tuple[int, ...] | None) -> StepFunctions:
    """`instant` as a step without unknowns to speak of: the state is y and what follows from it."""
    n = 2 * layout.n

    def finish(x, t, h, state, parameters):
        at: Instant = instant(mechanics_of(family.at(parameters), rows), t, state[:n])
        return jnp.concatenate([state[:n], *(jnp.ravel(jnp.asarray(part)) for part in at)])

    return StepFunctions(
        guess=lambda t, h, state, parameters: jnp.zeros(1),
        residual=lambda x, t, h, state, parameters: x,
        finish=finish,
        unknowns=("nothing",),
        equations=("nothing",),
        blocks=(1,),
        n_state=n + sum(map(math.prod, instant_shapes(layout))),
        summed_blocks=(),
        n_parameters=family.size,
        n_saved=0,
    )
