"""A step with contacts by a complementarity solver: what Newton on the residual with kinks does not find, and what has
too many contacts for it.

The smooth equations S(y, P) = 0 of the step (y: everything but the impulses P) and the velocities w(y, P) that the law
complements are linearised at the last iterate::

    dy = -S_y^-1 (S + S_P dP),        w = b + W P,        W = w_P - w_y S_y^-1 S_P

W is the Delassus matrix of the contacts that are forecast closed. The law is solved exactly for P, y follows, and this
is repeated until nothing changes (Newton's method of Josephy): once where the equations are linear in y. Corrections
tau of the position form a problem of their own, 0 <= gap _|_ tau >= 0, solved in turn with the first.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sparse
import scipy.sparse.linalg as sparse_linalg
from jax.flatten_util import ravel_pytree

from .. import nonlinear
from ..engine import Function
from ..formulation import mechanics_of
from ..method import MoreauJean, Step
from .family import Family

MAX_ITERATIONS = 40
#: The iteration ends when the unknowns change by less than this, relative to their groups.
TOLERANCE = 1e-12
#: Complementarity residuals above this are failures.
COMPLEMENTARITY = 1e-10


class _Places(NamedTuple):
    """Where the unknowns of the contacts lie in x."""

    smooth: np.ndarray
    impulse: np.ndarray  # (contacts, d)
    tau: np.ndarray


class ContactSolver:
    """Steps of one Moreau-Jean method on one family of systems."""

    def __init__(self, family: Family, method: MoreauJean, layout, rows) -> None:
        self._family, self._method, self._layout, self._rows = family, method, layout, rows
        self._places = self._find_places()
        self._linearised = Function(self._smooth_part)
        self._known = Function(lambda t, *rest: self._start_part(t[0], *rest))
        self.residual = 0.0

    def _step(self, t, h, state, parameters) -> Step:
        return Step(mechanics_of(self._family.at(parameters), self._rows), t, h, self._layout.unflatten(state))

    def _find_places(self) -> _Places:
        number = jax.ShapeDtypeStruct((), jnp.float64)
        state, parameters = (
            jax.ShapeDtypeStruct((size,), jnp.float64) for size in (self._layout.n_state, self._family.size)
        )
        shapes = jax.eval_shape(lambda *a: self._method.guess(self._step(*a)), number, number, state, parameters)
        sizes = [int(np.prod(part.shape)) for part in shapes]
        named = dict(zip(shapes._fields, np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1]), strict=True))
        impulse, tau = named["impulse"].reshape(shapes.impulse.shape), named["tau"]
        return _Places(np.setdiff1d(np.arange(sum(sizes)), np.concatenate([impulse.ravel(), tau])), impulse, tau)

    def _start_part(self, t, h, state, parameters):
        """What is known before the step: the guess, which contacts are closed, friction."""
        step = self._step(t, h, state, parameters)
        guess = self._method.guess(step)
        contacts = guess.impulse.shape[0]
        friction = self._method.law.friction_used(step.mechanics.contact.friction(contacts))
        closed = jnp.where(self._method.closed(step), 1.0, 0.0)
        return jnp.concatenate([ravel_pytree(guess)[0], closed, friction])

    def _smooth_part(self, x, t, h, state, parameters):
        """S, then w of all contacts, then the gaps where positions are corrected."""
        step = self._step(t, h, state, parameters)
        unknowns = ravel_pytree(self._method.guess(step))[1](x)
        equations = self._method.residual(unknowns, step)
        smooth = [jnp.ravel(value) for name, value in equations.items() if name not in ("contact", "gap")]
        velocity = self._method.contact_velocity(unknowns, step)
        gaps = [self._method.gap_after(unknowns, step)] if self._method.position_correction else []
        return jnp.concatenate([*smooth, jnp.ravel(velocity), *gaps])

    def solve(self, t: float, h: float, state, parameters) -> np.ndarray | None:
        """The unknowns of the step, None if they were not found."""
        arguments = (np.asarray(h), np.asarray(state, dtype=np.float64), np.asarray(parameters))
        known = self._known(np.array([t]), *arguments)[0]
        places, contacts = self._places, self._layout.contacts
        size = len(known) - 2 * contacts
        x = known[:size].copy()
        closed, friction = known[size : size + contacts] > 0.5, known[size + contacts :]
        x[places.impulse[~closed].ravel()] = 0.0
        chosen, mu = places.impulse[closed], friction[closed]
        for _ in range(MAX_ITERATIONS):
            values, jacobian = self._linearised(x, np.asarray(t), *arguments)
            if not (np.all(np.isfinite(values)) and np.all(np.isfinite(jacobian.data))):
                return None
            new, good = self._improved(x, values, jacobian, closed, chosen, mu)
            if new is None or not np.all(np.isfinite(new)):
                return None
            change = np.max(np.abs(new - x) / self._sizes(new))
            x = new
            if good and change <= TOLERANCE:
                return x
        return None

    def _improved(self, x, values, jacobian, closed, chosen, mu):
        """The next iterate, and whether the laws were solved to tolerance."""
        places, count = self._places, len(self._places.smooth)
        columns = jacobian.tocsc()
        S, S_y = values[:count], columns[:count][:, places.smooth]
        try:
            solve = sparse_linalg.splu(sparse.csc_matrix(S_y)).solve
        except RuntimeError:  # singular
            return None, False
        moved = chosen.ravel()
        new, good = x.copy(), True
        free = solve(S)
        if len(moved):
            rows = count + np.flatnonzero(np.repeat(closed, places.impulse.shape[1]))
            w_y, reach = columns[rows][:, places.smooth], solve(columns[:count][:, moved].toarray())
            W = columns[rows][:, moved].toarray() - w_y @ reach
            b = values[rows] - w_y @ free - W @ x[moved]
            new[moved], self.residual = _law(W, b, mu, places.impulse.shape[1], x[moved])
            good = self.residual <= COMPLEMENTARITY
            free = free + reach @ (new[moved] - x[moved])
        if len(places.tau):
            rows = count + places.impulse.size + np.arange(len(places.tau))
            g_y, reach = columns[rows][:, places.smooth], solve(columns[:count][:, places.tau].toarray())
            W = columns[rows][:, places.tau].toarray() - g_y @ reach
            b = values[rows] - g_y @ free - W @ x[places.tau]
            new[places.tau], residual = _law(W, b, np.zeros(len(places.tau)), 1, x[places.tau])
            good = good and residual <= COMPLEMENTARITY
            free = free + reach @ (new[places.tau] - x[places.tau])
        new[places.smooth] -= free
        return new, good

    def _sizes(self, x) -> np.ndarray:
        """One size for all unknowns of a step with velocities and impulses: the largest, so that zero does no harm."""
        return np.full(len(x), max(float(np.max(np.abs(x))), 1e-300))


def _law(W, b, mu, directions: int, start) -> tuple[np.ndarray, float]:
    """Impulses that satisfy the law, and its residual."""
    if directions == 1:
        unilateral = nonlinear.solve_lcp(W, b, start)
        return unilateral.z, unilateral.residual
    frictional = nonlinear.solve_friction(W, b, mu, directions, start)
    return frictional.r, frictional.residual
