"""Taylor coefficients of a function along a curve, one order after the other.

For y(s) = f(x(s)) with x(s) = sum_k x_k s^k every operation of f has a recurrence for its own coefficients, as in

    (a b)_k   = sum_i a_i b_(k-i)
    (a / b)_k = (a_k - sum_(i>0) b_i (a / b)_(k-i)) / b_0
    k f(x)_k  = sum_(i>0) i x_i f'(x)_(k-i)

so that coefficients up to order K cost K^2 times the function, not 2^K times as nested derivatives would (Moore 1966;
Griewank, Walther, Evaluating Derivatives, 13). `Along` keeps the coefficients of everything that f computes and adds an
order at a time: in a differential equation the curve is known only up to the order that comes next. A coefficient may
be given twice, first without what is not known yet.

(`jax.experimental.jet` takes all orders at once, and one JAX operation for every product a_i b_j: with it a step of
order 14 on a pendulum takes 2.5 s to translate instead of 0.4 s.)
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend import core as jex

from ..errors import MethodDoesNotFit

#: A coefficient; None is zero.
Coefficient = Any
#: The coefficients of one number or array, as far as they are known.
Series = list[Coefficient]


class Along:
    """The Taylor coefficients of `function` along a curve in its arguments, which have the shapes of `like`."""

    def __init__(self, function: Callable, *like) -> None:
        closed = jax.make_jaxpr(function)(*like)
        self._walk = _Walk(closed.jaxpr, closed.consts)

    def coefficient(self, k: int, *arguments: Coefficient) -> Coefficient:
        """Coefficient k of the result from coefficients k of the arguments; all lower ones were given before."""
        (result,) = self._walk.coefficients(k, arguments)
        return result


class _Walk:
    """The operations of a function with the coefficients of everything computed on the way."""

    def __init__(self, jaxpr, consts: Sequence) -> None:
        self._jaxpr = jaxpr
        self._series: dict[Any, Series] = {v: [value] for v, value in zip(jaxpr.constvars, consts, strict=True)}
        #: what an operation keeps beside its result: functions inside it, or the cosine of a sine
        self._kept: list[dict] = [{} for _ in jaxpr.eqns]

    def coefficients(self, k: int, arguments: Sequence[Coefficient]) -> list[Coefficient]:
        for variable, value in zip(self._jaxpr.invars, arguments, strict=True):
            self._put(variable, k, value)
        for equation, kept in zip(self._jaxpr.eqns, self._kept, strict=True):
            operands = [self._read(atom) for atom in equation.invars]
            for variable, value in zip(equation.outvars, self._apply(k, equation, operands, kept), strict=True):
                self._put(variable, k, value)
        return [_at(self._read(atom), k) for atom in self._jaxpr.outvars]

    def _put(self, variable, k: int, value: Coefficient) -> None:
        series = self._series.setdefault(variable, [])
        del series[k:]
        series.append(value)

    def _read(self, atom) -> Series:
        return [np.asarray(atom.val)] if isinstance(atom, jex.Literal) else self._series[atom]

    def _apply(self, k: int, equation, operands: list[Series], kept: dict) -> Sequence[Coefficient]:
        name, parameters = equation.primitive.name, equation.params
        if name in _CALLS:
            if "function" not in kept:
                kept["function"] = _called(parameters)
            return kept["function"].coefficients(k, [_at(series, k) for series in operands])

        def bind(*values):
            found = equation.primitive.bind(*values, **parameters)
            return found if equation.primitive.multiple_results else [found]

        if k == 0:
            kept["result"] = [[value] for value in bind(*(series[0] for series in operands))]
            return [series[0] for series in kept["result"]]
        if name in _FLAT or all(_at(series, i) is None for series in operands for i in range(1, k + 1)):
            return [None] * len(equation.outvars)
        if name in _MOVING:
            moved = _moved(k, bind, operands, _MOVING[name])
            return [None] * len(equation.outvars) if moved is None else moved
        if name not in _RULES:
            raise MethodDoesNotFit(
                f"no Taylor series is known for the operation {name!r} in this system. Expected sums, products, "
                "quotients, powers and elementary functions of t, q and v; rewrite it with those, or use a method "
                "without Taylor series, such as da.Galerkin or da.gauss_spark."
            )
        (result,) = kept["result"]
        del result[k:]
        same = len(equation.invars) == 2 and equation.invars[0] is equation.invars[1]
        result.append(_RULES[name](k, lambda *values: bind(*values)[0], operands, result, kept, parameters, same))
        return [result[k]]


_CALLS = frozenset({
    "jit", "pjit", "closed_call", "core_call", "remat", "checkpoint", "remat2", "custom_jvp_call", "custom_vjp_call",
    "custom_vjp_call_jaxpr",
})  # fmt: skip
#: operations with steps: their value does not change along a curve
_FLAT = frozenset({
    "lt", "le", "gt", "ge", "eq", "ne", "and", "or", "xor", "not", "sign", "floor", "ceil", "round", "is_finite",
    "stop_gradient", "argmax", "argmin",
})  # fmt: skip
_ALL = range(1_000_000)
#: operations linear in all of some operands together; the others are indices and conditions
_MOVING: dict[str, Sequence[int]] = {
    **dict.fromkeys(
        (
            *("add", "sub", "add_any", "neg", "reshape", "transpose", "squeeze", "expand_dims", "broadcast_in_dim"),
            *("slice", "rev", "reduce_sum", "cumsum", "copy", "copy_p", "convert_element_type", "reduce_precision"),
            *("concatenate", "stack", "tile", "pad", "split", "unstack", "device_put", "optimization_barrier"),
        ),
        _ALL,
    ),
    "gather": (0,),
    "dynamic_slice": (0,),
    "dynamic_update_slice": (0, 1),
    "scatter": (0, 2),
    "scatter-add": (0, 2),
    "scatter_add": (0, 2),
    "select_n": range(1, 1_000_000),
}


def _called(parameters: dict) -> _Walk:
    closed: Any = parameters.get("jaxpr") or parameters.get("call_jaxpr") or parameters.get("fun_jaxpr")
    return _Walk(closed.jaxpr, closed.consts) if hasattr(closed, "consts") else _Walk(closed, ())


def _moved(k: int, bind: Callable, operands: list[Series], linear: Sequence[int]) -> Sequence[Coefficient] | None:
    """An operation that is linear, of the coefficients of one order; None where they are zero."""
    if all(_at(series, k) is None for place, series in enumerate(operands) if place in linear):
        return None
    values = []
    for place, series in enumerate(operands):
        value = _at(series, k) if place in linear else series[0]
        values.append(jnp.zeros_like(series[0]) if value is None else value)
    return bind(*values)


# -- sums -----------------------------------------------------------------------------------------------------------


def _at(series: Series, k: int) -> Coefficient:
    return series[k] if k < len(series) else None


def _plus(a: Coefficient, b: Coefficient) -> Coefficient:
    if a is None or b is None:
        return b if a is None else a
    return a + b if np.shape(a) != np.shape(b) else lax.add(a, b)


def _minus(a: Coefficient, b: Coefficient) -> Coefficient:
    if b is None:
        return a
    if a is None:
        return lax.neg(b)
    return a - b if np.shape(a) != np.shape(b) else lax.sub(a, b)


def _over(a: Coefficient, b) -> Coefficient:
    return None if a is None else a / b


def _times(factor: float, a: Coefficient) -> Coefficient:
    return None if a is None else lax.mul(lax.full_like(a, factor), a)


def _convolved(
    a: Series, b: Series, orders: Iterable[int], k: int, *, weights: Sequence[Any] | None = None, dimensions=None
) -> Coefficient:
    """sum_i weights_i a_i b_(k-i) over some orders i, as one contraction of stacked coefficients.

    The highest orders come last: they are known last, and the others need not wait for them. `dimensions` are those of
    `dot_general` where the product is not elementwise.
    """
    left, right, factors = [], [], []
    for place, i in sorted(enumerate(orders), key=lambda pair: max(pair[1], k - pair[1])):
        one, other = _at(a, i), _at(b, k - i)
        if one is not None and other is not None:
            left.append(one)
            right.append(other)
            factors.append(1.0 if weights is None else weights[place])
    if not left:
        return None
    numbers = all(isinstance(factor, float) for factor in factors)
    if not numbers:
        left = [factor * one for factor, one in zip(factors, left, strict=True)]
    if dimensions is None and np.shape(left[0]) != np.shape(right[0]):
        shape = np.broadcast_shapes(np.shape(left[0]), np.shape(right[0]))
        left, right = ([jnp.broadcast_to(one, shape) for one in side] for side in (left, right))
    stacked = lax.stack(left)
    if numbers and any(factor != 1.0 for factor in factors):
        column = np.reshape(np.array(factors), (len(left),) + (1,) * np.ndim(left[0]))
        stacked = lax.mul(lax.broadcast_in_dim(column, stacked.shape, range(stacked.ndim)), stacked)
    axes = list(range(1, stacked.ndim))
    (in_left, in_right), (batch_left, batch_right) = dimensions or (((), ()), ([k - 1 for k in axes],) * 2)
    summed = [0, *(k + 1 for k in in_left)], [0, *(k + 1 for k in in_right)]
    batch = [k + 1 for k in batch_left], [k + 1 for k in batch_right]
    return lax.dot_general(stacked, lax.stack(right), (summed, batch))


def _chain(k: int, x: Series, slope: Series) -> Coefficient:
    """y_k where y' = slope x'."""
    orders = range(1, k + 1)
    return _convolved(x, slope, orders, k, weights=[i / k for i in orders])


def _inside(kept: dict, name: str, function: Callable, *like) -> _Walk:
    """A function that a rule needs beside its own, with its coefficients."""
    if name not in kept:
        closed = jax.make_jaxpr(function)(*like)
        kept[name] = _Walk(closed.jaxpr, closed.consts)
    return kept[name]


# -- rules ----------------------------------------------------------------------------------------------------------


def _product(k, bind, operands, result, kept, parameters, same, dimensions=None):
    """The ends a_0 b_k + a_k b_0 come last: without what is not known yet, the rest is the same sum."""
    a, b = operands
    if same:
        half = range(1, (k + 1) // 2)
        inner = bind(a[k // 2], a[k // 2]) if k % 2 == 0 and a[k // 2] is not None else None
        inner = _plus(inner, _convolved(a, a, half, k, weights=[2.0] * len(half), dimensions=dimensions))
        return _plus(inner, None if _at(a, k) is None else bind(_times(2.0, a[0]), a[k]))
    inner = _convolved(a, b, range(1, k), k, dimensions=dimensions)
    ends = None if _at(b, k) is None else bind(a[0], b[k])
    ends = _plus(ends, None if _at(a, k) is None else bind(a[k], b[0]))
    return _plus(inner, ends)


def _dot(k, bind, operands, result, kept, parameters, same):
    dimensions = (in_a, in_b), (batch_a, batch_b) = parameters["dimension_numbers"]
    whole = np.ndim(operands[0][0]) == len(in_a) + len(batch_a)
    same = same and whole and (tuple(in_a), tuple(batch_a)) == (tuple(in_b), tuple(batch_b))
    return _product(k, bind, operands, result, kept, parameters, same, dimensions)


def _square(k, bind, operands, result, kept, parameters, same):
    return _product(k, lax.mul, operands * 2, result, kept, parameters, True)


def _quotient(k, bind, operands, result, kept, parameters, same):
    a, b = operands
    return _over(_minus(_at(a, k), _convolved(b, result, range(1, k + 1), k)), b[0])


def _exponential(k, bind, operands, result, kept, parameters, same):
    return _chain(k, operands[0], result)


def _logarithm(k, bind, operands, result, kept, parameters, same):
    (x,) = operands
    orders = range(1, k)
    known = _convolved(result, x, orders, k, weights=[i / k for i in orders])
    return _over(_minus(_at(x, k), known), x[0])


def _root(k, bind, operands, result, kept, parameters, same):
    (x,) = operands
    known = _product(k, lax.mul, [result[:k]] * 2, result, kept, parameters, True)
    return _over(_minus(_at(x, k), known), _times(2.0, result[0]))


def _power(k, bind, operands, result, kept, parameters, same):
    x, exponent = operands
    if any(_at(exponent, i) is not None for i in range(1, k + 1)):
        return _rewritten(lambda x, c: jnp.exp(c * jnp.log(x)))(k, bind, operands, result, kept, parameters, same)
    return _of_constant_power(k, x, result, exponent[0])


def _of_constant_power(k: int, x: Series, result: Series, c) -> Coefficient:
    """x^c: k x_0 y_k = sum_(i>0) (c i - (k - i)) x_i y_(k-i)."""
    orders = range(1, k + 1)
    weights = [(c * i - (k - i)) / k for i in orders]
    if isinstance(c, np.ndarray | float) and np.ndim(c) == 0:
        weights = [float(weight) for weight in weights]
    return _over(_convolved(x, result, orders, k, weights=weights), x[0])


def _whole_power(k, bind, operands, result, kept, parameters, same):
    n = parameters["y"]
    if n == 2:
        return _square(k, bind, operands, result, kept, parameters, same)

    def power(x):
        """By squares and products: the recurrence of `_of_constant_power` would divide by x."""
        factors, square, left = [], x, abs(n)
        while left:
            factors += [square] * (left % 2)
            left //= 2
            square = square * square if left else square
        total = functools.reduce(lambda a, b: a * b, factors)
        return total if n > 0 else 1.0 / total

    return _rewritten(power)(k, bind, operands, result, kept, parameters, same)


def _sine(sign_of_cosine: float, start: Callable, first: bool) -> Callable:
    """sin and cos, sinh and cosh: two series that are each other's slopes. `first`: the result is the sine."""

    def rule(k, bind, operands, result, kept, parameters, same):
        (x,) = operands
        other = kept.setdefault("other", [start(x[0])])
        del other[k:]
        other_slope = _chain(k, x, result)  # of the other series, up to its sign
        own = _chain(k, x, other)
        sign_own, sign_other = (1.0, sign_of_cosine) if first else (sign_of_cosine, 1.0)
        other.append(_times(sign_other, other_slope))
        return _times(sign_own, own)

    return rule


