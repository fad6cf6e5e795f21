"""The inside of steps that were taken before: their unknowns found again, their polynomials evaluated, row by row.

One step from a saved state is solved once more, for all steps asked for at once (Newton over rows, from the method's
guess); `Method.dense` then gives q and v at t + theta h.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from ..engine import OK, STATUS, RowFunction, RowNewton, Runner, choose_engine
from ..errors import StepFailure
from ..formulation import mechanics_of
from ..method import Method, Step
from ..method.polynomials import hermite
from ..problem import AbstractSystem, State
from .consistent import Start
from .prologue import runner_for
from .redundant import restricted, rows_along
from .shared_equations import Family, flat_parameters, for_family
from .step import Layout, assemble


class InnerValues(NamedTuple):
    """q and v inside steps, (N, n), and the multipliers of the inner nodes, (N, nodes, m)."""

    q: np.ndarray
    v: np.ndarray
    nodes: np.ndarray
    inner_lam: np.ndarray


@dataclass(frozen=True)
class TakenSteps:
    """Steps that were taken before, of any sizes.

    Args:
        t: the times at which they begin, (steps,).
        h: their sizes, (steps,).
        start, end: the states at both ends, (steps, ...) each.
    """

    system: AbstractSystem
    method: Method
    rows: Any
    t: np.ndarray
    h: np.ndarray
    start: State
    end: State

    def inside(self, step: np.ndarray, theta: np.ndarray) -> InnerValues:
        """Their polynomials, at the points theta in [0, 1] of the steps with these numbers, (N,) each."""
        return self._evaluated(step, theta) if self.rows is None else self._row_by_row(step, theta)

    def _row_by_row(self, step: np.ndarray, theta: np.ndarray) -> InnerValues:
        """With rows that serve each of the steps; the multipliers of inner nodes are not asked for."""
        q, v = np.zeros((2, len(step), self.start.q.shape[1]))
        for piece, kept in rows_along(self.system, self.rows, self.t, self.start.q):
            here = (step >= piece.start) & (step < piece.stop)
            first, last = (State(*(part[piece] for part in state)) for state in (self.start, self.end))
            begins = zip(self.t[piece], first.q, first.lam, strict=True)
            lam = np.stack([restricted(self.system, *begin, kept) for begin in begins])
            some = TakenSteps(
                self.system, self.method, kept, self.t[piece], self.h[piece], first._replace(lam=lam), last
            )
            inner = some._evaluated(step[here] - piece.start, theta[here])
            q[here], v[here] = inner.q, inner.v
        return InnerValues(q, v, np.zeros(0), np.zeros((len(step), 0, self.start.lam.shape[1])))

    def _evaluated(self, step: np.ndarray, theta: np.ndarray) -> InnerValues:
        t, h, start, end = self.t, self.h, self.start, self.end
        layout = Layout(start.q.shape[1], start.lam.shape[1], start.psi.shape[1])
        if type(self.method).dense is Method.dense:  # the cubic needs both ends only, which are known
            q, v = hermite(
                theta[:, None], h[step][:, None], start.q[step], start.v[step], (end.q - start.q)[step], end.v[step]
            )
            return InnerValues(q, v, np.zeros(0), np.zeros((len(step), 0, layout.m)))
        parameters = np.asarray(flat_parameters(self.system))
        tools = _dense(Family(self.system), self.method, layout, self.rows)
        vectors = np.concatenate([np.asarray(part, dtype=np.float64) for part in start], axis=1)
        many = np.broadcast_to(parameters, (len(vectors), len(parameters)))
        roots = tools.newton(tools.guess(t, h, vectors, many), t, h, vectors, many)
        if not np.all(roots.found):
            first = int(np.flatnonzero(~roots.found)[0])
            raise StepFailure(
                f"the step from t = {t[first]:.6g} could not be solved again from the recorded state "
                "(Newton did not converge). Interpolate at other times, or repeat the run with a smaller h."
            )
        flat = tools.values(roots.x[step], t[step], h[step], vectors[step], many[step], theta)
        n, nodes = layout.n, tools.nodes
        lam = flat[:, 2 * n :].reshape(len(flat), len(nodes), layout.m)
        return InnerValues(flat[:, :n], flat[:, n : 2 * n], nodes, lam)


class _Tools:
    """The traced functions of one method on one family of systems."""

    def __init__(self, family: Family, method: Method, layout: Layout, rows) -> None:
        functions = assemble(family.at(np.zeros(family.size)), method, layout, rows)
        self.nodes = np.zeros(0)  # filled when the values are traced
        self.guess = RowFunction(functions.guess)
        self.newton = RowNewton(functions.residual, functions.blocks)

        def values(x, t, h, state, parameters, theta):
            step = Step(mechanics_of(family.at(parameters), rows), t, h, layout.unflatten(state))
            unknowns = ravel_pytree(method.guess(step))[1](x)
            q, v = method.dense(unknowns, step, theta)
            self.nodes, lam = method.inner_multipliers(unknowns, step)
            return jnp.concatenate([q, v, jnp.ravel(lam)])

        self.values = RowFunction(values)


@for_family(maxsize=64)
def _dense(family: Family, method: Method, layout: Layout, rows) -> _Tools:
    return _Tools(family, method, layout, rows)


def repeated_steps(
    system: AbstractSystem, method: Method, rows, t: float, h: float, start: State, steps: int
) -> np.ndarray:
    """The state vectors after 0, 1, ..., `steps` steps from a saved state, (steps + 1, n_state)."""
    runner, state, parameters = _runner(system, method, rows, t, h, start)
    carry, saved = runner.first_carry(state), [state[None]]
    taken = 0
    while taken < steps:
        todo = min(runner.chunk_steps, steps - taken)
        chunk = runner.run(carry, t, h, todo, 1, parameters, todo)
        carry, taken = chunk.carry, int(chunk.carry.step)
        saved.append(chunk.saved)
        if chunk.status != OK:
            raise StepFailure(
                f"the step from t = {t + taken * h:.6g} could not be repeated from the recorded state at t = {t:.6g}: "
                f"{STATUS[chunk.status]}. Repeat the run with a smaller save_every."
            )
    return np.concatenate(saved)


def runner_at(
    system: AbstractSystem, method: Method, rows, t: float, h: float, start: State
) -> tuple[Runner, np.ndarray]:  # fmt: skip
    """What takes steps of about the size h near a saved state, and the parameters that it needs."""
    runner, _, parameters = _runner(system, method, rows, t, h, start)
    return runner, parameters


def _runner(system: AbstractSystem, method: Method, rows, t: float, h: float, start: State):
    if rows is not None:
        rows = next(rows_along(system, rows, [t], [start.q]))[1]
        start = start._replace(lam=restricted(system, t, start.q, start.lam, rows))
    layout = Layout(len(start.q), len(start.lam), len(start.psi), len(start.impulse))
    parameters = np.asarray(flat_parameters(system))

    def build(functions, state, t):
        return choose_engine(functions, state, t, h, parameters)

    runner, _, state = runner_for(system, method, Start(start, layout, rows), t, build)
    return runner, state, parameters
