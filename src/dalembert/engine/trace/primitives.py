"""Array primitives of JAX on arrays of operation numbers: arithmetic builds operations, structure moves numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from jax import lax

from ...errors import UnsupportedByEngine
from ..program.array_program import ArrayProgram
from ..program.columns import joined, reduced
from ..program.program import Program
from . import integers

if TYPE_CHECKING:
    from .interpreter import Interpreter


class Nodes:
    """An array of operation numbers."""

    __slots__ = ("ids",)

    def __init__(self, ids: np.ndarray) -> None:
        self.ids = np.asarray(ids)  # one entry out of an array of numpy is none

    @property
    def shape(self):
        return self.ids.shape


Value = np.ndarray | Nodes
AnyProgram = Program | ArrayProgram


def ids_of(program: AnyProgram, value: Value) -> np.ndarray:
    return value.ids if isinstance(value, Nodes) else program.constants(value)


# -- parameters -----------------------------------------------------------------------------------------------

#: how an operation is computed, where, and by what name; promises of the caller; rules for transformations that are
#: over when a function is translated
_NO_NUMBERS = frozenset(
    {
        *("sharding", "out_sharding", "in_shardings", "out_shardings", "in_layouts", "out_layouts", "ctx_mesh"),
        *("donated_invars", "keep_unused", "inline", "name", "compiler_options_kvs", "memory_space"),
        *("accuracy", "precision", "weak_type", "unroll", "linear", "_split_transpose"),
        *("indices_are_sorted", "unique_indices", "is_stable", "branches_platforms"),
        *("prevent_cse", "differentiated", "policy", "symbolic_zeros", "num_consts", "out_trees"),
        *("jvp_jaxpr_fun", "jvp_jaxpr_thunk", "fwd_jaxpr_thunk", "bwd", "bwd_fun", "fwd", "fwd_jaxpr"),
    }
)


class Parameters(dict):
    """The parameters of an operation of JAX, and which of them its translation has read. What it does not read it does
    not honour: it would mean another function. So every parameter must be read, or say nothing about the numbers, or
    say nothing at all."""

    def __init__(self, given: dict) -> None:
        super().__init__(given)
        self._read: set[str] = set()

    def __getitem__(self, name: str):
        self._read.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default=None):
        self._read.add(name)
        return super().get(name, default)

    def unread(self) -> list[str]:
        """The parameters that say something about the numbers and were not read."""
        left = self.keys() - self._read - _NO_NUMBERS
        return sorted(name for name in left if dict.__getitem__(self, name) is not None)

    def refuse_unread(self, operation: str) -> None:
        for name in self.unread():
            raise UnsupportedByEngine(f"the operation {operation!r} with {name} = {str(self[name])[:60]}")


# -- arithmetic -----------------------------------------------------------------------------------------------


def _logistic(program: Program, x: int) -> int:
    return program.reciprocal(program.add(program.one, program.apply("exp", program.neg(x))))


def _one_minus_square(program: Program, x: int) -> int:
    """In derivatives of tanh, asin, acos and atanh, from JAX 0.11 on."""
    return program.mul(program.add(program.one, x), program.sub(program.one, x))


def _clamp(program: Program, low: int, x: int, high: int) -> int:
    return program.apply("min", program.apply("max", x, low), high)


def _away_from_zero(program: Program, x: int) -> int:
    """Rounded, halves away from zero. (|x| + 1/2 would be rounded itself.)"""
    size = program.apply("abs", x)
    whole = program.apply("floor", size)
    up = program.apply("ge", program.sub(size, whole), integers.constant(program, 0.5))
    rounded = program.select(up, program.add(whole, program.one), whole)
    return program.select(program.apply("lt", x, program.zero), program.neg(rounded), rounded)


def _log_add_exp(program: Program, a: int, b: int) -> int:
    """log(exp a + exp b)."""
    apart = program.sub(a, b)
    small = program.apply("log1p", program.apply("exp", program.neg(program.apply("abs", apart))))
    total = program.add(program.apply("max", a, b), small)
    return program.select(program.apply("ne", apart, apart), program.add(a, b), total)  # of equal infinities


def _before(op: str) -> Callable:
    """Comparison in an order in which NaN comes last, as searches in tables use it."""

    def before(program: Program, a: int, b: int) -> int:
        last = program.apply("ne", b, b)
        if op == "lt":
            last = program.apply("and", last, program.apply("eq", a, a))
        return program.apply("or", program.apply(op, a, b), last)

    return before


def _square_root_reciprocal(program: Program, x: int) -> int:
    return program.reciprocal(program.apply("sqrt", x))


ELEMENTWISE: dict[str, Any] = {
    **{
        op: op
        for op in (
            *("add", "sub", "mul", "div", "rem", "neg", "max", "min", "abs", "sign", "sqrt", "cbrt", "exp", "exp2"),
            *("expm1", "log", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh"),
            *("asinh", "acosh", "atanh", "floor", "ceil", "lt", "le", "gt", "ge", "eq", "ne", "and", "or", "xor"),
            *("not", "pow", "erf", "erfc"),
        )
    },
    "add_any": "add",
    "lt_to": _before("lt"),
    "le_to": _before("le"),
    "is_finite": "finite",
    "rsqrt": _square_root_reciprocal,
    "square": lambda program, x: program.mul(x, x),
    "one_minus_square": _one_minus_square,
    "logistic": _logistic,
    "clamp": _clamp,
    "copy": lambda program, x: x,
    "copy_p": lambda program, x: x,
    "stop_gradient": lambda program, x: x,
    "optimization_barrier": lambda program, x: x,
}


def _integer_pow(interpreter: Interpreter, parameters, arguments, equation) -> Nodes:
    (x,) = arguments
    return interpreter.collect(lambda a: interpreter.program.power(a, parameters["y"]), [x.ids])


def _convert(interpreter: Interpreter, parameters, arguments, equation) -> Nodes:
    (x,) = arguments
    source, target = equation.invars[0].aval.dtype, np.dtype(parameters["new_dtype"])
    program = interpreter.program
    if source == target:
        return x
    if target == np.bool_:
        return interpreter.collect(lambda a: program.apply("ne", a, program.zero), [x.ids])
    whole = np.issubdtype(target, np.integer)
    if source == np.bool_ and (whole or target == np.float64):
        return interpreter.collect(lambda a: program.select(a, program.one, program.zero), [x.ids])
    if source == np.float64 and whole:
        return interpreter.elementwise(functools.partial(integers.from_float, kind=target), [x])
    if np.issubdtype(source, np.integer) and (whole or target == np.float64):
        return x  # whole numbers, exact as floats
    raise UnsupportedByEngine(f"conversion of a traced {source} to {target}")


def _round(interpreter: Interpreter, parameters, arguments, equation) -> Nodes:
    nearest_even = parameters["rounding_method"] == lax.RoundingMethod.TO_NEAREST_EVEN
    return interpreter.elementwise("round" if nearest_even else _away_from_zero, arguments)


def _select_n(interpreter: Interpreter, parameters, arguments, equation) -> Nodes:
    which, *cases = arguments
    program = interpreter.program
    cases = [ids_of(program, c) for c in cases]
    if not isinstance(which, Nodes):
        stacked = np.stack(np.broadcast_arrays(*cases))
        index = np.broadcast_to(which.astype(np.int64), stacked.shape[1:])
        return Nodes(np.take_along_axis(stacked, index[None], axis=0)[0])
    if len(cases) == 2:
        chosen = interpreter.collect(program.truth, [which.ids])
        return interpreter.collect(program.select, np.broadcast_arrays(chosen.ids, cases[1], cases[0]))
    found = Nodes(cases[-1])
    for k in range(len(cases) - 2, -1, -1):
        here = interpreter.elementwise("le", [which, np.array(float(k))])
        found = interpreter.collect(program.select, np.broadcast_arrays(here.ids, cases[k], found.ids))
    return found


#: the result for no entries at all
_NOTHING = {"add": 0.0, "mul": 1.0, "max": -np.inf, "min": np.inf, "and": True, "or": False}


def _reduce(op: str) -> Callable:
    def reduction(interpreter: Interpreter, parameters, arguments, equation) -> Nodes:
        (x,) = arguments
        axes = parameters["axes"]
        kept = [axis for axis in range(x.ids.ndim) if axis not in axes]
        shape = tuple(x.shape[a] for a in kept)
        length = int(np.prod([x.shape[a] for a in axes], dtype=int))
        count = int(np.prod(shape, dtype=int))
        rows = np.transpose(x.ids, [*kept, *axes]).reshape(count, length)
        program = interpreter.program
        empty = int(program.constants(np.array(_NOTHING[op])))
        if isinstance(program, ArrayProgram):
            flat = reduced(program, op, rows.ravel(), np.repeat(np.arange(count), length), count, empty)
        else:
            build = functools.partial(program.apply, op)
            flat = [functools.reduce(build, row) if row else empty for row in rows.tolist()]
        return Nodes(np.array(flat, dtype=np.int64).reshape(shape))

    return reduction


def _cumulate(op: str | Callable) -> Callable:
    def accumulation(interpreter: Interpreter, parameters, arguments, equation) -> Nodes:
        (x,) = arguments
        ids = np.moveaxis(x.ids, parameters["axis"], 0)
        ids = ids[::-1] if parameters["reverse"] else ids
        if len(ids) == 0:
            return x
        rows = [ids[0]]
        for row in ids[1:]:
            rows.append(interpreter.elementwise(op, [Nodes(rows[-1]), Nodes(row)]).ids)
        out = np.stack(rows)
        return Nodes(np.moveaxis(out[::-1] if parameters["reverse"] else out, 0, parameters["axis"]))

    return accumulation


def _dot_general(interpreter: Interpreter, parameters, arguments, equation) -> Nodes:
    (contract_a, contract_b), (batch_a, batch_b) = parameters["dimension_numbers"]
    if parameters.get("preferred_element_type") not in (None, np.float64):
        raise UnsupportedByEngine(f"a product of matrices in {parameters['preferred_element_type']}")
    a, b = (ids_of(interpreter.program, x) for x in arguments)
    free_a = [k for k in range(a.ndim) if k not in contract_a and k not in batch_a]
    free_b = [k for k in range(b.ndim) if k not in contract_b and k not in batch_b]
    shape = [a.shape[k] for k in (*batch_a, *free_a)] + [b.shape[k] for k in free_b]
    batches = int(np.prod([a.shape[k] for k in batch_a], dtype=int))
    length = int(np.prod([a.shape[k] for k in contract_a], dtype=int))
    count_a, count_b = (int(np.prod([x.shape[k] for k in free], dtype=int)) for x, free in ((a, free_a), (b, free_b)))
    rows_a = np.transpose(a, [*batch_a, *free_a, *contract_a]).reshape(batches, count_a, length)
    rows_b = np.transpose(b, [*batch_b, *free_b, *contract_b]).reshape(batches, count_b, length)
    program = interpreter.program
    if isinstance(program, ArrayProgram):
        return Nodes(_products(program, rows_a, rows_b).reshape(shape))
    zero, flat = program.zero, []
    for left_rows, right_rows in zip(rows_a.tolist(), rows_b.tolist(), strict=True):
        sparse_right = [{k: node for k, node in enumerate(row) if node != zero} for row in right_rows]
        for left in left_rows:
            pairs = [(k, node) for k, node in enumerate(left) if node != zero]
            for right in sparse_right:
                total = zero
                for k, node in pairs:
                    if k in right:
                        total = program.add(total, program.mul(node, right[k]))
                flat.append(total)
    return Nodes(np.array(flat, dtype=np.int64).reshape(shape))


def _products(program: ArrayProgram, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Sums over the last axis of a[batch, i, :] b[batch, j, :]; only products of two non-zeros are made."""
    (batches, rows, length), columns = a.shape, b.shape[1]
    batch_a, i, k_a = np.nonzero(a)
    batch_b, j, k_b = np.nonzero(b)
    left, right = joined(batch_a * length + k_a, batch_b * length + k_b, batches * length)
    terms = program.mul(a[batch_a, i, k_a][left], b[batch_b, j, k_b][right])
    targets = (batch_a[left] * rows + i[left]) * columns + j[right]
    return reduced(program, "add", terms, targets, batches * rows * columns, program.zero)


