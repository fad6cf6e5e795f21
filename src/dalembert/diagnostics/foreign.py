"""The same motion by programs of others, as a yardstick: scipy, and where they are installed scipy_dae and casadi.

Each gets the form of the equations that it is made for, with functions compiled by XLA and, where it asks for them,
exact Jacobians; z = (v', p', lam, psi) are accelerations and multipliers.

    scipy DOP853       y' = f(t, y),  y = (q, v, p), constraints differentiated twice
    casadi IDAS        y' = (v, v', p'),  0 = r(t, y, z), index 1
    scipy_dae Radau    q' = v - g_q^T m',  p' = rate - reactions(L', K'),  legendre = g = g_q v + g_t = k = 0

The last form (Gear, Gupta and Leimkuhler 1985) keeps constraints at both levels; L, K and m are integrals of
multipliers.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy
from jax.flatten_util import ravel_pytree

from ..errors import InputError, StepFailure
from ..formulation import Acceleration, mechanics_of
from ..problem import AbstractSystem, prepared
from ..stepping import consistent
from .reference import reduced_equations


class ForeignRun(NamedTuple):
    """States at the times asked for, time first, and the wall time that they took."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    p: np.ndarray
    seconds: float


class ForeignSolver:
    """One program, made ready for one motion: `solver(tolerance)` is a `ForeignRun`."""

    def __init__(self, name: str, system: AbstractSystem, q0, v0, times) -> None:
        system = prepared(system)
        if system.provides("gap"):
            raise InputError(f"{name} integrates smooth motions; {type(system).__name__} has contacts.")
        self.name, self.label = name, type(system).__name__
        self.times = np.asarray(times, dtype=np.float64)
        begin = consistent(system, q0, v0, float(self.times[0]))
        self._y0 = np.concatenate([np.asarray(x) for x in (begin.q, begin.v, begin.p)])
        self._integrate = MAKERS[name](system, self._y0, self.times)

    def __call__(self, tolerance: float) -> ForeignRun:
        """The motion with this relative and absolute tolerance; `StepFailure` where the program gives up."""
        begin = time.perf_counter()
        try:
            y = self._integrate(tolerance)
        except RuntimeError as error:
            raise StepFailure(
                f"{self.name} failed on {self.label} with the tolerance {tolerance:g}: {error}"
            ) from error
        seconds = time.perf_counter() - begin
        q, v, p = np.split(np.asarray(y), 3, axis=1)
        return ForeignRun(self.times, q, v, p, seconds)


def foreign_solvers() -> tuple[str, ...]:
    """The names of the programs that are installed."""
    packages = {"scipy DOP853": "scipy", "scipy_dae Radau": "scipy_dae", "casadi IDAS": "casadi"}
    return tuple(name for name, package in packages.items() if importlib.util.find_spec(package) is not None)


