"""Where Newton begins: on the polynomials of the step before, and on what they missed in earlier steps."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
from engine_runners import functions_and_start
from numpy.polynomial import Polynomial

import dalembert as da
from dalembert.engine.runners.sparse import SparseRun
from dalembert.method.polynomials import continuation
from dalembert.method.tableau import quadrature


@pytest.mark.parametrize("count", [1, 2, 3, 5, 7])
def test_a_polynomial_is_continued_exactly(count):
    nodes = quadrature("gauss", count).nodes
    curve = Polynomial(np.arange(1.0, count + 1.0))
    np.testing.assert_allclose(continuation(nodes) @ curve(nodes), curve(nodes + 1), rtol=1e-12)


def test_coinciding_nodes_repeat_their_values():
    np.testing.assert_array_equal(continuation(np.array([0.0, 0.0, 1.0])), np.eye(3))


def test_displacements_of_a_galerkin_step_are_continued_from_its_end():
    method = da.Galerkin(3)
    curve = Polynomial([0.3, -1.0, 0.5, 2.0])
    control = quadrature("lobatto", 4).nodes

    def displacements(start):
        return (curve(start + control[1:]) - curve(start))[:, None] * np.ones(2)

    functions, state, parameters = functions_and_start("pendulum", method)
    rest = (jnp.asarray(0.0), jnp.asarray(0.5), jnp.asarray(state), jnp.asarray(parameters))
    x = np.array(functions.guess(*rest))
    x[:6] = displacements(0.0).ravel()
    found = np.asarray(functions.continued(jnp.asarray(x), *rest))
    np.testing.assert_allclose(found[:6], displacements(1.0).ravel(), rtol=1e-12)


@pytest.mark.parametrize(
    ("system", "method", "h", "most"),
    [
        ("pendulum", da.Galerkin(3), 0.005, 1.05),
        ("double-pendulum", da.Galerkin(4), 0.005, 1.2),
        ("mclachlan-perlmutter-particles", da.gauss_spark(3), 0.01, 1.2),
    ],
)
def test_one_iteration_is_enough_where_the_motion_is_resolved(system, method, h, most):
    """Two are needed where only the numbers of the steps before are extrapolated."""
    model = da.gallery.system_named(system)()
    start = model.start()
    run = da.simulate(model, method, start.q0, start.v0, t=(0.0, 1000 * h), h=h, save_every=1000)
    assert run.stats["newton_iterations"] <= most * 1000


def test_the_engine_for_irregular_systems_begins_there_too():
    functions, state, parameters = functions_and_start("mclachlan-perlmutter-particles", da.gauss_spark(3))
    counts = []
    for given in (functions, dataclasses.replace(functions, continued=None)):
        runner = SparseRun(given, True).begin("asked for")
        chunk = runner.run(runner.first_carry(state), 0.0, 0.02, 100, 100, parameters, 1)
        assert chunk.status == 0
        counts.append((int(chunk.iterations.sum()), chunk.saved))
    assert counts[0][0] < 0.8 * counts[1][0]
    np.testing.assert_allclose(counts[0][1], counts[1][1], atol=1e-12)


def test_lanes_begin_where_a_single_run_does():
    system = da.gallery.system_named("pendulum")()
    start = system.start()
    q, v = (np.repeat(np.asarray(part)[None], 5, axis=0) for part in (start.q0, start.v0))
    many = da.simulate(system, da.Galerkin(3), q, v, t=(0.0, 1.0), h=0.01)
    one = da.simulate(system, da.Galerkin(3), start.q0, start.v0, t=(0.0, 1.0), h=0.01)
    np.testing.assert_allclose(many.q[2], one.q, atol=1e-13)


def test_a_constant_that_cannot_be_measured_again_does_not_ask_for_iterations_for_ever():
    """The first steps have no history: Newton moves far, and the constant of its convergence is large. Later ones begin
    so close that nothing can be measured."""
    reach = np.arange(1.0, 11.0)[:, None]
    q0, v0 = reach * np.array([np.sin(0.5), 0.0, -np.cos(0.5)]), reach * np.array([0.0, 0.1, 0.0])
    run = da.simulate(
        da.gallery.Chain(links=10), da.Galerkin(2), q0.ravel(), v0.ravel(), t=(0.0, 2.0), h=0.002, save_every=1000
    )
    blocks = len(run.stats["newton_unknowns"])
    assert run.stats["newton_iterations"] <= 1.2 * blocks * 1000
    assert run.constraint.max() < 1e-14
