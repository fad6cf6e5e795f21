"""How a run moves with what it depends on: forward derivatives of the whole trajectory, in compiled code.

sensitivity     d(q, v, p)(t_k) / d(parameters and starting values)
monodromy       d(q, p)(t1) / d(q, p)(t0): the linear map along a motion, once around a periodic one
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..arguments import flag, shown
from ..engine import raising
from ..errors import InputError
from ..method import Method
from ..problem import AbstractSystem, holding, prepared
from ..stepping import Options
from .simulate import simulate
from .tangent_map import tangent_map

#: Starting values by which a run is differentiated, beside the fields of its system.
STARTS = ("q0", "v0", "p0")


@dataclass(frozen=True)
class Sensitivity:
    """The derivatives of the saved states by some numbers, which lie along the last axis of every array."""

    t: np.ndarray
    q: np.ndarray  # (N, n, numbers)
    v: np.ndarray
    p: np.ndarray
    names: tuple[str, ...]  # of these numbers: "damping", "q0[1]", ...

    def __repr__(self) -> str:
        return f"Sensitivity(of {self.q.shape[1]} coordinates at {len(self.t)} times by {', '.join(self.names)})"


@holding
@raising
def sensitivity(
    system: AbstractSystem, method: Method, q0, v0=None, p0=None, t: tuple[float, float] = (0.0, 1.0), h: float = 0.01,
    *, wrt: str | Sequence[str], save_every: int = 1, project: bool = False,
) -> Sensitivity:  # fmt: skip
    """The derivatives of a run by fields of its system and by its starting values.

    Args:
        system, method, q0, v0, p0, t, h, save_every, project: as `da.simulate` has them.
        wrt: the name of a float field, "q0", "v0" or "p0" (the one that is given), or several of these.

    With holonomic constraints, a change of a field or of q0 that leaves the constraints is followed off them; with
    project=True the start moves along the constraints.
    """
    given = {"q0": q0, "v0": v0, "p0": p0}
    names, project = differentiable_fields(system, wrt, given), flag("project", project)
    parts = [given[name] if name in STARTS else getattr(system, name) for name in names]
    arrays = [np.asarray(part, dtype=np.float64) for part in parts]
    times: list[Any] = []

    def states(values) -> tuple:
        fields = {name: value for name, value in zip(names, values, strict=True) if name not in STARTS}
        start = given | {name: value for name, value in zip(names, values, strict=True) if name in STARTS}
        moved = dataclasses.replace(system, **fields) if fields else system
        run = simulate(moved, method, **start, t=t, h=h, save_every=save_every, project=project)
        times.append(run.t)
        return run.q, run.v, run.p

    found = jax.jacfwd(states)([jnp.asarray(part) for part in arrays])
    columns = [
        np.concatenate([np.asarray(part).reshape(*part.shape[:2], -1) for part in of_one], axis=-1) for of_one in found
    ]
    labels = tuple(
        name if not array.ndim else f"{name}[{', '.join(map(str, place))}]"
        for name, array in zip(names, arrays, strict=True)
        for place in np.ndindex(array.shape)
    )
    by_q, by_v, by_p = columns
    return Sensitivity(np.asarray(times[0]), by_q, by_v, by_p, labels)


def differentiable_fields(system: Any, wrt: Any, given: dict) -> list[str]:
    """The names by which a run is differentiated, each of a field or of a given start; anything else is refused."""
    names = [wrt] if isinstance(wrt, str) else list(wrt) if isinstance(wrt, Sequence) else []
    fields = [
        field.name
        for field in (dataclasses.fields(system) if isinstance(system, AbstractSystem) else ())
        if isinstance(getattr(system, field.name), float | np.floating | np.ndarray | jax.Array)
    ]
    allowed = [*fields, *(name for name in STARTS if given[name] is not None)]
    wrong = [name for name in names if name not in allowed]
    if not names or wrong or len(set(names)) < len(names):
        raise InputError(
            f"wrt must be one or several, each once, of {', '.join(allowed) or 'the float fields'}; got {shown(wrt)}."
        )
    return names


@holding
@raising
def monodromy(
    system: AbstractSystem, method: Method, q0, v0=None, p0=None, t: tuple[float, float] = (0.0, 1.0), h: float = 0.01
) -> np.ndarray:
    """d(q, p)(t1) / d(q, p)(t0), (2n, 2n): how neighbours of a motion move, to first order.

    Its eigenvalues, for a motion of period t1 - t0, are the Floquet multipliers. Along constraints only the directions
    tangent to them have a meaning (dg = 0 and d(g_q v + g_t) = 0, which it maps to such directions at the end).
    """
    first = simulate(system, method, q0, v0, p0, t=t, h=h)
    q, p, options = np.asarray(first.q)[0], np.asarray(first.p)[0], Options(t, h, save_every=len(first.t) - 1)
    return tangent_map(prepared(system), method, q, p, options)[-1]
