"""`equilibrium`: where a system stays at rest, with the multipliers that hold it there.

At a time t and with the input u, the unknowns are q, the momentum p of the velocity zero, lam and psi::

    0 = legendre(t, q, 0, p)
    0 = rate(t, q, 0, p, u) - g_q^T lam - k_v^T psi + N(t, q, 0, psi)
    0 = g(t, q)

Gauss-Newton with steps of minimum norm: where there are more unknowns than equations (nonholonomic constraints, free
inputs, a body that may stand anywhere), the equilibrium near the guess is found.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field

import jax.numpy as jnp
import numpy as np

from ..arguments import count, floats, number, shown
from ..engine import Function
from ..errors import InputError, ModelError, StepFailure
from ..problem import AbstractSystem, Inputs, holding, inputs_of, prepared, undriven
from ..stepping import Family, flat_parameters, for_family, independent_rows, layout_of
from .linearise import Linearisation, linearise
from .with_input import checked_input, mechanics_with

#: Newton ends where its update is this small next to the unknowns of its kind, or no smaller than the one before.
LAST_UPDATE, ROUNDOFF_UPDATE = 1e-13, 1e-9
#: A root leaves of every equation at most this part of its terms.
LEFT = 1e-9
#: Singular values of the Jacobian below this part of the largest are zeros.
RANK = 1e-11


@dataclass(frozen=True)
class Equilibrium:
    """A state of rest.

    Attributes:
        q: the position, (n,).
        lam, psi: the multipliers that hold it.
        u: the inputs there, (inputs,).
        t: the time.
        moved: how far q is from the guess.
    """

    system: AbstractSystem = field(repr=False)
    q: np.ndarray
    lam: np.ndarray
    psi: np.ndarray
    u: np.ndarray
    t: float
    moved: float

    @functools.cached_property
    def linearised(self) -> Linearisation:
        """The linear equations of small motions about it."""
        return linearise(self.system, self.q, u=self.u if self.u.size else None, t=self.t)

    @property
    def eigenvalues(self) -> np.ndarray:
        """Those of small motions on the constraint manifold, the fastest growing first."""
        return self.linearised.eigenvalues

    @property
    def stability(self) -> str:
        """What the eigenvalues say: "asymptotically stable", "unstable", or "undecided" where the largest real part is
        zero up to roundoff, as for every conservative system at a minimum of its potential."""
        return self.linearised.stability


@holding
def equilibrium(
    system: AbstractSystem, guess, *, u=None, free: Sequence[str] = (), t: float = 0.0, redundant: str = "refuse",
    max_iterations: int = 100,
) -> Equilibrium:  # fmt: skip
    """The state of rest next to a position.

    Args:
        system: without contacts.
        guess: a position near it, (n,); it need not satisfy the constraints.
        u: the inputs, (inputs,); default zero.
        free: names of inputs that are found too, so that there is an equilibrium next to the guess.
        t: the time at which the equations are taken, where they depend on it.
        redundant: "refuse" dependent constraints or "allow" them.
        max_iterations: of Newton's method.
    """
    system, t = undriven(prepared(system)), number("t", t)
    max_iterations = count("max_iterations", max_iterations)
    q = floats("guess", guess, finite=True)
    if q.ndim != 1:
        raise InputError(f"guess must have shape (n,), got {q.shape}.")
    if system.provides("gap"):
        raise ModelError(f"{type(system).__name__} has contacts: equilibrium treats constraints, not inequalities.")
    layout, inputs = layout_of(system, len(q)), inputs_of(system)
    control = checked_input(inputs, u)
    chosen = _free(inputs, free)
    rows = independent_rows(system, t, q, redundant) if layout.m else None
    m = layout.m if rows is None else len(rows)
    n, k = layout.n, layout.k
    function = _rest(Family(system), rows, n, m, k, chosen)
    sizes = np.cumsum([n, n, m, k])
    x = np.concatenate([q, np.zeros(n + m + k), control[list(chosen)]])
    x = _gauss_newton(function, x, (t, control, np.asarray(flat_parameters(system))), sizes, max_iterations, system)
    parts = np.split(x, sizes)
    control[list(chosen)] = parts[4]
    if len(chosen):
        inputs.check_bounds(control)
    moved = float(np.max(np.abs(parts[0] - q)))
    return Equilibrium(system, parts[0], parts[2], parts[3], control, t, moved)


def _free(inputs: Inputs, free: Sequence[str]) -> tuple[int, ...]:
    places = {name: [place.start + j for j in range(place.stop - place.start)] for name, place in inputs.places.items()}
    if not isinstance(free, tuple | list) or any(not isinstance(name, str) or name not in places for name in free):
        raise InputError(f"free must be a sequence of names of inputs, of {', '.join(places) or 'none'}; "
                         f"got {shown(free)}.")  # fmt: skip
    return tuple(index for name in free for index in places[name])


@for_family(maxsize=64)
def _rest(family: Family, rows, n: int, m: int, k: int, chosen: tuple[int, ...]) -> Function:
    def rest(x, t, u, parameters):
        q, p, lam, psi, found = jnp.split(x, np.cumsum([n, n, m, k]))
        if chosen:
            u = jnp.concatenate([found[chosen.index(j)][None] if j in chosen else u[j][None] for j in range(len(u))])
        mechanics, v = mechanics_with(family.at(parameters), u, rows), jnp.zeros(n)
        push = mechanics.rate(t, q, v, p) - mechanics.reactions(t, q, v, p, lam, psi)
        return jnp.concatenate([mechanics.legendre(t, q, v, p), push, mechanics.constraint(t, q)])

    return Function(rest)


def _gauss_newton(function: Function, x, rest, sizes, iterations: int, system: AbstractSystem) -> np.ndarray:
    """The root next to x, of minimum distance where there are many; damped by the natural test."""
    value, jacobian = function(x, *rest)
    before = np.inf
    for _ in range(iterations):
        dense = jacobian.toarray()
        if not np.all(np.isfinite(value)) or not np.all(np.isfinite(dense)):
            raise ModelError(
                f"{type(system).__name__}: the equations are not finite near the guess; move it elsewhere."
            )
        inverse = np.linalg.pinv(dense, rcond=RANK)
        update, length = -inverse @ value, 1.0
        size = _size(update, x, sizes)
        if size <= LAST_UPDATE or (size <= ROUNDOFF_UPDATE and size >= before / 2):
            value, jacobian = function(x + update, *rest)
            terms = 1.0 + np.abs(jacobian.toarray()) @ np.maximum(1.0, np.abs(x))
            if np.any(np.abs(value) > LEFT * terms):  # what is left lies where nothing can be done about it
                raise StepFailure(_none(system, value))
            return x + update
        while True:
            trial = x + length * update
            new_value, new_jacobian = function(trial, *rest)
            if np.all(np.isfinite(new_value)) and _size(inverse @ new_value, x, sizes) <= (1 - length / 4) * size:
                break
            length /= 2
            if length < 1e-6:
                raise StepFailure(_none(system, value))
        x, value, jacobian, before = trial, new_value, new_jacobian, size
    raise StepFailure(_none(system, value))


def _size(update: np.ndarray, x: np.ndarray, sizes: np.ndarray) -> float:
    """The largest change, relative to the unknowns of its kind."""
    parts = zip(np.split(update, sizes), np.split(x, sizes), strict=True)
    return max((np.max(np.abs(d)) / max(1.0, np.max(np.abs(own))) for d, own in parts if len(d)), default=0.0)


def _none(system: AbstractSystem, value: np.ndarray) -> str:
    n = len(value) // 2
    worst = int(np.argmax(np.abs(value)))
    what = "the balance of forces" if worst < 2 * n else f"holonomic[{worst - 2 * n}]"
    return (
        f"equilibrium: none was found next to the guess; {what} of {type(system).__name__} stays at "
        f"{np.abs(value[worst]):.3g}. Give another guess, other inputs, or free=(...) to have inputs found."
    )
