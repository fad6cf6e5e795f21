"""Semismooth Newton for small linear complementarity problems under jit and vmap. Knows no mechanics."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from .active_set import LARGEST_GROWTH, SHIFT

#: Lengths of the Newton step that are tried side by side.
STEP_LENGTHS = tuple(0.5**k for k in range(12))


class NewtonLcpSolution(NamedTuple):
    """z and w = M z + q as arrays of JAX; `residual` as in `lcp_residual`."""

    z: jax.Array
    w: jax.Array
    residual: jax.Array
    iterations: jax.Array
    converged: jax.Array


def lcp_newton(M, q, z0=None, tolerance: float = 1e-12, max_iterations: int = 100) -> NewtonLcpSolution:
    """z with 0 <= z, 0 <= w = M z + q and z_i w_i = 0, by Newton's method; for use under jit and vmap.

    The equation is z_i + w_i - sqrt(z_i^2 + w_i^2) = 0 (Fischer and Burmeister). Each iteration compares a
    regularised Newton step of several lengths with the solution of w_A = 0 on the active set A = {z_i > w_i}, and
    goes on from the one that fits best; the second is exact once A is right. If M is positive semidefinite and
    the problem is not too degenerate this converges from everywhere; `converged` says whether it did.
    """
    M, q = jnp.asarray(M, dtype=jnp.float64), jnp.asarray(q, dtype=jnp.float64)
    n = q.shape[0]
    start = jnp.zeros(n) if z0 is None else jnp.asarray(z0, dtype=jnp.float64)
    s = _scales(M)
    size = jnp.max(jnp.abs(q) / s, initial=0.0)
    size = jnp.where(size > 0.0, size, 1.0)
    scaled, right = M / (s[:, None] * s[None, :]), q / (s * size)
    identity = jnp.eye(n)

    def fischer_burmeister(x):
        w = scaled @ x + right
        return x + w - jnp.hypot(x, w)

    def residual(x):
        unscaled = jnp.max(jnp.abs(jnp.minimum(x, scaled @ x + right)), initial=0.0)
        return unscaled / jnp.sqrt(jnp.clip(jnp.max(jnp.abs(x), initial=0.0), 1.0, LARGEST_GROWTH))

    def iterate(state):
        x, iterations = state
        w = scaled @ x + right
        length = jnp.hypot(x, w)
        corner = length == 0.0
        length = jnp.where(corner, 1.0, length)
        by_x = 1.0 - jnp.where(corner, jnp.sqrt(0.5), x / length)
        by_w = 1.0 - jnp.where(corner, jnp.sqrt(0.5), w / length)
        slope = by_x[:, None] * identity + by_w[:, None] * scaled
        value = fischer_burmeister(x)
        damping = jnp.minimum(1e-2, value @ value)
        step = -jnp.linalg.solve(slope.T @ slope + (damping + SHIFT**1.5) * identity, slope.T @ value)

        active = x > w
        inside = jnp.where(active, x, 0.0)
        rows = jnp.where(active[:, None], scaled + SHIFT * identity, identity)
        on_active_set = inside + jnp.linalg.solve(rows, jnp.where(active, -(scaled @ inside + right), 0.0))

        lengths = jnp.asarray(STEP_LENGTHS)
        candidates = jnp.concatenate([x[None, :] + lengths[:, None] * step, on_active_set[None, :]])
        merits = jax.vmap(lambda y: jnp.linalg.norm(fischer_burmeister(y)))(candidates)
        merits = jnp.where(jnp.isfinite(merits), merits, jnp.inf)
        finished = residual(candidates[-1]) <= tolerance
        chosen = jnp.where(finished, len(STEP_LENGTHS), jnp.argmin(merits))
        return jnp.where(jnp.all(jnp.isfinite(candidates[chosen])), candidates[chosen], x), iterations + 1

    def unfinished(state):
        x, iterations = state
        return (residual(x) > tolerance) & (iterations < max_iterations)

    x, iterations = jax.lax.while_loop(unfinished, iterate, (start * s / size, jnp.asarray(0)))
    z, left = size * x / s, residual(x)
    return NewtonLcpSolution(z, M @ z + q, left, iterations, left <= tolerance)


def _scales(M: jax.Array) -> jax.Array:
    """sqrt(M_ii), or sqrt(max_j |M_ij|) where M_ii is roundoff, or 1 where the row vanishes."""
    diagonal, largest = jnp.abs(jnp.diag(M)), jnp.max(jnp.abs(M), axis=1, initial=0.0)
    scales = jnp.sqrt(jnp.where(diagonal > 1e-14 * largest, diagonal, largest))
    return jnp.where(scales > 0.0, scales, 1.0)


compiled_newton = jax.jit(lcp_newton, static_argnames=("max_iterations",))
