"""A step with contacts by a complementarity solver: what Newton on the residual with kinks does not find, and what has
too many contacts for it.

The smooth equations S(y, P) = 0 of the step (y: everything but the impulses P) and the velocities w(y, P) that the law
complements are linearised at the last iterate::

    dy = -S_y^-1 (S + S_P dP),        w = b + W P,        W = w_P - w_y S_y^-1 S_P

W is the Delassus matrix of the contacts that are forecast closed. The law is solved exactly for P, y follows, and this
is repeated until nothing changes (Newton's method of Josephy, with the derivatives of the first iterate as long as it
converges well). Corrections tau of the position form a problem of their own, 0 <= gap _|_ tau >= 0, solved in turn with
the first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from .. import nonlinear
from ..engine import Function, RowFunction
from ..formulation import mechanics_of
from ..method import MoreauJean, Step
from .shared_equations import Family

MAX_ITERATIONS = 40
#: The iteration ends when the unknowns change by less than this, relative to their groups.
TOLERANCE = 1e-12
#: Changes below this that do not fall any more are the roundoff of places that are large beside what moves in a step.
STANDSTILL = 1e-9
#: Derivatives are taken anew when the change falls by less than this factor.
SLOW = 0.3
#: Gaps that no velocity closes in so many steps need no correction.
REACH = 3.0
#: Complementarity residuals above this are failures: of a few closed contacts, and of many, where sweeps end earlier.
COMPLEMENTARITY, COMPLEMENTARITY_OF_MANY = 1e-10, 1e-6
#: Closed contacts from which on the second applies, what their sweeps aim at, and the most of them.
MANY, AIM_OF_MANY, SWEEPS_OF_MANY = 30, 1e-9, 20_000


class _Places(NamedTuple):
    """Where the unknowns of the contacts lie in x."""

    smooth: np.ndarray
    impulse: np.ndarray  # (contacts, d)
    tau: np.ndarray


class _Law(NamedTuple):
    """The contacts that may act, linearised: w = b + W P.

    W is symmetric: directions that turn during the step leave a skew part of the size of h, which solvers of contact
    problems do not want; without it the iteration has the same solution.
    """

    rows: np.ndarray  # of w among the values
    moved: np.ndarray  # the impulses among the unknowns
    w_y: Any  # sparse
    reach: Any  # S_y^-1 S_P, sparse
    W: np.ndarray
    contacts: np.ndarray
    directions: int


class ContactSolver:
    """Steps of one Moreau-Jean method on one family of systems."""

    def __init__(self, family: Family, method: MoreauJean, layout, rows) -> None:
        self._family, self._method, self._layout, self._rows = family, method, layout, rows
        self._places = self._find_places()
        self._linearised, self._values = Function(self._smooth_part), RowFunction(self._smooth_part)
        self._known = RowFunction(self._start_part)
        self.worst = 0.0  # the largest complementarity residual of all steps that were accepted

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
        """What is known before the step: the guess, which contacts are closed, which may be penetrating."""
        step = self._step(t, h, state, parameters)
        guess = self._method.guess(step)
        closed = jnp.where(self._method.closed(step), 1.0, 0.0)
        contact, (q, _, v, *_) = step.mechanics.contact, step.start
        approach = jnp.abs(contact.velocity(t, q, v)[:, 0])
        near = jnp.where(contact.gap(t, q) <= REACH * h * (approach + jnp.max(approach)), 1.0, 0.0)
        return jnp.concatenate([ravel_pytree(guess)[0], closed, near])

    def _smooth_part(self, x, t, h, state, parameters):
        """S, then w of all contacts, then the gaps where positions are corrected, then the coefficients of friction."""
        step = self._step(t, h, state, parameters)
        unknowns = ravel_pytree(self._method.guess(step))[1](x)
        equations = self._method.residual(unknowns, step)
        smooth = [jnp.ravel(value) for name, value in equations.items() if name not in ("contact", "gap")]
        velocity = self._method.contact_velocity(unknowns, step)
        gaps = [self._method.gap_after(unknowns, step)] if self._method.position_correction else []
        return jnp.concatenate([*smooth, jnp.ravel(velocity), *gaps, self._method.friction(unknowns, step)])

    def __call__(self, t: float, h: float, state, parameters) -> np.ndarray | None:
        """The unknowns of the step, None if they were not found."""
        arguments = (np.asarray(t), np.asarray(h), np.asarray(state, dtype=np.float64), np.asarray(parameters))
        known = self._known(*(part[None] for part in arguments))[0]
        contacts = self._layout.contacts
        size = len(known) - 2 * contacts
        x, (closed, near) = known[:size].copy(), known[size:].reshape(2, contacts)
        closed, near = closed > 0.5, near > 0.5
        x[self._places.impulse[~closed].ravel()] = 0.0
        linear: tuple[list[_Law], Callable] | None = None
        before = np.inf
        # derivatives without impulses at first: they fall into one block a body, and what they lack is of the size of h
        impulses = np.concatenate([self._places.impulse.ravel(), self._places.tau])
        at = np.copy(x)
        at[impulses] = 0.0
        for _ in range(MAX_ITERATIONS):
            values = self._values(x[None], *(part[None] for part in arguments))[0]
            if linear is None:
                _, jacobian = self._linearised(at, *arguments)
                if not (np.all(np.isfinite(values)) and np.all(np.isfinite(jacobian.data))):
                    return None
                try:
                    linear = self._factorised(jacobian, closed, near)
                except RuntimeError:  # singular
                    return None
            laws, solve = linear
            new, residual = self._improved(x, values, laws, solve)
            if not np.all(np.isfinite(new)):
                return None
            change = float(np.max(np.abs(new - x), initial=0.0) / max(np.max(np.abs(new), initial=0.0), 1e-300))
            x = new
            many = max((len(law.contacts) for law in laws), default=0) > MANY
            wanted = COMPLEMENTARITY_OF_MANY if many else COMPLEMENTARITY
            still = max(change, before) <= STANDSTILL and change > SLOW * before
            if residual <= wanted and (change <= max(TOLERANCE, residual) or still):
                self.worst = max(self.worst, residual)
                return x
            if change > SLOW * before:
                linear, at = None, x
            before = change
        return None

    def _factorised(self, jacobian: Any, closed, near) -> tuple[list[_Law], Callable]:
        """The laws of the contacts that may act, and the solver of the smooth equations."""
        places, count, d = self._places, len(self._places.smooth), self._places.impulse.shape[1]
        equations = jacobian[:count].tocsc()
        smooth = nonlinear.BlockDiagonalSolver(equations[:, places.smooth])
        laws, corrected = [], np.flatnonzero(near) if len(places.tau) else np.zeros(0, np.int64)
        for rows, moved, contacts, directions in (
            (np.flatnonzero(np.repeat(closed, d)), places.impulse[closed].ravel(), np.flatnonzero(closed), d),
            (places.impulse.size + corrected, places.tau[corrected], corrected, 1),
        ):
            if len(moved):
                velocities = jacobian[count + rows]
                w_y = velocities[:, places.smooth]
                reach = smooth.solve_sparse(equations[:, moved])
                W = (velocities[:, moved] - w_y @ reach).toarray()
                laws.append(_Law(count + rows, moved, w_y, reach, (W + W.T) / 2, contacts, directions))
        return laws, smooth.solve

    def _improved(self, x, values, laws, solve) -> tuple[np.ndarray, float]:
        """The next iterate, and the worst residual of the laws."""
        new, worst = x.copy(), 0.0
        free, friction = solve(values[: len(self._places.smooth)]), values[len(values) - self._layout.contacts :]
        for law in laws:
            old = x[law.moved]
            b = values[law.rows] - law.w_y @ free - law.W @ old
            new[law.moved], residual = _impulses(law, b, friction[law.contacts], old)
            free = free + law.reach @ (new[law.moved] - old)
            worst = max(worst, residual)
        new[self._places.smooth] -= free
        return new, worst


def _impulses(law: _Law, b: np.ndarray, friction: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, float]:
    """Impulses that satisfy the law, and its residual."""
    many = len(law.contacts) > MANY
    aim: dict[str, Any] = {"tolerance": AIM_OF_MANY} if many else {}
    if law.directions == 1:
        unilateral = nonlinear.solve_lcp(law.W, b, start, **aim)
        return unilateral.z, unilateral.residual
    if many:
        aim["max_sweeps"] = SWEEPS_OF_MANY
    frictional = nonlinear.solve_friction(law.W, b, friction, law.directions, start, **aim)
    return frictional.r, frictional.residual
