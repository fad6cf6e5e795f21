"""Quadratures, bases and Runge-Kutta matrices against the conditions that define them and against printed tables."""

import numpy as np
import pytest

import dalembert as da
from dalembert.method.tableau import (
    FEWEST,
    basis_integrals,
    basis_slopes,
    basis_values,
    exact_nodes,
    quadrature,
    runge_kutta_matrix,
    symplectic_partner,
)

MOST = 8
RULES = [(rule, count) for rule, fewest in FEWEST.items() for count in range(fewest, MOST + 1)]
LOBATTO = [(family, count) for family in ("A", "B", "C", "C*", "D") for count in range(2, MOST + 1)]
EVERY_RULE = pytest.mark.parametrize(("rule", "count"), RULES)


def nodes_of(family: str, count: int):
    return quadrature("gauss" if family == "gauss" else "lobatto", count)


# -- quadratures ---------------------------------------------------------------------------------------------------


@EVERY_RULE
def test_quadrature_is_exact_up_to_its_order_and_no_further(rule, count):
    nodes, weights, order = quadrature(rule, count)
    defects = [abs(weights @ nodes ** (k - 1) - 1 / k) for k in range(1, order + 2)]
    assert max(defects[:-1]) <= 3e-16
    if count <= 6:  # beyond, the defect of the next power sinks into roundoff
        assert defects[-1] > 1e-9


@EVERY_RULE
def test_nodes_ascend_within_the_interval_and_weights_are_positive(rule, count):
    nodes, weights, _ = quadrature(rule, count)
    assert nodes.shape == weights.shape == (count,)
    assert np.all(np.diff(nodes) > 0)
    assert np.all(weights > 0)
    assert nodes[0] >= 0
    assert nodes[-1] <= 1
    assert (nodes[0] == 0) == (rule == "lobatto")
    assert (nodes[-1] == 1) == (rule != "gauss")


@pytest.mark.parametrize(("rule", "count"), [case for case in RULES if case[0] != "radau"])
def test_symmetry_is_exact(rule, count):
    nodes, weights, _ = quadrature(rule, count)
    assert np.array_equal(weights, weights[::-1])
    assert np.array_equal(nodes + nodes[::-1], np.ones(count))
    exact = exact_nodes(rule, count)
    assert all(low + high == 1 for low, high in zip(exact, reversed(exact), strict=True))


@pytest.mark.parametrize("count", range(1, MOST + 1))
def test_gauss_nodes_are_those_of_numpy(count):
    x, w = np.polynomial.legendre.leggauss(count)
    nodes, weights, order = quadrature("gauss", count)
    assert nodes == pytest.approx((x + 1) / 2, abs=1e-15)
    assert weights == pytest.approx(w / 2, abs=1e-15)
    assert order == 2 * count


@pytest.mark.parametrize(
    ("rule", "nodes", "weights"),
    [
        ("radau", [1], [1]),
        ("radau", [1 / 3, 1], [3 / 4, 1 / 4]),
        ("radau", [(4 - 6**0.5) / 10, (4 + 6**0.5) / 10, 1], [(16 - 6**0.5) / 36, (16 + 6**0.5) / 36, 1 / 9]),
        ("lobatto", [0, 1], [1 / 2, 1 / 2]),
        ("lobatto", [0, 1 / 2, 1], [1 / 6, 2 / 3, 1 / 6]),
        ("lobatto", [0, (5 - 5**0.5) / 10, (5 + 5**0.5) / 10, 1], [1 / 12, 5 / 12, 5 / 12, 1 / 12]),
    ],
)
def test_printed_quadratures(rule, nodes, weights):
    found = quadrature(rule, len(nodes))
    assert found.nodes == pytest.approx(nodes, abs=1e-16)
    assert found.weights == pytest.approx(weights, abs=1e-16)


@pytest.mark.parametrize(
    ("rule", "count", "message"),
    [
        ("simpson", 3, "unknown quadrature 'simpson'; expected one of: gauss, lobatto, radau"),
        ("gauss", 0, "gauss quadrature needs at least 1 nodes, got 0"),
        ("lobatto", 1, "lobatto quadrature needs at least 2 nodes, got 1"),
        ("gauss", 2.5, "needs at least 1 nodes, got 2.5"),
    ],
)
def test_refused_quadratures(rule, count, message):
    with pytest.raises(da.InputError, match=message):
        quadrature(rule, count)


