"""Discrete derivatives: D f(x, y) with D f(x, y) . (y - x) = f(y) - f(x), close to the derivative at the mean.

All take f from (n,) to a scalar or to (k,), and return an array of the shape of the derivative. None is 0/0 anywhere:
where a difference quotient would lose its digits, the same number is computed as the mean of the derivative along the
segment, by Gauss quadrature that is exact to roundoff there. All can be differentiated by JAX.

    midpoint      Gonzalez 1996:  f'(z) + (f(y) - f(x) - f'(z) (y - x)) (y - x)^T / |y - x|^2,   z = (x + y) / 2
    mean_value    Harten, Lax, van Leer 1983; McLachlan, Quispel, Robidoux 1999:   int_0^1 f'(x + s (y - x)) ds
    coordinates   Itoh, Abe 1988: one coordinate after the other, averaged over both orders to be symmetric
    through       f = phi(pi(.)) with pi at most quadratic: phi[pi(x), pi(y)] . pi'(z), which is equivariant under
                  every symmetry that leaves pi unchanged (Gonzalez 1999)
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from .entrywise import acts_entrywise, affine_entries

#: Difference quotients are computed as means of the derivative where |y - x| is below this, relative to |x| and |y|.
CLOSE = 3e-4
#: Below this relative distance the correction of the midpoint derivative, of third order, is less than roundoff.
MERGED = 1e-5
#: Nodes on [0, 1]: three are exact to roundoff for arguments that are close, eight serve the mean value derivative.
_CLOSE_COUNT, _MEAN_COUNT = 3, 8


def _gauss(count: int) -> tuple[np.ndarray, np.ndarray]:
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (1 + nodes) / 2, weights / 2


_CLOSE_NODES, _CLOSE_WEIGHTS = _gauss(_CLOSE_COUNT)
_MEAN_NODES, _MEAN_WEIGHTS = _gauss(_MEAN_COUNT)


def quotient(phi: Callable, x, y, affine: np.ndarray | bool = False):
    """(phi(y) - phi(x)) / (y - x), smooth at y = x: entry by entry for a function that acts on each entry alone, or for
    a function of one number with values of any shape. Entries that are known to be affine are their slope: near zero,
    where x and y are roundoff, a quotient would be too."""
    difference = y - x
    close = (jnp.abs(difference) <= CLOSE * jnp.maximum(jnp.abs(x), jnp.abs(y))) | affine
    one = jnp.ones_like(x)

    def slope(s):
        return jax.jvp(phi, (x + s * difference,), (one,))[1]

    mean = sum(weight * slope(s) for s, weight in zip(_CLOSE_NODES, _CLOSE_WEIGHTS, strict=True))
    safe = jnp.where(close, 1.0, difference)
    return jnp.where(close, mean, (phi(y) - phi(x)) / safe)


def midpoint(f: Callable, x, y):
    """Gonzalez' midpoint discrete derivative."""
    slope, change = jax.jacrev(f)((x + y) / 2), y - x
    length = change @ change
    apart = length > (MERGED * jnp.maximum(jnp.max(jnp.abs(x)), jnp.max(jnp.abs(y)))) ** 2
    rest = (f(y) - f(x) - slope @ change) / jnp.where(apart, length, 1.0)
    return slope + jnp.where(apart, rest, 0.0)[..., None] * change


def mean_value(f: Callable, x, y):
    """The mean of the derivative along the segment, with eight Gauss nodes (exact for polynomials of degree 16)."""
    slope = jax.jacrev(f)
    return sum(weight * slope(x + s * (y - x)) for s, weight in zip(_MEAN_NODES, _MEAN_WEIGHTS, strict=True))


def coordinates(f: Callable, x, y):
    """One coordinate after the other, from x to y and from y to x, averaged."""
    return (_increments(f, x, y) + _increments(f, y, x)) / 2


def _increments(f: Callable, x, y):
    """Column k: from the point whose first k entries are those of y, along entry k."""
    own = np.eye(x.shape[0], dtype=bool)
    points = jnp.where(np.tri(x.shape[0], k=-1, dtype=bool), y, x)

    def column(point, mine, before, after):
        return quotient(lambda s: f(jnp.where(mine, s, point)), before, after)

    return jax.vmap(column, out_axes=-1)(points, own, x, y)


def through(pi: Callable, phi: Callable, x, y):
    """The discrete derivative of phi(pi(.)) with pi at most quadratic.

    phi returns a scalar, or a list of terms, whose sum is meant.
    """
    return jax.vjp(pi, (x + y) / 2)[1](weights_through(phi, pi(x), pi(y)))[0]


def weights_through(phi: Callable, a, b):
    """phi[a, b]: the discrete derivative by the invariants. Where every term is a function of its own invariant alone
    it is one quotient for each; else one invariant is changed after the other."""
    if acts_entrywise(phi, a):
        affine = affine_entries(phi, a)
        return jax.jvp(phi, (a,), (jnp.ones_like(a),))[1] if affine.all() else quotient(phi, a, b, affine)
    D = coordinates(phi, a, b)
    return D if D.ndim == 1 else jnp.sum(D, axis=0)


DISCRETE_DERIVATIVES: dict[str, Callable] = {
    "gonzalez": midpoint,
    "mean-value": mean_value,
    "itoh-abe": coordinates,
}
