"""The energy balance along a run: E(t) - E(t0) against the work that was done (Jay 2009, section 2.2).

Along a motion with d/dt L_v = L_q + F - g_q^T lam - k_v^T psi + N, the energy E = v . L_v - L changes by::

    E' = F . v + N . v - (g_q^T lam) . v - (k_v^T psi) . v - L_t            Hamiltonians: H_t in place of -L_t

Since g_q v = -g_t, ideal holonomic constraints do work where they move, and nonholonomic ones where they are not linear
in v: for K v + b it is psi . b. The multipliers are those of the continuous equations at the saved states, whatever the
method records. Each power is integrated through the saved states by polynomials through p + 2 neighbours, p the order
of the method: so the balance closes to the order of the method where the forces are smooth.

An impulse P of a contact during a step does the work P . (U_0 + U_1) / 2 with the relative velocities U at both ends,
exactly for an impact in one place; impulses and sliding forces of a time-stepping method are of first order in h.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import RowFunction
from ..errors import InputError
from ..formulation import Mechanics, mechanics_of
from ..method import EventCapturing
from ..problem import HamiltonianSystem
from ..stepping import Family, flat_parameters, for_family, is_traced, multipliers, redundant_multipliers
from .record import check_single

if TYPE_CHECKING:
    from .record import Trajectory

#: The most states through which one polynomial goes, and intervals whose weights are computed together.
MOST_NEIGHBOURS, TOGETHER = 14, 20_000
#: What does work, in the order of the powers.
CAUSES = ("force", "reaction", "holonomic", "nonholonomic", "explicit time")
#: The part of a system without which a cause does none.
NEEDED = {"force": "force", "reaction": "reaction", "holonomic": "holonomic", "nonholonomic": "nonholonomic"}


@dataclass(frozen=True)
class EnergyBalance:
    """E(t) - E(t0) and the work done since t0, at the saved states.

    Attributes:
        t: times, (N,).
        change: E(t) - E(t0), (N,).
        work: by cause, (N,) each: "force", "reaction" (its non-ideal part), "holonomic" and "nonholonomic" (ideal
            constraints that move), "explicit time" (-L_t or H_t), "contacts".
        defect: change - all work, (N,): what the method made up or lost.
    """

    t: np.ndarray
    change: np.ndarray
    work: dict[str, np.ndarray]

    @property
    def defect(self) -> np.ndarray:
        return self.change - sum(self.work.values(), np.zeros(len(self.t)))

    @property
    def largest_defect(self) -> float:
        """max |defect|."""
        return float(np.max(np.abs(self.defect), initial=0.0))

    def __repr__(self) -> str:
        done = ", ".join(f"{cause} {values[-1]:.6g}" for cause, values in self.work.items()) or "none"
        change = self.change[-1] if len(self.t) else 0.0
        return f"EnergyBalance(change={change:.6g}; work: {done}; largest defect {self.largest_defect:.1e})"


def energy_balance(self: Trajectory) -> EnergyBalance:
    """The change of the energy against the work of forces, of non-ideal reactions, of constraints that move, of a
    Lagrangian that depends on time, and of contacts."""
    check_single(self, "ask")
    if is_traced(self.t, self.q):
        raise InputError("energy_balance works with numbers; ask outside jit, vmap and grad.")
    if "u" in self._arrays:
        raise InputError(
            "energy_balance integrates powers through the saved states as smooth functions, and the inputs of this run "
            "jump from step to step; their work is the integral of u times the rate that they drive."
        )
    energy = np.asarray(self.energy, dtype=np.float64)  # refused where there is none
    system = self._require_system("the work of forces and constraints")
    states = tuple(np.asarray(part, dtype=np.float64) for part in (self.t, self.q, self.v, self.p))
    lam, psi = _multipliers(self, system, states)
    parameters = np.broadcast_to(np.asarray(flat_parameters(system)), (len(energy), len(flat_parameters(system))))
    powers = _powers(Family(system))(*states, lam, psi, parameters)
    present = [cause not in NEEDED or system.provides(NEEDED[cause]) for cause in CAUSES]
    order = 2 if self.method is None else self.method.order
    works = integrals(states[0], powers[:, present], order + 2)
    work = dict(zip([cause for cause, here in zip(CAUSES, present, strict=True) if here], works.T, strict=True))
    if not np.any(work["explicit time"]):
        del work["explicit time"]
    if system.provides("gap"):
        work["contacts"] = _work_of_contacts(self, system, states, parameters)
    return EnergyBalance(states[0], energy - energy[0], work)


#: `run.energy_balance`.
of_run = property(energy_balance)


def _multipliers(run: Trajectory, system, states) -> tuple[np.ndarray, np.ndarray]:
    """lam and psi of the continuous equations at the saved states."""
    rows, count, (t, q, v, p) = run._info["rows"], np.shape(run.lam)[-1], states
    if rows is not None:
        return redundant_multipliers(system, rows, t, q, v, p, count)
    both = multipliers(system, None, t, q, v, p)
    return both[:, :count], both[:, count:]


@for_family()
def _powers(family: Family) -> RowFunction:
    return RowFunction(lambda *arguments: _powers_of(mechanics_of(family.at(arguments[-1])), *arguments[:-1]))


def _powers_of(m: Mechanics, t, q, v, p, lam, psi):
    """The powers of `CAUSES` at one state."""
    one, system = jnp.ones_like(t), m.system
    not_ideal = m.reactions(t, q, v, p, lam, psi, ideal=True) - m.reactions(t, q, v, p, lam, psi)
    if isinstance(system, HamiltonianSystem):
        explicit = jax.jvp(lambda t: system.hamiltonian(t, q, p), (t,), (one,))[1]
    else:
        explicit = -jax.jvp(lambda t: system.lagrangian(t, q, v), (t,), (one,))[1]  # pyright: ignore
    holonomic, nonholonomic = m.constraint_force(t, q, lam), m.nonholonomic.force(t, q, v, psi)
    return jnp.stack([m.external_force(t, q, v) @ v, not_ideal @ v, -holonomic @ v, -nonholonomic @ v, explicit])


def integrals(t: np.ndarray, values: np.ndarray, neighbours: int) -> np.ndarray:
    """The integrals from t[0] to every t of functions known there, (N, k), by polynomials through neighbours."""
    intervals = len(t) - 1
    if intervals < 1:
        return np.zeros_like(values)
    count = min(neighbours, MOST_NEIGHBOURS, len(t))
    first = np.clip(np.arange(intervals) - (count - 2) // 2, 0, len(t) - count)
    parts = np.empty((intervals, values.shape[1]))
    for begin in range(0, intervals, TOGETHER):
        some = np.arange(begin, min(begin + TOGETHER, intervals))
        near = first[some, None] + np.arange(count)
        reach = np.max(np.abs(t[near] - t[some, None]), axis=1, keepdims=True)
        x, end = (t[near] - t[some, None]) / reach, (t[some + 1] - t[some])[:, None] / reach
        powers = np.arange(count)
        moments = end ** (powers + 1) / (powers + 1)
        weights = np.linalg.solve(x[:, None, :] ** powers[:, None], moments[..., None])[..., 0] * reach
        parts[some] = np.einsum("ij,ijk->ik", weights, values[near])
    return np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(parts, axis=0)])


def _work_of_contacts(run: Trajectory, system, states, parameters) -> np.ndarray:
    if isinstance(run.method, EventCapturing):
        raise InputError(
            "energy_balance sees impulses between saved states, not the impacts and the sliding inside a step of "
            "da.EventCapturing; run.events holds the velocities before and after each event, and its impulse."
        )
    if run.stats["steps"] > len(run.t) - 1:
        raise InputError("the work of contacts needs the impulses of every step; repeat the run with save_every=1.")
    velocity = _approach(Family(system))(*states[:3], parameters)
    impulse = np.asarray(run.impulse, dtype=np.float64).reshape(len(run.t), -1)
    steps = np.sum(impulse[1:] * (velocity[1:] + velocity[:-1]) / 2, axis=1)
    return np.concatenate([[0.0], np.cumsum(steps)])


@for_family()
def _approach(family: Family) -> RowFunction:
    def velocity(t, q, v, parameters):
        return jnp.ravel(mechanics_of(family.at(parameters)).contact.velocity(t, q, v))

    return RowFunction(velocity)
