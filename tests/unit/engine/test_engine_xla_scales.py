"""The scales in which the XLA engine measures Newton's updates."""

import jax.numpy as jnp
import numpy as np
import pytest

from dalembert.engine.contract import StepFunctions
from dalembert.engine.runners.xla import _scales, solve_step


def coupled(weak: float, size: float = 1.0) -> StepFunctions:
    """Two equations, each for an unknown of its own, and a trace of the second unknown in the first."""
    return StepFunctions(
        guess=lambda t, h, state, parameters: jnp.zeros(2) + size,
        residual=lambda x, t, h, state, parameters: jnp.stack(
            [x[0] ** 3 - 2 * size**3 + weak * size**2 * x[1], x[1] ** 3 - 3 * size**3]
        ),
        finish=lambda x, t, h, state, parameters: x,
        unknowns=("x[0]", "x[1]"),
        equations=("first", "second"),
        blocks=(1, 1),
        n_state=2,
        summed_blocks=(),
        n_parameters=0,
    )


ARGUMENTS = (jnp.asarray(0.0), jnp.asarray(0.1), jnp.zeros(2), jnp.zeros(0))


@pytest.mark.parametrize("weak", [0.0, 1e-17, 1e-30, 1e-8])
def test_a_coefficient_of_roundoff_does_not_set_the_scale(weak):
    functions = coupled(weak)
    _, columns = _scales(functions, functions.guess(*ARGUMENTS), ARGUMENTS)
    assert np.all(columns < 10)
    assert np.all(columns > 0.1)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_newton_goes_on_to_the_end(size):
    functions = coupled(1e-17, size)
    found = solve_step(functions, functions.guess(*ARGUMENTS), *ARGUMENTS)
    np.testing.assert_allclose(found.x / size, [2 ** (1 / 3), 3 ** (1 / 3)], rtol=1e-14)
