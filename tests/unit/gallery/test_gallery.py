"""Every system of the gallery: names, starting values, exact motions, parameters."""

import re

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.diagnostics import reference_solution
from dalembert.gallery import (
    GALLERY,
    AppellHamel,
    BeadOnMovingWire,
    BeadOnRotatingHoop,
    Chain,
    ChaplyginSleigh,
    DoublePendulum,
    FourBar,
    HarmonicOscillator,
    Kepler,
    MobileRobot,
    Pendulum,
    PolarPendulum,
    Ready,
    Skate,
    SliderCrank,
    Start,
    VerticalRollingDisc,
    system_named,
)
from dalembert.problem import prepared, split_parameters

NAMES = pytest.mark.parametrize("name", GALLERY)


def kebab(name: str) -> str:
    """Words begin with a capital, but the Mc of a name is none."""
    return re.sub(r"(?<!^)(?<!Mc)(?=[A-Z])", "-", name).lower()


@NAMES
def test_is_found_by_the_kebab_case_of_its_class(name):
    assert kebab(GALLERY[name].__name__) == name
    assert system_named(name.upper()) is GALLERY[name]


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(da.InputError, match=r"unknown system 'triple-pendulum'; expected one of: appell-.*pendulum"):
        system_named("triple-pendulum")


@NAMES
def test_start_is_consistent(name):
    system = GALLERY[name]()
    start = system.start()
    assert isinstance(start, Start)
    found = da.consistent(system, start.q0, start.v0)
    assert found.moved_q <= 1e-12
    assert found.moved_v <= 1e-12
    assert start.q0.dtype == start.v0.dtype == jnp.float64
    assert round(start.t_end / start.h) * start.h == pytest.approx(start.t_end, rel=1e-12)


@NAMES
def test_start_is_consistent_for_other_parameters(name):
    """All float parameters up by a tenth, as a designer would vary them."""
    system = jax.tree.map(lambda x: 1.1 * x, GALLERY[name]())
    start = system.start()
    found = da.consistent(system, start.q0, start.v0)
    assert found.moved_q <= 1e-12
    assert found.moved_v <= 1e-12


@NAMES
def test_start_can_be_differentiated_by_the_parameters(name):
    parameters, structure = split_parameters(prepared(GALLERY[name]()))

    @jax.jit
    def rate(parameters):
        def start(parameters):
            return eqx.combine(parameters, structure).start()[:2]

        return jax.jvp(start, (parameters,), (parameters,))[1]

    assert all(np.all(np.isfinite(part)) for part in rate(parameters))


@NAMES
def test_says_its_equations(name):
    assert "=" in GALLERY[name].__doc__
    assert issubclass(GALLERY[name], Ready)


def on_circle(angle, rate, length=1.0):
    return (
        length * np.array([np.sin(angle), -np.cos(angle)]),
        length * rate * np.array([np.cos(angle), np.sin(angle)]),
    )


def along_edge(angle, speed, rate):
    return np.array([speed * np.cos(angle), speed * np.sin(angle), rate])


