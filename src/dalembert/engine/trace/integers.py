"""Whole numbers and truth values that depend on the state.

Operations are on floats. A whole number is a float without a fraction: exact up to 2^53, which indices and counts are,
and where its type is narrower it wraps around as there: x becomes x - 2^b floor((x - least) / 2^b).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import UnsupportedByEngine

#: operations of JAX that may leave the range of a type, and those whose exact result may not even be a float
_SUMS = frozenset({"add", "sub", "neg", "abs", "div", "reduce_sum", "cumsum", "add_any", "convert_element_type"})
_SUMS_AT = frozenset({"scatter-add", "scatter_add", "scatter-sub", "scatter_sub"})
_PRODUCTS = frozenset({"integer_pow", "pow", "square", "reduce_prod", "cumprod", "dot_general"})
_PRODUCTS_AT = frozenset({"scatter-mul", "scatter_mul"})


def constant(program: Any, number: float) -> int:
    return int(program.constants(np.array(number)))


def from_float(program: Any, x, kind: np.dtype):
    """Towards zero; the nearest whole number of the type where there is no other, zero for NaN."""
    limits = np.iinfo(kind)
    whole = program.select(program.apply("lt", x, program.zero), program.apply("ceil", x), program.apply("floor", x))
    low, high = (constant(program, float(limit)) for limit in (limits.min, limits.max))
    inside = program.apply("min", program.apply("max", whole, low), high)
    return program.select(program.apply("eq", x, x), inside, program.zero)


def _quotient(program: Any, a, b):
    """Towards zero; -1 for one divided by zero, as XLA has it."""
    ratio = program.div(a, b)
    whole = program.select(
        program.apply("lt", ratio, program.zero), program.apply("ceil", ratio), program.apply("floor", ratio)
    )
    return program.select(program.apply("eq", b, program.zero), constant(program, -1.0), whole)


def _remainder(program: Any, a, b):
    """With the sign of a; a where b is zero."""
    return program.select(program.apply("eq", b, program.zero), a, program.apply("rem", a, b))


def _opposite(program: Any, x):
    return program.apply("not", x)


#: elementwise operations that mean something else for whole numbers
WHOLE: dict[str, Callable] = {"div": _quotient, "rem": _remainder}
#: and for truth values
TRUTH: dict[str, Callable] = {
    "lt": lambda program, a, b: program.apply("and", _opposite(program, a), b),
    "le": lambda program, a, b: program.apply("or", _opposite(program, a), b),
    "gt": lambda program, a, b: program.apply("and", a, _opposite(program, b)),
    "ge": lambda program, a, b: program.apply("or", a, _opposite(program, b)),
    "max": lambda program, a, b: program.apply("or", a, b),
    "min": lambda program, a, b: program.apply("and", a, b),
}
#: what else there is for truth values, and what is there for truth values only
_ALSO_TRUTH = frozenset(
    {
        *("select_n", "convert_element_type", "reduce_and", "reduce_or", "argmax", "argmin", "copy", "copy_p"),
        *("optimization_barrier", "stop_gradient", "eq", "ne"),
    }
)
_LOGIC = frozenset({"and", "or", "xor", "not", "reduce_and", "reduce_or", "reduce_xor"})


def translation(name: str, kinds: list[np.dtype]) -> Callable | None:
    """How an elementwise operation on whole numbers or truth values is translated, if not as for floats; what has no
    translation is refused."""
    kind = kinds[0]
    if kind == np.bool_:
        if name in TRUTH:
            return TRUTH[name]
        if name in _LOGIC or name in _ALSO_TRUTH:
            return None
        raise UnsupportedByEngine(f"the operation {name!r} on truth values that depend on the state")
    if np.issubdtype(kind, np.integer):
        if name in _LOGIC or (kind == np.uint64 and name in _SUMS | _SUMS_AT | _PRODUCTS | _PRODUCTS_AT | {"mul"}):
            raise UnsupportedByEngine(f"the operation {name!r} on numbers of type {kind} that depend on the state")
        if name == "mul" and kind.itemsize == 4:
            return functools.partial(_product, kind=kind)
        return WHOLE.get(name)
    raise UnsupportedByEngine(f"numbers of type {kind} that depend on the state")


def _product(program: Any, a, b, kind: np.dtype):
    """a b for 32 bits: with a = 2^16 a' + a'' no part has more than 2^53."""
    two_16 = constant(program, 2.0**16)
    upper = program.apply("floor", program.div(a, two_16))
    lower = program.sub(a, program.mul(two_16, upper))
    shifted = program.mul(two_16, wrapped(program, program.mul(upper, b), kind))
    return wrapped(program, program.add(shifted, program.mul(lower, b)), kind)


def wrapped(program: Any, x, kind: np.dtype):
    """x as a number of a type of at most 32 bits."""
    limits = np.iinfo(kind)
    low, count = (constant(program, float(n)) for n in (limits.min, int(limits.max) - int(limits.min) + 1))
    turns = program.apply("floor", program.div(program.sub(x, low), count))
    return program.sub(x, program.mul(count, turns))


def wraps(name: str, kind: np.dtype) -> bool:
    """Whether results of this type have to be brought back into its range."""
    if not np.issubdtype(kind, np.integer) or kind.itemsize == 8:
        return False
    if name in _PRODUCTS or name in _PRODUCTS_AT:
        raise UnsupportedByEngine(f"the operation {name!r} on numbers of type {kind} that depend on the state")
    return name in _SUMS or name in _SUMS_AT or (name == "mul" and kind.itemsize < 4)
