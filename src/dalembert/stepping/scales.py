"""What is large and what is small: the size of a constraint is that of its terms, whatever the units.

With J the derivatives of g by everything it depends on, x = (q, t, parameters), the terms of row i have the size ::

    s_i = sum_j |J_ij x_j|                          a relative change of all x by e changes g_i by at most e s_i
    s_i = sum_j |G_ij v_j| + |g_t,i|                the same for the hidden constraint G v + g_t,  G = g_q
    s_i = sum_j |k_v,ij v_j| + |k_i - (k_v v)_i|    and for a nonholonomic one, linear in v or nearly so

A defect is judged relative to s_i, so that the same mechanism in metres and in nanometres is judged alike. Where the
terms of a row vanish (q_5 = 0), what is left of the other coordinates by roundoff has to pass: to s_i is added
`ROUNDOFF_PART` times |G_i| max_j |q_j|, or |G_i| V with V the largest speed, where that is not zero.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sparse

from ..engine import Function, find_root, row_lengths
from ..formulation import mechanics_of
from ..problem import AbstractSystem
from .shared_equations import Family, equation, flat_parameters, for_family

#: A row without terms of its own has this part of the size that the largest coordinate would give it. Times the
#: tolerance for a start (1e-9) it is some tens of the roundoff of that coordinate.
ROUNDOFF_PART = 1e-5


class Constraints(NamedTuple):
    """The holonomic constraints at one point: g, g_q, g_t and the sizes of the terms of each row."""

    value: np.ndarray
    gradients: sparse.csr_matrix
    by_time: np.ndarray
    scales: np.ndarray


def size_of(x) -> float:
    """The largest number, or 1 where all are zero."""
    largest = float(np.max(np.abs(np.asarray(x, dtype=np.float64)), initial=0.0))
    return largest if largest > 0 and np.isfinite(largest) else 1.0


def constraints_at(system: AbstractSystem, t, q) -> Constraints:
    """The holonomic constraints at one point, with their sizes."""
    q = np.asarray(q, dtype=np.float64)
    n = len(q)
    x = np.concatenate([q, [float(t)], np.asarray(flat_parameters(system))])
    value, derivatives = _constraints(Family(system), n)(x)
    gradients = derivatives[:, :n]
    terms = np.nan_to_num(abs(derivatives) @ np.abs(x), nan=0.0, posinf=0.0)
    return Constraints(
        value, gradients, derivatives[:, [n]].toarray()[:, 0],
        terms + ROUNDOFF_PART * row_lengths(gradients) * size_of(q),
    )  # fmt: skip


@for_family()
def _constraints(family: Family, n: int) -> Function:
    return Function(lambda x: mechanics_of(family.at(x[n + 1 :])).constraint(x[n], x[:n]))


def hidden_at(found: Constraints, v, speed: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """g_q v + g_t and the sizes of its terms; `speed` is a speed of the system, where one is known."""
    v = np.asarray(v, dtype=np.float64)
    scales = abs(found.gradients) @ np.abs(v) + np.abs(found.by_time)
    largest = max(float(np.max(np.abs(v), initial=0.0)), speed)
    return (
        found.gradients @ v + found.by_time,
        scales + ROUNDOFF_PART * row_lengths(found.gradients) * largest,
    )


def nonholonomic_at(system: AbstractSystem, t, q, v, speed: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """k and the sizes of its terms."""
    value, by_v = equation(system, "nonholonomic")(v, t, q)
    scales = abs(by_v) @ np.abs(v) + np.abs(value - by_v @ v)
    return value, scales + ROUNDOFF_PART * row_lengths(by_v) * max(float(np.max(np.abs(v), initial=0.0)), speed)


def batch_scales(system: AbstractSystem, t: float, q, v, sizes, speeds) -> list[tuple[str, np.ndarray]]:
    """For a batch the sizes of the rows of every observable that has to vanish, (members, rows): those of the first
    member's gradients, times the positions and the speeds of each, which are `sizes` and `speeds`."""
    found = []
    if system.provides("holonomic"):
        at = constraints_at(system, t, q)
        lengths, moving = row_lengths(at.gradients), np.abs(at.by_time)
        found.append(("all constraints", np.outer(sizes, lengths) + ROUNDOFF_PART * at.scales))
        found.append(("all hidden", np.outer(speeds, lengths) + moving + ROUNDOFF_PART * np.outer(sizes, lengths)))
    if system.provides("nonholonomic"):
        value, by_v = equation(system, "nonholonomic")(v, t, q)
        found.append(("all nonholonomic", np.outer(speeds, row_lengths(by_v)) + np.abs(value - by_v @ v)))
    return found


def gaps_at(system: AbstractSystem, t: float, q) -> tuple[np.ndarray, np.ndarray]:
    """The distances of all contacts at one point, and their sizes: that of the terms, or what the largest coordinate
    makes of a distance, whichever is larger."""
    q = np.asarray(q, dtype=np.float64)
    x = np.concatenate([q, [float(t)], np.asarray(flat_parameters(system))])
    value, derivatives = _gaps(Family(system), len(q))(x)
    terms = np.nan_to_num(abs(derivatives) @ np.abs(x), nan=0.0, posinf=0.0)
    sizes = np.maximum(terms, row_lengths(derivatives[:, : len(q)]) * size_of(q))
    return value, np.where(sizes > 0, sizes, 1.0)


@for_family()
def _gaps(family: Family, n: int) -> Function:
    return Function(lambda x: mechanics_of(family.at(x[n + 1 :])).contact.gap(x[n], x[:n]))


def natural_speed(system: AbstractSystem, rows, t, q, v, p) -> float:
    """The speed sqrt(|a| |q|) that the forces give within the size of the system: next to it a velocity at rest is
    roundoff. Zero where there are no accelerations."""
    mechanics = mechanics_of(system, rows)
    sizes = jax.eval_shape(
        lambda: (
            mechanics.constraint(jnp.asarray(t), jnp.asarray(q)),
            mechanics.velocity_constraint(jnp.asarray(t), *map(jnp.asarray, (q, v))),
        )
    )
    unknowns = 2 * len(q) + sum(size.shape[0] for size in sizes)
    x = find_root(equation(system, "ideal acceleration", rows), np.zeros(unknowns), t, q, v, p)
    if x is None:
        return 0.0
    return float(np.sqrt(np.max(np.abs(x[: len(q)]), initial=0.0) * size_of(q)))


def relative(defects: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Defects in units of their sizes; a defect without any terms is infinite."""
    defects = np.abs(defects)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(defects == 0, 0.0, defects / scales)


def row_names(rows, kind: str = "holonomic") -> str:
    """Rows of a constraint in words, neighbours together: holonomic[0..17], holonomic[20]."""
    found, names = sorted(int(row) for row in rows), []
    for _, group in itertools.groupby(enumerate(found), lambda pair: pair[1] - pair[0]):
        run = [row for _, row in group]
        names += [f"{kind}[{run[0]}..{run[-1]}]"] if len(run) > 2 else [f"{kind}[{row}]" for row in run]
    return ", ".join(names)


#: Times after the start at which constraints are looked at, to see whether they change.
LATER = (0.1, 1.7, 23.0)


def change_with_time(system: AbstractSystem, t: float, q) -> bool:
    """Whether the constraints change with time: g(t, q) is another one at other times."""
    now = constraints_at(system, t, q).value
    return any(not np.array_equal(constraints_at(system, t + later, q).value, now) for later in LATER)
