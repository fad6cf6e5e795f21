"""The steps of a plan, many rows at once: cost, equations and constraints of one step with all first and second
derivatives.

With s = (q, p, v) the state at t = t_0 + frac T, x the unknowns of the step of the size h = share T, U the values of
the inputs at the points of the step, and (c_i, w_i) a quadrature of the order of the method, of (s, x, U, t_0, T)::

    cost       h sum_i w_i cost(t + c_i h, Q_i, V_i, u_i)          Q, V: the polynomial of the step, u that of U
    residual   residual(x; t, s, u)
    end        the state at t + h
    path       path(t, q, v, u(t))
    forces     forces(t + h, q_1, lam_1, psi_1)                    where contacts are closed

The derivatives come from the engine's traced programs, sparse and for all steps in one walk; nothing is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from ..engine import RowDerivatives, RowFunction
from ..formulation import mechanics_of
from ..method import Advance, Galerkin, Method, Spark, Step
from ..method.polynomials import hermite
from ..method.tableau import quadrature
from ..problem import dependencies, inputs_of, lagrange_weights
from ..stepping import Family, Layout, assemble, for_family
from .with_input import setting_inputs


class Rule(NamedTuple):
    """Nodes in (0, 1) of a step and weights: by them costs are integrated."""

    nodes: tuple[float, ...]
    weights: tuple[float, ...]


def rule_of(method: Method) -> Rule:
    """The quadrature by which a method integrates forces; where it has none of its own, one of its order."""
    if isinstance(method, Galerkin):
        found = quadrature(method.quadrature, method.nodes)
        return Rule(tuple(found.nodes.tolist()), tuple(found.weights.tolist()))
    if isinstance(method, Spark) and method.order > 2:
        c, b = np.asarray(method.tableau.c.array), np.asarray(method.tableau.b.array)
        if len(set(c.tolist())) == len(c):
            return Rule(tuple(c.tolist()), tuple(b.tolist()))
    if method.order <= 2:
        return Rule((0.0, 1.0), (0.5, 0.5))
    found = quadrature("gauss", (method.order + 1) // 2)
    return Rule(tuple(found.nodes.tolist()), tuple(found.weights.tolist()))


def points_of(method: Method) -> tuple[float, ...]:
    """Where in a step the inputs have values: at the nodes of the quadrature, so that they do not cap the order; one
    constant a step up to order 2."""
    return (0.0,) if method.order <= 2 else rule_of(method).nodes


class Wishes:
    """What the user asks of a plan, as functions or None: two of them are equal where these read the same.

    Attributes:
        cost, path: functions of (t, q, v, u), of every step.
        final: the cost of the end, of (t, q, v).
        start, end: functions of (t, q, v) that are zero there; or which of "q" and "v" are given as numbers.
        periodic: the coordinates that return at the end, as all velocities do then; None where nothing need return.
        forces: a function of (t, q, lam, psi) that is >= 0 at the end of every step.
        linked: whether the start follows from the end of another phase.
    """

    def __init__(
        self, cost: Any, path: Any, final: Any, start: Any, end: Any, periodic: Any, forces: Any = None,
        linked: bool = False,
    ) -> None:  # fmt: skip
        self.cost, self.path, self.final = cost, path, final
        self.start, self.end, self.periodic = start, end, periodic
        self.forces, self.linked = forces, linked

    @property
    def starts_in_state(self) -> bool:
        """Whether the start is a state, and not only conditions on it."""
        return self.start == ("q", "v")

    def __hash__(self) -> int:
        return hash(dependencies(self))

    def __eq__(self, other) -> bool:
        return isinstance(other, Wishes) and dependencies(self) == dependencies(other)


class Sizes(NamedTuple):
    """How many numbers a step has of each kind."""

    state: int  # 3 n
    unknowns: int
    inputs: int  # at all points of the step
    path: int
    forces: int


class PlanSteps(NamedTuple):
    """The traced step."""

    sizes: Sizes
    equations: tuple[str, ...]
    guess: RowFunction  # of (t, h, state, U, parameters): x
    local: RowDerivatives  # of (z, ...): cost, residual, end, path, forces
    multipliers: RowFunction  # of (z, ...): lam and psi at the end of the step


@for_family(maxsize=32)
def plan_steps(
    family: Family, method: Method, layout: Layout, points: tuple[float, ...], wishes: Wishes, path_size: int
) -> PlanSteps:  # fmt: skip
    """The step of a system that is `driven` at the points; z = (s, x, U, t_0, T)."""
    member = family.at(np.zeros(family.size))
    functions, with_input, n = assemble(member, method, layout, None), setting_inputs(member), layout.n
    inputs, summed = inputs_of(member).size, functions.n_summed
    sizes = Sizes(3 * n, functions.size, inputs * len(points), path_size, _forces_of(wishes, layout))
    rule = rule_of(method)

    def parts(z, frac, share, parameters):
        s, x, U, t0, T = jnp.split(z, np.cumsum([*sizes[:3], 1]))
        t, h = t0[0] + frac * T[0], share * T[0]
        return jnp.concatenate([s, jnp.zeros(layout.n_state - 3 * n)]), x, U, t, h, with_input(parameters, t, h, U)

    def advance(state, found):
        return jnp.concatenate([state[:summed] + found[:summed], found[summed:]])

    def local(z, *rest):
        state, x, U, t, h, parameters = parts(z, *rest)
        step = Step(mechanics_of(family.at(parameters)), t, h, layout.unflatten(state))
        found, values = functions.finish(x, t, h, state, parameters), jnp.reshape(U, (len(points), inputs))
        inside = _inside(method, step, x, Advance(*layout.unflatten(found)))
        cost = jnp.zeros(())
        for theta, weight in zip(*rule, strict=True) if wishes.cost else ():
            u = lagrange_weights(points, np.asarray(theta)) @ values
            cost = cost + weight * h * jnp.reshape(wishes.cost(t + theta * h, *inside(theta), u), ())
        path = jnp.zeros(0)
        if wishes.path is not None:
            u = lagrange_weights(points, np.asarray(0.0)) @ values
            path = jnp.ravel(wishes.path(t, step.start.q, step.start.v, u))
        residual, end = functions.residual(x, t, h, state, parameters), advance(state, found)
        forces = jnp.zeros(0)
        if wishes.forces is not None:
            last = layout.unflatten(end)
            forces = jnp.ravel(wishes.forces(t + h, last.q, last.lam, last.psi))
        return jnp.concatenate([cost[None], residual, end[: 3 * n], path, forces])

    def held(z, *rest):
        state, x, _, t, h, parameters = parts(z, *rest)
        return functions.finish(x, t, h, state, parameters)[3 * n :]

    def guess(t, h, state, U, parameters):
        return functions.guess(t, h, state, with_input(parameters, t, h, U))

    return PlanSteps(sizes, functions.equations, RowFunction(guess), RowDerivatives(local), RowFunction(held))


def _forces_of(wishes: Wishes, layout: Layout) -> int:
    """How many numbers `forces` gives."""
    if wishes.forces is None:
        return 0
    sizes = (), (layout.n,), (layout.m,), (layout.k,)
    arguments = (jax.ShapeDtypeStruct(shape, jnp.float64) for shape in sizes)
    return int(np.prod(jax.eval_shape(wishes.forces, *arguments).shape))


def _inside(method: Method, step: Step, x: Any, end: Advance) -> Callable[[float], tuple[Any, Any]]:
    """q and v of a step at theta; those of its ends are known."""
    if type(method).dense is not Method.dense:
        unknowns = ravel_pytree(method.guess(step))[1](x)
        return lambda theta: method.dense(unknowns, step, jnp.asarray(theta))
    start = step.start

    def at(theta):
        if theta in (0.0, 1.0):
            return (start.q, start.v) if theta == 0.0 else (start.q + end.dq, end.v)
        return hermite(theta, step.h, start.q, start.v, end.dq, end.v)

    return at


def conditions(wishes: Wishes, y, n: int, t0, T, given) -> Any:
    """The conditions on both ends, y = (q_0, v_0, q_N, v_N): zero where they hold. `given` are the numbers
    (q, v) of the start and (q, v) of the end; those of a part that is not given take no part."""
    q0, v0, q1, v1 = (y[k * n : (k + 1) * n] for k in range(4))
    rows = [jnp.zeros(0)]
    for asked, t, q, v, numbers in (
        (wishes.start, t0, q0, v0, given[: 2 * n]), (wishes.end, t0 + T, q1, v1, given[2 * n :])
    ):  # fmt: skip
        if callable(asked):
            rows.append(jnp.ravel(jnp.asarray(asked(t, q, v))))
        elif not (asked is wishes.start and wishes.starts_in_state):
            parts = {"q": q - numbers[:n], "v": v - numbers[n:]}
            rows += [parts[name] for name in asked or ()]
    if wishes.periodic is not None:
        rows += [(q1 - q0)[np.array(wishes.periodic, dtype=int)], v1 - v0]
    return jnp.concatenate(rows)


class PlanEnds(NamedTuple):
    """The traced ends of a plan: of (y, ...), y = (s_0, s_N, U, t_0, T)."""

    local: RowDerivatives  # final cost, state at the start, conditions, path at the end


@for_family(maxsize=32)
def plan_ends(family: Family, layout: Layout, points: tuple[float, ...], wishes: Wishes) -> PlanEnds:
    """The ends of a plan; where the start is free its state is consistent by equations of its own."""
    n = layout.n
    inputs = inputs_of(family.at(np.zeros(family.size))).size

    def local(y, given, p_given, parameters):
        s0, s1, U, t0, T = jnp.split(y, np.cumsum([3 * n, 3 * n, len(points) * inputs, 1]))
        t0, t1 = t0[0], t0[0] + T[0]
        (q0, p0, v0), (q1, _, v1) = jnp.split(s0, 3), jnp.split(s1, 3)
        final = jnp.zeros(()) if wishes.final is None else jnp.reshape(wishes.final(t1, q1, v1), ())
        begin = jnp.zeros(0)
        if wishes.starts_in_state:
            begin = s0 - jnp.concatenate([given[:n], p_given, given[n : 2 * n]])
        elif not wishes.linked:
            m = mechanics_of(family.at(parameters))
            begin = jnp.concatenate([
                m.legendre(t0, q0, v0, p0), m.constraint(t0, q0), m.hidden(t0, q0, v0),
                m.velocity_constraint(t0, q0, v0),
            ])  # fmt: skip
        rows = conditions(wishes, jnp.concatenate([q0, v0, q1, v1]), n, t0, T[0], given)
        path = jnp.zeros(0)
        if wishes.path is not None:
            u = lagrange_weights(points, np.asarray(1.0)) @ jnp.reshape(U, (len(points), inputs))
            path = jnp.ravel(wishes.path(t1, q1, v1, u))
        return jnp.concatenate([final[None], begin, rows, path])

    return PlanEnds(RowDerivatives(local))
