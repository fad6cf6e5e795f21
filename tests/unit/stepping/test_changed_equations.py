"""A model is known by what its functions read: whatever of it changes, the next call computes with it."""

import dataclasses
import types

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import dalembert as da
from dalembert.problem import reads_of_system

PULL = 1.0
TABLE = np.array([1.0, 2.0])
SETTINGS = types.SimpleNamespace(pull=1.0, more={"pull": [1.0]})


def field_of_force():
    return PULL


class Falling(da.System):
    """A point that falls by what `pull` says; energy 0.5 v^2 + pull q."""

    def pull(self):
        return 1.0

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - self.pull() * q[0]


def fall(system, method=None, **options):
    """Where the point is after 0.1: -0.005 pull."""
    return da.simulate(system, method or da.Rattle(), [0.0], [0.0], t=(0.0, 0.1), h=0.01, **options)


def expect(system, pull, method=None, **options):
    """The motion and everything computed from it are those of this pull."""
    run = fall(system, method, **options)
    np.testing.assert_allclose(run.q[-1], -0.005 * pull, rtol=1e-6)
    np.testing.assert_allclose(run.energy, 0.5 * run.v[:, 0] ** 2 + pull * run.q[:, 0], atol=1e-12)


def subclass(pull, **entries):
    return type("Falling", (Falling,), {"pull": pull, **entries})


@pytest.mark.parametrize("engine", ["native", "xla"])
def test_a_global_that_a_helper_reads(monkeypatch, engine):
    system = subclass(lambda self: field_of_force())()
    expect(system, 1.0, engine=engine)
    monkeypatch.setitem(globals(), "PULL", 3.0)
    expect(system, 3.0, engine=engine)


def test_a_class_attribute():
    kind = subclass(lambda self: self.strength, strength=1.0)
    kind.__annotations__ = {}
    expect(kind(), 1.0)
    kind.strength = 2.0
    expect(kind(), 2.0)


def test_a_method_replaced_and_code_replaced_as_by_autoreload():
    kind = subclass(lambda self: 1.0)
    expect(kind(), 1.0)
    kind.pull = lambda self: 2.0
    expect(kind(), 2.0)
    kind.pull.__code__ = (lambda self: 4.0).__code__
    expect(kind(), 4.0)


def test_an_array_in_a_closure_and_a_captured_name():
    array, number = np.array([1.0]), 1.0

    def pull(self):
        return array[0] * number

    system = subclass(pull)()
    expect(system, 1.0)
    array[0] = 2.0
    expect(system, 2.0)
    number = 3.0
    expect(system, 6.0)


def test_a_global_array_and_a_default_argument(monkeypatch):
    def pull(self, factor=(1.0, [1.0])):
        return TABLE[0] * factor[1][0]

    system = subclass(pull)()
    expect(system, 1.0)
    monkeypatch.setitem(globals(), "TABLE", np.array([5.0]))
    expect(system, 5.0)
    pull.__defaults__[0][1][0] = 2.0
    expect(system, 10.0)


def test_an_attribute_of_an_object(monkeypatch):
    system = subclass(lambda self: SETTINGS.pull * SETTINGS.more["pull"][0])()
    expect(system, 1.0)
    monkeypatch.setattr(SETTINGS, "pull", 2.0)
    expect(system, 2.0)
    SETTINGS.more["pull"][0] = 3.0
    expect(system, 6.0)
    SETTINGS.more["pull"][0] = 1.0


def test_an_attribute_of_an_object_in_a_field():
    class Config:
        def __init__(self, pull):
            self.pull = pull

    class WithConfig(Falling):
        config: Config

        def pull(self):
            return self.config.pull

    config = Config(1.0)
    expect(WithConfig(config), 1.0)
    config.pull = 2.0
    expect(WithConfig(config), 2.0)


