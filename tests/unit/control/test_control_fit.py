"""Parameters from measured motions: within their covariance, exact where the data are, and what cannot be told."""

from typing import ClassVar

import jax.numpy as jnp
import numpy as np
import pytest
from control_systems import Mass

import dalembert as da

TIMES = np.sort(np.append(np.random.default_rng(0).uniform(0.0, 3.0, 79), 3.0))


class Double(da.System):
    """Two bobs on rods, the first of 1 kg, in Cartesian coordinates."""

    mass: float = 1.0
    upper: float = 1.0
    lower: float = 1.0
    gravity: float = 9.81

    def lagrangian(self, t, q, v):
        kinetic = 0.5 * v[:2] @ v[:2] + 0.5 * self.mass * v[2:] @ v[2:]
        return kinetic - self.gravity * (q[1] + self.mass * q[3])

    def holonomic(self, t, q):
        apart = q[2:] - q[:2]
        return 0.5 * jnp.stack([q[:2] @ q[:2] - self.upper**2, apart @ apart - self.lower**2])

    def bent(self):
        upper, lower = (np.array([np.sin(a), -np.cos(a)]) for a in (1.0, 0.5))
        return np.concatenate([self.upper * upper, self.upper * upper + self.lower * lower])


TRUE = Double(mass=0.7, upper=1.1, lower=0.8)
WANTED = ("mass", "upper", "lower")


def last_bob(t, q, v):
    return q[2:]


def measured(noise, seed):
    run = da.simulate(TRUE, da.Galerkin(2), TRUE.bent(), np.zeros(4), t=(0.0, 3.0), h=0.01)
    values = run.interpolate(TIMES).q[:, 2:]
    values = values + noise * np.random.default_rng(seed).standard_normal(values.shape)
    return da.Measured(TIMES, values, Double().bent(), np.zeros(4), output=last_bob, t0=0.0)


def distance(found):
    """The squared distance of the parameters from the true ones, in the metric of their covariance."""
    away = np.array([found.parameters[name] - getattr(TRUE, name) for name in WANTED])
    return away @ np.linalg.solve(found.covariance[:3, :3], away)


def test_a_noisy_double_pendulum():
    for seed in (1, 2):
        found = da.fit(Double(), da.Galerkin(2), measured(0.01, seed), WANTED, noise=0.01, h=0.02, free=("q0", "v0"))
        assert distance(found) < 7.81  # 95 of 100 for three parameters
        assert not found.warnings
        assert np.std(found.residuals[0]) == pytest.approx(1.0, abs=0.2)
        assert max(found.deviations.values()) < 0.02


@pytest.mark.long
def test_one_hundred_noisy_double_pendulums():
    distances = [
        distance(da.fit(Double(), da.Galerkin(2), measured(0.01, k), WANTED, noise=0.01, h=0.02, free=("q0", "v0")))
        for k in range(100)
    ]
    assert np.sum(np.array(distances) < 7.81) >= 90
    assert np.mean(distances) == pytest.approx(3.0, abs=0.5)


def test_exact_data_give_exact_parameters_with_inputs_and_a_bias():
    class Driven(Mass):
        damping: float = 0.0
        inputs: ClassVar = ("push",)

        def force(self, t, q, v, u):
            return u - self.damping * v

    control = np.sin(np.arange(40))[:, None]
    run = da.simulate(Driven(3.0, 0.4), da.Rattle(), [0.2], [0.0], t=(0.0, 2.0), h=0.05, control=control)
    data = da.Measured(run.t, run.v + 0.3, [0.2], [0.0], output=lambda t, q, v: v, control=control)
    found = da.fit(Driven(2.0, 0.1), da.Rattle(), data, ["stiffness", "damping"], h=0.05, free=["bias"])
    assert found.parameters["stiffness"] == pytest.approx(3.0, abs=1e-8)
    assert found.parameters["damping"] == pytest.approx(0.4, abs=1e-8)
    assert found.values[2] == pytest.approx(0.3, abs=1e-8)
    assert found.names == ("stiffness", "damping", "bias[0]")
    assert found.plot().axes[0].get_xlabel() == "$t$"


def test_what_cannot_be_told_is_said():
    class Spring(da.System):
        first: float = 1.0
        second: float = 1.0
        unused: float = 1.0

        def lagrangian(self, t, q, v):
            return 0.5 * v @ v - 0.5 * (self.first + self.second) * q @ q

    t = np.linspace(0.0, 3.0, 20)
    data = da.Measured(t, np.cos(1.5 * t), [1.0], [0.0])
    found = da.fit(Spring(), da.Rattle(), data, ["first", "second"], h=0.01)
    assert found.warnings == ("the measurements do not tell first and second apart",)
    found = da.fit(Spring(), da.Rattle(), data, ["first", "unused"], h=0.01)
    assert found.warnings == ("the measurements do not depend on unused",)
    assert found.parameters["first"] == pytest.approx(1.25, abs=1e-3)


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ({"t": [1.0, 0.0]}, {}, "ascending"),
        ({"values": np.zeros((3, 1))}, {}, "values of a measured motion must have shape"),
        ({"output": lambda t, q, v: jnp.zeros(2)}, {}, "gives 2 numbers, measured were 1"),
        ({"v0": [1.0, 2.0]}, {}, "same shape"),
        ({"control": [1.0, 2.0]}, {}, "has no inputs"),
        ({}, {"parameters": ["mass"]}, "names of fields"),
        ({}, {"noise": -1.0}, "noise must be"),
        ({}, {"free": ["all"]}, "free"),
        ({}, {"free": True}, "free"),
        ({}, {"parameters": [[1.0]]}, "names of fields"),
    ],
)
def test_what_is_wrong_is_said(data, options, message):
    t = np.linspace(0.0, 1.0, 5)
    given = {"t": t, "values": np.cos(t), "q0": [1.0], "v0": [0.0]} | data
    given["values"] = given["values"][: len(given["t"])] if "t" in data else given["values"]

    class Oscillator(da.System):
        stiffness: float = 1.0

        def lagrangian(self, t, q, v):
            return 0.5 * v @ v - 0.5 * self.stiffness * q @ q

    with pytest.raises((da.InputError, da.ModelError), match=message):
        da.fit(Oscillator(), da.Rattle(), da.Measured(**given), **({"parameters": ["stiffness"], "h": 0.05} | options))
