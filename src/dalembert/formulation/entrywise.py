"""Whether a function acts on every entry of its argument alone: phi_k(a) = phi_k(a_k) for all k.

The operations of the function are followed with the entry that each number depends on in the place of the number. What
only moves numbers (slices, reshapes, concatenations) moves these entries; arithmetic joins them; whatever else touches
a number that depends on an entry counts as depending on several. So the answer True is certain, and False may be
cautious.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Literal

#: The entry of a number that depends on none, or on several.
NONE, SEVERAL = -1, -2
_MOVES = frozenset({
    "slice", "concatenate", "reshape", "transpose", "squeeze", "broadcast_in_dim", "rev", "stack", "copy",
})  # fmt: skip
_ARITHMETIC = frozenset({
    "add", "add_any", "sub", "mul", "div", "neg", "abs", "sign", "square", "sqrt", "rsqrt", "cbrt", "pow",
    "integer_pow", "exp", "exp2", "expm1", "log", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh",
    "cosh", "tanh", "asinh", "acosh", "atanh", "logistic", "erf", "max", "min", "lt", "le", "gt", "ge", "eq", "ne",
    "and", "or", "not", "select_n", "convert_element_type", "stop_gradient", "is_finite",
})  # fmt: skip
_CALLS = ("jaxpr", "call_jaxpr")


def acts_entrywise(phi: Callable, a) -> bool:
    """Whether phi, from (r,) to (r,), is a function of one entry in each entry."""
    closed, shape = jax.make_jaxpr(phi, return_shape=True)(a)
    if not isinstance(shape, jax.ShapeDtypeStruct) or shape.shape != np.shape(a) or len(shape.shape) != 1:
        return False
    own = np.arange(shape.shape[0])
    (found,) = _follow(closed.jaxpr, [own])
    return bool(np.all((found == own) | (found == NONE)))


def affine_entries(phi: Callable, a) -> np.ndarray:
    """Which entries of an entrywise phi are affine, phi_k(a) = b_k + c_k a_k, (r,): their slope depends on nothing."""
    closed = jax.make_jaxpr(lambda z: jax.jvp(phi, (z,), (jnp.ones_like(z),))[1])(a)
    (found,) = _follow(closed.jaxpr, [np.arange(np.shape(a)[0])])
    return found == NONE


def _follow(jaxpr: Any, arguments: list[np.ndarray]) -> list[np.ndarray]:
    """The entries that the results of a jaxpr depend on; its constants depend on none."""
    entries = dict(zip(jaxpr.invars, arguments, strict=True))

    def read(atom: Any) -> np.ndarray:
        known = None if isinstance(atom, Literal) else entries.get(atom)
        shape: tuple[int, ...] = getattr(atom.aval, "shape", ())
        return np.full(shape, NONE) if known is None else known

    for equation in jaxpr.eqns:
        results = _results(equation, [read(atom) for atom in equation.invars])
        entries.update(zip(equation.outvars, results, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _results(equation: Any, operands: list[np.ndarray]) -> list[np.ndarray]:
    name, shapes = equation.primitive.name, [result.aval.shape for result in equation.outvars]
    if all(np.all(operand == NONE) for operand in operands):
        return [np.full(shape, NONE) for shape in shapes]
    if name in _MOVES:
        with jax.ensure_compile_time_eval():
            return [np.asarray(equation.primitive.bind(*operands, **equation.params))]
    if name in _ARITHMETIC:
        joined = operands[0]
        for operand in operands[1:]:
            joined = _joined(joined, operand)
        return [np.broadcast_to(joined, shape) for shape in shapes]
    for key in _CALLS:
        inner = equation.params.get(key)
        if inner is not None:
            return _follow(getattr(inner, "jaxpr", inner), operands)
    return [np.full(shape, SEVERAL) for shape in shapes]


def _joined(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    first, second = np.broadcast_arrays(first, second)
    same = (first == second) | (second == NONE)
    return np.where(same, first, np.where(first == NONE, second, SEVERAL))