def test_a_module_that_was_written_by_hand(monkeypatch):
    module = types.ModuleType("constants_of_mine")
    module.inner = types.ModuleType("constants_of_mine.inner")
    module.inner.pull = 1.0
    monkeypatch.setitem(globals(), "module", module)
    system = subclass(lambda self: module.inner.pull)()
    expect(system, 1.0)
    module.inner.pull = 2.0
    expect(system, 2.0)


@pytest.mark.parametrize("static", [False, True])
def test_fields_that_compare_equal(static):
    class Flagged(Falling):
        flag: object = eqx.field(static=static)

        def pull(self):
            return 1.0 if self.flag is True else 2.0 if type(self.flag) is int else 3.0

    for flag, pull in ((True, 1.0), (1, 2.0), (True, 1.0), (1, 2.0)):
        expect(Flagged(flag), pull)


def test_a_function_that_jax_remembers(monkeypatch):
    def body(carry, _):
        return carry + PULL, None

    @jax.jit
    def compiled(x):
        return x * PULL

    scanned = subclass(lambda self: lax.scan(body, jnp.zeros(()), length=2)[0] / 2)()
    jitted = subclass(lambda self: compiled(jnp.ones(())))()
    expect(scanned, 1.0)
    expect(jitted, 1.0)
    monkeypatch.setitem(globals(), "PULL", 3.0)
    expect(scanned, 3.0)
    expect(jitted, 3.0)
    other = subclass(lambda self: lax.scan(body, jnp.zeros(()), length=2)[0])()  # another class, the same function
    monkeypatch.setitem(globals(), "PULL", 5.0)
    expect(other, 10.0)


@pytest.mark.parametrize("method", [da.Taylor(4), da.Composition(da.Rattle(), "yoshida4"), da.Galerkin(2)])
def test_every_method_sees_the_change(monkeypatch, method):
    system = subclass(lambda self: PULL)()
    expect(system, 1.0, method)
    monkeypatch.setitem(globals(), "PULL", 3.0)
    expect(system, 3.0, method)


def test_batches_starts_boundary_values_and_sweeps(monkeypatch, tmp_path):
    class Held(Falling):
        length: float = 1.0

        def pull(self):
            return PULL

        def holonomic(self, t, q):
            return q[1] - PULL

    system = Held()

    def found(store):
        batch = da.simulate(system, da.Rattle(), [[0.0, PULL]] * 2, [[0.0, 0.0]] * 2, t=(0.0, 0.1), h=0.01)
        start = da.consistent(system, [0.0, 0.5], [0.0, 0.0])
        motion = da.boundary_value(system, da.Rattle(), [0.0, PULL], [0.0, PULL], t=(0.0, 0.1), h=0.01)
        swept = da.sweep(
            system,
            da.Rattle(),
            {"length": [1.0]},
            store,
            q0=[0.0, PULL],
            v0=[0.0, 0.0],
            t=(0.0, 0.1),
            h=0.01,
            executor="here",
        )
        last = swept.dataset.q.isel(time=-1, coordinate=0).item()
        return batch.q[0, -1, 0], batch.energy[0, 0], start.q[1], motion.v[0, 0], last

    before = np.array(found(tmp_path / "before.zarr"))
    np.testing.assert_allclose(before, [-0.005, 0.0, 1.0, 0.05, -0.005], rtol=1e-6, atol=1e-12)
    monkeypatch.setitem(globals(), "PULL", 2.0)
    np.testing.assert_allclose(np.array(found(tmp_path / "after.zarr")), 2 * before, rtol=1e-6, atol=1e-12)


@pytest.mark.long
def test_events_and_contacts(monkeypatch):
    class Ball(Falling):
        def pull(self):
            return PULL

        def gap(self, t, q):
            return q + PULL

    for pull in (1.0, 2.0):
        monkeypatch.setitem(globals(), "PULL", pull)
        for method in (da.EventCapturing(), da.MoreauJean()):
            run = da.simulate(Ball(), method, [0.0], [0.0], t=(0.0, 0.1), h=0.01)
            np.testing.assert_allclose(run.v[-1, 0], -0.1 * pull, rtol=1e-6)
            np.testing.assert_allclose(run.gap[0], pull)


