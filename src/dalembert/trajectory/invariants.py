"""What a run should conserve: the invariants that its system states, and the momenta of its symmetries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from ..formulation import Symmetry, symmetries
from ..problem import AbstractSystem, OverdeterminedDAE
from ..stepping import observe

if TYPE_CHECKING:
    from .record import Trajectory


def momenta_of(run: Trajectory) -> dict[str, Any]:
    """The momenta of the symmetries along a run, by name."""
    return {symmetry.name: np.asarray(symmetry.momentum(run.q, run.p)) for symmetry in run._symmetries}


def symmetries_of(run: Trajectory, system: AbstractSystem) -> list[Symmetry]:
    """The symmetries of a system, looked for at the start of a run."""
    if isinstance(system, OverdeterminedDAE):
        return []
    return symmetries(system, run.q[0], v=run.v[0], t=float(run.t[0]))


def unstated_momenta(run: Trajectory, system: AbstractSystem) -> list[str]:
    """The symmetries whose momentum is none of the system's own invariants, compared at states off the run."""
    found = run._symmetries
    if not found or not system.provides("invariants"):
        return [symmetry.name for symmetry in found]
    random = np.random.default_rng(0)
    q, p = (np.asarray(x[0], np.float64) + 0.1 * random.standard_normal((3, x.shape[1])) for x in (run.q, run.p))
    known = observe(system, "invariants", np.full(3, run.t[0]), q, np.zeros_like(q), p).T
    return [s.name for s in found if not any(np.allclose(s.momentum(q, p), column) for column in known)]


def stated_invariants(run: Trajectory, system: AbstractSystem) -> dict[str, Any]:
    """The system's own invariants along a run, by name."""
    if not system.provides("invariants"):
        return {}
    flat = run._observe("invariants")
    scalar, vector = jax.ShapeDtypeStruct((), jnp.float64), jax.ShapeDtypeStruct(run.q.shape[-1:], jnp.float64)
    shapes = jax.eval_shape(system.invariants, scalar, vector, vector)
    result, first = {}, 0
    for name in sorted(shapes):  # the order in which JAX flattens a dict
        size = int(np.prod(shapes[name].shape, dtype=int))
        result[name] = flat[..., first : first + size].reshape(flat.shape[:-1] + shapes[name].shape)
        first += size
    return result
