"""Small JAX functions, one or more for every primitive the engine translates, and step functions that compute them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from dalembert.engine.contract import StepFunctions


@dataclass(frozen=True)
class Case:
    """A function of a vector; its arguments are drawn from [low, high]."""

    function: Callable
    size: int = 3
    low: float = 0.2
    high: float = 0.9

    def points(self, count: int, seed: int = 0) -> np.ndarray:
        return np.random.default_rng(seed).uniform(self.low, self.high, (count, self.size))

    def flat(self, x):
        return jnp.ravel(self.function(x))


@jax.custom_jvp
def wrong_on_purpose(x):
    """x^2 with the derivative of 5 x: only a custom rule can give that."""
    return x * x


@wrong_on_purpose.defjvp
def _(primals, tangents):
    return wrong_on_purpose(primals[0]), 5.0 * tangents[0]


def _swing(x):
    """A scan with a carry, inputs and outputs, backwards."""

    def body(carry, item):
        carry = carry * item + jnp.sin(item)
        return carry, carry**2

    end, all_of_them = lax.scan(body, x[0], x, reverse=True)
    return jnp.concatenate([end[None], all_of_them])


def _horner(x):
    return lax.fori_loop(0, 4, lambda k, total: total * x[0] + x[1] * k.astype(jnp.float64), x[2])


MATRIX = np.array([[1.0, 0.0, 2.0], [0.0, -1.5, 0.0], [0.5, 0.0, 0.0]])
VECTOR = np.array([0.5, 0.0, -2.0])

CASES: dict[str, Case] = {
    # arithmetic and powers
    "arithmetic": Case(lambda x: x[0] * x[1] - x[2] / x[0] + 3.0 * x - (-x[::-1]) / 7.0),
    "reciprocal": Case(lambda x: 1.0 / x + jnp.reciprocal(x + 1.0)),
    "integer powers": Case(lambda x: x**2 + x**5 - x**-3 + x**0 + x**1),
    "a high power": Case(lambda x: x**64 + x**7.0),
    "a very high power": Case(lambda x: x**65.0, low=0.9, high=1.1),
    "half powers": Case(lambda x: x**0.5 + x**-0.5 + x**1.5 + jnp.sqrt(x) + lax.rsqrt(x) + jnp.cbrt(x)),
    "real powers": Case(lambda x: x**2.7 + x**-0.3 + x[0] ** x[1] + 2.0**x),
    "square": Case(lambda x: jnp.square(x) * lax.square(x[::-1])),
    "remainder": Case(lambda x: jnp.fmod(7.0 * x, 2.0) + lax.rem(-7.3 * x, 1.0 + x[0])),
    "remainder of a multiple": Case(lambda x: x * lax.rem(jnp.ones(3) + 0.0 * x, jnp.asarray(0.1))),
    "rounding": Case(
        lambda x: lax.round(9.0 * x, lax.RoundingMethod.AWAY_FROM_ZERO) * x + jnp.round(9.0 * x) + jnp.round(x, 1),
        low=-1.0,
    ),
    "floor division": Case(lambda x: (7.0 * x) // x[0] + (7.0 * x) % -x[1]),
    "floor and ceil": Case(lambda x: jnp.floor(3.0 * x) * x + jnp.ceil(-3.0 * x)),
    # elementary functions
    "trigonometric": Case(lambda x: jnp.sin(x) * jnp.cos(2.0 * x) + jnp.tan(x)),
    "inverse trigonometric": Case(lambda x: jnp.arcsin(x) + 2.0 * jnp.arccos(x) - jnp.arctan(x)),
    "hyperbolic": Case(lambda x: jnp.sinh(x) + jnp.cosh(x) * jnp.tanh(x)),
    "inverse hyperbolic": Case(lambda x: jnp.arcsinh(x) + jnp.arccosh(x + 1.5) + jnp.arctanh(x)),
    "exponential": Case(lambda x: jnp.exp(-x) + jnp.exp2(x) + jnp.expm1(1e-3 * x)),
    "logarithm": Case(lambda x: jnp.log(x) + jnp.log1p(x) + jnp.log2(x) - jnp.log10(x)),
    "logistic": Case(lambda x: jax.nn.sigmoid(x) + jax.nn.softplus(-x) + jnp.logaddexp(x[0], x), low=-2.0),
    "atan2": Case(lambda x: jnp.arctan2(x[0], x[1:]) + jnp.arctan2(-x[1:], -x[0])),
    "hypot": Case(lambda x: jnp.hypot(x[0], x[1]), low=-1.0),
    "sinc": Case(lambda x: jnp.sinc(x)),
    # choices
    "max and min": Case(lambda x: jnp.maximum(x, x[0]) + jnp.minimum(x[1], 2.0 * x) * jnp.max(x) - jnp.min(x)),
    "abs and sign": Case(lambda x: jnp.abs(x) * x + jnp.sign(x), low=-1.0),
    "clip": Case(lambda x: jnp.clip(x, -0.2, 0.3) + jnp.clip(x, x[0], None), low=-1.0),
    "where": Case(lambda x: jnp.where(x > 0.1, jnp.sin(x), x**2), low=-1.0),
    "where of an array": Case(lambda x: jnp.where(jnp.array([True, False, True]), x, -(x**2))),
    "comparisons": Case(
        lambda x: (
            jnp.where((x[0] < x[1]) | (x[1] >= x[2]), x, 0.0)
            + jnp.where((x <= 0.3) & (x != x[0]), x**2, 1.0)
            + jnp.where(~(x == x[1]) ^ (x > 0.0), 2.0, x)
        ),
        low=-1.0,
    ),
    "truth as a number": Case(lambda x: (x > 0.0).astype(jnp.float64) * x, low=-1.0),
    "counting truths": Case(lambda x: jnp.where(jnp.sum(x > 0.0) > 1, x, x**2), size=4, low=-1.0),
    "where of truths": Case(
        lambda x: jnp.where(jnp.where(x > 0.0, x > 0.5, x < -0.5), x, 1.0) + jnp.where((x > 0.0) == (x < 0.5), x, 2.0),
        low=-1.0,
    ),
    "truths added as whole numbers": Case(
        lambda x: jnp.where((x[0] > 0.0).astype(jnp.int64) + (x[1] > 0.0).astype(jnp.int64) > 1, x, x**2), low=-1.0
    ),
    "select_n by a whole number": Case(lambda x: lax.select_n((x > 0.0).astype(jnp.int32), x, x**2), low=-1.0),
    "cond of truths": Case(
        lambda x: jnp.where(lax.cond(x[0] > 0.0, lambda y: y > 0.0, lambda y: y < 0.5, x), x, 1.0), low=-1.0
    ),
    "counted truths as a number": Case(lambda x: jnp.sum(x > 0.0).astype(jnp.float64) * x, size=4, low=-1.0),
    "any and all": Case(lambda x: jnp.where(jnp.any(x > 0.5), x, 2.0) + jnp.where(jnp.all(x > 0.0), x, 1.0), low=-0.3),
    "isfinite and isnan": Case(lambda x: jnp.where(jnp.isfinite(x) & ~jnp.isnan(x), x, 0.0)),
    "guarded root": Case(lambda x: jnp.where(x > 0.0, jnp.sqrt(jnp.where(x > 0.0, x, 1.0)), 0.0), low=-1.0),
    "select_n": Case(lambda x: lax.select_n(x > x[0], x, -x), low=-1.0),
    "select_n by known numbers": Case(lambda x: lax.select_n(jnp.array([2, 0, 1], jnp.int32), x, x**2, x**3)),
    "cond": Case(lambda x: lax.cond(x[0] > 0.3, jnp.sin, lambda y: y**2, x)),
    "cond inside cond": Case(
        lambda x: lax.cond(x[0] > 0.3, lambda y: lax.cond(y[1] > 0.5, jnp.cos, jnp.exp, y), lambda y: -y, x)
    ),
    "switch by a known index": Case(lambda x: lax.switch(jnp.asarray(1), [jnp.sin, jnp.cos, jnp.tan], x)),
    "switch by an index of the state": Case(
        lambda x: lax.switch((3.0 * x[0]).astype(jnp.int64), [jnp.sin, jnp.cos, jnp.tan], x)
    ),
    "whole numbers": Case(
        lambda x: (
            ((300.0 * x).astype(jnp.uint8) + jnp.uint8(200)).astype(jnp.float64) * x
            + ((1e10 * x).astype(jnp.int32) // jnp.int32(7)).astype(jnp.float64)
        )
    ),
    "the place of the largest": Case(
        lambda x: jnp.argmax(x).astype(jnp.float64) * x + jnp.argmin(x > 0.5).astype(jnp.float64)
    ),
    # loops
    "fori_loop": Case(_horner),
    "scan": Case(_swing),
    "scan of nothing": Case(lambda x: jnp.ravel(lax.scan(lambda c, y: (c + y, y), x[0], x[:0])[0])),
    "while with a known length": Case(
        lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, jnp.sin(c[1])), (0, x))[1]
    ),
    "map": Case(lambda x: lax.map(lambda y: y * jnp.exp(y), x)),
    "vmap": Case(lambda x: jax.vmap(lambda a, b: a * jnp.cos(b))(x, x[::-1])),
    # indexing
    "gather": Case(lambda x: x[jnp.array([2, 0, 0, 1])] * x[-1]),
    "gather in two dimensions": Case(lambda x: jnp.outer(x, x**2)[jnp.array([0, 2]), jnp.array([1, 2])]),
    "gather beyond the end, filled": Case(lambda x: x.at[jnp.array([0, 7])].get(mode="fill", fill_value=2.5) * x[1]),
    "gather beyond the end, clipped": Case(lambda x: x.at[jnp.array([0, 7])].get(mode="clip") * x[1]),
    "take": Case(lambda x: jnp.take(jnp.outer(x, x), jnp.array([2, 1]), axis=1)),
    "dynamic slice": Case(lambda x: lax.dynamic_slice(x**2, (jnp.asarray(1),), (2,))),
    "dynamic update": Case(lambda x: lax.dynamic_update_slice(x, x[:2] ** 2, (jnp.asarray(1),))),
    "set": Case(lambda x: x.at[1].set(x[0] * x[2])),
    "set twice": Case(lambda x: jnp.zeros(4).at[jnp.array([1, 1, 3])].set(x)),
    "set of known numbers": Case(lambda x: x.at[0].set(4.0)),
    "set into a slice": Case(lambda x: jnp.zeros((3, 3)).at[1:, 0].set(x[:2] ** 2)),
    "add": Case(lambda x: x.at[1].add(x[0] * x[2])),
    "add twice": Case(lambda x: (x**2).at[jnp.array([0, 2, 0, 0])].add(jnp.concatenate([x, x[:1] ** 3]))),
    "add beyond the end": Case(lambda x: x.at[jnp.array([0, 9])].add(x[:2], mode="drop")),
    "multiply": Case(lambda x: jnp.ones(3).at[jnp.array([0, 2])].set(x[:2]) * x),
    # sums and products
    "cumsum and cumprod": Case(lambda x: jnp.cumsum(x) * jnp.cumprod(x) + lax.cumsum(x, reverse=True)),
    "cummax and cummin": Case(lambda x: lax.cummax(x) - lax.cummin(x**2)),
    "sums": Case(lambda x: jnp.sum(jnp.outer(x, x), axis=0) + jnp.prod(x) + jnp.mean(x) + jnp.var(x)),
    "sum of nothing": Case(lambda x: jnp.sum(x[:0]) + jnp.prod(x[3:]) + x),
    "cumsum of nothing": Case(lambda x: jnp.concatenate([jnp.cumsum(x[:0]), x])),
    "largest of nothing": Case(lambda x: jnp.max(lax.stop_gradient(x[:0]), initial=0.0) + x),
    "norm": Case(lambda x: jnp.linalg.norm(x) * x),
    "norms of rows": Case(lambda x: jnp.linalg.norm(jnp.outer(x, x + 1.0), axis=1)),
    "products over an axis": Case(
        lambda x: jnp.prod(x.reshape(2, 3), axis=1) + jnp.prod(x.reshape(3, 2), axis=0), size=6
    ),
    # products
    "dot": Case(lambda x: x @ x + VECTOR @ x),
    "matmul": Case(lambda x: MATRIX @ x + jnp.outer(x, x) @ (MATRIX @ x)),
    "batched matmul": Case(lambda x: x.reshape(2, 2, 2) @ jnp.swapaxes(x.reshape(2, 2, 2), 1, 2), size=8),
    "einsum": Case(lambda x: jnp.einsum("i,ij,j->", x, MATRIX, x) + jnp.einsum("ii->i", jnp.outer(x, x))),
    "cross and outer": Case(lambda x: jnp.cross(x[:3], x[3:]) @ jnp.outer(x[:3], x[3:]), size=6),
    "trace": Case(lambda x: jnp.trace(jnp.outer(x, x)) * jnp.diag(jnp.outer(x, x))),
    # shapes
    "the order of the entries": Case(
        lambda x: x.reshape(2, 3).ravel(order="F") * x + x.reshape((3, 2), order="F").ravel(), size=6
    ),
    "reshape and transpose": Case(lambda x: x.reshape(2, 3).T.reshape(2, 3) @ VECTOR, size=6),
    "concatenate and stack": Case(lambda x: jnp.stack([x, x**2]).sum(0) + jnp.concatenate([x[1:], x[:1]])),
    "pad": Case(lambda x: jnp.pad(x**2, (1, 2)) + lax.pad(x, jnp.asarray(0.5), [(1, 0, 1)])),
    "negative pad": Case(lambda x: lax.pad(x, jnp.asarray(0.5), [(-1, 2, 0)])),
    "slices": Case(lambda x: x[::2] * x[1:] + x[:-1]),
    "reverse, roll and flip": Case(lambda x: lax.rev(x, (0,)) + jnp.roll(x, 1) * jnp.flip(x)),
    "repeat and tile": Case(lambda x: jnp.repeat(x, 2) * jnp.tile(x, 2)),
    "unpacking": Case(lambda x: next(a * b - c for a, b, c in [x]) * jnp.unstack(x)[1]),
    "negative zero": Case(lambda x: -jnp.zeros(3) * x + (-jnp.zeros((3, 3))) @ x + x[::-1]),
    "split": Case(lambda x: jnp.split(x, 3)[0] * jnp.array_split(x, 2)[1]),
    "broadcast": Case(lambda x: jnp.broadcast_to(x[:, None], (3, 2)) * jnp.arange(2.0)),
    "a function without its argument": Case(lambda x: jnp.array([1.0, -0.0, 3.0])),
    # rules
    "custom_jvp": Case(lambda x: wrong_on_purpose(x) * 2.0),
    "a gradient": Case(lambda x: jax.grad(lambda y: jnp.sin(y @ y) * y[0])(x)),
    "a Jacobian": Case(lambda x: jax.jacfwd(lambda y: jnp.outer(y, y) @ jnp.cos(y))(x)),
    "stop_gradient": Case(lambda x: lax.stop_gradient(x) * x),
    "checkpoint and jit": Case(lambda x: jax.checkpoint(jnp.sin)(x) + jax.jit(jnp.cos)(x)),
}


POINT_SIZE = sum(case.size for case in CASES.values())


def points_of_all(count: int, seed: int) -> np.ndarray:
    """The arguments of all cases, one after the other, (count, POINT_SIZE)."""
    return np.concatenate([case.points(count, seed) for case in CASES.values()], axis=1)


def all_values(point) -> dict:
    """f and its Jacobian for every case, by name."""
    found, first = {}, 0
    for name, case in CASES.items():
        x = point[first : first + case.size]
        found[name] = jax.jit(lambda x, flat=case.flat: (flat(x), jax.jacfwd(flat)(x)))(x)
        first += case.size
    return found


def all_values_flat(point):
    return jnp.concatenate([jnp.ravel(part) for pair in all_values(point).values() for part in pair])


def by_name(flat: np.ndarray) -> dict[str, np.ndarray]:
    """The parts of `all_values_flat`."""
    shapes = jax.eval_shape(all_values, jax.ShapeDtypeStruct((POINT_SIZE,), jnp.float64))
    found, first = {}, 0
    for name in CASES:
        size = sum(int(np.prod(part.shape, dtype=int)) for part in shapes[name])
        found[name] = flat[..., first : first + size]
        first += size
    assert first == flat.shape[-1]
    return found


def evaluation() -> StepFunctions:
    """Step functions whose single step writes f and f_x of every case behind the arguments."""
    total = jax.eval_shape(all_values_flat, jax.ShapeDtypeStruct((POINT_SIZE,), jnp.float64)).shape[0]
    return StepFunctions(
        guess=lambda t, h, state, parameters: state[:POINT_SIZE],
        residual=lambda x, t, h, state, parameters: x - state[:POINT_SIZE],
        finish=lambda x, t, h, state, parameters: jnp.concatenate([state[:POINT_SIZE], all_values_flat(x)]),
        unknowns=tuple(f"x[{k}]" for k in range(POINT_SIZE)),
        equations=tuple(f"argument[{k}]" for k in range(POINT_SIZE)),
        blocks=(POINT_SIZE,),
        n_state=POINT_SIZE + total,
        summed_blocks=(),
        n_parameters=0,
    )
