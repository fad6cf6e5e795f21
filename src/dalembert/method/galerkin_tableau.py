"""A Galerkin variational integrator as a Runge-Kutta method: the tableau of a constrained modified symplectic one.

With r > s nodes c_i of the Lagrangian the velocities V_i = q_d'(t0 + c_i h) there are dependent, since q_d' has the
degree s - 1. So W_j = q_d'(t0 + d_j h) at s nodes d_j are the stages, and V_i follow from them (Ober-Bloebaum 2017
without constraints; Wenger, Ober-Bloebaum, Leyendecker with).
The action, extremal in W_j under q1 = q0 + h sum_j beta_j W_j, gives::

    Q_i  = q0 + h sum_j a_ij W_j            a_ij  = int_0^{c_i} m_j        i = 1..r
    V_i  =        sum_j gamma_ij W_j        gamma_ij = m_j(c_i)
    Qt_k = q0 + h sum_j at_kj W_j           at_kj = int_0^{ct_k} m_j       k = 1..w+1, the nodes of the constraints
    q1   = q0 + h sum_j beta_j W_j

    sum_i b_i gamma_ij P_i / beta_j = p0 + h sum_i abar_ji f_i - h sum_k ahat_jk G(Qt_k)^T lam_k     j = 1..s
    p1 = p0 + h sum_i b_i f_i - h sum_k e_k G(Qt_k)^T lam_k

    abar_ji = b_i (1 - a_ij / beta_j),      ahat_jk = e_k (1 - at_kj / beta_j)

m_j: Lagrange basis of the d_j, which are the nodes c where r = s, then gamma_ij = delta_ij and this is a symplectic
partitioned Runge-Kutta pair; else the s Gauss nodes. The step does not depend on that choice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .galerkin_coefficients import constraint_node_count
from .tableau import basis_integrals, basis_values, exact_nodes, quadrature

#: Digits of a printed coefficient.
DIGITS = 6


class GalerkinTableau(NamedTuple):
    """The coefficients; `print` shows them as tableaux."""

    d: np.ndarray  # nodes of the stages W_j, (s,)
    beta: np.ndarray  # int_0^1 m_j
    b: np.ndarray  # quadrature of the Lagrangian, (r,)
    c: np.ndarray
    a: np.ndarray  # (r, s)
    gamma: np.ndarray  # (r, s)
    a_bar: np.ndarray  # forces in the momenta of the stages, (s, r)
    e: np.ndarray  # quadrature of the constraints, (w + 1,)
    c_tilde: np.ndarray
    a_tilde: np.ndarray  # (w + 1, s)
    a_hat: np.ndarray  # reactions in the momenta of the stages, (s, w + 1)

    def __str__(self) -> str:
        parts = {
            "positions: c_i | a_ij over beta_j": _tableau(self.c, self.a, self.beta),
            "velocities: c_i | gamma_ij": _tableau(self.c, self.gamma),
            "momenta, forces: d_j | abar_ji over b_i": _tableau(self.d, self.a_bar, self.b),
            "positions of the constraints: ct_k | at_kj": _tableau(self.c_tilde, self.a_tilde),
            "momenta, reactions: d_j | ahat_jk over e_k": _tableau(self.d, self.a_hat, self.e),
        }
        return "\n\n".join(f"{title}\n{table}" for title, table in parts.items())


def galerkin_tableau(
    degree: int, multiplier_degree: int, rule: str, count: int, constraint_rule: str
) -> GalerkinTableau:
    """The tableau for q_d of degree s, lam_d of degree w and the two quadratures."""
    points, outer = exact_nodes(rule, count), quadrature(rule, count)
    stages = points if count == degree else exact_nodes("gauss", degree)
    nodes = constraint_node_count(constraint_rule, multiplier_degree)
    constraints, inner = exact_nodes(constraint_rule, nodes), quadrature(constraint_rule, nodes)
    beta = basis_integrals(stages, (1,))[0]
    a, a_tilde = basis_integrals(stages, points), basis_integrals(stages, constraints)
    return GalerkinTableau(
        d=np.array([float(x) for x in stages]),
        beta=beta,
        b=outer.weights,
        c=outer.nodes,
        a=a,
        gamma=basis_values(stages, points),
        a_bar=outer.weights[None, :] * (1 - a.T / beta[:, None]),
        e=inner.weights,
        c_tilde=inner.nodes,
        a_tilde=a_tilde,
        a_hat=inner.weights[None, :] * (1 - a_tilde.T / beta[:, None]),
    )


def _tableau(left: np.ndarray, matrix: np.ndarray, below: np.ndarray | None = None) -> str:
    """Nodes, a bar, the matrix; a line and the weights below."""
    rows = [[_number(x), "|", *map(_number, row)] for x, row in zip(left, matrix, strict=True)]
    if below is not None:
        rows.append(["", "|", *map(_number, below)])
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    if below is not None:
        lines.insert(-1, "-" * len(lines[0]))
    return "\n".join(lines)


def _number(x: float) -> str:
    return f"{round(float(x), DIGITS) + 0.0:.{DIGITS}f}"