def test_what_is_computed_later_is_refused(monkeypatch):
    system = subclass(lambda self: PULL)()
    run, asked = fall(system), fall(system)
    energy = asked.energy
    monkeypatch.setitem(globals(), "PULL", 3.0)
    for late in (lambda: run.energy, lambda: run.interpolate(0.05, own=True), lambda: da.step_resolution(run)):
        with pytest.raises(da.ModelError, match=r"others by now \(the global PULL changed\). Repeat the run"):
            late()
    np.testing.assert_array_equal(asked.energy, energy)
    monkeypatch.setitem(globals(), "PULL", 1.0)
    np.testing.assert_array_equal(run.energy, energy)


def test_diagnostics_and_discrete_lagrangians(monkeypatch):
    system = subclass(lambda self: PULL)()
    made = da.Galerkin(2).discrete_lagrangian(system, 0.1)
    ends = jnp.array([0.0]), jnp.array([0.0])
    value = float(made.extremised(*ends))
    monkeypatch.setitem(globals(), "PULL", 2.0)
    with pytest.raises(da.ModelError, match="make a new discrete Lagrangian"):
        made.extremised(*ends)
    np.testing.assert_allclose(float(da.Galerkin(2).discrete_lagrangian(system, 0.1).extremised(*ends)), 4 * value)


def test_a_checkpoint_holds_the_run_of_now(monkeypatch, tmp_path):
    system = subclass(lambda self: PULL)()
    expect(system, 1.0, checkpoint=tmp_path / "one.zarr")
    monkeypatch.setitem(globals(), "PULL", 2.0)
    expect(system, 2.0, checkpoint=tmp_path / "two.zarr")
    with pytest.raises(da.InputError, match="equations of a step"):
        fall(system, checkpoint=tmp_path / "one.zarr")


def test_what_does_not_change_is_not_compiled_again(monkeypatch):
    table = {"pull": np.array([1.0])}

    class Weighted(da.System):
        mass: float = 1.0
        counts: np.ndarray = dataclasses.field(default_factory=lambda: np.arange(3))

        def lagrangian(self, t, q, v):
            return 0.5 * self.mass * v @ v - self.mass * table["pull"][0] * jnp.sum(q) * self.counts[1].astype(float)

    fall(Weighted())
    import dalembert.engine.runners.native as native

    monkeypatch.setattr(native.NativeRun, "__init__", None)
    for mass in (2.0, 3.0):
        assert fall(Weighted(mass)).stats["engine"] == "native"


def test_what_cannot_be_followed_is_traced_anew_and_says_so():
    class Noisy(Falling):
        def pull(self):
            return np.random.default_rng(0).random() * 0 + PULL

    with pytest.warns(da.RetracedWarning, match=r"Noisy reads .*random"):
        expect(Noisy(), 1.0)
    globals()["PULL"] = 2.0
    try:
        expect(Noisy(), 2.0)
    finally:
        globals()["PULL"] = 1.0


@pytest.mark.parametrize("code", ["eval('PULL')", "__import__('os').getpid()", "open('x').read()", "time.time()"])
def test_what_reads_the_world_is_not_taken_for_known(code):
    import time

    space = {"time": time, "__name__": "a_notebook"}
    exec(f"def pull(self): return {code}", space)
    assert reads_of_system(subclass(space["pull"])()).unclear


def test_keys_do_not_keep_what_is_gone():
    import gc
    import weakref

    references = []
    for k in range(3):
        table = np.full(10, float(k))
        kind = subclass(lambda self, table=table: table[0])
        reads = reads_of_system(kind())
        references.append(weakref.ref(reads))
    del reads, kind
    gc.collect()
    assert all(reference() is None for reference in references)
