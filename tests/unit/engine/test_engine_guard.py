"""Steps with a guard: a chunk ends before the step inside which something happens, and that is no failure."""

import dataclasses

import jax.numpy as jnp
import numpy as np

from dalembert.engine import GUARDED, OK, StepFunctions, compiled_or_reason

#: x' = -x by the implicit midpoint rule; the guard asks whether x falls below a parameter inside the step.
DECAY = StepFunctions(
    guess=lambda t, h, state, parameters: state,
    residual=lambda x, t, h, state, parameters: x - state + h * (x + state) / 2,
    finish=lambda x, t, h, state, parameters: x,
    unknowns=("x",),
    equations=("decay",),
    blocks=(1,),
    n_state=1,
    summed_blocks=(),
    n_parameters=1,
    guard=lambda end, t, h, state, parameters: end[0] < parameters[0],
)
H = 0.01
RATIO = (1 - H / 2) / (1 + H / 2)


def run(functions, level, steps):
    state, parameters = np.array([1.0]), np.array([level])
    runner = compiled_or_reason(functions, state, 0.0, H, parameters)
    return runner.run(runner.first_carry(state), 0.0, H, steps, 1, parameters, steps)


def test_a_chunk_ends_before_the_step_in_which_something_happens():
    last = int(np.floor(np.log(0.5) / np.log(RATIO)))
    chunk = run(DECAY, 0.5, 1000)
    assert chunk.status == GUARDED
    assert int(chunk.carry.step) == last == len(chunk.saved)
    assert chunk.carry.state[0] >= 0.5 > chunk.carry.state[0] * RATIO


def test_a_guard_that_sees_nothing_lets_all_steps_pass():
    chunk = run(DECAY, 0.0, 200)
    assert chunk.status == OK
    assert np.allclose(chunk.saved[:, 0], RATIO ** np.arange(1, 201), rtol=1e-13, atol=0)


def test_a_failure_is_not_taken_for_what_the_guard_looks_for():
    broken = dataclasses.replace(DECAY, finish=lambda x, t, h, state, parameters: jnp.sqrt(x - 0.7))
    chunk = run(broken, -1.0, 1000)
    assert chunk.status not in (OK, GUARDED)


def test_what_cannot_be_compiled_is_said():
    functions = dataclasses.replace(DECAY, guess=lambda t, h, state, parameters: jnp.sort(jnp.fft.fft(state).real))
    assert "complex128" in compiled_or_reason(functions, np.array([1.0]), 0.0, H, np.array([0.5]))
