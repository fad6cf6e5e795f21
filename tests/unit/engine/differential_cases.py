"""Functions for every primitive of JAX that the engine translates, generated over what its parameters can be."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

RANDOM = np.random.default_rng(7)
TABLE = RANDOM.uniform(0.5, 2.0, (3, 4, 2))


@dataclass(frozen=True)
class Function:
    """A function of an array of this shape, with entries from [low, high]; not differentiated where JAX cannot."""

    name: str
    call: Callable
    shape: tuple[int, ...] = (2, 3)
    low: float = 0.3
    high: float = 1.6
    differentiated: bool = True


def _orders() -> Iterator[Function]:
    for order in ("C", "F"):
        yield Function(f"ravel {order}", lambda x, order=order: x.ravel(order=order))
        yield Function(f"reshape {order}", lambda x, order=order: jnp.reshape(x, (3, 4), order=order), (2, 2, 3))
    for order in itertools.permutations(range(3)):
        yield Function(
            f"lax.reshape {order}", lambda x, order=order: lax.reshape(x, (3, 4), dimensions=order), (2, 2, 3)
        )
        yield Function(f"transpose {order}", lambda x, order=order: jnp.transpose(x, order) ** 2, (2, 2, 3))


def _reductions() -> Iterator[Function]:
    for function in (jnp.sum, jnp.prod, jnp.max, jnp.min):
        for axes in (0, 1, (0, 1), (0, 2), None):
            shape = (2, 3, 2) if axes == (0, 2) else (2, 3)
            yield Function(
                f"{function.__name__} over {axes}", lambda x, f=function, a=axes: f(x, axis=a) * jnp.sum(x), shape
            )
    yield Function("reduce by mul", lambda x: lax.reduce(x, jnp.ones(()), lax.mul, (0,)))
    yield Function("reduce by add", lambda x: lax.reduce(x, jnp.zeros(()), lax.add, (1,)))
    yield Function("mean", lambda x: jnp.mean(x, axis=0) * x)
    yield Function("variance", lambda x: jnp.var(x, axis=1) * x[:, 0])
    for function, axis in itertools.product((jnp.argmax, jnp.argmin), (0, 1)):
        yield Function(
            f"{function.__name__} {axis}",
            lambda x, f=function, a=axis: f(x, axis=a).astype(jnp.float64) * x[0, 0],
        )
    yield Function("any", lambda x: jnp.where(jnp.any(x > 1.0, axis=0), x, x**2))
    yield Function("all", lambda x: jnp.where(jnp.all(x > 0.5, axis=0), x, x**2))
    yield Function("largest truth", lambda x: jnp.argmax(x > 0.8, axis=1).astype(jnp.float64) * x[:, 0])


def _cumulations() -> Iterator[Function]:
    for function, axis, reverse in itertools.product(
        (lax.cumsum, lax.cumprod, lax.cummax, lax.cummin), (0, 1), (False, True)
    ):
        yield Function(
            f"{function.__name__} {axis} {reverse}",
            lambda x, f=function, a=axis, r=reverse: f(x, axis=a, reverse=r) * x,
        )
    for reverse in (False, True):
        yield Function(f"cumlogsumexp {reverse}", lambda x, r=reverse: lax.cumlogsumexp(x, axis=1, reverse=r))
    yield Function("associative scan", lambda x: lax.associative_scan(jnp.multiply, x, axis=1))
    yield Function("scan", lambda x: lax.scan(lambda c, y: (c * y[0], c + y), x[0, 0], x)[1])
    yield Function("scan backwards", lambda x: lax.scan(lambda c, y: (c * y[0], c + y), x[0, 0], x, reverse=True)[1])


def _products() -> Iterator[Function]:
    for expression in ("ij,kj->ik", "ij,ik->jk", "ij,kl->jlik", "ij,ij->j", "ij,ij->i", "ii->i", "ij->ji"):
        square = "ii" in expression
        yield Function(
            expression,
            lambda x, e=expression, two="," in expression: jnp.einsum(e, *([x, x] if two else [x])),
            (3, 3) if square else (2, 3),
        )
    yield Function("batches", lambda x: jnp.matmul(x, jnp.swapaxes(x, 1, 2)), (2, 2, 3))
    yield Function("batches by a known", lambda x: jnp.einsum("bij,bjk->kbi", x, TABLE[:2, :3]), (2, 2, 3))
    yield Function("tensordot", lambda x: jnp.tensordot(x, TABLE, axes=((1, 0), (0, 2))))
    yield Function("kron", lambda x: jnp.kron(x, x[:1]))


def _shapes() -> Iterator[Function]:
    for axis in (0, 1):
        yield Function(f"concatenate {axis}", lambda x, a=axis: jnp.concatenate([x, x**2, TABLE[:2, :3, 0]], axis=a))
        yield Function(f"stack {axis}", lambda x, a=axis: jnp.stack([x, x**2], axis=a))
        yield Function(f"reverse {axis}", lambda x, a=axis: lax.rev(x, (a,)) * x)
        yield Function(f"roll {axis}", lambda x, a=axis: jnp.roll(x, 1, axis=a) * x)
        yield Function(f"unstack {axis}", lambda x, a=axis: jnp.unstack(x, axis=a)[1] ** 2)
        yield Function(f"split {axis}", lambda x, a=axis: jnp.array_split(x, 2, axis=a)[1] ** 2)
        yield Function(f"expand {axis}", lambda x, a=axis: jnp.expand_dims(x, a) ** 2)
        yield Function(f"repeat {axis}", lambda x, a=axis: jnp.repeat(x, 2, axis=a) ** 2)
        yield Function(f"tile {axis}", lambda x, a=axis: jnp.tile(x, [1, 2][:: 1 - 2 * a]) ** 2)
        yield Function(f"difference {axis}", lambda x, a=axis: jnp.diff(x, axis=a) ** 2)
    for low, high, inner in ((1, 2, 0), (0, 1, 2), (-1, 0, 0), (0, -1, 1), (-2, 3, 1), (-1, -1, 1)):
        yield Function(
            f"pad {low} {high} {inner}",
            lambda x, c=(low, high, inner): lax.pad(x**2, jnp.asarray(0.5), [(0, 0, 0), c]),
        )
    yield Function("strides", lambda x: lax.slice(x**2, (0, 0), (4, 5), (2, 3)), (4, 5))
    yield Function("broadcast", lambda x: lax.broadcast_in_dim(x**2, (2, 2, 3), (0, 2)))
    yield Function("squeeze", lambda x: jnp.squeeze(x[:, :1] ** 2, axis=1))
    yield Function("meshgrid", lambda x: jnp.meshgrid(x[0], x[1])[0] * jnp.meshgrid(x[0], x[1])[1])


def _indexing() -> Iterator[Function]:
    index = jnp.array([2, 0, 2])
    for mode in ("fill", "clip", "promise_in_bounds", "drop"):
        at = index if mode == "promise_in_bounds" else jnp.array([2, 7, 0])
        if mode in ("fill", "clip"):
            yield Function(f"take {mode}", lambda x, m=mode, i=at: jnp.take(x**2, i, axis=1, mode=m, fill_value=3.0))
        if mode not in ("fill",):
            for what in ("add", "multiply", "set"):
                yield Function(
                    f"{what} {mode}",
                    lambda x, m=mode, w=what, i=at: getattr(x.at[:, i[:2]], w)(
                        x[:, :2] ** 2, mode=m, unique_indices=True
                    ),
                )
    yield Function("add twice", lambda x: x.at[:, index].add(x**2))
    yield Function("subtract twice", lambda x: x.at[:, index].subtract(x**2))
    for what in ("max", "min", "multiply"):
        twice = index if what != "multiply" else index[:2]
        yield Function(
            f"{what} at", lambda x, w=what, i=twice: getattr(x.at[:, i], w)(x[:, : len(i)] ** 2), differentiated=False
        )
    yield Function("by rows", lambda x: jnp.take_along_axis(x**2, jnp.array([[2, 0], [1, 1]]), axis=1))
    yield Function("rows", lambda x: x[jnp.array([1, 1, 0])] * x[0])
    yield Function("a row", lambda x: lax.dynamic_index_in_dim(x**2, 1, axis=0, keepdims=False))
    yield Function("a slice", lambda x: lax.dynamic_slice(x**2, (0, 2), (2, 2)))
    yield Function("an update", lambda x: lax.dynamic_update_slice(x, x[:, :2] ** 2, (0, 2)))
    yield Function("diagonal", lambda x: jnp.diagonal(x**2, offset=1))
    yield Function("of a truth", lambda x: jnp.where((x > 1.0)[:, jnp.array([2, 0, 1])], x, x**2))


def of_two(name: str, call: Callable, shape: tuple[int, ...] = (2,), **limits) -> Function:
    return Function(name, call, shape, **limits)


def _elementary() -> Iterator[Function]:
    for function in (
        jnp.sin,
        jnp.cos,
        jnp.tan,
        jnp.arctan,
        jnp.sinh,
        jnp.cosh,
        jnp.tanh,
        jnp.arcsinh,
        jnp.exp,
        jnp.exp2,
        jnp.expm1,
        jnp.log,
    ):
        yield of_two(function.__name__, function)
    for function in (
        jnp.log1p,
        jnp.sqrt,
        jnp.cbrt,
        jnp.square,
        jnp.reciprocal,
        jnp.negative,
        jnp.abs,
        jnp.sign,
        jnp.floor,
        jnp.ceil,
        jnp.trunc,
    ):
        yield of_two(function.__name__, lambda x, f=function: f(x - 0.9) * x if f in STEPS else f(x))
    for function in (jnp.arcsin, jnp.arccos, jnp.arctanh):
        yield of_two(function.__name__, function, high=0.9)
    yield of_two("arccosh", lambda x: jnp.arccosh(x + 1.0))
    yield of_two("logistic", lambda x: lax.logistic(x - 1.0))
    yield of_two("rsqrt", lax.rsqrt)
    for function in (
        jnp.add,
        jnp.subtract,
        jnp.multiply,
        jnp.divide,
        jnp.maximum,
        jnp.minimum,
        jnp.arctan2,
        jnp.hypot,
        jnp.logaddexp,
    ):
        yield of_two(function.__name__, lambda x, f=function: f(x, x[::-1] ** 2))
    for function in (jnp.fmod, jnp.mod, jnp.remainder, jnp.floor_divide):
        yield of_two(f"{function.__name__} by a number", lambda x, f=function: f(7.0 * x - 6.0, 1.7) * x)
        yield of_two(f"{function.__name__} by another", lambda x, f=function: f(7.0 * x - 6.0, -x[::-1]) * x)
    yield of_two("clamp", lambda x: lax.clamp(jnp.asarray(0.5), x**2, jnp.asarray(1.2)))
    yield of_two("clip by arrays", lambda x: lax.clamp(0.5 * x, x**2, 1.2 * x))
    yield of_two("where", lambda x: jnp.where(x > 0.8, jnp.sin(x), x**2))
    for method in lax.RoundingMethod:
        yield of_two(f"round {method}", lambda x, m=method: lax.round(8.0 * x - 7.0, m) * x)
        halves = np.array([0.5, 1.5, -0.5, -2.5, 0.49999999999999994, 3.0])
        yield of_two(
            f"halves {method}", lambda x, m=method, halves=halves: lax.round(halves + 0.0 * x[0], m) * x[0], (1,)
        )
    yield of_two("round to digits", lambda x: jnp.round(x, 1) * x)
    for power in (2, 3, 7, 16, 17, 40, -1, -2, -9):
        yield of_two(f"integer power {power}", lambda x, y=power: x**y, high=1.2)
    for power in (0.0, 1.0, 2.0, 3.0, 0.5, -0.5, 1.5, 16.0, 17.0, 64.0, -3.0, -64.0, np.inf, np.nan, -np.inf):
        where = power if np.isfinite(power) else np.inf
        yield of_two(
            f"power {power}",
            lambda x, y=power: jnp.where(x > 10.0, x**y, x) if not np.isfinite(y) else x**y,
            low=0.7, high=1.2 if where < np.inf else 0.9,
        )  # fmt: skip
    yield of_two("power of another", lambda x: jnp.power(x, x[::-1]))


STEPS = (jnp.floor, jnp.ceil, jnp.trunc, jnp.sign, jnp.abs)


def _choices() -> Iterator[Function]:
    def whole(x):
        return (3.0 * x - 1.0).astype(jnp.int64)

    for count in (2, 3, 5):
        yield Function(
            f"select among {count}",
            lambda x, n=count: lax.select_n(
                jnp.clip(whole(x), 0, n - 1).astype(jnp.int32), *[jnp.sin((k + 1.0) * x) for k in range(n)]
            ),
        )
        yield Function(
            f"switch among {count}",
            lambda x, n=count: lax.switch(
                whole(x)[0, 0], [lambda y, k=k: jnp.sin((k + 1.0) * y) for k in range(n)], x
            ),
        )  # fmt: skip
    yield Function("cond", lambda x: lax.cond(x[0, 0] > 0.8, jnp.sin, jnp.cos, x))
    yield Function(
        "truths compared",
        lambda x: sum(
            jnp.where(f(x > 0.6, x < 1.1), x * (k + 1), x**2)
            for k, f in enumerate((lax.lt, lax.le, lax.gt, lax.ge, lax.eq, lax.ne, lax.max, lax.min))
        ),
    )
    yield Function("truth of a number", lambda x: jnp.where(jnp.floor(x).astype(bool), x, x**2))


def _tables() -> Iterator[Function]:
    """Places that depend on the state: in known tables, and in the state itself."""
    yield from _of_tables()
    yield from _of_keys()


def _of_keys() -> Iterator[Function]:
    for axis in (0, 1):
        yield Function(f"sort {axis}", lambda x, a=axis: jnp.sort(x, axis=a) ** 2)
        yield Function(f"argsort {axis}", lambda x, a=axis: jnp.argsort(x, axis=a).astype(jnp.float64) * x)
    yield Function("descending", lambda x: jnp.sort(x, descending=True) ** 2, (4,))
    yield Function("median", lambda x: jnp.median(x) * x, (5,))
    ties = jnp.asarray([1.0, 0.0, 1.0, 0.0])
    yield Function("two keys", lambda x: lax.sort((ties, x, x**2), num_keys=2)[2], (4,))


def _of_tables() -> Iterator[Function]:
    nodes, values = jnp.linspace(0.0, 2.0, 5), jnp.asarray([0.3, 1.0, -0.5, 2.0, 0.7])

    def whole(x):
        return (4.0 * x - 2.5).astype(jnp.int64)

    yield Function("interp", lambda x: jnp.interp(x, nodes, values) * x, (3,))
    yield Function("interp by the state", lambda x: jnp.interp(x[0], jnp.cumsum(x), x**2), (4,))
    for side in ("left", "right"):
        yield Function(
            f"searchsorted {side}",
            lambda x, s=side: jnp.searchsorted(nodes, x, side=s).astype(jnp.float64) * x, (3,),
        )  # fmt: skip
    for mode in ("fill", "clip", "promise_in_bounds"):
        yield Function(
            f"at {mode}",
            lambda x, m=mode: (
                values.at[jnp.clip(whole(x), 0, 4) if m == "promise_in_bounds" else whole(x)].get(mode=m) * x
            ),
        )
    yield Function("rows of the state", lambda x: x[whole(x[0])] ** 2 * x[0])
    yield Function("two places", lambda x: jnp.asarray(TABLE)[whole(x[0, 0]), whole(x[0])] * x[0, 0])
    yield Function("a slice", lambda x: lax.dynamic_slice(x, (whole(x)[0, 0], whole(x)[0, 1]), (1, 2)) * x[0, 0])
    yield Function("the largest", lambda x: x[0, jnp.argmax(x[1])] * x)
    yield of_two("erf", lambda x: jax.scipy.special.erf(x) + jax.scipy.special.erfc(x**2))
    yield of_two("gelu", lambda x: jax.nn.gelu(x, approximate=False))


def _writing() -> Iterator[Function]:
    """To places that depend on the state."""

    def whole(x):
        return (4.0 * x - 2.5).astype(jnp.int64)

    yield Function("an update", lambda x: lax.dynamic_update_slice(x, x[:, :2] ** 2, (whole(x)[0, 0], whole(x)[0, 1])))
    for mode, what in itertools.product(("drop", "clip"), ("set", "add")):
        yield Function(
            f"{what} {mode}",
            lambda x, m=mode, w=what: getattr(x.at[whole(x[0, 0]), whole(x[0])[:2]], w)(x[1, :2], mode=m),
        )
    for what in ("max", "min", "multiply"):
        yield Function(
            f"{what} there", lambda x, w=what: getattr(x.at[:, whole(x[0, 1])], w)(x[:, 0] ** 2), differentiated=False
        )
    yield Function("add there twice", lambda x: jnp.zeros(3).at[jnp.clip(whole(x), 0, 1)].add(x**2))
    yield Function("a row of each", lambda x: x.at[jnp.array([0, 1]), whole(x[:, 0])].set(x[:, 1] ** 2))


def _matrices() -> Iterator[Function]:
    """Linear systems and factorisations; also where leading pivots are zero, and of singular matrices."""
    hollow, rank_two = 1.0 - np.eye(4), np.array([1.0, 0.0, 1.0, 0.0])
    square, four = (3, 3), (4, 4)
    yield Function("solve", lambda x: jnp.linalg.solve(x, x[0] ** 2), four)
    yield Function("solve for columns", lambda x: jnp.linalg.solve(x, x[:, :2] ** 2), square)
    yield Function("six by six", lambda x: jnp.linalg.solve(x, x[0] ** 2), (6, 6))
    yield Function("zero pivots", lambda x: jnp.linalg.solve(x * hollow, x[0]), four)
    yield Function("a known matrix", lambda x: jnp.linalg.solve(jnp.asarray(hollow), x), (4,))
    yield Function("inverse", jnp.linalg.inv, square)
    yield Function("determinant", jnp.linalg.det, four)
    yield Function("singular", lambda x: jnp.linalg.det(x * rank_two), four, differentiated=False)
    yield Function("its logarithm", lambda x: jnp.stack(jnp.linalg.slogdet(x)), square)
    yield Function("lu", lambda x: jnp.stack(jax.scipy.linalg.lu(x)), square)
    yield Function("lu and solve", lambda x: jax.scipy.linalg.lu_solve(jax.scipy.linalg.lu_factor(x), x[0], 1), square)
    yield Function("cholesky", lambda x: jnp.linalg.cholesky(x @ x.T + jnp.eye(3)), square)
    yield Function("not positive definite", lambda x: jnp.linalg.cholesky(x - jnp.eye(3)), square, differentiated=False)
    for left, lower, transposed, unit in itertools.product((False, True), repeat=4):
        yield Function(
            f"triangular {left} {lower} {transposed} {unit}",
            lambda x, o=(left, lower, transposed, unit): lax.linalg.triangular_solve(
                x, x[:2] if not o[0] else x[:, :2], left_side=o[0], lower=o[1], transpose_a=o[2], unit_diagonal=o[3]
            ),
            square,
        )
    yield Function("a solver of its own", _by_conjugate_gradients, (4,))
    yield Function("two arrays", _of_two_arrays, (4,))


def _by_conjugate_gradients(x):
    def matrix(y):
        return (2.0 + x**2) * y - 0.3 * jnp.roll(y, 1) - 0.3 * jnp.roll(y, -1)

    def solver(matrix, right):
        return jax.scipy.sparse.linalg.cg(matrix, right, tol=1e-15)[0]

    return lax.custom_linear_solve(matrix, jnp.cos(x), solver, symmetric=True)


def _of_two_arrays(x):
    def matrix(y):
        return x[0] * y[0] + jnp.sum(y[1]), x[1:3] * y[1] - y[0]

    def solver(_, right):
        system = jnp.array([[1.0, 1.0, 1.0], [-1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]) + jnp.diag(x[:3] - jnp.eye(3)[0])
        found = jnp.linalg.solve(system, jnp.concatenate([right[0][None], right[1]]))
        return found[0], found[1:]

    def transposed(_, right):
        system = jnp.array([[1.0, 1.0, 1.0], [-1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]) + jnp.diag(x[:3] - jnp.eye(3)[0])
        found = jnp.linalg.solve(system.T, jnp.concatenate([right[0][None], right[1]]))
        return found[0], found[1:]

    first, second = lax.custom_linear_solve(matrix, (x[3], jnp.sin(x[:2])), solver, transposed)
    return jnp.append(second, first)


def of_whole(name: str, call: Callable) -> Function:
    return Function(name, call, (2, 2), differentiated=False)


def _whole_numbers() -> Iterator[Function]:
    for kind in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"):
        big = {"8": 100.0, "6": 30_000.0, "2": 2.0e9, "4": 1.0e6}[kind[-1]]
        numbers = jnp.asarray(np.array([[3, 5], [2, 11]]), dtype=kind)

        def converted(x, kind=kind, big=big):
            return (big * x).astype(kind)

        def back(k, x):
            return k.astype(jnp.float64) * x

        yield of_whole(f"{kind} from floats", lambda x, c=converted: back(c(x), x))
        yield of_whole(f"{kind} from negative ones", lambda x, c=converted: back(c(x - 0.9), x))
        yield of_whole(f"{kind} added", lambda x, c=converted: back(c(x) + c(x), x))
        yield of_whole(f"{kind} subtracted", lambda x, c=converted, n=numbers: back(n - c(x), x))
        yield of_whole(f"{kind} multiplied", lambda x, c=converted, n=numbers: back(c(x) * n, x))
        yield of_whole(f"{kind} divided", lambda x, c=converted, n=numbers: back(lax.div(c(x - 0.9), n), x))
        yield of_whole(f"{kind} remainder", lambda x, c=converted, n=numbers: back(lax.rem(c(x - 0.9), n), x))
        yield of_whole(f"{kind} floor division", lambda x, c=converted, n=numbers: back(c(x - 0.9) // n, x))
        yield of_whole(f"{kind} summed", lambda x, c=converted: back(lax.reduce_sum(c(x), (1,)), x[:, 0]))
        yield of_whole(f"{kind} as int32", lambda x, c=converted: back(c(x).astype(jnp.int32), x))
        yield of_whole(f"{kind} as uint8", lambda x, c=converted: back(c(x).astype(jnp.uint8), x))
        yield of_whole(f"{kind} known", lambda x, n=numbers: back(jnp.sum(n * n * n * n, dtype=n.dtype), x[0, 0]))
    yield of_whole("not a number", lambda x: jnp.sqrt(-x).astype(jnp.int32).astype(jnp.float64) + x)
    yield of_whole("counted", lambda x: jnp.sum(x > 0.8, axis=0).astype(jnp.float64) * x[0])


#: what is generated, by the kind of primitive
GROUPS: dict[str, list[Function]] = {
    "orders": list(_orders()),
    "reductions": list(_reductions()),
    "cumulations": list(_cumulations()),
    "products": list(_products()),
    "shapes": list(_shapes()),
    "indexing": list(_indexing()),
    "elementary": list(_elementary()),
    "choices": list(_choices()),
    "tables": list(_tables()),
    "writing": list(_writing()),
    "matrices": list(_matrices()),
    "whole numbers": list(_whole_numbers()),
}


def forms_of(function: Function, every: bool = False) -> dict[str, tuple[Callable, np.ndarray]]:
    """The function itself and its gradient under vmap, or every one of itself, itself under vmap, its gradient, and
    that under vmap; each with a point, drawn by the name."""
    random = np.random.default_rng(sum(map(ord, function.name)))
    point = random.uniform(function.low, function.high, function.shape)
    points = random.uniform(function.low, function.high, (2, *function.shape))
    weights = random.uniform(0.5, 1.5, jax.eval_shape(function.call, point).shape)

    def gradient(x):
        return jax.grad(lambda x: jnp.sum(function.call(x) * weights))(x)

    forms = {"plain": (function.call, point)}
    if every or not function.differentiated:
        forms |= {"vmap": (jax.vmap(function.call), points)}
    if function.differentiated:
        forms |= {"grad": (gradient, point)} if every else {}
        forms |= {"vmap of grad": (jax.vmap(gradient), points)}
    return forms
