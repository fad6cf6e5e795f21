"""Compositions go backwards in some of their substeps; through a damper that means to be driven by it.

Along a substep of size f h < 0 a motion damped at the rate r, v' = -r v, grows by exp(r |f| h). For r |f| h beyond one
the implicit equations of the substep have no solution near their start, or a useless one.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from ..formulation import mechanics_of
from ..method import Method
from ..problem import AbstractSystem, State
from .consistent import ConsistentStart

#: r |f| h from which on a substep backwards is blamed for what fails.
TOO_STIFF = 1.0
CAUSE = (
    "Substeps of {method} go backwards in time, by up to {fraction:.3g} h, where the damping of this system (rate "
    "{rate:.3g}) drives it: the likely cause. Use a method without substeps backwards, such as da.Rattle(), "
    "da.Galerkin(2) or da.gauss_spark(3), or h below about {h:.2g}."
)


def backward_fraction(method: Method) -> float:
    """The largest part of a step that a substep goes backwards; 0 for a method that only goes forwards."""
    return max(0.0, -min(_fractions(method), default=0.0))


def _fractions(method: Method) -> list[float]:
    parts = ((float(substep.fraction), _fractions(substep.method) or [1.0]) for substep in method.substeps)
    return [fraction * inner for fraction, within in parts for inner in within]


def damping_rate(system: AbstractSystem, t: float, state: State | ConsistentStart) -> float:
    """The largest r of the modes of M v' = F_v v that are damped, v ~ exp(-r t); 0 without a force."""
    if not system.provides("force"):
        return 0.0
    m, (q, p, v) = mechanics_of(system), (jnp.asarray(part) for part in (state.q, state.p, state.v))
    slope = np.asarray(jax.jacfwd(lambda v: m.external_force(t, q, v))(v))
    nothing = jnp.zeros_like(v)  # A v' + B p' = 0 with p' = F_v v
    by_velocity = np.asarray(jax.jacfwd(lambda w: m.mass_residual(w, nothing, t, q, v, p))(nothing))
    by_momentum = np.asarray(jax.jacfwd(lambda pi: m.mass_residual(nothing, pi, t, q, v, p))(nothing))
    try:
        rates = np.linalg.eigvals(np.linalg.solve(by_velocity, by_momentum @ slope))
    except np.linalg.LinAlgError:
        return 0.0
    return float(np.max(np.real(rates), initial=0.0)) if np.all(np.isfinite(rates)) else 0.0


def cause_in_substeps(
    system: AbstractSystem, method: Method, t: float, state: State | ConsistentStart, h: float
) -> str:
    """What to say where a step failed that goes backwards through a damper; "" where it does not."""
    fraction = backward_fraction(method)
    rate = damping_rate(system, t, state) if fraction > 0 else 0.0
    if rate * fraction * abs(h) <= TOO_STIFF:
        return ""
    return CAUSE.format(method=method.name, fraction=fraction, rate=rate, h=TOO_STIFF / (rate * fraction))
