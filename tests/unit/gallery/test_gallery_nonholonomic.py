"""Systems of the gallery with constraints on the velocity, by properties that do not come from their equations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.diagnostics import reference_solution
from dalembert.formulation import mechanics_of
from dalembert.gallery import (
    AppellHamel,
    BallOnTurntable,
    ChaplyginSleigh,
    McLachlanPerlmutterParticles,
    MobileRobot,
    NonholonomicParticle,
    RollingDisc,
    Skate,
    VerticalRollingDisc,
)
from dalembert.gallery.rotation import body_rate, integral, product, quaternion_rate, spatial_rate, third_axis
from dalembert.problem import prepared

ACCURATE = da.gauss_spark(3)


def run_of(system, q0=None, v0=None, t_end=5.0, h=0.01):
    start = system.start()
    q0, v0 = (start.q0, start.v0) if q0 is None else (q0, v0)
    return da.simulate(system, ACCURATE, q0, v0, t=(0.0, t_end), h=h)


def largest(x) -> float:
    return float(np.max(np.abs(x)))


# -- closed forms as the literature prints them --------------------------------------------------------------------


def test_skate_of_the_default_start():
    t = np.linspace(0.0, 7.0, 15)
    exact = Skate().exact(t)
    assert np.asarray(exact.q) == pytest.approx(
        np.stack([np.sin(t) ** 2 / 2, t / 2 - np.sin(2 * t) / 4, t], axis=1), abs=1e-14
    )
    assert np.asarray(exact.v) == pytest.approx(
        np.stack([np.sin(t) * np.cos(t), np.sin(t) ** 2, np.ones_like(t)], axis=1), abs=1e-14
    )
    assert np.asarray(exact.psi)[:, 0] == pytest.approx(-2 * np.sin(t), abs=1e-14)


def test_particle_oscillates_in_y():
    """y does not know of the constraint: y'' = -2 y."""
    start = NonholonomicParticle().start()
    t = np.linspace(0.0, 5.0, 11)
    found = reference_solution(NonholonomicParticle(), start.q0, start.v0, (0.0, 5.0), times=t)
    assert np.asarray(found.q)[:, 1] == pytest.approx(np.sin(np.sqrt(2) * t) / np.sqrt(2), abs=1e-11)


def test_sleigh_with_a_path_in_elementary_functions():
    """For I = 3 m a^2 the angle is 2 gd(s), and both quadratures can be done: from s = 0, theta = 0,

    x = (tanh^2 s - log cosh s) c / rate,    y = (gd s - tanh s / cosh s) c / rate
    """
    system = ChaplyginSleigh(mass=2.0, distance=0.5, inertia=1.5)
    t = np.linspace(0.0, 6.0, 13)
    c = np.sqrt((1.5 + 0.5) / 2.0) * 1.2
    rate = 2.0 * 0.5 * c / 2.0
    s = rate * t
    found = np.asarray(system.exact(t, np.zeros(3), np.array([0.0, 0.0, 1.2])).q)
    assert found[:, 0] == pytest.approx(c / rate * (np.tanh(s) ** 2 - np.log(np.cosh(s))), abs=1e-13)
    assert found[:, 1] == pytest.approx(c / rate * (np.arctan(np.sinh(s)) - np.tanh(s) / np.cosh(s)), abs=1e-13)


def test_sleigh_ends_with_the_mass_in_front():
    exact = ChaplyginSleigh().exact(np.array([0.0, 40.0]))
    assert np.asarray(exact.v)[-1, 2] == pytest.approx(0.0, abs=1e-6)
    heading = np.asarray(exact.q)[-1, 2]
    forward = np.asarray(exact.v)[-1, :2] @ [np.cos(heading), np.sin(heading)]
    assert forward > 1.0


def test_upright_disc_runs_in_a_circle():
    run = run_of(VerticalRollingDisc(radius=0.7), t_end=6.0)
    middle = np.array([0.0, 1.4])
    assert np.linalg.norm(run.q[:, :2] - middle, axis=1) == pytest.approx(1.4, abs=1e-12)


@pytest.mark.parametrize("parameters", [{}, {"mass": 0.3, "radius": 0.5, "inertia": 0.2, "turn": -3.0}])
def test_ball_on_the_turntable_runs_in_a_circle(parameters):
    system = BallOnTurntable(**parameters)
    run = run_of(system)
    assert largest(run.q[:, :2] - system.centre(run.t)) <= 1e-11
    for name, values in run.invariants.items():
        assert np.ptp(values) <= 1e-11, name
    assert np.ptp(run.energy) > 1e-2  # the table does work


def test_homogeneous_ball_turns_with_two_sevenths_of_the_table():
    period = 2 * np.pi / (2 / 7 * 2.0)
    system = BallOnTurntable()
    assert system.centre(period) == pytest.approx(np.asarray(system.start().q0[:2]), abs=1e-14)
    assert largest(system.centre(period / 2) - system.start().q0[:2]) > 1.0


# -- the disc that leans -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("lean", "precession"), [(1.2, 1.5), (0.6, -2.0), (2.2, 0.8)])
def test_disc_in_steady_motion_keeps_its_lean(lean, precession):
    """The condition of steady motion comes from the literature, not from the equations of this system."""
    system = RollingDisc(mass=1.3, radius=0.7, diameter_inertia=0.2, axis_inertia=0.37)
    lean = jnp.asarray(lean)
    axis = jnp.stack([0 * lean, -jnp.sin(lean), jnp.cos(lean)])
    along = system.steady_spin(lean, precession)
    w = precession * jnp.array([0.0, 0.0, 1.0]) + (along - precession * jnp.cos(lean)) * axis
    run = run_of(system, *system.rolling(lean, w), t_end=3.0)
    assert np.ptp(run.q[:, 2]) <= 1e-9
    assert largest(run.q[:, :2]) > 0.5
    assert np.ptp(run_of(RollingDisc(), t_end=3.0).q[:, 2]) > 1e-2


def test_upright_disc_that_leans_nowhere_rolls_straight():
    system = RollingDisc(radius=0.5)
    w = jnp.array([0.0, 3.0, 0.0])
    run = run_of(system, *system.rolling(jnp.asarray(jnp.pi / 2), w), t_end=2.0)
    assert run.q[:, 2] == pytest.approx(0.5, abs=1e-13)
    assert run.q[:, 0] == pytest.approx(0.5 * 3.0 * run.t, abs=1e-12)
    assert largest(run.q[:, 1]) <= 1e-12


def test_contact_point_of_the_disc_lies_on_the_plane_and_does_not_slip():
    system = RollingDisc()
    run = run_of(system, t_end=2.0)
    contact, centre, mark = np.moveaxis(np.asarray(jax.vmap(system.points)(run.t, run.q)), 1, 0)
    assert largest(contact[:, 2]) <= 1e-12
    assert np.linalg.norm(contact - centre, axis=1) == pytest.approx(1.0, abs=1e-12)
    assert np.linalg.norm(mark - centre, axis=1) == pytest.approx(1.0, abs=1e-12)
    w = jax.vmap(spatial_rate)(run.q[:, 3:], run.v[:, 3:])
    slip = run.v[:, :3] + np.cross(w, contact - centre)
    assert largest(slip) <= 1e-12  # the vertical part too, which no constraint names


# -- energy, and what the constraints mean -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "system",
    [NonholonomicParticle(), Skate(), MobileRobot(), ChaplyginSleigh(), VerticalRollingDisc(), AppellHamel(),
     RollingDisc(), McLachlanPerlmutterParticles()],
    ids=lambda system: type(system).__name__,
)  # fmt: skip
def test_energy_is_constant(system):
    """Ideal constraints that are homogeneous in the velocity do no work."""
    run = run_of(system, t_end=2.0)
    assert np.ptp(run.energy) <= 1e-10
    for values in run.invariants.values():
        assert np.ptp(values) <= 1e-11


def test_printed_starts_of_the_robot():
    assert np.asarray(MobileRobot(spin=0.0).start().v0).tolist() == [1.0, 0.0, 0.0, 1.0]
    robot = prepared(MobileRobot())
    start = robot.start()
    p0 = np.array([1.0, 0.0, 1.0, 3.0])
    assert float(mechanics_of(robot).energy(0.0, start.q0, start.v0, p0)) == pytest.approx(2.5, abs=1e-15)


def test_particles_start_with_one_energy():
    system = McLachlanPerlmutterParticles()
    for number in range(10):
        start = system.start_of(number, 9)
        energy = float(mechanics_of(system).energy(0.0, start.q0, start.v0, start.v0))
        assert energy == pytest.approx(3.06, abs=1e-14)
        assert float(system.nonholonomic(0.0, start.q0, start.v0)) == 0.0


def test_integrable_particles_stay_on_a_surface():
    """x' + sum z z' is the derivative of x + |z|^2 / 2; the constraint of McLachlan and Perlmutter is none."""
    drifts = []
    for integrable in (True, False):
        q = run_of(McLachlanPerlmutterParticles(integrable=integrable)).q
        surface = q[:, 0] + 0.5 * np.sum(q[:, 4:] ** 2, axis=1)
        drifts.append(np.ptp(surface))
    assert drifts[0] <= 1e-12
    assert drifts[1] > 0.1


@pytest.mark.parametrize("pairs", [1, 0, 2.0, True])
def test_particles_refuse_what_is_not_a_number_of_pairs(pairs):
    with pytest.raises(da.InputError, match="pairs as an integer >= 2, got"):
        McLachlanPerlmutterParticles(pairs=pairs)


@pytest.mark.parametrize(("number", "last"), [(-1, 9), (10, 9), (0, 0)])
def test_particles_refuse_a_start_outside_the_family(number, last):
    with pytest.raises(da.InputError, match="start_of expects"):
        McLachlanPerlmutterParticles().start_of(number, last)


def test_more_pairs():
    system = McLachlanPerlmutterParticles(pairs=5)
    start = system.start()
    assert start.q0.shape == (11,)
    assert np.asarray(system.points(0.0, start.q0)).shape == (5, 2)
    assert np.max(run_of(system, t_end=1.0).hidden) <= 1e-13


def test_appell_hamel_keeps_the_ratio_of_its_speeds():
    run = run_of(AppellHamel(ratio=0.7), t_end=3.0)
    assert -run.v[:, 2] == pytest.approx(0.7 * np.hypot(run.v[:, 0], run.v[:, 1]), abs=1e-13)
    assert AppellHamel().exact(1.0) is None


# -- quaternions and integrals -------------------------------------------------------------------------------------


def test_rates_of_a_quaternion():
    """A turn about a fixed axis: e = (cos(a/2), sin(a/2) n); body and space agree on the axis."""
    n, w = np.array([2.0, -1.0, 2.0]) / 3, 1.7

    def turned(t):
        return jnp.concatenate([jnp.cos(w * t / 2)[None], jnp.sin(w * t / 2) * n])

    t = jnp.asarray(0.6)
    e, rate = jax.jvp(turned, (t,), (jnp.ones_like(t),))
    assert np.asarray(spatial_rate(e, rate)) == pytest.approx(w * n, abs=1e-14)
    assert np.asarray(body_rate(e, rate)) == pytest.approx(w * n, abs=1e-14)
    assert np.asarray(quaternion_rate(e, w * n)) == pytest.approx(np.asarray(rate), abs=1e-14)


def test_third_axis_is_the_rotated_one():
    e = np.array([0.1, -0.5, 0.7, 0.2])
    e = jnp.asarray(e / np.linalg.norm(e))
    turned = product(product(e, jnp.array([0.0, 0.0, 0.0, 1.0])), e * jnp.array([1.0, -1.0, -1.0, -1.0]))
    assert np.asarray(turned) == pytest.approx([0.0, *np.asarray(third_axis(e))], abs=1e-15)


def test_integral_to_roundoff():
    def function(t):
        return np.stack([np.cos(5 * t), 1 / (1 + t**2)], axis=-1)

    t = np.array([0.0, 0.3, 4.0])
    assert integral(function, t, 2.0) == pytest.approx(np.stack([np.sin(5 * t) / 5, np.arctan(t)], axis=-1), abs=1e-14)


# -- pictures ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("system", "lengths"),
    [
        (Skate(), (0.2,)),
        (ChaplyginSleigh(distance=0.8), (0.2, 0.7)),
        (MobileRobot(), (0.2,)),
        (VerticalRollingDisc(radius=0.7), (0.7,)),
        (BallOnTurntable(radius=0.6), (0.6,)),
        (RollingDisc(radius=0.6), (0.6, 0.6)),
    ],
    ids=lambda x: type(x).__name__ if isinstance(x, da.System) else "",
)
def test_points_have_the_lengths_of_their_bars(system, lengths):
    points = np.asarray(system.points(0.0, system.start().q0))
    assert [np.linalg.norm(points[b] - points[a]) for a, b in system.bars] == pytest.approx(lengths, abs=1e-14)
