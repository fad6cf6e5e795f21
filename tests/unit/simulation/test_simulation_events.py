"""Events of smooth runs: found to the accuracy of the method, ending runs, changing motions; and sections."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import ellipk

import dalembert as da
from dalembert.errors import InconsistentStart, InputError, MethodDoesNotFit, ModelError, StepFailure


class Oscillator(da.System):
    """x'' = -x; from x = 0.3, v = 1 it is A cos(t - phi)."""

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 0.5 * q @ q


class Projectile(da.System):
    """A body in the field of gravity, without contact."""

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 9.81 * q[1]


class HenonHeiles(da.HamiltonianSystem):
    """The motion of a star in a galaxy, as Henon and Heiles took it."""

    def hamiltonian(self, t, q, p):
        return 0.5 * (p @ p + q @ q) + q[0] ** 2 * q[1] - q[1] ** 3 / 3


PENDULUM = da.gallery.Pendulum()
FALL = float(np.sqrt(2 / 9.81))


def height(t, q, v):
    return q[1]


def bounce(restitution):
    return lambda t, q, v: (q, v * np.array([1.0, -restitution]))


def oscillate(method, h=0.1, **more):
    return da.simulate(Oscillator(), method, [0.3], [1.0], t=(0.0, 20.0), h=h, **more)


def period():
    """Of the pendulum, by an elliptic integral."""
    start = PENDULUM.start()
    turning = (start.v0 @ start.v0 / 2 + PENDULUM.gravity * start.q0[1]) / PENDULUM.gravity  # the height, v = 0
    highest = np.arccos(-turning / PENDULUM.length)
    return 4 * np.sqrt(PENDULUM.length / PENDULUM.gravity) * ellipk(np.sin(highest / 2) ** 2)


def crossing_times(level):
    """When the oscillator passes x = level upwards, from t = 0 to 20."""
    amplitude, phase = np.hypot(0.3, 1.0), np.arctan2(1.0, 0.3)
    times = phase - np.arccos(level / amplitude) + 2 * np.pi * np.arange(5)
    return times[(times > 0) & (times < 20)]


@pytest.mark.parametrize(
    ("method", "order", "steps"),
    [(da.Rattle(), 2, (0.1, 0.05, 0.025)), (da.Galerkin(2), 4, (0.2, 0.1, 0.05)),
     (da.gauss_spark(3), 6, (0.8, 0.4, 0.2)), (da.Composition(da.Rattle(), "suzuki4"), 4, (0.2, 0.1, 0.05))],
    ids=lambda value: getattr(value, "name", None),
)  # fmt: skip
def test_times_have_the_order_of_the_method(method, order, steps):
    up = da.Event(lambda t, q, v: q[0] - 0.2, direction=1, name="up")
    errors = []
    for h in steps:
        events = oscillate(method, h, events=[up]).events
        assert len(events) == len(crossing_times(0.2))
        errors.append(np.max(np.abs(events.time - crossing_times(0.2))))
    slope = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert slope == pytest.approx(order, abs=0.2)


def test_twelve_digits_on_the_period_of_a_pendulum():
    start, exact = PENDULUM.start(), period()
    run = da.simulate(
        PENDULUM, da.Composition(da.Rattle(), "kahan-li8"), start.q0, start.v0, t=(0.0, 10.0), h=0.01,
        events=[da.Event(lambda t, q, v: q[0], name="lowest")],
    )  # fmt: skip
    times = run.events.time
    np.testing.assert_allclose(2 * np.diff(times), exact, rtol=1e-12)
    assert np.max(np.abs(run.events.q[:, 0])) < 1e-15


def test_events_that_only_look_change_nothing():
    looks = [da.Event(lambda t, q, v: q[0] - 0.2, name="x"), da.Event(lambda t, q, v: v[0] * q[0], name="v")]
    for more in ({}, {"save_every": 8}):
        run, plain = oscillate(da.Rattle(), events=looks, **more), oscillate(da.Rattle(), **more)
        np.testing.assert_array_equal(run.q, plain.q)
        np.testing.assert_array_equal(run.t, plain.t)
        assert len(run.iterations) == len(plain.iterations)
        assert run.status.step == plain.status.step
    assert set(run.events.name) == {"x", "v"}
    assert np.all(np.diff(run.events.time) >= 0)


def test_direction_chooses():
    found = {d: oscillate(da.Rattle(), events=[da.Event(lambda t, q, v: q[0], direction=d)]).events for d in (-1, 0, 1)}
    assert len(found[0]) == len(found[1]) + len(found[-1]) == 6
    assert np.all(found[1].v[:, 0] > 0)
    assert np.all(found[-1].v[:, 0] < 0)


def test_two_zeros_in_one_step_are_found():
    top = np.hypot(0.3, 1.0)  # passed at phi = 1.279; x > 0.999 A for 0.09, less than a step
    run = oscillate(da.gauss_spark(3), 0.4, events=[da.Event(lambda t, q, v: q[0] - 0.999 * top)])
    half = np.arccos(0.999)
    tops = np.arctan2(1.0, 0.3) + 2 * np.pi * np.arange(3)
    np.testing.assert_allclose(run.events.time, np.sort(np.concatenate([tops - half, tops + half])), atol=1e-6)
    assert len(oscillate(da.gauss_spark(3), 0.4, events=[da.Event(lambda t, q, v: q[0] - 1.001 * top)]).events) == 0


def test_a_terminal_event_is_the_end():
    run = da.simulate(
        Projectile(), da.Rattle(), [0.0, 1.0], [2.0, 0.0], t=(0.0, 5.0), h=0.01,
        events=[da.Event(height, terminal=True, name="ground")],
    )  # fmt: skip
    assert run.status
    assert "ground" in run.status.message
    assert run.t[-1] == run.events.time[0] == pytest.approx(FALL, rel=1e-14)
    np.testing.assert_allclose(run.q[-1], [2 * FALL, 0.0], atol=1e-14)
    assert len(run.iterations) == len(run) - 1
    inside = run.t[-1] - 0.0007
    np.testing.assert_allclose(run.interpolate(inside).q[1], 1 - 9.81 / 2 * inside**2, atol=1e-14)


def test_actions_change_the_motion_and_the_grid_stays():
    run = da.simulate(
        Projectile(), da.Rattle(), [0.0, 1.0], [0.0, 0.0], t=(0.0, 5.0), h=0.01,
        events=[da.Event(height, -1, action=bounce(1.0), name="ground"),
                da.Event(lambda t, q, v: v[1], -1, name="top")],
    )  # fmt: skip
    np.testing.assert_allclose(run.t, 0.01 * np.arange(501), atol=1e-14)
    ground, tops = run.events.only("ground"), run.events.only("top")
    np.testing.assert_allclose(ground.time, FALL * (1 + 2 * np.arange(len(ground))), rtol=1e-13)
    np.testing.assert_allclose(tops.time, 2 * FALL * (1 + np.arange(len(tops))), rtol=1e-12)
    np.testing.assert_allclose(ground.v_after[:, 1], -ground.v[:, 1], rtol=1e-15)
    assert np.ptp(run.energy) < 1e-12
    t = np.linspace(0, 5, 777)
    since = np.mod(t + FALL, 2 * FALL) - FALL
    np.testing.assert_allclose(run.interpolate(t).q[:, 1], 1 - 9.81 / 2 * since**2, atol=1e-12)
    np.testing.assert_allclose(run.section(lambda t, q, v: v[1], -1).time, tops.time, rtol=1e-12)


def test_two_actions_at_the_same_time_both_act():
    """A corner that is hit exactly: both walls send the body back."""
    walls = [
        da.Event(lambda t, q, v: q[0], -1, action=lambda t, q, v: (q, v * np.array([-1.0, 1.0])), name="left"),
        da.Event(lambda t, q, v: q[1], -1, action=lambda t, q, v: (q, v * np.array([1.0, -1.0])), name="low"),
    ]
    free = da.system(lagrangian=lambda t, q, v: 0.5 * v @ v)
    run = da.simulate(free, da.Rattle(), [1.0, 2.0], [-0.7, -1.4], t=(0.0, 3.0), h=0.1, events=walls)
    assert run.events.name.tolist() == ["left", "low"]
    np.testing.assert_allclose(run.q[-1], [0.7 * 3 - 1, 1.4 * 3 - 2], atol=1e-13)


def test_times_that_accumulate_are_said():
    with pytest.raises(StepFailure, match=r"ground accumulate at t = 1\.3545") as caught:
        da.simulate(
            Projectile(), da.Rattle(), [0.0, 1.0], [0.0, 0.0], t=(0.0, 5.0), h=0.05,
            events=[da.Event(height, -1, action=bounce(0.5), name="ground")],
        )  # fmt: skip
    run = caught.value.trajectory
    bounces = FALL * (1 + 2 * np.cumsum(0.5 ** np.arange(1, 20)))
    np.testing.assert_allclose(run.events.time[1:20], bounces, atol=1e-12)


def test_an_action_on_a_constraint():
    start = PENDULUM.start()
    turn = da.Event(lambda t, q, v: q[0], action=lambda t, q, v: (q, -v), name="lowest")
    run = da.simulate(PENDULUM, da.Galerkin(3), start.q0, start.v0, t=(0.0, 5.0), h=0.005, events=[turn])
    assert np.all(run.q[:, 0] > -1e-12)
    assert np.max(run.constraint) < 1e-14
    assert np.ptp(run.energy) < 1e-10
    off = da.Event(lambda t, q, v: q[0], action=lambda t, q, v: (1.1 * q, v), name="lowest")
    with pytest.raises(InconsistentStart, match=r"the action of the event 'lowest'.*leaves the constraints"):
        da.simulate(PENDULUM, da.Rattle(), start.q0, start.v0, t=(0.0, 5.0), h=0.005, events=[off])
    moved = da.simulate(PENDULUM, da.Rattle(), start.q0, start.v0, t=(0.0, 2.0), h=0.005, events=[off], project=True)
    assert np.max(moved.constraint) < 1e-14


def test_a_start_on_the_section_is_no_event():
    up = da.Event(lambda t, q, v: q[0] - 0.3)
    first = oscillate(da.Rattle(), events=[up]).events.time[0]
    assert first == pytest.approx(2 * np.arctan2(1.0, 0.3), abs=0.01)


def test_section_of_henon_heiles():
    v = np.sqrt(2 / 12 - 0.1**2 + 2 * 0.1**3 / 3 - 0.05**2)
    options = {"q0": [0.0, 0.1], "p0": [v, 0.05], "t": (0.0, 100.0), "h": 0.1}
    method = da.Composition(da.Rattle(), "kahan-li8")
    run = da.simulate(HenonHeiles(), method, **options)
    found = run.section(lambda t, q, v: q[0], direction=1)
    assert len(found) > 10
    assert np.max(np.abs(found.q[:, 0])) < 1e-14
    energy = 0.5 * np.sum(found.p**2 + found.q**2, axis=1) + found.q[:, 0] ** 2 * found.q[:, 1] - found.q[:, 1] ** 3 / 3
    np.testing.assert_allclose(energy, 1 / 12, atol=1e-13)
    fewer = da.simulate(HenonHeiles(), method, **options, save_every=10)
    np.testing.assert_allclose(fewer.section(lambda t, q, v: q[0], direction=1).time, found.time, atol=1e-11)
    looked = da.simulate(HenonHeiles(), method, **options, events=[da.Event(lambda t, q, v: q[0], 1)], save_every=1000)
    np.testing.assert_allclose(looked.events.time, found.time, atol=1e-11)


def test_given_step_sizes_and_rolling():
    start = PENDULUM.start()
    sizes = np.resize([0.01, 0.02, 0.015], 300)
    run = da.simulate(PENDULUM, da.Galerkin(3), start.q0, start.v0, t=(0.0, None), h=sizes)
    times = run.section(lambda t, q, v: q[0]).time
    np.testing.assert_allclose(2 * np.diff(times), period(), rtol=1e-9)
    skate = da.gallery.Skate()
    begin = skate.start()
    wide = da.simulate(skate, da.gauss_spark(2), begin.q0, begin.v0, t=(0.0, 2.0), h=0.01,
                       events=[da.Event(lambda t, q, v: t - 1.2345, name="clock")])  # fmt: skip
    assert wide.events.time == pytest.approx([1.2345], rel=1e-15)


def test_saved_and_loaded(tmp_path):
    run = oscillate(da.Rattle(), events=[da.Event(lambda t, q, v: q[0], name="zero")])
    for suffix in ("nc", "zarr", "npz"):
        again = da.load(run.save(tmp_path / f"run.{suffix}")).events
        np.testing.assert_array_equal(again.time, run.events.time)
        np.testing.assert_array_equal(again.p, run.events.p)
        assert again.name.tolist() == run.events.name.tolist()
    assert "6 zero" in repr(run.events)
    assert run.events[0].name == "zero"


def test_what_is_refused():
    up = da.Event(height)
    ball = da.gallery.BouncingBall()
    start = ball.start()
    ask = {"t": (0.0, 1.0), "h": 0.1, "events": [up]}
    with pytest.raises(InputError, match=r"run\.events"):
        da.simulate(ball, da.EventCapturing(), start.q0, start.v0, **ask)
    with pytest.raises(MethodDoesNotFit, match="without contacts"):
        da.simulate(ball, da.MoreauJean(), start.q0, start.v0, **ask)
    with pytest.raises(InputError, match="single run"):
        da.simulate(Projectile(), da.Rattle(), np.ones((2, 2)), np.ones((2, 2)), **ask)
    with pytest.raises(InputError, match="checkpoint"):
        da.simulate(Projectile(), da.Rattle(), [0.0, 1.0], [0.0, 0.0], retry=True, **ask)
    with pytest.raises(InputError, match="different names"):
        da.simulate(Projectile(), da.Rattle(), [0.0, 1.0], [0.0, 0.0], **(ask | {"events": [up, up]}))
    with pytest.raises(ModelError, match="must give one number"):
        da.simulate(
            Projectile(), da.Rattle(), [0.0, 1.0], [0.0, 0.0], **(ask | {"events": da.Event(lambda t, q, v: q)})
        )
    with pytest.raises(ModelError, match=r"must give \(q, v\)"):
        da.simulate(Projectile(), da.Rattle(), [0.0, 0.1], [0.0, 0.0],
                    **(ask | {"events": da.Event(height, action=lambda t, q, v: v)}))  # fmt: skip
    with pytest.raises(StepFailure, match="it must be finite"):
        da.simulate(Projectile(), da.Rattle(), [0.0, 0.1], [0.0, 0.0],
                    **(ask | {"events": da.Event(lambda t, q, v: jnp.sqrt(q[1]))}))  # fmt: skip
    with pytest.raises(InputError, match="terminal or action"):
        da.Event(height, terminal=True, action=bounce(1.0))
    with pytest.raises(InputError, match="direction"):
        da.Event(height, direction=2)
    run = oscillate(da.Rattle())
    with pytest.raises(InputError, match="records no events"):
        _ = run.events
