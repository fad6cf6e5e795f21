"""One system with one method: a run, its numbers, and which of the method's claims they bear out."""

from __future__ import annotations

from dataclasses import dataclass, field

import jax.numpy as jnp
import numpy as np

from ..diagnostics import EndErrors, drift, end_errors, observed_order, reference_solution
from ..errors import InputError
from ..formulation import mechanics_of
from ..gallery import Ready
from ..method import Method
from ..problem import State
from ..trajectory import Trajectory, simulate

#: The step sizes of the order, as multiples of the default one, and the interval in default steps.
REFINEMENTS = (2.0, 1.0, 0.5, 0.25)
ORDER_STEPS = 100
#: Far below the errors of second-order methods at these step sizes.
REFERENCE_TOLERANCE = 1e-11
#: The speed is that of the fastest of so many runs.
REPEATS = 5
#: How far an observed order may stay behind the claimed one.
ORDER_TOLERANCE = 0.2
#: A constraint holds if its residual stays below this, relative to the sizes of q and v.
CONSTRAINT_TOLERANCE = 1e-12
#: The part of the largest energy error that may be a linear trend.
TREND = 0.8


@dataclass
class Measurement:
    """The numbers of one system with one method; `failures` names the claims that they contradict."""

    system_name: str
    method_name: str
    run: Trajectory
    orders: dict[str, float | None]
    errors: EndErrors
    max_constraint: float
    max_hidden: float
    energy_error: float
    energy_trend: float
    conserves_energy: bool
    invariants: dict[str, float]
    steps_per_second: float
    failures: list[str] = field(default_factory=list)


def measure(
    system_name: str, system: Ready, method_name: str, method: Method, reference: State | None = None
) -> Measurement:
    """Run the system from its default start, measure orders over a shorter interval, compare with the claims.

    `reference` is that of `reference_of`, if it is known already.
    """
    start = system.start()
    arguments = (system, method, start.q0, start.v0, None, (0.0, start.t_end), start.h)
    run, *others = (simulate(*arguments) for _ in range(REPEATS))
    fastest = min(other.stats["wall_seconds"] for other in others)  # the first one may have compiled
    errors = _errors(system, method, reference_of(system) if reference is None else reference)
    energy, trend = np.asarray(run.energy), drift(run.t, run.energy)
    found = Measurement(
        system_name=system_name,
        method_name=method_name,
        run=run,
        orders={name: _order(errors, name) for name in errors.errors},
        errors=errors,
        max_constraint=float(np.max(run.constraint)),
        max_hidden=float(np.max(run.hidden)),
        energy_error=float(np.max(np.abs(energy - energy[0]))),
        energy_trend=abs(trend.slope) * start.t_end,
        conserves_energy=_is_autonomous(system, run),
        invariants={
            name: float(np.max(np.abs(np.asarray(x) - np.asarray(x)[:1]))) for name, x in run.invariants.items()
        },
        steps_per_second=run.stats["steps"] / max(fastest, 1e-9),
    )
    found.failures = _failures(found, method)
    return found


def reference_of(system: Ready) -> State:
    """The state at the end of the interval of the orders: exact if known, else computed tightly."""
    start = system.start()
    end = ORDER_STEPS * start.h
    exact = system.exact(np.array([end]))
    if exact is not None:
        return exact.row(-1)
    return reference_solution(system, start.q0, start.v0, (0.0, end), tolerance=REFERENCE_TOLERANCE)


def _errors(system: Ready, method: Method, reference: State) -> EndErrors:
    start = system.start()
    end = ORDER_STEPS * start.h
    names = ("q", "p", "lam") if system.provides("holonomic") else ("q", "p")
    hs = [factor * start.h for factor in REFINEMENTS]
    return end_errors(system, method, start.q0, start.v0, (0.0, end), hs, reference, quantities=names)


def _order(errors: EndErrors, name: str) -> float | None:
    try:
        return observed_order(errors.hs, errors.errors[name]).slope
    except InputError:
        return None  # too few errors above roundoff


def _is_autonomous(system: Ready, run: Trajectory) -> bool:
    """True if nothing depends on time and no outer force acts, judged at a state of the run."""
    if system.provides("force"):
        return False
    q, v, p = (np.asarray(x)[len(run) // 3] for x in (run.q, run.v, run.p))
    mechanics = mechanics_of(system)
    now, later = (
        (mechanics.energy(t, q, v, p), mechanics.constraint(t, q)) for t in (jnp.asarray(0.0), jnp.asarray(0.37))
    )
    return all(np.allclose(np.asarray(a), np.asarray(b)) for a, b in zip(now, later, strict=True))


def _failures(found: Measurement, method: Method) -> list[str]:
    claims, failures = method.claims, []
    claimed = {"q": claims.order, "p": claims.order, "lam": claims.multiplier_order}
    for name, order in found.orders.items():
        if order is not None and claimed[name] is not None and order < claimed[name] - ORDER_TOLERANCE:
            failures.append(f"order of {name}: {order:.2f}, claimed {claimed[name]}")
    q_size, v_size = (max(1.0, float(np.max(np.abs(x)))) for x in (found.run.q, found.run.v))
    if "position" in claims.constraints and found.max_constraint > CONSTRAINT_TOLERANCE * q_size**2:
        failures.append(f"max |g| = {found.max_constraint:.1e}")
    if "velocity" in claims.constraints and found.max_hidden > CONSTRAINT_TOLERANCE * q_size * v_size:
        failures.append(f"max |g_q v + g_t| = {found.max_hidden:.1e}")
    if claims.bounded_energy and found.conserves_energy and found.energy_trend > TREND * found.energy_error:
        failures.append(f"the energy drifts: {found.energy_trend:.1e} of {found.energy_error:.1e} is a linear trend")
    return failures
