"""Small systems with contacts for the tests."""

import jax
import jax.numpy as jnp
import numpy as np

import dalembert as da


class Ball(da.System):
    """A ball over a table that may swing."""

    gravity: float = 2.0
    restitution: float = 0.5
    amplitude: float = 0.0

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - self.gravity * q[0]

    def gap(self, t, q):
        return q - self.amplitude * jnp.sin(t)


class Discs(da.System):
    """Rough discs that turn, between two walls and on a floor; coordinates x, y, angle of each."""

    count: int = 3
    radius: float = 0.1
    gravity: float = 0.0
    friction: float = 0.3
    restitution: float = 0.5

    def lagrangian(self, t, q, v):
        x, u = q.reshape(-1, 3), v.reshape(-1, 3)
        kinetic = 0.5 * jnp.sum(u[:, :2] ** 2) + 0.25 * self.radius**2 * jnp.sum(u[:, 2] ** 2)
        return kinetic - self.gravity * jnp.sum(x[:, 1])

    def _pairs(self, q):
        first, second = np.triu_indices(self.count, 1)
        x = q.reshape(-1, 3)[:, :2]
        apart = x[first] - x[second]
        return first, second, apart, jnp.sqrt(jnp.sum(apart**2, axis=1))

    def gap(self, t, q):
        _, _, _, distance = self._pairs(q)
        x = q.reshape(-1, 3)[:, :2]
        walls = [x[:, 1], x[:, 0], 1 - x[:, 0]]
        return jnp.concatenate([distance - 2 * self.radius, *(wall - self.radius for wall in walls)])

    def tangent(self, t, q):
        first, second, apart, distance = self._pairs(q)
        along = jnp.stack([-apart[:, 1], apart[:, 0]], axis=1) / distance[:, None]

        def slip(v):
            u, turn = v.reshape(-1, 3)[:, :2], self.radius * v.reshape(-1, 3)[:, 2]
            between = jnp.sum((u[first] - u[second]) * along, axis=1) - turn[first] - turn[second]
            return jnp.concatenate([between, u[:, 0] + turn, u[:, 1] - turn, u[:, 1] + turn])

        return jax.jacfwd(slip)(jnp.zeros_like(q))

    def start(self, seed: int):
        """Discs that do not touch, with random velocities."""
        random, places = np.random.default_rng(seed), []
        while len(places) < self.count:
            place = random.uniform(0.15, 0.85, 2)
            if all(np.hypot(*(place - other)) > 0.22 for other in places):
                places.append(place)
        q = np.concatenate([np.array(places), np.zeros((self.count, 1))], axis=1)
        return q.ravel(), random.normal(size=3 * self.count) * np.tile([1.0, 1.0, 5.0], self.count)


class Block(da.System):
    """A block on an incline, by its place along it and above it."""

    slope: float = 0.3
    friction: float = 0.5

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 9.81 * (jnp.sin(self.slope) * q[0] + jnp.cos(self.slope) * q[1])

    def gap(self, t, q):
        return q[1:]

    def tangent(self, t, q):
        return jnp.array([[1.0, 0.0]])


class Stack(da.System):
    """Boxes on each other, by the place of the middle and the angle of each; two corners touch the box below."""

    boxes: int = 3
    width: float = 1.0
    height: float = 0.5
    friction: float = 0.5

    def lagrangian(self, t, q, v):
        inertia = (self.width**2 + self.height**2) / 12
        u = v.reshape(-1, 3)
        kinetic = 0.5 * jnp.sum(u[:, :2] ** 2) + 0.5 * inertia * jnp.sum(u[:, 2] ** 2)
        return kinetic - 9.81 * jnp.sum(q.reshape(-1, 3)[:, 1])

    def _corners(self, q):
        x = q.reshape(-1, 3)
        cos, sin = jnp.cos(x[:, 2]), jnp.sin(x[:, 2])
        half, down = self.width / 2, self.height / 2
        sides = [
            jnp.stack([x[:, 0] + side * cos * half + sin * down, x[:, 1] + side * sin * half - cos * down], axis=1)
            for side in (-1.0, 1.0)
        ]
        return jnp.stack(sides, axis=1)

    def _below(self, q):
        return jnp.concatenate([jnp.array([[0.0, -self.height / 2, 0.0]]), q.reshape(-1, 3)[:-1]])

    def gap(self, t, q):
        below, corners = self._below(q), self._corners(q)
        normal = jnp.stack([-jnp.sin(below[:, 2]), jnp.cos(below[:, 2])], axis=1)
        return (jnp.einsum("bcx,bx->bc", corners - below[:, None, :2], normal) - self.height / 2).reshape(-1)

    def tangent(self, t, q):
        below, corners = self._below(q), self._corners(q)
        along = jnp.stack([jnp.cos(below[:, 2]), jnp.sin(below[:, 2])], axis=1)
        arm = corners - below[:, None, :2]

        def slip(v):
            moved = jax.jvp(self._corners, (q,), (v,))[1]
            carrier = jnp.concatenate([jnp.zeros((1, 3)), v.reshape(-1, 3)[:-1]])[:, None]
            carried = carrier[..., :2] + carrier[..., 2:] * jnp.stack([-arm[..., 1], arm[..., 0]], axis=-1)
            return jnp.einsum("bcx,bx->bc", moved - carried, along).reshape(-1)

        return jax.jacfwd(slip)(jnp.zeros_like(q))

    def start(self):
        """All of them at rest."""
        return np.array([[0.0, (k + 0.5) * float(self.height), 0.0] for k in range(self.boxes)]).ravel()


class PendulumAndWall(da.System):
    """A pendulum in Cartesian coordinates that hits a wall at the left of its lowest place."""

    restitution: float = 0.8

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 9.81 * q[1]

    def holonomic(self, t, q):
        return 0.5 * (q @ q - 1.0)

    def gap(self, t, q):
        return q[:1] + 0.3
