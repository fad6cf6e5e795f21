"""A piece of a large system shows that the whole does not fall into loops, and only where that is so."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from engine_runners import functions_and_start

import dalembert as da
from dalembert.engine.elimination.array_elimination import TooIrregular
from dalembert.engine.elimination.array_probe import Equations
from dalembert.engine.functions.function import Function
from dalembert.engine.program.passes import Pass
from dalembert.engine.step import array_step
from dalembert.engine.step.array_step import build_array_step
from dalembert.engine.tuning import tuning


def test_a_method_that_couples_many_unknowns_is_seen_at_a_piece(monkeypatch):
    """Loops are not tried for the whole then; and what was traced on the way is the residual, with its Jacobian."""
    functions, state, parameters = functions_and_start(da.gallery.Chain(links=180), da.Galerkin(3))
    plans = []

    def irregular(draft):
        plans.append(draft.plan)
        raise TooIrregular(fill=20.0)

    monkeypatch.setattr(array_step, "ELIMINATION", (Pass("eliminate", irregular),))
    with pytest.raises(TooIrregular) as failure:
        build_array_step(functions, state, 0.0, 0.01, parameters)
    assert [(plan.in_loops, plan.most_cost) for plan in plans] == [(False, np.inf), (False, tuning().band_cost)]
    x = np.random.default_rng(0).normal(size=functions.size)
    arguments = (x, np.array(0.3), np.array(0.01), state, parameters)
    values, jacobian = Function(functions.residual, failure.value.traced)(*arguments)
    expected, expected_jacobian = Function(functions.residual)(*arguments)
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-12)
    assert abs(jacobian - expected_jacobian).max() <= 1e-9


def test_what_falls_into_loops_passes(monkeypatch):
    functions, state, parameters = functions_and_start(da.gallery.Chain(links=260), da.Rattle())
    found, of_a_piece = [], Equations.tried

    def kept(equations):
        found.append(of_a_piece(equations))
        return found[-1]

    monkeypatch.setattr(Equations, "tried", kept)
    step = build_array_step(functions, state, 0.0, 0.01, parameters)
    assert found == [None]
    assert step.statistics["newton_unknowns"] == [260]


@pytest.mark.parametrize("links", [40, 260])
def test_derivatives_that_are_not_those_of_the_equations_are_seen(links):
    """An unknown behind `stop_gradient` looks like a known number."""
    functions, state, parameters = functions_and_start(da.gallery.Chain(links=links), da.Rattle())

    def hidden(x, *rest):
        return functions.residual(x, *rest) + 1e-2 * jax.lax.stop_gradient(jnp.roll(x, 7) ** 2)

    build_array_step(functions, state, 0.0, 0.01, parameters)
    with pytest.raises(TooIrregular):
        build_array_step(dataclasses.replace(functions, residual=hidden), state, 0.0, 0.01, parameters)
