"""Contacts at the start of a run: open or closed, never penetrating; what approaches at once is said."""

from __future__ import annotations

import warnings

import numpy as np

from ..errors import ContactWarning, InconsistentStart, ModelError
from ..problem import AbstractSystem
from .family import observe

#: A gap that is more negative than this, relative to the size of the positions, is a penetration.
GAP_TOLERANCE = 1e-9
#: A closed contact that approaches faster than this, relative to the velocities, is an impact.
APPROACH_TOLERANCE = 1e-9


def check_gaps(system: AbstractSystem, t: float, q: np.ndarray, v: np.ndarray) -> None:
    """Refuse penetration; warn of contacts that are closed and approach."""
    name = type(system).__name__
    rows = (np.array([t]), q[None], v[None], v[None])
    gap, approach = (observe(system, what, *rows)[0] for what in ("gap", "approach"))
    if not (np.all(np.isfinite(gap)) and np.all(np.isfinite(approach))):
        raise ModelError(f"{name}.gap or its derivative is not finite at the start (t={t:g}); check q0.")
    size = GAP_TOLERANCE * max(1.0, float(np.max(np.abs(q))))
    worst = int(np.argmin(gap))
    if gap[worst] < -size:
        others = int(np.sum(gap < -size)) - 1
        more = f" (and {others} more)" if others else ""
        raise InconsistentStart(
            f"{name}: the start penetrates contact gap[{worst}]{more}: gap = {gap[worst]:.6g}, expected at least 0. "
            "Move q0 apart."
        )
    steepness = observe(system, "steepness", *rows)[0]
    flat = np.flatnonzero((gap <= size) & (steepness * max(1.0, float(np.max(np.abs(q)))) <= size))
    if len(flat):
        raise ModelError(
            f"{name}: the gradient of gap[{flat[0]}] vanishes where the contact is closed (its length is "
            f"{steepness[flat[0]]:.3g} at the start), so that no force can act there. Give a gap that grows like the "
            "distance, such as the root of this one."
        )
    speed = APPROACH_TOLERANCE * max(1.0, float(np.max(np.abs(v))))
    hitting = np.flatnonzero((gap <= size) & (approach < -speed))
    if len(hitting):
        warnings.warn(
            f"{name}: contact gap[{hitting[0]}] is closed at the start and approaches with velocity "
            f"{approach[hitting[0]]:.6g}; this is treated as an impact at t = {t:g}.",
            ContactWarning,
            stacklevel=2,
        )
