"""Contacts of a model: distances that stay positive, and the directions along which their points slide."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp

from .configuration import Configuration
from .joints import JointElement


class ContactElement(eqx.Module):
    """A distance >= 0."""

    name: str = eqx.field(static=True)

    def gap(self, configuration: Configuration, joints: tuple[JointElement, ...]) -> Any:
        """The distance."""
        raise NotImplementedError

    @property
    def rough(self) -> bool:
        """Whether points slide on each other in it."""
        return False


class JointLimit(ContactElement):
    """A stop of a joint: sign (c - bound) >= 0 for its coordinate c."""

    joint: int = eqx.field(static=True)
    coordinate: int = eqx.field(static=True)
    sign: int = eqx.field(static=True)
    bound: Any

    def gap(self, configuration, joints):
        value = configuration.joint_values(self.joint, joints[self.joint])[self.coordinate]
        return jnp.asarray(self.sign * (value - self.bound))


def sliding_rows(system, q):
    """The rows along which the points of every contact slide, shape (contacts, 2, n)."""
    raise NotImplementedError
