"""Ctrl-C at some moment of a run of any kind: what there is comes back soon, or KeyboardInterrupt is raised."""

import contextlib
import signal
import threading
import time

import jax.numpy as jnp
import numpy as np
import pytest
from jax.core import ShapedArray

import dalembert as da
from dalembert import interruption
from dalembert.engine import Interruption, is_wanted
from dalembert.engine.derivatives import operation
from dalembert.engine.derivatives.calls import Call
from dalembert.gallery import Pendulum

#: Ctrl-C may reach Python in a callback of the garbage collector, which cannot raise it: Python then warns of it.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

#: Longer than any of the runs may go on; without Ctrl-C they take minutes.
FAR = 1e6


@pytest.fixture(autouse=True)
def ctrl_c_is_heard(monkeypatch):
    """As in a program of its own, and as if nobody had pressed it before."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setattr(interruption._main, "ended", -1.0)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert not is_wanted()
    interruption._main.ended = -1.0
    signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def pressed_after(*seconds: float):
    """Ctrl-C for the main thread, from another one, as long as the block has not ended."""
    over = threading.Event()

    def press():
        begun = time.monotonic()
        for moment in seconds:
            if not over.wait(max(0.0, begun + moment - time.monotonic())):
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    thread = threading.Thread(target=press, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def again_and_again(function) -> None:
    while True:
        function()


def single(**options):
    return da.simulate(Pendulum(), da.Rattle(), [1.0, 0.0], [0.0, 0.0], t=(0.0, FAR), h=0.01, **options)


def hard():
    """Steps so large that many of them need a cure."""
    system = da.gallery.system_named("four-bar")()
    start = system.start()
    return da.simulate(system, da.Rattle(), start.q0, start.v0, t=(0.0, FAR), h=0.05, on_failure="return", retry=True)


def batch():
    angle = np.linspace(0.0, 1.0, 200)
    q0 = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return da.simulate(Pendulum(), da.Rattle(), q0, 0 * q0, t=(0.0, FAR), h=0.01, save_every=10_000)


def sizes():
    h = np.tile([0.01, 0.02], 200_000)
    return da.simulate(Pendulum(), da.Rattle(), [1.0, 0.0], [0.0, 0.0], t=(0.0, None), h=h, engine="xla")


def ball(method, h, save_every=1):
    system = da.gallery.system_named("bouncing-ball")()
    start = system.start()
    return da.simulate(
        system, method, start.q0, start.v0, t=(0.0, 1000.0), h=h, save_every=save_every, on_failure="return"
    )


def redundant_batch():
    """Two members whose constraints are said twice."""
    q0 = np.array([[1.0, 0.0], [0.6, -0.8]])
    options = {"redundant": "allow", "save_every": 1000, "on_failure": "return"}
    return da.simulate(Twice(), da.Rattle(), q0, 0 * q0, t=(0.0, FAR), h=0.01, **options)


class Twice(Pendulum):
    def holonomic(self, t, q):
        return jnp.array([0.5 * (q @ q - 1.0), q @ q - 1.0])


RUNS = {
    "single": lambda: single(save_every=10_000),
    "hard steps": hard,
    "composition": lambda: da.simulate(
        Pendulum(), da.Composition(da.Rattle(), "kahan-li8"), [1.0, 0.0], [0.0, 0.0], t=(0.0, FAR), h=0.01,
        save_every=10_000,
    ),
    "batch": batch,
    "redundant batch": redundant_batch,
    "xla": lambda: single(engine="xla", save_every=10_000),
    "sizes": sizes,
    "events": lambda: ball(da.EventCapturing(), 0.00002, save_every=1000),
    "adaptive": lambda: ball(da.MoreauJean(), da.Adaptive(atol=1e-9, rtol=1e-9, h0=1e-6, h_max=1e-5)),
}  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_what_there_is_comes_back(name):
    for wait in (0.05, 1.5):
        try:
            with pressed_after(wait):
                run = RUNS[name]()
        except KeyboardInterrupt:  # while it was translated, or in its first steps
            continue
        interruption._main.ended = -1.0
        assert np.all(np.asarray(getattr(run.status, "code", run.status)) == -1)
        assert np.all(np.isfinite(run.q))
        assert run.q.shape[-2] == run.t.shape[-1]
        assert np.max(run.t) < FAR


def test_a_loop_of_short_runs_ends():
    def run():
        da.simulate(Pendulum(), da.Rattle(), [1.0, 0.0], [0.0, 0.0], t=(0.0, 2.0), h=0.01)

    with pressed_after(0.3), pytest.raises(KeyboardInterrupt):
        again_and_again(run)


def test_under_jax_it_is_raised_once_xla_has_returned():
    """Through the code of XLA, which calls for a run, KeyboardInterrupt does not pass."""

    def interrupted(*_):
        raise KeyboardInterrupt

    def waits():
        states, status = operation._host(Call(interrupted), None, (), shapes)
        assert np.all(np.isnan(states))
        assert (states.shape, status) == ((2, 3), -1)
        time.sleep(10)

    shapes = [ShapedArray((2, 3), np.dtype(np.float64)), ShapedArray((), np.dtype(np.int64))]
    with pytest.raises(KeyboardInterrupt):
        waits()


def test_a_boundary_value_problem_is_left():
    def solve():
        da.boundary_value(Pendulum(), da.Rattle(), [1.0, 0.0], [0.0, -1.0], t=(0.0, 0.5), h=0.001)

    with pressed_after(0.3), pytest.raises(KeyboardInterrupt):
        again_and_again(solve)


def test_a_sweep_keeps_whole_pieces(tmp_path):
    call = {"q0": [1.0, 0.0], "v0": [0.0, 0.0], "t": (0.0, 1000.0), "h": 0.01, "save_every": 1000, "executor": "here"}
    grid, store = {"gravity": np.linspace(1.0, 9.0, 20_000)}, tmp_path / "sweep.zarr"
    with pressed_after(1.0), pytest.raises(KeyboardInterrupt):
        da.sweep(Pendulum(), da.Rattle(), grid, store=store, piece=100, **call)


def test_work_that_does_not_look_is_abandoned_even_if_something_swallows_it():
    def deaf():
        with contextlib.suppress(KeyboardInterrupt):  # as a callback of the garbage collector does
            time.sleep(30)
        time.sleep(30)

    with pressed_after(0.05), Interruption() as heard:
        try:
            heard.call(deaf)
        except KeyboardInterrupt:
            heard.heard()
    assert heard.wanted


def test_a_second_ctrl_c_stops_at_once():
    with pressed_after(0.01, 0.06), Interruption() as heard, pytest.raises(KeyboardInterrupt):
        time.sleep(10)
    assert heard.wanted
