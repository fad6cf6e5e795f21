"""Walking through a traced function: the operations of a jaxpr on arrays of operation numbers.

Arrays in flight are either ordinary numpy arrays (known numbers) or `Nodes` (numbers of operations). Structural
primitives move numbers around; arithmetic ones build operations. What has no translation raises
`UnsupportedByEngine`, and the caller takes the XLA engine instead.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend import core as jex

from ...errors import UnsupportedByEngine
from ..program.array_program import ArrayProgram
from . import integers, lookup, matrices, writing
from .gather import gather, missing_entry
from .known_numbers import QUICK, as_known, evaluate_known
from .primitives import ELEMENTWISE, SPECIAL, AnyProgram, Nodes, Parameters, Value, ids_of
from .structure import MOVES, STRUCTURAL

UNROLL_LIMIT = 20_000


def entries_of(program: AnyProgram, forms: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(row, j, operation) of the non-zero coefficients of linear forms."""
    if isinstance(program, ArrayProgram):
        return program.entries(forms)
    found = [(i, j, node) for i, form in enumerate(forms.tolist()) for j, node in program.form(form).items()]
    rows, columns, nodes = np.array(found, dtype=np.int64).reshape(-1, 3).T
    return rows, columns, nodes


def _live(jaxpr, wanted: Sequence[bool] | None = None) -> list[tuple[Any, list[bool]]]:
    """The equations whose results are used, and which of these are; a gradient computes its function too and drops it.
    Of the outputs only those that are `wanted` count."""
    outputs = (
        jaxpr.outvars if wanted is None else [atom for atom, use in zip(jaxpr.outvars, wanted, strict=True) if use]
    )
    used = {atom for atom in outputs if not isinstance(atom, jex.Literal)}
    live = []
    for equation in reversed(jaxpr.eqns):
        uses = [atom in used for atom in equation.outvars]
        if equation.effects or any(uses):
            live.append((equation, uses))
            used.update(atom for atom in equation.invars if not isinstance(atom, jex.Literal))
    return live[::-1]


