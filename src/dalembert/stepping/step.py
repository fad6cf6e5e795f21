"""One step of a method on a system, flattened for the engine.

State: q, p (advanced by increments), v, lam, psi, impulse (replaced). Unknowns and equations keep the names the method
gave them, so that a message can say which one is at fault.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import jaxpr_as_fun

from ..engine import Phase, StepFunctions
from ..errors import MethodDoesNotFit
from ..formulation import mechanics_of
from ..method import Advance, Method, MoreauJean, Step
from ..problem import AbstractSystem, State
from .contact_step import ContactSolver
from .shared_equations import Family, for_family


@dataclass(frozen=True)
class Layout:
    """Dimensions of a problem: coordinates, holonomic and nonholonomic constraints, contacts and the directions of an
    impulse (1 without friction, 2 in the plane, 3 in space)."""

    n: int
    m: int
    k: int = 0
    contacts: int = 0
    directions: int = 1

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.n, self.n, self.n, self.m, self.k, self.contacts * self.directions

    @property
    def n_state(self) -> int:
        return sum(self.sizes)

    def flatten(self, state: State):
        """The state as one vector."""
        return jnp.concatenate([jnp.ravel(part) for part in state])

    def unflatten(self, vector) -> State:
        """The named parts of a vector, or of an array of vectors along its last axis."""
        edges = np.cumsum(self.sizes)[:-1]
        return State(*(vector[..., a:b] for a, b in zip([0, *edges], [*edges, self.n_state], strict=True)))


def check_fit(system: AbstractSystem, method: Method) -> None:
    """Refuse a system with parts that the method does not treat."""
    foreign = [part for part in system.parts if part not in method.handles and part != "tangent"]
    if foreign:
        raise MethodDoesNotFit(
            f"{type(method).__name__} does not treat {', '.join(foreign)}, which {type(system).__name__} defines; "
            f"it treats {', '.join(sorted(method.handles - {'invariants'}))}. "
            "`dalembert list` shows the methods and what each one treats."
        )
    reason = method.misfit(system)
    if reason is not None:
        raise MethodDoesNotFit(f"{type(method).__name__} does not fit {type(system).__name__}: {reason}")


def assemble(system: AbstractSystem, method: Method, layout: Layout, rows: tuple[int, ...] | None) -> StepFunctions:
    """The step functions; assembled once for all systems that differ only in parameter values."""
    if "spheres" in system.parts:
        raise MethodDoesNotFit(
            f"the contacts of {type(system).__name__} are found step by step in da.simulate, with save_every=1 where "
            "states between them are wanted; what repeats or compiles single steps does not know them."
        )
    return _assemble(Family(system), method, layout, rows)


@for_family(maxsize=256)
def _assemble(family: Family, method: Method, layout: Layout, rows) -> StepFunctions:
    def step_at(t, h, state, parameters) -> Step:
        return Step(mechanics_of(family.at(parameters), rows), t, h, layout.unflatten(state))

    x_shape, r_shape, traced = _residual(family, method, layout, rows)
    unravel_x = _unraveller(x_shape)
    unknowns, equations = _names(x_shape), _names(r_shape)
    if len(unknowns) != len(equations):
        raise MethodDoesNotFit(
            f"{type(method).__name__} has {len(unknowns)} unknowns and {len(equations)} equations; "
            "they must be as many."
        )

    return StepFunctions(
        guess=lambda *a: flat(method.guess(step_at(*a))),
        residual=traced or (lambda x, *a: flat(method.residual(unravel_x(x), step_at(*a)))),
        finish=lambda x, *a: flat(method.finish(unravel_x(x), step_at(*a))),
        unknowns=unknowns,
        equations=equations,
        blocks=tuple(int(np.prod(leaf.shape)) for leaf in jax.tree.leaves(x_shape)),
        n_state=layout.n_state,
        summed_blocks=(layout.n, layout.n),
        n_parameters=family.size,
        phases=_phases(family, method, layout, rows),
        smooth=method.smooth and layout.contacts == 0,
        exact=_exact(method, step_at, unravel_x),
        rescue=_rescue(family, method, layout, rows),
        explicit=method.explicit,
        misled=None if method.explicit else _misled(layout, step_at),
        continued=_continued(method, step_at, unravel_x),
    )


def flat(tree) -> jax.Array:
    """All numbers of a tree."""
    return jnp.concatenate([jnp.ravel(leaf) for leaf in jax.tree.leaves(tree)] or [jnp.zeros(0)])


@for_family(maxsize=256)
def _residual(family: Family, method: Method, layout: Layout, rows) -> tuple[Any, dict[str, Any], Callable | None]:
    """The unknowns and the equations of a step as shapes, and the residual as it was traced for that: whoever derives
    it need not go through the user's code again. Those of a composition follow from its substeps: to trace it whole
    would take a second where one of its steps takes a tenth of one."""
    if method.substeps:
        parts = [_residual(family, substep.method, layout, rows) for substep in method.substeps]
        return tuple(x for x, *_ in parts), method.joined(r for _, r, _ in parts), None
    state, vector = (jax.ShapeDtypeStruct((size,), jnp.float64) for size in (layout.n_state, family.size))
    scalar = jax.ShapeDtypeStruct((), jnp.float64)
    arguments = (scalar, scalar, state, vector)

    def step_at(t, h, state, parameters) -> Step:
        return Step(mechanics_of(family.at(parameters), rows), t, h, layout.unflatten(state))

    x_shape = jax.eval_shape(lambda *a: method.guess(step_at(*a)), *arguments)
    unravel_x, shapes = _unraveller(x_shape), []

    def residual(x, *arguments):
        r = method.residual(unravel_x(x), step_at(*arguments))
        shapes.append(jax.tree.map(lambda part: jax.ShapeDtypeStruct(jnp.shape(part), jnp.float64), r))
        return flat(r)

    size = sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(x_shape))
    closed = jax.make_jaxpr(residual)(jax.ShapeDtypeStruct((size,), jnp.float64), *arguments)
    return x_shape, shapes[0], lambda *a: jaxpr_as_fun(closed)(*a)[0]


def _unraveller(shapes):
    """From a vector back to the tree. (`ravel_pytree` has XLA compile something for a tenth of a second.)"""
    leaves, definition = jax.tree.flatten(shapes)
    ends = np.cumsum([0, *(math.prod(leaf.shape) for leaf in leaves)]).tolist()

    def unravel(vector):
        parts = (vector[a:b] for a, b in itertools.pairwise(ends))
        return jax.tree.unflatten(
            definition, [jnp.reshape(part, leaf.shape) for part, leaf in zip(parts, leaves, strict=True)]
        )

    return unravel


def _exact(method: Method, step_at, unravel_x):
    """The residual with its true derivatives, where it is another one."""
    exact = method.exact()
    if exact is method:
        return None
    return lambda x, *a: flat(exact.residual(unravel_x(x), step_at(*a)))


def _continued(method: Method, step_at, unravel_x):
    """The unknowns of the next step as far as this one tells, where that is more than to repeat them."""
    if type(method).continued is Method.continued:
        return None
    return lambda x, *a: flat(method.continued(unravel_x(x), step_at(*a)))


def _rescue(family: Family, method: Method, layout: Layout, rows):
    """A solver for steps that Newton does not find, where there is one."""
    if isinstance(method, MoreauJean) and layout.contacts:
        return ContactSolver(family, method, layout, rows)
    return None


#: Systems with more coordinates are not searched for wrong solutions: the maximum over all of them couples them all.
WATCHED_COORDINATES = 60
#: A jump of the multiplier by so many times its size is suspicious, an impulse so many times the momenta is wrong.
JUMP, IMPULSE = 2.0, 4.0


def _misled(layout: Layout, step_at):
    """How to recognise a wrong solution, where there can be one."""
    if layout.contacts or layout.m == 0 or layout.n > WATCHED_COORDINATES:  # at an impact multipliers jump as they must
        return None

    return lambda end, *arguments: is_wrong(Advance(*layout.unflatten(end)), step_at(*arguments))


def is_wrong(end: Advance, step: Step) -> jax.Array:
    """Whether the end of a step is a solution of the discrete equations but not the one meant.

    The equations of a large step have several solutions: the circle of a pendulum meets the line of its reaction
    twice. A wrong one is recognised by a displacement that differs from h (v0 + v1) / 2 by more than h (|v0| + |v1|)
    while the multiplier jumps; or by an impulse of the reactions far beyond the momenta and the impulse of the forces,
    |h G^T lam| > 4 (|p0| + |p1| + h |f|). A step so refused is taken again from other starting values, last by
    continuation from small steps.
    """
    m, start, h = step.mechanics, step.start, jnp.abs(step.h)

    def size(x):
        return jnp.max(jnp.abs(x))

    away = size(end.dq - step.h / 2 * (start.v + end.v))
    strayed = (away > h * (size(start.v) + size(end.v))) & (size(end.lam - start.lam) > JUMP * size(start.lam))
    momenta = size(start.p) + size(start.p + end.dp) + h * size(m.rate(step.t, start.q, start.v, start.p))
    pushed = h * size(m.constraint_force(step.t, start.q, end.lam)) > IMPULSE * momenta
    return strayed | pushed


def _phases(family: Family, method: Method, layout: Layout, rows) -> tuple[Phase, ...]:
    """The parts of a composed step, compositions of compositions written out."""
    phases = []
    for substep in method.substeps:
        functions = _assemble(family, substep.method, layout, rows)
        inner = functions.phases or (Phase(functions, 1.0),)
        phases += [Phase(phase.functions, substep.fraction * phase.fraction) for phase in inner]
    return tuple(phases)


def _names(tree) -> tuple[str, ...]:
    names = []
    for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]:
        label = "".join(str(getattr(key, "name", getattr(key, "key", getattr(key, "idx", key)))) for key in path)
        count = int(np.prod(leaf.shape, dtype=int))
        names += [label if leaf.shape == () else f"{label}[{k}]" for k in range(count)]
    return tuple(names)
