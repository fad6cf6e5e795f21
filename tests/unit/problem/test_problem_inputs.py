"""What a system declares as its inputs."""

from typing import ClassVar

import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.problem import driven, inputs_of, undriven


class Boat(da.System):
    mass: float = 2.0
    inputs: ClassVar = {"thrust": da.Input(2, lower=[-1.0, 0.0], upper=1.0), "rudder": da.Input()}

    def lagrangian(self, t, q, v):
        return 0.5 * self.mass * v @ v

    def force(self, t, q, v, u):
        return u[:2] + u[2]


def test_names_sizes_and_bounds():
    inputs = inputs_of(Boat())
    assert inputs.names == ["thrust[0]", "thrust[1]", "rudder"]
    assert inputs.size == 3
    assert inputs.lower.tolist() == [-1.0, 0.0, -np.inf]
    assert inputs.upper.tolist() == [1.0, 1.0, np.inf]


def test_without_more_said_the_input_is_zero_and_a_driven_system_is_of_the_same_kind():
    assert np.array_equal(Boat().force(0.0, jnp.ones(2), jnp.ones(2)), [0.0, 0.0])
    moved = driven(Boat(mass=3.0), values=np.array([[0.5, 0.25, 1.0]]))
    assert np.array_equal(moved.force(0.0, jnp.ones(2), jnp.ones(2)), [1.5, 1.25])
    assert type(moved) is type(driven(Boat()))
    assert type(undriven(moved)) is Boat
    assert undriven(moved).mass == 3.0


def test_plain_functions_take_inputs_too():
    mass = da.system(
        lambda t, q, v, m: 0.5 * m * v @ v, force=lambda t, q, v, u, gain: gain * u, inputs=("push",), m=2.0, gain=3.0
    )
    sim = da.Stepper(mass, da.Rattle(), 0.1, [0.0], [0.0])
    assert np.allclose(sim.step([2.0], 10).v, 3.0)


def test_a_subclass_may_write_another_force():
    class Heavy(Boat):
        def force(self, t, q, v, u):
            return 2.0 * u[:2]

    assert np.array_equal(driven(Heavy(), values=np.ones((1, 3))).force(0.0, 0.0, 0.0), [2.0, 2.0])


@pytest.mark.parametrize(
    ("inputs", "force", "message"),
    [
        (("push",), lambda self, t, q, v: q, r"its force must take \(self, t, q, v, u\), got \(self, t, q, v\)"),
        (3, lambda self, t, q, v, u: q, "inputs must be such as .* got 3"),
        ({"push": 1.0}, lambda self, t, q, v, u: q, "got 'push': 1.0"),
        ({}, lambda self, t, q, v, u: q, "must name at least one input"),
    ],
)
def test_declarations_that_are_none_are_refused(inputs, force, message):
    with pytest.raises(da.ModelError, match=message):
        type("Wrong", (da.System,), {"inputs": inputs, "force": force, "lagrangian": lambda self, t, q, v: 0.5 * v @ v})


def test_bounds_that_are_none_are_refused():
    with pytest.raises(da.InputError, match="lower must not exceed upper"):
        da.Input(lower=1.0, upper=0.0)
    with pytest.raises(da.InputError, match=r"upper must be a number or have shape \(2,\), got \(3,\)"):
        da.Input(2, upper=[1.0, 2.0, 3.0])
