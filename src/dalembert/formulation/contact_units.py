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
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..later import Later
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


class Evaluation:
    """Values and Jacobians of functions of many rows, as classes: the engine's, which compile nothing; loaded when they
    are first used, since this room does not know the engine."""

    values = Later()
    jacobian = Later()


def _found(structure, fixed, shapes, n: int) -> Columns:
    def of(part, kind):
        """One part of the equations as a function of the rows of samples."""

        def function(q, t, v, p, *parameters):
            given = iter(parameters)
            leaves = [whole if shape is None else next(given) for whole, shape in zip(fixed, shapes, strict=True)]
            return part(mechanics_of(jax.tree.unflatten(structure, leaves)), t, q, v, p)

        return kind(function)

    def by_v_and_p(m, t, q, v, p):
        """M z and the like, for two vectors z: the derivatives of the Legendre transformation."""
        none = np.zeros((2, n))
        along_v, along_p = np.concatenate([along, none]), np.concatenate([none, along])
        return jax.vmap(lambda *z: jax.jvp(lambda v, p: m.legendre(t, q, v, p), (v, p), z)[1])(along_v, along_p)

    chance = np.random.default_rng(0)
    t, rows = chance.uniform(0.1, 1.0, SAMPLES), chance.normal(size=(3, SAMPLES, n))
    along = chance.normal(size=(2, n))
    parameters = (chance.uniform(0.5, 1.5, (SAMPLES, *shape)) for shape in shapes if shape is not None)
    samples = (rows[0], t, rows[1], rows[2], *parameters)
    normals = of(lambda m, t, q, v, p: m.contact.gap(t, q), Evaluation.jacobian)(*samples).dense(n)
    tangents = of(lambda m, t, q, v, p: m.contact.tangents(t, q), Evaluation.values)(*samples)
    products = of(by_v_and_p, Evaluation.values)(*samples)
    tangents = np.reshape(tangents, (*normals.shape[:2], -1, n))
    return _judged(normals, tangents, *_masses(np.reshape(products, (SAMPLES, 2, 2, n)), along))


def _masses(products, along) -> tuple[np.ndarray, np.ndarray]:
    """The mass (or its inverse) of every coordinate, and whether it is coupled to none: M z has the entries m_i z_i
    there, whatever z is."""
    quotients = products / along
    alone = np.isclose(quotients[:, :, 0], quotients[:, :, 1], rtol=ROUNDOFF, atol=0)
    with np.errstate(all="ignore"):
        return -quotients[:, 0, 0] / quotients[:, 1, 0], np.all(alone, axis=1)


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
    return bool(np.all(np.abs(values - wanted) <= ROUNDOFF * np.abs(wanted)))


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