# -- bases ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", range(1, MOST))
def test_basis(degree):
    control = exact_nodes("lobatto", degree + 1)
    points = exact_nodes("gauss", 5)
    x = np.array([float(point) for point in points])
    values, slopes = basis_values(control, points), basis_slopes(control, points)
    assert np.array_equal(basis_values(control, control), np.eye(degree + 1))
    assert np.sum(values, axis=1) == pytest.approx(1.0, abs=1e-15)
    assert np.sum(slopes, axis=1) == pytest.approx(0.0, abs=1e-13)
    # x^degree is one of the polynomials that the basis reproduces
    at_control = np.array([float(point) for point in control]) ** degree
    assert values @ at_control == pytest.approx(x**degree, abs=1e-14)
    assert slopes @ at_control == pytest.approx(degree * x ** (degree - 1), abs=1e-12)
    assert basis_integrals(control, points) @ at_control == pytest.approx(x ** (degree + 1) / (degree + 1), abs=1e-14)


# -- Runge-Kutta matrices ------------------------------------------------------------------------------------------


def satisfied_conditions(family: str, count: int) -> tuple[int, int]:
    """The largest eta with C(eta): A c^(k-1) = c^k / k, and zeta with D(zeta): b c^(k-1) A = b (1 - c^k) / k."""
    c, b, _ = nodes_of(family, count)
    A = runge_kutta_matrix(family, count)
    eta = zeta = 0
    while eta < count and np.max(np.abs(A @ c**eta - c ** (eta + 1) / (eta + 1))) <= 1e-14:
        eta += 1
    while zeta < count and np.max(np.abs((b * c**zeta) @ A - b * (1 - c ** (zeta + 1)) / (zeta + 1))) <= 1e-14:
        zeta += 1
    return eta, zeta


@pytest.mark.parametrize("count", range(1, MOST + 1))
def test_conditions_of_gauss(count):
    assert satisfied_conditions("gauss", count) == (count, count)


@pytest.mark.parametrize(("family", "count"), LOBATTO)
def test_conditions_of_lobatto(family, count):
    expected = {"A": (count, count - 2), "B": (count - 2, count)}.get(family, (count - 1, count - 1))
    assert satisfied_conditions(family, count) == expected


@pytest.mark.parametrize(("family", "count"), [("gauss", s) for s in range(1, MOST + 1)] + LOBATTO)
def test_symmetry_and_partners_of_the_matrices(family, count):
    """(A, B), (C, C*), (D, D) and (Gauss, Gauss) are variational pairs; A, B, D and Gauss are their own mirror images,
    C and C* each other's."""
    _, b, _ = nodes_of(family, count)
    A = runge_kutta_matrix(family, count)
    partner = {"A": "B", "B": "A", "C": "C*", "C*": "C"}.get(family, family)
    mirror = {"C": "C*", "C*": "C"}.get(family, family)
    assert symplectic_partner(A, b, b) == pytest.approx(runge_kutta_matrix(partner, count), abs=1e-14)
    assert b[None, :] - A[::-1, ::-1] == pytest.approx(runge_kutta_matrix(mirror, count), abs=1e-14)


PRINTED = {
    ("A", 2): [[0, 0], [1 / 2, 1 / 2]],
    ("B", 2): [[1 / 2, 0], [1 / 2, 0]],
    ("C", 2): [[1 / 2, -1 / 2], [1 / 2, 1 / 2]],
    ("C*", 2): [[0, 0], [1, 0]],
    ("D", 2): [[1 / 4, -1 / 4], [3 / 4, 1 / 4]],
    ("A", 3): [[0, 0, 0], [5 / 24, 1 / 3, -1 / 24], [1 / 6, 2 / 3, 1 / 6]],
    ("B", 3): [[1 / 6, -1 / 6, 0], [1 / 6, 1 / 3, 0], [1 / 6, 5 / 6, 0]],
    ("C", 3): [[1 / 6, -1 / 3, 1 / 6], [1 / 6, 5 / 12, -1 / 12], [1 / 6, 2 / 3, 1 / 6]],
    ("gauss", 1): [[1 / 2]],
    ("gauss", 2): [[1 / 4, 1 / 4 - 3**0.5 / 6], [1 / 4 + 3**0.5 / 6, 1 / 4]],
}


@pytest.mark.parametrize(("family", "count"), PRINTED)
def test_printed_matrices(family, count):
    assert runge_kutta_matrix(family, count) == pytest.approx(np.array(PRINTED[family, count]), abs=1e-16)


def test_zeros_of_the_matrices_are_exact():
    """The first row of IIIA and the last column of IIIB: the structure of the equations depends on them."""
    for count in range(2, MOST + 1):
        assert np.all(runge_kutta_matrix("A", count)[0] == 0)
        assert np.all(runge_kutta_matrix("B", count)[:, -1] == 0)
        assert np.all(runge_kutta_matrix("C*", count)[:, -1] == 0)


def test_unknown_family():
    with pytest.raises(da.InputError, match="unknown family 'E'"):
        runge_kutta_matrix("E", 3)
