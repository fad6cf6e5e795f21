"""Dominoes, an arch, Euler's disc, the tippe top: what is known of them in closed form, or published."""

import jax
import numpy as np
import pytest
import scipy.optimize

import dalembert as da
from dalembert.gallery import BlockArch, DominoRow, EulerDisc, TippeTop
from dalembert.gallery.rotation import third_axis
from dalembert.problem import prepared

SYSTEMS = (DominoRow(), BlockArch(), BlockArch(wedges=1), EulerDisc(), TippeTop())


def run_of(system, t_end, h, method=None, **options):
    start = system.start()
    method = da.MoreauJean() if method is None else method
    return da.simulate(system, method, start.q0, start.v0, t=(0.0, t_end), h=h, **options)


def axes_of(run):
    return np.asarray(jax.vmap(third_axis)(run.q[:, 3:]))


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: type(system).__name__)
def test_starts_touch_and_move_along_what_they_touch(system):
    system, start = prepared(system), system.start()
    gap, approach = jax.jvp(lambda q: system.gap(0.0, q), (start.q0,), (start.v0,))
    assert np.min(gap) >= -2e-15
    assert np.min(np.asarray(approach)[np.asarray(gap) < 1e-12]) >= -1e-13
    assert system.exact(np.zeros(1)) is None
    points = np.asarray(system.points(0.0, start.q0))
    assert all(np.linalg.norm(points[a] - points[b]) > 0 for a, b in system.bars)


@pytest.mark.parametrize("system", SYSTEMS[1:], ids=lambda system: type(system).__name__)
def test_tangents_are_the_velocities_of_touching_points(system):
    """Against difference quotients of the points that are joined to the bodies."""
    system, start = prepared(system), system.start()
    q = np.asarray(start.q0) + 0.05 * np.random.default_rng(1).standard_normal(len(start.q0))
    v = np.random.default_rng(2).standard_normal(len(q))
    rows = np.asarray(system.tangent(0.0, q))
    if isinstance(system, BlockArch):
        wedge, corner = 0, 3  # of the first wedge on the ground: how its outer left corner moves along it
        moved = jax.jvp(lambda q: system.points(0.0, q)[4 * wedge + corner, 0], (q,), (v,))[1]
        assert rows[1] @ v == pytest.approx(float(moved), abs=1e-12)
    else:
        e = q[3:] / np.linalg.norm(q[3:])
        q = np.concatenate([q[:3], e])
        v[3:] -= (v[3:] @ e) * e
        d, step = np.asarray(system.contact(q)), 1e-6
        frame = [turned(q + s * step * v) for s in (1, -1)]
        arm = turned(q).T @ d
        rate = v[:3] + (frame[0] - frame[1]) @ arm / (2 * step)
        assert np.asarray(system.tangent(0.0, q))[0] @ v == pytest.approx(rate[:2], rel=1e-6, abs=1e-9)


def turned(q):
    """The rotation of the quaternion in q."""
    a, b, c, d = q[3:] / np.linalg.norm(q[3:])
    return np.array([
        [a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)],
        [2 * (b * c + a * d), a * a - b * b + c * c - d * d, 2 * (c * d - a * b)],
        [2 * (b * d - a * c), 2 * (c * d + a * b), a * a - b * b - c * c + d * d],
    ])  # fmt: skip


@pytest.mark.long
def test_the_first_domino_hands_on_half_of_its_rate():
    """Energy until they meet, sin(theta) = s / h there, and half of the rate for both after it."""
    row = DominoRow(dominoes=2)
    run = run_of(row, 0.3, 0.01, da.EventCapturing(da.half_explicit(4)))
    (hit,) = run.events.only("impact")
    before, after = run.interpolate([hit.time - 1e-9, hit.time + 1e-9])[1:3]
    assert before[1, 0] == pytest.approx(np.arcsin(0.4), abs=1e-7)
    assert after[:, 0] == pytest.approx(row.first_rates(1.5), abs=1e-6)
    assert after[1, 1] == pytest.approx(row.first_rates(1.5)[1], abs=1e-6)


def test_dominoes_fall_at_a_steady_pace_and_lean_on_each_other():
    row = DominoRow()
    run = run_of(row, 2.5, 0.005)
    begins = [run.t[np.argmax(run.q[:, k] > 1e-3)] for k in range(row.dominoes)]
    pace = np.diff(begins)
    assert np.all(pace > 0)
    assert np.ptp(pace[-3:]) <= 0.006, "the wave becomes steady"
    assert np.all(np.diff(run.q[-1]) > -0.05), "none leans less than the one behind it"
    assert run.q[-1, -1] == pytest.approx(np.pi / 2, abs=0.05)


