"""The general path: the step as a JAX function, Newton's method, gradients by implicit differentiation.

It serves everything that is traced (jit, vmap, grad), every primitive the native engine does not translate, and it is
the partner the native engine is compared with.
"""

from __future__ import annotations

import copy
import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ...nonlinear import find_root
from ..contract import (
    HISTORY,
    MAX_ITERATIONS,
    NOT_CONVERGED,
    NOT_FINITE,
    OK,
    ROUGH_ITERATIONS,
    Carry,
    Chunk,
    Runner,
    StepFunctions,
    extrapolation_weights,
    first_carry,
)
from ..tuning import tuning
from .forked import check_jax_works

#: Compiled runs, and lengths of one, that are kept: XLA takes up to ten megabytes for each.
KEPT = 16
#: An unknown is measured at least by this part of what the equation is made of that it matters most to.
SMALLEST_PART = 1e-3


class StepResult(eqx.Module):
    """One Newton solve."""

    x: jax.Array
    iterations: jax.Array
    status: jax.Array
    residual: jax.Array


def solve_step(functions: StepFunctions, guess, t, h, state, parameters) -> StepResult:
    """The unknowns of one step; differentiable by the implicit function theorem, not through the iterations."""
    arguments = (t, h, state, parameters)
    rows, columns = _scales(functions, guess, jax.lax.stop_gradient(arguments))

    def scaled(y, *arguments):
        return rows * functions.residual(columns * y, *arguments)

    root = find_root(scaled, guess / columns, arguments, MAX_ITERATIONS)
    x = columns * root.x
    if functions.exact is not None:
        # the implicit function theorem with the true derivatives: a Newton step of size zero
        x = jax.lax.stop_gradient(x)
        left = functions.exact(x, *arguments)
        jacobian = jax.lax.stop_gradient(jax.jacfwd(functions.exact)(x, *jax.lax.stop_gradient(arguments)))
        moved = jnp.linalg.solve(jacobian, left - jax.lax.stop_gradient(left))
        x = x - jnp.where(jnp.isfinite(moved), moved, 0.0)  # where it is singular the values stand, not the derivatives
    status = jnp.where(root.converged, OK, jnp.where(root.finite, NOT_CONVERGED, NOT_FINITE))
    left = rows * functions.residual(jax.lax.stop_gradient(x), *arguments)
    return StepResult(x, root.iterations, status.astype(jnp.int64), jax.lax.stop_gradient(jnp.max(jnp.abs(left))))


def _scales(functions: StepFunctions, guess, arguments):
    """Row and column factors that make equations and unknowns of order one, whatever the units: a column has the size
    of its group of unknowns, a row the size of its largest entry; a group that is zero takes what its rows leave."""
    jacobian = jax.jacfwd(functions.residual)(guess, *arguments)
    # a group may pass through zero just now: its first update counts too
    update = jnp.linalg.solve(jacobian, functions.residual(guess, *arguments))
    jacobian = jnp.abs(jacobian)
    large = jnp.maximum(jnp.abs(guess), jnp.where(jnp.isfinite(update), jnp.abs(update), 0.0))
    groups = np.repeat(np.arange(len(functions.blocks)), functions.blocks)
    sizes = jnp.stack([jnp.max(large[groups == g]) for g in np.unique(groups)])[
        np.searchsorted(np.unique(groups), groups)
    ]
    # what is roundoff beside the other terms of its equations is no scale
    for _ in range(3):  # from equation to equation
        row_sizes = jnp.max(jacobian * sizes, axis=1)
        within = jnp.where(jacobian > 0, row_sizes[:, None] / jnp.where(jacobian > 0, jacobian, 1.0), jnp.inf)
        least = SMALLEST_PART * jnp.min(within, axis=0)
        sizes = jnp.maximum(sizes, jnp.where(jnp.isfinite(least), least, 0.0))
    row_sizes = jnp.max(jacobian * sizes, axis=1)
    rows = 1.0 / jnp.where(row_sizes > 0, row_sizes, 1.0)
    column_sizes = jnp.max(rows[:, None] * jacobian, axis=0)
    columns = jnp.where(sizes > 0, sizes, 1.0 / jnp.where(column_sizes > 0, column_sizes, 1.0))
    row_sizes = jnp.max(jacobian * columns, axis=1)
    usable = jnp.isfinite(row_sizes) & (row_sizes > 0)
    return 1.0 / jnp.where(usable, row_sizes, 1.0), jnp.where(jnp.isfinite(columns), columns, 1.0)


