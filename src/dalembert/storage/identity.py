"""What a run is, to the last bit, and in what two runs differ: a store goes on only with the run that began it."""

from __future__ import annotations

import functools
import platform
from typing import Any

import jax
import jax.numpy as jnp
import llvmlite.binding as llvm
import numpy as np

from ..engine import StepFunctions
from ..method import Method
from ..problem import AbstractSystem, parameter_record
from ..stepping.shared_equations import digest_of, flat_parameters, without_places
from .store_files import packed


def identity_of(
    system: AbstractSystem, method: Method, functions: StepFunctions, state: np.ndarray, rows, settings: dict[str, Any]
) -> dict[str, Any]:
    """Everything on which the numbers of a run depend, as JSON."""
    return {
        "system": type(system).__qualname__,
        "parameters": {name: _stable(value) for name, value in parameter_record(system).items()},
        "parameter values": packed(np.asarray(flat_parameters(system), dtype=np.float64)),
        "method": _stable(method.name),
        "equations of a step": fingerprint(functions),
        "starting values": packed(np.asarray(state, dtype=np.float64)),
        "independent constraints": None if rows is None else [int(row) for row in rows],
        **settings,
        "versions": _versions(),
        "processor": f"{platform.machine()} {llvm.get_host_cpu_name()}",
    }


def differences(stored: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Where two identities differ, in words."""
    found = []
    for name in dict.fromkeys([*now, *stored]):
        old, new = stored.get(name), now.get(name)
        if old == new:
            continue
        if name in ("parameters", "versions") and isinstance(old, dict) and isinstance(new, dict):
            found += [
                f"{name.removesuffix('s')} {key}: {_shown(old.get(key))} in the store, {_shown(new.get(key))} now"
                for key in dict.fromkeys([*new, *old])
                if old.get(key) != new.get(key)
            ]
        elif name in ("parameter values", "starting values", "equations of a step"):
            found.append(f"{name}: not the same")
        else:
            found.append(f"{name}: {_shown(old)} in the store, {_shown(new)} now")
    return found


def fingerprint(functions: StepFunctions) -> str:
    """A digest of the equations of a step as they were traced, with all constants in them."""
    traced = []
    for part in dict.fromkeys([functions, *(phase.functions for phase in functions.phases)]):
        number = jax.ShapeDtypeStruct((), jnp.float64)
        x, state, parameters = (
            jax.ShapeDtypeStruct((n,), jnp.float64) for n in (part.size, part.n_state, part.n_parameters)
        )
        for function, arguments in ((part.guess, ()), (part.residual, (x,)), (part.checked_finish, (x,))):
            traced.append(jax.make_jaxpr(function)(*arguments, number, number, state, parameters))
    fractions = [repr(phase.fraction) for phase in functions.phases]
    return " ".join([digest_of(traced), *fractions])


def _stable(value: Any) -> Any:
    """Text without the places in memory that Python writes into it."""
    return without_places(value) if isinstance(value, str) else value


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


@functools.cache
def _versions() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("dalembert", "jax", "jaxlib", "numpy", "llvmlite")}