class Interpreter:
    def __init__(self, program: AnyProgram) -> None:
        self.program: Any = program  # both kinds have the same methods, of numbers or of arrays of numbers

    def run(
        self, jaxpr, consts: Sequence, inputs: Sequence[Value], wanted: Sequence[bool] | None = None
    ) -> list[Value]:
        """The results of a traced function; anything for those that are not wanted."""
        environment: dict = {}

        def read(atom) -> Value:
            return as_known(atom.val) if isinstance(atom, jex.Literal) else environment[atom]

        environment.update(zip(jaxpr.constvars, [_known(c) for c in consts], strict=True))
        environment.update(zip(jaxpr.invars, inputs, strict=True))
        for equation, uses in _live(jaxpr, wanted):
            arguments = [read(atom) for atom in equation.invars]
            results = self.evaluate(equation, arguments, uses)
            environment.update(zip(equation.outvars, results, strict=True))
        wanted = [True] * len(jaxpr.outvars) if wanted is None else wanted
        return [read(atom) if use else _UNWANTED for atom, use in zip(jaxpr.outvars, wanted, strict=True)]

    def call(
        self, jaxpr, consts: Sequence, arguments: Sequence[Value], wanted: Sequence[bool] | None = None
    ) -> list[Value]:
        """As `run`; but a function that is called again with the same arguments, as by residual and end of a step, or a
        matrix for the next right side, is not run again."""
        given = [_known(value) for value in (*consts, *arguments)]
        key = (id(jaxpr), None if wanted is None else tuple(wanted), *map(_identity, given))
        calls = self.program.calls
        if key not in calls:
            calls[key] = jaxpr, self.run(jaxpr, consts, arguments, wanted)  # while it is kept, its id is its own
        return calls[key][1]

    def evaluate(self, equation, arguments: list[Value], uses: Sequence[bool] | None = None) -> list[Value]:
        """The results of an operation of JAX, of which only those are asked that it `uses`."""
        name, parameters = equation.primitive.name, Parameters(equation.params)
        results: list[Value]
        known = not any(isinstance(a, Nodes) for a in arguments)
        if name in FUNCTIONS:
            results = _closed_call(self, parameters, arguments, uses)
        elif name in CALLS and not (known and name in LINEAR_ALGEBRA):
            results = CALLS[name](self, parameters, arguments)
        elif known:
            return evaluate_known(equation, arguments)
        else:
            results = [self._translated(name, equation, parameters, arguments)]
        if any(out.aval.size for out in equation.outvars):  # what has no entries says nothing, whatever its parameters
            parameters.refuse_unread(name)
        return results

    def _translated(self, name: str, equation, parameters: Parameters, arguments: list[Value]) -> Nodes:
        if len(equation.outvars) != 1:  # those with several results are calls
            raise UnsupportedByEngine(f"the operation {name!r}, for which it has no rule")
        kind = equation.outvars[0].aval.dtype
        if any(jnp.issubdtype(v.aval.dtype, jax.dtypes.extended) for v in (*equation.invars, *equation.outvars)):
            raise UnsupportedByEngine(f"the operation {name!r} with keys of random numbers and the state")
        if np.issubdtype(kind, np.inexact) and kind != np.float64:
            raise UnsupportedByEngine(f"the operation {name!r} with a result of type {kind}")
        if name in STRUCTURAL:
            return self.structural(STRUCTURAL[name], parameters, arguments)
        if name in MOVES:
            return self.moved_by_jax(equation, parameters, arguments)
        if name not in ELEMENTWISE and name not in SPECIAL and name not in writing.SCATTERS:
            raise UnsupportedByEngine(f"the operation {name!r}, for which it has no rule")
        kinds = [atom.aval.dtype for atom in equation.invars]
        otherwise = None if kinds[0] == np.float64 else integers.translation(name, kinds)
        if otherwise is not None or name in ELEMENTWISE:
            found = self.elementwise(otherwise or ELEMENTWISE[name], arguments)
        else:
            found = (SPECIAL | writing.SCATTERS)[name](self, parameters, arguments, equation)
        if kind != np.float64 and integers.wraps(name, kind):
            return self.elementwise(functools.partial(integers.wrapped, kind=kind), [found])
        return found

    def elementwise(self, op: str | Callable, arguments: list[Value]) -> Nodes:
        arrays = np.broadcast_arrays(*[ids_of(self.program, a) for a in arguments])
        build = (
            functools.partial(self.program.apply, op) if isinstance(op, str) else functools.partial(op, self.program)
        )
        return self.collect(build, arrays)

    def collect(self, build: Callable, arrays: Sequence[np.ndarray]) -> Nodes:
        if self.program.in_arrays:
            return Nodes(np.asarray(build(*arrays), dtype=np.int64))
        flat = [build(*scalars) for scalars in zip(*[a.ravel().tolist() for a in arrays], strict=True)]
        return Nodes(np.array(flat, dtype=np.int64).reshape(arrays[0].shape))

    def structural(self, move: Callable, parameters: dict, arguments: list[Value]) -> Nodes:
        return Nodes(np.asarray(move(parameters, *[ids_of(self.program, a) for a in arguments])))

    def moved_by_jax(self, equation, parameters: Parameters, arguments: list[Value]) -> Nodes:
        """Indexing primitives: JAX itself moves the operation numbers where the indices are known numbers."""
        name = equation.primitive.name
        operands = MOVES[name]
        moved = [ids_of(self.program, a) if k in operands else a for k, a in enumerate(arguments)]
        if name == "scatter" and parameters["update_jaxpr"] is not None:  # `x.at[i].apply(f)`
            raise UnsupportedByEngine("the operation 'scatter' with a function of what is there")
        by_state = any(isinstance(a, Nodes) for k, a in enumerate(arguments) if k not in operands)
        if by_state and name == "dynamic_slice":
            return lookup.sliced(self, np.asarray(moved[0]), arguments[1:], parameters)
        if by_state and name == "dynamic_update_slice":
            return lookup.updated(self, np.asarray(moved[0]), np.asarray(moved[1]), arguments[2:])
        if by_state and name == "scatter":
            return writing.written(self, None, arguments, parameters)
        if name == "gather":
            fill = missing_entry(parameters["fill_value"], equation.invars[0].aval.dtype)
            missing = int(self.program.constants(np.array(fill)))
            if isinstance(moved[1], Nodes):
                return lookup.looked_up(self, np.asarray(moved[0]), moved[1], parameters, missing)
            return Nodes(gather(np.asarray(moved[0]), np.asarray(moved[1]), parameters, missing).astype(np.int64))
        given = {key: parameters[key] for key in parameters}
        with jax.ensure_compile_time_eval():  # also while something else is traced
            return Nodes(np.asarray(equation.primitive.bind(*moved, **given)).astype(np.int64))

    def solution(self, matrix, consts: Sequence, known: Sequence[Value], right: Value) -> Value:
        """x with matrix(*known, x) = right, eliminated on operations; the function of that jaxpr is linear in x."""
        forms = self._forms_of(matrix, consts, known, [right])
        return Nodes(self._eliminated(forms, ids_of(self.program, right)))

    def pivoted_solution(self, matrix, consts: Sequence, known: Sequence[Value], right: Sequence[Value]) -> list[Value]:
        """The same for several arrays, with row exchanges by the state where the system falls apart into small ones."""
        program = self.program
        forms = self._forms_of(matrix, consts, known, right)
        pieces = [ids_of(program, value) for value in right]
        flat = np.concatenate([piece.ravel() for piece in pieces])
        found = matrices.solved(self, entries_of(program, forms), len(flat), flat)
        found = self._eliminated(forms, flat) if found is None else found
        ends = np.cumsum([piece.size for piece in pieces])
        parts = np.split(found, ends[:-1])
        return [Nodes(part.reshape(piece.shape)) for part, piece in zip(parts, pieces, strict=True)]

    def _forms_of(self, matrix, consts: Sequence, known: Sequence[Value], right: Sequence[Value]) -> np.ndarray:
        """The rows of a matrix, given as a function of unknowns shaped like `right`, as linear forms."""
        program = self.program
        shapes = [np.shape(getattr(value, "ids", value)) for value in right]
        sizes = [math.prod(shape) for shape in shapes]
        size = sum(sizes)
        if size not in program.calls:  # the same forms for all right sides
            program.calls[size] = program.differentials(size)
        parts = np.split(program.calls[size], np.cumsum(sizes)[:-1])
        unknowns = [Nodes(part.reshape(shape)) for part, shape in zip(parts, shapes, strict=True)]
        rows = self.call(matrix, consts, [*known, *unknowns])
        return np.concatenate([ids_of(program, row).ravel() for row in rows])

    def _eliminated(self, forms: np.ndarray, right: np.ndarray) -> np.ndarray:
        if self.program.linear_systems is None:
            raise UnsupportedByEngine(f"a linear system of {len(forms)} unknowns outside of the equations of a step")
        return self.program.linear_systems.solution(forms, right)


