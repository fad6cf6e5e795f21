"""`run.gradient`: the gradient of a number that a run gives, by the fields of its system and its starting values."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..arguments import flag, shown, takes
from ..engine import raising
from ..errors import InputError
from ..problem import OverdeterminedDAE, holding
from ..trajectory.record import Trajectory, check_single
from .sensitivities import STARTS, differentiable_fields
from .simulate import simulate


@holding
@raising
def gradient(
    run: Trajectory, of: Callable[[Trajectory], Any], wrt: str | Sequence[str], *, project: bool = False
) -> dict[str, np.ndarray]:
    """The gradient of one number by fields of the system and by starting values: by name, in the shape of its value.

    Args:
        of: a function of a run that gives one number, such as `lambda run: run.q[-1, 0]`, written in `jax.numpy`.
        wrt: the name of a float field, "q0", "v0" or "p0" (not both of the last two), or several of these.
        project: move the start along the constraints as these numbers change, instead of off them.

    The run is taken once more, with a record, and then backwards: two to four times the time of the run, whatever the
    number of names. The sizes of adaptive steps are held fixed.
    """
    check_single(run, "differentiate")
    system, method, again = _repeated(run)
    starts = {name: np.asarray(value)[0] for name, value in zip(STARTS, (run.q, run.v, run.p), strict=True)}
    names, project = differentiable_fields(system, wrt, starts), flag("project", project)
    if "v0" in names and "p0" in names:
        raise InputError('wrt names both "v0" and "p0": a run begins with one of them.')
    if not takes(of, 1):
        raise InputError(f"of must be a function of a run, such as lambda run: run.q[-1, 0]; got {shown(of)}.")
    second = "p0" if "p0" in names else "v0"

    def value(numbers: dict[str, Any]):
        fields = {name: number for name, number in numbers.items() if name not in STARTS}
        start = {name: numbers.get(name, starts[name]) for name in ("q0", second)}
        moved = dataclasses.replace(system, **fields) if fields else system
        found = jnp.asarray(of(simulate(moved, method, **start, **again, project=project)))
        if found.shape != ():
            raise InputError(f"of must give one number, not an array of shape {found.shape}.")
        return found.astype(jnp.float64)

    own = {name: starts[name] if name in STARTS else getattr(system, name) for name in names}
    slopes = jax.grad(value)({name: jnp.asarray(number, jnp.float64) for name, number in own.items()})
    return {name: np.asarray(slope) for name, slope in slopes.items()}


def _repeated(run: Trajectory) -> tuple[Any, Any, dict[str, Any]]:
    """The system, the method, and what else `simulate` needs to take the run once more."""
    system, method = run.system, run.method
    if system is None or method is None:
        raise InputError("a run that was loaded from a file has no equations to differentiate: simulate it again.")
    if isinstance(system, OverdeterminedDAE) or "u" in run._arrays:
        what = "an overdetermined DAE" if isinstance(system, OverdeterminedDAE) else "inputs that change"
        raise InputError(f"run.gradient does not treat {what}; differentiate a function that calls da.simulate.")
    if not run.status:
        raise InputError(f"this run did not reach its end ({run.status.message}), so that it has no gradient.")
    t = np.asarray(run.t)
    if len(t) < 2:
        raise InputError("this run took no steps.")
    if np.ndim(run.h):
        return system, method, _repeated_sizes(run, t)
    h = float(run.h)
    return system, method, {"t": (float(t[0]), float(t[-1])), "h": abs(h), "save_every": round(abs((t[1] - t[0]) / h))}


def _repeated_sizes(run: Trajectory, t: np.ndarray) -> dict[str, Any]:
    """What `simulate` needs to take steps of the same sizes once more. Adaptive steps, of which two halves count, are
    held fixed."""
    sizes = np.asarray(run.h)
    if "accepted" in run.stats:
        sizes = np.repeat(sizes / 2, 2)
    return {"t": (float(t[0]), float(t[-1])), "h": np.abs(sizes), "save_every": len(sizes) // (len(t) - 1)}
