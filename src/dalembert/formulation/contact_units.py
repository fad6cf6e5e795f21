"""The units of a gap: by how much its rows, and those of the friction directions, exceed true lengths.

At a contact with the unit normal n and the unit friction directions t_i let J v be the relative velocity of the two
points that touch. The rows that a system gives are::

    g_q = c n^T J,      T_i = s t_i^T J

with c = s = 1 where the gap is a length and the rows are true displacements; `gap = 2 y` has c = 2, and
`gap = |q|^2 - R^2` has c = 2 |q|. The multipliers are conjugate to the rows, U_N lam_N + U_T . lam_T is the power of
the contact in any units, so that the true forces are F_N = c lam_N and F_T = s lam_T. Coulomb's law bounds these::

    |F_T| <= mu F_N     <=>     |lam_T| <= mu (c / s) lam_N

The numbers c and s do not follow from the rows alone, nor from the mass matrix: a rod may have mass 1 and inertia 1,
and g_q = (0, 2, 0) may be a gap in half lengths, or a coordinate that is one. They follow where a point of a body has
Cartesian coordinates that stand together in q, as bodies and particles mostly have. In the columns S of these, J is the
unit matrix (or minus it), the rows are c n and s t_i themselves, and c / s = |g_q,S| / |T_1,S|. Two or three columns
that stand together are taken for Cartesian coordinates of a contact if, whatever the state and the parameters are,

- their mass is the same in all of them, and not coupled to any other coordinate;
- in them the rows of the contact do not vanish, are orthogonal, and those of the friction directions are equally long.

"Whatever" is tried at random states with random parameters, where what only holds by accident does not hold. Columns in
which the friction directions have the length one come first; columns in which the gap has it too say that it is a
length. If columns that contradict each other are left, or none (a mechanism in angles), c / s = 1: the gap must be a
length there, and `tangent` must hold true displacements.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..problem import is_parameter
from .mechanics import Mechanics, mechanics_of

#: Random states, of which some may lie outside the domain of the equations, and how many must not.
SAMPLES, FEWEST = 4, 2
#: Lengths and angles that agree up to this are equal.
ROUNDOFF = 1e-9


class Columns(NamedTuple):
    """For each contact its Cartesian coordinates, `width` of them from `first`; width 0: none, or none needed."""

    first: np.ndarray
    width: np.ndarray

    def mask(self, n: int) -> np.ndarray:
        """(contacts, n)."""
        place = np.arange(n) - self.first[:, None]
        return (place >= 0) & (place < self.width[:, None])


def contact_friction(m: Mechanics, t, q):
    """mu c / s of every contact: the bound on |lam_T| / lam_N in the units of the rows."""
    contact = m.contact
    friction = contact.friction(contact.count(t, q))
    if not contact.rough:
        return friction
    columns = cartesian_columns(m.system, q.shape[0])
    return friction * _ratio(columns, *_rows(m, t, q)) if np.any(columns.width) else friction


def _rows(m: Mechanics, t, q):
    """g_q of shape (contacts, n) and T of shape (contacts, d - 1, n)."""
    return jax.jacfwd(lambda q: m.contact.gap(t, q))(q), m.contact.tangents(t, q)


def _ratio(columns: Columns, normals, tangents):
    """c / s of every contact; zero where the gradient of a gap vanishes, of which no force remains."""
    mask, found = columns.mask(normals.shape[1]), jnp.asarray(columns.width > 0)
    normal, tangent = (jnp.sum(jnp.where(mask, rows, 0.0) ** 2, axis=1) for rows in (normals, tangents[:, 0]))
    regular = found & (normal > 0) & (tangent > 0)
    quotient = jnp.where(regular, normal, 1.0) / jnp.where(regular, tangent, 1.0)
    return jnp.where(regular, jnp.sqrt(quotient), jnp.where(found, 0.0, 1.0))


def cartesian_columns(system, n: int) -> Columns:
    """The Cartesian coordinates of each contact, found once for all systems that differ only in parameter values."""
    leaves, structure = jax.tree.flatten(system)
    fixed = tuple(None if is_parameter(leaf) else leaf for leaf in leaves)
    shapes = tuple(np.shape(leaf) if is_parameter(leaf) else None for leaf in leaves)
    try:
        return _remembered(structure, fixed, shapes, n)
    except TypeError:  # an array of integers among the fields cannot be a key
        return _found(structure, fixed, shapes, n)


@functools.lru_cache(maxsize=512)
def _remembered(structure, fixed, shapes, n: int) -> Columns:
    return _found(structure, fixed, shapes, n)


def _found(structure, fixed, shapes, n: int) -> Columns:
    chance = np.random.default_rng(0)
    samples = [
        (chance.uniform(0.1, 1.0), *chance.normal(size=(5, n)),
         tuple(None if shape is None else chance.uniform(0.5, 1.5, shape) for shape in shapes))
        for _ in range(SAMPLES)
    ]  # fmt: skip

    def look(sample):
        t, q, v, p, z, other, numbers = sample
        leaves = [whole if number is None else number for whole, number in zip(fixed, numbers, strict=True)]
        m = mechanics_of(jax.tree.unflatten(structure, leaves))

        def column(k):  # one after the other: all at once would take much memory, and long to compile
            return jax.jvp(lambda q: m.contact.gap(t, q), (q,), (jnp.where(jnp.arange(n) == k, 1.0, 0.0),))[1]

        return (jax.lax.map(column, jnp.arange(n)).T, m.contact.tangents(t, q), *_masses(m, t, q, v, p, z, other))

    with jax.ensure_compile_time_eval():
        stacked = jax.tree.map(lambda *values: jnp.stack([jnp.asarray(value) for value in values]), *samples)
        found = jax.jit(lambda samples: jax.lax.map(look, samples))(stacked)
        return _judged(*(np.asarray(part) for part in found))


def _masses(m: Mechanics, t, q, v, p, z, other) -> tuple[Any, Any]:
    """The mass (or its inverse) of every coordinate, and whether it is coupled to none: M z has the entries m_i z_i
    there, whatever z is."""

    def quotients(z):
        by_v = jax.jvp(lambda v: m.legendre(t, q, v, p), (v,), (z,))[1]
        by_p = jax.jvp(lambda p: m.legendre(t, q, v, p), (p,), (z,))[1]
        return by_v / z, by_p / z

    (by_v, by_p), (by_v_again, by_p_again) = quotients(z), quotients(other)
    alone = jnp.isclose(by_v, by_v_again, rtol=ROUNDOFF, atol=0) & jnp.isclose(by_p, by_p_again, rtol=ROUNDOFF, atol=0)
    return -by_v / by_p, alone


def _judged(normals, tangents, mass, alone) -> Columns:
    """From samples along the first axis: (samples, contacts, n), (samples, contacts, d - 1, n), (samples, n) twice."""
    finite = np.all(np.isfinite(normals), axis=(1, 2)) & np.all(np.isfinite(tangents), axis=(1, 2, 3))
    usable = finite & np.all(np.isfinite(mass), axis=1)
    contacts, n = normals.shape[1:]
    none = Columns(np.zeros(contacts, np.int64), np.zeros(contacts, np.int64))
    if np.sum(usable) < FEWEST:
        return none
    normals, tangents, mass, alone = (part[usable] for part in (normals, tangents, mass, alone))
    fits: dict[int, list] = {}
    for width in (2, 3):
        for first in range(n - width + 1) if width >= 1 + tangents.shape[2] else ():
            here = slice(first, first + width)
            if not (np.all(alone[:, here]) and np.allclose(mass[:, here], mass[:, [first]], rtol=ROUNDOFF, atol=0)):
                continue
            for contact, c, s in _orthogonal(normals[:, :, here], tangents[..., here]):
                fits.setdefault(contact, []).append((first, width, c, s))
    for contact, fit in fits.items():
        true = [one for one in fit if _equal(one[3], 1.0)]
        ratios = [c / s for _, _, c, s in (true or fit)]
        if all(_equal(ratio, ratios[0]) and not _equal(ratio, 1.0) for ratio in ratios):
            none.first[contact], none.width[contact] = (true or fit)[0][:2]
    return none


def _equal(values, wanted) -> bool:
    return np.allclose(values, wanted, rtol=ROUNDOFF, atol=0)


def _orthogonal(normals, tangents):
    """The contacts for which some columns may be Cartesian coordinates, with the lengths c and s in them."""
    contacts = np.flatnonzero(np.all(np.any(normals != 0, axis=2) & np.any(tangents[:, :, 0] != 0, axis=2), axis=0))
    both = np.concatenate([normals[:, contacts, None], tangents[:, contacts]], axis=2)
    lengths = np.sqrt(np.sum(both**2, axis=3))
    units = both / np.where(lengths > 0, lengths, 1.0)[..., None]
    angles = np.einsum("scix,scjx->scij", units, units) - np.eye(both.shape[2])
    alike = np.abs(lengths[:, :, 1:] - lengths[:, :, 1:2]) <= ROUNDOFF * lengths[:, :, 1:2]
    good = np.all(np.abs(angles) <= ROUNDOFF, axis=(0, 2, 3)) & np.all(alike, axis=(0, 2))
    return [(int(contacts[k]), lengths[:, k, 0], lengths[:, k, 1]) for k in np.flatnonzero(good)]
