"""Systems with contact: their starts, their exact motions, and the answers their documentation states."""

import jax
import numpy as np
import pytest

import dalembert as da
from dalembert.gallery import (
    CONTACT_GALLERY,
    GALLERY,
    BallInBox,
    BeadColumn,
    BouncingBall,
    BoxStack,
    ImpactOscillator,
    NewtonCradle,
    PainleveRod,
    PendulumAndWall,
    RockingBlock,
    SlidingBlock,
    system_named,
)
from dalembert.method import CATALOGUE, CONTACT_CATALOGUE, method_named
from dalembert.problem import prepared

WITH_EXACT_MOTION = (
    BouncingBall(), ImpactOscillator(), ImpactOscillator(stop=0.2, restitution=0.5), BallInBox(), NewtonCradle(),
    SlidingBlock(), SlidingBlock(friction=0.7), PendulumAndWall(),
)  # fmt: skip
WITHOUT = (BeadColumn(), RockingBlock(), BoxStack(), PainleveRod())


def run_of(system, h=None, t_end=None, method=None, **changes):
    start = system.start()._replace(**changes)
    method = da.MoreauJean() if method is None else method
    return da.simulate(system, method, start.q0, start.v0, t=(0.0, t_end or start.t_end), h=h or start.h)


def name_of(system):
    return type(system).__name__


# -- names ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CONTACT_GALLERY)
def test_systems_are_found_by_name(name):
    kind = CONTACT_GALLERY[name]
    assert system_named(name.upper()) is kind
    assert name not in GALLERY
    assert name.replace("-", "") == kind.__name__.lower()
    assert kind().provides("gap")
    assert "=" in kind.__doc__


@pytest.mark.parametrize("name", CONTACT_CATALOGUE)
def test_contact_methods_are_found_by_name(name):
    entry = CONTACT_CATALOGUE[name]
    assert method_named(name.upper()) is entry.method
    assert name not in CATALOGUE
    assert "gap" in entry.method.handles
    assert entry.summary
    assert entry.reference
    digits = name.rpartition("-")[2]
    assert entry.method.order == (int(digits) if digits.isdigit() else 1)


@pytest.mark.parametrize(
    ("system", "lengths"),
    [
        (RockingBlock(), [0.4, 1.2, 0.4, 1.2]),
        (BoxStack(boxes=2), [1.0, 0.5, 1.0, 0.5] * 2),
        (PainleveRod(), [2.0]),
    ],
    ids=name_of,
)
def test_points_have_the_lengths_of_their_bars(system, lengths):
    points = np.asarray(system.points(0.0, system.start().q0))
    assert [np.linalg.norm(points[b] - points[a]) for a, b in system.bars] == pytest.approx(lengths, abs=1e-14)


# -- starts and exact motions --------------------------------------------------------------------------------------


@pytest.mark.parametrize("system", WITH_EXACT_MOTION + WITHOUT, ids=name_of)
def test_starts_do_not_penetrate(system):
    system = prepared(system)
    start = system.start()
    gap, approach = jax.jit(lambda q, v: jax.jvp(lambda q: system.gap(0.0, q), (q,), (v,)))(start.q0, start.v0)
    assert np.min(gap) >= -1e-15
    assert np.min(np.asarray(approach)[np.asarray(gap) < 1e-12], initial=0.0) >= -1e-15
    assert round(start.t_end / start.h) == pytest.approx(start.t_end / start.h)


@pytest.mark.parametrize("system", WITH_EXACT_MOTION, ids=name_of)
def test_exact_motion_begins_at_the_start_and_respects_the_contacts(system):
    system = prepared(system)
    start = system.start()
    t = np.linspace(0.0, start.t_end, 4001)
    exact = system.exact(t)
    assert np.asarray(exact.q[0]) == pytest.approx(np.asarray(start.q0), abs=1e-14)
    assert np.asarray(exact.v[0]) == pytest.approx(np.asarray(start.v0), abs=1e-14)
    assert float(np.min(jax.vmap(system.gap)(t, exact.q))) >= -1e-12
    steps = np.abs(np.diff(exact.q, axis=0))
    assert np.max(steps) <= 1.01 * np.max(np.abs(exact.v)) * t[1], "positions jump"


@pytest.mark.parametrize("system", WITH_EXACT_MOTION, ids=name_of)
def test_time_stepping_converges_to_the_exact_motion(system):
    coarse, fine = system.start().h / 2, system.start().h / 40
    errors = []
    for h in (coarse, fine):
        run = run_of(system, h)
        errors.append(np.mean(np.abs(run.q - system.exact(run.t).q)))
    assert errors[1] < 5e-3
    assert errors[1] < errors[0] / 5


@pytest.mark.parametrize("system", WITHOUT, ids=name_of)
def test_no_exact_motion_is_pretended(system):
    assert system.exact(np.array([0.0])) is None


# -- one mass ------------------------------------------------------------------------------------------------------


