"""Steps as a pure function (q, p) -> (q, p) of JAX, which gives NaN where a run would raise an error."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from .. import nonlinear
from ..engine import OK, run_traced
from ..formulation import mechanics_of
from ..method import Method
from ..problem import AbstractSystem, State
from .model_check import layout_of
from .shared_equations import flat_parameters
from .step import assemble


def pure_steps(system: AbstractSystem, method: Method, q, p, t0, h, steps: int) -> tuple[Any, Any]:
    """The position and the momentum after `steps` steps from (q, p) at t0.

    v follows from legendre(t0, q, v, p) = 0, the first multipliers from the equations of motion at (q, v).
    """
    layout, mechanics, t = layout_of(system, q.shape[0]), mechanics_of(system), jnp.asarray(t0)
    found = nonlinear.find_root(lambda v, q, p: mechanics.legendre(t, q, v, p), jnp.zeros_like(q), (q, p), 50)
    multipliers = mechanics.acceleration(t, q, found.x, p)
    impulse = jnp.zeros(layout.contacts * layout.directions)
    start = State(q=q, p=p, v=found.x, lam=multipliers.lam, psi=multipliers.psi, impulse=impulse)
    functions = assemble(system, method, layout, None)
    result = run_traced(
        functions, layout.flatten(start), t, jnp.asarray(h), 1, steps, flat_parameters(system), compensated=False
    )
    end = layout.unflatten(result.saved[-1])
    good = found.converged & (result.status == OK) & jnp.all(jnp.isfinite(end.q)) & jnp.all(jnp.isfinite(end.p))
    return jnp.where(good, end.q, jnp.nan), jnp.where(good, end.p, jnp.nan)
