"""Discrete Lagrangians: those of Galerkin methods as functions, and methods from those that a user writes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.gallery import (
    DoublePendulum,
    DrivenPendulum,
    HamiltonianSphericalPendulum,
    Pendulum,
    PolarPendulum,
    SphericalPendulum,
)


def midpoint(system, t, h, q0, q1):
    return h * system.lagrangian(t + h / 2, (q0 + q1) / 2, (q1 - q0) / h)


def midpoint_force(system, t, h, q0, q1):
    half = h / 2 * system.force(t + h / 2, (q0 + q1) / 2, (q1 - q0) / h)
    return half, half


def trapezoidal(system, t, h, q0, q1):
    v = (q1 - q0) / h
    return h / 2 * (system.lagrangian(t, q0, v) + system.lagrangian(t + h, q1, v))


def left(system, t, h, q0, q1):
    return h * system.lagrangian(t, q0, (q1 - q0) / h)


MIDPOINT = da.discrete_lagrangian(midpoint, order=2, symmetric=True)
TRAPEZOIDAL = da.discrete_lagrangian(trapezoidal, order=2, symmetric=True)


def run_of(system, method, span=1.0, h=0.02):
    q0, v0, *_ = (np.asarray(x) for x in system.start())
    return da.simulate(system, method, q0, v0, t=(0.0, span), h=h)


def difference(system, a, b):
    one, two = run_of(system, a), run_of(system, b)
    return max(np.max(np.abs(getattr(one, name) - getattr(two, name))) for name in ("q", "p", "v"))


# -- methods that a user writes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("system", [Pendulum(), DoublePendulum(), PolarPendulum()], ids=lambda s: type(s).__name__)
def test_midpoint_and_trapezoidal_rule_are_galerkin_methods(system):
    assert difference(system, MIDPOINT, da.Galerkin(1)) < 1e-12
    assert difference(system, TRAPEZOIDAL, da.Galerkin(1, quadrature="lobatto")) < 1e-12


@pytest.mark.parametrize("system", [Pendulum(), DoublePendulum(), DrivenPendulum()], ids=lambda s: type(s).__name__)
def test_trapezoidal_rule_is_rattle_where_the_mass_is_constant(system):
    assert difference(system, TRAPEZOIDAL, da.Rattle()) < 1e-12


def test_discrete_forces_of_the_user():
    with_force = da.discrete_lagrangian(midpoint, order=2, symmetric=True, force=midpoint_force)
    assert difference(DrivenPendulum(), with_force, da.Galerkin(1)) < 1e-12


def test_it_runs_on_the_native_engine():
    assert run_of(Pendulum(), MIDPOINT).stats["engine"] == "native"


@pytest.mark.parametrize(("method", "order"), [(MIDPOINT, 2), (da.discrete_lagrangian(left, order=1), 1)])
def test_order_is_the_stated_one(method, order):
    system = Pendulum()
    exact = system.exact(1.0).q
    errors = [np.max(np.abs(run_of(system, method, h=h).q[-1] - exact)) for h in (0.02, 0.01)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.2)
    assert method.order == order


def test_adjoint_undoes_the_step():
    method, system, h = da.discrete_lagrangian(left, order=1), PolarPendulum(), 0.01
    run = run_of(system, method, h, h)
    back = da.simulate(system, method.adjoint(), run.q[-1], p0=-run.p[-1], t=(0.0, h), h=h)
    assert np.max(np.abs(back.q[-1] - run.q[0])) < 1e-13
    assert np.max(np.abs(back.p[-1] + run.p[0])) < 1e-12
    assert method.adjoint().adjoint() == method
    composed = da.Composition(method, "adjoint")
    assert composed.claims.order == 2
    errors = [np.max(np.abs(run_of(system, composed, h=h).q[-1] - system.exact(1.0).q)) for h in (0.02, 0.01)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.2)


def skewed(system, t, h, q0, q1):
    """Not symmetric in time, of order 1, but invariant under rotations about the vertical axis."""
    v = (q1 - q0) / h
    return h * system.lagrangian(t, 0.8 * q0 + 0.2 * q1, v)


def test_discrete_noether_theorem():
    """L_d(R q0, R q1) = L_d(q0, q1) for rotations R about the vertical, so p . (e_z x q) is conserved; one that is not
    invariant conserves nothing."""
    system = SphericalPendulum()
    run = run_of(system, da.discrete_lagrangian(skewed, order=1))
    momentum = run.q[:, 0] * run.p[:, 1] - run.q[:, 1] * run.p[:, 0]
    assert np.max(np.abs(momentum - momentum[0])) < 1e-13

    def broken(system, t, h, q0, q1):
        return skewed(system, t, h, q0, q1) + 0.1 * h**2 * q0[0]

    run = run_of(system, da.discrete_lagrangian(broken, order=1))
    momentum = run.q[:, 0] * run.p[:, 1] - run.q[:, 1] * run.p[:, 0]
    assert np.max(np.abs(momentum - momentum[0])) > 1e-4


def test_a_step_is_symplectic():
    """Any L_d whatever: the Jacobian D of (q0, p0) -> (q1, p1) satisfies D^T J D = J."""
    system = da.system(lambda t, q, v: 0.5 * (1 + q[0] ** 2) * v @ v - jnp.cos(q[0] + 2 * q[1]))
    method = da.discrete_lagrangian(skewed, order=1)

    def step(z):
        run = da.simulate(system, method, z[:2], p0=z[2:], t=(0.0, 0.1), h=0.1)
        return jnp.concatenate([run.q[-1], run.p[-1]])

    D = np.asarray(jax.jit(jax.jacfwd(step))(jnp.array([0.3, -0.2, 0.5, 0.4])))
    J = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.eye(2), np.zeros((2, 2))]])
    assert np.max(np.abs(D.T @ J @ D - J)) < 1e-12


def test_claims_and_name():
    assert repr(MIDPOINT) == "discrete_lagrangian(midpoint, order=2)"
    assert MIDPOINT.claims.symmetric
    assert MIDPOINT.claims.symplectic
    assert MIDPOINT.adjoint() is MIDPOINT


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"function": 3}, r"expects a function L_d\(system, t, h, q0, q1\), got 3"),
        ({"order": 0}, "order must be a positive integer, got 0"),
        ({"symmetric": "yes"}, "symmetric must be True or False, got 'yes'"),
        ({"force": 1.0}, r"expects force=f_d\(system, t, h, q0, q1\) -> \(f-, f\+\), got 1.0"),
    ],
)
def test_wrong_arguments(arguments, message):
    given = {"function": midpoint, "order": 2} | arguments
    with pytest.raises(da.InputError, match=message):
        da.discrete_lagrangian(given.pop("function"), **given)


def test_wrong_shapes_are_refused():
    with pytest.raises(da.InputError, match=r"must return a scalar, got shape \(2,\)"):
        run_of(Pendulum(), da.discrete_lagrangian(lambda s, t, h, q0, q1: q1 - q0, order=1))
    wrong = da.discrete_lagrangian(midpoint, order=2, force=lambda s, t, h, q0, q1: q0)
    with pytest.raises(da.InputError, match=r"must return two arrays of the shape of q"):
        run_of(DrivenPendulum(), wrong)


# -- of Galerkin methods -----------------------------------------------------------------------------------------


def test_value_is_the_quadrature_of_the_lagrangian():
    """A quadratic path of a free particle in a linear field: the Gauss rule is exact."""
    system, h = da.system(lambda t, q, v: 0.5 * v @ v - 2.0 * q[0]), 0.5
    action = da.Galerkin(2).discrete_lagrangian(system, h)
    path = np.array([[1 + 3 * t + 4 * t**2] for t in (0.0, h / 2, h)])
    # int (3 + 8 t)^2 / 2 - 2 (1 + 3 t + 4 t^2)
    exact = ((3 + 8 * h) ** 3 - 27) / 48 - 2 * (h + 1.5 * h**2 + 4 / 3 * h**3)
    assert float(action.value(path)) == pytest.approx(exact, rel=1e-14)
    assert action.derivatives(path).shape == (3, 1)
    shifted = path + np.array([[0.0], [0.0], [1e-5]])
    slope = (action.value(shifted) - action.value(2 * path - shifted)) / 2e-5
    assert float(action.right_momentum(path)[0]) == pytest.approx(float(slope), abs=1e-8)


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("system", [Pendulum(), DoublePendulum()], ids=lambda s: type(s).__name__)
def test_discrete_euler_lagrange_equations_along_a_run(degree, system):
    """D_2 L_d(q_{k-1}, q_k) + D_1 L_d(q_k, q_{k+1}) is normal to the constraints."""
    h, method = 0.02, da.Galerkin(degree)
    run = run_of(system, method, 0.2, h)
    action = method.discrete_lagrangian(system, h)
    q = jnp.asarray(run.q)
    slopes = jax.jit(jax.grad(action.extremised, (0, 1)))
    for k in (1, 5):
        left_over = np.asarray(slopes(q[k - 1], q[k])[1] + slopes(q[k], q[k + 1])[0])
        normals = np.asarray(jax.jacfwd(lambda q: jnp.atleast_1d(system.holonomic(0.0, q)))(q[k]))
        multiplier = np.linalg.lstsq(normals.T, left_over, rcond=None)[0]
        assert np.max(np.abs(left_over - normals.T @ multiplier)) < 1e-12
        assert np.max(np.abs(left_over)) > 1e-3


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_extremal_is_the_inside_of_a_step_and_its_momenta_are_those_of_the_run(degree):
    system, h, method = Pendulum(), 0.05, da.Galerkin(degree)
    run = run_of(system, method, 0.5, h)
    action = method.discrete_lagrangian(system, h)
    extremal = action.extremal(run.q[3], run.q[4])
    nodes = h * (3 + action.constraint_nodes)
    np.testing.assert_allclose(extremal.nodes, run.interpolate(nodes, own=True).q, rtol=0, atol=1e-13)
    np.testing.assert_allclose(extremal.lam, run.interpolate(nodes[1:-1], own=True).lam, rtol=0, atol=1e-8)
    lam = np.concatenate([np.zeros((1, 1)), extremal.lam, np.zeros((1, 1))])
    derivatives = np.asarray(action.derivatives(extremal.nodes, lam))
    assert np.max(np.abs(derivatives[1:-1]), initial=0.0) < 1e-13
    for q, p, found in (
        (run.q[3], run.p[3], action.left_momentum(extremal.nodes, lam)),
        (run.q[4], run.p[4], action.right_momentum(extremal.nodes, lam)),
    ):
        tangent = np.array([-q[1], q[0]])
        assert tangent @ np.asarray(found) == pytest.approx(tangent @ p, abs=1e-12)
    q0, q1 = jnp.asarray(run.q[3]), jnp.asarray(run.q[4])
    left_momentum, right_momentum = jax.jit(jax.grad(action.extremised, (0, 1)))(q0, q1)
    np.testing.assert_allclose(-left_momentum, action.left_momentum(extremal.nodes, lam), rtol=0, atol=1e-12)
    np.testing.assert_allclose(right_momentum, action.right_momentum(extremal.nodes, lam), rtol=0, atol=1e-12)


def test_augmented_lagrangian_subtracts_the_constraints():
    system, h, method = Pendulum(), 0.1, da.Galerkin(2)
    action = method.discrete_lagrangian(system, h, t=0.3)
    rng = np.random.default_rng(0)
    nodes, lam = rng.standard_normal((3, 2)), rng.standard_normal((3, 1))
    weights = np.array([1, 4, 1]) / 6
    g = 0.5 * (np.sum(nodes**2, axis=1) - 1)
    expected = float(action.value(nodes)) - h * np.sum(weights * g * lam[:, 0])
    assert float(action.augmented(nodes, lam)) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_mixed_second_derivatives_give_the_symplectic_form(degree):
    """D_1 D_2 L_d(q0, q1) maps variations at both ends: dq0 ^ dp0 = dq1 ^ dp1 with p from first derivatives."""
    system = da.system(lambda t, q, v: 0.5 * v @ v - jnp.cos(q[0] + 2 * q[1]) + q[0] * v[1])
    action = da.Galerkin(degree).discrete_lagrangian(system, 0.2)
    q0, q1 = jnp.array([0.1, 0.4]), jnp.array([0.15, 0.3])
    slopes = jax.jit(jax.grad(action.extremised, (0, 1)))
    (first, other), (mixed, last) = jax.tree.map(np.asarray, jax.jit(jax.jacfwd(slopes, (0, 1)))(q0, q1))
    np.testing.assert_allclose(mixed, other.T, rtol=0, atol=1e-11)
    # (q0, p0) -> (q1, p1) from p0 = -D_1 L_d, p1 = D_2 L_d
    across = np.linalg.inv(other)
    D = np.block([[-across @ first, -across], [mixed - last @ across @ first, -last @ across]])
    J = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.eye(2), np.zeros((2, 2))]])
    assert np.max(np.abs(D.T @ J @ D - J)) < 1e-9
    before, after = (np.asarray(x) for x in slopes(q0, q1))
    run = da.simulate(system, da.Galerkin(degree), q0, p0=-before, t=(0.0, 0.2), h=0.2)
    assert run.q[-1] == pytest.approx(np.asarray(q1), abs=1e-13)
    assert run.p[-1] == pytest.approx(after, abs=1e-12)
    small = 1e-5 * np.array([1.0, 0.5])
    difference = [(a - b) / 2e-5 for a, b in zip(slopes(q0 + small, q1), slopes(q0 - small, q1), strict=True)]
    np.testing.assert_allclose(difference[0], first @ [1.0, 0.5], rtol=0, atol=1e-7)
    np.testing.assert_allclose(difference[1], mixed @ [1.0, 0.5], rtol=0, atol=1e-7)


def test_invariance_under_rotation():
    system = SphericalPendulum()
    action = da.Galerkin(3).discrete_lagrangian(system, 0.05)
    run = run_of(system, da.Galerkin(3), 0.1, 0.05)
    a = 0.7
    turn = np.array([[np.cos(a), -np.sin(a), 0.0], [np.sin(a), np.cos(a), 0.0], [0.0, 0.0, 1.0]])
    before, after = action.extremised(run.q[0], run.q[1]), action.extremised(turn @ run.q[0], turn @ run.q[1])
    assert float(after) == pytest.approx(float(before), abs=1e-15)


def test_parameters_are_differentiable():
    q0, q1 = np.array([0.0, -1.0]), np.array([np.sin(0.1), -np.cos(0.1)])

    def value(gravity):
        return da.Galerkin(2).discrete_lagrangian(Pendulum(gravity=gravity), 0.1).extremised(q0, q1)

    slope = (value(9.82) - value(9.80)) / 0.02
    assert float(jax.jit(jax.grad(value))(9.81)) == pytest.approx(float(slope), rel=1e-8)


def test_wrong_shapes_and_systems_are_refused():
    action = da.Galerkin(2).discrete_lagrangian(Pendulum(), 0.1)
    with pytest.raises(da.InputError, match=r"expected the shape \(3, n\), got \(2, 2\)"):
        action.value(np.zeros((2, 2)))
    with pytest.raises(da.InputError, match=r"expected the shape \(3, 1\), got \(1,\)"):
        action.augmented(np.zeros((3, 2)), np.zeros(1))
    with pytest.raises(da.InputError, match="must both have the shape"):
        action.extremised(np.zeros(2), np.zeros(3))
    with pytest.raises(da.InputError, match="needs a Lagrangian"):
        da.Galerkin(2).discrete_lagrangian(HamiltonianSphericalPendulum(), 0.1)
