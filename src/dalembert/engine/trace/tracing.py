"""From a JAX function to operations with their derivatives: what the rest of the engine asks of this folder.

A function is traced by JAX to a jaxpr, which the interpreter walks through. Its Jacobian follows from linear forms in
dx_j, pushed forward through the operations. With dz the form of an operation z = f(a, b)::

    dz = f_a da + f_b db,        d x_j = dx_j

JAX would write the same derivative as a function, which takes it some tens of microseconds an operation, to be
translated after that. What JAX means by a derivative is kept: where a function has one of its own (`jax.custom_jvp`,
`jax.lax.stop_gradient`), or an operation has a kink for which there is no rule here, it is JAX that differentiates.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, jaxpr_as_fun

from ..program.array_program import ArrayProgram
from ..program.program import BOOLEAN, CONST, INPUT, LINEAR, Program
from ..tuning import tuning
from .interpreter import LINEAR_ALGEBRA, Interpreter
from .primitives import AnyProgram, Nodes, ids_of


def trace(program: AnyProgram, function: Callable | ClosedJaxpr, *inputs: np.ndarray | Nodes) -> np.ndarray:
    """Operations of `function(*inputs)`, a flat array; inputs are operation numbers, one array an argument."""
    return interpreted(program, traced(function, *inputs), *inputs)


def traced(function: Callable | ClosedJaxpr, *inputs: np.ndarray | Nodes) -> ClosedJaxpr:
    """What JAX makes of a function of float64 arrays with the shapes of the inputs; itself, if that was done."""
    if isinstance(function, ClosedJaxpr):
        return function
    structs = [jax.ShapeDtypeStruct(np.shape(getattr(x, "ids", x)), jnp.float64) for x in inputs]
    return jax.make_jaxpr(function)(*structs)


def interpreted(program: AnyProgram, closed: ClosedJaxpr, *inputs: np.ndarray | Nodes) -> np.ndarray:
    """Operations of a traced function, a flat array."""
    values = [x if isinstance(x, Nodes) else Nodes(np.asarray(x, dtype=np.int64)) for x in inputs]
    outputs = Interpreter(program).run(closed.jaxpr, closed.consts, values)
    return np.concatenate([ids_of(program, out).ravel() for out in outputs] or [np.zeros(0, np.int64)])


def trace_with_jacobian(
    program: Program, function: Callable | ClosedJaxpr, x: np.ndarray, *inputs: np.ndarray
) -> tuple[np.ndarray, list[dict[int, int]]]:
    """Operations of `function(x, *inputs)` and, for each output, the non-zero derivatives {j: operation} by x_j."""
    values, forms = _pushed_forward(program, function, x, *inputs)
    return values, [program.form(node) for node in forms.tolist()]


def trace_with_entries(
    program: ArrayProgram, function: Callable | ClosedJaxpr, x: np.ndarray, *inputs: np.ndarray
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """The same for a program in arrays; the derivatives as (output, j, operation), sorted by output."""
    values, forms = _pushed_forward(program, function, x, *inputs)
    return values, program.entries(forms)


def _pushed_forward(program: AnyProgram, function: Callable | ClosedJaxpr, x, *inputs) -> tuple[np.ndarray, np.ndarray]:
    """Values and their linear forms in dx, whose coefficients are the Jacobian: by the rules of operations or, where
    these are not what JAX means, by one forward-mode trace with a symbolic tangent."""
    closed = traced(function, x, *inputs)
    if differentiable(closed.jaxpr):
        values = interpreted(program, closed, x, *inputs)
        with contextlib.suppress(NoRule):
            return values, pushed_forward(program, np.asarray(x), values)

    def pushed(x, dx, *rest):
        return jax.jvp(lambda x: jaxpr_as_fun(closed)(x, *rest)[0], (x,), (dx,))

    nodes = trace(program, pushed, x, Nodes(program.differentials(len(x))), *inputs)
    half = len(nodes) // 2
    return nodes[:half], nodes[half:]


def suits_arrays(closed: ClosedJaxpr) -> bool:
    """Whether a traced function is translated sooner in arrays than number by number: it has large arrays as arguments,
    and its operations are on large ones."""
    if sum(aval.size for aval in closed.in_avals) <= tuning().in_arrays_from:
        return False
    operations, numbers = _extent(closed.jaxpr)
    return numbers > tuning().numbers_an_array * operations


def _extent(jaxpr) -> tuple[int, int]:
    """How many operations a traced function has, and how many numbers these make."""
    operations = numbers = 0
    for equation in jaxpr.eqns:
        turns = equation.params.get("length", 1) if equation.primitive.name == "scan" else 1
        inner = [
            value for value in jax.tree.leaves(list(equation.params.values()), is_leaf=_is_jaxpr) if _is_jaxpr(value)
        ]
        for value in inner:
            more, of_these = _extent(value.jaxpr if isinstance(value, ClosedJaxpr) else value)
            operations, numbers = operations + turns * more, numbers + turns * of_these
        if not inner:
            operations, numbers = operations + 1, numbers + sum(out.aval.size for out in equation.outvars)
    return operations, numbers


def _is_jaxpr(value) -> bool:
    return isinstance(value, ClosedJaxpr | Jaxpr)


# -- derivatives ----------------------------------------------------------------------------------------------------

#: Primitives whose derivative is not that of the operations into which they are translated.
OF_THEIR_OWN = frozenset(
    {
        *("custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr", "stop_gradient", "custom_linear_solve"),
        *("late_function", "max", "min", "clamp", "reduce_max", "reduce_min", "cummax", "cummin", "rem"),
        *("lu", "lu_pivots_to_permutation", "triangular_solve", "cholesky", "sort", "round", "reduce_prod", "cumprod"),
    }
)


class NoRule(Exception):
    """An operation is JAX's to differentiate."""


