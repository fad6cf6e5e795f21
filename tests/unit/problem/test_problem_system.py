"""Systems: their parts, parameters told from structure, and systems from plain functions."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.gallery import Chain, Pendulum
from dalembert.problem import parameter_record, prepared, split_parameters


class Spring(da.System):
    stiffness: float = 2.0
    order: int = eqx.field(static=True, default=2)

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - self.stiffness * jnp.sum(jnp.abs(q) ** self.order)


def test_parts_are_those_that_a_class_defines():
    assert Spring().parts == ()
    assert Pendulum().parts == ("holonomic",)
    assert Pendulum().provides("holonomic")
    assert not Pendulum().provides("force")
    assert set(Chain().parts) == {"holonomic", "invariants"}


def test_parts_are_inherited():
    class Damped(Pendulum):
        def force(self, t, q, v):
            return -v

    assert set(Damped().parts) == {"holonomic", "force"}


def test_missing_part_says_so():
    with pytest.raises(NotImplementedError):
        Spring().holonomic(0.0, jnp.zeros(1))


def test_contact_data_may_be_a_field_or_a_plain_attribute():
    class Plain(Spring):
        restitution = 0.5

    class Field(Spring):
        restitution: float = 0.7

    assert Spring().restitution == 0.0
    assert Plain().restitution == 0.5
    assert Field().restitution == 0.7
    assert Field(restitution=0.1).restitution == 0.1


def test_prepared_makes_arrays_of_doubles_and_leaves_structure():
    found = prepared(Spring(stiffness=3))
    assert found.stiffness.dtype == np.float64
    assert found.order == 2
    assert isinstance(prepared(Chain(links=3)).links, int)


def test_prepared_does_not_touch_what_it_was_given():
    system = Spring(stiffness=3)
    prepared(system)
    assert system.stiffness == 3
    assert isinstance(system.stiffness, int)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_parameter_that_is_not_finite_is_named(bad):
    with pytest.raises(da.InputError, match=r"parameter stiffness must be finite, got"):
        prepared(Spring(stiffness=bad))


def test_entry_of_an_array_that_is_not_finite_is_named():
    class Weights(da.System):
        weights: jax.Array

        def lagrangian(self, t, q, v):
            return self.weights @ v

    with pytest.raises(da.InputError, match="weights must be finite"):
        prepared(Weights(jnp.array([1.0, jnp.nan])))


@pytest.mark.parametrize("thing", [3.0, None, "pendulum", lambda t, q, v: 0.0])
def test_what_is_no_system_is_refused(thing):
    with pytest.raises(da.InputError, match=r"expected a da\.System or da\.HamiltonianSystem, got"):
        prepared(thing)


def test_class_instead_of_instance_is_explained():
    with pytest.raises(da.InputError, match=r"got the class Pendulum; create an instance: Pendulum\(\)"):
        prepared(Pendulum)


def test_system_without_lagrangian_is_refused():
    class Nothing(da.System):
        mass: float = 1.0

    class Empty(da.HamiltonianSystem):
        mass: float = 1.0

    with pytest.raises(da.ModelError, match=r"Nothing defines no lagrangian\(t, q, v\)"):
        prepared(Nothing())
    with pytest.raises(da.ModelError, match=r"Empty defines no hamiltonian\(t, q, p\)"):
        prepared(Empty())


def test_split_parameters_and_structure():
    parameters, structure = split_parameters(prepared(Chain(links=4, length=2.0)))
    assert sorted(float(x) for x in jax.tree.leaves(parameters)) == [1.0, 2.0, 9.81]
    assert jax.tree.leaves(structure) == []
    assert eqx.combine(parameters, structure).links == 4


def test_parameter_record_is_plain_data():
    record = parameter_record(prepared(Chain(links=4, length=2.0)))
    assert record == {"links": 4, "length": 2.0, "mass": 1.0, "gravity": 9.81}


def test_system_from_functions_hands_parameters_by_name():
    system = da.system(
        lambda t, q, v, g: 0.5 * v @ v - g * q[1],
        holonomic=lambda t, q, length: 0.5 * (q @ q - length**2),
        force=lambda t, q, v: -0.1 * v,
        g=9.81,
        length=2.0,
    )
    q, v = jnp.array([0.0, -2.0]), jnp.array([1.0, 0.0])
    assert set(system.parts) == {"holonomic", "force"}
    assert float(system.lagrangian(0.0, q, v)) == pytest.approx(0.5 + 2 * 9.81)
    assert float(system.holonomic(0.0, q)) == 0.0
    assert float(eqx.tree_at(lambda s: s.length, system, 1.0).holonomic(0.0, q)) == pytest.approx(1.5)


def test_system_from_a_hamiltonian_and_a_name():
    system = da.system(hamiltonian=lambda t, q, p: 0.5 * p @ p, name="Free")
    assert isinstance(system, da.HamiltonianSystem)
    assert type(system).__name__ == "Free"


@pytest.mark.parametrize(
    "arguments",
    [{}, {"lagrangian": lambda t, q, v: 0.0, "hamiltonian": lambda t, q, p: 0.0}],
    ids=["neither", "both"],
)
def test_system_needs_one_of_lagrangian_and_hamiltonian(arguments):
    with pytest.raises(da.InputError, match="exactly one of lagrangian"):
        da.system(**arguments)


def test_part_that_is_no_function_is_refused():
    with pytest.raises(da.InputError, match="expects a function for holonomic, got float"):
        da.system(lambda t, q, v: 0.5 * v @ v, holonomic=3.0)


def test_integer_parameter_of_a_function_system_is_a_number():
    system = prepared(da.system(lambda t, q, v, mass: 0.5 * mass * v @ v, mass=2))
    assert system.mass.dtype == np.float64
