"""`step_function`: the steps of a method as a pure function of JAX, for samplers and whatever else wants a map."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp

from ..arguments import count, number, positive
from ..errors import InputError, MethodDoesNotFit
from ..method import EventCapturing, Langevin, Method
from ..problem import AbstractSystem
from ..stepping import checked, pure_steps


def step_function(
    system: AbstractSystem, method: Method, h: float = 0.01, steps: int = 1, t0: float = 0.0
) -> Callable[[Any, Any], tuple[Any, Any]]:
    """The map (q, p) -> (q, p) that `steps` steps of the size h make, as a pure function.

    It may stand inside `jax.jit`, `vmap`, `grad` and `lax.scan`, as the proposal of a sampler for example. Positions
    and momenta must be consistent with the constraints, g(q) = 0 and g_q v = 0. Where a step fails, both are NaN: a
    sampler refuses such a proposal. A symmetric method is reversible, (q, p) -> (q', p') implies (q', -p') -> (q, -p),
    where the equations of the step have one solution, which a sampler should ask where steps are large.

    >>> move = step_function(torus, Rattle(), h=0.1, steps=10)  # doctest: +SKIP
    >>> q, p = move(q, p)  # doctest: +SKIP

    Args:
        system: a `System` or `HamiltonianSystem`.
        method: any method with steps of one size.
        h: the step size.
        steps: how many steps the function takes.
        t0: the time at which they begin, for systems that depend on it.
    """
    if isinstance(method, EventCapturing | Langevin):
        raise MethodDoesNotFit(
            f"step_function needs a method whose step is a function of the state, {type(method).__name__} "
            f"{'chooses its own steps' if isinstance(method, EventCapturing) else 'draws random numbers'}: use "
            "da.simulate."
        )
    system = checked(system, method)
    h, steps, t0 = positive("h", h), count("steps", steps), number("t0", t0)
    moved = eqx.filter_jit(pure_steps)

    def move(q, p):
        q, p = jnp.asarray(q, jnp.float64), jnp.asarray(p, jnp.float64)
        if q.ndim != 1 or p.shape != q.shape:
            raise InputError(
                f"a step takes q and p of one shape (n,), got {q.shape} and {p.shape}; jax.vmap takes more."
            )
        return moved(system, method, q, p, jnp.asarray(t0), jnp.asarray(h), steps)

    return move
