"""Quadrature nodes, polynomial bases and Runge-Kutta coefficients from first principles, for any number of nodes.

Everything is computed with 40 digits and rounded once, so that every coefficient is the float nearest to the true
one. On [0, 1], with P_n the Legendre polynomial of degree n in 2 c - 1, the nodes are the zeros of::

    Gauss       P_s                          order 2s
    Radau IIA   P_s - P_{s-1}                order 2s - 1      last node 1
    Lobatto     c (1 - c) P'_{s-1}           order 2s - 2      first node 0, last node 1

and the weights integrate the Lagrange basis l_j of the nodes: b_j = int_0^1 l_j.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import mpmath
import numpy as np

from ..arguments import shown
from ..errors import InputError

DIGITS = 40
RULES = ("gauss", "lobatto", "radau")
#: The fewest nodes of each rule.
FEWEST = {"gauss": 1, "lobatto": 2, "radau": 1}
#: Beyond this the digits above do not suffice, and no step is solved in double precision.
MOST_NODES = 20


class Quadrature(NamedTuple):
    """Nodes in [0, 1] and weights; exact for polynomials of degree < `order`."""

    nodes: np.ndarray
    weights: np.ndarray
    order: int


def quadrature(rule: str, count: int) -> Quadrature:
    """The rule "gauss", "lobatto" or "radau" (Radau IIA) with `count` nodes."""
    nodes, weights = _checked_rule(rule, count)
    order = {"gauss": 2 * count, "lobatto": 2 * count - 2, "radau": 2 * count - 1}[rule]
    return Quadrature(_rounded(nodes), _rounded(weights), order)


def basis_values(control: tuple, points: tuple) -> np.ndarray:
    """l_nu(x_i), shape (points, control): the Lagrange basis of the control nodes at the points (both exact)."""
    return _evaluated(list(_basis(control)), points)


def basis_slopes(control: tuple, points: tuple) -> np.ndarray:
    """l'_nu(x_i), shape (points, control)."""
    with mpmath.workdps(DIGITS):
        slopes = [_derivative(poly) for poly in _basis(control)]
    return _evaluated(slopes, points)


def basis_integrals(control: tuple, points: tuple) -> np.ndarray:
    """int_0^{x_i} l_nu, shape (points, control)."""
    return _rounded(_integrals(control, points))


def exact_nodes(rule: str, count: int) -> tuple:
    """The nodes with 40 digits, as the functions above take them."""
    return _checked_rule(rule, count)[0]


def _checked_rule(rule: str, count: int) -> tuple[tuple, tuple]:
    """Refused here and not behind the cache, to which 2.0 and True look like numbers of nodes."""
    if not isinstance(rule, str) or rule not in RULES:
        raise InputError(f"unknown quadrature {rule!r}; expected one of: {', '.join(RULES)}.")
    if isinstance(count, int) and count > MOST_NODES:
        raise InputError(f"the {rule} quadrature is computed for at most {MOST_NODES} nodes, got {shown(count)}.")
    if not isinstance(count, int | np.integer) or isinstance(count, bool) or count < FEWEST[rule]:
        raise InputError(f"the {rule} quadrature needs at least {FEWEST[rule]} nodes, got {count!r}.")
    return _exact_rule(rule, int(count))


# -- Runge-Kutta matrices --------------------------------------------------------------------------------------


def runge_kutta_matrix(family: str, count: int) -> np.ndarray:
    """The matrix A of "gauss", or of one of the Lobatto families "A", "B", "C", "C*", "D" (IIIA ... IIID)::

    gauss, A   a_ij = int_0^{c_i} l_j                                       collocation
    B          a_ij = b_j (1 - a^A_ji / b_i)                                symplectic partner of A
    C          a_i1 = b_1,  sum_j a_ij c_j^{k-1} = c_i^k / k,  k = 1..s-1
    C*         a_ij = b_j (1 - a^C_ji / b_i)                                symplectic partner of C
    D          (C + C*) / 2
    """
    return _rounded(_exact_matrix(family, count))


def symplectic_partner(matrix: np.ndarray, weights: np.ndarray, partner_weights: np.ndarray) -> np.ndarray:
    """a^_ij = b^_j (1 - a_ji / b_i): the momentum coefficients that make (A, A^) a variational pair."""
    return partner_weights[None, :] * (1 - matrix.T / weights[:, None])


