"""Steps of different sizes: orders, constraints, the way back, equal sizes, times, messages."""

import numpy as np
import pytest

import dalembert as da
from dalembert.diagnostics import observed_order, reference_solution
from dalembert.gallery import GALLERY


def random_sizes(steps: int, length: float, seed: int = 0) -> np.ndarray:
    """Sizes that differ by up to a factor of three, of a given sum."""
    sizes = np.random.default_rng(seed).uniform(0.5, 1.5, steps)
    return sizes * (length / np.sum(sizes))


def started(name: str):
    system = GALLERY[name]()
    return system, system.start()


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("mobile-robot", da.gauss_spark(2)),
        ("mobile-robot", da.lobatto_spark(3, "ABD")),
        ("double-pendulum", da.Rattle()),
        ("double-pendulum", da.Composition(da.Rattle(), "kahan-li6")),
    ],
    ids=str,
)
def test_equal_sizes_are_constant_steps(name, method):
    system, start = started(name)
    constant = da.simulate(system, method, start.q0, start.v0, t=(0.5, 2.5), h=0.02)
    listed = da.simulate(system, method, start.q0, start.v0, t=(0.5, 2.5), h=[0.02] * 100)
    assert np.max(np.abs(listed.t - constant.t)) < 1e-14
    assert np.max(np.abs(listed.q - constant.q)) < 1e-13
    assert listed.stats["newton_iterations"] == constant.stats["newton_iterations"]


