"""The linear map along a run, d(q, p)(t_k) / d(q, p)(t_0): the tangents of its own steps, in compiled code."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import InputError
from ..method import EventCapturing, Langevin, Method
from ..problem import AbstractSystem
from ..stepping import Adaptive, Options, Run, integrate, is_traced


def with_tangent_map(run: Run, options: Options) -> Run:
    """The run with the map as one more array, `tangent`."""
    if is_traced(run.states) or np.ndim(run.states) != 2:
        raise InputError("tangent=True follows one run; of batches and traced values take jax.jacfwd.")
    state = run.layout.unflatten(run.states)
    found = tangent_map(run.system, run.method, np.asarray(state.q)[0], np.asarray(state.p)[0], options)
    return dataclasses.replace(run, more=run.more | {"tangent": found[: len(run.t)]})


def tangent_map(system: AbstractSystem, method: Method, q, p, options: Options) -> np.ndarray:
    """d(q, p)(t_k) / d(q, p)(t_0) at the saved times, (times, 2n, 2n), along the run from (q, p). After a step that
    fails it stays as it was."""
    n, options = len(q), dataclasses.replace(options, traced_check=False, project=False)

    def states(z):
        run = integrate(system, method, z[:n], p0=z[n:], options=options)
        state = run.layout.unflatten(run.states)
        return jnp.concatenate([state.q, state.p], axis=-1)

    return np.asarray(jax.jacfwd(states)(jnp.concatenate([jnp.asarray(q), jnp.asarray(p)])))


def refuse_tangent(method: Any, options: Options, control: Any) -> None:
    """Refuse a run along which the tangents of equal steps do not say how neighbours move."""
    reasons = {
        "inputs that change": control is not None,
        "events": bool(options.events),
        "event capturing or noise": isinstance(method, EventCapturing | Langevin),
        "step sizes that differ: give h as one number": isinstance(options.h, Adaptive) or np.ndim(options.h) > 0,
        'precision="extended"': options.extended,
        'engine="cuda"': options.engine == "cuda",
        "checkpoints or retried steps": options.checkpoint is not None or options.retry,
    }
    for what, holds in reasons.items():
        if holds:
            raise InputError(f"tangent=True follows one run of equal steps; it does not treat {what}.")
