"""A run as an operation of JAX, with its own derivatives and batches: all of them run in compiled code.

    run        (state, t0, h, theta)              -> saved states, iterations, status, steps taken, number of the record
    tangent    (..., number; their dots)          -> how the saved states move; linear in the dots
    adjoint    (..., number; bar of the saved)    -> the bars of (state, t0, h, theta); linear in the bar

The tangent is the derivative of the run, the adjoint the transpose of the tangent, the tangent the transpose of the
adjoint. Second derivatives are first derivatives of the run of a pair (s, sdot): a step that is twice as large
(`with_tangent`). XLA calls back to the compiled code, outside a traced function it is called directly. Records stay
beside JAX (`records.py`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from ...errors import InconsistentStart, StepFailure
from ...interruption import raised_afterwards
from ..contract import OK, STATUS, StepFunctions
from .calls import ARGUMENTS, Call, each_member
from .members import Batch, Together, side_by_side
from .programs import paired, parted, with_tangent
from .recorded import Differentiable, Grid, differentiable
from .records import NONE, Records

#: the arguments of a derivative that are not linear in it: these, and the number of the record
KNOWN = ARGUMENTS + 1


class AnyTask(Protocol):
    """What an operation has to know of a run: a `Task`, or a run of another kind that can be differentiated."""

    @property
    def functions(self) -> Any: ...
    @property
    def grid(self) -> Grid: ...
    @property
    def strict(self) -> bool: ...
    @property
    def message(self) -> str: ...
    @property
    def step(self) -> Any: ...
    @property
    def in_vectors(self) -> bool:
        """Whether members of a batch can be taken side by side."""
        ...

    def with_tangent(self) -> AnyTask:
        """The run of a state and its tangent."""
        ...


class Task(NamedTuple):
    """What is run, and how: known before any number is."""

    functions: StepFunctions
    compensated: bool
    grid: Grid
    strict: bool  # a step that fails raises an error
    message: str = ""  # of starting values, which are found by a step: what it says if they are not

    @property
    def step(self) -> Differentiable:
        return differentiable(self.functions, self.compensated)

    @property
    def in_vectors(self) -> bool:
        """Whether members of a batch can be taken side by side."""
        return self.grid.sizes is None

    def with_tangent(self) -> Task:
        """The run of the pair (s, sdot)."""
        return self._replace(functions=with_tangent(self.functions))


def native_run(task: AnyTask, state, t0, h, parameters) -> tuple:
    """Saved states (saves + 1, n_state), the start first, iterations, status and steps taken, of a run whose arguments
    may be traced."""
    arguments = [jnp.asarray(part, jnp.float64) for part in (state, t0, h, parameters)]
    return tuple(_run.bind(*arguments, task=task, record=False, members=None, batched=(False,) * ARGUMENTS))[:4]


# -- in numbers -------------------------------------------------------------------------------------------------------


def _run_numbers(task: AnyTask, record: bool, state, t0, h, parameters) -> tuple:
    found = task.step.run(state, float(t0), float(h), parameters, task.grid, record=record)
    if found.status != OK and task.message:
        raise InconsistentStart(task.message)
    if found.status != OK and task.strict:
        k, t = found.taken + 1, task.grid.begin(found.taken, float(t0), float(h))
        raise StepFailure(
            f"step {k} (from t = {t:.6g}, h = {float(h):g}) failed: {STATUS[found.status]}; use a smaller h. "
            "Outside jit, vmap and grad the message says more, and the states before it are kept."
        )
    number = NONE if found.record is None else _records.keep(found.record)
    return found.saved, found.iterations, np.int64(found.status), np.int64(found.taken), np.int64(number)


def _record_of(task: AnyTask, state, t0, h, parameters, number) -> Any:
    """The record of this number, or one of the run taken once more."""
    record = _records.find(int(number))
    if record is None:
        record = task.step.record(state, float(t0), float(h), parameters, task.grid)
        if int(number) != NONE:
            _records.put_back(int(number), record)
    return record


def _tangent_numbers(task: AnyTask, state, t0, h, parameters, number, *moved) -> tuple:
    record = _record_of(task, state, t0, h, parameters, number)
    moved = (moved[0], float(moved[1]), float(moved[2]), moved[3])
    return (task.step.tangents(record, float(t0), float(h), parameters, moved, task.grid),)


def _adjoint_numbers(task: AnyTask, state, t0, h, parameters, number, saved_bar) -> tuple:
    if not np.all(np.isfinite(saved_bar)):  # what it does not reach stays zero, the rest is as little a number
        return tuple(np.full(np.shape(part), np.nan) for part in (state, t0, h, parameters))
    record = _record_of(task, state, t0, h, parameters, number)
    return task.step.adjoints(record, float(t0), float(h), parameters, saved_bar, task.grid)


_records: Records[Any] = Records()


def _run_together(task: Any, record: bool, batch: Batch) -> Together:
    found = side_by_side(task.functions, task.compensated).run(batch, task.grid)
    number = np.full(len(batch.states), NONE)  # a derivative takes the run once more, some members at a time
    return found._replace(found=(*found.found, number))


def _adjoint_together(task: Any, batch: Batch, number, saved_bar) -> Together:
    bars = np.broadcast_to(saved_bar, (len(batch.states), *saved_bar.shape[-2:]))
    found = side_by_side(task.functions, task.compensated).adjoints(batch, bars, task.grid)
    numberless = np.flatnonzero(~np.all(np.isfinite(bars), axis=(1, 2)))
    return found._replace(failed=np.union1d(found.failed, numberless))


# -- as operations of JAX ---------------------------------------------------------------------------------------------


def _shapes(avals, members: int | None) -> list[ShapedArray]:
    lead = () if members is None else (members,)
    return [ShapedArray((*lead, *shape), dtype) for shape, dtype in avals]


def _operation(name: str, call: Callable[..., Call], outputs, derivative) -> Primitive:
    """An operation with many results. `call(**told)` is what computes them, `outputs` their shapes of one member;
    `told` are the parameters that are not about batches."""
    primitive = Primitive(name)
    primitive.multiple_results = True

    def eager(*arguments, members, batched, **told):
        return [jnp.asarray(part) for part in each_member(call(**told), members, batched, arguments)]

    def lowered(context, *arguments, members, batched, **told):
        host = functools.partial(_host, call(**told), members, batched, context.avals_out)
        found, *_ = mlir.emit_python_callback(
            context, host, None, list(arguments), context.avals_in, context.avals_out, has_side_effect=False
        )  # fmt: skip
        return found

    def batch(arguments, axes, *, members, batched, **told):
        moved = [a if axis is None else jnp.moveaxis(a, axis, 0) for a, axis in zip(arguments, axes, strict=True)]
        mapped = [axis is not None for axis in axes]
        count = next(a.shape[0] for a, new in zip(moved, mapped, strict=True) if new)
        if members is None:
            found = primitive.bind(*moved, members=count, batched=tuple(mapped), **told)
            return found, [0] * len(found)
        both, every = [], tuple(new or old for new, old in zip(mapped, batched, strict=True))
        for a, new, old in zip(moved, mapped, batched, strict=True):
            if new or old:
                a = a if new else jnp.broadcast_to(a[None], (count, *a.shape))
                a = a if old else jnp.broadcast_to(a[:, None], (count, members, *a.shape[1:]))
                a = a.reshape(count * members, *a.shape[2:])
            both.append(a)
        found = primitive.bind(*both, members=count * members, batched=every, **told)
        return [part.reshape(count, members, *part.shape[1:]) for part in found], [0] * len(found)

    primitive.def_impl(eager)
    primitive.def_abstract_eval(lambda *_, members, batched, **told: _shapes(outputs(**told), members))
    mlir.register_lowering(primitive, lowered)
    batching.primitive_batchers[primitive] = batch
    ad.primitive_jvps[primitive] = derivative
    return primitive


def _host(call: Call, members, batched, shapes, *arguments):
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # a step that leaves all numbers is told by its status
            return tuple(each_member(call, members, batched, [np.asarray(part) for part in arguments]))
    except KeyboardInterrupt:  # XLA would make an error of another kind of it
        raised_afterwards()
        return tuple(np.full(one.shape, np.nan if one.dtype.kind == "f" else -1, one.dtype) for one in shapes)


def _run_outputs(task: AnyTask, record: bool):
    saves, n = task.grid.saves, task.functions.n_state
    whole = np.dtype(np.int64)
    return [((saves + 1, n), np.dtype(np.float64)), ((saves,), whole), ((), whole), ((), whole), ((), whole)]


def _tangent_outputs(task: AnyTask):
    return [((task.grid.saves + 1, task.functions.n_state), np.dtype(np.float64))]


def _adjoint_outputs(task: AnyTask):
    sizes = (task.functions.n_state,), (), (), (task.functions.n_parameters,)
    return [(size, np.dtype(np.float64)) for size in sizes]


# -- derivatives ------------------------------------------------------------------------------------------------------


def _derivative_of_run(primals, tangents, *, task, record, members, batched):
    """The record is no result that anybody differentiates: the derivatives of a tangent know what it is a record of."""
    saved, *counted, number = _run.bind(*primals, task=task, record=True, members=members, batched=batched)
    moved = [ad.instantiate_zeros(tangent) for tangent in tangents]
    moves = _tangent.bind(
        *primals, number, *moved, task=task, members=members, batched=(*batched, members is not None, *batched)
    )  # fmt: skip
    return [saved, *counted, number], [*moves, *(_no_tangent(part) for part in (*counted, number))]


def _no_tangent(part) -> ad.Zero:
    return ad.Zero(jax.typeof(part).to_tangent_aval())


def _pair(task: AnyTask):
    """saved_dot as a function of (state, t0, h, theta) and their dots, in compiled code: the run of (s, sdot)."""
    functions, doubled = task.functions, task.with_tangent()

    def saved_dot(state, t0, h, parameters, state_dot, t0_dot, h_dot, parameters_dot):
        given = [parameters, jnp.stack([t0, h]), parameters_dot, jnp.stack([t0_dot, h_dot])]
        found = native_run(doubled, paired(functions, state, state_dot), t0, h, jnp.concatenate(given))
        return parted(functions, found[0])[1]

    return saved_dot


def _over_members(function, members: int | None, batched: tuple[bool, ...]):
    """The same for every member, where there are some."""
    if members is None:
        return function
    return jax.vmap(function, in_axes=tuple(0 if each else None for each in batched))


def _derivative_of_tangent(primals, tangents, *, task, members, batched):
    """The second derivative along two directions, and the tangent of the direction's own change."""
    moved = [ad.instantiate_zeros(tangent) for tangent in tangents]
    arguments, number, direction = primals[:ARGUMENTS], primals[ARGUMENTS], primals[KNOWN:]
    own, of_direction = batched[:ARGUMENTS], batched[KNOWN:]
    value = _tangent.bind(*primals, task=task, members=members, batched=batched)
    (change,) = _tangent.bind(*arguments, number, *moved[KNOWN:], task=task, members=members, batched=batched)
    (bent,) = _bend.bind(
        *arguments, *direction, *moved[:ARGUMENTS], task=task, members=members, batched=(*own, *of_direction, *own)
    )  # fmt: skip
    return value, [change + bent]


