"""Is the step small enough for the fastest oscillation of the system? Beyond a limit a method is unstable, or blind.

At a state the motion nearby obeys, to first order, w' = A w + ... with A = dv'/dq on the directions that the
constraints allow; its eigenvalues -omega^2 < 0 belong to oscillations. A step of size h turns them by h omega. RATTLE,
SHAKE and the symplectic Euler method are stable for h omega < 2 only; implicit methods may stay bounded beyond that,
but a wave that turns by more than 2 in a step is not followed by any of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..errors import InputError
from ..formulation import Mechanics, mechanics_of
from ..problem import OverdeterminedDAE
from ..stepping import rows_along
from ..trajectory import Trajectory, check_single

#: h omega beyond which explicit methods are unstable
LIMIT = 2.0
#: states of a run that are examined, spread over it
STATES = 12


@dataclass(frozen=True)
class StepResolution:
    """By how much the fastest oscillation turns in a step, at the worst of some states of a run.

    Attributes:
        turn: h omega there; below 2 the step is within the stability limit, well below 1 it resolves the motion.
        omega: the largest frequency.
        time: when that was.
        h: the step size of the run.
    """

    turn: float
    omega: float
    time: float
    h: float

    def __bool__(self) -> bool:
        """True if the step is within the limit."""
        return self.turn < LIMIT

    @property
    def largest_step(self) -> float:
        """The step size at the limit."""
        return LIMIT / self.omega if self.omega > 0 else np.inf


def step_resolution(run: Trajectory) -> StepResolution:
    """Compare the step size of a run with the fastest oscillation of its system, at some of its saved states."""
    check_single(run, "examine")
    if run.system is None:
        raise InputError("step_resolution needs the system, which a loaded file does not hold; repeat the run.")
    if isinstance(run.system, OverdeterminedDAE):
        raise InputError("step_resolution is for systems with a Lagrangian or a Hamiltonian, got an OverdeterminedDAE.")
    chosen = np.unique(np.linspace(0, len(run.t) - 1, STATES).astype(int))
    rows = run._info["rows"]
    states = tuple(jnp.asarray(np.asarray(part, dtype=np.float64)[chosen]) for part in (run.t, run.q, run.v, run.p))
    system = run._require_system("its linearised equations")
    pieces = [(slice(None), None)] if rows is None else rows_along(system, rows, *states[:2])
    omegas = []
    for piece, kept in pieces:
        stiffness, normals = _linearised(mechanics_of(system, kept), *(part[piece] for part in states))
        omegas += [_fastest(A, N) for A, N in zip(np.asarray(stiffness), np.asarray(normals), strict=True)]
    worst = int(np.argmax(omegas))
    h = float(np.max(run._info["h"]))
    return StepResolution(h * omegas[worst], omegas[worst], float(states[0][worst]), h)


@eqx.filter_jit
def _linearised(mechanics: Mechanics, t, q, v, p):
    """dv'/dq and the gradients of all constraints on the velocity, one of each a state."""

    def at(t, q, v, p):
        stiffness = jax.jacfwd(lambda q: mechanics.acceleration(t, q, v, p).v_rate)(q)
        holonomic = jax.jacfwd(lambda q: mechanics.constraint(t, q))(q)
        nonholonomic = jax.jacfwd(lambda v: mechanics.velocity_constraint(t, q, v))(v)
        return stiffness, jnp.concatenate([holonomic, nonholonomic])

    return jax.vmap(at)(t, q, v, p)


def _fastest(stiffness: np.ndarray, normals: np.ndarray) -> float:
    """The largest omega on the directions at right angles to the normals."""
    if not (np.all(np.isfinite(stiffness)) and np.all(np.isfinite(normals))):
        return 0.0
    _, singular, directions = np.linalg.svd(normals)
    rank = int(np.sum(singular > 1e-10 * max(1.0, np.max(singular, initial=0.0))))
    T = directions[rank:].T
    values = np.linalg.eigvals(T.T @ stiffness @ T) if T.shape[1] else np.zeros(1)
    return float(np.sqrt(max(0.0, -np.min(values.real))))
