"""Every primitive with its parameters, itself and under the transformations of JAX: the engine's numbers are XLA's.

A function and its derivative along a direction are traced once. XLA compiles what was traced; the engine translates
it, once into scalar operations and once into arrays of them. A parameter that the translation does not honour, or an
operation that means something else for numbers of another type, shows in the difference.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from differential_cases import GROUPS, Function, forms_of

from dalembert.engine.program.array_program import ArrayProgram
from dalembert.engine.program.program import Program, Values
from dalembert.engine.trace.interpreter import Interpreter
from dalembert.engine.trace.primitives import Nodes, Parameters, ids_of
from dalembert.engine.values.array_values import ArrayEvaluator
from dalembert.errors import UnsupportedByEngine

TOLERANCE = 1e-12


def traced(function: Function, every: bool) -> dict:
    """Value and derivative along a direction, for every form: the jaxpr, the point, the direction."""
    found = {}
    for form, (call, point) in forms_of(function, every).items():
        direction = np.random.default_rng(1).uniform(-1.0, 1.0, point.shape)

        def pushed(x, dx, call=call):
            value, change = jax.jvp(call, (x,), (dx,)) if function.differentiated else (call(x), jnp.zeros(0))
            return jnp.ravel(value), jnp.ravel(change)

        found[form] = jax.make_jaxpr(pushed)(point, direction), point, direction
    return found


def by_scalars(closed, point, direction) -> np.ndarray:
    """The engine's numbers; the derivative from its linear forms, entry by entry."""
    program = Program()
    value, change = run(program, closed, point.shape)
    numbers = Values(program, {("x", k): number for k, number in enumerate(point.ravel())})
    forms = [program.form(node) for node in change.tolist()]
    along = [sum(numbers[node] * direction.ravel()[j] for j, node in form.items()) for form in forms]
    return np.concatenate([numbers.array(value), along])


def by_arrays(closed, point, direction) -> np.ndarray:
    program = ArrayProgram()
    value, change = run(program, closed, point.shape)
    rows, keys, nodes = program.entries(change)
    numbers = ArrayEvaluator(program, np.concatenate([value, nodes]))({"x": point.ravel()})[:, 0]
    entries = numbers[len(value) :] * direction.ravel()[keys]
    return np.concatenate([numbers[: len(value)], np.bincount(rows, entries, minlength=len(change))])


def run(program, closed, shape) -> list[np.ndarray]:
    size = int(np.prod(shape))
    given = [Nodes(nodes.reshape(shape)) for nodes in (program.inputs("x", size), program.differentials(size))]
    return [ids_of(program, value) for value in Interpreter(program).run(closed.jaxpr, closed.consts, given)]


def is_close(actual: np.ndarray, expected: np.ndarray) -> bool:
    size = max(1.0, float(np.max(np.abs(expected), initial=0.0, where=np.isfinite(expected))))
    return np.allclose(actual, expected, rtol=TOLERANCE, atol=TOLERANCE * size, equal_nan=True)


@pytest.mark.usefixtures("quick_xla")
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.long)], ids=["fast", "every form"])
@pytest.mark.parametrize("group", GROUPS)
def test_the_numbers_are_those_of_xla(group, every):
    cases = {
        f"{function.name}, {form}": what for function in GROUPS[group] for form, what in traced(function, every).items()
    }
    by_xla = jax.jit(
        lambda given: {
            name: jax.core.eval_jaxpr(what[0].jaxpr, what[0].consts, *given[name]) for name, what in cases.items()
        }
    )
    expected = by_xla({name: what[1:] for name, what in cases.items()})
    differ = []
    for name, what in cases.items():
        for kind, evaluate in (("scalars", by_scalars), ("arrays", by_arrays)):
            try:
                found = evaluate(*what)
            except UnsupportedByEngine as reason:
                differ.append(f"{name}, {kind}: {reason}")
                continue
            wanted = np.concatenate(expected[name])
            if not is_close(found, wanted):
                differ.append(f"{name}, {kind}: {found} instead of {wanted}")
    assert differ == []


def test_an_unknown_parameter_of_a_known_operation_is_refused():
    closed = jax.make_jaxpr(lambda x: jnp.sin(x).reshape(3, 2))(np.ones((2, 3)))
    for equation in closed.jaxpr.eqns:
        program = Program()
        arguments = [Nodes(program.inputs("x", 6).reshape(2, 3))]
        changed = equation.replace(params={**equation.params, "upside_down": True})
        with pytest.raises(UnsupportedByEngine, match=rf"{equation.primitive.name}' with upside_down = True"):
            Interpreter(program).evaluate(changed, arguments)


def test_a_parameter_that_says_nothing_is_not_refused():
    parameters = Parameters({"new": None, "sharding": object(), "axis": 1})
    assert parameters.unread() == ["axis"]
    assert parameters["axis"] == 1
    assert parameters.unread() == []