def _derivative_of_adjoint(primals, tangents, *, task, members, batched):
    """How a gradient moves: by the curvature of what it is the gradient of, and with the bar."""
    moved = [ad.instantiate_zeros(tangent) for tangent in tangents]
    arguments, own = primals[:ARGUMENTS], batched[:ARGUMENTS]
    value = _adjoint.bind(*primals, task=task, members=members, batched=batched)
    change = _adjoint.bind(*primals[:-1], moved[-1], task=task, members=members, batched=batched)
    curved = _curvature.bind(
        *arguments, primals[-1], *moved[:ARGUMENTS], task=task, members=members, batched=(*own, batched[-1], *own)
    )  # fmt: skip
    return value, [a + b for a, b in zip(change, curved, strict=True)]


def _run_call(task: AnyTask, record: bool) -> Call:
    together = functools.partial(_run_together, task, record) if task.in_vectors else None
    return Call(functools.partial(_run_numbers, task, record), together)


def _tangent_call(task: AnyTask) -> Call:
    return Call(functools.partial(_tangent_numbers, task))


def _adjoint_call(task: AnyTask) -> Call:
    together = None
    if task.in_vectors and not task.functions.phases:
        together = functools.partial(_adjoint_together, task)
    return Call(functools.partial(_adjoint_numbers, task), together)


