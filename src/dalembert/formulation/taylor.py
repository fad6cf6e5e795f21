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
from jax.extend import core as jex
from jax.interpreters import partial_eval

from ..errors import MethodDoesNotFit
from .deferred_function import IN_JAX, Arithmetic

#: A coefficient; None is zero.
Coefficient = Any
#: The coefficients of one number or array, as far as they are known.
Series = list[Coefficient]


class Along:
    """The Taylor coefficients of a traced function along a curve in its arguments, and of everything on the way."""

    def __init__(self, arithmetic: Arithmetic, jaxpr, consts: Sequence) -> None:
        # without what is computed and not used: a gradient computes its function too
        self._jaxpr, _ = partial_eval.dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars), instantiate=True)
        self._series: dict[Any, Series] = {v: [value] for v, value in zip(jaxpr.constvars, consts, strict=True)}
        self._operations = [_Operation(arithmetic, equation) for equation in self._jaxpr.eqns]
        self._order = -1  # that was asked for last

    @classmethod
    def of(cls, function: Callable, *like, arithmetic: Arithmetic = IN_JAX) -> Along:
        """For a function of arguments that have the shapes of `like`."""
        closed = jax.make_jaxpr(function)(*(jax.ShapeDtypeStruct(np.shape(one), np.float64) for one in like))
        return cls(arithmetic, closed.jaxpr, closed.consts)

    def coefficient(self, k: int, *arguments: Coefficient) -> Coefficient:
        """Coefficient k of the one result from coefficients k of the arguments; all lower ones were given before."""
        (result,) = self.coefficients(k, arguments)
        return result

    def coefficients(self, k: int, arguments: Sequence[Coefficient]) -> list[Coefficient]:
        """Coefficients k of all results. What does not change where they are given again is not computed again."""
        again, self._order = k == self._order, k
        changed = set()
        for variable, value in zip(self._jaxpr.invars, arguments, strict=True):
            self._put(variable, k, value, changed)
        for operation in self._operations:
            if again and changed.isdisjoint(operation.variables):
                continue
            found = operation.coefficients(k, [self._read(atom) for atom in operation.equation.invars])
            for variable, value in zip(operation.equation.outvars, found, strict=True):
                self._put(variable, k, value, changed)
        return [_at(self._read(atom), k) for atom in self._jaxpr.outvars]

    def _put(self, variable, k: int, value: Coefficient, changed: set) -> None:
        series = self._series.setdefault(variable, [])
        if k >= len(series) or series[k] is not value:
            changed.add(variable)
        del series[k:]
        series.append(value)

    def _read(self, atom) -> Series:
        return [np.asarray(atom.val)] if isinstance(atom, jex.Literal) else self._series[atom]


