"""A solution of the equations that is not the one meant is refused, on every engine, also where it is asked rarely."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from dalembert.engine.contract import NOT_CONVERGED, OK, StepFunctions
from dalembert.engine.runners.ensemble import EnsembleRun
from dalembert.engine.runners.native import NativeRun
from dalembert.engine.runners.xla import XlaRun

#: of the dip: with this one extrapolation into it ends below zero
WIDTH = 1.6


def root(sign: float = 1.0) -> StepFunctions:
    """x^2 = c(t) with two roots, from the one that has `sign`; the positive one is meant. c dips at t = 5."""
    return StepFunctions(
        guess=lambda t, h, state, parameters: sign * jnp.ones(1),
        residual=lambda x, t, h, state, parameters: x**2 - (1 - parameters[0] * jnp.exp(-WIDTH * (t - 5) ** 2)),
        finish=lambda x, t, h, state, parameters: x - state,
        unknowns=("x",),
        equations=("square",),
        blocks=(1,),
        n_state=1,
        summed_blocks=(1,),
        n_parameters=1,
        misled=lambda end, t, h, state, parameters: state[0] + end[0] < 0,
    )


def take(run, steps: int, dip: float):
    return run.run(run.first_carry(np.ones(1)), 0.0, 0.5, steps, 1, np.array([dip]), steps)


@pytest.mark.parametrize("engine", [NativeRun, XlaRun])
def test_a_guess_near_the_wrong_root_is_refused(engine):
    functions, dip = root(-1.0), np.array([0.0])
    run = NativeRun(functions, np.ones(1), 0.0, 0.5, dip, True) if engine is NativeRun else XlaRun(functions, True)
    chunk = take(run, 3, 0.0)
    assert chunk.status != OK
    assert int(chunk.carry.step) == 0


@pytest.mark.parametrize("dip", [0.0, 0.5, 0.9])
def test_the_right_root_is_followed(dip):
    run = NativeRun(root(), np.ones(1), 0.0, 0.5, np.array([dip]), True)
    chunk = take(run, 20, dip)
    times = 0.5 * np.arange(20)
    assert chunk.status == OK
    np.testing.assert_allclose(chunk.saved[:, 0], np.sqrt(1 - dip * np.exp(-WIDTH * (times - 5) ** 2)), rtol=1e-12)


def test_a_root_that_newton_jumps_from_is_noticed():
    """Extrapolation into the dip ends below zero and Newton at the negative root. The determinant, 2 x, has another
    sign there than at the guess: that is noticed whether or not the functions say how to recognise a wrong solution."""
    misled = root()
    for functions in (misled, dataclasses.replace(misled, misled=None)):
        run = NativeRun(functions, np.ones(1), 0.0, 0.5, np.array([0.9]), True)
        assert take(run, 20, 0.9).saved.min() > 0
        assert run.condition[0]["mended"]["guess_restarts"] > 0


def test_members_are_asked_one_by_one():
    states, dips = np.ones((8, 1)), np.zeros((8, 1))
    run = EnsembleRun(root(), states, 0.0, 0.5, dips, True)
    run = run.begin(states, dips)
    run.run(0.0, 0.5, 4, 1, True)
    assert not (run.failed >= 0).any()
    wrong = EnsembleRun(root(-1.0), states, 0.0, 0.5, dips, True)
    wrong = wrong.begin(states, dips)
    wrong.run(0.0, 0.5, 4, 1, True)
    assert (wrong.failed >= 0).all()


def test_the_status_says_that_newton_did_not_converge():
    chunk = take(NativeRun(root(-1.0), np.ones(1), 0.0, 0.5, np.array([0.0]), True), 1, 0.0)
    assert chunk.status == NOT_CONVERGED
