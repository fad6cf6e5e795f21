"""Ready-made invariants, and an energy-momentum run through each kind."""

import jax.numpy as jnp
import numpy as np

import dalembert as da
from dalembert.formulation import edge_products, squared_triple_products

RANDOM = np.random.default_rng(3)


def test_values_and_invariance():
    q = RANDOM.normal(size=12)
    turn = np.linalg.qr(RANDOM.normal(size=(3, 3)))[0]
    moved = (q.reshape(4, 3) @ turn.T + np.array([1.0, -2.0, 0.5])).ravel()
    x = q.reshape(4, 3)
    np.testing.assert_allclose(da.squared_distances(q, [(0, 2)]), [np.sum((x[0] - x[2]) ** 2)])
    np.testing.assert_allclose(da.dot_products(q, [(1, 3)]), [x[1] @ x[3]])
    np.testing.assert_allclose(da.edge_products(q, [(0, 1, 2)]), [(x[1] - x[0]) @ (x[2] - x[0])])
    np.testing.assert_allclose(da.squared_distances(q, [(0, 2)]), da.squared_distances(moved, [(0, 2)]))
    np.testing.assert_allclose(da.edge_products(q, [(0, 1, 2)]), da.edge_products(moved, [(0, 1, 2)]))


def test_a_triple_product_from_dot_products():
    a, b, c = RANDOM.normal(size=(3, 3))
    products = np.array([a @ a, b @ b, c @ c, a @ b, a @ c, b @ c])
    np.testing.assert_allclose(squared_triple_products(products), (a @ np.cross(b, c)) ** 2)


class Tetrahedron(da.System):
    """Four particles with springs, a bending spring at a corner, and a potential of the squared volume."""

    def potential_invariants(self, q):
        edges = [(0, 1), (0, 2), (0, 3)]
        corners = [(0, 1, 2), (0, 1, 3), (0, 2, 3)]
        return jnp.concatenate([da.squared_distances(q, edges), edge_products(q, corners)])

    def potential_of(self, pi):
        return jnp.sum((pi[:3] - 1.0) ** 2) + jnp.sum(pi[3:] ** 2) + 3.0 * squared_triple_products(pi)

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - self.potential_of(self.potential_invariants(q))


def test_energy_and_momenta_are_kept_through_them():
    q0 = np.array([0.0, 0.0, 0.0, 1.1, 0.0, 0.0, 0.0, 0.9, 0.1, 0.1, 0.0, 1.0])
    run = da.simulate(Tetrahedron(), da.EnergyMomentum(), q0=q0, v0=RANDOM.normal(size=12), t=(0.0, 1.0), h=0.02)
    assert np.ptp(run.energy) < 1e-12 * abs(run.energy[0])
    q, p = run.q.reshape(-1, 4, 3), run.p.reshape(-1, 4, 3)
    for momentum in (p.sum(axis=1), np.cross(q, p).sum(axis=1)):
        assert np.max(np.ptp(momentum, axis=0)) < 1e-12