def differentiable(jaxpr: Jaxpr) -> bool:
    """Whether the derivative of a traced function is that of the operations into which it is translated."""
    return OF_THEIR_OWN.isdisjoint(operations_of(jaxpr))


def solves_nothing(jaxpr: Jaxpr) -> bool:
    """Whether there are no linear systems inside a traced function, which are eliminated for samples."""
    return {"late_function", *LINEAR_ALGEBRA}.isdisjoint(operations_of(jaxpr))


def operations_of(jaxpr: Jaxpr) -> Iterator[str]:
    """The names of all operations of a traced function, and of the functions it calls."""
    for one in jaxpr.eqns:
        yield one.primitive.name
        for value in jax.tree.leaves(list(one.params.values()), is_leaf=lambda x: isinstance(x, Jaxpr)):
            if isinstance(value, ClosedJaxpr | Jaxpr):
                yield from operations_of(value.jaxpr if isinstance(value, ClosedJaxpr) else value)


# -- rules: the program, the operation and its arguments, their forms ------------------------------------------


def _product(program, z, arguments, forms):
    (a, b), (da, db) = arguments, forms
    return program.add(program.mul(b, da), program.mul(a, db))


def _quotient(program, z, arguments, forms):
    (_, b), (da, db) = arguments, forms
    return program.mul(program.reciprocal(b), program.sub(da, program.mul(z, db)))


def _chosen(program, z, arguments, forms):
    return program.select(arguments[0], forms[1], forms[2])


def _angle(program, z, arguments, forms):
    (y, x), (dy, dx) = arguments, forms
    inverse = program.reciprocal(program.add(program.mul(x, x), program.mul(y, y)))
    return program.mul(inverse, program.sub(program.mul(x, dy), program.mul(y, dx)))


def _power(program, z, arguments, forms):
    (a, b), (da, _) = arguments, forms
    slope = program.apply("pow", a, program.sub(b, program.one))
    return program.mul(program.mul(b, slope), da)


def _of_one(slope: Callable) -> Callable:
    """The rule of a function of one number with the slope `slope(program, z, a)`."""

    def rule(program, z, arguments, forms):
        return program.mul(slope(program, z, arguments[0]), forms[0])

    return rule


def _one_minus_square(program, a):
    return program.mul(program.add(program.one, a), program.sub(program.one, a))


