"""The coefficients of a Galerkin variational integrator: its polynomials at the nodes of both quadratures."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from .tableau import basis_slopes, basis_values, exact_nodes, quadrature


class GalerkinCoefficients(NamedTuple):
    """The numbers of the method, rounded once from exact ones."""

    b: np.ndarray
    c: np.ndarray
    values: np.ndarray  # l_nu(c_i), (r, s + 1)
    slopes: np.ndarray  # l'_nu(c_i), (r, s + 1)
    inner_weights: np.ndarray  # e_i of the inner nodes of the constraints
    inner_nodes: np.ndarray
    inner_values: np.ndarray  # l_nu(ct_i), (inner, s + 1)
    inner_slopes: np.ndarray  # l'_nu(ct_i), (inner, s + 1)
    end_slopes: np.ndarray  # l'_nu at 0 and at 1, (2, s + 1)
    first_weight: float  # e of the node 0, or 0
    last_weight: float  # e of the node 1, or 0


@functools.cache
def galerkin_coefficients(
    degree: int, multiplier_degree: int, rule: str, count: int, constraint_rule: str
) -> GalerkinCoefficients:
    """Coefficients for q_d of degree s, lam_d of degree w and the two quadratures."""
    control, outer = exact_nodes("lobatto", degree + 1), quadrature(rule, count)
    points = exact_nodes(rule, count)
    nodes = constraint_node_count(constraint_rule, multiplier_degree)
    constraints, exact = quadrature(constraint_rule, nodes), exact_nodes(constraint_rule, nodes)
    inner = [k for k, x in enumerate(exact) if 0 < x < 1]
    inside = tuple(exact[k] for k in inner)
    return GalerkinCoefficients(
        b=outer.weights,
        c=outer.nodes,
        values=basis_values(control, points),
        slopes=basis_slopes(control, points),
        inner_weights=constraints.weights[inner],
        inner_nodes=constraints.nodes[inner],
        inner_values=basis_values(control, inside) if inner else np.zeros((0, degree + 1)),
        inner_slopes=basis_slopes(control, inside) if inner else np.zeros((0, degree + 1)),
        end_slopes=basis_slopes(control, control)[[0, -1]],
        first_weight=float(constraints.weights[0]) if exact[0] == 0 else 0.0,
        last_weight=float(constraints.weights[-1]) if exact[-1] == 1 else 0.0,
    )


def constraint_rank(degree: int, multiplier_degree: int, constraint_rule: str) -> tuple[int, int]:
    """The number of constraint equations of a step, g = 0 at all nodes but its start, and their rank.

    Their derivatives by the control points q^1 .. q^s are e_i G l_nu(ct_i): for independent rows of G the rank is that
    of the matrix l_nu(ct_i), min(nodes, s) (Wenger, Ober-Bloebaum, Leyendecker 2017, (26)).
    """
    exact = exact_nodes(constraint_rule, constraint_node_count(constraint_rule, multiplier_degree))
    after = tuple(node for node in exact if node > 0)
    values = basis_values(exact_nodes("lobatto", degree + 1), after)[:, 1:]
    return len(after), int(np.linalg.matrix_rank(values))


def constraint_node_count(rule: str, multiplier_degree: int) -> int:
    """The nodes of the constraint quadrature lie at the control points of lam_d: w + 1 of Lobatto, the w of Radau IIA
    (all but the first control point), the w - 1 inner ones of Gauss."""
    return multiplier_degree + {"lobatto": 1, "radau": 0, "gauss": -1}[rule]
