"""Random expressions as source text: functions of the vector `x` and the time `s`, of size about one.

They are written as text, not as functions, so that a case that fails is printed as a script that reproduces it. Leaves
are parts of `x`; every rule keeps values of size about one, so that sums and products of them stay tame.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

#: How often a rule is taken that may have no scalar translation.
RARELY = 0.01
#: Exponents of a positive base: whole and broken, positive and negative, and zero.
EXPONENTS = (2, 3, 4, -1, -2, 0.5, 1.5, 2.5, -0.5, 1.0 / 3.0, 1, 0)


class Expressions:
    """Draws expressions of `x`, a vector with n entries, and of `s`. With `kinks`, also functions whose derivative
    jumps; without, all derivatives exist."""

    def __init__(self, chance: np.random.Generator, n: int, kinks: bool = False) -> None:
        self._chance, self._n, self.kinks = chance, n, kinks

    # -- numbers ---------------------------------------------------------------------------------------------

    def number(self, low: float = 0.2, high: float = 1.0) -> float:
        """A number with two digits and a random sign."""
        return float(np.round(self._chance.uniform(low, high) * self._chance.choice([-1, 1]), 2))

    def positive(self, low: float = 0.3, high: float = 1.5) -> float:
        return abs(self.number(low, high))

    def array(self, *shape: int) -> str:
        numbers = np.round(self._chance.uniform(-1, 1, shape) / np.sqrt(shape[-1]), 2)
        return f"jnp.array({numbers.tolist()})"

    def indices(self, count: int, below: int) -> str:
        return f"np.array({self._chance.integers(0, below, count).tolist()})"

    def one(self, rules: list) -> Callable:
        return rules[self._chance.integers(len(rules))]

    # -- vectors ---------------------------------------------------------------------------------------------

    def vector(self, depth: int, kinks: bool = True) -> tuple[str, int]:
        """A vector and its length; continuous, and smooth without `kinks`."""
        kinks = kinks and self.kinks
        if depth <= 0:
            text, k = self.one(self._LEAVES)(self)
            return f"({text})", k
        v, k = self.vector(depth - 1, kinks)
        if self._chance.random() < RARELY:
            rules = self._RARE_VECTORS + (self._RARE_KINKED_VECTORS if kinks else [])
        else:
            rules = self._VECTORS + (self._KINKED_VECTORS if kinks else [])
        text, length = self.one(rules)(self, v, k)
        return (f"({text})", length) if length <= 12 else (f"({text})[:{self._n}]", self._n)

    def vector_of(self, length: int, depth: int) -> str:
        """A vector of a given length."""
        v, k = self.vector(depth)
        return v if k == length else f"{v}[{self.indices(length, k)}]"

    _LEAVES = (
        lambda e: ("x", e._n),
        lambda e: ("x[::-1]", e._n),
        lambda e: (f"x[{e.indices(e._n, e._n)}]", e._n),
        lambda e: ("x[1:]", e._n - 1),
        lambda e: ("jnp.roll(x, 1)", e._n),
        lambda e: ("jnp.concatenate([x, x[:1]])", e._n + 1),
        lambda e: (f"(x + jnp.sin({e.positive()} * s))", e._n),
        lambda e: (f"{e.array(e._n, e._n)} @ x", e._n),
    )

    _VECTORS: ClassVar[list[Callable]] = [
        lambda e, v, k: (f"jnp.sin({v})", k),
        lambda e, v, k: (f"jnp.cos({e.number()} + {v})", k),
        lambda e, v, k: (f"jnp.tanh({v})", k),
        lambda e, v, k: (f"jnp.arctan({v})", k),
        lambda e, v, k: (f"jnp.arcsinh({v})", k),
        lambda e, v, k: (f"jnp.sinh(0.5 * jnp.sin({v}))", k),
        lambda e, v, k: (f"jnp.exp(-{v} ** 2)", k),
        lambda e, v, k: (f"{v} / (1.0 + {v} ** 2)", k),
        lambda e, v, k: (f"(1.0 + {v} ** 2) ** ({e.one(EXPONENTS)})", k),
        lambda e, v, k: (f"0.1 * jnp.power(jnp.tanh({v}), {e.one((2, 3, 4, 5))})", k),
        lambda e, v, k: (f"jax.nn.sigmoid({v})", k),
        lambda e, v, k: (f"jax.nn.softplus({v})", k),
        lambda e, v, k: (f"0.5 * jnp.cumsum({v})", k),
        lambda e, v, k: (f"jax.lax.cumsum({v}, reverse=True) * 0.5", k),
        lambda e, v, k: (f"jnp.cumprod(1.0 + 0.3 * jnp.sin({v}))", k),
        lambda e, v, k: (f"{e.array(k, k)} @ {v}", k),
        lambda e, v, k: (f"jnp.einsum('i,ij->j', {v}, {e.array(k, k)})", k),
        lambda e, v, k: (f"jnp.outer({v}, jnp.sin({e.vector_of(2, 0)})).sum(axis=1)", k),
        lambda e, v, k: (f"jnp.outer({v}, jnp.cos({e.vector_of(3, 0)})).reshape(3, {k}).prod(axis=0)", k),
        lambda e, v, k: (f"jnp.where(np.arange({k}) % 2 == 0, {v}, {e.vector_of(k, 0)})", k),
        lambda e, v, k: (f"jax.vmap(lambda a: a * jnp.cos(a))({v})", k),
        lambda e, v, k: (f"jax.vmap(lambda a, b: a @ b, in_axes=(1, None))({e.array(k, k)}, {v})", k),
        lambda e, v, k: (f"jax.lax.scan(lambda c, a: (0.5 * c + jnp.sin(a), c * a), {e.number()}, {v})[1]", k),
        lambda e, v, k: (f"jax.lax.fori_loop(0, 3, lambda i, a: 0.5 * a + jnp.sin(jnp.roll(a, 1)), {v})", k),
        lambda e, v, k: (f"jax.lax.fori_loop(0, {k}, lambda i, a: a.at[i].add(0.3 * jnp.sin(a[0])), {v})", k),
        lambda e, v, k: (f"jnp.stack([{v}, {e.vector_of(k, 0)}]).T.ravel()", 2 * k),
        lambda e, v, k: (f"jnp.stack([{v}, {e.vector_of(k, 0)}]).reshape(-1, order='F')", 2 * k),
        lambda e, v, k: (f"jnp.pad({v}, (1, 0))[:-1] + 0.2", k),
        lambda e, v, k: (f"jnp.flip({v})", k),
        lambda e, v, k: (f"jnp.repeat({v}, 2)[:{k}]", k),
        lambda e, v, k: (f"jnp.tile({v}, 2)[{k // 2}:{k // 2 + k}]", k),
        lambda e, v, k: (f"{v}.at[0].set({e.number()})", k),
        lambda e, v, k: (f"{v}.at[{e.indices(2, k)}].add(jnp.sin({v}[0]))", k),
        lambda e, v, k: (f"jnp.diff({v})", k - 1) if k > 2 else (v, k),
        lambda e, v, k: (f"jnp.gradient({v})", k) if k > 2 else (v, k),
        lambda e, v, k: (f"jnp.mod(jnp.sin({v}) + 5.0, 10.0) - 5.0", k),
        lambda e, v, k: (f"jnp.asarray(np.arange({k}) % 3, float) * {v}", k),
        lambda e, v, k: (f"jnp.linalg.norm(jnp.stack([{v}, jnp.ones({k})]), axis=0)", k),
        lambda e, v, k: (f"jnp.hypot({v}, {e.positive()})", k),
        lambda e, v, k: (f"jnp.arctan2({v}, 1.5 + jnp.cos({v}))", k),
        lambda e, v, k: (f"jnp.cbrt(2.0 + jnp.sin({v}))", k),
        lambda e, v, k: (f"jnp.triu(jnp.outer(jnp.tanh({v}), jnp.cos({v}))).sum(1) * 0.5", k),
        lambda e, v, k: (f"(jnp.eye({k}) - 0.3 * jnp.diag({v})) @ {v}", k),
    ]

    _KINKED_VECTORS: ClassVar[list[Callable]] = [
        lambda e, v, k: (f"jnp.maximum({v}, {e.number()})", k),
        lambda e, v, k: (f"jnp.minimum({v}, {e.vector_of(k, 0)})", k),
        lambda e, v, k: (f"jnp.abs({v})", k),
        lambda e, v, k: (f"jnp.clip({v}, -0.4, 0.3)", k),
        lambda e, v, k: (f"jnp.where({v} > {e.number()}, {v}, {e.number()} * {v})", k),
        lambda e, v, k: (f"jax.nn.relu({v})", k),
        lambda e, v, k: (f"jax.nn.leaky_relu({v})", k),
    ]

    #: What may have no scalar translation, so that the run goes to XLA, which takes much longer: drawn rarely.
    _RARE_VECTORS: ClassVar[list[Callable]] = [
        lambda e, v, k: (f"jnp.convolve({v}, jnp.array([0.3, 0.5, -0.2]), mode='same')[:{k}]", k) if k > 2 else (v, k),
        lambda e, v, k: (
            f"jnp.linalg.solve(2.0 * jnp.eye({k}) + 0.3 * jnp.outer(jnp.tanh({v}), jnp.cos({v})), {v})",
            k,
        ),
    ]

    _RARE_KINKED_VECTORS: ClassVar[list[Callable]] = [
        lambda e, v, k: (f"jnp.interp({v}, jnp.array([-1.0, -0.2, 0.4, 1.1]), {e.array(4)})", k),
        lambda e, v, k: (f"jnp.sort({v})", k),
    ]

    _RARE_SCALARS: ClassVar[list[Callable]] = [
        lambda e, v, k: f"jax.scipy.special.erf({v}[0])",
    ]

    # -- scalars ---------------------------------------------------------------------------------------------

    def scalar(self, depth: int, kinks: bool = False) -> str:
        """A number whose gradient is continuous; with `kinks`, one that is only continuous."""
        v, k = self.vector(depth, kinks)
        if self._chance.random() < RARELY:
            rules = self._RARE_SCALARS
        else:
            rules = self._SCALARS + (self._KINKED_SCALARS if self.kinks else [])
        return self.one(rules)(self, v, k)

    _SCALARS: ClassVar[list[Callable]] = [
        lambda e, v, k: f"jnp.sum({v})",
        lambda e, v, k: f"jnp.mean({v})",
        lambda e, v, k: f"jnp.prod(1.0 + 0.3 * jnp.tanh({v}))",
        lambda e, v, k: f"{v} @ {e.vector_of(k, 0)}",
        lambda e, v, k: f"jnp.vdot({v}, {e.array(k, k)} @ {v})",
        lambda e, v, k: f"jnp.einsum('i,ij,j->', {v}, {e.array(k, k)}, {v})",
        lambda e, v, k: f"jnp.sqrt(1.0 + {v} @ {v})",
        lambda e, v, k: f"(1.0 + {v} @ {v}) ** ({e.one(EXPONENTS)})",
        lambda e, v, k: f"(1.0 + {v} @ {v}) ** self.exponent",
        lambda e, v, k: f"self.exponent ** jnp.sin({v}[0])",
        lambda e, v, k: f"jnp.log1p({v} @ {v})",
        lambda e, v, k: f"jnp.log(2.0 + jnp.sin({v}[-1]))",
        lambda e, v, k: f"jax.nn.logsumexp({v})",
        lambda e, v, k: f"jnp.logaddexp({v}[0], {v}[-1])",
        lambda e, v, k: f"jnp.arctan2({v}[0], 1.0 + {v}[-1] ** 2)",
        lambda e, v, k: f"jnp.arccos(0.6 * jnp.sin({v}[0]))",
        lambda e, v, k: f"jnp.arctanh(0.5 * jnp.cos({v}[-1]))",
        lambda e, v, k: f"jnp.linalg.norm(jnp.append({v}, 1.0))",
        lambda e, v, k: f"jnp.linalg.norm(jnp.outer({v}, {v}) + jnp.eye({k}))",
        lambda e, v, k: f"jnp.trace(jnp.outer({v}, jnp.cos({v})))",
        lambda e, v, k: f"jnp.linalg.det(jnp.eye(2) + 0.3 * jnp.outer(jnp.tanh({v})[:2], jnp.cos({v})[:2]))",
        lambda e, v, k: f"jnp.polyval(jnp.array([0.1, -0.3, 0.2, 1.0]), jnp.tanh({v}[0]))",
        lambda e, v, k: f"jnp.exp(-{v} @ {v}) * {e.number()}",
        lambda e, v, k: f"jnp.expm1(0.5 * jnp.sin({v}[0]))",
        lambda e, v, k: f"jnp.cosh(0.5 * jnp.tanh({v}[-1]))",
        lambda e, v, k: f"jnp.sinc(0.3 + 0.2 * jnp.sin({v}[0]))",
        lambda e, v, k: f"jnp.var({v})",
        lambda e, v, k: f"jnp.sum(jnp.outer({v}, jnp.sin({v})).reshape({k}, {k}, order='F')[0])",
        lambda e, v, k: f"jnp.prod(jnp.stack([1.0 + 0.2 * jnp.sin({v}), jnp.cosh(0.3 * jnp.cos({v}))]), axis=0).sum()",
        lambda e, v, k: f"jnp.cross(jnp.resize({v}, 3), jnp.array([0.3, -0.5, 0.8])) @ jnp.array([1.0, 0.2, 0.4])",
        lambda e, v, k: f"self.weights @ jnp.resize({v}, 3)",
        lambda e, v, k: f"jnp.tensordot({e.array(k, k)}, jnp.outer({v}, {v}))",
        lambda e, v, k: f"jax.lax.integer_pow(jnp.tanh({v}[0]), {e.one((2, 3, 5))})",
    ]

    #: C^1, so that forces are continuous.
    _KINKED_SCALARS: ClassVar[list[Callable]] = [
        lambda e, v, k: f"0.5 * jnp.sum(jnp.maximum({v} - 0.1, 0.0) ** 2)",
        lambda e, v, k: f"jnp.sum(jnp.abs({v}) ** 3)",
        lambda e, v, k: f"jnp.where({v}[0] > 0.2, ({v}[0] - 0.2) ** 2, 0.0)",
        lambda e, v, k: f"jax.lax.cond({v}[0] > 0.1, lambda a: (a - 0.1) ** 2, lambda a: 0.0 * a, {v}[0])",
        lambda e, v, k: f"jnp.max(jnp.maximum({v}[:1] - 0.2, 0.0)) ** 2",
        lambda e, v, k: f"jnp.abs({v}[0]) ** 2.5",
    ]