#: In the place of a result that nobody asked for.
_UNWANTED = np.zeros(0)


def _known(value) -> Value:
    return value if isinstance(value, Nodes) else as_known(value)


def _identity(value: Value) -> tuple:
    numbers = value.ids if isinstance(value, Nodes) else value
    if not isinstance(numbers, np.ndarray):
        numbers = np.asarray(jax.random.key_data(numbers))
    return isinstance(value, Nodes), numbers.dtype.char, numbers.shape, numbers.tobytes()


# -- calls and control flow -----------------------------------------------------------------------------------


def _closed_call(interpreter: Interpreter, parameters, arguments, uses=None) -> list:
    closed = parameters.get("jaxpr") or parameters.get("call_jaxpr") or parameters.get("fun_jaxpr")
    jaxpr, consts = (closed.jaxpr, closed.consts) if hasattr(closed, "consts") else (closed, ())
    return interpreter.call(jaxpr, consts, arguments, uses)


def _split(interpreter: Interpreter, parameters, arguments) -> list:
    (x,) = arguments
    ids = x.ids if isinstance(x, Nodes) else x
    pieces = np.split(ids, np.cumsum(parameters["sizes"])[:-1], axis=parameters["axis"])
    return [Nodes(piece) if isinstance(x, Nodes) else piece for piece in pieces]


def _unstack(interpreter: Interpreter, parameters, arguments) -> list:
    (x,) = arguments
    pieces = np.moveaxis(x.ids if isinstance(x, Nodes) else x, parameters["axis"], 0)
    return [Nodes(piece) if isinstance(x, Nodes) else as_known(piece) for piece in pieces]


def _sort(interpreter: Interpreter, parameters, arguments) -> list:
    if any(isinstance(a, Nodes) for a in arguments):
        return lookup.sort(interpreter, parameters, arguments)
    axis, keys = parameters["dimension"], parameters["num_keys"]
    with jax.ensure_compile_time_eval():
        results = lax.sort(tuple(arguments), dimension=axis, is_stable=True, num_keys=keys)
    return [np.asarray(result) for result in results]