def _by_slope(slope: Callable, of_result: bool = False) -> Callable:
    """f from its derivative, a function of x, or of f(x) itself."""

    def rule(k, bind, operands, result, kept, parameters, same):
        (x,) = operands
        argument = result if of_result else x
        inner = _inside(kept, "slope", slope, argument[0])
        series = kept.setdefault("slopes", [])
        del series[k - 1 :]
        series += inner.coefficients(k - 1, [_at(argument, k - 1)])
        return _chain(k, x, series)

    return rule


def _rewritten(function: Callable) -> Callable:
    """By other operations."""

    def rule(k, bind, operands, result, kept, parameters, same):
        inner = _inside(kept, "rewritten", function, *(series[0] for series in operands))
        first = len(kept.setdefault("orders", []))
        for order in (*range(first, k), k):
            (value,) = inner.coefficients(order, [_at(series, order) for series in operands])
        kept["orders"] = list(range(k + 1))
        return value

    return rule


def _angle(k, bind, operands, result, kept, parameters, same):
    """atan2(y, x): (x y' - y x') / (x^2 + y^2)."""
    y, x = operands
    parts = []
    for name, one, slope in (
        ("by y", y, lambda y, x: x / (x * x + y * y)),
        ("by x", x, lambda y, x: -y / (x * x + y * y)),
    ):
        inner, series = _inside(kept, name, slope, y[0], x[0]), kept.setdefault(f"{name}: coefficients", [])
        del series[k - 1 :]
        series += inner.coefficients(k - 1, [_at(y, k - 1), _at(x, k - 1)])
        parts.append(_chain(k, one, series))
    return _plus(*parts)