MOTIONS = {
    "oscillation": (Pendulum(), *on_circle(1.0, 1.0)),
    "oscillation of another size": (Pendulum(2.0, 3.0, 1.5), *on_circle(-2.5, 0.7, 2.0)),
    "from rest": (Pendulum(), *on_circle(2.0, 0.0)),
    "at rest": (Pendulum(), *on_circle(0.0, 0.0)),
    "rotation": (Pendulum(), *on_circle(0.5, 7.0)),
    "rotation backwards": (Pendulum(0.5, 9.81, 2.0), *on_circle(3.0, -9.5, 0.5)),
    "from the top": (Pendulum(), *on_circle(np.pi, 1.0)),
    "polar": (PolarPendulum(), None, None),
    "polar of another size": (PolarPendulum(0.8, 5.0, 2.0, 1.1), None, None),
    "wire": (BeadOnMovingWire(), None, None),
    "wire, thrown out": (BeadOnMovingWire(1.5, 4.0, 2.0), np.array([-0.4, 0.0]), np.array([2.0, -0.6])),
    "hoop": (BeadOnRotatingHoop(), None, None),
    "hoop, bead going round": (
        BeadOnRotatingHoop(0.7, 1.5, 2.0),
        np.array([0.7, 0.7]),
        np.array([-3.5, 1.05]),
    ),
    "oscillator": (HarmonicOscillator(2.0, 5.0), None, None),
    "ellipse": (Kepler(), None, None),
    "ellipse, clockwise": (Kepler(2.0, 3.0), np.array([0.3, -1.1]), np.array([-1.0, -0.4])),
    "skate": (Skate(), None, None),
    "skate, askew": (Skate(2.0, 0.7, 9.81, 0.4), np.array([0.3, -0.2, 0.8]), along_edge(0.8, 0.9, -1.3)),
    "skate, straight": (Skate(2.0, 0.7, 9.81, 0.4), np.array([0.3, -0.2, 0.8]), along_edge(0.8, 0.9, 0.0)),
    "sleigh": (ChaplyginSleigh(), None, None),
    "sleigh, turning back": (
        ChaplyginSleigh(2.0, 0.3, 0.5),
        np.array([1.0, 2.0, -0.7]),
        along_edge(-0.7, 0.8, -2.5),
    ),
    "sleigh, straight": (ChaplyginSleigh(), np.array([1.0, 2.0, -0.7]), along_edge(-0.7, -0.8, 0.0)),
    "upright disc": (VerticalRollingDisc(), None, None),
    "upright disc, straight": (
        VerticalRollingDisc(0.5, 2.0, 0.3, 0.1),
        np.array([0.1, 0.2, 0.3, 0.4]),
        np.array([np.cos(0.4), np.sin(0.4), 2.0, 0.0]),
    ),
    "robot": (MobileRobot(), None, None),
    "robot with fixed heading": (MobileRobot(spin=0.0), None, None),
    "robot, wheels going round": (
        MobileRobot(2.0, 0.5, 0.2, 0.6, 3.0),
        np.array([1.0, -1.0, 0.5, 1.3]),
        np.array([3.6 * np.cos(0.5), 3.6 * np.sin(0.5), -0.8, 6.0]),
    ),
    "Appell's machine": (AppellHamel(stiffness=0.0), None, None),
    "Appell's machine, climbing": (
        AppellHamel(1.5, 0.0, 2.0, 3.0),
        np.array([0.1, 0.2, 0.3]),
        np.array([1.8, -2.4, 4.5]),
    ),
}


@pytest.mark.parametrize("motion", MOTIONS.values(), ids=list(MOTIONS))
def test_exact_motion_solves_the_equations(motion):
    """Against the underlying ordinary differential equation at a tolerance of 1e-13."""
    system, q0, v0 = motion
    q0, v0 = system.start()[:2] if q0 is None else (q0, v0)
    times = np.linspace(0.0, 2.0, 9)
    exact = system.exact(times, q0, v0)
    reference = reference_solution(system, q0, v0, (0.0, 2.0), times=times)
    for name in ("q", "v", "p", "lam", "psi"):
        found, wanted = np.asarray(getattr(exact, name)), np.asarray(getattr(reference, name))
        assert found.shape == wanted.shape, name
        assert np.max(np.abs(found - wanted), initial=0.0) <= 1e-10 * max(1.0, np.max(np.abs(wanted), initial=0.0)), (
            name
        )


def test_exact_motion_of_the_default_start_and_one_time():
    state = Pendulum().exact(1.0)
    assert np.asarray(state.q) == pytest.approx([-0.78141010034530201, -0.62401783234002617], abs=1e-13)
    assert np.asarray(state.p) == pytest.approx([-1.0143886608824411, 1.2702418171559067], abs=1e-13)
    assert np.asarray(state.lam) == pytest.approx([8.7641135646340693], abs=1e-12)