def _cond(interpreter: Interpreter, parameters, arguments) -> list:
    index, *operands = arguments
    branches = parameters["branches"]
    if not isinstance(index, Nodes):
        chosen = branches[int(np.clip(index, 0, len(branches) - 1))]
        return interpreter.run(chosen.jaxpr, chosen.consts, operands)
    program = interpreter.program
    chosen, *others = [interpreter.run(branch.jaxpr, branch.consts, operands) for branch in branches]
    for k, other in enumerate(others):
        if len(others) == 1:  # the truth value that the index was made of
            later = interpreter.collect(program.truth, [index.ids])
        else:
            later = interpreter.elementwise("gt", [index, np.array(float(k))])
        pairs = zip(other, chosen, strict=True)
        chosen = [interpreter.elementwise(program.__class__.select, [later, *pair]) for pair in pairs]
    return chosen


def _scan(interpreter: Interpreter, parameters, arguments) -> list:
    closed, length = parameters["jaxpr"], parameters["length"]
    if length > UNROLL_LIMIT:
        raise UnsupportedByEngine(f"a loop of {length} passes")
    n_consts, n_carry = parameters["num_consts"], parameters["num_carry"]
    consts, carry, sequences = (
        arguments[:n_consts],
        arguments[n_consts : n_consts + n_carry],
        arguments[n_consts + n_carry :],
    )
    collected: list[list] = []
    order = range(length - 1, -1, -1) if parameters["reverse"] else range(length)
    for k in order:
        items = [Nodes(s.ids[k]) if isinstance(s, Nodes) else as_known(s[k]) for s in sequences]
        results = interpreter.run(closed.jaxpr, closed.consts, [*consts, *carry, *items])
        carry = results[:n_carry]
        collected.append(results[n_carry:])
    if parameters["reverse"]:
        collected.reverse()
    if not collected:
        return [*carry, *(np.zeros((0, *aval.shape), aval.dtype) for aval in closed.out_avals[n_carry:])]
    return [*carry, *(_stacked(interpreter, column) for column in zip(*collected, strict=True))]


def _stacked(interpreter: Interpreter, values: Sequence[Value]) -> Value:
    if any(isinstance(value, Nodes) for value in values):
        return Nodes(np.stack([ids_of(interpreter.program, value) for value in values]))
    return np.stack([np.asarray(value) for value in values])


def _while(interpreter: Interpreter, parameters, arguments) -> list:
    n_cond, n_body = parameters["cond_nconsts"], parameters["body_nconsts"]
    cond_consts, body_consts = arguments[:n_cond], arguments[n_cond : n_cond + n_body]
    carry = arguments[n_cond + n_body :]
    condition, body = parameters["cond_jaxpr"], parameters["body_jaxpr"]
    for _ in range(UNROLL_LIMIT):
        (go_on,) = interpreter.run(condition.jaxpr, condition.consts, [*cond_consts, *carry])
        goes_on = _known_truths(interpreter, go_on)
        if not np.any(goes_on):
            return carry
        after = interpreter.run(body.jaxpr, body.consts, [*body_consts, *carry])
        # under vmap one loop stands for many, which end one after the other
        if not np.all(goes_on):
            after = [_where(interpreter, goes_on, *pair) for pair in zip(after, carry, strict=True)]
        carry = after
    raise UnsupportedByEngine(f"a loop of more than {UNROLL_LIMIT} passes")


def _known_truths(interpreter: Interpreter, value: Value) -> np.ndarray:
    """Which loops go on, one or an array of them."""
    if not isinstance(value, Nodes):
        return np.asarray(value)
    numbers = [interpreter.program.number(node) for node in value.ids.ravel().tolist()]
    if any(number is None for number in numbers):
        raise UnsupportedByEngine("a loop whose length depends on the state")
    return np.array(numbers, dtype=bool).reshape(value.shape)


