"""Event capturing with Coulomb friction in the plane: stick and slip located, one contact and several."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq

import dalembert as da
from dalembert.gallery.contacts import SlidingBlock
from dalembert.gallery.many_contacts import PainleveRod, RockingBlock

GRAVITY, PUSH = 9.81, 4.0


class PushedBlock(da.System):
    """A block on a rough floor, pushed by PUSH sin(2 t): it sticks, slides, and stops again."""

    friction: float = 0.3

    def lagrangian(self, t, q, v):
        return 0.5 * (v @ v) - GRAVITY * q[1]

    def force(self, t, q, v):
        return jnp.stack([PUSH * jnp.sin(2 * t), jnp.zeros(())])

    def gap(self, t, q):
        return q[1:]

    def tangent(self, t, q):
        return jnp.array([[1.0, 0.0]])


def pushed_block(end, friction):
    """Events (kind, time) and x(t) from the closed form x'' = PUSH sin(2 t) - mu g sign(x')."""
    grip, events, pieces = friction * GRAVITY, [], []
    time, x = 0.0, 0.0
    while True:
        turn = np.ceil(2 * time / np.pi - 0.5 + 1e-9)  # until |sin(2 t)| reaches what friction holds
        slip = brentq(lambda s: PUSH * abs(np.sin(2 * s)) - grip, time, (turn + 0.5) * np.pi / 2, xtol=1e-15)
        pieces.append((time, min(slip, end), lambda t, x=x: x + 0 * t))
        if slip >= end:
            return events, pieces
        sign = np.sign(np.sin(2 * slip))
        events.append(("slip", slip))

        def speed(t, t0=slip, sign=sign):
            return -PUSH / 2 * (np.cos(2 * t) - np.cos(2 * t0)) - sign * grip * (t - t0)

        def place(t, t0=slip, sign=sign, x=x):
            swing = PUSH / 2 * np.cos(2 * t0) * (t - t0) - PUSH / 4 * (np.sin(2 * t) - np.sin(2 * t0))
            return x + swing - sign * grip * (t - t0) ** 2 / 2

        stop = brentq(speed, slip + 0.3, slip + 1.5, xtol=1e-15)
        pieces.append((slip, min(stop, end), place))
        if stop >= end:
            return events, pieces
        events.append(("stick", stop))
        time, x = stop, float(place(stop))


def test_stick_and_slip_of_a_pushed_block():
    events, pieces = pushed_block(6.0, 0.3)
    steps, errors = (53, 101, 199), []
    for n in steps:
        run = da.simulate(
            PushedBlock(), da.EventCapturing(da.half_explicit(4)), [0.0, 0.0], [0.0, 0.0], t=(0.0, 6.0), h=6 / n
        )
        expected = [next(place(t) for a, b, place in pieces if a <= t <= b + 1e-12) for t in run.t]
        errors.append(np.max(np.abs(run.q[:, 0] - expected)))
        assert list(run.events.kind) == [kind for kind, _ in events]
    assert abs(-np.polyfit(np.log(steps), np.log(errors), 1)[0] - 4) <= 0.25
    assert run.events.time == pytest.approx([time for _, time in events], abs=3e-8)
    assert np.max(np.abs(run.gap)) == 0
    # friction never exceeds what the weight allows
    assert np.all(np.abs(run.impulse[:, 0, 1]) <= 0.3 * run.impulse[:, 0, 0] + 1e-12)
    balance = np.diff(run.p[:, 0]) + PUSH / 2 * np.diff(np.cos(2 * run.t)) - run.impulse[1:, 0, 1]
    assert np.max(np.abs(balance)) <= 1e-6


@pytest.mark.long
@pytest.mark.parametrize(
    ("tableau", "steps"),
    [
        (da.radau_iia(3), (29, 53, 101, 199)), (da.lobatto_iiia(4), (17, 29, 53)),
        (da.gauss_legendre(2), (53, 101, 199)),
        (da.gauss_legendre(3), (17, 29, 53)), (da.half_explicit(5), (29, 53, 101)),
    ],
    ids=repr,
)  # fmt: skip
def test_the_order_survives_stick_and_slip(tableau, steps):
    events, pieces = pushed_block(6.0, 0.3)
    errors = []
    for n in steps:
        run = da.simulate(PushedBlock(), da.EventCapturing(tableau), [0.0, 0.0], [0.0, 0.0], t=(0.0, 6.0), h=6 / n)
        expected = [next(place(t) for a, b, place in pieces if a <= t <= b + 1e-12) for t in run.t]
        errors.append(np.max(np.abs(run.q[:, 0] - expected)))
        assert list(run.events.kind) == [kind for kind, _ in events]
    assert abs(-np.polyfit(np.log(steps), np.log(errors), 1)[0] - tableau.order) <= 0.2


def test_compiled_steps_stick_and_slip_as_those_of_xla():
    """Every mode is compiled for itself."""
    arguments = PushedBlock(), da.EventCapturing(da.half_explicit(4)), [0.0, 0.0], [0.0, 0.0]
    options = {"t": (0.0, 6.0), "h": 0.01}
    compiled = da.simulate(*arguments, **options)
    single = da.simulate(*arguments, **options, engine="xla")
    assert compiled.stats["compiled_steps"] >= 550
    assert compiled.q == pytest.approx(single.q, abs=1e-13)
    assert compiled.impulse == pytest.approx(single.impulse, abs=1e-13)
    assert list(compiled.events.kind) == list(single.events.kind)
    assert compiled.events.time == pytest.approx(single.events.time, abs=1e-12)


@pytest.mark.parametrize(("friction", "kind"), [(0.3, "slip"), (0.7, "stick")])
def test_block_on_an_incline_turns_round_or_stays(friction, kind):
    system = SlidingBlock(friction)
    start = system.start()
    run = da.simulate(system, da.EventCapturing(da.half_explicit(3)), start.q0, start.v0, t=(0.0, 2.0), h=0.02)
    exact = system.exact(run.t)
    assert np.max(np.abs(run.q - np.asarray(exact.q))) <= 1e-7
    assert list(run.events.kind) == [kind]
    stop = 1 / (9.81 * (np.sin(0.5) + friction * np.cos(0.5)))
    assert run.events.time[0] == pytest.approx(stop, abs=1e-7)


def test_impact_with_friction_and_sliding_after_it():
    system = SlidingBlock(0.3)
    run = da.simulate(system, da.EventCapturing(da.half_explicit(3)), [0.0, 1.0], [-1.0, 0.0], t=(0.0, 1.0), h=0.02)
    fall = np.sqrt(2 / (9.81 * np.cos(0.5)))
    hit = run.events[0]
    assert (hit.kind, run.events.kind[1]) == ("impact", "closing")
    assert hit.time == pytest.approx(fall, abs=1e-6)
    assert hit.impulse[1] == pytest.approx(-0.3 * hit.impulse[0])
    assert hit.after[1] == pytest.approx(hit.before[1] + 0.3 * hit.before[0], abs=1e-6)
    assert np.all(np.diff(run.energy) <= 1e-12)


@pytest.mark.long
def test_rocking_block_keeps_housners_part_of_its_rate():
    system = RockingBlock()
    start = system.start()
    run = da.simulate(system, da.EventCapturing(da.half_explicit(4)), start.q0, start.v0, t=(0.0, 1.0), h=0.01)
    impacts = run.events.only("impact")
    assert list(impacts.contact) == [1, 0]
    # the corner that lifts off moves with the rate after the impact, the one that lands with that before it
    lifted = run.events.only("opening").after[:, 0]
    assert lifted / -impacts.before[:, 0] == pytest.approx(system.rate_kept(), abs=1e-6)
    assert np.min(run.gap) >= -1e-12
    assert np.all(np.diff(run.energy) <= 1e-9)


@pytest.mark.long
def test_paradox_of_painleve_is_reported():
    theta = 1.1
    rod = PainleveRod(friction=3.0)
    with pytest.raises(da.StepFailure, match="paradox of Painleve"):
        da.simulate(
            rod, da.EventCapturing(da.half_explicit(2)), [0.0, np.sin(theta), theta], [-1.0, 0.0, 0.0], t=(0.0, 0.2),
            h=0.01,
        )  # fmt: skip
