"""The Taylor method: its order, its projection, what it refuses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert.diagnostics import observed_order
from dalembert.engine.elimination.array_elimination import TooIrregular
from dalembert.engine.runners import translation


class Spring(da.System):
    """A mass on a nonlinear spring, free in the plane."""

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - jnp.cosh(jnp.sqrt(1 + q @ q)) + 0.1 * jnp.sin(t) * q[0]


class Relativistic(da.System):
    """The momentum is not linear in the velocity."""

    def lagrangian(self, t, q, v):
        return -jnp.sqrt(1 - v @ v) - 0.5 * q @ q


@pytest.mark.parametrize("degree", [1, 2, 3, 7])
def test_order_is_the_degree(degree):
    system = da.gallery.SphericalPendulum()
    start = system.start()
    steps = {1: (400, 800, 1600), 2: (100, 200, 400), 3: (40, 60, 90), 7: (34, 44, 57)}[degree]
    hs = [1 / n for n in steps]
    found = observed_order(system, da.Taylor(degree), start.q0, start.v0, t=(0.0, 1.0), hs=hs)
    assert found.slope == pytest.approx(degree, abs=0.2)


def test_high_degree_against_another_program():
    """Degree 20 is exact to roundoff: scipy at its smallest tolerance says the same."""
    system = Spring()

    def right_side(t, y):
        return [*y[2:], *np.asarray(jax.grad(lambda q: system.lagrangian(t, q, jnp.zeros(2)))(jnp.asarray(y[:2])))]

    reference = solve_ivp(
        right_side,
        (0.0, 2.0), [0.5, 0.2, 0.3, -0.4], method="DOP853", rtol=2.3e-14, atol=1e-14,
    )  # fmt: skip
    run = da.simulate(Spring(), da.Taylor(20), [0.5, 0.2], [0.3, -0.4], t=(0.0, 2.0), h=0.1)
    np.testing.assert_allclose(run.q[-1], reference.y[:2, -1], atol=1e-12)
    np.testing.assert_allclose(run.v[-1], reference.y[2:, -1], atol=1e-12)


def test_momentum_that_is_not_linear_in_the_velocity():
    run = da.simulate(Relativistic(), da.Taylor(10), [0.5, 0.0], [0.0, 0.6], t=(0.0, 5.0), h=0.05)
    other = da.simulate(Relativistic(), da.gauss_spark(4), [0.5, 0.0], [0.0, 0.6], t=(0.0, 5.0), h=0.025, save_every=2)
    np.testing.assert_allclose(run.q, other.q, atol=1e-11)
    np.testing.assert_allclose(run.p, other.p, atol=1e-11)


@pytest.mark.parametrize("name", ["pendulum", "four-bar", "bead-on-rotating-hoop", "ball-on-turntable"])
def test_constraints_hold_after_many_steps(name):
    """Also with a low degree, whose series leaves the constraints by far."""
    system = da.gallery.GALLERY[name]()
    start = system.start()
    run = da.simulate(system, da.Taylor(2), start.q0, start.v0, t=(0.0, 300 * start.h), h=start.h)
    size = max(1.0, np.max(np.abs(run.q)))
    assert np.max(run.constraint) <= 1e-13 * size**2
    assert np.max(run.hidden) <= 1e-12 * max(1.0, np.max(np.abs(run.v)))


def test_energy_to_roundoff_at_a_high_degree():
    system = da.gallery.Pendulum()
    run = da.simulate(system, da.Taylor(16), [1.0, 0.0], [0.0, 0.0], t=(0.0, 500.0), h=0.05, save_every=100)
    assert np.max(np.abs(run.energy - run.energy[0])) <= 1e-11


def test_multipliers_are_those_of_the_motion():
    system = da.gallery.DoublePendulum()
    start = system.start()
    run = da.simulate(system, da.Taylor(12), start.q0, start.v0, t=(0.0, 0.5), h=0.005)
    other = da.simulate(system, da.Galerkin(4), start.q0, start.v0, t=(0.0, 0.5), h=0.0025, save_every=2)
    np.testing.assert_allclose(run.lam, other.lam, rtol=1e-9, atol=1e-9)


def test_between_the_steps():
    system = da.gallery.Pendulum()
    coarse = da.simulate(system, da.Taylor(8), [1.0, 0.0], [0.0, 0.0], t=(0.0, 0.5), h=0.05)
    fine = da.simulate(system, da.Taylor(8), [1.0, 0.0], [0.0, 0.0], t=(0.0, 0.5), h=0.01)
    inside = coarse.interpolate(fine.t)
    np.testing.assert_allclose(inside.q, fine.q, atol=1e-8)
    np.testing.assert_allclose(inside.v, fine.v, atol=1e-7)


@pytest.mark.usefixtures("quick_xla")
def test_both_engines_agree():
    system = da.gallery.Pendulum()
    runs = [
        da.simulate(system, da.Taylor(4), [1.0, 0.0], [0.0, 0.5], t=(0.0, 0.5), h=0.05, engine=engine)
        for engine in ("native", "xla")
    ]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-14)
    np.testing.assert_allclose(runs[0].lam, runs[1].lam, atol=1e-12)


@pytest.mark.long
@pytest.mark.usefixtures("quick_xla")
def test_gradient_through_a_run():
    system = da.gallery.Pendulum()

    def end(speed):
        run = da.simulate(system, da.Taylor(3), jnp.array([0.0, -1.0]), jnp.array([speed, 0.0]), t=(0.0, 0.2), h=0.1)
        return run.q[-1, 0]

    difference = (end(1.0 + 1e-6) - end(1.0 - 1e-6)) / 2e-6
    assert float(jax.grad(end)(1.0)) == pytest.approx(float(difference), rel=1e-7)


def test_members_of_an_ensemble_are_single_runs():
    system = da.gallery.Pendulum()
    angles = np.linspace(0.1, 2.0, 9)
    q0 = np.stack([np.sin(angles), -np.cos(angles)], axis=1)
    together = da.simulate(system, da.Taylor(8), q0, np.zeros_like(q0), t=(0.0, 1.0), h=0.1)
    for member in (0, 8):
        alone = da.simulate(system, da.Taylor(8), q0[member], np.zeros(2), t=(0.0, 1.0), h=0.1)
        np.testing.assert_array_equal(together.q[member], alone.q)


def test_steps_too_large_fail_soon():
    """Nothing is tried that cannot help: the end of a step is known but for the projection."""
    system = da.gallery.Pendulum()
    run = da.simulate(system, da.Taylor(14), [1.0, 0.0], [0.0, 0.0], t=(0.0, 100.0), h=5.0, on_failure="return")
    assert "h is too large" in str(run.status)
    assert "rescued_steps" not in run.stats


@pytest.mark.parametrize("degree", [0, 31, -2, 2.5, True, "high", None])
def test_degrees_that_are_none(degree):
    with pytest.raises(da.InputError, match=r"da\.Taylor expects a degree from 1 to 30, got"):
        da.Taylor(degree)


def test_a_system_without_series_is_refused():
    class Product(da.System):
        def lagrangian(self, t, q, v):
            return 0.5 * v @ v - jnp.prod(jnp.cos(q))

    class Maximum(da.System):
        def lagrangian(self, t, q, v):
            return 0.5 * v @ v - jnp.max(q**2)

    da.simulate(Product(), da.Rattle(), [0.1, 0.2], [0.0, 0.0], t=(0.0, 0.1), h=0.01)
    with pytest.raises(da.MethodDoesNotFit, match="no Taylor series is known for the operation"):
        da.simulate(Maximum(), da.Taylor(4), [0.1, 0.2], [0.0, 0.0], t=(0.0, 0.1), h=0.01)


def test_contacts_are_refused():
    ball = da.gallery.BouncingBall()
    start = ball.start()
    with pytest.raises(da.MethodDoesNotFit, match="Taylor does not treat gap"):
        da.simulate(ball, da.Taylor(4), start.q0, start.v0, t=(0.0, 0.1), h=0.01)


def test_what_cannot_be_compiled_is_refused(monkeypatch):
    """A large system whose equations do not fall into loops; others run on the sparse engine then."""

    def irregular(*arguments, **more):
        raise TooIrregular

    monkeypatch.setattr(translation, "build_array_step", irregular)
    chain = da.gallery.Chain(links=35)
    start = chain.start()
    with pytest.raises(da.MethodDoesNotFit, match="this method has to be compiled, and this system cannot be"):
        da.simulate(chain, da.Taylor(3), start.q0, start.v0, t=(0.0, 0.01), h=0.001)
