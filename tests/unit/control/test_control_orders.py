"""Plans converge to the known optimum with the order of the method: positions, costates, cost, and inputs."""

import importlib.util

import pytest
from benchmarks.plan_orders import KNOWN, METHODS, plan_errors, slopes

#: At the nodes of a step the inputs have the order of its stages.
OF_INPUTS = {"Rattle()": 2, "Galerkin(2)": 3, 'lobatto_spark(3, "AB")': 3, "Galerkin(3)": 4}
CASES = [("oscillator", label) for label in METHODS] + [("orbit", label) for label in METHODS]


@pytest.mark.parametrize(("name", "label"), CASES)
def test_plans_have_the_order_of_the_method(name, label):
    method, steps = METHODS[label]
    of_q, of_costate, of_u, of_cost = slopes(plan_errors(KNOWN[name](), method, steps), steps)
    assert min(of_q, of_costate, of_cost) > method.order - 0.2
    assert of_u > OF_INPUTS[label] - 0.2


@pytest.mark.skipif(importlib.util.find_spec("ipyopt") is None, reason="needs the extra control")
@pytest.mark.parametrize("label", ["Rattle()", "Galerkin(2)", 'lobatto_spark(3, "AB")'])
def test_a_singular_arc_has_the_order_of_the_method(label):
    """The brachistochrone, on which nothing but the motion tells what the inputs are."""
    method, steps = METHODS[label]
    of_q, of_costate, _, of_cost = slopes(plan_errors(KNOWN["brachistochrone"](), method, steps), steps)
    assert min(of_q, of_costate, of_cost) > method.order - 0.2
