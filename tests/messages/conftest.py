"""Small systems, and a call with defaults that are right, so that each test spoils exactly one thing."""

from collections.abc import Callable

import pytest

import dalembert as da


class Pendulum(da.System):
    length: float = 1.0
    gravity: float = 9.81

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - self.gravity * q[1]

    def holonomic(self, t, q):
        return 0.5 * (q @ q - self.length**2)


@pytest.fixture
def pendulum_class() -> type[da.System]:
    return Pendulum


@pytest.fixture
def simulate() -> Callable[..., da.Trajectory]:
    """`da.simulate` of the pendulum over ten steps; keywords replace what is given by default."""

    def call(system=None, method=None, **changes):
        arguments = {"q0": [1.0, 0.0], "v0": [0.0, 0.0], "t": (0.0, 1.0), "h": 0.1} | changes
        return da.simulate(
            Pendulum() if system is None else system, da.Rattle() if method is None else method, **arguments
        )

    return call


@pytest.fixture
def free() -> Callable[..., da.System]:
    """A free particle with the optional parts that are given."""

    def build(**parts):
        return da.system(parts.pop("lagrangian", lambda t, q, v: 0.5 * v @ v), **parts)

    return build
