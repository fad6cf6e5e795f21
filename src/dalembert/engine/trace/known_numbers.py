"""Known numbers in a traced function: computed while it is traced, with numpy where that is the same as XLA's.

The first call of every operation costs XLA milliseconds. What a function here does not read of the parameters of an
operation it does not know; XLA computes the operation then.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from .gather import gather, missing_entry
from .primitives import Parameters
from .structure import STRUCTURAL


def evaluate_known(equation, arguments: list) -> list:
    """The results of an operation whose arguments are all known."""
    quick = QUICK.get(equation.primitive.name)
    if quick is not None and all(isinstance(a, np.ndarray) for a in arguments):
        parameters = Parameters(equation.params)
        with np.errstate(all="ignore"):
            result = np.asarray(quick(parameters, *arguments))
        if not parameters.unread():
            return [result]
    with jax.ensure_compile_time_eval():  # also while something else is traced
        results = equation.primitive.bind(*arguments, **equation.params)
    return [as_known(r) for r in (results if equation.primitive.multiple_results else [results])]


def as_known(value):
    """An array of numpy; keys of random numbers stay what they are."""
    if isinstance(value, np.ndarray):
        return value
    kind = getattr(value, "dtype", np.dtype(np.float64))
    return value if jnp.issubdtype(kind, jax.dtypes.extended) else np.asarray(value)


def _known_dot(parameters: dict, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`dot_general` of numbers: batch dimensions first, then what is left of the first, then of the second."""
    kind = parameters.get("preferred_element_type")
    if kind is not None:
        a, b = a.astype(kind), b.astype(kind)
    (in_a, in_b), (batch_a, batch_b) = parameters["dimension_numbers"]
    fresh = itertools.count()
    labels = {("a", k): next(fresh) for k in range(a.ndim)}
    partner = dict(zip([*in_b, *batch_b], [*in_a, *batch_a], strict=True))
    labels |= {("b", k): labels["a", partner[k]] if k in partner else next(fresh) for k in range(b.ndim)}
    left = [("a", k) for k in range(a.ndim) if k not in (*in_a, *batch_a)]
    left += [("b", k) for k in range(b.ndim) if k not in partner]
    shown = [labels[axis] for axis in [*(("a", k) for k in batch_a), *left]]
    return np.einsum(
        a, [labels["a", k] for k in range(a.ndim)], b, [labels["b", k] for k in range(b.ndim)], shown
    )  # fmt: skip


def _quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """As XLA has it: towards zero for integers, with all bits set for one divided by zero."""
    if np.issubdtype(a.dtype, np.integer):
        towards_zero = np.asarray(np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b)))
        return np.where(b == 0, ~np.zeros((), a.dtype), towards_zero)
    return np.divide(a, b)


def _converted(a: np.ndarray, to: np.dtype) -> np.ndarray:
    """As XLA has it: a number beyond the whole ones becomes the nearest of them, NaN becomes zero."""
    if not (np.issubdtype(a.dtype, np.floating) and np.issubdtype(to, np.integer)):
        return a.astype(to)
    limits, inside = np.iinfo(to), np.nan_to_num(np.trunc(a), nan=0.0, posinf=np.inf, neginf=-np.inf)
    beyond = [inside <= float(limits.min), inside >= float(limits.max)]
    return np.select(beyond, [np.array(limits.min, to), np.array(limits.max, to)], inside.astype(to)).astype(to)


def _least(a: np.ndarray):
    if a.dtype == np.bool_:
        return False
    return -np.inf if np.issubdtype(a.dtype, np.floating) else np.iinfo(a.dtype).min


def _largest(a: np.ndarray):
    if a.dtype == np.bool_:
        return True
    return np.inf if np.issubdtype(a.dtype, np.floating) else np.iinfo(a.dtype).max


#: known numbers without a detour through XLA, whose first call costs milliseconds
QUICK: dict[str, Callable] = {
    **{name: move for name, move in STRUCTURAL.items()},
    "add": lambda _, a, b: np.add(a, b),
    "sub": lambda _, a, b: np.subtract(a, b),
    "mul": lambda _, a, b: np.multiply(a, b),
    "div": lambda _, a, b: _quotient(a, b),
    "neg": lambda _, a: -a,
    "abs": lambda _, a: np.abs(a),
    "sign": lambda _, a: np.sign(a),
    "square": lambda _, a: np.multiply(a, a),
    "max": lambda _, a, b: np.maximum(a, b),
    "min": lambda _, a, b: np.minimum(a, b),
    "lt": lambda _, a, b: np.less(a, b),
    "ge": lambda _, a, b: np.greater_equal(a, b),
    "gt": lambda _, a, b: np.greater(a, b),
    "le": lambda _, a, b: np.less_equal(a, b),
    "eq": lambda _, a, b: np.equal(a, b),
    "ne": lambda _, a, b: np.not_equal(a, b),
    "convert_element_type": lambda parameters, a: _converted(np.asarray(a), parameters["new_dtype"]),
    "iota": lambda parameters: np.broadcast_to(
        np.arange(parameters["shape"][parameters["dimension"]], dtype=parameters["dtype"]).reshape(
            [-1 if k == parameters["dimension"] else 1 for k in range(len(parameters["shape"]))]
        ),
        parameters["shape"],
    ),
    "select_n": lambda _, which, *cases: np.choose(np.asarray(which).astype(np.int64), cases),
    "reduce_sum": lambda parameters, a: np.sum(a, axis=tuple(parameters["axes"]), dtype=a.dtype),
    "reduce_max": lambda parameters, a: np.max(a, axis=tuple(parameters["axes"]), initial=_least(a)),
    "reduce_min": lambda parameters, a: np.min(a, axis=tuple(parameters["axes"]), initial=_largest(a)),
    "add_any": lambda _, a, b: np.add(a, b),
    "integer_pow": lambda parameters, a: np.asarray(a) ** parameters["y"],
    "dot_general": _known_dot,
    "gather": lambda parameters, a, indices: gather(
        a, indices, parameters, missing_entry(parameters["fill_value"], a.dtype)
    ).astype(a.dtype),
}
