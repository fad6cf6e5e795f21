"""Newton's method under JAX transformations: a thin layer over optimistix and lineax. Knows no mechanics.

The derivative of the root comes from the implicit function theorem, not from the iterations.
"""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp

# The last update is below the square root of the roundoff; its square, the error left, lies below the roundoff.
UPDATE_TOLERANCE = 1e-9


class Root(eqx.Module):
    """The outcome of one solve."""

    x: jax.Array
    iterations: jax.Array
    converged: jax.Array
    finite: jax.Array


def find_root(function: Callable, guess: jax.Array, arguments, max_iterations: int) -> Root:
    """x with function(x, *arguments) = 0, differentiable by `arguments`."""
    import lineax as lx  # only what JAX transforms needs these, and loading them takes a fifth of a second
    import optimistix as optx

    solver = optx.Newton(
        rtol=UPDATE_TOLERANCE,
        atol=UPDATE_TOLERANCE,
        norm=optx.max_norm,
        linear_solver=lx.LU(),
        cauchy_termination=True,
    )
    solution = optx.root_find(
        lambda x, arguments: function(x, *arguments),
        solver,
        jax.lax.stop_gradient(guess),
        args=arguments,
        max_steps=max_iterations,
        throw=False,
        adjoint=optx.ImplicitAdjoint(linear_solver=lx.LU()),
    )
    finite = jnp.all(jnp.isfinite(solution.value))
    return Root(
        x=solution.value,
        iterations=solution.stats["num_steps"].astype(jnp.int64),
        converged=(solution.result == optx.RESULTS.successful) & finite,
        finite=finite,
    )