def _explicit(system: AbstractSystem, y0: np.ndarray, times: np.ndarray) -> Callable[[float], np.ndarray]:
    equations = reduced_equations(system, len(y0) // 3)

    def integrate(tolerance: float) -> np.ndarray:
        found = scipy.integrate.solve_ivp(
            equations.right_side, (times[0], times[-1]), y0, method="DOP853", rtol=tolerance, atol=tolerance,
            t_eval=times,
        )  # fmt: skip
        if not found.success:
            raise RuntimeError(found.message)
        return found.y.T

    equations.right_side(times[0], y0)  # compile before any clock runs
    return integrate


def _stabilised(system: AbstractSystem, y0: np.ndarray, times: np.ndarray) -> Callable[[float], np.ndarray]:
    from scipy_dae.integrate import solve_dae  # pyright: ignore[reportMissingImports]

    m, n = mechanics_of(system), len(y0) // 3
    start = reduced_equations(system, n).acceleration(times[0], y0)
    rows, columns = len(start.lam), len(start.psi)
    edges = np.cumsum([n, n, n, rows, rows])

    def equations(t, x, rate):
        q, v, p, *_ = jnp.split(x, edges)
        q_rate, _, p_rate, lam, mu, psi = jnp.split(rate, edges)
        return jnp.concatenate([
            q_rate - v + m.constraint_force(t, q, mu),
            p_rate - m.rate(t, q, v, p) + m.reactions(t, q, v, p, lam, psi),
            m.legendre(t, q, v, p), m.constraint(t, q), m.hidden(t, q, v), m.velocity_constraint(t, q, v),
        ])  # fmt: skip

    compiled, jacobian = jax.jit(equations), jax.jit(jax.jacfwd(equations, (1, 2)))
    x0 = np.concatenate([y0, np.zeros(2 * rows + columns)])
    rate0 = np.concatenate([y0[n : 2 * n], start.v_rate, start.p_rate, start.lam, np.zeros(rows), start.psi])

    def function(t, x, rate):
        return np.asarray(compiled(t, x, rate))

    def derivatives(t, x, rate):
        return tuple(np.asarray(part) for part in jacobian(t, x, rate))

    def integrate(tolerance: float) -> np.ndarray:
        found = solve_dae(
            function, (times[0], times[-1]), x0, rate0, method="Radau", t_eval=times, jac=derivatives,
            rtol=tolerance, atol=tolerance,
        )  # fmt: skip
        if not found.success:
            raise RuntimeError(found.message)
        return found.y.T[:, : 3 * n]

    function(times[0], x0, rate0)
    derivatives(times[0], x0, rate0)
    return integrate


def _index_one(system: AbstractSystem, y0: np.ndarray, times: np.ndarray) -> Callable[[float], np.ndarray]:
    import casadi  # pyright: ignore[reportMissingImports]

    m, n = mechanics_of(system), len(y0) // 3
    start = reduced_equations(system, n).acceleration(times[0], y0)
    z0, unravel = ravel_pytree(Acceleration(*(jnp.asarray(part) for part in start)))

    def algebraic(w):
        t, y, z = w[0], w[1 : 1 + 3 * n], w[1 + 3 * n :]
        return ravel_pytree(m.acceleration_residual(unravel(z), t, *jnp.split(y, 3)))[0]

    t, y, z = casadi.MX.sym("t"), casadi.MX.sym("y", 3 * n), casadi.MX.sym("z", len(z0))
    # casadi does not keep callbacks alive: this one has to live as long as `integrate`
    callback = _callback(casadi, jax.jit(algebraic), jax.jit(jax.jacfwd(algebraic)), 1 + 3 * n + len(z0), len(z0))
    equations = {
        "t": t, "x": y, "z": z, "ode": casadi.vertcat(y[n : 2 * n], z[: 2 * n]),
        "alg": callback(casadi.vertcat(t, y, z)),
    }  # fmt: skip

    def integrate(tolerance: float, keep=callback) -> np.ndarray:
        options = {"abstol": tolerance, "reltol": tolerance, "max_num_steps": 10**6, "disable_internal_warnings": True}
        solver = casadi.integrator("motion", "idas", equations, float(times[0]), [float(x) for x in times], options)
        return np.asarray(solver(x0=y0, z0=np.asarray(z0))["xf"]).T

    return integrate


def _callback(casadi: Any, function, jacobian, size: int, rows: int) -> Any:
    """A function of one vector for casadi, with its Jacobian."""

    class Callback(casadi.Callback):
        def __init__(
            self, name: str, evaluate, inputs: list[tuple[int, int]], shape: tuple[int, int], derivative
        ) -> None:
            casadi.Callback.__init__(self)
            self._evaluate, self._inputs, self._shape, self._derivative = evaluate, inputs, shape, derivative
            self.construct(name, {})

        def get_n_in(self):
            return len(self._inputs)

        def get_n_out(self):
            return 1

        def get_sparsity_in(self, k):
            return casadi.Sparsity.dense(*self._inputs[k])

        def get_sparsity_out(self, _):
            return casadi.Sparsity.dense(*self._shape)

        def eval(self, arguments):
            return [casadi.DM(np.asarray(self._evaluate(np.asarray(arguments[0]).ravel())))]

        def has_jacobian(self):
            return self._derivative is not None

        def get_jacobian(self, *_):
            return self._derivative

    derivative = Callback("derivative", jacobian, [(size, 1), (rows, 1)], (rows, size), None)
    return Callback("algebraic", function, [(size, 1)], (rows, 1), derivative)


MAKERS = {"scipy DOP853": _explicit, "scipy_dae Radau": _stabilised, "casadi IDAS": _index_one}
