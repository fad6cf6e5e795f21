"""What the tests of several rooms share."""

import jax
import pytest


@pytest.fixture
def quick_xla():
    """XLA compiles faster without its optimisations; the numbers differ by roundoff at most."""
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", before)
