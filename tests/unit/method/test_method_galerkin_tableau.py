"""The tableau of a Galerkin method: known ones where r = s, and its equations by an independent Newton where r > s."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

import dalembert as da
from dalembert.method.tableau import runge_kutta_matrix


def test_with_as_many_nodes_as_stages_it_is_a_known_pair():
    gauss = da.Galerkin(3).tableau
    np.testing.assert_allclose(gauss.a, runge_kutta_matrix("gauss", 3), atol=1e-15)
    np.testing.assert_allclose(gauss.a_bar, runge_kutta_matrix("gauss", 3), atol=1e-15)
    np.testing.assert_allclose(gauss.gamma, np.eye(3), atol=1e-15)
    lobatto = da.Galerkin(3, 2, "lobatto", 3).tableau
    np.testing.assert_allclose(lobatto.a, runge_kutta_matrix("A", 3), atol=1e-15)
    np.testing.assert_allclose(lobatto.a_bar, runge_kutta_matrix("B", 3), atol=1e-15)
    np.testing.assert_allclose(lobatto.a_hat, runge_kutta_matrix("B", 3), atol=1e-15)


def test_more_nodes_than_stages():
    """s = 1, r = 2 Lobatto by hand: W is the one velocity, q_d a straight line."""
    found = da.Galerkin(1).tableau, da.Galerkin(1, quadrature="lobatto", nodes=2).tableau
    for tableau in found:
        assert tableau.beta == pytest.approx(1.0)
        np.testing.assert_allclose(tableau.gamma, 1.0)
        np.testing.assert_allclose(tableau.a_tilde, [[0.0], [1.0]], atol=1e-16)
        np.testing.assert_allclose(tableau.a_hat, [[0.5, 0.0]], atol=1e-16)
    np.testing.assert_allclose(found[1].a, [[0.0], [1.0]], atol=1e-16)
    np.testing.assert_allclose(found[1].a_bar, [[0.5, 0.0]], atol=1e-16)


class Rippled(da.System):
    def lagrangian(self, t, q, v):
        return 0.5 * (v @ v) - 9.81 * q[1] - 2.0 * jnp.sin(2 * q[0] + q[1])

    def holonomic(self, t, q):
        return 0.5 * (q @ q - 1.0)


def step_by_the_tableau(tableau, q0, p0, h):
    """(q1, p~1) of the rippled pendulum in plain numpy; unknowns W_j and h lam_k at all nodes of the constraints but
    the last, whose multiplier belongs to the next step."""
    s, nodes, n = len(tableau.beta), len(tableau.e), len(q0)

    def force(q):
        slope = 2.0 * np.cos(2 * q[:, 0] + q[:, 1])
        return np.stack([-2 * slope, -9.81 - slope], axis=1)

    def parts(x):
        W, lam = x[: s * n].reshape(s, n), np.append(x[s * n :], 0.0)
        Q, V, places = q0 + h * tableau.a @ W, tableau.gamma @ W, q0 + h * tableau.a_tilde @ W
        f, reactions = force(Q), lam[:, None] * places
        momenta = p0 + h * tableau.a_bar @ f - tableau.a_hat @ reactions
        defect = (tableau.b[:, None] * tableau.gamma).T @ V / tableau.beta[:, None] - momenta
        end = p0 + h * tableau.b @ f - tableau.e @ reactions
        return defect, places, end

    def residual(x):
        defect, places, _ = parts(x)
        return np.concatenate([defect.ravel(), 0.5 * (np.sum(places[1:] ** 2, axis=1) - 1.0)])

    found = scipy.optimize.root(residual, np.concatenate([np.tile(p0, s), np.zeros(nodes - 1)]), tol=1e-14)
    assert np.max(np.abs(residual(found.x))) < 1e-13
    _, places, end = parts(found.x)
    return places[-1], end


@pytest.mark.parametrize(
    "method", [da.Galerkin(2, nodes=3), da.Galerkin(3, 2, nodes=4), da.Galerkin(2, 2, "lobatto", 3)], ids=repr
)
def test_its_step_is_that_of_the_method(method):
    q0, v0, h = np.array([np.sin(1.0), -np.cos(1.0)]), np.array([np.cos(1.0), np.sin(1.0)]), 0.05
    run = da.simulate(Rippled(), method, q0, v0, t=(0.0, h), h=h)
    q1, raw = step_by_the_tableau(method.tableau, q0, v0, h)
    np.testing.assert_allclose(run.q[1], q1, atol=1e-13)
    projected = raw - q1 * (q1 @ raw) / (q1 @ q1)
    np.testing.assert_allclose(run.p[1], projected, atol=1e-12)


def test_it_can_be_printed():
    text = str(da.Galerkin(1, quadrature="lobatto", nodes=2).tableau)
    assert "momenta, forces: d_j | abar_ji over b_i\n0.500000  |  0.500000  0.000000\n" in text
    assert text.count("\n\n") == 4
    assert "-0.000000" not in text
