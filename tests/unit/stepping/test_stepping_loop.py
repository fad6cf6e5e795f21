"""The loop over steps: what is saved, chunks, memory, progress, interruption, bookkeeping of one step."""

import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.engine.tuning import tuning
from dalembert.stepping import Layout, assemble, prologue
from dalembert.stepping.drive import integrate
from dalembert.stepping.equal_steps import _capacity


class Pendulum(da.System):
    length: float = 1.0
    gravity: float = 9.81

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - self.gravity * q[1]

    def holonomic(self, t, q):
        return 0.5 * (q @ q - self.length**2)


START = {"q0": [1.0, 0.0], "v0": [0.0, 0.0]}


class Wrapped:
    """An engine that takes short chunks, and may be interrupted before one of them."""

    def __init__(self, runner, chunk_steps: int, interrupted_at: int | None) -> None:
        self.runner, self.chunk_steps, self.interrupted_at = runner, chunk_steps, interrupted_at
        self.name, self.first_carry, self.report = runner.name, runner.first_carry, runner.report
        self.calls = 0

    def run(self, *chunk):
        self.calls += 1
        if self.calls == self.interrupted_at:
            raise KeyboardInterrupt
        return self.runner.run(*chunk)


@pytest.fixture
def short_chunks(monkeypatch):
    """Make the next runs return to Python after so many steps."""
    choose = prologue.choose_engine

    def shorten(chunk_steps: int, interrupted_at: int | None = None) -> None:
        def wrapped(*arguments, **options):
            return Wrapped(choose(*arguments, **options), chunk_steps, interrupted_at)

        monkeypatch.setattr(prologue, "choose_engine", wrapped)

    return shorten


@pytest.fixture(scope="module")
def full() -> da.Trajectory:
    return da.simulate(Pendulum(), da.Rattle(), **START, t=(0.0, 1.2), h=0.01)


@pytest.mark.parametrize("save_every", [2, 5, 120])
def test_save_every_keeps_every_kth_state_of_the_same_run(full, save_every):
    thin = da.simulate(Pendulum(), da.Rattle(), **START, t=(0.0, 1.2), h=0.01, save_every=save_every)
    for name in ("t", "q", "v", "p", "lam"):
        np.testing.assert_array_equal(getattr(thin, name), getattr(full, name)[::save_every])
    assert thin.stats["steps"] == 120
    assert thin.stats["newton_iterations"] == full.stats["newton_iterations"]
    np.testing.assert_array_equal(thin.iterations, full.iterations.reshape(-1, save_every).sum(axis=1))


def test_times_do_not_accumulate_roundoff(full):
    assert float(full.t[-1]) == pytest.approx(1.2, abs=1e-15)


@pytest.mark.parametrize(("engine", "save_every"), [("native", 1), ("native", 7), ("native", 35), ("xla", 35)])
def test_chunks_do_not_change_the_run(short_chunks, engine, save_every):
    arguments = {**START, "t": (0.0, 1.05), "h": 0.01, "save_every": save_every, "engine": engine}
    whole = da.simulate(Pendulum(), da.Rattle(), **arguments)
    short_chunks(16)
    chunked = da.simulate(Pendulum(), da.Rattle(), **arguments)
    np.testing.assert_array_equal(chunked.t, whole.t)
    np.testing.assert_allclose(chunked.q, whole.q, rtol=0, atol=1e-14)
    assert chunked.iterations.shape == whole.iterations.shape == (105 // save_every,)
    assert chunked.iterations.sum() == chunked.stats["newton_iterations"]
    np.testing.assert_allclose(chunked.iterations, whole.iterations, atol=2)


def test_long_run_keeps_only_what_is_saved():
    run = da.simulate(Pendulum(), da.Rattle(), **START, t=(0.0, 1000.0), h=0.01, save_every=10_000)
    assert run.stats["steps"] == 100_000
    assert run.q.shape == (11, 2)
    assert run.iterations.shape == (10,)
    assert int(run.iterations.sum()) == run.stats["newton_iterations"] >= 100_000


def test_chunk_of_a_large_system_stays_small():
    for n_state, save_every, steps in ((5, 1, 20_000), (8000, 1, 20_000), (8000, 7, 10**6), (5, 10**6, 100)):
        capacity = _capacity(n_state, save_every, steps)
        assert 1 <= capacity <= max(1, -(-steps // save_every))
        assert capacity * n_state <= max(tuning().run_numbers, n_state)


def test_progress_bar_reports_steps(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    run = da.simulate(Pendulum(), da.Rattle(), **START, t=(0.0, 1.2), h=0.01, progress=True)
    assert run.status
    shown = capsys.readouterr().out
    assert "simulate" in shown
    assert "120/120 steps" in shown


def test_no_progress_bar_unless_asked_for(capsys):
    da.simulate(Pendulum(), da.Rattle(), **START, t=(0.0, 1.2), h=0.01)
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_interruption_gives_what_was_computed(short_chunks):
    short_chunks(20, interrupted_at=3)
    run = da.simulate(Pendulum(), da.Rattle(), **START, t=(0.0, 1.2), h=0.01)
    assert not run.status
    assert run.status.code == -1
    assert run.status.message == "interrupted by the user after 40 steps (t = 0.4)"
    assert len(run) == 41


def test_compensated_summation_can_be_switched_off():
    runs = [
        da.simulate(Pendulum(), da.Rattle(), **START, t=(0.0, 1.2), h=0.01, compensated=compensated)
        for compensated in (True, False)
    ]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-13)
    assert not np.array_equal(runs[0].q, runs[1].q)


def test_layout_is_undone_by_itself():
    layout = Layout(n=3, m=2, k=1, contacts=2, directions=3)
    vector = jnp.arange(float(layout.n_state))
    state = layout.unflatten(vector)
    assert [len(part) for part in state] == [3, 3, 3, 2, 1, 6]
    np.testing.assert_array_equal(layout.flatten(state), vector)


def test_step_functions_name_unknowns_and_equations():
    functions = assemble(Pendulum(), da.Rattle(), Layout(2, 1), None)
    assert functions.size == len(functions.equations) == 2 * 6 + 2
    assert functions.unknowns[:2] == ("V0[0]", "V0[1]")
    assert "second half: hidden constraint[0]" in functions.equations


def test_step_functions_are_shared_by_systems_that_differ_in_parameters_only():
    layout = Layout(2, 1)
    one = assemble(Pendulum(length=1.0), da.Rattle(), layout, None)
    assert assemble(Pendulum(length=2.0), da.Rattle(), layout, None) is one
    assert assemble(Pendulum(), da.Shake(), layout, None) is not one


def test_method_with_too_few_equations_is_refused():
    class Lazy(da.Rattle):
        def residual(self, x, step):
            found = super().residual(x, step)
            return {name: value for name, value in found.items() if "hidden" not in name}

    with pytest.raises(da.MethodDoesNotFit, match="Lazy has 14 unknowns and 13 equations; they must be as many"):
        integrate(Pendulum(), Lazy(), **START)
