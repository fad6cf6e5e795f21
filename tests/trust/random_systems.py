"""Random mechanical systems: point masses in chains, trees and loops of rigid bars, with springs, gravity and quartic
potentials, a constraint on the velocity, or a floor."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

import dalembert as da

GRAPHS = ("chain", "tree", "loop")


class PointMasses(da.System):
    """Masses joined by bars; a bar to -1 is fixed at the origin. Bars are as long as they are at the start."""

    masses: object
    lengths: object
    stiffness: object
    gravity: float
    quartic: float
    bars_between: tuple[tuple[int, int], ...] = ()
    springs_between: tuple[tuple[int, int], ...] = ()
    dimension: int = 2

    def _ends(self, q, pairs):
        x = jnp.concatenate([q.reshape(-1, self.dimension), jnp.zeros((1, self.dimension))])
        first, second = np.array(pairs, dtype=int).reshape(-1, 2).T
        return x[first], x[second]

    def lagrangian(self, t, q, v):
        weights = jnp.repeat(self.masses, self.dimension)
        one, other = self._ends(q, self.springs_between)
        height = q.reshape(-1, self.dimension)[:, -1]
        springs = 0.5 * jnp.sum(self.stiffness * jnp.sum((one - other) ** 2, axis=1))
        return (
            0.5 * jnp.sum(weights * v * v) - self.gravity * self.masses @ height - springs - self.quartic * (q @ q) ** 2
        )

    def holonomic(self, t, q):
        one, other = self._ends(q, self.bars_between)
        return 0.5 * (jnp.sum((one - other) ** 2, axis=1) - self.lengths**2)


class FreeMasses(PointMasses):
    """The same without bars."""

    holonomic = da.System.holonomic


class Skidding(PointMasses):
    """With a constraint on the velocity of the last mass, as of a blade that turns with its place."""

    def nonholonomic(self, t, q, v):
        x, w = q[-self.dimension :], v[-self.dimension :]
        return w[1] - x[0] * w[0]


class AboveFloor(FreeMasses):
    """Masses that bounce on a floor."""

    restitution: float = 0.5

    def gap(self, t, q):
        return q.reshape(-1, self.dimension)[:, -1]


class Sample(NamedTuple):
    """A system with a start; the velocity need not be consistent."""

    system: da.System
    q0: np.ndarray
    v0: np.ndarray


def edges(graph: str, points: int, numbers: list[int]) -> tuple[tuple[int, int], ...]:
    """Bars between points; -1 is the origin."""
    if graph == "tree":
        return tuple((k, numbers[k] % (k + 1) - 1) for k in range(points))
    chain = tuple((k, k - 1) for k in range(points))
    return (*chain, (points - 1, -1)) if graph == "loop" and points >= 3 else chain


@st.composite
def samples(draw, kind: type[PointMasses] = PointMasses, graphs=GRAPHS, most_points: int = 4) -> Sample:
    """Topologies from few, so that compiled code is used again; numbers from many."""
    dimension, graph = draw(st.sampled_from((2, 3))), draw(st.sampled_from(graphs))
    points = draw(st.integers(3 if graph == "loop" else 1 if kind is PointMasses else 2, most_points))
    numbers = draw(st.lists(st.integers(0, 100), min_size=points, max_size=points))
    seed = draw(st.integers(0, 2**32 - 1))
    chance = np.random.default_rng(seed)
    bars = edges(graph, points, numbers)
    # steps of a path that turns, so that no two bars of a joint lie in a line
    q = np.cumsum(
        chance.uniform(0.4, 1.0, (points, dimension)) * np.where(np.arange(dimension), 1.0, (-1.0) ** points), 0
    )
    q += chance.uniform(-0.15, 0.15, (points, dimension))
    x = np.concatenate([q, np.zeros((1, dimension))])
    springs = tuple((k, (k + 2) % points) for k in range(points) if points > 2)
    system = kind(
        masses=chance.uniform(0.5, 2.0, points),
        lengths=np.array([np.linalg.norm(x[i] - x[j]) for i, j in bars]),
        stiffness=chance.uniform(0.0, 10.0, len(springs)) * draw(st.sampled_from((0.0, 1.0))),
        gravity=draw(st.floats(0.0, 10.0)),
        quartic=draw(st.sampled_from((0.0, 0.01, 0.1))),
        bars_between=bars,
        springs_between=springs,
        dimension=dimension,
    )
    return Sample(system, q.ravel(), chance.uniform(-1.0, 1.0, q.size))
