"""The equations of a system with given inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..arguments import floats
from ..errors import InputError
from ..formulation import Mechanics, mechanics_of
from ..problem import AbstractSystem, Inputs, driven, inputs_of
from ..stepping import parameter_places


def checked_input(inputs: Inputs, u: Any) -> np.ndarray:
    """The inputs as an array of their own; zero where none are given."""
    if u is None:
        return np.zeros(inputs.size)
    found = np.atleast_1d(floats("u", u, finite=True))
    if found.shape != (inputs.size,):
        raise InputError(f"u must have shape ({inputs.size},), the inputs of the system, got {found.shape}.")
    return np.array(found)


def mechanics_with(system: AbstractSystem, u, rows) -> Mechanics:
    """The equations with the input u."""
    return mechanics_of(driven(system, values=u[None]) if inputs_of(system).size else system, rows)


def setting_inputs(member: AbstractSystem) -> Callable:
    """A function of (parameters, t, h, U) of a system that is `driven`: its parameters in the step from t to t + h with
    the inputs U. Where nothing drives the system, they stay as they are."""
    places = parameter_places(member)

    def put(parameters, place: slice, values):
        return jnp.concatenate([parameters[: place.start], values, parameters[place.stop :]])

    def with_input(parameters, t, h, U):
        if "input_values" not in places:
            return parameters
        parameters = put(parameters, places["input_values"], U)
        return put(parameters, places["input_span"], jnp.stack([t, h]))

    return with_input
