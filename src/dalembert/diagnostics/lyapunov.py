"""Lyapunov exponents: how fast neighbours of a motion leave it, from the tangents of the method's own steps.

With tangents Y_0 orthonormal in (q, p), and the linear map Phi_k along the k-th part of the run (Benettin et al. 1980,
doi:10.1007/BF02128236),

    Phi_k Y_k = Y_{k+1} R_k,    lambda_i = (1 / T) sum_k log (R_k)_ii
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..arguments import count, instance
from ..engine import Grid, Task, native_run, reason_for_xla
from ..errors import InputError, MethodDoesNotFit
from ..method import Method
from ..problem import AbstractSystem
from ..stepping import Options, assemble, equal_steps, flat_parameters
from ..stepping.options import Given, checked
from ..stepping.prologue import begin
from .structure import tangent_basis

#: Parts into which a run is divided at least, if nothing else is said: tangents are made orthogonal after each.
PARTS = 100


def lyapunov_spectrum(
    system: AbstractSystem, method: Method, q0, v0=None, p0=None, t: tuple[float, float] = (0.0, 100.0),
    h: float = 0.01, *, number: int | None = None, every: int | None = None,
) -> np.ndarray:  # fmt: skip
    """The `number` largest Lyapunov exponents along a run, in 1/time, largest first; by default those of all directions
    tangent to the constraints, two for each degree of freedom.

    Args:
        system, method, q0, v0, p0, t, h: as `da.simulate` has them.
        number: how many exponents.
        every: steps after which the tangents are made orthogonal again; it must divide the steps of the run.
    """
    instance("method", method, Method, "a method such as da.Rattle()")
    system, grid = checked(system, method), equal_steps(t, h)
    every = _part_of(grid.steps) if every is None else count("every", every)
    if grid.steps % every:
        raise InputError(f"every = {every} does not divide the {grid.steps} steps of the run.")
    start = begin(system, method, Given(q0, v0, p0), Options(), grid.t0)
    functions, n = assemble(system, method, start.layout, start.rows), start.layout.n
    parameters, reason = flat_parameters(system), reason_for_xla(functions)
    if start.rows is not None or start.layout.k:
        reason = "constraints on the velocity, or dependent ones, are not treated"
    if reason is not None:
        raise MethodDoesNotFit(f"the tangents of this run cannot be propagated in compiled code: {reason}.")
    directions = tangent_basis(system, grid.t0, *(np.asarray(part) for part in _qvp(start.state)))
    most = directions.shape[1]
    wanted = most if number is None else count("number", number, most=most)
    mixed = directions @ np.random.default_rng(0).standard_normal((directions.shape[1], wanted))

    def state_of(z):
        found = begin(system, method, Given(z[:n], None, z[n:]), Options(project=True), grid.t0)
        return found.layout.flatten(found.state)

    def advanced(state, t0):
        return native_run(task, state, t0, grid.h, parameters)[0][-1]

    def along(function, at, columns):
        """The images of the columns under the derivative, and the value."""
        images = jax.vmap(lambda column: jax.jvp(function, (at,), (column,))[1], 1, 1)(columns)
        return function(at), images

    task = Task(functions, True, Grid(every, every), True)
    step = jax.jit(lambda state, t0, columns: along(lambda s: advanced(s, t0), state, columns))
    z = jnp.concatenate([start.state.q, start.state.p])
    state, columns = along(state_of, z, jnp.asarray(np.linalg.qr(mixed)[0]))
    logarithms = np.zeros(wanted)
    for k in range(grid.steps // every):
        state, columns = step(state, grid.t0 + k * every * grid.h, columns)
        _, upper = np.linalg.qr(np.asarray(columns[: 2 * n]))
        columns = jnp.asarray(np.linalg.solve(upper.T, np.asarray(columns).T).T)
        logarithms += np.log(np.abs(np.diag(upper)))
    return np.sort(logarithms / (grid.steps * grid.h))[::-1]


def _qvp(state: Any) -> tuple:
    return state.q, state.v, state.p


def _part_of(steps: int) -> int:
    """The largest divisor that leaves at least so many parts, if there are as many steps."""
    return max(every for every in range(1, max(1, steps // PARTS) + 1) if steps % every == 0)
