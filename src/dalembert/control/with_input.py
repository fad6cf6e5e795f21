"""The equations of a system with given inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arguments import floats
from ..errors import InputError
from ..formulation import Mechanics, mechanics_of
from ..problem import AbstractSystem, Inputs, driven, inputs_of


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