@pytest.mark.parametrize(
    ("name", "method", "steps"),
    [
        ("mobile-robot", da.gauss_spark(2), (16, 32, 64, 128)),
        ("mobile-robot", da.lobatto_spark(3), (32, 64, 128, 256)),
        ("double-pendulum", da.Rattle(), (100, 200, 400, 800)),
        ("double-pendulum", da.Composition(da.Rattle(), "yoshida4"), (50, 100, 200, 400)),
        ("polar-pendulum", da.Galerkin(2), (16, 32, 64, 128)),
    ],
    ids=str,
)
def test_order_is_kept_with_random_ratios(name, method, steps):
    """One random step-size function, sampled ever more finely: piecewise constant over eighths of the interval."""
    system, start = started(name)
    end = 0.5
    exact = reference_solution(system, start.q0, start.v0, (0.0, end))
    errors = []
    for count in steps:
        sizes = np.repeat(random_sizes(8, end * 8 / count), -(-count // 8))
        sizes *= end / np.sum(sizes)
        run = da.simulate(system, method, start.q0, start.v0, t=(0.0, end), h=sizes, save_every=len(sizes))
        errors.append(float(np.max(np.abs(run.q[-1] - np.asarray(exact.q)))))
    assert abs(observed_order(1.0 / np.array(steps), errors).slope - method.order) < 0.2


def test_order_is_the_same_with_steps_that_alternate():
    """Ratios of two at every step, at all step sizes."""
    system, start = started("mobile-robot")
    method = da.gauss_spark(2)
    exact = reference_solution(system, start.q0, start.v0, (0.0, 3.0))
    errors = []
    for count in (32, 64, 128):
        sizes = np.tile([2.0, 1.0], count // 2) * (2.0 / count)
        run = da.simulate(system, method, start.q0, start.v0, t=(0.0, None), h=sizes)
        errors.append(float(np.max(np.abs(run.q[-1] - np.asarray(exact.q)))))
    assert abs(observed_order(3.0 / np.array([32, 64, 128]), errors).slope - 4) < 0.2


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("mobile-robot", da.gauss_spark(3)),
        ("rolling-disc", da.lobatto_spark(2)),
        ("double-pendulum", da.Galerkin(3)),
        ("double-pendulum", da.Composition(da.Rattle(), "suzuki4")),
    ],
    ids=str,
)
def test_constraints_hold_and_symmetric_methods_return(name, method):
    """The sequence reversed, from the end with -p: back at the start."""
    system, start = started(name)
    sizes = random_sizes(100, 2.0)
    there = da.simulate(system, method, start.q0, start.v0, t=(0.0, 2.0), h=sizes)
    assert np.max(there.constraint) < 1e-13
    assert np.max(there.hidden) < 1e-13
    back = da.simulate(system, method, there.q[-1], p0=-there.p[-1], t=(0.0, 2.0), h=sizes[::-1])
    assert np.max(np.abs(back.q[-1] - there.q[0])) < 1e-11
    assert np.max(np.abs(back.p[-1] + there.p[0])) < 1e-11


def test_times_of_a_constraint_that_moves_are_right():
    """The exact motion of a bead on a turning hoop, with steps of random sizes, also with states left out."""
    system, start = started("bead-on-rotating-hoop")
    sizes = random_sizes(400, 2.0)
    run = da.simulate(system, da.Galerkin(3), start.q0, start.v0, t=(0.0, 2.0), h=sizes, save_every=4)
    assert np.max(np.abs(run.t[1:] - np.cumsum(sizes)[3::4])) < 1e-14
    assert np.max(np.abs(run.q - np.asarray(system.exact(run.t).q))) < 1e-11
    assert run.iterations.shape == (100,)


def test_other_engines_agree():
    system, start = started("skate")
    sizes = random_sizes(20, 1.0)
    native = da.simulate(system, da.gauss_spark(2), start.q0, start.v0, t=(0.0, 1.0), h=sizes)
    general = da.simulate(system, da.gauss_spark(2), start.q0, start.v0, t=(0.0, 1.0), h=sizes, engine="xla")
    longer = da.simulate(system, da.gauss_spark(2), start.q0, start.v0, t=(0.0, 1.0), h=sizes, precision="extended")
    assert np.max(np.abs(native.q - general.q)) < 1e-13
    assert np.max(np.abs(native.q - longer.q)) < 1e-13


def test_steps_that_newton_does_not_find_are_reported_with_their_time_and_size():
    system, start = started("pendulum")
    sizes = [0.01] * 5 + [50.0]
    run = da.simulate(system, da.Rattle(), start.q0, start.v0, t=(0.0, None), h=sizes, on_failure="return")
    assert not run.status
    assert run.status.step == 5
    assert abs(run.status.time - 0.05) < 1e-15
    assert "h = 50" in run.status.message
    assert len(run.t) == 6


@pytest.mark.parametrize("method", [da.gauss_spark(2), da.Rattle()], ids=str)
def test_interpolation_and_files(method, tmp_path):
    system, start = started("polar-pendulum")
    sizes = random_sizes(100, 1.0)
    run = da.simulate(system, method, start.q0, start.v0, t=(0.0, 1.0), h=sizes)
    times = np.linspace(0.0, 1.0, 7)
    exact = np.asarray(reference_solution(system, start.q0, start.v0, (0.0, times[3])).q)
    assert np.max(np.abs(run.interpolate(times).q[3] - exact)) < 1e-3
    assert np.max(np.abs(run.interpolate(run.t[40]).q - run.q[40])) < 1e-13
    loaded = da.load(run.save(tmp_path / "run.nc"))
    assert loaded.provenance["h"] == sizes.tolist()
    coarse = da.simulate(system, method, start.q0, start.v0, t=(0.0, 1.0), h=sizes, save_every=10)
    with pytest.raises(da.InputError, match="save_every=1"):
        coarse.interpolate(0.5)


@pytest.mark.parametrize(
    ("h", "message"),
    [
        ([0.5, -0.5, 1.0], r"h\[1\] = -0.5"),
        ([0.5, 0.0, 0.5], r"h\[1\] = 0.0"),
        ([0.5, float("nan"), 0.5], r"h\[1\] = nan"),
        ([0.5, float("inf")], r"h\[1\] = inf"),
        ([0.5, 0.4], "add up to 0.9"),
        ([], r"shape \(steps,\)"),
        ([[0.5, 0.5]], r"shape \(steps,\)"),
        (["a", "b"], "sequence of step sizes must be an array of floats"),
    ],
)
def test_wrong_sequences_are_refused(h, message):
    system, start = started("pendulum")
    with pytest.raises(da.InputError, match=message):
        da.simulate(system, da.Rattle(), start.q0, start.v0, t=(0.0, 1.0), h=h)


def test_batches_take_steps_of_one_size():
    system, start = started("pendulum")
    with pytest.raises(da.InputError, match="single run"):
        da.simulate(system, da.Rattle(), np.stack([start.q0] * 2), np.stack([start.v0] * 2), t=(0.0, 1.0), h=[0.5, 0.5])
