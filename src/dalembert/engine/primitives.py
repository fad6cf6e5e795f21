"""Array primitives of JAX on arrays of operation numbers: arithmetic builds operations, structure moves numbers."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import UnsupportedByEngine
from .array_program import ArrayProgram
from .program import Program
from .ragged import joined, reduced

if TYPE_CHECKING:
    from .trace import Interpreter


class Nodes:
    """An array of operation numbers."""

    __slots__ = ("ids",)

    def __init__(self, ids: np.ndarray) -> None:
        self.ids = ids

    @property
    def shape(self):
        return self.ids.shape


Value = np.ndarray | Nodes
AnyProgram = Program | ArrayProgram


def ids_of(program: AnyProgram, value: Value) -> np.ndarray:
    return value.ids if isinstance(value, Nodes) else program.constants(value)


# -- arithmetic -----------------------------------------------------------------------------------------------


def _logistic(program: Program, x: int) -> int:
    return program.reciprocal(program.add(program.one, program.apply("exp", program.neg(x))))


def _one_minus_square(program: Program, x: int) -> int:
    """In derivatives of tanh, asin, acos and atanh, from JAX 0.11 on."""
    return program.mul(program.add(program.one, x), program.sub(program.one, x))


def _clamp(program: Program, low: int, x: int, high: int) -> int:
    return program.apply("min", program.apply("max", x, low), high)


def _square_root_reciprocal(program: Program, x: int) -> int:
    return program.reciprocal(program.apply("sqrt", x))


def _remainder(program: Program, a: int, b: int) -> int:
    quotient = program.div(a, b)
    toward_zero = program.select(
        program.apply("lt", quotient, program.zero),
        program.apply("ceil", quotient),
        program.apply("floor", quotient),
    )
    return program.sub(a, program.mul(b, toward_zero))


ELEMENTWISE: dict[str, Any] = {
    **{
        op: op
        for op in (
            *("add", "sub", "mul", "div", "neg", "max", "min", "abs", "sign", "sqrt", "cbrt", "exp", "exp2"),
            *(
                "expm1",
                "log",
                "log1p",
                "sin",
                "cos",
                "tan",
                "asin",
                "acos",
                "atan",
                "atan2",
                "sinh",
                "cosh",
                "tanh",
            ),
            *(
                "asinh",
                "acosh",
                "atanh",
                "floor",
                "ceil",
                "lt",
                "le",
                "gt",
                "ge",
                "eq",
                "ne",
                "and",
                "or",
                "xor",
            ),
            *("not", "pow"),
        )
    },
    "add_any": "add",
    "is_finite": "finite",
    "rsqrt": _square_root_reciprocal,
    "square": lambda program, x: program.mul(x, x),
    "one_minus_square": _one_minus_square,
    "logistic": _logistic,
    "clamp": _clamp,
    "rem": _remainder,
    "copy": lambda program, x: x,
    "copy_p": lambda program, x: x,
    "stop_gradient": lambda program, x: x,
    "optimization_barrier": lambda program, x: x,
    "real": lambda program, x: x,
}


def _integer_pow(interpreter: Interpreter, parameters, arguments, equation) -> Nodes:
    (x,) = arguments
    return interpreter.collect(lambda a: interpreter.program.power(a, parameters["y"]), [x.ids])


def _convert(interpreter: Interpreter, parameters, arguments, equation) -> Nodes:
    (x,) = arguments
    source, target = equation.invars[0].aval.dtype, np.dtype(parameters["new_dtype"])
    if source == target:
        return x
    program = interpreter.program
    whole = np.issubdtype(target, np.integer)
    if source == np.bool_ and (whole or np.issubdtype(target, np.floating)):
        return interpreter.collect(lambda a: program.select(a, program.one, program.zero), [x.ids])
    if np.issubdtype(source, np.integer) and (whole or target.itemsize >= 8):
        return x  # small whole numbers, exact as floats
    if np.issubdtype(target, np.floating) and np.issubdtype(source, np.floating) and target.itemsize >= 8:
        return x
    raise UnsupportedByEngine(f"conversion of a traced {source} to {target}")


def _select_n(interpreter: Interpreter, parameters, arguments, equation) -> Nodes:
    which, *cases = arguments
    program = interpreter.program
    cases = [ids_of(program, c) for c in cases]
    if not isinstance(which, Nodes):
        stacked = np.stack(np.broadcast_arrays(*cases))
        index = np.broadcast_to(which.astype(np.int64), stacked.shape[1:])
        return Nodes(np.take_along_axis(stacked, index[None], axis=0)[0])
    if len(cases) != 2:
        raise UnsupportedByEngine("select between more than two cases by a traced index")
    chosen = interpreter.collect(program.truth, [which.ids])
    arrays = np.broadcast_arrays(chosen.ids, cases[1], cases[0])
    return interpreter.collect(program.select, arrays)


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


def _cumulate(op: str) -> Callable:
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


def _scatter_add(interpreter: Interpreter, parameters, arguments, equation) -> Nodes:
    operand, indices, updates = arguments
    if isinstance(indices, Nodes):
        raise UnsupportedByEngine("scatter with an index that depends on the state")
    program = interpreter.program
    total, update_ids = ids_of(program, operand).ravel().copy(), ids_of(program, updates)
    waiting = np.ones(update_ids.size, dtype=bool)
    labels = np.arange(1, update_ids.size + 1).reshape(update_ids.shape)
    while waiting.any():  # entries that share a target are placed in later rounds
        candidates = np.where(waiting.reshape(update_ids.shape), labels, 0)
        placed = np.zeros(np.shape(getattr(operand, "ids", operand)), dtype=np.int64)
        placed = np.asarray(
            jax.lax.scatter_max_p.bind(placed, indices, candidates, **{**parameters, **_plain_update("max")})
        ).ravel()
        targets = np.nonzero(placed)[0]
        if len(targets) == 0:
            break  # what is left lies outside and is dropped
        sources = placed[targets] - 1
        total[targets] = interpreter.collect(program.add, [total[targets], update_ids.ravel()[sources]]).ids
        waiting[sources] = False
    return Nodes(total.reshape(np.shape(getattr(operand, "ids", operand))))


@functools.cache
def _plain_update(kind: str) -> dict:
    function = {"max": lambda a, b: jnp.maximum(a, b)}[kind]
    closed = jax.make_jaxpr(function)(jnp.zeros((), jnp.int64), jnp.zeros((), jnp.int64))
    return {
        "update_jaxpr": closed.jaxpr,
        "update_consts": (),
        "unique_indices": False,
        "indices_are_sorted": False,
    }


SPECIAL: dict[str, Callable] = {
    "integer_pow": _integer_pow,
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
    "scatter-add": _scatter_add,
    "scatter_add": _scatter_add,
}


# -- structure ------------------------------------------------------------------------------------------------


def _broadcast_in_dim(parameters, x, *dynamic):
    shape = [1] * len(parameters["shape"])
    for axis, target in enumerate(parameters["broadcast_dimensions"]):
        shape[target] = x.shape[axis]
    return np.broadcast_to(x.reshape(shape), parameters["shape"])


def _pad(parameters, x, fill):
    config = parameters["padding_config"]
    if any(low < 0 or high < 0 for low, high, _ in config):
        starts = [max(0, -int(low)) for low, _, _ in config]
        stops = [x.shape[k] - max(0, -int(high)) for k, (_, high, _) in enumerate(config)]
        if any(interior for _, _, interior in config):
            raise UnsupportedByEngine("negative and interior padding together")
        x = x[tuple(slice(a, b) for a, b in zip(starts, stops, strict=True))]
        config = [(max(0, low), max(0, high), 0) for low, high, _ in config]
    shape = [
        int(low + high + n + max(0, n - 1) * interior) for n, (low, high, interior) in zip(x.shape, config, strict=True)
    ]
    out = np.full(shape, fill)
    where = tuple(
        slice(int(low), int(low + n + max(0, n - 1) * interior), int(interior + 1))
        for n, (low, _, interior) in zip(x.shape, config, strict=True)
    )
    out[where] = x
    return out


def _slice(parameters, x):
    strides = parameters["strides"] or (1,) * x.ndim
    return x[tuple(map(slice, parameters["start_indices"], parameters["limit_indices"], strides))]


STRUCTURAL: dict[str, Callable] = {
    "reshape": lambda parameters, x, *dynamic: x.reshape(parameters["new_sizes"]),
    "transpose": lambda parameters, x: np.transpose(x, parameters["permutation"]),
    "squeeze": lambda parameters, x: np.squeeze(x, tuple(parameters["dimensions"])),
    "expand_dims": lambda parameters, x: np.expand_dims(x, tuple(parameters["dimensions"])),
    "rev": lambda parameters, x: np.flip(x, parameters["dimensions"]),
    "concatenate": lambda parameters, *xs: np.concatenate(xs, axis=parameters["dimension"]),
    "stack": lambda parameters, *xs: np.stack(xs, axis=parameters["axis"]),
    "tile": lambda parameters, x: np.tile(x, parameters["reps"]),
    "broadcast_in_dim": _broadcast_in_dim,
    "pad": _pad,
    "slice": _slice,
}

#: indexing primitives and which of their arguments are moved (the others are indices)
MOVES: dict[str, tuple[int, ...]] = {
    "gather": (0,),
    "dynamic_slice": (0,),
    "dynamic_update_slice": (0, 1),
    "scatter": (0, 2),
}


def _known_dot(parameters: dict, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`dot_general` of numbers: batch dimensions first, then what is left of the first, then of the second."""
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
    """As XLA has it: towards zero for integers, inf or NaN instead of a warning for the others."""
    with np.errstate(all="ignore"):
        if np.issubdtype(a.dtype, np.integer):
            return np.asarray(np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b)))
        return np.divide(a, b)


def _least(a: np.ndarray):
    return -np.inf if np.issubdtype(a.dtype, np.floating) else np.iinfo(a.dtype).min


def _largest(a: np.ndarray):
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
    "convert_element_type": lambda parameters, a: np.asarray(a).astype(parameters["new_dtype"]),
    "iota": lambda parameters: np.broadcast_to(
        np.arange(parameters["shape"][parameters["dimension"]], dtype=parameters["dtype"]).reshape(
            [-1 if k == parameters["dimension"] else 1 for k in range(len(parameters["shape"]))]
        ),
        parameters["shape"],
    ),
    "select_n": lambda _, which, *cases: np.choose(np.asarray(which).astype(np.int64), cases),
    "reduce_sum": lambda parameters, a: np.sum(a, axis=tuple(parameters["axes"])),
    "reduce_max": lambda parameters, a: np.max(a, axis=tuple(parameters["axes"]), initial=_least(a)),
    "reduce_min": lambda parameters, a: np.min(a, axis=tuple(parameters["axes"]), initial=_largest(a)),
    "add_any": lambda _, a, b: np.add(a, b),
    "integer_pow": lambda parameters, a: np.asarray(a) ** parameters["y"],
    "dot_general": _known_dot,
}