class _Operation:
    """One operation of a function; keeps what it needs beside its result: functions inside it, the cosine of a sine."""

    def __init__(self, arithmetic: Arithmetic, equation) -> None:
        self.arithmetic, self.equation, self.kept = arithmetic, equation, {}
        self.variables = {atom for atom in equation.invars if not isinstance(atom, jex.Literal)}
        self.same = len(equation.invars) == 2 and equation.invars[0] is equation.invars[1]

    def evaluate(self, *values) -> Sequence:
        """The operation itself."""
        return self.arithmetic.evaluate(self.equation, values)

    def coefficients(self, k: int, operands: list[Series]) -> Sequence[Coefficient]:
        equation, kept = self.equation, self.kept
        name = equation.primitive.name
        if name in _CALLS:
            if "function" not in kept:
                kept["function"] = Along(self.arithmetic, *_called(equation.params))
            return kept["function"].coefficients(k, [_at(series, k) for series in operands])
        if any(jnp.issubdtype(atom.aval.dtype, jnp.complexfloating) for atom in equation.outvars):
            raise MethodDoesNotFit(
                f"no Taylor series is known for complex numbers, which the operation {name!r} of this system gives. "
                "Write it with real numbers, or use a method without Taylor series, such as da.Galerkin."
            )
        if k == 0:
            kept["result"] = [[value] for value in self.evaluate(*(series[0] for series in operands))]
            return [series[0] for series in kept["result"]]
        if name in _FLAT or all(_at(series, i) is None for series in operands for i in range(1, k + 1)):
            return [None] * len(equation.outvars)
        if name in _MOVING:
            moved = self._moved(k, operands, _MOVING[name])
            return [None] * len(equation.outvars) if moved is None else moved
        if name not in _RULES:
            raise MethodDoesNotFit(
                f"no Taylor series is known for the operation {name!r} in this system. Expected sums, products, "
                "quotients, powers and elementary functions of t, q and v; rewrite it with those, or use a method "
                "without Taylor series, such as da.Galerkin or da.gauss_spark."
            )
        (result,) = kept["result"]
        del result[k:]
        result.append(_RULES[name](k, self, operands, result))
        return [result[k]]

    def _moved(self, k: int, operands: list[Series], linear: Sequence[int]) -> Sequence[Coefficient] | None:
        """An operation that is linear, of the coefficients of one order; None where they are zero."""
        if all(_at(series, k) is None for place, series in enumerate(operands) if place in linear):
            return None
        values = []
        for place, series in enumerate(operands):
            value = _at(series, k) if place in linear else series[0]
            values.append(np.zeros(np.shape(series[0])) if value is None else value)
        return self.evaluate(*values)

    def inside(self, name: str, function: Callable, *like) -> Along:
        """A function that a rule needs beside its own, with its coefficients."""
        if name not in self.kept:
            self.kept[name] = Along.of(function, *like, arithmetic=self.arithmetic)
        return self.kept[name]

    # -- sums of coefficients, of which some are zero

    def plus(self, a: Coefficient, b: Coefficient) -> Coefficient:
        if a is None or b is None:
            return b if a is None else a
        return self.arithmetic.add(a, b)

    def minus(self, a: Coefficient, b: Coefficient) -> Coefficient:
        if b is None:
            return a
        return self.arithmetic.neg(b) if a is None else self.arithmetic.sub(a, b)

    def over(self, a: Coefficient, b) -> Coefficient:
        return None if a is None else self.arithmetic.div(a, b)

    def times(self, factor, a: Coefficient) -> Coefficient:
        return None if a is None else self.arithmetic.mul(factor, a)

    def convolved(
        self, a: Series, b: Series, orders: Iterable[int], k: int, *, weights: Sequence[Any] | None = None,
        dimensions=None,
    ) -> Coefficient:  # fmt: skip
        """sum_i weights_i a_i b_(k-i) over some orders i, as one contraction of stacked coefficients.

        The highest orders come last: they are known last, and the others need not wait for them. `dimensions` are
        those of `dot_general` where the product is not elementwise.
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
            left = [self.arithmetic.mul(factor, one) for factor, one in zip(factors, left, strict=True)]
        if dimensions is None and np.shape(left[0]) != np.shape(right[0]):
            shape = np.broadcast_shapes(np.shape(left[0]), np.shape(right[0]))
            left, right = ([self.arithmetic.broadcast_to(one, shape) for one in side] for side in (left, right))
        stacked = self.arithmetic.stack(left)
        axes = list(range(1, len(np.shape(stacked))))
        if numbers and any(factor != 1.0 for factor in factors):
            stacked = self.arithmetic.mul(np.reshape(np.array(factors), (-1,) + (1,) * len(axes)), stacked)
        (in_left, in_right), (batch_left, batch_right) = dimensions or (((), ()), ([k - 1 for k in axes],) * 2)
        summed = [0, *(k + 1 for k in in_left)], [0, *(k + 1 for k in in_right)]
        batch = [k + 1 for k in batch_left], [k + 1 for k in batch_right]
        return self.arithmetic.dot_general(stacked, self.arithmetic.stack(right), (summed, batch))

    def chain(self, k: int, x: Series, slope: Series) -> Coefficient:
        """y_k where y' = slope x'."""
        orders = range(1, k + 1)
        return self.convolved(x, slope, orders, k, weights=[i / k for i in orders])


def _at(series: Series, k: int) -> Coefficient:
    return series[k] if k < len(series) else None


_CALLS = frozenset({
    "jit", "pjit", "closed_call", "core_call", "remat", "checkpoint", "remat2", "custom_jvp_call", "custom_vjp_call",
    "custom_vjp_call_jaxpr",
})  # fmt: skip
#: operations with steps: their value does not change along a curve
_FLAT = frozenset({
    "lt", "le", "gt", "ge", "eq", "ne", "and", "or", "xor", "not", "sign", "floor", "ceil", "round", "is_finite",
    "argmax", "argmin",
})  # fmt: skip
_ALL = range(1_000_000)
#: operations linear in all of some operands together; the others are indices and conditions
_MOVING: dict[str, Sequence[int]] = {
    **dict.fromkeys(
        (
            *("add", "sub", "add_any", "neg", "reshape", "transpose", "squeeze", "expand_dims", "broadcast_in_dim"),
            *("slice", "rev", "reduce_sum", "cumsum", "copy", "copy_p", "convert_element_type", "reduce_precision"),
            *("concatenate", "stack", "tile", "pad", "split", "unstack", "device_put", "optimization_barrier"),
            "stop_gradient",  # which stops derivatives by the state, not the change along the motion
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


def _called(parameters: dict) -> tuple:
    closed: Any = parameters.get("jaxpr") or parameters.get("call_jaxpr") or parameters.get("fun_jaxpr")
    return (closed.jaxpr, closed.consts) if hasattr(closed, "consts") else (closed, ())


# -- rules ----------------------------------------------------------------------------------------------------------


def _product(k: int, here: _Operation, operands: list[Series], result: Series, dimensions=None) -> Coefficient:
    """The ends a_0 b_k + a_k b_0 come last: without what is not known yet, the rest is the same sum."""
    a, b = operands
    if here.same:
        return _squared(k, here, a, dimensions)
    inner = here.convolved(a, b, range(1, k), k, dimensions=dimensions)
    ends = None if _at(b, k) is None else here.evaluate(a[0], b[k])[0]
    ends = here.plus(ends, None if _at(a, k) is None else here.evaluate(a[k], b[0])[0])
    return here.plus(inner, ends)


def _squared(k: int, here: _Operation, a: Series, dimensions=None) -> Coefficient:
    """The product of a series with itself, elementwise unless the dimensions of a contraction are given."""

    def product(one, other):
        return here.arithmetic.mul(one, other) if dimensions is None else here.evaluate(one, other)[0]

    half = range(1, (k + 1) // 2)
    inner = product(a[k // 2], a[k // 2]) if k % 2 == 0 and a[k // 2] is not None else None
    inner = here.plus(inner, here.convolved(a, a, half, k, weights=[2.0] * len(half), dimensions=dimensions))
    return here.plus(inner, None if _at(a, k) is None else product(here.times(2.0, a[0]), a[k]))


def _dot(k, here, operands, result):
    dimensions = (in_a, in_b), (batch_a, batch_b) = here.equation.params["dimension_numbers"]
    whole = len(np.shape(operands[0][0])) == len(in_a) + len(batch_a)
    here.same = here.same and whole and (tuple(in_a), tuple(batch_a)) == (tuple(in_b), tuple(batch_b))
    return _product(k, here, operands, result, dimensions)


def _square(k, here, operands, result):
    return _squared(k, here, operands[0])


def _quotient(k, here, operands, result):
    a, b = operands
    return here.over(here.minus(_at(a, k), here.convolved(b, result, range(1, k + 1), k)), b[0])


def _exponential(k, here, operands, result):
    return here.chain(k, operands[0], result)


def _logarithm(k, here, operands, result):
    (x,) = operands
    orders = range(1, k)
    known = here.convolved(result, x, orders, k, weights=[i / k for i in orders])
    return here.over(here.minus(_at(x, k), known), x[0])


def _root(k, here, operands, result):
    (x,) = operands
    return here.over(here.minus(_at(x, k), _squared(k, here, result[:k])), here.times(2.0, result[0]))


def _power(k, here, operands, result):
    x, exponent = operands
    if any(_at(exponent, i) is not None for i in range(1, k + 1)):
        return _rewritten(lambda x, c: jnp.exp(c * jnp.log(x)))(k, here, operands, result)
    return _of_constant_power(k, here, x, result, exponent[0])


def _of_constant_power(k: int, here: _Operation, x: Series, result: Series, c) -> Coefficient:
    """x^c: k x_0 y_k = sum_(i>0) (c i - (k - i)) x_i y_(k-i)."""
    orders, arithmetic = range(1, k + 1), here.arithmetic
    if isinstance(c, np.ndarray | float) and np.ndim(c) == 0:
        weights = [float((c * i - (k - i)) / k) for i in orders]
    else:
        weights = [arithmetic.div(arithmetic.sub(arithmetic.mul(float(i), c), float(k - i)), float(k)) for i in orders]
    return here.over(here.convolved(x, result, orders, k, weights=weights), x[0])


def _whole_power(k, here, operands, result):
    n = here.equation.params["y"]
    if n == 2:
        return _square(k, here, operands, result)

    def power(x):
        """By squares and products: the recurrence of `_of_constant_power` would divide by x."""
        factors, square, left = [], x, abs(n)
        while left:
            factors += [square] * (left % 2)
            left //= 2
            square = square * square if left else square
        total = functools.reduce(lambda a, b: a * b, factors)
        return total if n > 0 else 1.0 / total

    return _rewritten(power)(k, here, operands, result)


def _sine(sign_of_cosine: float, other_function: Callable, first: bool) -> Callable:
    """sin and cos, sinh and cosh: two series that are each other's slopes. `first`: the result is the sine."""

    def rule(k, here, operands, result):
        (x,) = operands
        if "other" not in here.kept:
            here.kept["other"] = here.inside("other function", other_function, x[0]).coefficients(0, [x[0]])
        other = here.kept["other"]
        del other[k:]
        other_slope = here.chain(k, x, result)  # of the other series, up to its sign
        own = here.chain(k, x, other)
        sign_own, sign_other = (1.0, sign_of_cosine) if first else (sign_of_cosine, 1.0)
        other.append(here.times(sign_other, other_slope))
        return here.times(sign_own, own)

    return rule