def _one_plus_square(program, a):
    return program.add(program.one, program.mul(a, a))


def _root(program, a):
    return program.apply("sqrt", a)


RULES: dict[str, Callable] = {
    "add": lambda program, z, arguments, forms: program.add(*forms),
    "sub": lambda program, z, arguments, forms: program.sub(*forms),
    "neg": lambda program, z, arguments, forms: program.neg(*forms),
    "mul": _product,
    "div": _quotient,
    "select": _chosen,
    "atan2": _angle,
    "pow": _power,
    "abs": _of_one(lambda program, z, a: program.apply("sign", a)),
    "sqrt": _of_one(lambda program, z, a: program.reciprocal(program.add(z, z))),
    "exp": _of_one(lambda program, z, a: z),
    "expm1": _of_one(lambda program, z, a: program.add(z, program.one)),
    "log": _of_one(lambda program, z, a: program.reciprocal(a)),
    "log1p": _of_one(lambda program, z, a: program.reciprocal(program.add(a, program.one))),
    "sin": _of_one(lambda program, z, a: program.apply("cos", a)),
    "cos": _of_one(lambda program, z, a: program.neg(program.apply("sin", a))),
    "tan": _of_one(lambda program, z, a: _one_plus_square(program, z)),
    "asin": _of_one(lambda program, z, a: program.reciprocal(_root(program, _one_minus_square(program, a)))),
    "acos": _of_one(
        lambda program, z, a: program.neg(program.reciprocal(_root(program, _one_minus_square(program, a))))
    ),
    "atan": _of_one(lambda program, z, a: program.reciprocal(_one_plus_square(program, a))),
    "sinh": _of_one(lambda program, z, a: program.apply("cosh", a)),
    "cosh": _of_one(lambda program, z, a: program.apply("sinh", a)),
    "tanh": _of_one(lambda program, z, a: _one_minus_square(program, z)),
    "asinh": _of_one(lambda program, z, a: program.reciprocal(_root(program, _one_plus_square(program, a)))),
    "atanh": _of_one(lambda program, z, a: program.reciprocal(_one_minus_square(program, a))),
}
#: Operations that do not change, but for jumps.
STEPS = BOOLEAN | {"sign", "floor", "ceil"}


def pushed_forward(program: AnyProgram, x: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """The linear forms of some operations in the differentials of the inputs x; raises `NoRule`."""
    if isinstance(program, ArrayProgram):
        return _in_arrays(program, x, outputs)
    forms = dict(zip(x.tolist(), program.differentials(len(x)).tolist(), strict=True))
    zero = program.zero
    for node in program.needed(outputs.tolist()):
        op, arguments = program.op[node], program.args[node]
        own = [forms.get(a, zero) for a in arguments]
        if op in STEPS or all(form == zero for form in own):
            continue
        forms[node] = _ruled(program, op, node, arguments, own, program.op[arguments[-1]] == CONST)
    return np.array([forms.get(node, zero) for node in outputs.tolist()], dtype=np.int64)


def _ruled(program: AnyProgram, op: str, node, arguments, forms, constant: bool):
    """The form of an operation by its rule; a power has one where its exponent is `constant`."""
    if op not in RULES or (op == "pow" and not constant):
        raise NoRule(op)
    return RULES[op](program, node, arguments, forms)


def _in_arrays(program: ArrayProgram, x: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    needed = program.needed(outputs)
    forms = np.full(len(program), program.zero, np.int64)
    forms[x] = program.differentials(len(x))
    for op, group in program.batches(needed):
        if op in (CONST, INPUT) or op in STEPS:
            continue
        if op == LINEAR:
            raise NoRule(op)
        arguments = [a for a in program.arguments(group) if a[0] >= 0]
        own = [forms[a] for a in arguments]
        changes = np.logical_or.reduce([form != program.zero for form in own])
        if changes.any():
            some = [a[changes] for a in arguments], [form[changes] for form in own]
            constant = all(program.number(int(a)) is not None for a in some[0][-1]) if op == "pow" else True
            forms[group[changes]] = _ruled(program, op, group[changes], *some, constant)
    return forms[outputs]
