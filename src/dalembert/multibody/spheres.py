"""Many spheres with each other and with planes: a system whose contacts are found from geometry.

A sphere looks the same however it is turned, so that the integrals of its angular velocity serve as coordinates:
q = (centres, turns), three numbers each, and with the inertia I = 2/5 m r^2::

    L = sum_i 1/2 m_i |x_i'|^2 + 1/2 I_i |w_i|^2 + m_i gravity . x_i
"""

from __future__ import annotations

from functools import partial
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ..arguments import floats, positive
from ..errors import InputError, ModelError
from ..problem import System

#: The inertia of a homogeneous ball, in units of m r^2.
BALL = 0.4


def _numbers(name: str):
    return lambda value: jnp.asarray(floats(f"Spheres: {name}", value, finite=True))


class Spheres(System):
    """Spheres that touch each other and planes, for `da.MoreauJean()`.

    Contacts are found among neighbours by a grid of cells, so that a heap of thousands costs what its contacts cost.

    Args:
        radius: one radius for each sphere, (N,).
        mass: one number, or one for each sphere.
        planes: rows (n_x, n_y, n_z, offset), the spheres being where n . x >= offset; n has the length 1.
        gravity: the acceleration of free fall, (3,).
        restitution: of Newton's law of impact, for all contacts.
        friction: the coefficient of Coulomb's law, for all contacts.
        tolerance: the residual of the laws of contact at which the impulses of a step are good enough, relative to the
            largest relative velocity; a hundred times that is a failed step. `run.stats["complementarity_residual"]`
            is the worst one.
    """

    radius: Any = eqx.field(converter=_numbers("radius"))
    mass: Any = eqx.field(converter=_numbers("mass"), default=1.0)
    planes: Any = eqx.field(converter=_numbers("planes"), default=((0.0, 0.0, 1.0, 0.0),))
    gravity: Any = eqx.field(converter=_numbers("gravity"), default=(0.0, 0.0, -9.81))
    restitution: float = 0.0
    friction: float = 0.3
    tolerance: float = eqx.field(static=True, default=1e-6, converter=partial(positive, "Spheres: tolerance"))

    def __check_init__(self) -> None:
        radius, mass, planes = (np.asarray(x) for x in (self.radius, self.mass, self.planes))
        if radius.ndim != 1 or not len(radius) or not np.all(radius > 0):
            raise InputError(f"Spheres: radius must hold a positive number for each sphere, got {radius!r}.")
        if mass.shape not in ((), radius.shape) or not np.all(mass > 0):
            raise InputError(f"Spheres: mass must be a positive number, or {len(radius)} of them, got {mass!r}.")
        if planes.size and (planes.ndim != 2 or planes.shape[1] != 4):
            raise InputError(f"Spheres: planes must have rows (n_x, n_y, n_z, offset), got the shape {planes.shape}.")
        if planes.size and np.any(np.abs(np.linalg.norm(planes[:, :3], axis=1) - 1) > 1e-12):
            raise InputError("Spheres: the normals of planes must have the length 1; divide each row by it.")
        if np.shape(self.gravity) != (3,):
            raise InputError(f"Spheres: gravity must have three numbers, got the shape {np.shape(self.gravity)}.")
        for name, most in (("restitution", 1.0), ("friction", np.inf)):
            value = floats(f"Spheres: {name}", getattr(self, name))
            if value.shape != () or not 0 <= value <= most or not np.isfinite(value):
                raise InputError(f"Spheres: {name} must be one number >= 0{' and <= 1' * (most == 1)}, got {value!r}.")

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        parts = ("lagrangian", "force", "holonomic", "nonholonomic", "gap", "reaction")
        own = [part for part in parts if part in vars(cls)]
        if own:
            raise ModelError(
                f"{cls.__name__} defines {', '.join(own)}, which the contacts of da.Spheres do not know: write a "
                "da.System with gap and tangent."
            )

    @property
    def parts(self) -> tuple[str, ...]:
        """What a method has to treat."""
        return ("spheres",)

    @property
    def count(self) -> int:
        """How many spheres there are."""
        return len(self.radius)

    def lagrangian(self, t, q, v):
        centres, (velocity, spin) = q.reshape(2, self.count, 3)[0], v.reshape(2, self.count, 3)
        mass = jnp.broadcast_to(jnp.asarray(self.mass), (self.count,))
        inertia = BALL * mass * jnp.asarray(self.radius) ** 2
        kinetic = 0.5 * mass @ jnp.sum(velocity**2, axis=1) + 0.5 * inertia @ jnp.sum(spin**2, axis=1)
        return kinetic + mass @ (centres @ jnp.asarray(self.gravity))

    def points(self, t, q):
        return q.reshape(2, self.count, 3)[0]