def _where(interpreter: Interpreter, chosen: np.ndarray, one: Value, other: Value) -> Value:
    """Entries of one array or of another; `chosen` has their leading axes."""
    mask = chosen.reshape(chosen.shape + (1,) * (len(one.shape) - chosen.ndim))
    if isinstance(one, Nodes) or isinstance(other, Nodes):
        return Nodes(np.where(mask, ids_of(interpreter.program, one), ids_of(interpreter.program, other)))
    with jax.ensure_compile_time_eval():  # also while something else is traced; keys of random numbers are JAX's
        either: Any = np.where if isinstance(one, np.ndarray) else jnp.where
        return either(mask, one, other)


def _linear_solve(interpreter: Interpreter, parameters, arguments) -> list:
    """Solved on operations (see `matrices.py` and `linear_systems.py`), whatever solver the function brings along."""
    matrix, lengths = parameters["jaxprs"].matvec, parameters["const_lengths"]
    known, right = arguments[: lengths.matvec], arguments[sum(lengths) :]
    return interpreter.pivoted_solution(matrix.jaxpr, matrix.consts, known, right)


class _OnOperations:
    """What functions that are written out late are written in: here directly in operations, not first in JAX's."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter

    def _elementwise(self, name: str, *values) -> Value:
        values = [value if isinstance(value, Nodes) else np.asarray(value) for value in values]
        if any(isinstance(value, Nodes) for value in values):
            return self._interpreter.elementwise(ELEMENTWISE[name], values)
        return np.asarray(QUICK[name]({}, *values))

    def _structural(self, name: str, values: Sequence[Value], **parameters) -> Value:
        if any(isinstance(value, Nodes) for value in values):
            return self._interpreter.structural(STRUCTURAL[name], parameters, list(values))
        return np.asarray(STRUCTURAL[name](parameters, *values))

    add, sub = functools.partialmethod(_elementwise, "add"), functools.partialmethod(_elementwise, "sub")
    mul, div = functools.partialmethod(_elementwise, "mul"), functools.partialmethod(_elementwise, "div")
    neg = functools.partialmethod(_elementwise, "neg")

    def stack(self, values: Sequence[Value]) -> Value:
        return self._structural("stack", values, axis=0)

    def concatenate(self, values: Sequence[Value]) -> Value:
        return self._structural("concatenate", values, dimension=0)

    def part(self, a: Value, first: int, last: int) -> Value:
        return Nodes(a.ids[first:last]) if isinstance(a, Nodes) else a[first:last]

    def broadcast_to(self, a: Value, shape: tuple[int, ...]) -> Value:
        return Nodes(np.broadcast_to(a.ids, shape)) if isinstance(a, Nodes) else np.broadcast_to(a, shape)

    def dot_general(self, a: Value, b: Value, dimension_numbers) -> Value:
        parameters = {"dimension_numbers": dimension_numbers}
        if isinstance(a, Nodes) or isinstance(b, Nodes):
            return SPECIAL["dot_general"](self._interpreter, parameters, [a, b], None)
        return np.asarray(QUICK["dot_general"](parameters, a, b))

    def evaluate(self, equation, values: Sequence[Value]) -> Sequence[Value]:
        return self._interpreter.evaluate(equation, list(values))

    def solution(self, matrix, known: Sequence[Value], right: Value) -> Value:
        return self._interpreter.solution(matrix, known, (), right)


def _late_function(interpreter: Interpreter, parameters, arguments) -> list:
    parameters.get("shapes")  # the results have them
    return parameters["write"](_OnOperations(interpreter), *arguments)


#: computed like any other operation where all is known
LINEAR_ALGEBRA: dict[str, Callable] = {"custom_linear_solve": _linear_solve, **matrices.FACTORISATIONS}

#: Calls of a function; only those of its results are computed that are used.
FUNCTIONS = (
    *("jit", "pjit", "closed_call", "core_call", "remat", "checkpoint", "remat2"),
    *("custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr"),
)
CALLS: dict[str, Callable] = {
    **dict.fromkeys(FUNCTIONS, _closed_call),
    "cond": _cond,
    **LINEAR_ALGEBRA,
    "late_function": _late_function,
    "scan": _scan,
    "while": _while,
    "sort": _sort,
    "split": _split,
    "unstack": _unstack,
}

#: operations that JAX can differentiate whatever their parameters are; others perhaps
DIFFERENTIATED = frozenset(
    {*ELEMENTWISE, *SPECIAL, *STRUCTURAL, *MOVES, *CALLS, "scatter-add", "scatter-sub", "iota"}
) - {*("scatter", "custom_vjp_call", "custom_vjp_call_jaxpr")}
