"""What the sensors of a system say along a run: named functions of (t, q, v, a, lam, u).

a and lam are those of the continuous equations at the saved states, with the input u of the step that ends there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import RowFunction
from ..errors import InputError, ModelError
from ..problem import AbstractSystem, inputs_of
from ..stepping import Family, accelerations, flat_parameters, for_family, is_traced

if TYPE_CHECKING:
    from .record import Trajectory


def sensors_of(run: Trajectory) -> dict[str, np.ndarray]:
    """Every sensor by name, time first."""
    stored = {k.removeprefix("sensor_"): x for k, x in run._arrays.items() if k.startswith("sensor_")}
    if stored or run.system is None:
        return stored
    system = run._require_system("sensors")
    if not system.provides("sensors"):
        return {}
    if is_traced(run.t, run.q) or np.ndim(run.q) != 2:
        raise InputError("sensors are read from one run of numbers; take run.member(k), outside jit, vmap and grad.")
    if system.provides("gap"):
        raise ModelError(f"{type(system).__name__} has contacts, at which accelerations are not defined: it has no "
                         "sensors. Read impulses from run.impulse.")  # fmt: skip
    rows = run._parameters_by_row(system)
    found = accelerations(system, run._info["rows"], run.t, run.q, run.v, run.p, parameters=rows)
    n, lam = run.q.shape[1], run.lam
    u = run.u if inputs_of(system).size else np.zeros((len(run.t), 0))
    vector = np.asarray(flat_parameters(system)) if rows is None else rows
    many = np.broadcast_to(vector, (len(run.t), vector.shape[-1]))
    values = _sensors(Family(system))(run.t, run.q, run.v, found[:, :n], lam, u, many)
    return _named(system, values, (n, lam.shape[1], u.shape[1]))


def sensors_at(system: AbstractSystem, state: tuple[Any, ...], parameters: np.ndarray) -> dict[str, np.ndarray]:
    """Every sensor at one state (t, q, v, a, lam, u)."""
    rows = (np.asarray(part, np.float64)[None] for part in (*state, parameters))
    values = _sensors(Family(system))(*rows)
    sizes = (len(state[1]), len(state[4]), len(state[5]))
    return {name: part[0] for name, part in _named(system, values, sizes).items()}


@for_family(maxsize=32)
def _sensors(family: Family) -> RowFunction:
    def flat(*arguments):
        found = family.at(arguments[-1]).sensors(*arguments[:-1])
        return jnp.concatenate([jnp.ravel(jnp.asarray(found[name], jnp.float64)) for name in sorted(found)])

    return RowFunction(flat)


def _named(system: AbstractSystem, values: np.ndarray, sizes: tuple[int, int, int]) -> dict[str, np.ndarray]:
    """The flat values by name and with their shapes."""
    t, q, lam, u = (jax.ShapeDtypeStruct(shape, jnp.float64) for shape in ((), *((size,) for size in sizes)))
    shapes = jax.eval_shape(system.sensors, t, q, q, q, lam, u)
    if not isinstance(shapes, dict) or not all(isinstance(name, str) and name.isidentifier() for name in shapes):
        raise ModelError(
            f"{type(system).__name__}: sensors(t, q, v, a, lam, u) must return a dict of named numbers and vectors, "
            'such as {"tension": lam[0]}.'
        )
    result, first = {}, 0
    for name in sorted(shapes):
        shape = np.shape(shapes[name])
        size = int(np.prod(shape, dtype=int))
        result[name] = values[:, first : first + size].reshape(-1, *shape)
        first += size
    return result
