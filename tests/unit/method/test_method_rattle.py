"""RATTLE and SHAKE against the classical schemes written out by hand, and what a method is made of."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq

import dalembert as da
from dalembert.formulation import mechanics_of
from dalembert.gallery import DrivenPendulum, Pendulum, PolarPendulum
from dalembert.method import CATALOGUE, method_named
from dalembert.problem import State, prepared

GRAVITY = np.array([0.0, -9.81])


def classical_rattle(q, v, h: float, steps: int):
    """Unit mass on the unit circle: a quadratic for lam_0, then the tangential part of the velocity."""
    rows = [(q, v)]
    for _ in range(steps):
        free = q + h * v + h**2 / 2 * GRAVITY
        # |free - a q|^2 = 1 with a = h^2/2 lam_0
        b, c = free @ q, free @ free - 1
        a = b - np.sqrt(b**2 - c)
        new = free - a * q
        half = (new - q) / h
        end = half + h / 2 * GRAVITY
        q, v = new, end - (end @ new) * new
        rows.append((q, v))
    return np.array(rows)


def classical_shake_positions(q, v, h: float, steps: int):
    """q_(k+1) - 2 q_k + q_(k-1) = h^2 (f(q_k) - q_k lam_k), with g(q_(k+1)) = 0."""
    rows = [q, classical_rattle(q, v, h, 1)[1, 0]]
    for _ in range(steps - 1):
        free = 2 * rows[-1] - rows[-2] + h**2 * GRAVITY
        b, c = free @ rows[-1], free @ free - 1
        rows.append(free - (b - np.sqrt(b**2 - c)) * rows[-1])
    return np.array(rows)


@pytest.fixture(scope="module")
def start():
    q0, v0, *_ = Pendulum().start()
    return np.asarray(q0), np.asarray(v0)


def test_rattle_is_the_classical_scheme(start):
    run = da.simulate(Pendulum(), da.Rattle(), *start, t=(0.0, 1.0), h=0.02)
    wanted = classical_rattle(*start, 0.02, 50)
    assert np.max(np.abs(run.q - wanted[:, 0])) <= 1e-12
    assert np.max(np.abs(run.v - wanted[:, 1])) <= 1e-11


def test_shake_is_the_classical_scheme(start):
    h = 0.02
    run = da.simulate(Pendulum(), da.Shake(), *start, t=(0.0, 1.0), h=h)
    q = classical_shake_positions(*start, h, 51)
    assert np.max(np.abs(run.q - q[:-1])) <= 1e-12
    central = (q[2:] - q[:-2]) / (2 * h)
    assert np.max(np.abs(run.v[1:] - central)) <= 1e-10
    lam = [((2 * b - a - c) / h**2 + GRAVITY) @ b for a, b, c in zip(q, q[1:], q[2:], strict=False)]
    assert np.max(np.abs(run.lam[1:, 0] - np.array(lam))) <= 1e-8


def test_rattle_in_the_angle_is_the_implicit_position_momentum_form():
    """One step with a mass matrix m(r) = diag(1, r^2), the equations of the docstring solved one by one.

    Without constraint, L = (r'^2 + r^2 phi'^2) / 2: p_phi is constant, p~_r = p_r + h/2 p_phi^2 / r0^3,
    r1 = r0 + h p~_r, phi1 = phi0 + h/2 p_phi (1/r0^2 + 1/r1^2), p_r1 = p~_r + h/2 p_phi^2 / r1^3.
    """
    free = da.system(lambda t, q, v: 0.5 * (v[0] ** 2 + (q[0] * v[1]) ** 2))
    h, (r0, phi0), (pr, pphi) = 0.1, (1.2, 0.3), (0.4, 0.9)
    half = pr + h / 2 * pphi**2 / r0**3
    r1 = r0 + h * half
    phi1 = phi0 + h / 2 * pphi * (1 / r0**2 + 1 / r1**2)
    run = da.simulate(free, da.Rattle(), [r0, phi0], p0=[pr, pphi], t=(0.0, h), h=h)
    assert run.q[-1] == pytest.approx([r1, phi1], abs=1e-14)
    assert run.p[-1] == pytest.approx([half + h / 2 * pphi**2 / r1**3, pphi], abs=1e-14)


def test_constrained_step_in_polar_coordinates():
    """The first multiplier from a scalar equation, found by bisection: g(q1(L0)) = 0."""
    system, h = PolarPendulum(), 0.05
    q0, v0, *_ = (np.asarray(x) for x in system.start())
    p0 = v0 * [1.0, q0[0] ** 2]
    normal = np.array([q0[0] - 1.5 * np.cos(q0[1]), 1.5 * q0[0] * np.sin(q0[1])])

    def new_position(L0):
        """p~ is explicit but for the velocity V0 = (p~_r, p~_phi / r0^2) in the force r0 V0_phi^2."""
        p_phi = p0[1] - h / 2 * 9.81 * q0[0] * np.cos(q0[1]) - normal[1] * L0 / h
        p_r = p0[0] + h / 2 * (p_phi**2 / q0[0] ** 3 - 9.81 * np.sin(q0[1])) - normal[0] * L0 / h
        r1 = q0[0] + h * p_r
        return np.array([r1, q0[1] + h / 2 * p_phi * (1 / q0[0] ** 2 + 1 / r1**2)])

    def defect(L0):
        r, phi = new_position(L0)
        return 0.5 * (r**2 - 3 * r * np.cos(phi) + 2.25 - 1)

    size = h**2 * 10
    L0 = brentq(defect, -size, size, xtol=1e-15)
    run = da.simulate(system, da.Rattle(), q0, v0, t=(0.0, h), h=h)
    assert run.q[-1] == pytest.approx(new_position(L0), abs=1e-12)


def step_of(method, system, q, v, h):
    mechanics = mechanics_of(prepared(system))
    state = State(jnp.asarray(q), jnp.asarray(v), jnp.asarray(v), jnp.zeros(1), jnp.zeros(0))
    return da.Step(mechanics, jnp.asarray(0.0), jnp.asarray(h), state)


@pytest.mark.parametrize("method", [da.Rattle(), da.Shake()], ids=["rattle", "shake"])
def test_residual_names_its_equations_and_matches_its_unknowns(method, start):
    step = step_of(method, DrivenPendulum(), *start, 0.1)
    x = method.guess(step)
    residual = method.residual(x, step)
    assert sum(np.size(part) for part in x) == sum(np.size(part) for part in residual.values())
    assert all(isinstance(name, str) and name for name in residual)
    end = method.finish(x, step)
    assert end.dq.shape == end.dp.shape == end.v.shape == (2,)
    assert end.lam.shape == (1,)


def test_multipliers_that_a_method_leaves_alone_are_kept(start):
    step = step_of(da.Rattle(), Pendulum(), *start, 0.1)
    end = step.end(dq=jnp.zeros(2), dp=jnp.zeros(2), v=step.start.v)
    assert end.lam is step.start.lam
    assert end.psi is step.start.psi
    assert float(step.t_end) == 0.1


@pytest.mark.parametrize("name", CATALOGUE)
def test_catalogue_entry_is_complete(name):
    entry = CATALOGUE[name]
    assert method_named(name.upper()) is entry.method
    assert entry.summary
    assert entry.reference
    assert entry.method.order == entry.method.claims.order >= 1
    assert set(entry.method.claims.constraints) <= {"position", "velocity"}
    assert eval(f"da.{entry.method.name}") == entry.method  # the name is what one types
    assert entry.method.multiplier in ("recomputed", "discrete")


def test_unknown_method_lists_the_known_ones():
    with pytest.raises(da.InputError, match=r"unknown method 'leapfrog'; expected one of: .*rattle.*shake"):
        method_named("leapfrog")


def test_claims_cannot_be_changed_afterwards():
    with pytest.raises(dataclasses.FrozenInstanceError):
        da.Rattle.claims.order = 4


def test_method_refuses_a_system_with_parts_it_does_not_treat():
    ball = da.system(lambda t, q, v: 0.5 * v @ v - q[0], gap=lambda t, q: q)
    with pytest.raises(da.MethodDoesNotFit, match="Rattle does not treat gap, which system defines"):
        da.simulate(ball, da.Rattle(), [1.0], [0.0])
