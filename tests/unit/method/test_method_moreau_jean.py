"""Moreau-Jean and Schatzman-Paoli: laws, balances, constraints, resting; three ways of solving one step."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from contact_cases import Ball, Block, Discs, PendulumAndWall, Stack

import dalembert as da
from dalembert.stepping.contact_run import ContactRun
from dalembert.stepping.drive import integrate


def exact_ball(t):
    """The bouncing ball from rest at 1 with gravity 2 and restitution 1/2 (at rest from t = 3 on)."""
    n = np.floor(1 - np.log2(np.maximum(3 - t, 1e-300)))
    n = np.where(t < 1, 0, n)
    tau = t - (3 - 2.0 ** (1 - n))
    return np.where(t < 1, 1 - t**2, np.where(t >= 3, 0.0, 2.0**-n * tau - tau**2))


@pytest.mark.parametrize(
    "method", [da.MoreauJean(), da.MoreauJean(theta=1.0), da.SchatzmanPaoli(), da.SchatzmanPaoli(1.0)]
)
def test_order_one_through_an_accumulation_of_impacts(method):
    steps = np.array([101, 211, 401, 809, 1601, 3203])
    errors = []
    for count in steps:
        run = da.simulate(Ball(), method, q0=[1.0], v0=[0.0], t=(0.0, 5.0), h=5 / count)
        errors.append(np.mean(np.abs(run.q[:, 0] - exact_ball(run.t))))
    assert -1.25 < np.polyfit(np.log(steps), np.log(errors), 1)[0] < -0.75


@pytest.mark.parametrize("seed", range(4))
def test_balances_of_rough_discs_in_free_flight(seed):
    """Momentum balance, the laws, and energy that never grows, to roundoff: without gravity all forces are impacts."""
    system, h = Discs(), 0.002
    q0, v0 = system.start(seed)
    run = da.simulate(system, da.MoreauJean(), q0=q0, v0=v0, t=(0.0, 1.0), h=h)
    gap, normal, tangential = run.gap, run.impulse[..., 0], run.impulse[..., 1]
    assert np.max(normal) > 0.1, "nothing hits anything"
    assert np.min(normal) >= -1e-15
    assert np.max(np.abs(tangential) - 0.3 * normal) <= 1e-13
    assert np.max(np.diff(run.energy)) <= 1e-13 * run.energy[0]
    assert np.min(gap) > -h * np.max(np.abs(run.v))
    middle = (run.q[1:] + run.q[:-1]) / 2
    directions = jax.vmap(lambda q: jnp.stack([jax.jacfwd(system.gap, 1)(0.0, q), system.tangent(0.0, q)], axis=1))
    push = jnp.einsum("tcdn,tcd->tn", directions(jnp.asarray(middle)), jnp.asarray(run.impulse[1:]))
    np.testing.assert_allclose(np.diff(run.p, axis=0), push, atol=1e-13)


@pytest.mark.parametrize("seed", range(3))
def test_position_correction_keeps_the_gaps(seed):
    system = Discs(gravity=9.81)
    q0, v0 = system.start(seed)
    run = da.simulate(system, da.MoreauJean(position_correction=True), q0=q0, v0=v0, t=(0.0, 1.0), h=0.002)
    assert np.max(run.impulse) > 0.1
    assert np.min(run.gap) > -1e-10


def test_three_ways_to_solve_a_step_agree(monkeypatch):
    system = Discs(count=2, gravity=9.81)
    q0, v0 = system.start(1)
    options = {"t": (0.0, 0.6), "h": 0.002}
    native = da.simulate(system, da.MoreauJean(), q0=q0, v0=v0, engine="native", **options)
    xla = da.simulate(system, da.MoreauJean(), q0=q0, v0=v0, engine="xla", **options)
    monkeypatch.setattr("dalembert.stepping.contact_run.MANY_IMPULSES", 1)
    solver = da.simulate(system, da.MoreauJean(), q0=q0, v0=v0, **options)
    assert np.max(native.impulse) > 0.1
    assert [run.stats["engine"] for run in (native, xla, solver)] == ["native", "xla", ContactRun.name]
    np.testing.assert_allclose(xla.q, native.q, atol=1e-10)
    np.testing.assert_allclose(solver.q, native.q, atol=1e-10)


@pytest.mark.parametrize(("friction", "slides"), [(0.5, False), (0.2, True)])
def test_a_block_on_an_incline_sticks_or_slides(friction, slides):
    block = Block(friction=friction)
    run = da.simulate(block, da.MoreauJean(), q0=[0.0, 0.0], v0=[0.0, 0.0], t=(0.0, 1.0), h=0.01)
    rate = -9.81 * (np.sin(0.3) - friction * np.cos(0.3)) if slides else 0.0
    np.testing.assert_allclose(run.v[:, 0], rate * run.t, atol=1e-12)
    np.testing.assert_allclose(run.q[:, 1], 0.0, atol=1e-14)
    free = da.simulate(block, da.MoreauJean(law=da.Frictionless()), q0=[0.0, 0.0], v0=[0.0, 0.0], t=(0.0, 1.0), h=0.01)
    np.testing.assert_allclose(free.v[-1, 0], -9.81 * np.sin(0.3), rtol=1e-12)


def test_boxes_on_each_other_rest():
    system = Stack()
    q0 = system.start()
    run = da.simulate(system, da.MoreauJean(), q0=q0, v0=0 * q0, t=(0.0, 5.0), h=0.01)
    assert np.max(np.abs(run.q - q0)) < 1e-12
    weights = 9.81 * 0.01 * np.array([3.0, 2.0, 1.0])
    np.testing.assert_allclose(run.impulse[-1, :, 0].reshape(3, 2).sum(axis=1), weights, rtol=1e-9)


@pytest.mark.long
def test_ten_boxes_rest_for_ten_thousand_steps():
    system = Stack(boxes=10)
    q0 = system.start()
    run = da.simulate(system, da.MoreauJean(), q0=q0, v0=0 * q0, t=(0.0, 100.0), h=0.01)
    assert np.max(np.abs(run.q - q0)) < 1e-6


def test_holonomic_constraints_hold_through_impacts():
    run = da.simulate(PendulumAndWall(), da.MoreauJean(), q0=[0.6, -0.8], v0=[0.0, 0.0], t=(0.0, 5.0), h=0.005)
    assert np.sum(run.impulse > 0) >= 3
    assert np.max(run.constraint) < 1e-13
    assert np.max(run.hidden) < 1e-12
    assert np.min(run.gap) > -0.02


class RollingInCorridor(da.System):
    """A knife edge between walls."""

    restitution: float = 0.5

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v

    def nonholonomic(self, t, q, v):
        return v[1] * jnp.cos(q[2]) - v[0] * jnp.sin(q[2])

    def gap(self, t, q):
        return jnp.array([1.0 - q[1], 1.0 + q[1]])


def test_nonholonomic_constraints_hold_through_impacts():
    start = [2 * np.cos(0.9), 2 * np.sin(0.9), 0.0]
    run = da.simulate(RollingInCorridor(), da.MoreauJean(), q0=[0.0, 0.0, 0.9], v0=start, t=(0.0, 3.0), h=0.005)
    assert np.sum(run.impulse > 0) >= 2
    assert np.max(run.hidden) < 1e-12
    assert np.max(np.diff(run.energy)) < 1e-12


def test_a_swinging_table_carries_the_ball():
    ball = Ball(amplitude=0.1, restitution=0.0)
    run = da.simulate(ball, da.MoreauJean(), q0=[0.0], v0=[0.1], t=(0.0, 6.0), h=0.002)
    np.testing.assert_allclose(run.q[:, 0], 0.1 * np.sin(run.t), atol=1e-3)


class PolarBall(da.System):
    """The ball of the plane in polar coordinates, whose mass matrix depends on the place."""

    restitution: float = 0.5

    def lagrangian(self, t, q, v):
        return 0.5 * (v[0] ** 2 + (q[0] * v[1]) ** 2) - 2.0 * q[0] * jnp.sin(q[1])

    def gap(self, t, q):
        return (q[0] * jnp.sin(q[1]))[None]


def test_a_mass_matrix_that_depends_on_the_place():
    errors = []
    for steps in (401, 1601):
        run = da.simulate(
            PolarBall(), da.MoreauJean(), q0=[np.sqrt(2), np.pi / 4], v0=[0.0, 0.0], t=(0.0, 2.0), h=2 / steps
        )
        errors.append(np.mean(np.abs(run.q[:, 0] * np.sin(run.q[:, 1]) - exact_ball(run.t))))
    assert errors[1] < 0.35 * errors[0] < 0.01


def test_a_hamiltonian_gives_the_motion_of_its_lagrangian():
    hamiltonian = da.system(hamiltonian=lambda t, q, p: 0.25 * p @ p + 4.0 * q[0], gap=lambda t, q: q, restitution=0.5)
    lagrangian = da.system(lambda t, q, v: v @ v - 4.0 * q[0], gap=lambda t, q: q, restitution=0.5)
    runs = [
        da.simulate(system, da.MoreauJean(), q0=[1.0], v0=[0.0], t=(0.0, 2.0), h=2 / 401)
        for system in (hamiltonian, lagrangian)
    ]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-13)


def test_a_batch_of_balls_agrees_with_single_ones():
    heights = np.linspace(0.5, 1.5, 64)[:, None]
    batch = da.simulate(Ball(), da.MoreauJean(), q0=heights, v0=0 * heights, t=(0.0, 3.0), h=0.003)
    one = da.simulate(Ball(), da.MoreauJean(), q0=heights[17], v0=[0.0], t=(0.0, 3.0), h=0.003)
    np.testing.assert_allclose(batch.q[17], one.q, atol=1e-13)
    assert batch.impulse.shape == (64, 1001, 1)


def test_gradients_and_batches_by_jax():
    def height(restitution, start):
        run = da.simulate(
            Ball(restitution=restitution), da.MoreauJean(), q0=start, v0=jnp.zeros(1), t=(0.0, 1.5), h=0.01
        )
        return run.q[-1, 0]

    slope = jax.jit(jax.grad(height))(0.5, jnp.ones(1))
    np.testing.assert_allclose(slope, (height(0.5 + 1e-6, [1.0]) - height(0.5 - 1e-6, [1.0])) / 2e-6, rtol=1e-8)
    starts = jnp.linspace(0.5, 1.5, 40)[:, None]
    batch = jax.jit(jax.vmap(lambda start: height(0.5, start)))(starts)
    np.testing.assert_allclose(batch[7], height(0.5, np.asarray(starts[7])), atol=1e-12)


def test_a_run_with_impulses_survives_a_file(tmp_path):
    system = Discs(gravity=9.81)
    q0, v0 = system.start(2)
    run = da.simulate(system, da.MoreauJean(), q0=q0, v0=v0, t=(0.0, 0.1), h=0.002)
    loaded = da.load(run.save(tmp_path / "discs.nc"))
    np.testing.assert_array_equal(loaded.impulse, run.impulse)


def test_a_step_that_the_laws_do_not_admit_is_a_failure(monkeypatch):
    """No impulse can satisfy the law where its solvers are forbidden to converge; nothing is passed off as solved."""
    monkeypatch.setattr("dalembert.stepping.contact_run.MANY_IMPULSES", 1)
    monkeypatch.setattr("dalembert.stepping.contact_step.COMPLEMENTARITY", -1.0)
    with pytest.raises(da.StepFailure, match="did not converge"):
        integrate_ball()


def integrate_ball():
    run = integrate(Ball(), da.MoreauJean(), [1.0], [0.0], t=(0.0, 2.0), h=0.01)
    if not run.status:
        raise da.StepFailure(str(run.status))


@pytest.mark.long
def test_derivatives_by_friction():
    """Of a block that slides up an incline, turns round and slides down again; and its sensitivity beside it."""
    block, arguments = da.gallery.SlidingBlock(), {"q0": [0.0, 0.0], "v0": [-1.0, 0.0], "t": (0.0, 0.5), "h": 0.01}

    def place(friction):
        return da.simulate(da.gallery.SlidingBlock(friction=friction), da.MoreauJean(), **arguments).q[-1, 0]

    quotient = (place(0.3 + 1e-5) - place(0.3 - 1e-5)) / 2e-5
    assert float(jax.grad(place)(0.3)) == pytest.approx(quotient, rel=1e-7)
    found = da.sensitivity(block, da.MoreauJean(), **arguments, wrt="friction")
    assert found.q[-1, 0, 0] == pytest.approx(quotient, rel=1e-7)