def _by_slope(slope: Callable, of_result: bool = False) -> Callable:
    """f from its derivative, a function of x, or of f(x) itself."""

    def rule(k, here, operands, result):
        (x,) = operands
        argument = result if of_result else x
        inner = here.inside("slope", slope, argument[0])
        series = here.kept.setdefault("slopes", [])
        del series[k - 1 :]
        series += inner.coefficients(k - 1, [_at(argument, k - 1)])
        return here.chain(k, x, series)

    return rule


def _rewritten(function: Callable) -> Callable:
    """By other operations."""

    def rule(k, here, operands, result):
        inner = here.inside("rewritten", function, *(series[0] for series in operands))
        first = len(here.kept.setdefault("orders", []))
        for order in (*range(first, k), k):
            (value,) = inner.coefficients(order, [_at(series, order) for series in operands])
        here.kept["orders"] = list(range(k + 1))
        return value

    return rule


def _angle(k, here, operands, result):
    """atan2(y, x): (x y' - y x') / (x^2 + y^2)."""
    y, x = operands
    parts = []
    for name, one, slope in (
        ("by y", y, lambda y, x: x / (x * x + y * y)),
        ("by x", x, lambda y, x: -y / (x * x + y * y)),
    ):
        inner, series = here.inside(name, slope, y[0], x[0]), here.kept.setdefault(f"{name}: coefficients", [])
        del series[k - 1 :]
        series += inner.coefficients(k - 1, [_at(y, k - 1), _at(x, k - 1)])
        parts.append(here.chain(k, one, series))
    return here.plus(*parts)


