"""Vectors and rotations of a model: which entries are exactly zero is structure, the others are parameters.

A vector fixed in a body is a `Triple`. Entries that are 0 (and 1 or -1 of directions) are known to the translator,
which leaves out the operations that they would cost; every other entry is a float leaf, a parameter of the system.
Numbers that JAX traces are always parameters.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from ..arguments import floats, shown
from ..errors import InputError

#: Entries below this, relative to the largest, are roundoff of a rotation.
ROUNDOFF = 1e-14
AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


class Triple(eqx.Module):
    """Three numbers. `pattern` holds 0, 1 or -1 where the entry is structure, None where it is a parameter."""

    pattern: tuple[int | None, ...] = eqx.field(static=True)
    values: tuple[Any, ...]

    def entries(self) -> tuple[Any, ...]:
        """The three entries: ints of the structure and numbers of the parameters."""
        values = iter(self.values)
        return tuple(next(values) if known is None else known for known in self.pattern)

    def array(self) -> Any:
        """The three numbers as an array."""
        entries = self.entries()
        if any(isinstance(entry, jax.Array) for entry in entries):
            return jnp.stack([jnp.asarray(entry, jnp.float64) for entry in entries])
        return np.array(entries, dtype=np.float64)


def triple(value, *, direction: bool = False) -> Triple:
    """A vector fixed in a body; of a `direction` the entries 1 and -1 are structure too."""
    if is_traced(value):
        entries = [value[k] for k in range(3)]
        return Triple((None, None, None), tuple(entries))
    numbers = np.asarray(value, dtype=np.float64)
    largest = np.max(np.abs(numbers), initial=0.0)
    numbers = np.where(np.abs(numbers) <= ROUNDOFF * largest, 0.0, numbers)
    if direction:
        near = np.round(numbers)
        numbers = np.where(np.abs(numbers - near) <= ROUNDOFF, near, numbers)
    structure = (0.0, 1.0, -1.0) if direction else (0.0,)
    pattern = tuple(int(x) if x in structure else None for x in numbers.tolist())
    values = tuple(float(x) for x, known in zip(numbers, pattern, strict=True) if known is None)
    return Triple(pattern, values)


def combination(vectors, weights: Triple):
    """sum_k weights_k vectors_k, without the terms that are zero; None if a vector that is needed is None."""
    total = None
    for vector, weight in zip(vectors, weights.entries(), strict=True):
        if isinstance(weight, int) and weight == 0:
            continue
        if vector is None:
            return None
        term = (vector if weight == 1 else -vector) if isinstance(weight, int) else weight * vector
        total = term if total is None else total + term
    return jnp.zeros(3) if total is None else total


def product(a: Triple, b: Triple):
    """a . b of two constant vectors."""
    total: Any = 0.0
    for x, y in zip(a.entries(), b.entries(), strict=True):
        if (isinstance(x, int) and x == 0) or (isinstance(y, int) and y == 0):
            continue
        total = total + x * y
    return total


def is_traced(value) -> bool:
    """Whether a number, an array or a nest of them is being traced by JAX."""
    return any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(value))


def vector(name: str, value, size: int = 3):
    """A vector that a user gives; traced ones pass."""
    if is_traced(value):
        found = jnp.asarray(value, jnp.float64) if not isinstance(value, list | tuple) else jnp.stack(
            [jnp.asarray(x, jnp.float64) for x in value]
        )  # fmt: skip
    else:
        found = floats(name, value, finite=True)
    if found.shape != (size,):
        raise InputError(f"{name} must hold {size} numbers, got {shown(value)}.")
    return found


def axis_direction(name: str, value) -> np.ndarray:
    """A unit vector from "x", "-y", ... or from three numbers of any length but zero."""
    if isinstance(value, str):
        letter, sign = value.removeprefix("-").removeprefix("+"), -1.0 if value.startswith("-") else 1.0
        if letter not in AXES:
            raise InputError(f'{name} must be "x", "y", "z", with a sign or not, or three numbers, got {value!r}.')
        return sign * np.array(AXES[letter])
    found = vector(name, value)
    if isinstance(found, Tracer):
        raise InputError(f"{name} cannot be traced: the directions of a model are its structure.")
    length = float(np.linalg.norm(found))
    if length == 0.0:
        raise InputError(f"{name} must not be zero: it has no direction.")
    return np.asarray(found) / length


def frame_with_axis(axis: np.ndarray, second=None) -> np.ndarray:
    """A right-handed frame as columns whose third axis is `axis`; its first is near `second`, or a coordinate axis."""
    if second is None:
        start = int(np.argmin(np.abs(axis)))
        # the axes of the surroundings go on in a circle, so that axis z gives (x, y, z) and axis x gives (y, z, x)
        along = int(np.argmax(np.abs(axis)))
        second = np.eye(3)[(along + 1) % 3] if np.sum(np.abs(axis) > ROUNDOFF) == 1 else np.eye(3)[start]
    first = second - (second @ axis) * axis
    first = first / np.linalg.norm(first)
    return np.stack([first, np.cross(axis, first), axis], axis=1)


def rotation_matrix(name: str, value) -> np.ndarray:
    """A rotation from a matrix, a quaternion (w, x, y, z), or angles (roll, pitch, yaw) about the fixed x, y and z."""
    if value is None:
        return np.eye(3)
    found = floats(name, value, finite=True)
    if found.shape == (3, 3):
        if not np.allclose(found @ found.T, np.eye(3), atol=1e-9) or np.linalg.det(found) < 0:
            raise InputError(f"{name} must be a rotation matrix (orthogonal, determinant 1), got {shown(value)}.")
        return found
    if found.shape == (4,):
        return from_quaternion(name, found)
    if found.shape == (3,):
        return from_angles(found)
    raise InputError(
        f"{name} must be a 3 x 3 matrix, a quaternion (w, x, y, z) or the angles (roll, pitch, yaw), "
        f"got {shown(value)}."
    )


def from_quaternion(name: str, e: np.ndarray) -> np.ndarray:
    """The rotation of a quaternion (w, x, y, z) of any length but zero."""
    length = float(np.linalg.norm(e))
    if length == 0.0:
        raise InputError(f"{name} is the quaternion 0, which is no rotation.")
    w, x, y, z = e / length
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def from_angles(angles) -> np.ndarray:
    """Rz(yaw) Ry(pitch) Rx(roll)."""
    (sr, sp, sy), (cr, cp, cy) = np.sin(angles), np.cos(angles)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def to_angles(rotation: np.ndarray) -> np.ndarray:
    """(roll, pitch, yaw) of a rotation; roll is 0 where pitch is a right angle and only their sum is known."""
    pitch = float(np.arctan2(-rotation[2, 0], np.hypot(rotation[0, 0], rotation[1, 0])))
    if np.hypot(rotation[0, 0], rotation[1, 0]) < 1e-12:
        return np.array([0.0, pitch, np.arctan2(-rotation[0, 1], rotation[1, 1])])
    return np.array([np.arctan2(rotation[2, 1], rotation[2, 2]), pitch, np.arctan2(rotation[1, 0], rotation[0, 0])])


def about_axis(axis: np.ndarray, angle: float) -> np.ndarray:
    """The rotation by an angle about a unit vector (Rodrigues)."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
