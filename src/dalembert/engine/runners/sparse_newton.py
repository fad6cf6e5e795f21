"""Newton's iteration for the equations of one step, with a sparse factorisation that is kept while it serves."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import scipy.sparse as sparse
import scipy.sparse.linalg as sparse_linalg
from scipy.sparse.csgraph import connected_components

from ..code.loop import FAR
from ..contract import MAX_ITERATIONS, StepFunctions, extrapolation_weights, rounded
from ..functions.batched import RowFunction, one_row
from ..functions.function import Function, TracedInArrays

#: Newton stops when an update is this small, relative to its group of unknowns: the error left is its square.
UPDATE_TOLERANCE = 1e-9
#: The factorisation of an earlier iteration serves on as long as updates fall by this factor.
GOOD_CONTRACTION = 0.05
#: Where that of the step before does not, so many steps factorise at once, before it is tried again.
RENEWALS = 20
#: With an old factorisation the error left is about the contraction times the update.
ROUNDOFF = 1e-15
#: Updates below this may be the roundoff of the equations (in a multiplier it is divided by h^2).
NOISE = 1e-6
#: Larger ones are too, if rounding the unknowns and the state moves the solution as far, but no more than this.
LARGEST_NOISE = 1e-2
#: A step so much smaller is one whose solution the method guesses well.
SMALL_STEP = 1 / 128


class SparseNewton:
    """Solves the equations of one step, again and again.

    The scale of a group of unknowns is its size, or the change that would move a part of the new state by that part's
    own size. Where that is not enough (multipliers that are zero do not enter the new state themselves), also the
    change that would move an equation by the size of its other terms.

    The solution that is meant is the one that begins at the guess for h = 0; on its way the determinant of the Jacobian
    keeps its sign, and solutions that it would meet have the other one. A factorisation A with which Newton converges
    has the sign of the Jacobian J at the solution, however old it is: the eigenvalues of 1 - A^-1 J lie inside the unit
    circle, so that no real one of A^-1 J is negative. Where it is not the sign of a small step, or where Newton moved
    far from where it began, the solution is not taken.
    """

    def __init__(self, functions: StepFunctions, traced: TracedInArrays | None = None) -> None:
        """`traced` is the residual, if it was traced already."""
        self.functions = functions
        self.residual, self.values = Function(functions.residual, traced), RowFunction(functions.residual)
        self.guess, self.finish = RowFunction(functions.guess), RowFunction(functions.checked_finish)
        self._continued = None if functions.continued is None else RowFunction(functions.continued)
        self._weights = extrapolation_weights()
        self._groups = np.repeat(np.arange(len(functions.blocks)), functions.blocks)
        self._reach = np.zeros(len(functions.blocks))
        self._solve, self._renewals, self.factorisations = None, 0, 0
        self._sign, self._meant = 0.0, 0.0  # of the determinant: of the factorisation at hand, and in a small step

    def anew(self, moment: tuple) -> SparseNewton:
        """One that knows nothing of earlier steps, with scales for steps from this moment on."""
        fresh = copy.copy(self)
        fresh._solve, fresh._renewals, fresh.factorisations = None, 0, 0
        fresh._reach = self._reach_of_state(moment)
        fresh._sign, fresh._meant = 0.0, self._sign_of_a_small_step(moment)
        return fresh

    def step(self, history: np.ndarray, known: int, moment: tuple) -> tuple[np.ndarray | None, np.ndarray, int]:
        """The unknowns at (t, h, state, parameters), None if they are not found; the history with them, and the
        iterations. Newton begins where earlier solutions point to, and then at the method's own guess."""
        rows = one_row(*moment)
        x, count = None, 0
        foreseen = None if self._continued is None or not known else self._continued(history[:1], *rows)[0]
        if foreseen is not None:  # see `StepEmitter.extrapolate`
            begin = foreseen + self._weights[known - 1][:-1] @ history[1:]
            x, count = self._newton(begin, moment, rows)
        elif known >= 2:
            x, count = self._newton(self._weights[known] @ history, moment, rows)
        if x is None:
            x, more = self._newton(self.guess(*rows)[0], moment, rows)
            count += more
        if x is None:
            return None, history, count
        if self._continued is None:
            return x, np.concatenate([x[None], history[:-1]]), count
        missed = np.zeros_like(x) if foreseen is None else x - foreseen
        return x, np.concatenate([x[None], missed[None], history[1:-1]]), count

    def end(self, x: np.ndarray, moment: tuple) -> np.ndarray | None:
        """Increments and new values of the state; None where they are not finite."""
        end = self.finish(*one_row(x, *moment))[0]
        return end if np.all(np.isfinite(end)) else None

    def begins_finite(self, moment: tuple) -> bool:
        """Whether the equations can be evaluated at the method's guess."""
        rows = one_row(*moment)
        return bool(np.all(np.isfinite(self.values(self.guess(*rows), *rows))))

    def _newton(self, begin: np.ndarray, moment: tuple, rows: tuple) -> tuple[np.ndarray | None, int]:
        """A solution and the iterations; None where there is none that is the one meant."""
        x, count = self._iterated(begin, moment, rows)
        if x is None or not self._meant:
            return x, count
        if self._sign == self._meant and self._scaled(x - begin, x) <= FAR:
            return x, count
        self._solve = None
        return None, count

    def _sign_of_a_small_step(self, moment: tuple) -> float:
        """The sign of the determinant there; 0 where it is not known, or where solutions are found otherwise."""
        functions, (t, h, state, parameters) = self.functions, moment
        if not functions.smooth or functions.explicit or functions.rescue is not None:
            return 0.0
        small = t, np.asarray(SMALL_STEP * h), state, parameters
        _, jacobian = self.residual(self.guess(*one_row(*small))[0], *small)
        if not np.all(np.isfinite(jacobian.data)):
            return 0.0
        try:
            return _sign_of_determinant(sparse_linalg.splu(sparse.csc_matrix(jacobian)))
        except RuntimeError:  # exactly singular
            return 0.0

    def _iterated(self, x: np.ndarray, moment: tuple, rows: tuple) -> tuple[np.ndarray | None, int]:
        before, fresh, helped, served, jacobian = np.inf, False, False, self._renewals == 0, None
        sign = self._sign
        if not served:
            self._solve, self._renewals = None, self._renewals - 1
        for count in range(1, MAX_ITERATIONS + 1):
            if self._solve is None:
                value, jacobian = self.residual(x, *moment)
                if not (np.all(np.isfinite(value)) and np.all(np.isfinite(jacobian.data))):
                    return None, count
                try:
                    factors = sparse_linalg.splu(sparse.csc_matrix(jacobian))
                except RuntimeError:  # exactly singular
                    return None, count
                sign = self._sign
                self._solve, self._sign = factors.solve, _sign_of_determinant(factors) if self._meant else 0.0
                self.factorisations += 1
                fresh = True
            else:
                value = self.values(x[None], *rows)[0]
            update = self._solve(value)
            if not np.all(np.isfinite(update)):
                self._solve = None
                return None, count
            earlier, x = x, x - update
            size = self._scaled(update, x)
            measured = np.isfinite(before)
            if fresh and size > before and before <= UPDATE_TOLERANCE:
                # Newton had converged up to roundoff before this factorisation, which is of no use there: derivatives
                # of difference quotients, such as those of energy-momentum methods, are roundoff near a solution
                self._solve, self._sign = None, sign
                return earlier, count
            contraction = size / before if measured else 1.0
            if (fresh and size <= UPDATE_TOLERANCE) or size * contraction <= ROUNDOFF:
                return x, count
            # a factorisation that is new, or helped before, and does not help now: what is left is roundoff
            if size <= 100 * ROUNDOFF or ((fresh or helped) and size <= NOISE and contraction > 0.3):
                return x, count
            if fresh and measured and contraction > 0.3:  # stagnant
                assert jacobian is not None
                self._reach = np.maximum(self._reach, self._reach_of_equations(x, jacobian))
                size = self._scaled(update, x)
                if size <= UPDATE_TOLERANCE:
                    return x, count
                if size <= LARGEST_NOISE and size <= 10 * self._noise(x, self._solve, rows):
                    return x, count
            helped = measured and contraction <= GOOD_CONTRACTION
            if contraction > GOOD_CONTRACTION and measured:
                self._solve = None
                self._renewals = RENEWALS if served else self._renewals
            before, fresh = size, False
        self._solve = None
        return None, MAX_ITERATIONS

    def _noise(self, x: np.ndarray, solve: Callable, rows: tuple) -> float:
        """The update that follows from roundoff of the unknowns and of the state: with coordinates of size 10^4 and
        h = 10^-3 it is 10^-5 of a multiplier."""
        random = np.random.default_rng(0)
        t, h, state, parameters = rows
        here = self.values(x[None], *rows)[0]
        moved = self.values(rounded(x, random)[None], t, h, rounded(state, random), parameters)[0]
        return self._scaled(solve(moved - here), x)

    def _scaled(self, update: np.ndarray, x: np.ndarray) -> float:
        """The largest update relative to the scale of its group of unknowns."""
        moves = self._largest(update)
        scales = np.maximum(self._largest(x), self._reach)
        return float(np.max(moves / np.where(scales > 0, scales, 1.0), initial=0.0))

    def _largest(self, x: np.ndarray) -> np.ndarray:
        """The largest entry of each group."""
        sizes = np.zeros(len(self.functions.blocks))
        np.maximum.at(sizes, self._groups, np.abs(x))
        return sizes

    def _reach_of_state(self, moment: tuple) -> np.ndarray:
        """The change of each group that would move a part of the new state by its own size: the scale of a multiplier
        that happens to be zero."""
        rows, state = one_row(*moment), moment[2]
        x = self.guess(*rows)[0]
        sizes, summed = self._largest(x), self.functions.n_summed
        parts = np.split(np.arange(summed), np.cumsum(self.functions.summed_blocks)[:-1])
        here = self.finish(x[None], *rows)[0][:summed]
        reach = np.zeros(len(sizes))
        for group in np.unique(self._groups):
            probe = 1e-3 * sizes[group] if sizes[group] > 0 else 1e-3
            moved = self.finish(np.where(self._groups == group, x + probe, x)[None], *rows)[0][:summed]
            found = [
                probe * np.max(np.abs(state[part])) / change
                for part in parts
                if (change := np.max(np.abs(moved - here)[part], initial=0.0)) > 0
            ]
            reach[group] = min((value for value in found if value > 0 and np.isfinite(value)), default=0.0)
        return reach

    def _reach_of_equations(self, x: np.ndarray, jacobian: sparse.csr_matrix) -> np.ndarray:
        """The change of each group that would move an equation by the largest term that other groups have in it; of all
        its equations the smallest."""
        rows = np.repeat(np.arange(len(x)), np.diff(jacobian.indptr))
        group, slope = self._groups[jacobian.indices], np.abs(jacobian.data)
        terms = slope * np.maximum(self._largest(x), self._reach)[group]
        reach = np.zeros_like(self._reach)
        for k in range(len(reach)):
            own = group == k
            others = np.zeros(len(x))
            np.maximum.at(others, rows[~own], terms[~own])
            own &= (slope > 0) & (others[rows] > 0)
            reach[k] = np.min(others[rows[own]] / slope[own], initial=np.inf)
        return np.where(np.isfinite(reach), reach, 0.0)


def _sign_of_determinant(factors: sparse_linalg.SuperLU) -> float:
    """Of P A Q = L U, whose L has ones in its diagonal: the sign of U's diagonal and of both permutations."""
    return float(np.prod(np.sign(factors.U.diagonal()))) * _parity(factors.perm_r) * _parity(factors.perm_c)


def _parity(permutation: np.ndarray) -> int:
    """1 for an even permutation, -1 for an odd one: a cycle of k numbers is k - 1 exchanges."""
    n = len(permutation)
    graph = sparse.csr_matrix((np.ones(n, np.int8), permutation, np.arange(n + 1)), shape=(n, n))
    return -1 if (n - connected_components(graph, connection="weak")[0]) % 2 else 1
