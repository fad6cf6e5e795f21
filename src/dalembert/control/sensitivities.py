"""The derivatives of a run by parameters of its system and by its start.

With the states s_k = (q, p, v), the parameters theta, and a step that finds x from residual(x; s, theta) = 0 and ends
in end(x; s, theta), the derivatives S_k = ds_k / d(theta, start) follow from step to step::

    A = end_s - end_x residual_x^-1 residual_s,      B = end_theta - end_x residual_x^-1 residual_theta
    S_(k+1) = A_k S_k + B_k

A and B of all steps are computed at once, exactly. The start moves with the parameters where constraints or the
momentum depend on them: it is the nearest one on the constraints. This is the one place where another way to
differentiate a run would be put in.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from ..engine import Function, RowFunction, RowJacobian, RowNewton, find_root
from ..errors import StepFailure
from ..formulation import mechanics_of
from ..method import Method
from ..problem import AbstractSystem
from ..stepping import Family, Layout, assemble, flat_parameters, for_family, layout_of
from ..trajectory import Trajectory
from .step_maps import StepParts
from .with_input import setting_inputs


class RunSensitivity(NamedTuple):
    """A run, and the derivatives of q and v, (N, n, parameters)."""

    run: Trajectory
    of_q: np.ndarray
    of_v: np.ndarray


@for_family(maxsize=32)
def _parts(family: Family, method: Method, layout: Layout, which: tuple[int, ...]) -> StepParts:
    """The traced step of a system, with some of its parameters as unknowns; `driven` where it has inputs."""
    member, n = family.at(np.zeros(family.size)), layout.n
    functions, with_input = assemble(member, method, layout, None), setting_inputs(member)
    size, summed = functions.size, functions.n_summed
    spread, kept = np.zeros((family.size, len(which))), np.ones(family.size)
    spread[list(which), np.arange(len(which))], kept[list(which)] = 1.0, 0.0

    def at(theta, U, t, h, parameters):
        return with_input(kept * parameters + spread @ theta, t, h, U)

    def full(s):
        return jnp.concatenate([s, jnp.zeros(layout.n_state - 3 * n)])

    def block(z, t, h, U, parameters):
        x, s, theta = z[:size], full(z[size : size + 3 * n]), z[size + 3 * n :]
        parameters = at(theta, U, t, h, parameters)
        found = functions.finish(x, t, h, s, parameters)
        end = jnp.concatenate([s[:summed] + found[:summed], found[summed:]])[: 3 * n]
        return jnp.concatenate([functions.residual(x, t, h, s, parameters), end])

    def residual(x, t, h, state, theta, U, parameters):
        return functions.residual(x, t, h, state, at(theta, U, t, h, parameters))

    def guess(t, h, state, theta, U, parameters):
        return functions.guess(t, h, state, at(theta, U, t, h, parameters))

    return StepParts(RowFunction(guess), RowNewton(residual, functions.blocks), RowJacobian(block), size)


def run_sensitivity(run: Trajectory, which: tuple[int, ...], at_start: np.ndarray, U: np.ndarray) -> RunSensitivity:
    """The derivatives of a run whose every state was saved.

    Args:
        run: of a single system, with steps of one size.
        which: the places of the parameters among those of the system (`parameter_places`).
        at_start: S_0 by these parameters and by others, which move only the start: (3n, parameters).
        U: the inputs at the points of every step, (steps, ...).
    """
    system, method, n = run.system, run.method, run.q.shape[1]
    assert system is not None
    assert method is not None
    layout, steps = layout_of(system, n), len(run.t) - 1
    parts = _parts(Family(system), method, layout, which)
    parameters = np.asarray(flat_parameters(system))
    many = np.broadcast_to(parameters, (steps, len(parameters)))
    theta = np.broadcast_to(parameters[list(which)], (steps, len(which)))
    multipliers = [run._arrays[name] for name in ("raw_lam", "raw_psi")]
    rest = np.zeros((steps + 1, layout.n_state - 3 * n - sum(part.shape[1] for part in multipliers)))
    states = np.concatenate([run.q, run.p, run.v, *multipliers, rest], axis=1)[:-1]
    t, h, U = run.t[:-1], np.full(steps, (run.t[-1] - run.t[0]) / steps), U.reshape(steps, -1)
    found = parts.solve(parts.guess(t, h, states, theta, U, many), t, h, states, theta, U, many)
    if not np.all(found.found):
        k = int(np.argmin(found.found))
        raise StepFailure(f"the step from t = {t[k]:.6g} could not be solved again; use a smaller h.")
    local = parts.block(np.concatenate([found.x, states[:, : 3 * n], theta], axis=1), t, h, U, many)
    size, end = parts.size, parts.size + 3 * n
    whole = local.dense(end + len(which))
    inner = np.linalg.solve(whole[:, :size, :size], whole[:, :size, size:])
    total = whole[:, size:, size:] - whole[:, size:, :size] @ inner
    A, B = total[:, :, : 3 * n], np.zeros((steps, 3 * n, at_start.shape[1]))
    B[:, :, : len(which)] = total[:, :, 3 * n :]
    S = np.empty((steps + 1, *at_start.shape))
    S[0] = at_start
    for k in range(steps):
        S[k + 1] = A[k] @ S[k] + B[k]
    return RunSensitivity(run, S[:, :n], S[:, 2 * n :])


class Start(NamedTuple):
    """The consistent start nearest to (q*, v*), and the derivatives of (q, p, v) by (theta, q*, v*)."""

    q: np.ndarray
    v: np.ndarray
    slope: np.ndarray


def start_sensitivity(system: AbstractSystem, which: tuple[int, ...], t0: float, q: np.ndarray, v: np.ndarray) -> Start:
    """The start on the constraints next to (q, v)::

    q - q* + g_q^T mu = 0,                  g(q) = 0
    v - v* + g_q^T nu + k_v^T kappa = 0,    g_q v + g_t = 0,   k = 0,      legendre(q, v, p) = 0
    """
    n, layout = len(q), layout_of(system, len(q))
    by_state, by_given = _start_equations(Family(system), n, layout.m, which)
    parameters = np.asarray(flat_parameters(system))
    given = np.concatenate([parameters[list(which)], q, v])
    first = np.concatenate([q, np.zeros(n), v, np.zeros(2 * layout.m + layout.k)])
    found = find_root(by_state, first, given, np.array(t0), parameters)
    if found is None:
        raise StepFailure("the start cannot be brought onto the constraints; give a start nearer to them.")
    inverse = np.linalg.inv(by_state(found, given, np.array(t0), parameters)[1].toarray())
    slope = -inverse @ by_given(given, found, np.array(t0), parameters)[1].toarray()
    return Start(found[:n], found[2 * n : 3 * n], slope[: 3 * n])


@for_family(maxsize=32)
def _start_equations(family: Family, n: int, m: int, which: tuple[int, ...]) -> tuple[Function, Function]:
    """The equations with their derivatives by the state, and by what is given."""
    spread, kept = np.zeros((family.size, len(which))), np.ones(family.size)
    spread[list(which), np.arange(len(which))], kept[list(which)] = 1.0, 0.0

    def equations(y, given, t, parameters):
        q, p, v, mu, nu, kappa = jnp.split(y, np.cumsum([n, n, n, m, m]))
        theta, q_given, v_given = jnp.split(given, np.cumsum([len(which), n]))
        e = mechanics_of(family.at(kept * parameters + spread @ theta))
        return jnp.concatenate([
            q - q_given + e.constraint_force(t, q, mu), e.constraint(t, q),
            v - v_given + e.constraint_force(t, q, nu) + e.nonholonomic.force(t, q, v, kappa), e.hidden(t, q, v),
            e.velocity_constraint(t, q, v), e.legendre(t, q, v, p),
        ])  # fmt: skip

    return Function(equations), Function(lambda given, y, *rest: equations(y, given, *rest))