def test_bouncing_ball_rests_from_three_on():
    exact = BouncingBall().exact(np.array([1.0, 2.0, 2.5, 3.0, 4.0]))
    assert np.asarray(exact.q[:, 0]) == pytest.approx(np.zeros(5), abs=1e-14)
    assert np.asarray(exact.v[:, 0]) == pytest.approx([1.0, 0.5, 0.25, 0.0, 0.0], abs=1e-12)


def test_oscillator_hits_five_times():
    flights = ImpactOscillator().flights(1.0, 0.0, 5.0)
    assert len(flights) == 6
    assert flights[1].begin == pytest.approx(0.427539429210, abs=1e-12)


def test_oscillator_with_accumulation():
    flights = ImpactOscillator(stop=0.2, restitution=0.5).flights(1.0, 0.0, 5.0)
    assert flights[-1].resting
    assert flights[-1].begin == pytest.approx(1.673463584127120, abs=1e-12)


def test_ball_in_a_box_loses_the_same_part_at_every_wall():
    run = run_of(BallInBox(restitution=0.5), h=0.001, t_end=2.0)
    for axis, speed in ((0, 1.3), (1, 0.9)):
        hits = np.log2(speed / np.abs(run.v[:, axis]))
        assert hits == pytest.approx(np.round(hits), abs=1e-12)
        assert hits[-1] >= 1


@pytest.mark.parametrize(("friction", "moves"), [(0.3, True), (0.7, False)])
def test_block_stays_where_friction_holds_it(friction, moves):
    run = run_of(SlidingBlock(friction=friction), h=0.001)
    assert (run.v[-1, 0] > 1.0) == moves
    if not moves:
        stop = 1.0 / (9.81 * (np.sin(0.5) + friction * np.cos(0.5)))  # seconds
        assert run.q[-1, 0] == pytest.approx(-stop / 2, abs=1e-3)
        assert abs(run.v[-1, 0]) < 1e-13


def test_pendulum_keeps_its_length_while_it_hits_the_wall():
    run = run_of(PendulumAndWall(), h=0.002)
    assert np.sum(run.impulse[:, 0] > 0) >= 3
    assert np.max(run.constraint) < 1e-12
    assert np.max(run.hidden) < 1e-12


# -- several contacts ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("balls", [2, 5])
def test_cradle_hands_on_the_velocity(balls):
    run = run_of(NewtonCradle(balls=balls), h=0.01)
    assert run.v[-1] == pytest.approx(np.eye(balls)[-1], abs=1e-13)
    assert run.energy == pytest.approx(np.full(len(run.t), 0.5), abs=1e-13)


def test_beads_come_to_rest_on_each_other():
    system = BeadColumn()
    run = run_of(system, h=0.001)
    assert run.q[-1] == pytest.approx(0.1 * (2 * np.arange(4) + 1), abs=2e-4)
    assert run.v[-1] == pytest.approx(np.zeros(4), abs=1e-12)
    assert run.impulse[-1] == pytest.approx(0.001 * 9.81 * np.array([4, 3, 2, 1]), rel=1e-6)


def test_rocking_block_keeps_the_rate_that_housner_found():
    system = RockingBlock()
    run = run_of(system, h=2e-4, t_end=0.6)
    rate = run.v[:, 2]
    hit = int(np.argmax(np.diff(rate)))
    assert rate[hit + 1] / rate[hit] == pytest.approx(system.rate_kept(), abs=2e-3)
    inertia = 4 / 3 * (0.2**2 + 0.6**2)  # about a corner
    fallen = float(system.start().q0[1]) - 0.6
    assert rate[hit] == pytest.approx(-np.sqrt(2 * 9.81 * fallen / inertia), rel=2e-3)


def test_boxes_stand_and_the_floor_carries_them():
    run = run_of(BoxStack())
    assert np.max(np.abs(run.q - run.q[0])) < 1e-12
    corners = run.impulse[-1, :, 0].reshape(3, 2)
    assert np.sum(corners, axis=1) == pytest.approx(0.01 * 9.81 * np.array([3, 2, 1]), rel=1e-9)


def test_pushed_box_slides_on_those_that_stay():
    run = run_of(BoxStack(), h=0.0005, t_end=0.2, v0=np.array([0.0, 0, 0, 0, 0, 0, 0.5, 0, 0]))
    assert run.q[-1, :6] == pytest.approx(run.q[0, :6], abs=1e-10)
    assert run.q[-1, 6] == pytest.approx(0.5**2 / (2 * 0.5 * 9.81), abs=1e-3)
    assert np.max(np.abs(run.v[-1])) < 1e-10


@pytest.mark.parametrize("friction", [0.0, 0.5, 1.0])
def test_floor_pushes_a_sliding_rod_as_stated(friction):
    """Without turning, 0 = -g + p lam_N / m."""
    theta, h = 1.0, 1e-4
    run = run_of(PainleveRod(friction=friction), h=h, t_end=10 * h)
    p = 1 + 3 * np.cos(theta) * (np.cos(theta) - friction * np.sin(theta))
    normal, tangential = run.impulse[1, 0] / h
    assert normal == pytest.approx(9.81 / p, rel=1e-3)
    assert tangential == pytest.approx(friction * normal, abs=1e-10)
