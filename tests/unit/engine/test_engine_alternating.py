"""Two programs on one state: what the guard of the first refuses, the second one does."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from dalembert.engine import GUARDED, OK, Alternating, StepFunctions, compiled_or_reason

H, LEVEL = 0.1, 1.0

#: x' = v, the guard asks whether x exceeds a level; the last entry of the state is for what the other program says.
FREE = StepFunctions(
    guess=lambda t, h, state, parameters: state[:1],
    residual=lambda x, t, h, state, parameters: x - state[:1] - h * state[1:2],
    finish=lambda x, t, h, state, parameters: jnp.concatenate([x, state[1:]]),
    unknowns=("x",),
    equations=("motion",),
    blocks=(1,),
    n_state=3,
    summed_blocks=(),
    n_parameters=1,
    guard=lambda end, t, h, state, parameters: jnp.abs(end[0]) > parameters[0],
    n_saved=2,
)
#: x comes back from the level with -v; it says where it would have been.
REFLECTED = dataclasses.replace(
    FREE,
    finish=lambda x, t, h, state, parameters: jnp.stack([
        jnp.sign(x[0]) * 2 * parameters[0] - x[0], -state[1], x[0],
    ]),
    guard=lambda end, t, h, state, parameters: jnp.abs(end[2]) > 2 * parameters[0],
)  # fmt: skip


def both(functions, other, state):
    runners = [compiled_or_reason(one, state, 0.0, H, np.array([LEVEL])) for one in (functions, other)]
    return runners[0], Alternating(*runners, slice(2, 3))


def run(speed, steps):
    state = np.array([0.03, speed, 0.0])
    first, alternating = both(FREE, REFLECTED, state)
    return alternating.run(first.first_carry(state), 0.0, H, steps, np.array([LEVEL]))


def reflected(x, v, steps):
    rows = []
    for k in range(steps):
        x += H * v
        if abs(x) > LEVEL:
            rows.append((k, x))
            x, v = np.sign(x) * 2 * LEVEL - x, -v
    return x, v, rows


def test_the_second_program_takes_the_steps_that_the_first_refuses():
    chunk, kept = run(0.7, 200)
    x, v, rows = reflected(0.03, 0.7, 200)
    assert chunk.status == OK
    assert chunk.saved.shape == (200, 2)
    assert chunk.carry.state[:2] == pytest.approx([x, v], abs=1e-12)
    assert len(rows) == 7
    assert kept == pytest.approx(np.array(rows), abs=1e-12)
    assert np.sum(chunk.iterations) >= 0


def test_a_step_that_both_refuse_ends_the_chunk():
    chunk, kept = run(25.0, 10)
    assert chunk.status == GUARDED
    assert int(chunk.carry.step) == len(chunk.saved) == len(kept) == 0
    assert chunk.carry.state[0] == 0.03


def test_programs_on_states_of_other_sizes_are_refused():
    other = dataclasses.replace(REFLECTED, n_saved=3)
    with pytest.raises(ValueError, match="same sizes, got"):
        both(FREE, other, np.array([0.0, 1.0, 0.0]))
