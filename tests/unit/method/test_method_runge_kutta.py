"""Runge-Kutta tableaux against the order conditions of rooted trees."""

import numpy as np
import pytest

import dalembert as da

TABLEAUX = [
    *(da.radau_iia(s) for s in (1, 2, 3, 4)),
    *(da.gauss_legendre(s) for s in (1, 2, 3)),
    *(da.lobatto_iiia(s) for s in (2, 3, 4, 5)),
    *(da.half_explicit(p) for p in (2, 3, 4, 5)),
]
EVERY_TABLEAU = pytest.mark.parametrize("tableau", TABLEAUX, ids=repr)


def order_conditions(matrix, weights, order):
    """b . phi(tree) - 1 / density(tree) for all rooted trees with at most `order` <= 5 nodes."""
    one = np.ones(len(weights))
    c = matrix @ one
    ac, ac2, aac, ac3 = matrix @ c, matrix @ c**2, matrix @ (matrix @ c), matrix @ c**3
    trees = [
        (1, one, 1), (2, c, 2), (3, c**2, 3), (3, ac, 6), (4, c**3, 4), (4, c * ac, 8), (4, ac2, 12), (4, aac, 24),
        (5, c**4, 5), (5, c**2 * ac, 10), (5, c * ac2, 15), (5, c * aac, 30), (5, ac**2, 20), (5, ac3, 20),
        (5, matrix @ (c * ac), 40), (5, matrix @ ac2, 60), (5, matrix @ aac, 120),
    ]  # fmt: skip
    return [weights @ phi - 1 / density for nodes, phi, density in trees if nodes <= order]


@EVERY_TABLEAU
def test_order_conditions_hold(tableau):
    matrix, weights, nodes = (np.array(part) for part in (tableau.matrix, tableau.weights, tableau.nodes))
    assert np.max(np.abs(order_conditions(matrix, weights, min(tableau.order, 5)))) <= 2e-15
    assert matrix.sum(axis=1) == pytest.approx(nodes, abs=2e-15)


@pytest.mark.parametrize("tableau", [tableau for tableau in TABLEAUX if tableau.order <= 4], ids=repr)
def test_order_is_not_higher(tableau):
    matrix, weights = np.array(tableau.matrix), np.array(tableau.weights)
    assert np.max(np.abs(order_conditions(matrix, weights, tableau.order + 1))) > 1e-3


def test_known_coefficients():
    assert da.radau_iia(2).matrix == (pytest.approx([5 / 12, -1 / 12]), pytest.approx([3 / 4, 1 / 4]))
    assert da.lobatto_iiia(3).matrix[1] == pytest.approx([5 / 24, 1 / 3, -1 / 24])


def test_gauss_is_symplectic():
    """b_i a_ij + b_j a_ji = b_i b_j."""
    for stages in (1, 2, 3, 5):
        tableau = da.gauss_legendre(stages)
        part = np.array(tableau.weights)[:, None] * np.array(tableau.matrix)
        assert part + part.T == pytest.approx(np.outer(tableau.weights, tableau.weights), abs=1e-15)


def test_radau_ends_at_its_last_stage_and_explicit_is_explicit():
    for stages in (1, 2, 3, 5):
        tableau = da.radau_iia(stages)
        assert tableau.matrix[-1] == pytest.approx(tableau.weights, abs=1e-15)
        assert not tableau.explicit
    assert all(da.half_explicit(p).explicit for p in (2, 3, 4, 5))
    assert repr(da.half_explicit(4)) == "half_explicit(4)"


@pytest.mark.parametrize("order", [1, 6, 2.0, True, "4"])
def test_half_explicit_refuses_other_orders(order):
    with pytest.raises(da.InputError, match="half_explicit needs an order among 2, 3, 4, 5"):
        da.half_explicit(order)


def test_too_few_stages_are_refused():
    with pytest.raises(da.InputError, match="lobatto quadrature needs at least 2 nodes"):
        da.lobatto_iiia(1)