def _chosen(larger: bool) -> Callable:
    def rule(k, bind, operands, result, kept, parameters, same):
        a, b = operands
        first = a[0] >= b[0] if larger else a[0] <= b[0]
        zero = jnp.zeros_like(result[0])
        return jnp.where(first, *(zero if _at(s, k) is None else _at(s, k) for s in (a, b)))

    return rule


def _absolute(k, bind, operands, result, kept, parameters, same):
    (x,) = operands
    return None if _at(x, k) is None else jnp.sign(x[0]) * x[k]


_RULES: dict[str, Callable] = {
    "mul": _product,
    "dot_general": _dot,
    "square": _square,
    "integer_pow": _whole_power,
    "pow": _power,
    "div": _quotient,
    "exp": _exponential,
    "log": _logarithm,
    "sqrt": _root,
    "cbrt": lambda k, bind, operands, result, *_: _of_constant_power(k, operands[0], result, 1 / 3),
    "rsqrt": lambda k, bind, operands, result, *_: _of_constant_power(k, operands[0], result, -0.5),
    "sin": _sine(-1.0, jnp.cos, first=True),
    "cos": _sine(-1.0, jnp.sin, first=False),
    "sinh": _sine(1.0, jnp.cosh, first=True),
    "cosh": _sine(1.0, jnp.sinh, first=False),
    "tan": _by_slope(lambda y: 1.0 + y * y, of_result=True),
    "tanh": _by_slope(lambda y: 1.0 - y * y, of_result=True),
    "logistic": _by_slope(lambda y: y - y * y, of_result=True),
    "expm1": _by_slope(lambda y: 1.0 + y, of_result=True),
    "exp2": _by_slope(lambda y: math.log(2.0) * y, of_result=True),
    "log1p": _by_slope(lambda x: 1.0 / (1.0 + x)),
    "atan": _by_slope(lambda x: 1.0 / (1.0 + x * x)),
    "asin": _by_slope(lambda x: 1.0 / jnp.sqrt(1.0 - x * x)),
    "acos": _by_slope(lambda x: -1.0 / jnp.sqrt(1.0 - x * x)),
    "asinh": _by_slope(lambda x: 1.0 / jnp.sqrt(1.0 + x * x)),
    "acosh": _by_slope(lambda x: 1.0 / jnp.sqrt(x * x - 1.0)),
    "atanh": _by_slope(lambda x: 1.0 / (1.0 - x * x)),
    "erf": _by_slope(lambda x: 2.0 / math.sqrt(math.pi) * jnp.exp(-x * x)),
    "atan2": _angle,
    "max": _chosen(larger=True),
    "min": _chosen(larger=False),
    "abs": _absolute,
}
