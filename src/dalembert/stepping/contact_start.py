"""Contacts at the start of a run: open or closed; what penetrates is refused, moved apart or, if it is little, said.

With `project=True` the start is moved to the nearest one without penetration, in the metric of the kinetic energy::

    M (q - q0) + g_q^T mu - G_N^T tau = 0,     g(t, q) = 0,     0 <= g_N(t, q)  _|_  tau >= 0

by an active set: the contact that penetrates most is closed, one whose tau pulls is opened, until there is neither.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..engine import find_root
from ..errors import InconsistentStart, ModelError
from ..problem import AbstractSystem
from .scales import gaps_at, natural_speed, size_of
from .shared_equations import equation, observe

#: A gap that is more negative than this, relative to its size (`scales.gaps_at`), is a penetration.
GAP_TOLERANCE = 1e-9
#: Time stepping takes penetrations up to this, relative to the size of the gap (`_sizes`), with a warning.
SMALL_PENETRATION = 1e-6
#: Penetrations that are left after moving contacts apart, relative to the size of the gap.
MOVED = 1e-13
#: A closed contact that approaches faster than this, relative to the velocities, is an impact.
APPROACH_TOLERANCE = 1e-9


def moved_apart(system: AbstractSystem, rows, constraints: int, t: float, q, v, p) -> np.ndarray:
    """The nearest position without penetration; q itself if nothing penetrates."""
    gap, size = gaps_at(system, t, q)
    if np.all(gap >= -MOVED * size):
        return q
    n, count, x = len(q), len(gap), np.concatenate([q, np.zeros(len(q) + constraints + len(gap))])
    active, solve = np.zeros(count, bool), equation(system, "position with gaps", rows)
    for _ in range(4 * count + 4):
        penetrating = np.where(active, 0.0, gap / size)
        pulling = np.where(active, x[len(x) - count :], 0.0)
        if np.min(penetrating) < -MOVED:
            active[int(np.argmin(penetrating))] = True
        elif np.min(pulling) < 0:
            active[int(np.argmin(pulling))] = False
        else:
            return x[:n]
        found = find_root(solve, x, t, q, v, p, active.astype(float))
        if found is None:
            break
        x = found
        gap, size = gaps_at(system, t, x[:n])
    raise InconsistentStart(
        f"{type(system).__name__}: contact gap[{int(np.argmin(gap))}] = {np.min(gap):.6g} penetrates at the start, and "
        "no position without penetration was found next to q0. Move q0 apart."
    )


class Judged(NamedTuple):
    """How a start is judged: `strict` refuses small penetrations too; `h` is the size of a step, 0 if there is none;
    `penetration` is what is accepted, relative to the size of a gap, None where nothing was said."""

    strict: bool = False
    h: float = 0.0
    penetration: float | None = None

    @property
    def accepted(self) -> float:
        """The part of the size of a gap by which it may be negative."""
        if self.penetration is not None:
            return self.penetration
        return GAP_TOLERANCE if self.strict else SMALL_PENETRATION


#: How the starts of time stepping are judged where there is no step.
WITHOUT_STEP = Judged()


def _sizes(system: AbstractSystem, t: float, q: np.ndarray, motion: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The gaps and their sizes: that of `scales.gaps_at`, or what the motion within a step makes of a distance,

        sum_j |g_N,j| (h |v_j| + h^2 |a_j|),

    whichever is larger. A ball with one coordinate has no length but its gap itself, while it falls by h^2 |a|. Where
    nothing moves and there is no other length either, it is 1."""
    gap, sizes = gaps_at(system, t, q)
    normals = observe(system, "normals", np.array([t]), q[None], 0 * q[None], 0 * q[None]).reshape(len(gap), len(q))
    moved = np.nan_to_num(np.abs(normals) @ motion, nan=0.0, posinf=0.0)
    alone = (moved == 0) & (sizes <= 2 * np.abs(gap))
    return gap, np.where(alone, 1.0, np.maximum(sizes, moved))


def check_gaps(
    system: AbstractSystem, rows, t: float, q: np.ndarray, v: np.ndarray, p, a: np.ndarray, judged: Judged
) -> tuple[str, ...]:
    """Refuse penetration; what to warn of: penetrations that are accepted, and closed contacts that approach."""
    name, h = type(system).__name__, judged.h
    motion = h * np.abs(v) + h * h * np.abs(a)
    gap, sizes = _sizes(system, t, q, motion)
    approach = observe(system, "approach", np.array([t]), q[None], v[None], v[None])[0]
    if not (np.all(np.isfinite(gap)) and np.all(np.isfinite(approach))):
        raise ModelError(f"{name}.gap or its derivative is not finite at the start (t={t:g}); check q0.")
    worst = int(np.argmin(gap / sizes))
    others = int(np.sum(gap < -GAP_TOLERANCE * sizes)) - 1
    what = f"contact gap[{worst}]{f' (and {others} more)' if others > 0 else ''}: gap = {gap[worst]:.6g}"
    if gap[worst] < -judged.accepted * sizes[worst]:
        raise InconsistentStart(
            f"{name}: the start penetrates {what}, expected at least 0. Move q0 apart, or pass project=True to move it "
            "to the nearest position without penetration."
        )
    closed = gap <= GAP_TOLERANCE * sizes
    steepness = observe(system, "steepness", np.array([t]), q[None], v[None], v[None])[0]
    flat = np.flatnonzero(closed & (steepness * max(size_of(q), np.max(motion)) <= GAP_TOLERANCE * sizes))
    if len(flat):
        raise ModelError(
            f"{name}: the gradient of gap[{flat[0]}] vanishes where the contact is closed (its length is "
            f"{steepness[flat[0]]:.3g} at the start), so that no force can act there. Give a gap that grows like the "
            "distance, such as the root of this one."
        )
    said = []
    if gap[worst] < -GAP_TOLERANCE * sizes[worst]:
        why = "little next to the size of the system" if judged.penetration is None else "accepted"
        said.append(
            f"{name}: the start penetrates {what}. That is {why}, and the run begins there; pass project=True to move "
            "it apart."
        )
    if np.any(closed & (approach < 0)):
        speed = APPROACH_TOLERANCE * max(float(np.max(np.abs(v))), natural_speed(system, rows, t, q, v, p))
        hitting = np.flatnonzero(closed & (approach < -speed))
        said += [
            f"{name}: contact gap[{contact}] is closed at the start and approaches with velocity "
            f"{approach[contact]:.6g}; this is treated as an impact at t = {t:g}."
            for contact in hitting[:1]
        ]
    return tuple(said)
