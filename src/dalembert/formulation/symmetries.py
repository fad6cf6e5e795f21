"""Which affine motions leave a system unchanged, found numerically; and the momenta they conserve.

A motion of the coordinates, q -> q + s a(q) with a(q) = A q + b, carries velocities and momenta along::

    q' = A q + b,      v' = A v,      p' = -A^T p

It is a symmetry if the rate of change of L(q, v) (or H(q, p)) along it vanishes at the given state and at states around
it, and that of the constraints, g_q a, on g = 0. (Off it, constraints that are vectors, such as x - l d_3 of a body
held at one point, turn with the motion: g_q a = A g.) For then the constraint forces g_q^T lam have no part along a(q),
and the momentum p . a(q) is conserved (Gonzalez 1999, (9)-(14)). Translations and rotations of particles in the plane
or in space, whose positions stand one after the other in q, are tried unasked; any other (A, b) where it is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..arguments import floats, number, shown
from ..errors import InputError
from ..problem import AbstractSystem, HamiltonianSystem, System
from .mechanics import mechanics_of

#: States at which a symmetry must hold, and how small a rate of change, relative to the sizes at hand, counts as zero.
PROBES, TOLERANCE = 4, 1e-9
#: Steps onto the constraints, and how small they are there.
PROJECTIONS, ARRIVED = 30, 1e-12
_AXES = "xyz"


class Symmetry(NamedTuple):
    """One motion that leaves the system unchanged: its name, and a(q) = matrix q + shift."""

    name: str
    matrix: np.ndarray
    shift: np.ndarray

    def momentum(self, q, p) -> Any:
        """p . a(q), conserved by the motion; along the last axes of q and p."""
        return jnp.sum(p * (q @ self.matrix.T + self.shift), axis=-1)


def symmetries(
    system: AbstractSystem, q, p=None, *, v=None, t: float = 0.0, actions: Mapping[str, Any] | None = None
) -> list[Symmetry]:
    """The translations and rotations (about the origin) that leave L or H, forces and constraints unchanged.

    >>> symmetries(system, q0, actions={"squeeze": (np.diag([1.0, -1.0]), np.zeros(2))})

    Args:
        system: without forces, nonholonomic constraints and contacts; others have no symmetries here.
        q: where to probe, shape (n,).
        p, v: a momentum or velocity to probe at; need not be consistent.
        t: the time.
        actions: other motions a(q) = A q + b to try, by name: a pair (A, b), of shapes (n, n) and (n,).

    Returns:
        Those that hold. Of systems whose number of coordinates is neither a multiple of two nor of three only the
        named ones are tried.
    """
    if not isinstance(system, System | HamiltonianSystem):
        raise InputError(f"symmetries expects a da.System or da.HamiltonianSystem, got {type(system).__name__}.")
    q, t = floats("q", q, finite=True), number("t", t)
    speed = floats("p or v", v if v is not None else p if p is not None else np.ones_like(q), finite=True)
    if q.ndim != 1 or not len(q) or speed.shape != q.shape:
        raise InputError(f"symmetries expects q and p of one shape (n,), got {q.shape} and {speed.shape}.")
    named = _named(actions, q.size)
    if system.provides("force") or system.provides("nonholonomic") or system.provides("gap"):
        return []
    found = []
    for dimension in (3, 2) if system.is_made_of_vectors else ():
        if q.size % dimension == 0:
            found = [s for s in _motions(q.size, dimension) if _holds(system, s, t, q, speed)]
        if found:
            break
    return found + [s for s in named if _holds(system, s, t, q, speed)]


def _named(actions: Mapping[str, Any] | None, n: int) -> list[Symmetry]:
    """The motions that a user names."""
    if actions is None:
        return []
    if not isinstance(actions, Mapping):
        raise InputError(f"actions must be a dict of pairs (A, b) by name, got {shown(actions)}.")
    found = []
    for name, pair in actions.items():
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise InputError(f"actions[{name!r}] must be a pair (A, b) of q -> A q + b, got {shown(pair)}.")
        matrix, shift = (floats(f"actions[{name!r}]", part, finite=True) for part in pair)
        if matrix.shape != (n, n) or shift.shape != (n,):
            raise InputError(
                f"actions[{name!r}] must have the shapes ({n}, {n}) and ({n},), got {matrix.shape} and {shift.shape}."
            )
        found.append(Symmetry(str(name), matrix, shift))
    return found


def _motions(n: int, dimension: int):
    for axis in range(dimension):
        shift = np.tile(np.eye(dimension)[axis], n // dimension)
        yield Symmetry(f"momentum along {_AXES[axis]}", np.zeros((n, n)), shift)
    planes = ((1, 2), (2, 0), (0, 1)) if dimension == 3 else ((0, 1),)
    for (i, j), axis in zip(planes, _AXES if dimension == 3 else "z", strict=False):
        small = np.zeros((dimension, dimension))
        small[j, i], small[i, j] = 1.0, -1.0
        yield Symmetry(f"angular momentum about {axis}", np.kron(np.eye(n // dimension), small), np.zeros(n))


def _holds(system: AbstractSystem, symmetry: Symmetry, t: float, q: np.ndarray, speed: np.ndarray) -> bool:
    mechanics, random = mechanics_of(system), np.random.default_rng(0)
    function = system.hamiltonian if isinstance(system, HamiltonianSystem) else system.lagrangian  # pyright: ignore
    for probe in range(PROBES):
        time = jnp.asarray(t + 0.37 * probe, jnp.float64)
        scale = 0.1 * probe * max(1.0, float(np.max(np.abs(q))))
        at = q + scale * random.standard_normal(q.size)
        moving = speed + (0.1 + probe) * random.standard_normal(q.size)
        carried = -symmetry.matrix.T if isinstance(system, HamiltonianSystem) else symmetry.matrix
        shift, turn = symmetry.matrix @ at + symmetry.shift, carried @ moving
        value, rate = jax.jvp(lambda a, b, time=time: function(time, a, b), (at, moving), (shift, turn))
        if not abs(rate) <= TOLERANCE * (1.0 + abs(value)):
            return False

        def constraint(a, time=time):
            return mechanics.constraint(time, a)

        if _still(constraint, symmetry, at):
            continue
        on = _on_constraints(constraint, at)
        if on is None or not _still(constraint, symmetry, on):
            return False
    return True


def _still(constraint, symmetry: Symmetry, q) -> bool:
    """Whether the constraints do not change along the motion at q."""
    value, rate = jax.jvp(constraint, (q,), (symmetry.matrix @ q + symmetry.shift,))
    return bool(np.max(np.abs(rate), initial=0.0) <= TOLERANCE * (1.0 + np.max(np.abs(value), initial=0.0)))


def _on_constraints(constraint, q) -> np.ndarray | None:
    """The next point with g = 0, by Gauss-Newton steps of least norm; None if they do not arrive."""
    for _ in range(PROJECTIONS):
        value = np.asarray(constraint(q))
        if np.max(np.abs(value), initial=0.0) <= ARRIVED * max(1.0, float(np.max(np.abs(q)))):
            return q
        q = q - np.linalg.lstsq(np.asarray(jax.jacfwd(constraint)(q)), value, rcond=ARRIVED)[0]
    return None
