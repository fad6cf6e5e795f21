"""`lqr`: linear feedback of least quadratic cost, at an equilibrium or along a motion.

At an equilibrium, with z' = A z + B w, w = u - u_0, the cost is the integral of x^T Q x + w^T R w over all times, where
x = T z; the algebraic Riccati equation (Kalman 1960) gives w = -K z. Linearised steps,
z_1 = A z + B w, have its discrete form with the sum over all steps.

Along a motion with the states x_k and inputs u_k, whose steps have the derivatives A_k, B_k in bases T_k of the tangent
spaces, the cost is the sum over its steps and x_N^T Q_N x_N at the end::

    K_k = (R + B_k^T S_(k+1) B_k)^-1 B_k^T S_(k+1) A_k
    S_k = T_k^T Q T_k + A_k^T S_(k+1) (A_k - B_k K_k),        S_N = T_N^T Q_N T_N
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, solve_continuous_are, solve_discrete_are

from ..arguments import floats, shown
from ..errors import InputError, ModelError
from ..problem import inputs_of, undriven
from ..trajectory import Trajectory
from .equilibrium import Equilibrium
from .linearise import Linearisation, tangent_space
from .step_maps import step_maps

#: A direction whose part in B is smaller than this cannot be moved by the inputs.
UNMOVED = 1e-9


@dataclass(frozen=True)
class Regulator:
    """u = u_0 - K T^T ((q, v) - (q_0, v_0)): a control for `simulate` and `Sampled`.

    Attributes:
        gain: K T^T, (inputs, 2n).
        cost: S, (d, d): z^T S z is the cost of bringing z to rest.
        eigenvalues: those of the closed loop.
    """

    gain: np.ndarray
    cost: np.ndarray = field(repr=False)
    eigenvalues: np.ndarray
    linear: Linearisation = field(repr=False)

    def __call__(self, t, q, v) -> np.ndarray:
        """The inputs at a state."""
        away = np.concatenate([np.asarray(q) - self.linear.q, np.asarray(v) - self.linear.v])
        return self.linear.u - self.gain @ away


@dataclass(frozen=True)
class Tracker:
    """u = u_k - K_k T_k^T ((q, v) - (q_k, v_k)) in the step k from t_k on: a control for `simulate`.

    Attributes:
        gains: K_k T_k^T, (steps, inputs, 2n).
        costs: S_k, as matrices of the reduced coordinates.
    """

    gains: np.ndarray
    costs: list[np.ndarray] = field(repr=False)
    run: Trajectory = field(repr=False)

    def __call__(self, t, q, v) -> np.ndarray:
        """The inputs at a state; after the end those of the last step."""
        run = self.run
        k = min(int((t - run.t[0]) / (run.t[1] - run.t[0]) + 1e-9), len(self.gains) - 1)
        away = np.concatenate([np.asarray(q) - run.q[k], np.asarray(v) - run.v[k]])
        return run.u[k + 1] - self.gains[k] @ away


def lqr(about, state_weight, input_weight, final_weight=None) -> Any:
    """The linear feedback of least quadratic cost.

    Args:
        about: a `Linearisation` or an `Equilibrium`; or a run with inputs that are constant in each step, whose every
            state was saved, such as `optimal_control` gives: the feedback then keeps to its motion.
        state_weight: Q, (2n, 2n), or its diagonal, (2n,), for (q, v); or one number.
        input_weight: R, (inputs, inputs), or its diagonal, or one number; positive definite.
        final_weight: of a run, the weight of its last state; default Q.
    """
    if isinstance(about, Trajectory):
        return _along(about, state_weight, input_weight, final_weight)
    linear = about.linearised if isinstance(about, Equilibrium) else about
    if not isinstance(linear, Linearisation):
        raise InputError(
            f"about must be what da.linearise or da.equilibrium gave, or a controlled run, got {shown(about, 80)}."
        )
    if final_weight is not None:
        raise InputError("final_weight is for a run; about an equilibrium the cost goes on for all times.")
    if not linear.B.shape[1]:
        raise InputError("feedback needs a system with inputs, this one declares none.")
    Q, R = _weights(state_weight, input_weight, len(linear.T), linear.B.shape[1])
    reduced = linear.T.T @ Q @ linear.T
    _check_movable(linear)
    try:
        solve = solve_discrete_are if linear.h else solve_continuous_are
        S = solve(linear.A, linear.B, reduced, R)
    except (LinAlgError, ValueError) as error:
        raise ModelError(
            "the Riccati equation has no stabilising solution: a mode that neither decays nor can be moved by the "
            f"inputs, or that state_weight does not see. Eigenvalues without feedback: {linear.eigenvalues}."
        ) from error
    if linear.h:
        K = np.linalg.solve(R + linear.B.T @ S @ linear.B, linear.B.T @ S @ linear.A)
    else:
        K = np.linalg.solve(R, linear.B.T @ S)
    return Regulator(K @ linear.T.T, S, np.linalg.eigvals(linear.A - linear.B @ K), linear)


def _weights(state, control, n_state: int, n_input: int) -> tuple[np.ndarray, np.ndarray]:
    Q, R = _matrix("state_weight", state, n_state), _matrix("input_weight", control, n_input)
    for name, matrix, least in (("state_weight", Q, -1e-12), ("input_weight", R, 0.0)):
        smallest = np.linalg.eigvalsh(matrix)[0]
        if not smallest > least * max(1.0, np.max(np.abs(matrix))):
            kind = "positive definite" if name == "input_weight" else "positive semidefinite"
            raise InputError(f"{name} must be {kind}, its smallest eigenvalue is {smallest:.3g}.")
    return Q, R


def _matrix(name: str, value, size: int) -> np.ndarray:
    found = floats(name, value, finite=True)
    if found.shape == ():
        found = np.eye(size) * found
    elif found.shape == (size,):
        found = np.diag(found)
    if found.shape != (size, size):
        raise InputError(f"{name} must be a number or have shape ({size},) or ({size}, {size}), got {found.shape}.")
    if not np.allclose(found, found.T, rtol=1e-12, atol=0):
        raise InputError(f"{name} must be symmetric.")
    return found


def _check_movable(linear: Linearisation) -> None:
    """Refuse modes that do not decay and that no input moves, by name (Hautus' test)."""
    for value in linear.eigenvalues:
        grows = abs(value) >= 1 - 1e-9 if linear.h else value.real >= -1e-9 * max(1.0, abs(value))
        if not grows:
            continue
        size = len(linear.A)
        test = np.concatenate([linear.A - value * np.eye(size), linear.B], axis=1)
        smallest = np.linalg.svd(test, compute_uv=False)[-1]
        if smallest < UNMOVED * max(1.0, np.max(np.abs(test))):
            raise ModelError(
                f"the inputs cannot move the mode with the eigenvalue {value:.4g}, which does not decay: no feedback "
                "stabilises it. Add an input that acts on it, or linearise another system."
            )


def _along(run: Trajectory, state_weight, input_weight, final_weight) -> Tracker:
    system, method = run.system, run.method
    if system is None or method is None:
        raise InputError("feedback along a run needs its system, which a loaded file does not hold.")
    steps, inputs = len(run.t) - 1, inputs_of(system)
    if not inputs.size:
        raise InputError("feedback needs a system with inputs, that of this run declares none.")
    sizes = np.diff(run.t)
    if steps < 1 or np.ptp(sizes) > 1e-9 * sizes[0] or round(float(sizes[0] / run.h), 6) != 1.0:
        raise InputError("feedback along a run needs every state of steps of one size: use save_every=1.")
    base, n = undriven(system), run.q.shape[1]
    Q, R = _weights(state_weight, input_weight, 2 * n, inputs.size)
    last = Q if final_weight is None else _matrix("final_weight", final_weight, 2 * n)
    maps = step_maps(base, method, run.t[:-1], run.q[:-1], run.v[:-1], run.u[1:], float(sizes[0]))
    bases = [tangent_space(base, None, float(t), q, v) for t, q, v in zip(run.t, run.q, run.v, strict=True)]
    S = bases[-1].T @ last @ bases[-1]
    gains, costs = [], [S]
    for k in reversed(range(steps)):
        A = bases[k + 1].T @ maps.by_state[k] @ bases[k]
        B = bases[k + 1].T @ maps.by_input[k]
        K = np.linalg.solve(R + B.T @ S @ B, B.T @ S @ A)
        S = bases[k].T @ Q @ bases[k] + A.T @ S @ (A - B @ K)
        S = (S + S.T) / 2
        gains.append(K @ bases[k].T)
        costs.append(S)
    return Tracker(np.array(gains[::-1]), costs[::-1], run)
