"""What can be known cheaply of a run that ended well and is wrong all the same: `run.warnings`, in plain sentences.

Nothing is computed before somebody asks or the run is shown, and then at a bounded number of saved states, with the
programs that give energy and multipliers: times that are not distinct; the step size against the fastest oscillation
and the fastest decay; steps that were mended; constraints that became dependent; one step in which the energy changed
where the motion conserves it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..errors import DalembertError
from ..problem import AbstractSystem, DifferentialAlgebraicInequality, OverdeterminedDAE
from ..stepping import is_traced, observe
from ..storage.stored_arrays import StoredArrays
from .rank import smallest_singular_values, times_of_zero
from .resolution import LIMIT, StepResolution, resolution_of

if TYPE_CHECKING:
    from .record import Trajectory

#: Coordinates up to which the system is examined: the work grows with their number to the third power.
MOST_COORDINATES = 60
#: Saved states at which accelerations are differentiated and at which energies are computed; members of a batch.
RESOLVED_STATES, ENERGY_STATES, MEMBERS = 4, 4_000, 3
#: Ranks are followed where the states times the third power of the coordinates are at most this, and the states are.
RANK_WORK, RANKED_STATES = 200_000_000, 20_000
#: Numbers in the positions of a run on disk above which they are not read for this.
LARGEST_STORED = 4_000_000
#: Velocities that decay within a step are in balance if they change by a smaller part of the speed in it.
UNSETTLED = 0.1
#: Mended steps that are a few, whatever the length of the run, and the part of all steps above which they are many.
FEW_MENDED, PART_MENDED = 5, 0.01
#: A jump of the energy is this part of the system's energies at least; on both sides of it, over so many saved states,
#: the energy varies by less than a part of the jump.
JUMP, SIDE, QUIET = 1e-6, 20, 0.1
_MENDED = {
    "guess_restarts": "begun again from the method's own guess",
    "rescued_steps": "found by continuation in the step size only",
    "halved_steps": "taken in parts",
}


def warnings_of(run: Trajectory) -> tuple[str, ...]:
    """The sentences; none for a traced run, which has no numbers yet."""
    if is_traced(run.t, run.q, run.system):
        return ()
    found = [*_times(run), *_mended(run)]
    system = _examined(run)
    if system is None:
        return tuple(found)
    if np.ndim(run.q) == 3:
        chosen = np.unique(np.linspace(0, len(run.q) - 1, MEMBERS).astype(int))
        several = [(k, text) for k in chosen for text in _of_system(run.member(int(k)))]
        return tuple([*found, *(f"Member {k}: {text}" for k, text in several)])
    return tuple([*found, *_of_system(run)])


def _examined(run: Trajectory) -> AbstractSystem | None:
    """The system, where it can tell more: one with a Lagrangian or a Hamiltonian that is small and the same still."""
    system, arrays = run.system, run._arrays
    if system is None or isinstance(system, OverdeterminedDAE | DifferentialAlgebraicInequality):
        return None
    if isinstance(arrays, StoredArrays) and arrays.positions > LARGEST_STORED:
        return None
    if not isinstance(run.q, np.ndarray) or run.q.ndim not in (2, 3) or run.q.shape[-1] > MOST_COORDINATES:
        return None
    try:
        return run._require_system("warnings")
    except DalembertError:
        return None


def _times(run: Trajectory) -> Iterator[str]:
    t, h = np.atleast_2d(np.asarray(run.t, dtype=np.float64))[0], float(np.min(np.abs(run._info["h"])))
    spacing, distinct = float(np.spacing(np.max(np.abs(t)))), len(np.unique(t))
    if distinct < len(t) or spacing > 0.5 * h:
        yield (
            f"The times are not distinct: {distinct} of {len(t)} saved ones are, since numbers near t = {t[-1]:.3g} "
            f"are {spacing:.3g} apart and a step is {h:.3g}. Begin at a smaller t0."
        )


def _mended(run: Trajectory) -> Iterator[str]:
    steps = max(1, int(run.stats.get("steps", 1)))
    for name, how in _MENDED.items():
        count = int(np.sum(run.stats.get(name, 0)))
        if count > max(FEW_MENDED, PART_MENDED * steps):
            yield f"{count:,} of {steps:,} steps were {how}: try a smaller h."


def _of_system(run: Trajectory) -> list[str]:
    """What the equations tell; nothing where they cannot be evaluated."""
    found: list[str] = []
    for look in (_step_size, _dead_points, _energy_jump):
        try:
            found += look(run, run._require_system("warnings"))
        except (DalembertError, np.linalg.LinAlgError, FloatingPointError):
            continue
    return found


def _step_size(run: Trajectory, system: AbstractSystem) -> Iterator[str]:
    h = float(np.max(np.abs(run._info["h"])))
    found = resolution_of(system, run._info["rows"], run.t, run.q, run.v, run.p, h, RESOLVED_STATES)
    yield from _unresolved(found)


def _unresolved(found: StepResolution) -> Iterator[str]:
    if not found:
        yield (
            f"The fastest oscillation turns by {found.turn:.3g} in a step of h = {found.h:.3g}: explicit methods are "
            f"stable below h = {found.largest_step:.3g}, and none follows it beyond."
        )
    if found.h * found.decay > LIMIT and found.unsettled > UNSETTLED:
        yield (
            f"The fastest decay is not resolved: a velocity that decays like exp(-{found.decay:.3g} t) is not at rest, "
            f"and a step is h = {found.h:.3g}. Take h below {LIMIT / found.decay:.3g}."
        )


def _dead_points(run: Trajectory, system: AbstractSystem) -> Iterator[str]:
    """Only where neighbouring states can be looked at: the times are found from the slopes between them."""
    states, n = run.q.shape
    if not system.provides("holonomic") or states > RANKED_STATES or states * n**3 > RANK_WORK:
        return
    values = smallest_singular_values(system, run._info["rows"], run.t, run.q, run.v, run.p)
    lost = times_of_zero(np.asarray(run.t, dtype=np.float64), values)
    if lost:
        times = ", ".join(f"{time:.4g}" for time in lost[:3]) + (", ..." if len(lost) > 3 else "")
        yield f"The constraints become dependent at t = {times}: which branch follows there is chance."


def _energy_jump(run: Trajectory, system: AbstractSystem) -> Iterator[str]:
    if any(system.provides(part) for part in ("force", "reaction", "nonholonomic", "gap")):
        return
    chosen = np.unique(np.linspace(0, len(run.t) - 1, ENERGY_STATES).astype(int))
    t, q, v, p = (np.asarray(part, dtype=np.float64)[chosen] for part in (run.t, run.q, run.v, run.p))
    if len(t) < 6 or not _is_autonomous(system, t, q, v, p):
        return
    energy = observe(system, "energy", t, q, v, p)[:, 0]
    changes = np.abs(np.diff(energy))
    k = int(np.argmax(changes))
    sides = energy[max(0, k + 1 - SIDE) : k + 1], energy[k + 1 : k + 1 + SIDE]
    size = float(np.max(np.abs(energy)) + np.max(0.5 * np.abs(np.sum(v * p, axis=1))))
    quiet = all(len(side) >= 3 and np.ptp(side) <= QUIET * changes[k] for side in sides)
    if quiet and changes[k] > JUMP * size:
        yield (
            f"The energy, which the motion conserves, changed by {changes[k]:.3g} between t = {t[k]:.6g} and "
            f"{t[k + 1]:.6g}, and neither before nor after it: a step there is wrong. Try a smaller h."
        )


def _is_autonomous(system: AbstractSystem, t, q, v, p) -> bool:
    """Whether energy and constraints are the same at other times, judged at some of the states."""
    some = np.unique(np.linspace(0, len(t) - 1, 5).astype(int))
    state, later = (q[some], v[some], p[some]), t[some] + 0.37 * (t[-1] - t[0])
    return all(
        np.allclose(observe(system, name, t[some], *state), observe(system, name, later, *state))
        for name in ("energy", "all constraints", "all hidden")
    )
