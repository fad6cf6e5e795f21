"""The derivatives of steps: by the state before them and by the input during them, for many steps at once.

One step finds its unknowns x from residual(x, s, u) = 0 and ends in s_1 = end(x, s, u), s = (q, p, v, lam, psi). So::

    ds_1 = end_s ds + end_u du - end_x residual_x^-1 (residual_s ds + residual_u du)

States near each other on the manifold are given by (q, v), with dp = -legendre_p^-1 (legendre_q dq + legendre_v dv).
This is the one place where another way to differentiate steps would be put in.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from ..engine import RowFunction, RowJacobian, RowNewton
from ..errors import StepFailure
from ..formulation import mechanics_of
from ..method import Method
from ..problem import AbstractSystem, driven, inputs_of
from ..stepping import Family, Layout, assemble, check_fit, flat_parameters, for_family, layout_of
from .with_input import setting_inputs


class StepMaps(NamedTuple):
    """The states after the steps, (N, n) each, and their derivatives: (N, 2n, 2n) and (N, 2n, inputs), of (q, v)."""

    q: np.ndarray
    v: np.ndarray
    by_state: np.ndarray
    by_input: np.ndarray


class StepParts(NamedTuple):
    """A step traced for many rows."""

    guess: RowFunction
    solve: RowNewton
    block: RowJacobian  # of (x, s, and the inputs or parameters): residual, and the state at the end
    size: int


@for_family(maxsize=32)
def step_parts(family: Family, method: Method, layout: Layout, points: tuple[float, ...]) -> StepParts:
    """The traced step of a system with inputs, `driven` at the points of a step."""
    member = family.at(np.zeros(family.size))
    functions = assemble(member, method, layout, None)
    size, summed = functions.size, functions.n_summed
    with_input = setting_inputs(member)

    def block(z, t, h, parameters):
        x, state, u = z[:size], z[size : size + layout.n_state], z[size + layout.n_state :]
        parameters = with_input(parameters, t, h, u)
        advance = functions.finish(x, t, h, state, parameters)
        end = jnp.concatenate([state[:summed] + advance[:summed], advance[summed:]])
        return jnp.concatenate([functions.residual(x, t, h, state, parameters), end])

    def residual(x, t, h, state, u, parameters):
        return functions.residual(x, t, h, state, with_input(parameters, t, h, u))

    def guess(t, h, state, u, parameters):
        return functions.guess(t, h, state, with_input(parameters, t, h, u))

    newton = RowNewton(residual, functions.blocks)
    return StepParts(RowFunction(guess), newton, RowJacobian(block), size)


def driven_for(system: AbstractSystem, points: tuple[float, ...] = (0.0,)) -> AbstractSystem:
    """The system with its inputs as parameters, where it has some."""
    return driven(system, points) if inputs_of(system).size else system


def step_maps(
    system: AbstractSystem, method: Method, t: np.ndarray, q: np.ndarray, v: np.ndarray, u: np.ndarray, h: float,
    lam: np.ndarray | None = None,
) -> StepMaps:  # fmt: skip
    """Steps of the size h from many states, (N, n) each, with the inputs u, (N, inputs), and their derivatives."""
    check_fit(system, method)
    moved, (count, n) = driven_for(system), q.shape
    layout = layout_of(system, n)
    parts = step_parts(Family(moved), method, layout, (0.0,))
    parameters = np.broadcast_to(np.asarray(flat_parameters(moved)), (count, len(flat_parameters(moved))))
    p, p_by = momenta_by_state(moved, t, q, v)
    multipliers = np.zeros((count, layout.m + layout.k)) if lam is None else lam
    rest = np.zeros((count, layout.contacts * layout.directions))
    states, sizes = np.concatenate([q, p, v, multipliers, rest], axis=1), np.full(count, h)
    found = parts.solve(parts.guess(t, sizes, states, u, parameters), t, sizes, states, u, parameters)
    if not np.all(found.found):
        k = int(np.argmin(found.found))
        raise StepFailure(f"the step from t = {t[k]:.6g} has no solution next to its guess; use a smaller h.")
    local = parts.block(np.concatenate([found.x, states, u], axis=1), t, sizes, parameters)
    jacobian = local.dense(parts.size + layout.n_state + u.shape[1])
    size, end = parts.size, parts.size + layout.n_state
    inner = np.linalg.solve(jacobian[:, :size, :size], jacobian[:, :size, size:])
    total = jacobian[:, size:, size:] - jacobian[:, size:, :size] @ inner
    by_s, by_u = total[:, :, : layout.n_state], total[:, :, layout.n_state :]
    by_q = by_s[:, :, :n] + by_s[:, :, n : 2 * n] @ p_by[:, :, :n]
    by_v = by_s[:, :, 2 * n : 3 * n] + by_s[:, :, n : 2 * n] @ p_by[:, :, n:]
    kept = np.concatenate([np.arange(n), np.arange(2 * n, 3 * n)])
    by_state = np.concatenate([by_q, by_v], axis=2)[:, kept]
    after = local.values[:, size:end]
    return StepMaps(after[:, :n], after[:, 2 * n : 3 * n], by_state, by_u[:, kept])


def momenta_by_state(system: AbstractSystem, t, q, v) -> tuple[np.ndarray, np.ndarray]:
    """p of (q, v), row by row, and its derivatives (N, n, 2n); by Newton's method, in one step for a Lagrangian."""
    n, p, function = q.shape[1], np.zeros_like(q), _legendre(Family(system))
    parameters = np.asarray(flat_parameters(system))
    many = np.broadcast_to(parameters, (len(q), len(parameters)))
    for _ in range(30):
        local = function(np.concatenate([p, q, v], axis=1), t, many)
        dense = local.dense(3 * n)
        update = np.linalg.solve(dense[:, :, :n], local.values[..., None])[..., 0]
        p = p - update
        if np.max(np.abs(update), initial=0.0) <= 1e-12 * (1.0 + np.max(np.abs(p), initial=0.0)):
            break
    return p, -np.linalg.solve(dense[:, :, :n], dense[:, :, n:])


@for_family(maxsize=32)
def _legendre(family: Family) -> RowJacobian:
    def legendre(z, t, parameters):
        p, q, v = jnp.split(z, 3)
        return mechanics_of(family.at(parameters)).legendre(t, q, v, p)

    return RowJacobian(legendre)