def test_exact_separatrix_of_the_pendulum():
    """theta(t) = 4 atan(tanh(...)): sin(theta/2) = tanh(omega t), from the bottom with theta' = 2 omega."""
    omega = np.sqrt(9.81)
    times = np.linspace(0.0, 0.5, 6)
    found = np.asarray(Pendulum().exact(times, *on_circle(0.0, 2 * omega)).q)
    half = np.tanh(omega * times)
    assert found[:, 1] == pytest.approx(2 * half**2 - 1, abs=1e-12)


def test_kepler_refuses_an_open_orbit():
    with pytest.raises(da.InputError, match="expects an elliptic orbit"):
        Kepler().exact(1.0, np.array([1.0, 0.0]), np.array([0.0, 2.0]))


@NAMES
def test_exact_is_none_or_covers_the_default_start(name):
    system = GALLERY[name]()
    found, start = system.exact(np.array([0.0])), system.start()
    if found is not None:
        assert np.asarray(found.q)[0] == pytest.approx(np.asarray(start.q0), abs=1e-14)
        assert np.asarray(found.v)[0] == pytest.approx(np.asarray(start.v0), abs=1e-13)


def test_four_bar_is_a_grashof_crank_rocker():
    system = FourBar()
    lengths = sorted([system.crank, system.coupler, system.rocker, system.ground])
    assert lengths[0] == system.crank
    assert lengths[0] + lengths[3] < lengths[1] + lengths[2]


@pytest.mark.parametrize("angle", np.linspace(0.0, 2 * np.pi, 7))
def test_four_bar_closes_at_every_crank_angle(angle):
    system = FourBar()
    q = jnp.concatenate(system.configuration(angle))
    assert np.max(np.abs(system.holonomic(0.0, q))) <= 1e-14
    assert float(q[3]) > 0


@pytest.mark.parametrize("links", [1, 2, 7])
def test_chain_has_as_many_constraints_as_links(links):
    start = Chain(links=links).start()
    assert start.q0.shape == (3 * links,)
    assert Chain(links=links).holonomic(0.0, start.q0).shape == (links,)


@pytest.mark.parametrize("links", [0, -1, 2.0, True])
def test_chain_refuses_what_is_not_a_number_of_links(links):
    with pytest.raises(da.InputError, match="links as a positive integer, got"):
        Chain(links=links)


def test_chain_of_two_links_is_the_double_pendulum():
    q = jnp.array([0.3, -0.2, 0.5, 1.1, 0.4, -0.7])
    v = jnp.array([1.0, -0.5, 0.2, 0.1, 0.9, -1.3])
    chain, double = Chain(links=2, length=0.7, mass=1.3), DoublePendulum(0.7, 0.7, 1.3, 1.3)
    assert float(chain.lagrangian(0.0, q, v)) == pytest.approx(float(double.lagrangian(0.0, q, v)), rel=1e-14)
    assert np.asarray(chain.holonomic(0.0, q)) == pytest.approx(np.asarray(double.holonomic(0.0, q)), rel=1e-14)
    assert float(chain.invariants(0.0, q, v)["angular_momentum_z"]) == pytest.approx(
        float(double.invariants(0.0, q, v)["angular_momentum_z"]), rel=1e-14
    )


def test_points_of_the_mechanisms_have_the_lengths_of_their_bars():
    for system, lengths in [
        (FourBar(), (1.0, 3.0, 2.5)),
        (SliderCrank(), (1.0, 2.5)),
        (PolarPendulum(), (1.0,)),
        (BeadOnRotatingHoop(), (1.0, 1.0)),
    ]:
        points = np.asarray(system.points(0.0, system.start().q0))
        bars = system.bars if system.bars != "chain" else [(None, 0), (0, 1)]
        ends = [(np.zeros(2) if a is None else points[a], points[b]) for a, b in bars]
        assert [np.linalg.norm(b - a) for a, b in ends] == pytest.approx(lengths, abs=1e-14)