def in_equilibrium(arch):
    """Whether there are forces of the contacts that carry the weight: a linear program."""
    system, q = prepared(arch), arch.start().q0
    count = 2 * (arch.wedges + 1)
    normal = np.asarray(jax.jit(jax.jacfwd(lambda q: system.gap(0.0, q)))(q))
    tangent = np.asarray(jax.jit(lambda q: system.tangent(0.0, q))(q))
    weight = -np.asarray(jax.jit(jax.grad(lambda q: system.lagrangian(0.0, q, 0.0 * q)))(q))
    rough = np.eye(count) * float(arch.friction)
    cone = np.block([[-rough, np.eye(count)], [-rough, -np.eye(count)]])
    found = scipy.optimize.linprog(
        np.zeros(2 * count), cone, np.zeros(2 * count), np.concatenate([normal, tangent]).T, weight,
        bounds=[(0, None)] * count + [(None, None)] * count,
    )  # fmt: skip
    return found.status == 0


@pytest.mark.parametrize(("thickness", "stands"), [(0.1080, True), (0.1070, False)])
def test_an_arch_of_many_wedges_needs_the_thickness_of_milankovitch(thickness, stands):
    """0.1075 of the radius."""
    assert in_equilibrium(BlockArch(wedges=60, thickness=thickness)) == stands


@pytest.mark.long
@pytest.mark.parametrize(("thickness", "stands"), [(0.0985, True), (0.093, False)])
def test_an_arch_stands_where_forces_can_carry_it_and_falls_elsewhere(thickness, stands):
    arch = BlockArch(thickness=thickness)
    assert in_equilibrium(arch) == stands
    moved = run_of(arch, 0.3, 0.005)
    fall = np.max(np.abs(moved.q - moved.q[0]))
    assert fall < 1e-7 if stands else fall > 1e-3


def test_eulers_disc_wobbles_at_the_rate_of_moffatt():
    disc = EulerDisc()
    rate, errors = float(disc.wobble()), []
    assert rate**2 * np.sin(0.3) == pytest.approx(4 * 9.81, rel=1e-12)
    for h in (0.002, 0.001):
        run = run_of(disc, 0.5, h)
        axis = axes_of(run)
        angle = np.unwrap(np.arctan2(axis[:, 1], axis[:, 0]))
        errors.append(abs((angle[-1] - angle[0]) / 0.5 - rate) / rate)
        assert np.max(np.abs(np.arccos(axis[:, 2]) - 0.3)) < 2 * h
        assert np.max(np.abs(run.q[:, :2])) < 5 * h, "its centre stays where it is"
    assert errors[1] < 0.01
    assert errors[1] < 0.6 * errors[0], "first order"


def test_the_tippe_top_turns_over_with_the_rate_that_jellett_leaves():
    top = TippeTop()
    run = run_of(top, 4.0, 0.0005, save_every=40)
    axis, jellett = axes_of(run)[:, 2], run.invariants["jellett"]
    assert axis[0] > 0.99
    assert axis[-1] < -0.98
    assert jellett == pytest.approx(np.full(len(jellett), jellett[0]), rel=1e-4)
    spin = np.asarray(top.spin(run.q[-1], run.p[-1]))[2] / float(top.axis_inertia)
    assert spin == pytest.approx(top.rate_after(), rel=5e-3)
    assert top.rate_after() == pytest.approx(80.0)
    finer = run_of(top, 2.0, 0.0002, save_every=100)
    assert axes_of(finer)[::10, 2] == pytest.approx(axis[:101:10], abs=0.01), "whatever the step size"


@pytest.mark.long
@pytest.mark.parametrize(("ratio", "lowest", "highest"), [(0.7, 0.98, 1.0), (1.5, -0.6, 0.0)])
def test_tops_of_other_shapes_do_not_turn_over(ratio, lowest, highest):
    """A / C < 1 - b: never; A / C > 1 + b: up to an angle between."""
    run = run_of(TippeTop(diameter_inertia=ratio * 3.75e-6), 4.0, 0.0005, save_every=40)
    assert lowest < axes_of(run)[-1, 2] < highest
