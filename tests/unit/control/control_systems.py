"""Systems with inputs for the tests of this room."""

from typing import ClassVar

import jax.numpy as jnp

import dalembert as da


class CartPole(da.System):
    """A cart of 1 kg that is pushed, and a bob on a rod; q = (cart, x and y of the bob)."""

    bob: float = 0.3
    length: float = 0.5
    friction_of_cart: float = 0.0
    inputs: ClassVar = {"push": da.Input(lower=-20.0, upper=20.0)}

    def lagrangian(self, t, q, v):
        return 0.5 * v[0] ** 2 + 0.5 * self.bob * (v[1] ** 2 + v[2] ** 2) - 9.81 * self.bob * q[2]

    def holonomic(self, t, q):
        return 0.5 * ((q[1] - q[0]) ** 2 + q[2] ** 2 - self.length**2)

    def force(self, t, q, v, u):
        return jnp.array([u[0] - self.friction_of_cart * v[0], 0.0, 0.0])


class CartPoleByAngle(da.System):
    """The same in the position of the cart and the angle of the rod, from below."""

    inputs: ClassVar = ("push",)

    def lagrangian(self, t, q, v):
        x = v[0] + 0.5 * jnp.cos(q[1]) * v[1]
        y = 0.5 * jnp.sin(q[1]) * v[1]
        return 0.5 * v[0] ** 2 + 0.15 * (x**2 + y**2) + 9.81 * 0.3 * 0.5 * jnp.cos(q[1])

    def force(self, t, q, v, u):
        return jnp.array([u[0], 0.0])


class Blade(da.System):
    """A sledge on a runner: q = (x, y, heading); it is pushed along its heading and turned."""

    inputs: ClassVar = ("push", "turn")

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v

    def nonholonomic(self, t, q, v):
        return v[0] * jnp.sin(q[2]) - v[1] * jnp.cos(q[2])

    def force(self, t, q, v, u):
        return jnp.array([u[0] * jnp.cos(q[2]), u[0] * jnp.sin(q[2]), u[1]])


class Mass(da.System):
    """x'' = u - stiffness x, along a line."""

    stiffness: float = 0.0
    inputs: ClassVar = ("push",)

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 0.5 * self.stiffness * q @ q

    def force(self, t, q, v, u):
        return u