def _place(better: str) -> Callable:
    """The place of the largest (or smallest) entry along an axis, the first of equal ones; NaN is better than all."""

    def place(interpreter: Interpreter, parameters, arguments, equation) -> Nodes:
        (x,) = arguments
        (axis,) = parameters["axes"]
        parameters.get("index_dtype")
        program = interpreter.program

        def wins(a: int, b: int) -> int:
            unknown = program.apply("and", program.apply("ne", a, a), program.apply("eq", b, b))
            return program.apply("or", program.apply(better, a, b), unknown)

        rows = np.moveaxis(as_numbers(interpreter, x, equation).ids, axis, 0)
        best, at = Nodes(rows[0]), Nodes(program.constants(np.zeros(rows.shape[1:])))
        for k, row in enumerate(rows[1:], 1):
            here = interpreter.collect(wins, [row, best.ids])
            at = interpreter.collect(program.select, [here.ids, program.constants(np.full(at.shape, float(k))), at.ids])
            best = interpreter.collect(program.select, [here.ids, row, best.ids])
        return at

    return place


def as_numbers(interpreter: Interpreter, x: Nodes, equation) -> Nodes:
    """Truth values as the numbers 0 and 1."""
    if equation.invars[0].aval.dtype != np.bool_:
        return x
    program = interpreter.program
    return interpreter.collect(lambda a: program.select(a, program.one, program.zero), [x.ids])


SPECIAL: dict[str, Callable] = {
    "integer_pow": _integer_pow,
    "round": _round,
    "convert_element_type": _convert,
    "select_n": _select_n,
    "reduce_sum": _reduce("add"),
    "reduce_prod": _reduce("mul"),
    "reduce_max": _reduce("max"),
    "reduce_min": _reduce("min"),
    "reduce_and": _reduce("and"),
    "reduce_or": _reduce("or"),
    "cumsum": _cumulate("add"),
    "cumprod": _cumulate("mul"),
    "cummax": _cumulate("max"),
    "cummin": _cumulate("min"),
    "dot_general": _dot_general,
    "cumlogsumexp": _cumulate(_log_add_exp),
    "argmax": _place("gt"),
    "argmin": _place("lt"),
}