def _by_first(function: Callable) -> Callable:
    """Linear in coefficients k, but which of them, or with which sign, is a matter of coefficients 0."""

    def rule(k, here, operands, result):
        values = [_at(series, k) for series in operands]
        values = [np.zeros(np.shape(result[0])) if value is None else value for value in values]
        first = [series[0] for series in operands]
        (value,) = here.inside("by first", function, *first, *values).coefficients(0, [*first, *values])
        return value

    return rule


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
    "cbrt": lambda k, here, operands, result: _of_constant_power(k, here, operands[0], result, 1 / 3),
    "rsqrt": lambda k, here, operands, result: _of_constant_power(k, here, operands[0], result, -0.5),
    "sin": _sine(-1.0, jnp.cos, first=True),
    "cos": _sine(-1.0, jnp.sin, first=False),
    "sinh": _sine(1.0, jnp.cosh, first=True),
    "cosh": _sine(1.0, jnp.sinh, first=False),
    "tan": _by_slope(lambda y: 1.0 + y * y, of_result=True),
    "tanh": _by_slope(lambda y: 1.0 - y * y, of_result=True),
    "one_minus_square": _by_slope(lambda x: -2.0 * x),
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
    "max": _by_first(lambda a, b, a_k, b_k: jnp.where(a >= b, a_k, b_k)),
    "min": _by_first(lambda a, b, a_k, b_k: jnp.where(a <= b, a_k, b_k)),
    "abs": _by_first(lambda x, x_k: jnp.sign(x) * x_k),
}