def _two_sum(a, b):
    """a + b and its rounding error (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def advance(functions: StepFunctions, carry: Carry, t0, h, parameters, compensated: bool) -> tuple[Carry, StepResult]:
    """One step of the loop; a failed step leaves the state as it was."""
    t = t0 + carry.step.astype(jnp.float64) * h
    weights = jnp.asarray(extrapolation_weights())[carry.known]
    from_method = functions.guess(t, h, carry.state, parameters)
    guess = jnp.where(carry.known >= 2, weights @ carry.history, from_method) if functions.smooth else from_method
    result = solve_step(functions, jax.lax.stop_gradient(guess), t, h, carry.state, parameters)
    end = functions.checked_finish(result.x, t, h, carry.state, parameters)
    n = functions.n_summed
    increment = end[:n] + (carry.compensation if compensated else 0.0)
    total, error = _two_sum(carry.state[:n], increment)
    compensation = jax.lax.stop_gradient(error) if compensated else carry.compensation
    state = jnp.concatenate([total, end[n:]])
    x = jax.lax.stop_gradient(result.x)
    new = Carry(
        state=state,
        compensation=compensation,
        history=jnp.concatenate([x[None], carry.history[:-1]]),
        known=jnp.where(result.iterations > ROUGH_ITERATIONS, 1, jnp.minimum(carry.known + 1, HISTORY)),
        contraction=carry.contraction,
        step=carry.step + 1,
    )
    good = (result.status == OK) & jnp.all(jnp.isfinite(state))
    status = jnp.where((result.status == OK) & ~good, NOT_FINITE, result.status)
    result = eqx.tree_at(lambda r: r.status, result, status)
    return jax.tree.map(lambda a, b: jnp.where(good, a, b), new, carry), result


class XlaRun(Runner):
    """Chunks of steps compiled once by XLA; any number of steps and any time reuse the same code."""

    name = "xla"

    def __init__(self, functions: StepFunctions, compensated: bool) -> None:
        self.functions = functions
        self._compiled = functools.lru_cache(KEPT)(lambda saves: jax.jit(functools.partial(self._chunk, saves)))
        self._compensated = compensated
        self._reason = ""

    def first_carry(self, state: np.ndarray) -> Carry:
        return first_carry(self.functions, state)

    def begin(self, reason: str) -> XlaRun:
        """Ready for a new run; `reason` says why this engine was taken."""
        run = copy.copy(self)
        run._reason = reason
        return run

    @property
    def chunk_steps(self) -> int:
        """Steps a chunk takes before it returns to Python."""
        return max(1, min(tuning().xla_steps, tuning().xla_numbers // self.functions.size**2))

    def report(self) -> dict:
        return {"engine_reason": self._reason, "unknowns": self.functions.size}

    def run(self, carry: Carry, t0: float, h: float, steps: int, save_every: int, parameters, capacity: int) -> Chunk:
        """Take `steps` steps, saving after every `save_every`-th since the start of the run."""
        check_jax_works()
        carry = jax.tree.map(jnp.asarray, carry)
        carry, saved, iterations, worst, status, update, count = self._compiled(capacity)(
            carry,
            jnp.asarray(t0),
            jnp.asarray(h),
            jnp.asarray(steps),
            jnp.asarray(save_every),
            jnp.asarray(parameters),
        )
        count = int(count)
        return Chunk(
            carry=jax.tree.map(np.asarray, carry),
            saved=np.asarray(saved[:count]),
            iterations=np.asarray(iterations[:count]),
            worst=np.asarray(worst[:count]),
            status=int(status),
            residual=float(update),
        )

    def _chunk(self, capacity: int, carry, t0, h, steps, save_every, parameters):
        functions = self.functions

        def keep_going(loop):
            return (loop[0] < steps) & (loop[5] == OK)

        def body(loop):
            k, carry, saved, iterations, worst, _, _, count = loop
            carry, result = advance(functions, carry, t0, h, parameters, self._compensated)
            iterations = iterations.at[count].add(result.iterations)
            worst = worst.at[count].max(result.iterations)
            save = (carry.step % save_every == 0) & (result.status == OK)
            row = jnp.where(save, carry.state, saved[count])
            return (
                k + 1, carry, saved.at[count].set(row), iterations, worst, result.status, result.residual,
                count + jnp.where(save, 1, 0),
            )  # fmt: skip

        zeros = jnp.zeros(capacity + 1, jnp.int64)
        saved = jnp.zeros((capacity + 1, functions.n_state))
        start = (
            jnp.zeros((), jnp.int64), carry, saved, zeros, zeros, jnp.zeros((), jnp.int64), jnp.zeros(()),
            jnp.zeros((), jnp.int64),
        )  # fmt: skip
        _, carry, saved, iterations, worst, status, update, count = jax.lax.while_loop(keep_going, body, start)
        return carry, saved, iterations, worst, status, update, count


class TracedRun(eqx.Module):
    """The whole run as one JAX expression, for jit, vmap and grad."""

    saved: jax.Array
    iterations: jax.Array
    status: jax.Array  # of the first failed step, or OK
    failed_step: jax.Array


def run_traced(
    functions: StepFunctions, state, t0, h, saves: int, save_every: int, parameters, compensated: bool
) -> TracedRun:
    """All steps by scan; after a failure the state stays where it was and the status says so."""
    return _compiled_run(functions, saves, save_every, compensated)(state, t0, h, parameters)


@functools.lru_cache(KEPT)
def _compiled_run(functions: StepFunctions, saves: int, save_every: int, compensated: bool):
    """Compiled once for each length; further calls, gradients and batches of the same run reuse it."""
    return jax.jit(lambda state, t0, h, parameters: _scan(
        functions, state, t0, h, saves, save_every, parameters, compensated
    ))  # fmt: skip


def _scan(functions: StepFunctions, state, t0, h, saves: int, save_every: int, parameters, compensated: bool):
    carry = jax.tree.map(jnp.asarray, first_carry(functions, np.zeros(functions.n_state)))
    carry = carry._replace(state=state)

    def one(pair, _):
        carry, status, failed = pair
        new, result = advance(functions, carry, t0, h, parameters, compensated)
        fine = status == OK
        carry = jax.tree.map(lambda a, b: jnp.where(fine, a, b), new, carry)
        failed = jnp.where(fine & (result.status != OK), carry.step, failed)
        return (carry, jnp.where(fine, result.status, status), failed), result.iterations

    def until_save(pair, _):
        pair, iterations = jax.lax.scan(one, pair, None, length=save_every)
        return pair, (pair[0].state, jnp.sum(iterations))

    start = (carry, jnp.zeros((), jnp.int64), jnp.asarray(-1, jnp.int64))
    (_, status, failed), (saved, iterations) = jax.lax.scan(until_save, start, None, length=saves)
    return TracedRun(jnp.concatenate([state[None], saved]), iterations, status, failed)
