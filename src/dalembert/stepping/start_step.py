"""Consistent starting values as a step: what is given is its state, what is solved for its unknowns.

So a start under jit, vmap and grad is compiled, and differentiated, as a step is: by `engine/derivatives`. The
equations are those of `consistent.py`, written below each other::

    legendre(t, q0, v, p) = 0                                            the other one of v and p
    M (q - q0) + g_q^T mu = 0,  g(t, q) = 0,  legendre(t, q, v, p) = 0   with project=True and holonomic constraints
    p - p0 + g_q^T nu + k_v^T kappa = 0,  legendre = 0,  g_q v + g_t = 0,  k = 0        with project=True
    those of `Mechanics.acceleration_residual`                           lam and psi
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp

from ..engine import Grid, StepFunctions, Task, native_run, reason_for_xla
from ..formulation import Mechanics, mechanics_of
from ..problem import AbstractSystem, State
from .shared_equations import EQUATIONS, Family, flat_parameters, for_family
from .step import Layout

#: A start is refused that violates a constraint by more than this, relative to the squared size of q and v.
TOLERANCE = 1e-8


class Kind(NamedTuple):
    """What is given beside q, and whether it is moved onto the constraints."""

    second: str  # "v0" or "p0"
    project: bool


def native_start(system: AbstractSystem, q, second, t, layout: Layout, kind: Kind) -> State | None:
    """A consistent start as an operation in compiled code; None where the engine does not take it."""
    if system.provides("reaction"):
        return None
    functions = _start_step(Family(system), layout, kind)
    if reason_for_xla(functions) is not None:
        return None
    name, n = type(system).__name__, layout.n
    kinds = "constraint" if layout.k else "holonomic constraint"
    message = f"{name}: the start violates a {kinds}; pass project=True."
    if layout.contacts:
        message = f"{name}: the start violates a constraint (project=True would move it), or a contact penetrates."
    elif kind.project or not (layout.m or layout.k):
        message = f"{name}: the starting values could not be computed (Newton did not converge)."
    zero, rest = jnp.zeros(n), jnp.zeros(layout.n_state - 3 * n)
    parts = (q, zero, second, rest) if kind.second == "v0" else (q, second, zero, rest)
    task = Task(functions, False, Grid(1, 1), True, message)
    saved, *_ = native_run(task, jnp.concatenate(parts), t, 1.0, flat_parameters(system))
    return layout.unflatten(saved[-1])


@for_family(maxsize=64)
def _start_step(family: Family, layout: Layout, kind: Kind) -> StepFunctions:
    """The equations of the module's docstring as those of a step without a length.

    Long: guess, residual and finish, and what they share.
    """
    n, m, k = layout.n, layout.m, layout.k
    moved, turned = kind.project and m > 0, kind.project and m + k > 0
    sizes = {"other": n, "q": n * moved, "pi": n * moved, "mu": m * moved, "again": n * moved}
    sizes |= {"v": n * turned, "p": n * turned, "nu": m * turned, "kappa": k * turned}
    sizes |= {"v rate": n, "p rate": n, "lam": m, "psi": k}

    def given(state):
        return state[:n], state[2 * n : 3 * n] if kind.second == "v0" else state[n : 2 * n]

    def both(one, other):
        """v and p."""
        return (one, other) if kind.second == "v0" else (other, one)

    def named(x) -> dict:
        parts, first = {}, 0
        for name, size in sizes.items():
            parts[name], first = x[first : first + size], first + size
        return parts

    def together(x: dict, *names: str):
        return jnp.concatenate([x[name] for name in names])

    def found(x: dict, state) -> tuple:
        """q, v and p of the start."""
        q0, one = given(state)
        q, (v, p) = (x["q"], both(one, x["again"])) if moved else (q0, both(one, x["other"]))
        return (q, x["v"], x["p"]) if turned else (q, v, p)

    def guess(t, h, state, parameters):
        q0, one = given(state)
        guesses = {"other": one, "q": q0, "again": one, "v": one, "p": one}
        return jnp.concatenate([
            guesses[name] if name in guesses and size else jnp.zeros(size) for name, size in sizes.items()
        ])  # fmt: skip

    def residual(x, t, h, state, parameters):
        mechanics, x, (q0, one) = mechanics_of(family.at(parameters)), named(x), given(state)
        v, p = both(one, x["other"])
        q, equations = q0, [mechanics.legendre(t, q0, v, p)]
        if moved:
            equations.append(EQUATIONS["position"](mechanics, together(x, "q", "pi", "mu"), t, q0, v, p))
            q, (v, p) = x["q"], both(one, x["again"])
            equations.append(mechanics.legendre(t, q, v, p))
        if turned:
            equations.append(EQUATIONS["velocity"](mechanics, together(x, "v", "p", "nu", "kappa"), t, q, p))
        rates = together(x, "v rate", "p rate", "lam", "psi")
        equations.append(EQUATIONS["ideal acceleration"](mechanics, rates, t, *found(x, state)))
        return jnp.concatenate(equations)

    def finish(x, t, h, state, parameters):
        q, v, p = found(named(x), state)
        end = jnp.concatenate([q, p, v, together(named(x), "lam", "psi"), jnp.zeros(layout.n_state - 3 * n - m - k)])
        mechanics = mechanics_of(family.at(parameters))
        if layout.contacts:
            end = jnp.where(jnp.any(mechanics.contact.gap(t, q) < -TOLERANCE), jnp.nan, end)
        if kind.project or not m + k:
            return end
        return jnp.where(_violates(mechanics, t, q, v), jnp.nan, end)

    names = tuple(f"{name}[{j}]" for name, size in sizes.items() for j in range(size))
    return StepFunctions(
        guess=guess, residual=residual, finish=finish, unknowns=names,
        equations=tuple(f"start[{j}]" for j in range(len(names))),
        blocks=tuple(size for size in sizes.values() if size), n_state=layout.n_state, summed_blocks=(),
        n_parameters=family.size,
    )  # fmt: skip


def _violates(mechanics: Mechanics, t, q, v):
    """Whether a start is off the constraints."""
    defects = mechanics.constraint(t, q), mechanics.hidden(t, q, v), mechanics.velocity_constraint(t, q, v)
    size = jnp.maximum(1.0, jnp.maximum(jnp.max(jnp.abs(q)), jnp.max(jnp.abs(v)))) ** 2
    return jnp.max(jnp.abs(jnp.concatenate(defects))) > TOLERANCE * size
