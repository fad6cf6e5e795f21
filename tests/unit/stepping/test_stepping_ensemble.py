"""Batches whose steps take more operations than vector code is made of."""

import concurrent.futures
import threading

import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.engine.runners import ensemble
from dalembert.stepping.ensemble import forget_ensembles


class Pendulum(da.System):
    length: float = 1.0

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 9.81 * q[1] + 0.1 * jnp.cos(3 * q[0])

    def holonomic(self, t, q):
        return 0.5 * (q @ q - self.length**2)


Q0, V0 = np.array([[1.0, 0.0], [0.0, -1.0], [0.6, -0.8]]), np.array([[0.0, 0.3], [1.0, 0.0], [0.4, 0.3]])


@pytest.fixture
def small_limit(tune):
    forget_ensembles()
    tune(most_operations_in_lanes=10)
    yield
    forget_ensembles()


def test_members_of_a_large_batch_run_one_by_one(small_limit):
    run = da.simulate(Pendulum(), da.Rattle(), Q0, V0, t=(0.0, 0.2), h=0.01, save_every=2)
    assert run.stats["engine"].endswith("(one by one)")
    assert "operations" in run.stats["engine_reason"]
    assert np.all(run.status == 0)
    for k in range(3):
        alone = da.simulate(Pendulum(), da.Rattle(), Q0[k], V0[k], t=(0.0, 0.2), h=0.01, save_every=2)
        assert run.q[k] == pytest.approx(alone.q, abs=1e-14)


def test_a_member_that_fails_keeps_its_last_good_state(small_limit):
    class Bounded(da.System):
        def lagrangian(self, t, q, v):
            return 0.5 * v @ v - 1.0 / jnp.sqrt(1.0 - q @ q)

        def force(self, t, q, v):
            return jnp.where(q[:1] > 0.5, jnp.nan, jnp.zeros(1))

    run = da.simulate(
        Bounded(), da.Rattle(), np.zeros((2, 1)), np.array([[0.1], [5.0]]), t=(0.0, 0.3), h=0.02, on_failure="return"
    )
    assert run.status[0] == 0
    assert run.status[1] != 0
    assert np.all(np.isfinite(run.q))
    assert run.q[1, -1, 0] > 0.3
    assert np.all(run.q[1, -3:] == run.q[1, -1])


def test_what_cannot_run_one_by_one_is_refused(small_limit):
    with pytest.raises(da.InputError, match="too large to step members side by side"):
        da.Stepper(Pendulum(), da.Rattle(), h=0.01, q0=Q0, v0=V0)


def test_threads_have_stacks_as_large_as_the_code_needs(monkeypatch):
    """Code of 10^5 operations for eight lanes takes more than half of the usual stack of a thread."""
    sizes, make = [], threading.Thread.start

    def start(thread):
        sizes.append(threading.stack_size())
        make(thread)

    before = threading.stack_size()
    monkeypatch.setattr(threading.Thread, "start", start)
    monkeypatch.setattr(ensemble, "LARGE_STACK", 0)
    run = da.simulate(Pendulum(), da.Rattle(), Q0, V0, t=(0.0, 0.1), h=0.01)
    stepper = da.Stepper(Pendulum(), da.Rattle(), h=0.01, q0=Q0, v0=V0)
    state = stepper.step(steps=10)
    assert np.all(run.status == 0)
    assert state.q == pytest.approx(run.q[:, -1], abs=1e-13)
    assert sizes[-1] >= ensemble.STACK_BESIDE
    assert threading.stack_size() == before
    assert concurrent.futures.ThreadPoolExecutor(1).submit(threading.stack_size).result() == before


def test_an_input_of_a_batch_without_inputs_is_refused():
    stepper = da.Stepper(Pendulum(), da.Rattle(), h=0.01, q0=Q0, v0=V0)
    with pytest.raises(da.InputError, match="has no inputs"):
        stepper.step(10)
