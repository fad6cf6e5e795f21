"""A system by its traced equations, where what its functions read cannot be followed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..formulation import mechanics_of
from ..problem import AbstractSystem, Dependencies, DifferentialAlgebraicInequality, known_in_this_call, reads_of_system
from .family import Family

#: Functions through which an energy-momentum method goes: what gives the invariants, and what takes them.
THROUGH = (
    ("potential_invariants", "potential_of"),
    ("constraint_invariants", "constraint_of"),
    ("phase_invariants", "hamiltonian_of"),
)


def digest_of(traced: Iterable[Any]) -> str:
    """A digest of traced functions with all constants in them."""
    result = hashlib.blake2b(digest_size=16)
    for function in traced:
        result.update(without_places(str(function.jaxpr)).encode())
        for constant in function.consts:
            result.update(np.ascontiguousarray(constant).tobytes())
    return result.hexdigest()


def without_places(text: str) -> str:
    """Text without the places in memory that Python writes into it."""
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def recognised(system: AbstractSystem, n: int) -> Dependencies:
    """What a system of n coordinates reads; where that cannot be followed, its equations as they are traced now. For
    the rest of this call of the library the system is known by them."""
    reads = reads_of_system(system)
    if reads.unclear is None:
        return reads
    try:
        traced = _traced(system, n)
    except Exception:  # a model that is not in order is refused elsewhere, with its reason
        return reads
    return known_in_this_call(system, (traced, n), reads)


def _traced(system: AbstractSystem, n: int) -> str:
    family, number = Family(system), jax.ShapeDtypeStruct((), jnp.float64)
    vector, parameters = (jax.ShapeDtypeStruct((size,), jnp.float64) for size in (n, family.size))

    def equations(t, q, v, p, parameters):
        m = mechanics_of(family.at(parameters))
        model: Any = m.system
        lam, psi = jnp.ones_like(m.constraint(t, q)), jnp.ones_like(m.velocity_constraint(t, q, v))
        found = [m.legendre(t, q, v, p), m.rate(t, q, v, p), m.energy(t, q, v, p), m.constraint(t, q)]
        found += [m.velocity_constraint(t, q, v), m.reactions(t, q, v, p, lam * q[0], psi * q[0])]
        if m.contact.present:
            contacts, impulse = m.contact.count(t, q), q[0] * jnp.ones_like(m.contact.gap(t, q))
            found += [m.contact.gap(t, q), m.contact.tangents(t, q)]
            found += [m.contact.restitution(contacts), m.contact.friction(contacts)]
            found += [model.impact(q, p, impulse)] if isinstance(model, DifferentialAlgebraicInequality) else []
        if model.provides("invariants"):
            found.append(model.invariants(t, q, p))
        for source, function in THROUGH:
            if model.provides(source):
                z = getattr(model, source)(*((q, p) if source == "phase_invariants" else (q,)))
                found += [z, *([getattr(model, function)(z)] if model.provides(function) else [])]
        return found

    return digest_of([jax.make_jaxpr(equations)(number, vector, vector, vector, parameters)])
