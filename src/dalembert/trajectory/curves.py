"""Polynomials through neighbouring states, for many times at once.

Hermite: the polynomial of degree 2k - 1 that has the values q_j and the slopes v_j at k times t_j. In Newton's form
with every node taken twice, z = (t_1, t_1, t_2, t_2, ...)::

    q(t) = sum_i [z_0 ... z_i] q (t - z_0) ... (t - z_(i-1))
    [z_i] q = q_j,      [z_i z_(i+1)] q = v_j where both are t_j
    [z_i ... z_l] q = ([z_(i+1) ... z_l] q - [z_i ... z_(l-1)] q) / (z_l - z_i)

Its distance from a smooth curve is of order 2k in the distance of the nodes, that of its derivative of order 2k - 1.
"""

from __future__ import annotations

import numpy as np


def stencils(steps: np.ndarray, states: int, width: int) -> np.ndarray:
    """The numbers of the `width` states around each step, (steps, width): half of them before it, half after it, and
    all of them among the states 0 ... states - 1."""
    width = min(width, states)
    first = np.clip(steps - (width - 1) // 2, 0, states - width)
    return first[:, None] + np.arange(width)


def hermite_curve(nodes, q, v, which, t) -> tuple[np.ndarray, np.ndarray]:
    """q(t) and its derivative, (N, n) each.

    Args:
        nodes: the times of the nodes, (curves, k).
        q, v: values and slopes there, (curves, k, n).
        which: the curve on which each point lies, (N,).
        t: where on it, (N,).
    """
    # every number at the size of 1: the table divides by differences of times again and again
    unit = np.ptp(nodes, axis=1, keepdims=True) / max(1, nodes.shape[1] - 1)
    z = np.repeat((nodes - nodes[:, :1]) / unit, 2, axis=1)
    table = np.repeat(q, 2, axis=1)
    coefficients = [table[:, 0]]
    for level in range(1, z.shape[1]):
        apart = (z[:, level:] - z[:, :-level])[:, :, None]
        if level == 1:
            apart[:, ::2] = 1.0
        table = (table[:, 1:] - table[:, :-1]) / apart
        if level == 1:
            table[:, ::2] = v * unit[:, :, None]
        coefficients.append(table[:, 0])
    unit = unit[which]
    x = (t - nodes[which, 0])[:, None] / unit
    value, slope = coefficients[-1][which], np.zeros((len(t), q.shape[2]))
    for level in range(z.shape[1] - 2, -1, -1):
        ahead = x - z[which, level][:, None]
        slope = slope * ahead + value
        value = value * ahead + coefficients[level][which]
    return value, slope / unit


def lagrange_curve(nodes, values, which, t) -> np.ndarray:
    """The polynomials through values, (curves, k, m), at the nodes, (curves, k); as for `hermite_curve`."""
    total = np.zeros((len(t), values.shape[2]))
    for k in range(nodes.shape[1]):
        others = np.delete(nodes, k, axis=1)
        weight = np.prod((t[:, None] - others[which]) / (nodes[:, k : k + 1] - others)[which], axis=1)
        total += weight[:, None] * values[which, k]
    return total
