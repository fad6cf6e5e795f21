"""A tight reference solution of any smooth system, by another road than the methods of this library.

The constraints are differentiated twice, and the ordinary differential equation that is left is given to
scipy's Dormand-Prince method of order 8 at a tolerance near roundoff::

    q' = v,   (v', p', lam) from  p' = rate - g_q^T lam,  d/dt legendre = 0,  d/dt (g_q v + g_t) = 0

Its constraints drift, but over short intervals by no more than the tolerance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy

from ..arguments import floats, interval
from ..errors import InputError, StepFailure
from ..formulation import Acceleration, mechanics_of
from ..problem import AbstractSystem, State, prepared
from ..stepping import Family, consistent, flat_parameters, for_family


class ReducedEquations(NamedTuple):
    """Compiled functions of (t, y), y = (q, v, p)."""

    acceleration: Callable[..., Acceleration]
    right_side: Callable[..., np.ndarray]


def reduced_equations(system: AbstractSystem, n: int) -> ReducedEquations:
    """The ordinary differential equation y' = right_side(t, y) of a prepared system with n coordinates."""
    rates, parameters = _rates(Family(system), n), np.asarray(flat_parameters(system))

    def at(t, y):
        return rates(parameters, np.asarray(t, dtype=float), y)  # always an array, so that it is compiled once

    return ReducedEquations(lambda t, y: at(t, y)[0], lambda t, y: np.asarray(at(t, y)[1]))


@for_family(maxsize=64)
def _rates(family: Family, n: int) -> Callable[..., tuple[Acceleration, jax.Array]]:
    """The acceleration and the right side by XLA, not by the engine that the reference checks; compiled once for all
    parameters."""

    @jax.jit
    def rates(parameters, t, y):
        found = mechanics_of(family.at(parameters)).acceleration(t, *jnp.split(y, 3))
        return found, jnp.concatenate([y[n : 2 * n], found.v_rate, found.p_rate])

    return rates


def reference_solution(
    system: AbstractSystem, q0, v0=None, t=(0.0, 1.0), *, p0=None, times=None, tolerance: float = 1e-13
) -> State:
    """q, p, v, lam, psi at the end of t = (t0, t1), or time first at the given `times` between t0 and t1.

    For systems without contact; accurate to some 1e-12 as long as the motion is not chaotic over t.
    """
    system = prepared(system)
    if system.provides("gap"):
        raise InputError(
            f"reference_solution expects a system without contact, got {type(system).__name__} with a gap; "
            "give a reference of your own."
        )
    t0, t1 = interval(t)
    begin = consistent(system, q0, v0, t0, p0=p0)
    acceleration, right_side = reduced_equations(system, len(begin.q))
    y0 = np.concatenate([np.asarray(x) for x in (begin.q, begin.v, begin.p)])
    wanted = np.array([t1]) if times is None else floats("times", times, finite=True)
    solution = scipy.integrate.solve_ivp(
        right_side, (t0, t1), y0, method="DOP853", rtol=tolerance, atol=tolerance, t_eval=wanted
    )
    if not solution.success:
        raise StepFailure(f"the reference solution of {type(system).__name__} failed: {solution.message}")
    y = solution.y.T
    found = [acceleration(time, row) for time, row in zip(wanted, y, strict=True)]
    lam, psi = (np.array([getattr(each, name) for each in found]) for name in ("lam", "psi"))
    q, v, p = np.split(y, 3, axis=1)
    state = State(*(jnp.asarray(x) for x in (q, p, v, lam, psi)))
    return state if times is not None else state.row(-1)
