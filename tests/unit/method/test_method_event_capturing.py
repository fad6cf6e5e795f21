"""Event capturing: orders through impacts, accumulations, lasting contact and release; several contacts; messages."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert.gallery.contacts import BallInBox, PendulumAndWall
from dalembert.gallery.impacts import BouncingBall, ImpactOscillator

QUICK = [da.radau_iia(2), da.lobatto_iiia(3), da.lobatto_iiia(4), da.half_explicit(3)]
#: Every tableau is compiled for itself, which takes most of the time.
OTHERS = [
    da.radau_iia(3),
    da.lobatto_iiia(2),
    da.gauss_legendre(2),
    da.gauss_legendre(3),
    *(da.half_explicit(p) for p in (2, 4, 5)),
]
#: The fewest steps over t = 5 with which a method of each order shows it on the oscillators.
STEPS = {2: (499, 797, 1277), 3: (101, 199, 397), 4: (101, 199, 317), 5: (101, 199, 317), 6: (83, 127, 199)}
ROUNDOFF = 2e-13


def error(system, method, steps, end=None):
    start = system.start()
    end = start.t_end if end is None else end
    run = da.simulate(system, method, start.q0, start.v0, t=(0.0, end), h=end / steps)
    return np.max(np.abs(run.q - np.asarray(system.exact(run.t).q))), run


def slope(steps, errors):
    kept = [(n, e) for n, e in zip(steps, errors, strict=True) if e > ROUNDOFF]
    assert len(kept) >= 3, errors
    return -np.polyfit(*np.log(np.array(kept)).T, 1)[0]


# -- one mass and one stop -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("tableau", QUICK + [pytest.param(other, marks=pytest.mark.long) for other in OTHERS], ids=repr)
def test_order_through_impacts_and_their_accumulation(tableau):
    for system in (ImpactOscillator(), ImpactOscillator(stop=0.2, restitution=0.5)):
        steps = STEPS[tableau.order] if tableau.name != "half_explicit(4)" else (397, 631, 1009)
        errors = [error(system, da.EventCapturing(tableau), n)[0] for n in steps]
        assert abs(slope(steps, errors) - tableau.order) <= 0.2, errors


def test_twelve_digits_on_the_oscillator():
    size, run = error(ImpactOscillator(), da.EventCapturing(da.lobatto_iiia(4)), 500)
    assert size <= 1e-12
    assert run.events.time[0] == pytest.approx(0.427539429210, abs=1e-12)
    assert list(run.events.kind) == ["impact"] * 5
    assert run.events.after[:, 0] == pytest.approx(-0.8 * run.events.before[:, 0], abs=1e-12)


def test_accumulation_ends_in_lasting_contact():
    system = ImpactOscillator(stop=0.2, restitution=0.5)
    size, run = error(system, da.EventCapturing(da.lobatto_iiia(4)), 500)
    assert size <= 1e-12
    closing = run.events.only("closing")
    assert closing.time == pytest.approx([1.673463584127120], abs=1e-6)
    later = run.t > 1.68
    assert np.all(run.gap[later] == 0)
    assert np.all(run.v[later] == 0)
    # the spring pushes with 20 * 0.2
    assert run.impulse[later, 0] == pytest.approx(4.0 * 0.01, abs=1e-12)


def test_ball_gains_an_order_because_free_flight_is_exact():
    steps = (41, 67, 101, 163)
    errors = [error(BouncingBall(), da.EventCapturing(da.half_explicit(3)), n, end=4.0)[0] for n in steps]
    assert slope(steps, errors) >= 3.5


def test_momentum_balance_of_the_ball():
    run = error(BouncingBall(), da.EventCapturing(da.half_explicit(3)), 101, end=4.0)[1]
    balance = np.diff(run.p[:, 0]) + 2.0 * np.diff(run.t) - run.impulse[1:, 0]
    assert np.max(np.abs(balance)) <= 1e-13


# -- curved contacts -----------------------------------------------------------------------------------------------


class Circle(da.System):
    """A particle inside (side = -1) or outside (side = 1) of the unit circle."""

    side: float = -1.0
    gravity: float = 9.81

    def lagrangian(self, t, q, v):
        return 0.5 * (v @ v) - self.gravity * q[1]

    def gap(self, t, q):
        return self.side * 0.5 * (q @ q - 1.0)


def angle_motion(times, angle, gravity):
    """theta of the pendulum; theta = 0 is below."""
    found = solve_ivp(
        lambda t, y: [y[1], -gravity * np.sin(y[0])], (0.0, times[-1]), [angle, 0.0], t_eval=times, rtol=1e-13,
        atol=1e-14, method="DOP853",
    )  # fmt: skip
    return np.stack([np.sin(found.y[0]), -np.cos(found.y[0])], axis=1)


def test_lasting_contact_on_a_circle_is_a_pendulum():
    errors, steps = [], (50, 100, 200)
    q0 = [np.sin(1.0), -np.cos(1.0)]
    for n in steps:
        run = da.simulate(Circle(), da.EventCapturing(da.half_explicit(4)), q0, [0.0, 0.0], t=(0.0, 3.0), h=3 / n)
        errors.append(np.max(np.abs(run.q - angle_motion(run.t, 1.0, 9.81))))
        assert np.max(np.abs(run.gap)) <= 4e-16
        assert len(run.events) == 0
    assert abs(slope(steps, errors) - 4) <= 0.2


def test_release_where_the_force_vanishes():
    """A particle sliding down a circle from the angle a at rest leaves where cos = 2/3 cos a."""
    errors, steps = [], (20, 40, 80)
    for n in steps:
        run = da.simulate(
            Circle(1.0, 1.0), da.EventCapturing(da.half_explicit(4)), [np.sin(0.1), np.cos(0.1)], [0.0, 0.0],
            t=(0.0, 4.0), h=4 / n,
        )  # fmt: skip
        assert list(run.events.kind) == ["opening"]
        k = int(np.searchsorted(run.t, run.events.time[0]))
        # parabola back from the first state after the release to the circle
        height = np.cos(0.1) * 2 / 3
        speed = np.sqrt(height)
        leave = np.array([np.sqrt(1 - height**2), height])
        flight = run.t[k] - run.events.time[0]
        landing = leave + speed * flight * np.array([height, -leave[0]]) - np.array([0.0, flight**2 / 2])
        errors.append(np.max(np.abs(landing - run.q[k])))
        assert np.all(run.gap[k:] > 0)
    assert slope(steps, errors) >= 3.8


def test_contact_that_opens_and_closes_within_a_step():
    """cos t grazes -0.999: below the stop for 0.09, within one step."""
    system = da.system(lambda t, q, v: 0.5 * (v @ v) - 0.5 * (q @ q), gap=lambda t, q: q + 0.999, restitution=1.0)
    for h, tolerance in ((0.25, 1e-3), (0.1, 1e-5), (0.05, 1e-7)):
        run = da.simulate(system, da.EventCapturing(da.half_explicit(5)), [1.0], [0.0], t=(0.0, 5.0), h=h)
        assert len(run.events) == 1
        assert run.events.time[0] == pytest.approx(np.arccos(-0.999), abs=tolerance)


# -- several contacts, constraints, Hamiltonians -------------------------------------------------------------------


def test_bilateral_constraint_and_impacts():
    steps, errors = (50, 100, 200), []
    for n in steps:
        size, run = error(PendulumAndWall(), da.EventCapturing(da.half_explicit(4)), n)
        errors.append(size)
        assert np.max(run.constraint) <= 1e-15
        assert np.max(run.hidden) <= 1e-15
    assert abs(slope(steps, errors) - 4) <= 0.2
    # the multiplier of the rod, m (|v|^2 - g y) / l^2
    expected = np.sum(run.v**2, axis=1) - 9.81 * run.q[:, 1]
    assert run.lam[:, 0] == pytest.approx(expected, abs=1e-9)


def test_ball_between_four_walls():
    size, run = error(BallInBox(), da.EventCapturing(da.half_explicit(2), constant=1e-6), 100)
    assert size <= 1e-9
    assert set(run.events.contact.tolist()) == {0, 1, 2, 3}
    assert np.min(run.gap) >= -1e-14


class HamiltonianBall(da.HamiltonianSystem):
    """Two balls over a floor, the upper one on the lower one; the second mass depends on nothing, the first on q."""

    restitution: float = 0.0

    def hamiltonian(self, t, q, p):
        return 0.5 * p[0] ** 2 + 0.25 * p[1] ** 2 + q[0] + 2.0 * q[1]

    def gap(self, t, q):
        return jnp.array([q[0], q[1] - q[0] - 1.0])


@pytest.mark.long
def test_hamiltonian_and_simultaneous_lasting_contacts():
    run = da.simulate(
        HamiltonianBall(), da.EventCapturing(da.radau_iia(2)), [0.5, 2.0], [0.0, 0.0], t=(0.0, 3.0), h=0.05
    )
    assert run.q[-1] == pytest.approx([0.0, 1.0], abs=1e-15)
    assert run.p[-1] == pytest.approx([0.0, 0.0], abs=1e-15)
    # weights 1 and 2: the floor carries both
    assert run.impulse[-1] == pytest.approx([3.0 * 0.05, 2.0 * 0.05], abs=1e-12)
    first = run.events[0]
    assert first.kind == "impact"
    assert first.contact == 0
    assert first.time == pytest.approx(1.0, abs=1e-5)


# -- the run -------------------------------------------------------------------------------------------------------


def test_events_are_as_narrow_in_milliseconds_as_in_seconds():
    """C h^{p+1} alone would be h / 16 where a step has 20 units of time."""

    def heights(length, time):
        ball = da.system(
            lambda t, q, v: 0.5 * (v @ v) - 9.81 * length / time**2 * q[0], gap=lambda t, q: q, restitution=0.7
        )
        method, end = da.EventCapturing(da.half_explicit(4)), 2.0 * time
        return da.simulate(ball, method, [length], [0.0], t=(0.0, end), h=0.02 * time).q / length

    for length, time in ((1e6, 1e3), (1e-6, 1e3), (1e9, 1e-3)):
        assert heights(length, time) == pytest.approx(heights(1.0, 1.0), abs=2e-6)


def test_events_are_a_readable_record(tmp_path):
    run = error(BouncingBall(), da.EventCapturing(da.half_explicit(3)), 101, end=4.0)[1]
    events = run.events
    assert "impact" in repr(events)
    assert f"Events({len(events)}: " in repr(events)
    assert events[0].kind == "impact"
    assert events[0].time == pytest.approx(1.0, abs=1e-6)
    assert [event.kind for event in events][-1] == "closing"
    loaded = da.load(run.save(tmp_path / "ball.nc"))
    assert np.array_equal(loaded.events.time, events.time)
    assert list(loaded.events.kind) == list(events.kind)


def test_every_second_state():
    start, method = BouncingBall().start(), da.EventCapturing(da.half_explicit(3))
    whole, half = (
        da.simulate(BouncingBall(), method, start.q0, start.v0, t=(0.0, 4.0), h=0.04, save_every=k) for k in (1, 2)
    )
    assert np.array_equal(whole.q[::2], half.q)
    assert np.array_equal(whole.t[::2], half.t)
    assert np.allclose(whole.impulse[1::2] + whole.impulse[2::2], half.impulse[1:], atol=1e-14)


def test_approach_at_the_start_is_an_impact_at_once():
    with pytest.warns(da.ContactWarning, match="treated as an impact"):
        run = da.simulate(BouncingBall(), da.EventCapturing(da.half_explicit(3)), [0.0], [-1.0], t=(0.0, 0.4), h=0.1)
    assert run.events[0].time == 0.0
    assert run.v[0] == pytest.approx([0.5])


def test_failure_keeps_the_run_up_to_it():
    pole = da.system(lambda t, q, v: 0.5 * (v @ v) + 3.0 * q[0], gap=lambda t, q: jnp.sqrt(1.0 - q))
    with pytest.raises(da.StepFailure, match=r"step \d+ \(from t = .*NaN or infinity") as caught:
        da.simulate(pole, da.EventCapturing(da.half_explicit(3)), [0.0], [1.0], t=(0.0, 2.0), h=0.05)
    assert len(caught.value.trajectory) > 2
    run = da.simulate(
        pole, da.EventCapturing(da.half_explicit(3)), [0.0], [1.0], t=(0.0, 2.0), h=0.05, on_failure="return"
    )
    assert not run.status


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"smooth": "radau"}, "smooth of EventCapturing must be da.radau_iia"),
        ({"smooth": da.Rattle()}, "smooth of EventCapturing must be da.radau_iia"),
        ({"constant": 0.0}, "constant of EventCapturing must be a positive number"),
        ({"constant": "1"}, "constant of EventCapturing must be a positive number"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(da.InputError, match=message):
        da.EventCapturing(**arguments)


def test_systems_that_do_not_fit():
    with pytest.raises(da.MethodDoesNotFit, match="no gap"):
        da.simulate(da.gallery.Pendulum(), da.EventCapturing(), [1.0, 0.0], [0.0, 0.0])
    rough = da.system(
        lambda t, q, v: 0.5 * (v @ v) - q[2], gap=lambda t, q: q[2:], friction=0.3,
        tangent=lambda t, q: jnp.eye(3)[None, :2],
    )  # fmt: skip
    with pytest.raises(da.MethodDoesNotFit, match="friction in space"):
        da.simulate(rough, da.EventCapturing(), [0.0, 0.0, 1.0], [0.0, 0.0, 0.0])
    with pytest.raises(da.InputError, match="event capturing runs in compiled code, without progress"):
        jax.grad(lambda h: da.simulate(BouncingBall(), da.EventCapturing(), [h], [0.0], progress=True).q[-1, 0])(1.0)
    with pytest.raises(da.InputError, match="one number as h"):
        da.simulate(BouncingBall(), da.EventCapturing(), [1.0], [0.0], h=[0.1, 0.2])
    with pytest.raises(da.InputError, match="records no events"):
        _ = da.simulate(BouncingBall(), da.MoreauJean(), [1.0], [0.0], t=(0.0, 0.1), h=0.05).events


def test_name_and_order():
    method = da.EventCapturing(da.lobatto_iiia(3), constant=0.5)
    assert method.name == "EventCapturing(lobatto_iiia(3), constant=0.5)"
    assert method.order == 4


@pytest.mark.long
@pytest.mark.parametrize(
    ("system", "q0", "v0"),
    [
        pytest.param(
            da.system(
                lambda t, q, v: 0.5 * (v @ v) - 9.81 * q[0], gap=lambda t, q: q - 0.1 * jnp.sin(12.0 * t),
                restitution=0.3,
            ),
            [0.3], [0.0], id="on a moving table, thrown off again and again",
        ),
        pytest.param(
            da.system(
                lambda t, q, v: 0.5 * (v[0] ** 2 + v[1] ** 2 + 0.5 * v[2] ** 2) - 2.0 * q[0],
                nonholonomic=lambda t, q, v: -jnp.sin(q[2]) * v[0] + jnp.cos(q[2]) * v[1],
                gap=lambda t, q: q[:1] + 0.5, restitution=0.6,
            ),
            [0.0, 0.0, 0.3], [np.cos(0.3), np.sin(0.3), 0.4], id="a skate against a wall",
        ),
        pytest.param(
            da.system(
                lambda t, q, v: 0.5 * (v[0] ** 2 + q[0] ** 2 * v[1] ** 2) - 2.0 * q[0], gap=lambda t, q: q[:1] - 0.5,
                restitution=0.8,
            ),
            [1.0, 0.0], [0.0, 0.6], id="polar coordinates",
        ),
    ],
)  # fmt: skip
def test_convergence_with_moving_contacts_nonholonomic_constraints_and_mass_matrices(system, q0, v0):
    method, runs = da.EventCapturing(da.half_explicit(4)), {}
    for steps in (100, 200, 1600):
        runs[steps] = da.simulate(system, method, q0, v0, t=(0.0, 2.0), h=2 / steps)
    errors = [np.max(np.abs(runs[n].q - runs[1600].q[:: 1600 // n])) for n in (100, 200)]
    assert errors[1] <= 2e-7
    assert np.log2(errors[0] / errors[1]) >= 2.9  # pairs are erratic where few events decide; fits over many are not
    assert np.max(runs[1600].hidden) <= 1e-15
    assert np.min(runs[1600].gap) >= -1e-13
    assert len(runs[1600].events) >= 1


def both_ways(system, method, q0, v0, **options):
    """A run of compiled steps, and one by XLA."""
    return [da.simulate(system, method, q0, v0, **options, engine=engine) for engine in ("auto", "xla")]


@pytest.mark.parametrize(
    "system",
    [ImpactOscillator(stop=0.2, restitution=0.5), pytest.param(PendulumAndWall(), marks=pytest.mark.long)],
    ids=["accumulation and lasting contact", "with a constraint"],
)
def test_compiled_steps_are_those_of_xla(system):
    start, method = system.start(), da.EventCapturing(da.lobatto_iiia(3))
    options = {"t": (0.0, start.t_end), "h": start.t_end / 700}
    compiled, single = both_ways(system, method, start.q0, start.v0, **options)
    assert compiled.stats["compiled_steps"] >= 600
    assert compiled.stats["engine"] == "native (events)"
    assert single.stats["compiled_steps"] == 0
    for name in ("q", "v", "p", "lam", "impulse"):
        assert getattr(compiled, name) == pytest.approx(getattr(single, name), abs=1e-11), name
    assert list(compiled.events.kind) == list(single.events.kind)
    assert compiled.events.time == pytest.approx(single.events.time, abs=1e-11)
    assert compiled.constraint == pytest.approx(0.0, abs=1e-15)


def test_states_between_are_left_out_of_compiled_steps_too():
    system, method = ImpactOscillator(stop=0.2, restitution=0.5), da.EventCapturing(da.lobatto_iiia(3))
    start, h = system.start(), 0.005
    whole, some = (da.simulate(system, method, start.q0, start.v0, t=(0.0, 700 * h), h=h, save_every=k) for k in (1, 7))
    assert np.array_equal(whole.q[::7], some.q)
    assert some.t == pytest.approx(whole.t[::7], rel=1e-15)
    assert some.impulse[1:, 0] == pytest.approx(np.sum(whole.impulse[1:, 0].reshape(-1, 7), axis=1), abs=1e-14)
    assert some.stats["newton_iterations"] == whole.stats["newton_iterations"] == np.sum(some.iterations)


def test_it_says_how_long_compiling_took():
    ball = da.system(
        lagrangian=lambda t, q, v: 0.5 * v @ v - 9.1234 * q[0], gap=lambda t, q: q
    )  # compiled nowhere else
    run = da.simulate(ball, da.EventCapturing(), [1.0], [0.0], t=(0.0, 0.02), h=0.01)
    assert run.stats["compile_seconds"] > 0
    assert run.stats["wall_seconds"] > 0
