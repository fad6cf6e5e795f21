"""Functions that are written out late, in the operations of whoever needs them.

To trace an operation takes JAX some tens of microseconds, and again for every transformation; for a long Taylor series
that is more than all that comes after it. `late` makes one operation of JAX of a whole function. JAX writes it out when
it compiles, differentiates or batches; a translator with operations of its own (it knows the operation by its name and
calls `write`) does so directly in those.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import Jaxpr, Primitive
from jax.interpreters import ad, batching, mlir


class Arithmetic(Protocol):
    """What a late function is written in. Values are arrays of numpy or of the arithmetic's own kind, with a shape;
    elementwise functions broadcast."""

    def add(self, a, b) -> Any: ...
    def sub(self, a, b) -> Any: ...
    def mul(self, a, b) -> Any: ...
    def div(self, a, b) -> Any: ...
    def neg(self, a) -> Any: ...
    def stack(self, values: Sequence) -> Any: ...
    def concatenate(self, values: Sequence) -> Any: ...
    def part(self, a, first: int, last: int) -> Any: ...
    def broadcast_to(self, a, shape: tuple[int, ...]) -> Any: ...
    def dot_general(self, a, b, dimension_numbers) -> Any: ...

    def evaluate(self, equation, values: Sequence) -> Sequence:
        """The results of an operation of a traced function."""
        ...

    def solution(self, matrix: Jaxpr, known: Sequence, right) -> Any:
        """x with matrix(x) = right, where matrix is linear, from its jaxpr and its constants."""
        ...


class _InJax:
    """The arithmetic of JAX."""

    def add(self, a, b):
        return _broadcast(lax.add, jnp.add, a, b)

    def sub(self, a, b):
        return _broadcast(lax.sub, jnp.subtract, a, b)

    def mul(self, a, b):
        return _broadcast(lax.mul, jnp.multiply, a, b)

    def div(self, a, b):
        return _broadcast(lax.div, jnp.divide, a, b)

    def neg(self, a):
        return lax.neg(a)

    def broadcast_to(self, a, shape: tuple[int, ...]):
        return jnp.broadcast_to(a, shape)

    def stack(self, values: Sequence):
        return lax.stack(list(values))

    def concatenate(self, values: Sequence):
        return lax.concatenate(list(values), 0)

    def part(self, a, first: int, last: int):
        return lax.slice_in_dim(a, first, last)

    def dot_general(self, a, b, dimension_numbers):
        return lax.dot_general(a, b, dimension_numbers)

    def evaluate(self, equation, values: Sequence) -> Sequence:
        found = equation.primitive.bind(*values, **equation.params)
        return found if equation.primitive.multiple_results else [found]

    def solution(self, matrix: Jaxpr, known: Sequence, right):
        def product(x):
            (out,) = jax.core.eval_jaxpr(matrix, known, x)
            return out

        return lax.custom_linear_solve(product, right, _dense, transpose_solve=_dense)


def _broadcast(function: Callable, broadcasting: Callable, a, b):
    return function(a, b) if np.shape(a) == np.shape(b) else broadcasting(a, b)


IN_JAX = _InJax()


def solved(matrix: Callable, right):
    """x with matrix(x) = right, where matrix is a linear function."""
    traced = jax.make_jaxpr(matrix)(right)
    known = traced.consts

    def write(arithmetic: Arithmetic, right, *known):
        return [arithmetic.solution(traced.jaxpr, known, right)]

    (x,) = late(write, [np.shape(right)], right, *known)
    return x


def _dense(matrix: Callable, right):
    return jnp.linalg.solve(jax.jacfwd(matrix)(jnp.zeros_like(right)), right)


#: `write(arithmetic, *values)` gives the results, which have the given shapes.
late_p = Primitive("late_function")
late_p.multiple_results = True


def late(write: Callable, shapes: Sequence[tuple[int, ...]], *values) -> list:
    """Float64 arrays of the given shapes: the results of `write` in the arithmetic of whoever asks."""
    return late_p.bind(*values, write=write, shapes=tuple(map(tuple, shapes)))


def _in_jax(*values, write: Callable, shapes) -> list:
    return [jnp.asarray(found) for found in write(IN_JAX, *values)]


def _derivative(primals, tangents, **parameters):
    tangents = [ad.instantiate_zeros(tangent) for tangent in tangents]
    return jax.jvp(lambda *values: _in_jax(*values, **parameters), list(primals), tangents)


def _batched(values, axes, **parameters):
    found = jax.vmap(lambda *values: _in_jax(*values, **parameters), in_axes=tuple(axes))(*values)
    return found, [0] * len(found)


late_p.def_impl(jax.jit(_in_jax, static_argnames=("write", "shapes")))
late_p.def_abstract_eval(lambda *_, shapes, **__: [jax.core.ShapedArray(shape, jnp.float64) for shape in shapes])
ad.primitive_jvps[late_p] = _derivative
batching.primitive_batchers[late_p] = _batched
mlir.register_lowering(late_p, mlir.lower_fun(_in_jax, multiple_results=True))