@functools.cache
def _exact_matrix(family: str, count: int) -> tuple:
    rule = "gauss" if family == "gauss" else "lobatto"
    with mpmath.workdps(DIGITS):
        nodes, weights = _exact_rule(rule, count)
        stages = range(count)
        if family in ("gauss", "A"):
            return tuple(tuple(row) for row in _integrals(nodes, nodes))
        if family == "C":
            rows = []
            powers = mpmath.matrix(count - 1, count - 1)
            for k in range(count - 1):
                for j in range(1, count):
                    powers[k, j - 1] = nodes[j] ** k
            for i in stages:
                right = [nodes[i] ** (k + 1) / (k + 1) - (weights[0] if k == 0 else 0) for k in range(count - 1)]
                rows.append((weights[0], *mpmath.lu_solve(powers, mpmath.matrix(right))))
            return tuple(rows)
        if family in ("B", "C*"):
            other = _exact_matrix("A" if family == "B" else "C", count)
            return tuple(tuple(weights[j] * (1 - other[j][i] / weights[i]) for j in stages) for i in stages)
        if family == "D":
            c, star = _exact_matrix("C", count), _exact_matrix("C*", count)
            return tuple(tuple((c[i][j] + star[i][j]) / 2 for j in stages) for i in stages)
    raise InputError(f'unknown family {family!r}; expected "gauss", or the Lobatto families "A", "B", "C", "C*", "D".')


# -- nodes -----------------------------------------------------------------------------------------------------


@functools.cache
def _exact_rule(rule: str, count: int) -> tuple[tuple, tuple]:
    with mpmath.workdps(DIGITS):
        nodes = _exact_nodes(rule, count)
        return nodes, tuple(_integrals(nodes, (mpmath.mpf(1),))[0])


def _exact_nodes(rule: str, count: int) -> tuple:
    """Zeros by Newton from the float64 zeros, ascending; the outer half mirrored so that symmetry is exact."""
    half = mpmath.mpf(1) / 2
    if rule == "radau":
        polynomial = [a - b for a, b in zip(_legendre(count), [*_legendre(count - 1), 0], strict=True)]
        inner = _zeros(_divided(polynomial, mpmath.mpf(1)))
        return (*inner, mpmath.mpf(1))
    polynomial = _legendre(count) if rule == "gauss" else _derivative(_legendre(count - 1))
    zeros = _zeros(polynomial)
    lower = [x for x in zeros if x < half - mpmath.mpf(10) ** -10]
    middle = [half] if len(zeros) % 2 else []
    inner = (*lower, *middle, *(1 - x for x in reversed(lower)))
    return inner if rule == "gauss" else (mpmath.mpf(0), *inner, mpmath.mpf(1))


def _zeros(polynomial: list) -> list:
    if len(polynomial) == 1:
        return []
    slope = _derivative(polynomial)
    starts = np.sort(np.real(np.polynomial.polynomial.polyroots([float(c) for c in polynomial])))
    zeros = []
    for start in starts:
        x = mpmath.mpf(float(start))
        for _ in range(8):
            x -= _value(polynomial, x) / _value(slope, x)
        zeros.append(x)
    return zeros


# -- polynomials on [0, 1], coefficients of 1, x, x^2, ... -----------------------------------------------------------


def _legendre(degree: int) -> list:
    """P_degree(2 x - 1), by its integer coefficients (-1)^(n+k) C(n, k) C(n+k, k)."""
    return [
        mpmath.mpf((-1) ** (degree + k)) * mpmath.binomial(degree, k) * mpmath.binomial(degree + k, k)
        for k in range(degree + 1)
    ]


def _value(polynomial: list, x):
    total = mpmath.mpf(0)
    for c in reversed(polynomial):
        total = total * x + c
    return total


def _derivative(polynomial: list) -> list:
    return [k * c for k, c in enumerate(polynomial)][1:] or [mpmath.mpf(0)]


def _divided(polynomial: list, zero) -> list:
    """The polynomial divided by (x - zero)."""
    quotient, carry = [], mpmath.mpf(0)
    for c in reversed(polynomial[1:]):
        carry = carry * zero + c
        quotient.append(carry)
    return quotient[::-1]


@functools.cache
def _basis(control: tuple) -> tuple:
    """The Lagrange basis of the control nodes."""
    with mpmath.workdps(DIGITS):
        basis = []
        for nu, own in enumerate(control):
            polynomial = [mpmath.mpf(1)]
            for j, other in enumerate(control):
                if j != nu:
                    scale = 1 / (own - other)
                    shifted = [mpmath.mpf(0), *polynomial]
                    polynomial = [
                        scale * (a - other * b) for a, b in zip(shifted, [*polynomial, mpmath.mpf(0)], strict=True)
                    ]
            basis.append(polynomial)
        return tuple(basis)


def _integrals(control: tuple, points: tuple) -> list:
    with mpmath.workdps(DIGITS):
        primitives = [[mpmath.mpf(0), *(c / (k + 1) for k, c in enumerate(poly))] for poly in _basis(control)]
        return [[_value(poly, x) for poly in primitives] for x in points]


def _evaluated(polynomials: list, points: tuple) -> np.ndarray:
    with mpmath.workdps(DIGITS):
        return _rounded([[_value(poly, x) for poly in polynomials] for x in points])


def _rounded(values) -> np.ndarray:
    """To float64; what cancels to nothing in 40 digits is nothing."""
    array = np.array([[float(x) for x in row] for row in values] if isinstance(values[0], list | tuple) else
                     [float(x) for x in values])  # fmt: skip
    array[np.abs(array) < 10.0 ** (10 - DIGITS)] = 0.0
    return array