_run = _operation("dalembert_run", _run_call, _run_outputs, _derivative_of_run)
_tangent = _operation("dalembert_tangent", _tangent_call, _tangent_outputs, _derivative_of_tangent)
_adjoint = _operation("dalembert_adjoint", _adjoint_call, _adjoint_outputs, _derivative_of_adjoint)


def _transposed_tangent(cotangents, *arguments, task, members, batched):
    known, asked = arguments[:KNOWN], arguments[KNOWN:]
    (bar,) = cotangents
    if isinstance(bar, ad.Zero):
        return [None] * len(arguments)
    bars = _adjoint.bind(
        *known, bar, task=task, members=members, batched=(*batched[:KNOWN], members is not None)
    )  # fmt: skip
    return [None] * len(known) + [_for_all(part, each) for part, each in zip(bars, asked, strict=True)]


def _for_all(bar, asked):
    """A bar, summed over the members that share an argument; nothing where nobody asks."""
    if not ad.is_undefined_primal(asked):
        return None
    extra = bar.ndim - len(asked.aval.shape)
    return bar.sum(axis=tuple(range(extra))) if extra else bar


def _transposed_adjoint(cotangents, *arguments, task, members, batched):
    known, asked = arguments[:-1], arguments[-1]
    moved = [ad.instantiate_zeros(part) for part in cotangents]
    (moves,) = _tangent.bind(
        *known, *moved, task=task, members=members,
        batched=(*batched[:-1], *((members is not None,) * ARGUMENTS)),
    )  # fmt: skip
    return [None] * len(known) + [_for_all(moves, asked)]


