"""Newton's method under JAX transformations. Knows no mechanics.

The derivative of the root comes from the implicit function theorem, not from the iterations.
"""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp

#: The last update is below the square root of the roundoff; its square, the error left, lies below the roundoff.
UPDATE_TOLERANCE = 1e-9
#: Updates below this that do not even fall by half are the roundoff of the equations (in a multiplier, over h^2).
NOISE = 1e-6


class Root(eqx.Module):
    """The outcome of one solve."""

    x: jax.Array
    iterations: jax.Array
    converged: jax.Array
    finite: jax.Array


def find_root(function: Callable, guess: jax.Array, arguments, max_iterations: int) -> Root:
    """x with f(x) = function(x, *arguments) = 0, differentiable by `arguments`.

        x <- x - f'(x)^-1 f(x)   until   size := max_i |update_i| / (1 + |x_i|)   is small, or only noise

    Of the root, f'(x) dx + df = 0. (The solvers of optimistix and lineax do the same, but their compiled functions,
    which are made once, keep what was traced for every f they ever saw: 2.8 MB a model, without a limit.)
    """

    def newton(f: Callable, x: jax.Array):
        def unfinished(state):
            x, iterations, _, converged = state
            return ~converged & jnp.all(jnp.isfinite(x)) & (iterations < max_iterations)

        def step(state):
            x, iterations, before, _ = state
            value, derivative = jax.linearize(f, x)
            update = _solve(derivative, value)
            x = x - update
            size = jnp.max(jnp.abs(update) / (1.0 + jnp.abs(x)))
            return x, iterations + 1, size, (size <= UPDATE_TOLERANCE) | (size <= NOISE) & (size > before / 2)

        start = x, jnp.zeros((), jnp.int64), jnp.array(jnp.inf), jnp.zeros((), bool)
        x, iterations, _, converged = jax.lax.while_loop(unfinished, step, start)
        # numbers, since what comes beside a root has to have derivatives, if only zeros
        return x, jnp.array([iterations, converged], x.dtype)

    x, (iterations, converged) = jax.lax.custom_root(
        lambda x: function(x, *arguments), jax.lax.stop_gradient(guess), newton, _solve, has_aux=True
    )
    finite = jnp.all(jnp.isfinite(x))
    return Root(x=x, iterations=iterations.astype(jnp.int64), converged=(converged > 0) & finite, finite=finite)


def _solve(linear: Callable, y: jax.Array) -> jax.Array:
    """x with linear(x) = y."""
    return jnp.linalg.solve(jax.vmap(linear, out_axes=1)(jnp.eye(y.shape[0])), y)
