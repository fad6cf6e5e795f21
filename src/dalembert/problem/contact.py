"""The data of contacts: restitution and friction, one value for all contacts or one for each.

Contact is geometry times law. The geometry is `gap(t, q)` and `tangent(t, q)` of the system, the numbers of the law are
its attributes `restitution` and `friction`.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from ..arguments import floats, shown
from ..errors import InputError
from .system import AbstractSystem

#: What each number of a contact law may be: (smallest, largest).
RANGES = {"restitution": (0.0, 1.0), "friction": (0.0, np.inf)}


def contact_data(system: AbstractSystem, name: str, contacts: int) -> Any:
    """`restitution` or `friction` as one value a contact, shape (contacts,)."""
    value = getattr(system, name) if contacts else 0.0  # without contacts nobody has looked at it
    return jnp.broadcast_to(jnp.asarray(value, dtype=jnp.float64), (contacts,))


def check_contact_data(system: AbstractSystem, contacts: int) -> None:
    """Refuse values of a wrong shape or out of range."""
    label = type(system).__name__
    for name, (lowest, highest) in RANGES.items():
        value = getattr(system, name)
        if isinstance(value, Tracer):
            continue
        try:
            numbers = floats(name, value)
        except InputError as error:
            raise InputError(
                f"{name} of {label} must be a number or one number a contact, got {shown(value)}."
            ) from error
        if numbers.shape not in ((), (contacts,)):
            raise InputError(
                f"{name} of {label} must be a number or an array of shape ({contacts},), one for each contact; "
                f"got shape {numbers.shape}."
            )
        bad = ~((numbers >= lowest) & (numbers <= highest) & np.isfinite(numbers))
        if np.any(bad):
            first = float(numbers[bad].flat[0])
            wanted = "between 0 and 1" if np.isfinite(highest) else "at least 0"
            raise InputError(f"{name} of {label} must be {wanted}, got {first:g}.")