ad.primitive_transposes[_tangent] = _transposed_tangent
ad.primitive_transposes[_adjoint] = _transposed_adjoint


# -- second derivatives: first derivatives of the run of a pair -------------------------------------------------------


def _bent(task: AnyTask, *given) -> list:
    """D^2 S [v, w] at (state, t0, h, theta)."""
    arguments, v, w = given[:ARGUMENTS], given[ARGUMENTS : 2 * ARGUMENTS], given[2 * ARGUMENTS :]
    saved_dot = _pair(task)
    return [jax.jvp(lambda *a: saved_dot(*a, *v), arguments, w)[1]]


def _curved(task: AnyTask, *given) -> list:
    """The gradient of <bar, DS w>: the second derivative of <bar, S>, which is symmetric, times w."""
    arguments, bar, w = given[:ARGUMENTS], given[ARGUMENTS], given[ARGUMENTS + 1 :]
    saved_dot = _pair(task)
    return list(jax.vjp(lambda *a: saved_dot(*a, *w), *arguments)[1](bar))


def _written(name: str, function) -> Primitive:
    """An operation that is written in others; it is one so that it can be transposed."""
    primitive = Primitive(name)
    primitive.multiple_results = True

    def whole(*given, task, members, batched):
        return list(_over_members(functools.partial(function, task), members, batched)(*given))

    def shapes(*avals, **told):
        found = jax.eval_shape(functools.partial(whole, **told), *avals)
        return [ShapedArray(part.shape, part.dtype) for part in found]

    def batch(given, axes, *, task, members, batched):
        moved = [a if axis is None else jnp.moveaxis(a, axis, 0) for a, axis in zip(given, axes, strict=True)]
        mapped = tuple(axis is not None for axis in axes)
        count = next(a.shape[0] for a, new in zip(moved, mapped, strict=True) if new)
        if members is None:
            found = primitive.bind(*moved, task=task, members=count, batched=mapped)
        else:
            told = {"task": task, "members": members, "batched": batched}
            found = jax.vmap(functools.partial(whole, **told), [0 if new else None for new in mapped])(*moved)
        return found, [0] * len(found)

    def derivative(primals, tangents, **told):
        moved = [ad.instantiate_zeros(tangent) for tangent in tangents]
        return jax.jvp(functools.partial(whole, **told), list(primals), moved)

    primitive.def_impl(whole)
    primitive.def_abstract_eval(shapes)
    mlir.register_lowering(primitive, mlir.lower_fun(whole, multiple_results=True))
    batching.primitive_batchers[primitive] = batch
    ad.primitive_jvps[primitive] = derivative
    return primitive


_bend, _curvature = _written("dalembert_bend", _bent), _written("dalembert_curvature", _curved)


def _transposed_bend(cotangents, *given, task, members, batched):
    known, asked = given[: 2 * ARGUMENTS], given[2 * ARGUMENTS :]
    own, of_v = batched[:ARGUMENTS], batched[ARGUMENTS : 2 * ARGUMENTS]
    bars = _curvature.bind(
        *known[:ARGUMENTS], ad.instantiate_zeros(cotangents[0]), *known[ARGUMENTS:], task=task, members=members,
        batched=(*own, members is not None, *of_v),
    )  # fmt: skip
    return [None] * len(known) + [_for_all(part, each) for part, each in zip(bars, asked, strict=True)]


def _transposed_curvature(cotangents, *given, task, members, batched):
    known, asked = given[: ARGUMENTS + 1], given[ARGUMENTS + 1 :]
    bars = _curvature.bind(
        *known, *(ad.instantiate_zeros(part) for part in cotangents), task=task, members=members,
        batched=(*batched[: ARGUMENTS + 1], *((members is not None,) * ARGUMENTS)),
    )  # fmt: skip
    return [None] * len(known) + [_for_all(part, each) for part, each in zip(bars, asked, strict=True)]


ad.primitive_transposes[_bend] = _transposed_bend
ad.primitive_transposes[_curvature] = _transposed_curvature
