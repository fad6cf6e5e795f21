"""All steps of a boundary-value problem as one system of equations with a sparse Jacobian.

Unknowns, in the order of time: p_0, v_0; for every step its unknowns x_k and the state s_{k+1} = (q, p, v, lam, psi) at
its end; last the slack alpha of the constraints at the end::

    0 = legendre(t_0, q_start, v_0, p_0)            0 = g_q v_0 + g_t
    0 = residual(x_k; t_k, s_k)                     0 = s_{k+1} - (s_k + increments, or new values, of finish(x_k; s_k))
    0 = q_N - q_end + G(t_N, q_end)^T alpha

q_N satisfies g = 0 by the equations of the last step already; alpha takes the m directions that this leaves without an
equation and is zero at the solution. The blocks of all steps are evaluated at once, row by row.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import scipy.sparse as sparse

from ..engine import Function, RowFunction, RowJacobian, StepFunctions
from ..formulation import mechanics_of
from ..method import Method
from ..problem import AbstractSystem
from ..stepping.shared_equations import Family, equation, flat_parameters, for_family
from ..stepping.step import Layout, assemble


class StepRows(NamedTuple):
    """One step of a method, for many rows."""

    functions: StepFunctions
    guess: RowFunction
    block: RowJacobian  # of (x, s): residual, and the state at the end


@for_family(maxsize=64)
def step_rows(family: Family, method: Method, layout: Layout) -> StepRows:
    """The traced step, kept for the family."""
    functions = assemble(family.at(np.zeros(family.size)), method, layout, None)
    size, summed = functions.size, functions.n_summed

    def block(z, t, h, parameters):
        x, state = z[:size], z[size:]
        advance = functions.checked_finish(x, t, h, state, parameters)
        end = jnp.concatenate([state[:summed] + advance[:summed], advance[summed:]])
        return jnp.concatenate([functions.residual(x, t, h, state, parameters), end])

    return StepRows(functions, RowFunction(functions.guess), RowJacobian(block))


@for_family(maxsize=64)
def _start_function(family: Family, n: int) -> Function:
    def start(y, t, q, parameters):
        m = mechanics_of(family.at(parameters))
        p, v = y[:n], y[n:]
        return jnp.concatenate([m.legendre(t, q, v, p), m.hidden(t, q, v)])

    return Function(start)


class BoundaryEquations:
    """The equations of the module's docstring, as functions of one vector z."""

    def __init__(
        self, system: AbstractSystem, method: Method, layout: Layout, t0: float, h: float, steps: int, q_start, q_end
    ) -> None:
        family = Family(system)
        self._rows, self._start = step_rows(family, method, layout), _start_function(family, layout.n)
        self._parameters = np.asarray(flat_parameters(system))
        self.layout, self.steps, self.h = layout, steps, h
        self.t = t0 + h * np.arange(steps + 1)
        self._q_start, self._q_end = q_start, q_end
        self._normals = np.zeros((0, layout.n))
        if layout.m:
            self._normals = equation(system, "constraint")(q_end, self.t[-1])[1].toarray()
        self._size = self._rows.functions.size
        self._block = self._size + layout.n_state
        self.count = 2 * layout.n + steps * self._block + layout.m
        self._multipliers = np.zeros(layout.m + layout.k)  # of the state at the start: no equation asks for them
        self._pattern: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    # -- the vector of unknowns --------------------------------------------------------------------------------

    def pack(self, states: np.ndarray, secants: np.ndarray) -> np.ndarray:
        """z from states (steps + 1, n_state) and the velocities (steps, n) from which each step is guessed."""
        n = self.layout.n
        self._multipliers = np.array(states[0, 3 * n :])
        begins = states[:-1].copy()
        begins[:, 2 * n : 3 * n] = secants
        x = self._rows.guess(self.t[:-1], *self._constant(), begins, self._many())
        return np.concatenate(
            [states[0, n : 3 * n], np.concatenate([x, states[1:]], axis=1).ravel(), np.zeros(self.layout.m)]
        )

    def states(self, z: np.ndarray) -> np.ndarray:
        """The states at all times, (steps + 1, n_state)."""
        first = np.concatenate([self._q_start, z[: 2 * self.layout.n], self._multipliers])
        return np.concatenate([first[None], self._blocks(z)[:, self._size :]])

    def _blocks(self, z: np.ndarray) -> np.ndarray:
        first = 2 * self.layout.n
        return z[first : first + self.steps * self._block].reshape(self.steps, self._block)

    def _constant(self) -> tuple[np.ndarray]:
        return (np.full(self.steps, self.h),)

    def _many(self) -> np.ndarray:
        return np.broadcast_to(self._parameters, (self.steps, len(self._parameters)))

    # -- values and Jacobian -----------------------------------------------------------------------------------

    def __call__(self, z: np.ndarray) -> tuple[np.ndarray, sparse.csc_matrix]:
        """The defects of all equations, and their derivative by z."""
        n, m, size = self.layout.n, self.layout.m, self._size
        states, blocks = self.states(z), self._blocks(z)
        local = self._rows.block(
            np.concatenate([blocks[:, :size], states[:-1]], axis=1), self.t[:-1], *self._constant(), self._many()
        )
        begin, begin_jacobian = self._start(z[: 2 * n], self.t[0], self._q_start, self._parameters)
        own = np.concatenate([local.values[:, :size], states[1:] - local.values[:, size:]], axis=1)
        alpha = z[len(z) - m :]
        end = states[-1, :n] - self._q_end + alpha @ self._normals
        start_entries = begin_jacobian.tocoo()
        if self._pattern is None:
            self._pattern = self._make_pattern(local.row, local.column)
        rows, columns, used = self._pattern
        signed = np.where(local.row >= size, -1.0, 1.0) * local.entries
        count = self.steps * self.layout.n_state
        entries = [signed.ravel()[used], np.ones(count), np.ones(n), self._normals.T.ravel(), start_entries.data]
        index = (
            np.concatenate([rows, start_entries.row]),
            np.concatenate([columns, start_entries.col]),
        )
        jacobian = sparse.csc_matrix((np.concatenate(entries), index), shape=(self.count, self.count))
        return np.concatenate([begin, own.ravel(), end]), jacobian

    def _make_pattern(self, row: np.ndarray, column: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where the entries belong: those of all steps, the identity of the states, the end; and which are used."""
        n, m, size, n_state, steps = self.layout.n, self.layout.m, self._size, self.layout.n_state, self.steps
        first_row, first_column = n + m, 2 * n
        step = np.arange(steps)[:, None]
        rows = first_row + step * self._block + row
        of_x = first_column + step * self._block + column
        of_state = first_column + (step - 1) * self._block + size + (column - size)
        columns = np.where(column < size, of_x, of_state)
        at_start = column[None] - size - n  # p_0 and v_0 are unknown, the rest of the first state is given
        known = (step == 0) & (column[None] >= size)
        columns = np.where(known, at_start, columns)
        used = ~(known & ((at_start < 0) | (at_start >= 2 * n)))
        identity_rows = (first_row + step * self._block + size + np.arange(n_state)).ravel()
        identity_columns = (first_column + step * self._block + size + np.arange(n_state)).ravel()
        last = self.count - n
        end_columns = first_column + (steps - 1) * self._block + size + np.arange(n)
        slack_rows, slack_columns = np.indices((n, m)).reshape(2, -1)
        return (
            np.concatenate([rows[used], identity_rows, last + np.arange(n), last + slack_rows]),
            np.concatenate([columns[used], identity_columns, end_columns, self.count - m + slack_columns]),
            used.ravel(),
        )

    # -- measures ----------------------------------------------------------------------------------------------

    def size_of(self, dz: np.ndarray, z: np.ndarray) -> float:
        """The largest change of a position or velocity, relative to the largest of the run."""
        n, span = self.layout.n, self.steps * self.h
        states = self.states(z)
        changes = self._blocks(dz)[:, self._size :]
        q_scale = np.max(np.abs(states[:, :n])) or 1.0
        v_scale = max(np.max(np.abs(states[:, 2 * n : 3 * n])), q_scale / span)
        dv = max(np.max(np.abs(changes[:, 2 * n : 3 * n])), np.max(np.abs(dz[n : 2 * n])))
        return float(max(np.max(np.abs(changes[:, :n])) / q_scale, dv / v_scale))

    def without_null_directions(self, factors, threshold: float):
        """The inverse of the factorised Jacobian without the directions whose isolation is below a threshold; and the
        isolation 1 / (T |dv_0 / dq_end|): 1 for free motion, 0 at conjugate points.

        Changes E of q_end along the right singular vectors of dv_0 / dq_end move the solution along the null directions
        Z = J^-1 E; W = J^-T Z are those of the transpose. The right side is moved along E until it is orthogonal to W,
        the solution is made orthogonal to Z; what is left of the equations lies along E.
        """
        n = self.layout.n
        right = np.zeros((self.count, n))
        right[self.count - n :] = np.eye(n)
        moved = factors.solve(right)
        if not np.all(np.isfinite(moved)):
            return factors.solve, 0.0
        _, sizes, vectors = np.linalg.svd(self.steps * self.h * moved[n : 2 * n])
        isolation = 1 / np.maximum(sizes, 1e-300)
        null = isolation < threshold
        if not null.any():
            return factors.solve, float(isolation[0])
        ends = right @ vectors[null].T
        along = np.linalg.qr(moved @ vectors[null].T)[0]
        across = np.linalg.qr(factors.solve(along, "T"))[0]

        def solve(right):
            reachable = right - ends @ np.linalg.solve(across.T @ ends, across.T @ right)
            x = factors.solve(reachable)
            return x - along @ (along.T @ x)

        return solve, float(isolation[0])

    def misses_end(self, value: np.ndarray, z: np.ndarray) -> float:
        """The defect of the last equations, for q_end, relative to the largest position."""
        n = self.layout.n
        return float(np.max(np.abs(value[-n:])) / (np.max(np.abs(self.states(z)[:, :n])) or 1.0))
